"""Runs 12 to 23: who allowed it, and who approved it."""

from __future__ import annotations

from decimal import Decimal

from ledger.events import (
    ApprovalAnswered,
    ApprovalRequested,
    AuthorityCarved,
    AuthorityGranted,
    AuthorityRenewed,
    AuthorityRevoked,
    Event,
    GoalRevised,
    GrantOrigin,
    Parent,
)
from ledger.run.keys import runtime_digest
from ledger.values import Actor
from tests.projections.case_file.desk import AGENT, KIM, LEE, MODEL_4, RELAY, SAM, Act, done, opened
from tests.projections.case_file.pen import Pen, when

BOT = Actor("agent:checker", session="s-9", authenticated_by="mtls")
"""An agent that is asked to look over the shoulder of the other one."""

GRANTED = Act("run-12", "pay", "refund", {"amount": "25.00", "booking": 12}, authority=("g-12",))
RENEWED = Act("run-12", "pay-rest", "refund", {"amount": "15.00", "booking": 12}, authority=("g-12",))
EXPIRED = Act("run-13", "pay", "refund", {"amount": "25.00", "booking": 13}, authority=("g-13",))
NO_GRANT = Act("run-13", "mail", "send_mail", {"to": "customer:13"})
CHILDS = Act("run-15", "pay", "refund", {"amount": "5.00", "booking": 14}, root="run-14", authority=("c-1",))

AS_ASKED = Act("run-16", "pay", "refund", {"amount": "120.00", "booking": 16}, approval="a-16")
ASKED = Act("run-17", "pay", "refund", {"amount": "120.00", "booking": 17})
OTHERWISE = Act("run-17", "pay", "refund", {"amount": "210.00", "booking": 17}, approval="a-17")
BY_AGENT = Act("run-18", "pay", "refund", {"amount": "120.00", "booking": 18}, approval="a-18")
BY_ITSELF = Act("run-19", "pay", "refund", {"amount": "120.00", "booking": 19}, approval="a-19")
TOO_LATE = Act("run-20", "pay", "refund", {"amount": "120.00", "booking": 20}, approval="a-20")
OTHER_TERMS = Act("run-21", "pay", "refund", {"amount": "120.00", "booking": 21}, approval="a-21")
DENIED = Act("run-22", "pay", "refund", {"amount": "120.00", "booking": 22})
TWICE = Act("run-23", "pay", "refund", {"amount": "120.00", "booking": 23}, approval="a-23")
FORGOTTEN = Act("run-23", "gift", "send_gift", {"to": "customer:23"})


def tell(pen: Pen) -> None:
    """Say what happened in these runs."""
    _authority(pen)
    _approved(pen)
    _doubtful(pen)


def _authority(pen: Pen) -> None:
    # 12: Kim grants refunds until noon, and at noon until the evening; one is paid in each time.
    pen.at("03-14 09:00").say("run-12", AGENT, opened("Refund booking 12"))
    pen.at("03-14 09:01").say(
        "run-12",
        KIM,
        AuthorityGranted(
            id="g-12",
            principal="agent:desk",
            session="s-1",
            scopes=("refund",),
            budget={"EUR": Decimal("40.00")},
            expires_at=when("03-14 12:00"),
            granted_by="human:kim",
        ),
    )
    pen.at("03-14 09:30")
    done(pen, GRANTED, until="03-14 09:31", reserved={"EUR": Decimal("25.00")})
    pen.at("03-14 12:00").say(
        "run-12",
        KIM,
        AuthorityRenewed(id="g-12", by="human:kim", expires_at=when("03-14 18:00"), reason="not done yet"),
    )
    pen.at("03-14 12:30")
    done(pen, RENEWED, until="03-14 12:31", reserved={"EUR": Decimal("15.00")})

    # 13: a grant ends at ten; a refund at eleven cites it, a mail cites none. Then it is revoked.
    pen.at("03-14 09:00").say(
        "run-13",
        SAM,
        opened("Refund booking 13"),
        AuthorityGranted(
            id="g-13",
            principal="agent:desk",
            scopes=("refund", "send_mail"),
            expires_at=when("03-14 10:00"),
            granted_by="human:sam",
        ),
    )
    pen.at("03-14 11:00")
    done(pen, EXPIRED, until="03-14 11:01")
    pen.at("03-14 11:05")
    done(pen, NO_GRANT, until="03-14 11:06")
    pen.at("03-14 11:30").say(
        "run-13", KIM, AuthorityRevoked(id="g-13", by="human:kim", reason="Sam may not grant")
    )

    # 14 and 15: a part of a grant goes to a child, which spends some of it.
    pen.at("03-15 09:00").say(
        "run-14",
        KIM,
        opened("Refund booking 14"),
        AuthorityGranted(
            id="g-14",
            principal="agent:desk",
            scopes=("refund",),
            budget={"EUR": Decimal("30.00")},
            granted_by="human:kim",
        ),
        AuthorityCarved(id="g-14", budget={"EUR": Decimal("10.00")}, by="human:kim", run="run-15"),
    )
    pen.at("03-15 09:00").say(
        "run-15",
        KIM,
        opened(
            "Refund the ticket of the child",
            parent=Parent(position=3, relation="child", root="run-14", run="run-14"),
        ),
        AuthorityGranted(
            id="c-1",
            principal="agent:desk",
            scopes=("refund",),
            budget={"EUR": Decimal("10.00")},
            carved_from=GrantOrigin(id="g-14", position=2, run="run-14"),
            granted_by="human:kim",
        ),
    )
    pen.at("03-15 09:30")
    done(pen, CHILDS, until="03-15 09:31", reserved={"EUR": Decimal("5.00")})


