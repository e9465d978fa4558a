"""Runs 01 to 11: constraints, and what ran under them."""

from __future__ import annotations

from ledger.events import (
    ConstraintWithdrawn,
    EffectRefused,
    RevisionAcknowledged,
    RunClosed,
)
from ledger.values import Ending, Operator, Predicate, Rule, Source
from tests.projections.case_file.desk import (
    AGENT,
    KIM,
    LIMIT_50,
    LIMIT_100,
    RELAXED,
    REWORDED,
    SAM,
    TIGHTENED,
    Act,
    accepted,
    args_of,
    done,
    opened,
)
from tests.projections.case_file.pen import Pen, when
from tests.projections.case_file.sources import LIMIT_100_AGAIN


def at_most(amount: int) -> Rule:
    """Bound the amount of a refund."""
    return Rule(
        tools=("refund",),
        require=(Predicate(path="/amount", operator=Operator.AT_MOST, value=str(amount)),),
    )


AT_2, AT_3, AT_5 = ({"policy:refunds": position} for position in (2, 3, 5))

SIMPLE = Act("run-01", "pay", "refund", {"amount": "40.00", "booking": 1}, source_positions=AT_2)
MOVED = Act("run-02", "pay", "refund", {"amount": "60.00", "booking": 2}, source_positions=AT_2)
BETWEEN = Act("run-02", "pay-fee", "refund", {"amount": "5.00", "booking": 2}, source_positions=AT_3)
MOVED_LATER = Act("run-02", "pay-rest", "refund", {"amount": "20.00", "booking": 2}, source_positions=AT_3)
BEFORE_GIFT = Act("run-03", "mail", "send_mail", {"to": "customer:3"})
GIFT = Act("run-03", "gift", "send_gift", {"to": "customer:3"})
GENEROUS = Act("run-04", "pay", "refund", {"amount": "300.00", "booking": 4})
STRICT = Act("run-05", "pay", "refund", {"amount": "30.00", "booking": 5})
EARLY = Act("run-06", "pay", "refund", {"amount": "70.00", "booking": 6})
LATE = Act("run-06", "pay-rest", "refund", {"amount": "10.00", "booking": 6})
TOO_MUCH = Act("run-07", "pay", "refund", {"amount": "150.00", "booking": 7})
FINE = Act("run-07", "pay-less", "refund", {"amount": "99.99", "booking": 7})
BACKDATED = Act("run-08", "pay", "refund", {"amount": "80.00", "booking": 8})
ENDED = Act("run-09", "pay", "refund", {"amount": "90.00", "booking": 9})
ON_LIMIT = Act("run-11", "pay", "refund", {"amount": "45.00", "booking": 11}, source_positions=AT_5)


def tell(pen: Pen) -> None:
    """Say what happened in these runs."""
    _in_force(pen)
    _changed(pen)
    _broken(pen)
    _refused(pen)


def _in_force(pen: Pen) -> None:
    # 01: a limit from revision 1 is in force when 40 EUR are paid back.
    pen.at("03-02 09:00").say(
        "run-01",
        AGENT,
        opened("Refund booking 1"),
        accepted("limit-100", LIMIT_100, revision="1", source_position=2),
        about=("customer:1",),
    )
    pen.at("03-02 09:05")
    done(pen, SIMPLE, until="03-02 09:06")
    pen.at("03-02 09:10").say("run-01", AGENT, RunClosed(outcome=Ending.COMPLETED))

    # 02: the limit is reworded at its source while the run goes on; it is paid before that, between that and
    # the run's own acceptance of the new words, and after.
    pen.at("03-04 09:00").say(
        "run-02",
        AGENT,
        opened("Refund booking 2"),
        accepted("limit-100", LIMIT_100, revision="1", source_position=2),
    )
    pen.at("03-04 09:30")
    done(pen, MOVED, until="03-04 09:31")
    pen.at("03-05 08:30")
    done(pen, BETWEEN, until="03-05 08:31")
    pen.at("03-05 09:00").say(
        "run-02",
        AGENT,
        accepted(
            "limit-100",
            LIMIT_100_AGAIN,
            revision="2",
            source_position=3,
            supersedes=2,
            change=REWORDED,
        ),
    )
    pen.at("03-05 09:30")
    done(pen, MOVED_LATER, until="03-05 09:31")

    # 11: under revision 3, whose limit was accepted by Kim; Kim reads revision 2 of privacy as well.
    pen.at("03-13 09:00").say(
        "run-11",
        AGENT,
        opened("Refund booking 11"),
        accepted("limit-50", LIMIT_50, revision="3", source_position=5, accepted_by="human:kim"),
        accepted(
            "no-names",
            "Write no names into mails",
            asserted_by="human:lee",
            source=Source("policy", "privacy", revision="7"),
            source_position=2,
            published=True,
        ),
    )
    pen.at("03-13 09:05").say(
        "run-11",
        KIM,
        RevisionAcknowledged(
            by="human:kim",
            reason="nothing for mails in it",
            source=Source("policy", "privacy", revision="7"),
            source_position=2,
        ),
    )
    pen.at("03-13 09:30")
    done(pen, ON_LIMIT, until="03-13 09:31")


