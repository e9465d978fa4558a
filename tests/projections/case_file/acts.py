"""Runs 24 to 28: what became of acts, and what the desk owes."""

from __future__ import annotations

from ledger.events import (
    EffectDisputed,
    EffectFailed,
    EffectReconciled,
    EffectUnknown,
    ObligationDischarged,
    ObligationOpened,
    ObligationTransferred,
    ObligationWaived,
    RunClosed,
)
from ledger.values import Ending, ErrorSaid, Payload, Recovery
from tests.projections.case_file.desk import AGENT, KIM, SAM, Act, done, opened
from tests.projections.case_file.pen import Pen, when

TIMED_OUT = ErrorSaid(message="no answer within 30 s", type="TimeoutError")

NOBODY_KNOWS = Act("run-24", "pay", "refund", {"amount": "20.00", "booking": 24})
CONTRADICTED = Act("run-25", "pay", "refund", {"amount": "20.00", "booking": 25})
LEFT_ALONE = Act("run-26", "mail", "send_mail", {"to": "customer:26"}, recovery=Recovery.AT_MOST_ONCE)
FOUND_OUT = Act("run-27", "pay", "refund", {"amount": "20.00", "booking": 27}, max_attempts=2)
MAIL_28 = Act("run-28", "mail", "send_mail", {"to": "customer:28"})


def tell(pen: Pen) -> None:
    """Say what happened in these runs."""
    _outcomes(pen)
    _owed(pen)


def _outcomes(pen: Pen) -> None:
    # 24: the payment service did not answer, and nobody has found out.
    pen.at("03-19 09:00").say("run-24", AGENT, opened("Refund booking 24"), about=("customer:1",))
    pen.at("03-19 09:01").say(
        "run-24", AGENT, NOBODY_KNOWS.intended(), NOBODY_KNOWS.started(until="03-19 09:02")
    )
    pen.at("03-19 09:02").say(
        "run-24",
        AGENT,
        EffectUnknown(attempt=1, because="raised", error=TIMED_OUT, key=NOBODY_KNOWS.key),
    )

    # 25: it was recorded as failed, and a day later the service says that it was paid.
    pen.at("03-19 10:00").say("run-25", AGENT, opened("Refund booking 25"))
    pen.at("03-19 10:01").say(
        "run-25",
        AGENT,
        CONTRADICTED.intended(),
        CONTRADICTED.started(until="03-19 10:02"),
        EffectFailed(attempt=1, error=ErrorSaid(message="refused", type="Declined"), key=CONTRADICTED.key),
    )
    pen.at("03-20 10:01").say(
        "run-25",
        AGENT,
        EffectDisputed(
            act=CONTRADICTED.act,
            attempt=1,
            key=CONTRADICTED.key,
            recovery=Recovery.QUERYABLE,
            reported="succeeded",
            reported_by="w-1",
            settled_at=4,
            tool="refund",
        ),
    )

    # 26: a worker was asked to send a mail and has not been heard of; its lease ended at 09:02.
    pen.at("03-20 09:00").say("run-26", AGENT, opened("Tell customer 26"))
    pen.at("03-20 09:01").say(
        "run-26", AGENT, LEFT_ALONE.intended(), LEFT_ALONE.started(until="03-20 09:02", worker="w-2")
    )

    # 27: the first attempt fails, the second ends without an answer, and Kim finds out that it was paid.
    pen.at("03-20 11:00").say("run-27", AGENT, opened("Refund booking 27"))
    pen.at("03-20 11:01").say(
        "run-27",
        AGENT,
        FOUND_OUT.intended(),
        FOUND_OUT.started(until="03-20 11:02"),
        EffectFailed(attempt=1, error=ErrorSaid(message="busy", type="Busy"), key=FOUND_OUT.key),
    )
    pen.at("03-20 11:05").say(
        "run-27",
        AGENT,
        FOUND_OUT.intended(),
        FOUND_OUT.started(2, until="03-20 11:06"),
        EffectUnknown(attempt=2, because="lease_lapsed", key=FOUND_OUT.key),
    )
    pen.at("03-20 11:35").say(
        "run-27",
        KIM,
        EffectReconciled(
            attempt=2,
            by="human:kim",
            evidence="the bank statement of the 20th",
            external_ref="tr-27",
            found="happened",
            key=FOUND_OUT.key,
            method="person",
            result=Payload(json_text='{"transfer":"tr-27"}'),
        ),
    )


def _owed(pen: Pen) -> None:
    # 28: five promises: kept with evidence, given up, handed on, overdue, and open without a date.
    pen.at("03-21 09:00").say(
        "run-28",
        AGENT,
        opened("Make good for customer 28"),
        ObligationOpened(id="mail", by="agent:desk", owed_to="customer:28", text="Mail the customer"),
        ObligationOpened(id="call", by="human:sam", owed_to="customer:28", text="Call the customer"),
        ObligationOpened(
            id="report", by="human:kim", due=when("03-25 12:00"), owed_to="human:lee", text="Report to Lee"
        ),
        ObligationOpened(
            id="voucher",
            by="human:sam",
            due=when("03-22 12:00"),
            owed_to="customer:28",
            text="Send a voucher",
        ),
        ObligationOpened(id="file", by="agent:desk", owed_to="human:kim", text="File the case"),
    )
    pen.at("03-21 09:30")
    done(pen, MAIL_28, until="03-21 09:31")
    pen.at("03-21 09:40").say(
        "run-28",
        AGENT,
        ObligationDischarged(
            id="mail", by="agent:desk", evidence="mail 28 was sent", refs=(f"effect:{MAIL_28.key}",)
        ),
    )
    pen.at("03-21 10:00").say(
        "run-28", KIM, ObligationWaived(id="call", by="customer:28", reason="a mail is enough")
    )
    pen.at("03-21 10:10").say(
        "run-28",
        SAM,
        ObligationTransferred(id="report", by="human:sam", reason="Kim knows the case", to="human:kim"),
    )
    pen.at("03-23 09:00").say(
        "run-28",
        AGENT,
        RunClosed(outcome=Ending.COMPLETED, obligations=("voucher", "file")),
    )
