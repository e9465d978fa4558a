"""Two runners of one projection: one works, the other stands by, and nobody writes after a take-over."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread
from typing import Any

import pytest

from ledger import Ledger
from ledger.errors import StoreBusy
from ledger.record import Record
from projections.base import Rows
from projections.runner import Runner
from projections.standing import forget
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.samples import Counts, Fragile, catch_up, fill, kept, naive, standing
from tests.stores.builder import shown, until


class Stalled(Fragile):
    """Stands still in the middle of a page until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.stands, self.go = Event(), Event()

    def handle(self, record: Record, rows: Rows) -> None:
        if (record.run, record.position) == ("run-1", 2) and not self.go.is_set():
            self.stands.set()
            assert self.go.wait(60)
        super().handle(record, rows)


def in_thread(call: Callable[[], object]) -> Thread:
    thread = Thread(target=call, daemon=True)
    thread.start()
    return thread


def test_who_was_thought_dead_cannot_write_and_stands_by(open_on: OpenLedger, clock: SetClock) -> None:
    ledger = open_on()
    fill(ledger)
    shown(ledger.store)
    stalled, stop = Stalled(), Event()
    old = in_thread(lambda: Runner(ledger, [stalled], page=3, holder="old").run(stop=stop))
    assert stalled.stands.wait(60)
    assert standing(ledger, stalled).holder == "old"
    clock.tick(31)
    new = Fragile()
    with Runner(open_on(), [new], page=3, holder="new").in_background():
        until(lambda: kept(ledger, new) == naive(ledger, Counts()))
        stalled.go.set()
        # The old one has computed its page, comes too late with it, and handles nothing from then on.
        ledger.run("run-0").revise_goal("later", reason="it changed", by="human:kim")
        until(lambda: kept(ledger, new) == naive(ledger, Counts()))
        assert standing(ledger, new).holder == "new"
        assert ("run-0", 6) not in stalled.handled
    # The new one has ended and let go: the old one takes over.
    until(lambda: standing(ledger, stalled).holder == "old")
    ledger.run("run-2").revise_goal("last", reason="it changed", by="human:kim")
    until(lambda: kept(ledger, stalled) == naive(ledger, Counts()))
    assert ("run-2", 6) in stalled.handled
    stop.set()
    old.join(60)
    assert kept(ledger, stalled) == naive(ledger, Counts())


def test_who_stands_by_waits_as_long_as_the_other_gives_signs_of_life(
    open_on: OpenLedger, clock: SetClock
) -> None:
    ledger = open_on()
    ledger.open_run("run", "goal")
    first, second = Fragile(), Fragile()
    with (
        Runner(ledger, [first], holder="first", lease_seconds=0.3).in_background(),
        Runner(open_on(), [second], holder="second", lease_seconds=0.3).in_background(),
    ):
        until(lambda: bool(first.handled) or bool(second.handled))
        until(lambda: standing(ledger, first).events == 1)
        worker = standing(ledger, first).holder
        for _ in range(4):
            # With nothing to do it prolongs its lease; the clock goes on by a third of it each time.
            clock.tick(0.1)
            until(lambda: standing(ledger, first).held_until == clock.now + timedelta(seconds=0.3))
            assert standing(ledger, first).holder == worker
    assert sorted(first.handled + second.handled) == [("run", 1)]


def test_it_is_caught_up_by_whoever_works_on_it(open_on: OpenLedger) -> None:
    ledger = open_on()
    fill(ledger)
    works, waits = Fragile(), Fragile()
    with Runner(ledger, [works], holder="works").in_background():
        until(lambda: standing(ledger, works).holder == "works")
        # It waits for the other, and handles nothing itself.
        catch_up(open_on(), waits)
    assert (len(works.handled), waits.handled) == (15, [])
    assert kept(ledger, works) == naive(ledger, Counts())


def test_to_begin_anew_takes_the_lease_away(ledger: Ledger) -> None:
    fill(ledger)
    counts = Counts()
    with Runner(ledger, [counts], lease_seconds=0.3).in_background():
        until(lambda: kept(ledger, counts) == naive(ledger, counts))
        for _ in range(3):
            forget(ledger, counts)
            until(lambda: kept(ledger, counts) == naive(ledger, counts))


def test_an_answer_that_is_lost_is_no_loss_and_no_repetition(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store says that it was busy before it stored a page, or after it: nobody can tell."""
    fill(ledger)
    shown(ledger.store)
    models = type(ledger.store.read_models())
    advance, calls = models.advance, list[int]()

    def unsure(self: Any, *args: Any, **more: Any) -> None:
        calls.append(1)
        if len(calls) % 3 == 1:
            raise StoreBusy("not stored", reason="locked")
        advance(self, *args, **more)
        if len(calls) % 3 == 2:
            raise StoreBusy("stored", reason="locked")

    monkeypatch.setattr(models, "advance", unsure)
    counts = Counts()
    with Runner(ledger, [counts], page=2).in_background():
        until(lambda: kept(ledger, counts) == naive(ledger, counts))
    assert standing(ledger, counts).events == 15
