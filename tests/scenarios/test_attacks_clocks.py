"""Clocks that were ahead and set back: nothing that lapsed is valid again, and every hold has its exit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from ledger import Actor, Ledger, Reading, Source, Verdict, open_ledger
from ledger.commands import Carve
from ledger.errors import AuthorityExceeded
from ledger.testing import Clock

AGENT = Actor("agent:refunds", session="s-1")
KIM = Actor("human:kim")
HOUR = timedelta(hours=1)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(clock: Clock) -> Iterator[Ledger]:
    with open_ledger(":memory:", clock=clock) as opened:
        yield opened


def test_a_grant_that_had_ended_when_something_was_recorded_covers_nothing_any_more(
    ledger: Ledger, clock: Clock
) -> None:
    run = ledger.open_run("r", goal="Refund orders", actor=AGENT)
    ledger.run("r", actor=KIM).grant(
        "g", principal=AGENT.id, scopes=["*"], granted_by=KIM.id, expires_at=clock() + HOUR
    )
    clock.tick(7200)
    run.move("pay")
    clock.tick(-7200)
    with pytest.raises(AuthorityExceeded, match="ended"):
        run.perform("pay", {"order": 1}, lambda order: "paid", step="pay")
    with pytest.raises(AuthorityExceeded, match="ended"):
        run.open_child("child", "Pay", grants=[Carve(id="g")])


def test_what_is_seen_anew_clears_what_was_stale_while_the_clock_is_behind_the_run(
    ledger: Ledger, clock: Clock
) -> None:
    run = ledger.open_run("r", goal="Refund orders", actor=AGENT, rests_on=["observation:stock"])
    clock.tick(5 * 3600)
    run.observe("stock", 1, tool="count", observed_at=clock(), fresh_for=600)
    run.suspend(reason="closed", by=KIM.id)
    clock.tick(-5 * 3600)
    assert [one.kind for one in ledger.resume("r", actor=AGENT).reasons] == ["observation_stale"]
    run.observe("stock", 1, tool="count", observed_at=clock(), fresh_for=600)
    assert ledger.resume("r", actor=AGENT, dry_run=True).verdict is Verdict.CONTINUE
    clock.tick(600)
    assert [one.kind for one in ledger.resume("r", actor=AGENT).reasons] == ["observation_stale"]


def test_a_source_that_is_read_anew_is_checked_while_the_clock_is_behind_the_run(
    ledger: Ledger, clock: Clock
) -> None:
    run = ledger.open_run("r", goal="Refund orders", actor=AGENT)
    ledger.source("policy:refunds").publish("1", {"kind": "Be kind"}, by=KIM.id)
    run.accept("kind", "Be kind", source=Source("policy", "refunds"), asserted_by=KIM.id)
    ledger.sources.register("policy", lambda name: Reading("1", {"kind": "Be kind"}), check_every=60)
    clock.tick(5 * 3600)
    run.suspend(reason="closed", by=KIM.id)
    clock.tick(-5 * 3600)
    assert ledger.resume("r", actor=AGENT).verdict is Verdict.CONTINUE


def test_a_rule_that_binds_acts_by_the_clock_is_judged_by_it(ledger: Ledger, clock: Clock) -> None:
    run = ledger.open_run("r", goal="Refund orders", actor=AGENT)
    policy = ledger.source("policy:refunds")
    policy.publish("1", {"kind": "Be kind"}, by=KIM.id)
    until = clock() + HOUR
    run.accept("kind", "Be kind", source=Source("policy", "refunds"), asserted_by=KIM.id, valid_until=until)
    policy.withdraw("kind", reason="replaced", by=KIM.id)
    clock.tick(7200)
    run.suspend(reason="closed", by=KIM.id)
    clock.tick(-7200)
    assert [one.id for one in run.contract.in_force(clock())] == ["kind"]
    assert ledger.resume("r", actor=AGENT).verdict is Verdict.RESTART