def _changed(pen: Pen) -> None:
    # 03: no gift is sent, until Sam withdraws the rule; then one is, and the rule comes back.
    pen.at("03-03 10:00").say(
        "run-03",
        AGENT,
        opened("Make customer 3 happy"),
        accepted("no-gifts", "Send no gift cards", revision="1", source_position=2),
        about=("customer:3",),
    )
    pen.at("03-03 10:10")
    done(pen, BEFORE_GIFT, until="03-03 10:11")
    pen.at("03-03 10:20").say(
        "run-03", SAM, ConstraintWithdrawn(id="no-gifts", by="human:sam", reason="she is upset")
    )
    pen.at("03-03 10:30")
    done(pen, GIFT, until="03-03 10:31")
    pen.at("03-03 10:40").say(
        "run-03", KIM, accepted("no-gifts", "Send no gift cards", revision="1", source_position=2)
    )

    # 04: Kim relaxes the limit in the run itself, and more is paid.
    pen.at("03-06 09:00").say("run-04", AGENT, opened("Refund booking 4"), accepted("limit", LIMIT_100))
    pen.at("03-06 09:10").say(
        "run-04",
        KIM,
        accepted(
            "limit",
            "Never refund more than 500 EUR",
            accepted_by="human:kim",
            supersedes=2,
            change=RELAXED,
        ),
    )
    pen.at("03-06 09:20")
    done(pen, GENEROUS, until="03-06 09:21")

    # 05: the other way round.
    pen.at("03-06 10:00").say("run-05", AGENT, opened("Refund booking 5"), accepted("limit", LIMIT_100))
    pen.at("03-06 10:10").say("run-05", KIM, accepted("limit", LIMIT_50, supersedes=2, change=TIGHTENED))
    pen.at("03-06 10:20")
    done(pen, STRICT, until="03-06 10:21")

    # 06: Kim asserted a limit at 08:00, and the agent accepted it an hour later, after it had paid once.
    pen.at("03-07 08:30").say("run-06", AGENT, opened("Refund booking 6"))
    pen.at("03-07 08:45")
    done(pen, EARLY, until="03-07 08:46")
    pen.at("03-07 09:00").say(
        "run-06", AGENT, accepted("limit-50", LIMIT_50, asserted_at=when("03-07 08:00"))
    )
    pen.at("03-07 09:15")
    done(pen, LATE, until="03-07 09:16")


def _broken(pen: Pen) -> None:
    # 07: a rule that a machine can check is in force, and 150 EUR are paid back all the same; 99.99 are fine.
    pen.at("03-08 09:00").say(
        "run-07",
        AGENT,
        opened("Refund booking 7"),
        accepted("limit-100", LIMIT_100, revision="2", source_position=3, rule=at_most(100)),
    )
    pen.at("03-08 09:10")
    done(pen, TOO_MUCH, until="03-08 09:11")
    pen.at("03-08 09:20")
    done(pen, FINE, until="03-08 09:21")

    # 08: the rule is recorded at noon and was valid from the day before: what was paid that morning breaks it
    # as it is known now, and not as it was known then.
    pen.at("03-08 10:00").say("run-08", AGENT, opened("Refund booking 8"))
    pen.at("03-08 10:30")
    done(pen, BACKDATED, until="03-08 10:31")
    pen.at("03-08 12:00").say(
        "run-08",
        KIM,
        accepted(
            "limit-50",
            LIMIT_50,
            accepted_by="human:kim",
            asserted_at=when("03-07 00:00"),
            valid_from=when("03-07 00:00"),
            rule=at_most(50),
        ),
    )

    # 09: a rule is accepted that was valid until the day before, so that it binds nothing.
    pen.at("03-08 13:00").say(
        "run-09",
        AGENT,
        opened("Refund booking 9"),
        accepted("limit-50", LIMIT_50, valid_until=when("03-08 00:00"), rule=at_most(50)),
    )
    pen.at("03-08 13:30")
    done(pen, ENDED, until="03-08 13:31")


def _refused(pen: Pen) -> None:
    # 10: three calls are refused: by a rule twice, and once for want of a plan's step.
    pen.at("03-10 09:00").say(
        "run-10",
        AGENT,
        opened("Refund booking 10"),
        accepted("limit-50", LIMIT_50, rule=at_most(50)),
    )
    for minute, amount in ((10, "70.00"), (11, "60.00")):
        pen.at(f"03-10 09:{minute}").say(
            "run-10",
            AGENT,
            EffectRefused(
                args=args_of(amount=amount, booking=10),
                position=2,
                rule="constraint_violated",
                step="pay",
                tool="refund",
                evidence={"limit": "50"},
            ),
        )
    pen.at("03-10 09:20").say("run-10", AGENT, EffectRefused(rule="off_plan", step="gift", tool="send_gift"))
