"""Which sources there are, who relies on them, and what became there of what a run accepted."""

from __future__ import annotations

import pytest

from ledger import Ledger, Published, Rule, Source
from ledger.application.source_listing import Reliance, affected, find_source, list_sources
from ledger.errors import InvalidInput, NotFound

POLICY = "policy:refunds"
SAYS = {"limit": "At most 100 EUR", "ask": "Ask above 50 EUR", "log": "Log each refund"}


def accept(ledger: Ledger, run: str, *ids: str, **more: str) -> None:
    handle = ledger.open_run(run, goal="Refund")
    for id in ids:
        handle.accept(id, SAYS[id], source=Source("policy", "refunds", **more), asserted_by="human:kim")


def told(found: tuple[Reliance, ...]) -> list[tuple[str, str, str]]:
    return [(one.run, one.constraint.id, one.now) for one in found]


@pytest.fixture
def policy(ledger: Ledger) -> Ledger:
    ledger.source(POLICY).publish("4", SAYS)
    return ledger


def test_it_is_told_what_became_of_each_constraint(policy: Ledger) -> None:
    accept(policy, "r", "limit", "ask", "log")
    policy.source(POLICY).publish("5", {"limit": "At most 50 EUR", "ask": SAYS["ask"], "log": SAYS["log"]})
    policy.source(POLICY).withdraw("log", reason="unlawful", by="human:kim")
    limit, ask, log = affected(policy, POLICY).runs
    assert (limit.now, ask.now, log.now) == ("reworded", "unchanged", "withdrawn")
    assert limit.item is not None
    assert (limit.item.text, limit.item.revision, limit.looked) == ("At most 50 EUR", "5", False)
    assert log.gone is not None
    assert (log.gone.by, log.gone.reason, log.item) == ("human:kim", "unlawful", None)
    assert {one.constraint.source.revision for one in (limit, ask, log) if one.constraint.source} == {"4"}


def test_somebody_may_have_looked_at_the_new_words(policy: Ledger) -> None:
    accept(policy, "r", "limit")
    policy.source(POLICY).publish("5", {**SAYS, "limit": "At most 50 EUR"})
    policy.run("r").acknowledge(Source("policy", "refunds", revision="5"), by="human:kim")
    (one,) = affected(policy, POLICY).runs
    assert (one.now, one.looked) == ("reworded", True)


def test_another_rule_is_another_wording(policy: Ledger) -> None:
    accept(policy, "r", "limit")
    rule = Rule(deny=("wire",))
    said = [Published(id=id, text=text, rule=rule if id == "limit" else None) for id, text in SAYS.items()]
    policy.source(POLICY).publish("5", said)
    assert [one.now for one in affected(policy, POLICY).runs] == ["reworded"]


def test_open_runs_come_first_and_one_constraint_may_be_asked_for(policy: Ledger) -> None:
    for run in ("a", "b", "c"):
        accept(policy, run, "limit")
    accept(policy, "d", "ask")
    policy.run("a").close("cancelled")
    policy.run("b").suspend(reason="lunch")
    assert [(one.run, one.status) for one in affected(policy, POLICY, "limit").runs] == [
        ("c", "open"),
        ("b", "suspended"),
        ("a", "closed"),
    ]
    assert told(affected(policy, POLICY).runs)[1] == ("d", "ask", "unchanged")
    assert affected(policy, POLICY, "nothing").runs == ()


def test_it_is_asked_for_under_the_id_of_the_source(policy: Ledger) -> None:
    run = policy.open_run("r", goal="Refund")
    source = Source("policy", "refunds", item="limit")
    run.accept("mine", SAYS["limit"], source=source, asserted_by="human:kim")
    (one,) = affected(policy, POLICY, "limit").runs
    assert (one.constraint.id, one.published_as, one.now) == ("mine", "limit", "unchanged")
    assert affected(policy, POLICY, "mine").runs == ()


def test_what_a_source_never_said_is_unpublished(ledger: Ledger) -> None:
    run = ledger.open_run("r", goal="Refund")
    run.accept("x", "Anything", source=Source("policy", "refunds"), asserted_by="human:kim")
    assert told(affected(ledger, POLICY).runs) == [("r", "x", "unpublished")]


def test_what_a_run_let_go_affects_it_no_more(policy: Ledger) -> None:
    accept(policy, "r", "limit", "ask")
    policy.run("r").withdraw("limit", reason="not needed", by="human:kim")
    assert told(affected(policy, POLICY).runs) == [("r", "ask", "unchanged")]


def test_sources_are_listed_with_the_runs_that_follow_them(policy: Ledger) -> None:
    policy.source("law:all").open(owners=["human:kim"])
    accept(policy, "a", "limit", "ask")
    accept(policy, "b", "limit")
    accept(policy, "c", "limit")
    policy.run("c").close("cancelled")
    policy.open_run("d", goal="Other").accept(
        "x", "Anything", source=Source("memo", "m"), asserted_by="human:kim"
    )
    listed = list_sources(policy)
    assert [
        (line.state.source, line.state.revision, line.runs, line.closed_runs) for line in listed.sources
    ] == [
        ("law:all", None, 0, 0),
        ("memo:m", None, 1, 0),
        (POLICY, "4", 2, 1),
    ]
    assert listed.sources[0].state.owners == ("human:kim",)
    assert listed.unread == ()


def test_a_source_that_nobody_opened_is_not_found(policy: Ledger) -> None:
    assert find_source(policy, POLICY).revision == "4"
    for look in (find_source, affected):
        with pytest.raises(NotFound):
            look(policy, "policy:nobody")
        with pytest.raises(InvalidInput):
            look(policy, "nobody")


def test_sources_are_read_by_id_as_before(policy: Ledger) -> None:
    assert list(policy.sources()) == [POLICY]
    assert policy.sources()[POLICY] == policy.source(POLICY).state
