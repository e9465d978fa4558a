"""Many at one key: threads, processes, workers that were thought dead, and the runs of one lineage."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest

from ledger import Happened, Ledger, NotHappened, open_ledger
from ledger.errors import EffectFailed, EffectInFlight, LeaseLost, LedgerError
from ledger.events import EffectStarted, Parent, RunOpened
from ledger.gateway.tools import declare
from ledger.testing import Clock
from tests.effects import worker
from tests.effects.deeds import DEEDS
from tests.effects.hooked import CLAIM, hooked
from tests.outside.manners import HELD
from tests.outside.outside import Outside
from tests.servers.waiting import until
from tests.stores.builder import together

pytestmark = pytest.mark.slow

PROCESSES, THREADS = 4, 16
RACES = 200
SETTLE_SECONDS = 2


class Book:
    """An outside in this process that dedupes nothing, can be asked, and counts what it did for each key."""

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self.acts: Counter[str] = Counter()

    def act(self, n: int, *, effect: Any) -> str:
        with self._writing:
            self.acts[effect.key] += 1
        return f"done as attempt {effect.attempt}"

    def find(self, key: str, args: Any) -> Happened | NotHappened:
        with self._writing:
            return Happened("found") if self.acts[key] else NotHappened()

    def perform(self, ledger: Ledger, run: str, **options: Any) -> Any:
        """Perform the act in a run, with the settings of these tests."""
        declared: Any = {"recovery": "queryable", "probe": self.find, "settle_seconds": 0, **options}
        return ledger.run(run).perform("act", {"n": 7}, self.act, **declared)


# --- a crowd ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("recovery", "wait_seconds"), [("queryable", 300.0), ("at_most_once", 0.0)])
def test_of_a_crowd_at_one_key_one_executes(
    place: Path | str, outside: Callable[[str], Outside], recovery: str, wait_seconds: float
) -> None:
    """Who waits gets the result of the one, who does not may be told that it is in flight."""
    deed, run = DEEDS[recovery], f"crowd: {recovery}"
    server = outside(deed.outside)
    with open_ledger(place) as ledger:
        ledger.open_run(run, "Do it once")
        server.expect(HELD)
        begin = worker.CONTEXT.Barrier(PROCESSES * THREADS)
        arguments = (place, run, recovery, server.port, THREADS, wait_seconds, begin)
        started = [worker.start(worker.perform_at_once, *arguments) for _ in range(PROCESSES)]
        reports: list[Any] = []
        for _, pipe in started:
            begun = 0
            while begun < THREADS:
                reports.append(pipe.recv())
                begun += reports[-1] == "begins"
        server.until_held()
        server.release()
        for process, pipe in started:
            reports += worker.drain(pipe)
            process.join()
            assert process.exitcode == 0
        told = [report for report in reports if report != "begins"]
        results = [each for each in told if not isinstance(each, LedgerError)]
        assert len(told) == PROCESSES * THREADS
        assert {type(each) for each in told if isinstance(each, LedgerError)} <= {EffectInFlight}
        assert all(each == results[0] for each in results)
        assert len(results) == len(told) if wait_seconds else results
        assert len(deed.record(server)) == 1
        assert [record.name for record in ledger.log(run)][1:] == [
            "effect.intended",
            "effect.started",
            "effect.succeeded",
        ]


# --- a worker that is late -------------------------------------------------------------------------------


def test_who_was_kept_from_its_call_until_another_took_over_calls_nothing(place: Path | str) -> None:
    """Each of them has claimed, and wakes up as its successor asks the outside and begins."""
    book = Book()
    kept: dict[str, threading.Event] = {f"late: {number}": threading.Event() for number in range(RACES)}
    late, store = hooked(place)
    mine = threading.local()

    def wait() -> None:
        kept[mine.run].wait()

    store.after(CLAIM, wait)

    def claim_and_wait(run: str) -> None:
        mine.run = run
        with pytest.raises(LeaseLost):
            book.perform(late, run, lease_seconds=1)

    def succeed(run: str) -> Any:
        kept[run].set()
        return book.perform(ledger, run, wait_seconds=60)

    with open_ledger(place) as ledger, late, ThreadPoolExecutor(RACES) as olds, ThreadPoolExecutor(8) as news:
        with let_go(kept.values()):
            for run in kept:
                ledger.open_run(run, "Do it once")
            old = [olds.submit(claim_and_wait, run) for run in kept]
            for run in kept:
                until(partial(has_lapsed, ledger, run), "the lease has lapsed")
            new = [news.submit(succeed, run) for run in kept]
            assert {each.result() for each in new} == {"done as attempt 2"}
            assert {each.result() for each in old} == {None}
        assert sorted(book.acts.values()) == [1] * RACES
        assert [one for run in kept for one in ledger.effects(run)] == []


@contextmanager
def let_go(kept: Iterable[threading.Event]) -> Iterator[None]:
    """Let go on who was kept, also where the test has failed."""
    try:
        yield
    finally:
        for event in kept:
            event.set()


def has_lapsed(ledger: Ledger, run: str) -> bool:
    return [one.status for one in ledger.effects(run)] == ["unknown"]


def test_a_lease_is_either_renewed_or_lapsed_for_all(place: Path | str) -> None:
    """Each worker renews for the first time as its lease ends, while another asks for the act.

    It acts only after it has heard that it holds the effect still.
    """
    book, count = Book(), 40
    runs = [f"renewed: {number}" for number in range(count)]
    ends: dict[str, datetime] = {}
    started = {run: threading.Event() for run in runs}
    heard: Counter[str] = Counter()

    def renew_and_act(n: int, *, effect: Any) -> str:
        run = mine.run
        ends[run] = effect.deadline
        started[run].set()
        until(partial(ends_within, 0.01, effect.deadline), "the lease is about to end")
        try:
            effect.progress()
        except LeaseLost:
            heard["lost"] += 1
            raise
        heard["renewed"] += 1
        return book.act(n, effect=effect)

    def hold(run: str) -> Any:
        mine.run = run
        try:
            return old.run(run).perform(
                "act",
                {"n": 7},
                renew_and_act,
                recovery="queryable",
                probe=book.find,
                settle_seconds=SETTLE_SECONDS,
                lease_seconds=SETTLE_SECONDS,
                definite_errors=[LeaseLost],
            )
        except EffectFailed:
            return "lost"

    def take_over(run: str) -> Any:
        until(partial(ends_within, 0.005, ends[run]), "the lease is about to end")
        return book.perform(new, run, wait_seconds=60, settle_seconds=SETTLE_SECONDS)

    mine = threading.local()
    quiet, store = hooked(place)
    store.may_renew = lambda: threading.current_thread().name != "ledger-heartbeats"
    with quiet as old, open_ledger(place) as new, ThreadPoolExecutor(2 * count) as pool:
        for run in runs:
            old.open_run(run, "Do it once")
        held = [pool.submit(hold, run) for run in runs]
        for run in runs:
            assert started[run].wait(60)
        taken = [pool.submit(take_over, run) for run in runs]
        for one, other in zip(held, taken, strict=True):
            assert one.result() in ("lost", other.result())
        assert list(book.acts.values()) == [1] * count
        assert sum(heard.values()) == count


def ends_within(seconds: float, end: datetime) -> bool:
    return end - datetime.now(UTC) < timedelta(seconds=seconds)


# --- a lineage -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", ["successor", "child"])
def test_the_runs_of_a_lineage_execute_one_act_once(
    place: Path | str, relation: Literal["successor", "child"]
) -> None:
    book = Book()
    with open_ledger(place) as one, open_ledger(place) as other:
        for number in range(RACES // 2):
            root, heir = f"{relation}: root {number}", f"{relation}: heir {number}"
            one.open_run(root, "Do it once")
            parent = Parent(position=1, relation=relation, root=root, run=root)
            one.import_events(heir, [RunOpened(goal="Do it once", parent=parent)], expected=0)
            first, second = together(
                partial(book.perform, one, root, wait_seconds=60),
                partial(book.perform, other, heir, wait_seconds=60),
            )
            assert first == second == "done as attempt 1"
            assert book.perform(other, root) == book.perform(one, heir) == first
            claims = [
                record
                for run in (root, heir)
                for record in one.log(run)
                if isinstance(record.event, EffectStarted)
            ]
            assert len(claims) == 1
        assert list(book.acts.values()) == [1] * (RACES // 2)


def test_what_an_ancestor_has_begun_is_in_flight_for_its_heir_and_lapses_for_it_too(
    place: Path | str,
) -> None:
    book, clock = Book(), Clock()
    with open_ledger(place, clock=clock) as ledger:
        root = ledger.open_run("ancestor", "Do it once")
        parent = Parent(position=1, relation="successor", root="ancestor", run="ancestor")
        ledger.import_events("heir", [RunOpened(goal="Do it once", parent=parent)], expected=0)

        def killed(n: int) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            root.perform("act", {"n": 7}, killed, recovery="queryable", probe=book.find, settle_seconds=0)
        with pytest.raises(EffectInFlight):
            book.perform(ledger, "heir")
        clock.tick(30)
        assert book.perform(ledger, "heir") == "done as attempt 2"
        assert book.perform(ledger, "ancestor") == "done as attempt 2"
        assert list(book.acts.values()) == [1]
        # The ancestor's own record learns of it when somebody looks after what it left open.
        assert [one.effect.run for one in ledger.effects("ancestor")] == ["heir"]
        ledger.register(declare(killed, name="act", recovery="queryable", probe=book.find))
        assert [one.found for one in ledger.reconcile("ancestor")] == ["happened"]
        assert ledger.effects("ancestor") == ledger.effects("heir") == []
