"""A worker that was kept from its call, between claim and body, calls only while its lease holds."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest

from ledger import Actor, Happened, NotHappened
from ledger.application.edge import Edge
from ledger.application.ledger import Ledger
from ledger.errors import EffectFailed, LeaseLost, OutcomeUnknown, StoreUnavailable
from ledger.stores.memory import MemoryStore
from ledger.testing import START, Clock
from tests.effects.hooked import CLAIM, Hooked
from tests.servers.waiting import until


class Outside:
    """It dedupes on a key for 100 s, can be asked, and counts what it did."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[str, Any] = {}
        self.acts = 0

    def act(self, n: int, *, effect: Any) -> int:
        since = self._since.get(effect.key)
        if since is None or self._clock.now - since >= timedelta(seconds=100):
            self._since[effect.key] = self._clock.now
            self.acts += 1
        return n

    def acts_unheard(self, n: int, *, effect: Any) -> int:
        self.act(n, effect=effect)
        raise ConnectionError("the answer was lost")

    def find(self, key: str, args: Any) -> Happened | NotHappened:
        return Happened(args["n"]) if key in self._since else NotHappened()


def ledgers(*clocks: Clock) -> tuple[list[Ledger], Hooked]:
    """Open a ledger for each clock on one store; only the first one is stepped into."""
    store = MemoryStore()
    first: Any = Hooked(store)
    stores: list[Any] = [first, *[store] * (len(clocks) - 1)]
    pairs = zip(stores, clocks, strict=True)
    return [Ledger(Edge(each, "default", Actor("service:tests"), clock)) for each, clock in pairs], first


def cut() -> None:
    raise StoreUnavailable("the connection was lost at COMMIT")


def test_a_claim_heard_late_is_told_from_a_new_one_where_the_record_runs_ahead_of_the_clock() -> None:
    """Times in a run never go back, so one machine whose clock is ahead moves those of all that follow."""
    clock, ahead = Clock(), Clock(START + timedelta(seconds=600))
    outside = Outside(clock)
    (one, two, fast), store = ledgers(clock, clock, ahead)
    kept = one.open_run("r", "goal")
    fast.run("r").move("looked around")

    def perform(ledger: Ledger) -> Any:
        return ledger.run("r").perform(
            "act", {"n": 7}, outside.act, recovery="queryable", probe=outside.find, settle_seconds=0
        )

    store.after(CLAIM, once(cut))
    with pytest.raises(StoreUnavailable):
        perform(one)
    clock.tick(31)
    assert perform(two) == 7
    with pytest.raises(LeaseLost):
        perform(one)
    assert perform(one) == 7
    assert outside.acts == 1
    assert kept.contract.effects == ()


def test_a_key_that_was_forgotten_between_claim_and_body_is_not_sent() -> None:
    clock = Clock()
    outside = Outside(clock)
    (ledger,), store = ledgers(clock)
    run = ledger.open_run("r", "goal")
    declared: Any = {"recovery": "idempotent", "dedupes_for": 100}
    with pytest.raises(OutcomeUnknown):
        run.perform("act", {"n": 7}, outside.acts_unheard, **declared)
    clock.tick(95)
    store.after(CLAIM, lambda: clock.tick(6))
    with pytest.raises(LeaseLost):
        run.perform("act", {"n": 7}, outside.act, **declared)
    with pytest.raises(OutcomeUnknown) as unknown:
        run.perform("act", {"n": 7}, outside.act, **declared)
    assert unknown.value.retry_after is None
    assert outside.acts == 1


def test_a_body_stops_at_its_check_when_its_lease_has_ended_and_renewing_it_hangs() -> None:
    """Nobody has told the worker: the store does not answer it, and answers others."""
    store: Any = MemoryStore()
    hanging: Any = Hooked(store)
    released = threading.Event()
    hanging.may_renew = released.wait
    acts: list[int] = []

    def act(n: int, *, effect: Any) -> None:
        until(lambda: [one.status for one in other.effects("r")] == ["unknown"], "others see it lapsed")
        effect.check()
        acts.append(n)

    cut_off, other = (Ledger(Edge(each, "default", Actor("service:tests"))) for each in (hanging, store))
    run = cut_off.open_run("r", "goal")
    try:
        with pytest.raises(EffectFailed):
            run.perform("act", {"n": 7}, act, lease_seconds=1, definite_errors=[LeaseLost])
    finally:
        released.set()
    assert acts == []


@pytest.mark.parametrize("checks", [True, False])
def test_who_acts_after_another_took_over_is_stopped_by_its_check_or_disputed(checks: bool) -> None:
    """Nobody can prevent what a worker does without looking whether it holds the effect still: it is told."""
    clock = Clock()
    outside = Outside(clock)
    (one, two), _ = ledgers(clock, clock)
    run = one.open_run("r", "goal")
    other = two.run("r")
    declared: Any = {"recovery": "queryable", "probe": outside.find, "settle_seconds": 0}

    def act_late(n: int, *, effect: Any) -> int:
        clock.tick(100)
        assert other.perform("act", {"n": n}, outside.act, **declared) == n
        if checks:
            effect.progress()
        clock.tick(100)  # the outside has forgotten the key
        return outside.act(n, effect=effect)

    if checks:
        assert run.perform("act", {"n": 7}, act_late, **declared) == 7
    else:
        with pytest.raises(LeaseLost) as lost:
            run.perform("act", {"n": 7}, act_late, **declared)
        assert lost.value.data["result"] == 7
    disputed = [each.status for each in one.effects("r", unknown=True)] == ["disputed"]
    assert (outside.acts, disputed) == ((1, False) if checks else (2, True))
    assert [record.name for record in one.log("r")].count("effect.disputed") == int(disputed)


def once(hook: Any) -> Any:
    """Call a hook the first time only."""
    hooks = [hook]
    return lambda: hooks.pop()() if hooks else None
