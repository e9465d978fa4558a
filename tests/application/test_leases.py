"""Leases of effects: kept by heartbeats, lost where they cannot be, and never begun on when over."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from ledger import Ledger, current_effect, open_ledger
from ledger.application.heartbeats import Beat, Heartbeats
from ledger.errors import EffectInFlight, InvalidInput, LeaseLost, OutcomeUnknown, StoreUnavailable
from ledger.gateway.current import CurrentEffect
from ledger.gateway.protocol import Attempt
from tests.application.conftest import OpenLedger, SetClock
from tests.servers.waiting import until

KEY = "0" * 64


class Renewing:
    """A store in front of another, whose renewals a test steps into."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.before: Callable[[], object] = lambda: None
        self.after: Callable[[], object] = lambda: None
        self.renewals = 0
        self.released: list[bytes] = []

    def renew(self, *args: Any, **more: Any) -> Any:
        self.renewals += 1
        self.before()
        until = self._store.renew(*args, **more)
        self.after()
        return until

    def release(self, tenant: str, key: bytes) -> None:
        self.released.append(key)
        self._store.release(tenant, key)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.fixture
def renewing(store: Any) -> Renewing:
    return Renewing(store)


def _down() -> None:
    raise StoreUnavailable("the connection was lost")


def _beat(ledger: Ledger, clock: SetClock, seconds: float = 30) -> Beat:
    end = clock.now + timedelta(seconds=seconds)
    effect = CurrentEffect(KEY, 1, "refund", end)
    return Beat(effect, Attempt(1, end), "w-1", seconds, began=time.monotonic())


def test_a_renewal_moves_the_deadline(open_on: OpenLedger, renewing: Any, clock: SetClock) -> None:
    ledger = open_on(store=renewing)
    beat = _beat(ledger, clock)
    clock.tick(20)
    Heartbeats(ledger._edge).renew(beat)
    assert beat.effect.deadline == clock.now + timedelta(seconds=30)
    assert not beat.effect.is_lost


def test_a_renewal_that_is_heard_after_the_end_it_knew_is_no_renewal(
    open_on: OpenLedger, renewing: Any, clock: SetClock
) -> None:
    """Another worker may have seen the lease lapsed before the renewal that was tried again."""
    ledger = open_on(store=renewing)
    beat = _beat(ledger, clock)
    renewing.after = lambda: clock.tick(30)
    Heartbeats(ledger._edge).renew(beat)
    assert beat.effect.is_lost
    with pytest.raises(LeaseLost):
        beat.effect.check()


def test_a_lapsed_lease_is_not_renewed(open_on: OpenLedger, renewing: Any, clock: SetClock) -> None:
    ledger = open_on(store=renewing)
    beat = _beat(ledger, clock)
    clock.tick(30)
    Heartbeats(ledger._edge).renew(beat)
    assert beat.effect.is_lost


def test_progress_reports_a_lease_that_ended(open_on: OpenLedger, clock: SetClock) -> None:
    run = open_on().open_run("r", goal="g")

    def slow(*, effect: CurrentEffect) -> None:
        clock.tick(31)
        effect.progress({"rows": 1})

    with pytest.raises(OutcomeUnknown) as unknown:
        run.perform("slow", {}, slow)
    assert isinstance(unknown.value.__cause__, LeaseLost)


def test_progress_is_there_for_the_next_attempt(open_on: OpenLedger, clock: SetClock) -> None:
    ledger = open_on()
    run = ledger.open_run("r", goal="g")
    seen: list[Any] = []

    def copy(*, effect: CurrentEffect) -> None:
        seen.append((effect.attempt, effect.last_progress))
        effect.progress({"rows": effect.attempt})
        raise ValueError

    for _ in range(3):
        with pytest.raises(OutcomeUnknown):
            run.perform("copy", {}, copy, recovery="idempotent", dedupes_for=None)
        clock.tick(1)
    assert seen == [(1, None), (2, {"rows": 1}), (3, {"rows": 2})]


def test_progress_that_is_no_json_is_refused_and_keeps_the_lease(
    open_on: OpenLedger, clock: SetClock
) -> None:
    run = open_on().open_run("r", goal="g")

    def slow(*, effect: CurrentEffect) -> str:
        with pytest.raises(InvalidInput):
            effect.progress(object())
        effect.progress()
        return "done"

    assert run.perform("slow", {}, slow) == "done"


def test_a_secret_in_progress_is_redacted(open_on: OpenLedger, clock: SetClock) -> None:
    run = open_on().open_run("r", goal="g")
    seen: list[Any] = []

    def slow(*, effect: CurrentEffect) -> None:
        seen.append(effect.last_progress)
        effect.progress({"password": "hunter2-and-more"})
        raise ValueError

    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            run.perform("slow", {}, slow, recovery="idempotent", dedupes_for=None)
    assert "hunter2" not in str(seen)
    assert seen[1]["password"].startswith("[redacted")


def test_what_was_renewed_is_forgotten_when_the_effect_is_settled(
    open_on: OpenLedger, renewing: Any, clock: SetClock
) -> None:
    run = open_on(store=renewing).open_run("r", goal="g")
    run.perform("quick", {}, lambda: 1)
    assert renewing.released == []
    run.perform("slow", {}, lambda: current_effect().progress(1))
    assert len(renewing.released) == 1


