"""Questions find nothing against what the gateway let begin, and find what it would not have let begin.

A run is told deed by deed: rules come, change and end, people approve and deny, terms, runtime and
clock move on, and an agent performs what it is let to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import event as note
from hypothesis import example, given
from hypothesis import strategies as st

from ledger import Actor, Ledger, Tool
from ledger.application.edge import Edge
from ledger.errors import ApprovalRequired, LedgerError, OutcomeUnknown
from ledger.events import ApprovalAnswered, EffectIntended, EffectStarted
from ledger.gateway.tools import Retry, declare
from ledger.run.rules import asks_approval
from ledger.stores.memory import MemoryStore
from ledger.values import Operator, Predicate, Rule, Runtime
from projections.questions.approvals_void import VoidApprovals
from projections.questions.violations import Violations
from tests.projections.conftest import SetClock
from tests.projections.questions.telling import Teller, told

AGENT, KIM, LEE = Actor("agent:desk"), Actor("human:kim"), Actor("human:lee")
WANTS = "a person approves it before it starts"


def _is(operator: Operator, path: str, value: str) -> Predicate:
    return Predicate(operator=operator, path=path, value=value)


RULES = {
    "deny": Rule(deny=("mail",)),
    "allow": Rule(allow=("pay",)),
    "limit": Rule(tools=("pay",), require=(_is(Operator.AT_MOST, "/amount", "100"),)),
    # `note` is left to its default by most calls.
    "silent": Rule(require=(_is(Operator.EQUAL, "/note", '""'),)),
    "ask": Rule(needs_approval=True),
    "ask above": Rule(tools=("pay",), when=(_is(Operator.GREATER, "/amount", "50"),), needs_approval=True),
    "ask if silent": Rule(when=(_is(Operator.EQUAL, "/note", '""'),), needs_approval=True),
    "here": Rule(resources=("desk",)),
    "others": Rule(tenants=("another",)),
    "ours": Rule(tenants=("default",), needs_approval=True),
}
DEMANDING = sorted(name for name, rule in RULES.items() if rule.needs_approval)
TOOLS = ("pay", "mail", "gift", "refund")

DEEDS = st.one_of(
    st.tuples(st.just("accept"), st.sampled_from(["a", "b"]), st.sampled_from(sorted(RULES))),
    st.tuples(st.just("accept"), st.sampled_from(["a", "b"]), st.sampled_from(DEMANDING)),
    st.tuples(st.just("end"), st.sampled_from(["a", "b"]), st.none()),
    st.tuples(st.just("valid"), st.sampled_from(["a", "b"]), st.sampled_from(sorted(RULES))),
    st.tuples(st.just("perform"), st.sampled_from(TOOLS), st.sampled_from([10, 60, None])),
    st.tuples(st.just("perform with leave"), st.sampled_from(TOOLS), st.sampled_from([60, 70, None])),
    st.tuples(st.just("approve"), st.sampled_from([KIM, KIM, LEE, AGENT]), st.integers(0, 2)),
    st.tuples(st.just("deny"), st.sampled_from([KIM, LEE]), st.integers(0, 2)),
    st.tuples(st.just("revise"), st.none(), st.none()),
    st.tuples(st.just("adopt"), st.sampled_from(["m-1", "m-2"]), st.none()),
    st.tuples(st.just("wait"), st.sampled_from([1, 40, 90]), st.none()),
    st.tuples(st.just("ask again"), st.integers(0, 2), st.none()),
)
Deed = tuple[str, Any, Any]


class Desk:
    """A run, the tools it may call, and what becomes of the calls."""

    def __init__(self, store: MemoryStore) -> None:
        self.clock = SetClock()
        waits: dict[str, Any] = {"pause": lambda attempt: None, "wait": self.clock.tick}
        edge = Edge(store, "default", Actor("service:tests"), self.clock, **waits)
        self.ledger = Ledger(edge, tools=list(self._tools()))
        self.ledger.open_run("r", "Pay", actor=KIM, runtime=Runtime(model="m-1"))
        self._calls = 0

    def _tools(self) -> Iterator[Tool]:
        def outside(amount: int = 150, note: str = "") -> int:
            self._calls += 1
            if self._calls % 4 == 0:
                raise OutcomeUnknown("the line was cut")
            if self._calls % 3 == 0:
                raise ValueError("no")
            return amount

        surely: dict[str, Any] = {"definite_errors": ValueError}
        again = Retry(max_attempts=3)
        yield declare(
            outside, name="pay", recovery="at_most_once", retry=again, approval_seconds=60, **surely
        )
        yield declare(outside, name="mail", recovery="idempotent", dedupes_for=3600, **surely)
        yield declare(outside, name="gift", recovery="at_most_once", needs_approval=True, **surely)
        yield declare(outside, name="refund", recovery="at_most_once", resource="desk", **surely)

    def tell(self, deeds: list[Deed]) -> None:
        """Let everybody do what they would; what is refused is refused."""
        for what, one, other in deeds:
            self.clock.tick(1)
            with suppress(LedgerError, ValueError):
                self._do(what, one, other)

    def _perform(self, tool: str, amount: int | None) -> None:
        args = {} if amount is None else {"amount": amount}
        self.ledger.run("r", actor=AGENT).perform(tool, args, step="s")

    def _do(self, what: str, one: Any, other: Any) -> None:
        run = self.ledger.run("r", actor=KIM)
        if what in ("accept", "valid"):
            held = {constraint.id for constraint in self.ledger.contract("r").constraints}
            times: dict[str, Any] = {}
            if what == "valid":
                times["valid_from"] = self.clock.now + timedelta(seconds=30)
                times["valid_until"] = self.clock.now + timedelta(seconds=100)
            change = "reworded" if one in held else None
            run.accept(one, other, asserted_by="human:kim", rule=RULES[other], change=change, **times)
        elif what == "end":
            run.withdraw(one, reason="enough", by="human:kim")
        elif what == "perform":
            self._perform(one, other)
        elif what == "perform with leave":
            try:
                self._perform(one, other)
            except ApprovalRequired as told_so:
                run.approve(told_so.id, by="human:kim")
                self._perform(one, other)
        elif what == "revise":
            run.revise_goal(f"Pay by {self.clock.now}", reason="news", by="human:kim")
        elif what == "adopt":
            run.adopt_runtime(Runtime(model=one), by="human:kim", reason="upgrade")
        elif what == "wait":
            self.clock.tick(one)
        else:
            waiting = self.ledger.contract("r").approvals
            asked = waiting[(other if what != "ask again" else one) % len(waiting)] if waiting else None
            if asked is None:
                return
            if what == "ask again":
                run.request_approval(asked.key)
            else:
                answer = self.ledger.run("r", actor=one)
                (answer.approve if what == "approve" else answer.deny)(asked.id, by=one.id)


@contextmanager
def desk_of(deeds: list[Deed]) -> Iterator[Desk]:
    with closing(MemoryStore()) as store:
        desk = Desk(store)
        desk.tell(deeds)
        yield desk


class Begun(NamedTuple):
    """What began, and what the contract had to say of it right before."""

    key: str
    position: int
    asking: bool
    """A rule in force would have had a person asked."""
    cited: str | None


def begun(ledger: Ledger) -> Iterator[Begun]:
    """Read what began from the log, and what was in force from the contract at that position."""
    intents: dict[str, tuple[EffectIntended, int]] = {}
    for record in ledger.log("r"):
        event = record.event
        if isinstance(event, EffectIntended):
            intents[event.key] = event, record.position
        elif isinstance(event, EffectStarted):
            intent, position = intents[event.key]
            held = ledger.contract("r", at=position - 1).in_force(record.at)
            args = intent.args_in_full or intent.args
            rules = [one.rule for one in held if one.rule is not None]
            asking = any(asks_approval(rule, intent.tool, args) for rule in rules)
            yield Begun(event.key, record.position, asking, intent.approval)


PAY: Deed = ("perform", "pay", 60)
ASKED = [("accept", "a", "ask above"), PAY, ("approve", KIM, 0), ("wait", 1, None), PAY, PAY]


@given(st.lists(DEEDS, min_size=6, max_size=25))
@example(ASKED)
@example(
    [("accept", "a", "ask if silent"), ("perform", "mail", None), ("deny", KIM, 0), ("perform", "mail", 10)]
)
def test_nothing_is_found_against_what_the_gateway_let_begin(deeds: list[Deed]) -> None:
    with desk_of(deeds) as desk:
        assert told(desk.ledger, Violations()) == []
        acts = [
            row
            for row in told(desk.ledger, VoidApprovals(), "why", "executed_key", "position")
            if row[1] is not None
        ]
        assert acts == []
        for one in begun(desk.ledger):
            assert not one.asking or one.cited is not None
            note("an approved act began" if one.asking else "an act began")


@given(st.lists(DEEDS, min_size=6, max_size=25), st.booleans())
@example(ASKED, False)
@example(ASKED, True)
def test_the_same_history_without_its_approvals_is_found(deeds: list[Deed], denied: bool) -> None:
    """Import the history as somebody would forge it: acts cite nothing, or what was denied."""
    forge = _is_denied if denied else _cites_nothing
    with desk_of(deeds) as desk, closing(MemoryStore()) as store:
        clock = SetClock()
        forged = Ledger(Edge(store, "default", KIM, clock, pause=lambda attempt: None))
        teller = Teller(forged, clock, KIM)
        for record in desk.ledger.log("r"):
            clock.now = record.at
            teller.say("r", forge(record.event), by=record.actor)
        found = told(forged, Violations(), "key", "effect_position", "condition")
        wanted = {(one.key, one.position) for one in begun(desk.ledger) if one.asking}
        assert {row[:2] for row in found} == wanted
        assert {condition for _, _, condition in found} <= {WANTS}


def _cites_nothing(event: Any) -> Any:
    return event.with_fields({"approval": None}) if isinstance(event, EffectIntended) else event


def _is_denied(event: Any) -> Any:
    return event.with_fields({"answer": "denied"}) if isinstance(event, ApprovalAnswered) else event


def test_these_deeds_do_let_acts_wait_and_begin() -> None:
    """So that the laws above are not about nothing."""
    with desk_of(ASKED) as desk:
        (one,) = begun(desk.ledger)
        assert (one.asking, one.cited is not None) == (True, True)
    with desk_of([("accept", "a", "ours"), PAY]) as desk:
        assert list(begun(desk.ledger)) == []
        run = desk.ledger.run("r", actor=AGENT)
        with pytest.raises(ApprovalRequired):
            run.perform("pay", {"amount": 60}, step="s")
