"""Runs 43 to 46: rules that ask for a person or refuse, as claims are held to them."""

from __future__ import annotations

from typing import Any

from ledger.events import ApprovalAnswered, ApprovalRequested, EffectRefused
from ledger.values import Operator, Predicate, Rule, Source
from tests.projections.case_file.desk import AGENT, KIM, LEE, RELAY, Act, accepted, args_of, done, opened
from tests.projections.case_file.pen import Pen, when

ASKS = "Above 100 EUR a person approves"
LIMIT_500 = "Never pay more than 500 EUR"

ASK_ABOVE = Rule(
    needs_approval=True,
    tools=("pay",),
    when=(Predicate(path="/amount", operator=Operator.GREATER, value="100"),),
)
AT_MOST_500 = Rule(
    tools=("pay",), require=(Predicate(path="/amount", operator=Operator.AT_MOST, value="500"),)
)


def _pay(booking: int, amount: str, **more: Any) -> Act:
    run = f"run-{booking}"
    full = args_of(amount=amount, booking=booking, currency="EUR")
    return Act(run, "pay", "pay", {"amount": amount, "booking": booking}, args_in_full=full, **more)


WAITED = _pay(43, "150.00", approval="a-43")
REFUSED = _pay(44, "150.00")
UNASKED = _pay(46, "120.01")


def _from_payments(id: str, text: str, rule: Rule) -> Any:
    source = Source("policy", "payments", revision="9")
    return accepted(id, text, rule=rule, asserted_by="human:max", source=source, published=False)


def _asked(pen: Pen, act: Act, id: str) -> None:
    """Intend an act that waits, and ask: both in one append, as a claim does."""
    request = ApprovalRequested(
        id=id, key=act.key, expires_at=when("03-31 09:00"), question=ASKS, tool_schema="5" * 64
    )
    pen.say(act.run, AGENT, act.intended(approval=None), request)


def tell(pen: Pen) -> None:
    """Say what happened in these runs."""
    ask = _from_payments("ask-100", ASKS, ASK_ABOVE)

    # 43: 150 EUR wait for a person; half an hour later the relay brings Kim's yes, and they are paid.
    pen.at("03-30 09:00").say("run-43", AGENT, opened("Pay booking 43", runtime=None), ask)
    pen.at("03-30 09:10")
    _asked(pen, WAITED, "a-43")
    pen.at("03-30 09:40").say("run-43", RELAY, ApprovalAnswered(id="a-43", answer="approved", by="human:kim"))
    pen.at("03-30 09:50")
    done(pen, WAITED, until="03-30 09:51")

    # 44: Lee says no, and the agent is refused when it tries again.
    pen.at("03-30 10:00").say("run-44", AGENT, opened("Pay booking 44", runtime=None), ask)
    pen.at("03-30 10:10")
    _asked(pen, REFUSED, "a-44")
    pen.at("03-30 10:20").say(
        "run-44",
        LEE,
        ApprovalAnswered(id="a-44", answer="denied", by="human:lee", reason="paid in cash"),
    )
    pen.at("03-30 10:30").say(
        "run-44",
        AGENT,
        EffectRefused(
            args=args_of(amount="150.00", booking=44),
            evidence={"approval": "a-44", "by": "human:lee", "key": REFUSED.key},
            key=REFUSED.key,
            position=5,
            rule="approval_denied",
            step="pay",
            tool="pay",
        ),
    )

    # 45: 501 EUR are refused by a rule that the run has from a source.
    pen.at("03-30 11:00").say(
        "run-45",
        AGENT,
        opened("Pay booking 45", runtime=None),
        _from_payments("limit-500", LIMIT_500, AT_MOST_500),
    )
    pen.at("03-30 11:10").say(
        "run-45",
        AGENT,
        EffectRefused(
            args=args_of(amount="501.00", booking=45),
            evidence={
                "asserted_by": "human:max",
                "conditions": "/amount is at most 500",
                "id": "limit-500",
                "revision": "9",
                "source": "policy:payments",
            },
            position=2,
            rule="constraint_violated",
            step="pay",
            tool="pay",
        ),
    )

    # 46: a program that does not ask the gateway pays 120.01 EUR, and says so afterwards.
    pen.at("03-30 12:00").say("run-46", KIM, opened("Pay booking 46", runtime=None), ask)
    pen.at("03-30 12:10")
    done(pen, UNASKED, until="03-30 12:11")