def test_a_renewed_lease_holds_others_off(open_on: OpenLedger, clock: SetClock) -> None:
    first, second = open_on(), open_on()
    run = first.open_run("r", goal="g")

    def slow(*, effect: CurrentEffect) -> str:
        clock.tick(20)
        effect.progress()
        clock.tick(20)
        with pytest.raises(EffectInFlight) as busy:
            second.run("r").perform("slow", {}, slow)
        assert busy.value.data["retry_after"] == 10
        [one] = second.effects("r")
        assert (one.status, one.lease_until) == ("executing", effect.deadline)
        return "done"

    assert run.perform("slow", {}, slow) == "done"


def test_a_body_is_not_begun_when_its_lease_ended_while_it_was_claimed(
    open_on: OpenLedger, wrapped: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = open_on(store=wrapped).open_run("r", goal="g")
    late = [0.0]
    monotonic = SimpleNamespace(monotonic=lambda: time.monotonic() + late[0])
    monkeypatch.setattr("ledger.application.heartbeats.time", monotonic)
    wrapped.after = lambda append: late.append(late.pop() + 30)
    called: list[int] = []
    with pytest.raises(LeaseLost):
        run.perform("refund", {}, lambda: called.append(1))
    assert not called
    wrapped.after, late[0] = lambda append: None, 0.0
    run.perform("refund", {}, lambda: called.append(1))
    assert called == [1]


def test_a_lease_that_was_cut_to_what_the_outside_remembers_is_not_begun_on_later(
    open_on: OpenLedger, wrapped: Any, clock: SetClock
) -> None:
    """Sent again after the outside has forgotten the key, it would be done twice."""
    run = open_on(store=wrapped).open_run("r", goal="g")
    sent: list[Any] = []

    def refund() -> None:
        sent.append(clock.now)
        raise ValueError

    options: Any = {"recovery": "idempotent", "dedupes_for": 100, "lease_seconds": 30}
    with pytest.raises(OutcomeUnknown):
        run.perform("refund", {}, refund, **options)
    clock.tick(95)
    wrapped.after = lambda append: clock.tick(10)
    with pytest.raises((LeaseLost, OutcomeUnknown)):
        run.perform("refund", {}, refund, **options)
    assert len(sent) == 1


# --- by the thread that renews ------------------------------------------------------------------------


def beats(ledger: Ledger) -> bool:
    """Let what is under way be due now, and the thread look."""
    heartbeats = ledger._shared.workshop.heartbeats
    with heartbeats._changed:
        for beat in heartbeats._beats:
            beat.due = 0.0
        heartbeats._changed.notify()
    return True


def renewing_in(ledger: Ledger) -> Any:
    """Step into the renewals of a ledger."""
    store: Any = Renewing(ledger._edge.store)
    object.__setattr__(ledger._edge, "store", store)
    return store


def test_heartbeats_keep_the_lease_of_a_long_body(tmp_path: Any, clock: SetClock) -> None:
    path = tmp_path / "l.db"
    with open_ledger(path, clock=clock) as ledger, open_ledger(path, clock=clock) as other:
        ledger.open_run("r", goal="g")

        def slow(*, effect: CurrentEffect) -> str:
            first = effect.deadline
            assert first is not None
            clock.tick(2000)
            until(lambda: beats(ledger) and effect.deadline != first, "it is renewed")
            clock.tick(2000)
            assert clock.now > first
            with pytest.raises(EffectInFlight):
                other.run("r").perform("slow", {}, slow)
            effect.check()
            return "done"

        assert ledger.run("r").perform("slow", {}, slow, lease_seconds=3600) == "done"


def test_a_lease_that_cannot_be_renewed_is_lost_when_it_ends(clock: SetClock) -> None:
    with open_ledger(":memory:", clock=clock) as ledger:
        run = ledger.open_run("r", goal="g")
        store = renewing_in(ledger)
        store.before = _down

        def slow(*, effect: CurrentEffect) -> None:
            clock.tick(3599)
            until(lambda: beats(ledger) and store.renewals > 1, "it was tried, and tried again")
            assert not effect.is_lost
            clock.tick(1)
            until(lambda: beats(ledger) and effect.is_lost, "it is lost")
            effect.check()

        with pytest.raises(OutcomeUnknown) as unknown:
            run.perform("slow", {}, slow, lease_seconds=3600)
        assert isinstance(unknown.value.__cause__, LeaseLost)


def test_heartbeats_go_on_after_a_renewal_that_went_wrong(clock: SetClock) -> None:
    with open_ledger(":memory:", clock=clock) as ledger:
        run = ledger.open_run("r", goal="g")
        store = renewing_in(ledger)
        faults = [RuntimeError("a fault of the program")]

        def once() -> None:
            if faults:
                raise faults.pop()

        store.before = once

        def slow(*, effect: CurrentEffect) -> str:
            first = effect.deadline
            clock.tick(10)
            until(lambda: beats(ledger) and effect.deadline != first, "it is renewed")
            return "done"

        assert run.perform("slow", {}, slow, lease_seconds=3600) == "done"
        assert not faults


def test_a_thread_that_ended_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def due_soon(beat: Beat) -> None:
        beat.due, beat.ends = beat.began + 0.02, beat.began + beat.seconds

    monkeypatch.setattr(Beat, "__post_init__", due_soon)
    monkeypatch.setattr("ledger.application.heartbeats._IDLE_SECONDS", 0.01)
    with open_ledger(":memory:") as ledger:
        run = ledger.open_run("r", goal="g")
        heartbeats, store = ledger._shared.workshop.heartbeats, renewing_in(ledger)
        for number in range(3):

            def slow(number: int) -> int:
                until(lambda: store.renewals == number + 1, "it is renewed")
                return number

            assert run.perform("slow", {"number": number}, slow, lease_seconds=3600) == number
            beats(ledger)  # there is nothing to wait for any more
            until(lambda: heartbeats._thread is None, "its thread has ended")
