"""Rules as callers give them: in `accept`, in `publish`, from a reader."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Actor, Ledger, Reading, Source, open_ledger
from ledger.application.edge import Edge
from ledger.errors import InvalidInput
from ledger.stores.memory import MemoryStore
from ledger.values import Operator, Predicate, Published, Rule
from tests.application.conftest import SetClock, Wrapped

ASKED: dict[str, Any] = {
    "tools": ["refund"],
    "when": [{"path": "/amount", "operator": "gt", "value": 100}],
    "needs_approval": True,
}
RULE = Rule(
    needs_approval=True,
    tools=("refund",),
    when=(Predicate(operator=Operator.GREATER, path="/amount", value="100"),),
)
REFUNDS = Source("policy", "refunds")


def test_a_rule_may_be_given_as_a_mapping() -> None:
    with open_ledger(":memory:") as ledger:
        run = ledger.open_run("r", goal="Refund")
        run.accept("a", "Ask", asserted_by="human:kim", rule=ASKED)
        run.accept("b", "Ask", asserted_by="human:kim", rule=RULE)
        assert [one.rule for one in run.contract.constraints] == [RULE, RULE]
        with pytest.raises(InvalidInput) as refused:
            run.accept("c", "Ask", asserted_by="human:kim", rule={"tool": ["refund"]})
        assert refused.value.path == "rule.tool"


SAID: list[Any] = [
    {"ask": {"text": "Ask", "rule": ASKED}, "kind": "Be kind"},
    [{"id": "ask", "text": "Ask", "rule": ASKED}, Published(id="kind", text="Be kind")],
    [Published(id="ask", text="Ask", rule=RULE), {"id": "kind", "text": "Be kind", "rule": None}],
]


@pytest.mark.parametrize("said", SAID)
def test_a_source_publishes_text_and_rule_in_every_form(said: Any) -> None:
    with open_ledger(":memory:") as ledger:
        policy = ledger.source("policy:refunds")
        policy.publish("4", said)
        assert [(one.id, one.rule) for one in policy.state.items] == [("ask", RULE), ("kind", None)]
        assert Reading("4", said).published == tuple(one.published for one in policy.state.items)
        run = ledger.open_run("r", goal="Refund")
        run.accept("ask", "Ask", source=REFUNDS, asserted_by="human:kim")
        (accepted,) = run.contract.constraints
        assert (accepted.rule, accepted.published) == (RULE, True)


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ({"ask": 3}, "constraints.ask"),
        ({"ask": {"id": "ask", "text": "Ask"}}, "constraints.ask"),
        ({"ask": {"text": "Ask", "rule": {"tool": []}}}, "constraints.ask.rule.tool"),
        ({"ask": {"text": "Ask", "rules": ASKED}}, "rules"),
        (["Ask"], "constraints[0]"),
        ([{"id": "ask", "text": "Ask", "rule": "deny"}], "constraints[0].rule"),
        ("Ask", "constraints"),
    ],
)
def test_what_is_malformed_is_named(said: Any, path: str) -> None:
    with open_ledger(":memory:") as ledger, pytest.raises(InvalidInput) as refused:
        ledger.source("policy:refunds").publish("4", said)
    assert refused.value.path == path


def test_a_rule_that_is_published_while_its_words_are_accepted_is_taken(clock: SetClock) -> None:
    """No acceptance slips in between: the guard fails, and what is decided again is the rule as it stands."""
    store = Wrapped(MemoryStore())
    edge = Edge(store, "default", Actor("service:tests"), clock, pause=lambda attempt: None)
    ledger = Ledger(edge)
    policy = ledger.source("policy:refunds")
    policy.publish("4", {"ask": "Ask"})
    run = ledger.open_run("r", goal="Refund", actor=Actor("agent:refunds"))

    def publish(append: Any) -> None:
        store.before = lambda append: None
        policy.publish("5", {"ask": {"text": "Ask", "rule": ASKED}})

    store.before = publish
    run.accept("ask", "Ask", source=REFUNDS, asserted_by="human:kim")
    (accepted,) = run.contract.constraints
    assert (accepted.rule, accepted.published, accepted.source_position) == (RULE, True, 3)