def _asked(pen: Pen, act: Act, id: str, *, expires: str, asker: Actor = AGENT) -> None:
    """Intend an act that waits for a person."""
    pen.say(
        act.run,
        asker,
        act.intended(approval=None),
        ApprovalRequested(
            id=id,
            key=act.key,
            expires_at=when(expires),
            question="May this be paid?",
            runtime_digest=runtime_digest(MODEL_4),
            tool_schema="5" * 64,
        ),
    )


def _answer(id: str, answer: str, by: str, **more: str) -> Event:
    return ApprovalAnswered(id=id, answer=answer, by=by, **more)  # type: ignore[arg-type]


def _approved(pen: Pen) -> None:
    # 16: asked, approved by Kim half an hour later, and paid as asked.
    pen.at("03-16 09:00").say("run-16", AGENT, opened("Refund booking 16"))
    _asked(pen, AS_ASKED, "a-16", expires="03-17 09:00")
    pen.at("03-16 09:30").say("run-16", KIM, _answer("a-16", "approved", "human:kim"))
    pen.at("03-16 09:40")
    done(pen, AS_ASKED, until="03-16 09:41")

    # 17: 120 EUR are approved, and 210 are paid under the same approval.
    pen.at("03-16 10:00").say("run-17", AGENT, opened("Refund booking 17"))
    _asked(pen, ASKED, "a-17", expires="03-17 09:00")
    pen.at("03-16 10:30").say("run-17", KIM, _answer("a-17", "approved", "human:kim"))
    pen.at("03-16 10:40")
    done(pen, OTHERWISE, until="03-16 10:41")

    # 18: another agent answers.
    pen.at("03-16 11:00").say("run-18", AGENT, opened("Refund booking 18"))
    _asked(pen, BY_AGENT, "a-18", expires="03-17 09:00")
    pen.at("03-16 11:01").say("run-18", BOT, _answer("a-18", "approved", "agent:checker"))
    pen.at("03-16 11:10")
    done(pen, BY_AGENT, until="03-16 11:11")

    # 19: Sam asks and answers. Before, Kim had given Sam the scope to approve refunds.
    pen.at("03-16 12:00").say(
        "run-19",
        KIM,
        opened("Refund booking 19"),
        AuthorityGranted(
            id="g-19", principal="human:sam", scopes=("approve:refund",), granted_by="human:kim"
        ),
    )
    pen.at("03-16 12:01")
    _asked(pen, BY_ITSELF, "a-19", expires="03-17 09:00", asker=SAM)
    pen.at("03-16 12:02").say("run-19", SAM, _answer("a-19", "approved", "human:sam"))
    pen.at("03-16 12:10")
    done(pen, BY_ITSELF, until="03-16 12:11")


def _doubtful(pen: Pen) -> None:
    # 20: the answer comes through the relay an hour after the request had expired, and it is paid.
    pen.at("03-17 09:00").say("run-20", AGENT, opened("Refund booking 20"))
    _asked(pen, TOO_LATE, "a-20", expires="03-17 10:00")
    pen.at("03-17 11:00").say("run-20", RELAY, _answer("a-20", "approved", "human:kim"))
    pen.at("03-17 11:10")
    done(pen, TOO_LATE, until="03-17 11:11")

    # 21: the goal is revised between the answer and the payment.
    pen.at("03-17 12:00").say("run-21", AGENT, opened("Refund booking 21"))
    _asked(pen, OTHER_TERMS, "a-21", expires="03-18 12:00")
    pen.at("03-17 12:30").say("run-21", KIM, _answer("a-21", "approved", "human:kim"))
    pen.at("03-17 12:40").say(
        "run-21", KIM, GoalRevised(by="human:kim", reason="she rang", text="Refund booking 21 in vouchers")
    )
    pen.at("03-17 12:50")
    done(pen, OTHER_TERMS, until="03-17 12:51")

    # 22: Kim says no, and nothing is paid.
    pen.at("03-18 09:00").say("run-22", AGENT, opened("Refund booking 22"))
    _asked(pen, DENIED, "a-22", expires="03-19 09:00")
    pen.at("03-18 09:30").say(
        "run-22", KIM, _answer("a-22", "denied", "human:kim", reason="she was paid in cash")
    )

    # 23: Kim says yes and Lee no; somebody answers what was never asked; a second request is forgotten.
    pen.at("03-18 10:00").say("run-23", AGENT, opened("Refund booking 23"))
    _asked(pen, TWICE, "a-23", expires="03-19 10:00")
    pen.at("03-18 10:10").say("run-23", KIM, _answer("a-23", "approved", "human:kim"))
    pen.at("03-18 10:20").say("run-23", LEE, _answer("a-23", "denied", "human:lee", reason="no receipt"))
    pen.at("03-18 10:30").say("run-23", SAM, _answer("a-99", "approved", "human:sam"))
    pen.at("03-18 10:40")
    done(pen, TWICE, until="03-18 10:41")
    pen.at("03-18 11:00")
    _asked(pen, FORGOTTEN, "a-23-gift", expires="03-18 12:00")
