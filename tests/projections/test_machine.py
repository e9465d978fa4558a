"""Whatever is appended, crashes and begins again, in whatever order: the rows are those of one fold.

What crashes leaves its lease behind, and whoever comes next waits for its end by the ledger's clock.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from ledger.stores.read_models import Model
from ledger.stores.sqlite import SQLiteStore
from projections.base import Projection
from projections.errors import NoPreviousBuild, ProjectionStopped
from projections.rebuilding import drop, rebuild, serve_previous
from projections.runner import Progress, Runner
from projections.runs import Runs
from projections.standing import forget, resume_projection
from tests.projections.conftest import SetClock
from tests.projections.open_tables import kept as open_tables
from tests.projections.open_tables import naive as all_that_is_open
from tests.projections.samples import Counts, Fragile, Goals, kept, naive, standing
from tests.stores.builder import in_memory, shown
from tests.stores.conftest import postgres

TENANTS = st.sampled_from(["acme", "Acme"])
RUNS = st.sampled_from(["run-1", "run-2", "RUN-1"])
PAGES = st.integers(1, 9)
NAMES = st.sampled_from(["counts", "goals", "runs", "fragile"])


class Crash(BaseException):
    """The process ends here: nothing is cleaned up."""


class Crashing:
    """A store that ends the process before or after it stores the n-th page."""

    def __init__(self, store: FullStore, left: int, *, stored: bool) -> None:
        self._store = store
        self._left = left
        self._stored = stored

    def read_models(self) -> Any:
        return _CrashingModels(self, self._store.read_models())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _CrashingModels:
    def __init__(self, store: Crashing, models: Any) -> None:
        self._store = store
        self._models = models

    def advance(self, *args: Any, **options: Any) -> None:
        self._store._left -= 1
        if self._store._left > 0 or self._store._stored:
            self._models.advance(*args, **options)
        if self._store._left <= 0:
            raise Crash

    def release(self, tenant: str, model: Model, fence: int) -> None:
        if self._store._left > 0:
            self._models.release(tenant, model, fence)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._models, name)


class Machine(RuleBasedStateMachine):
    """Two tenants on one store, whose projections are run again and again."""

    def __init__(self, store: FullStore) -> None:
        super().__init__()
        self.store = store
        self.clock = SetClock()
        self.fragile = Fragile()
        self.projections: dict[str, Projection] = {
            one.name: one for one in (Counts(), Goals(), Runs(), self.fragile)
        }
        self.texts = 0

    def ledger(self, tenant: str, store: Any = None) -> Ledger:
        actor = Actor("service:tests")
        return Ledger(Edge(store or self.store, tenant, actor, self.clock, pause=lambda attempt: None))

    @rule(tenant=TENANTS, run=RUNS, count=st.integers(1, 5))
    def append(self, tenant: str, run: str, count: int) -> None:
        ledger = self.ledger(tenant)
        for _ in range(count):
            self.texts += 1
            known = [one.run for one in ledger.runs().runs]
            if run not in known:
                ledger.open_run(run, f"goal {self.texts}")
            elif self.texts % 7 == 0:
                ledger.run(run).revise_goal("gone", reason="it changed", by="human:kim")
            elif self.texts % 3:
                ledger.run(run).revise_goal(f"goal {self.texts}", reason="it changed", by="human:kim")
            elif self.texts % 2:
                ledger.run(run).promise(f"p-{self.texts}", "do", owed_to="human:kim")
            elif owed := ledger.contract(run).obligations:
                ledger.run(run).discharge(owed[0].id, evidence="done", by="human:kim")

    @rule(tenant=TENANTS)
    def publish(self, tenant: str) -> None:
        self.texts += 1
        self.ledger(tenant).source("policy:a").publish(
            f"{self.texts}", {"a": f"text {self.texts}"}, by="human:kim"
        )

    @rule(seconds=st.sampled_from([1, 29, 31]))
    def time_goes_on(self, seconds: int) -> None:
        self.clock.tick(seconds)

    @rule(tenant=TENANTS, page=PAGES, names=st.lists(NAMES, min_size=1, max_size=4, unique=True))
    def catch_up(self, tenant: str, page: int, names: list[str]) -> None:
        # What crashed has left its lease behind.
        self.clock.tick(31)
        shown(self.store)
        runner = Runner(self.ledger(tenant), [self.projections[name] for name in names], page=page)
        with suppress(ProjectionStopped):
            runner.run(until_current=True)
        for name in names:
            self.holds(tenant, name, whole=True)

    @rule(tenant=TENANTS, page=PAGES, name=NAMES, left=st.integers(1, 6), stored=st.booleans())
    def crash(self, tenant: str, page: int, name: str, left: int, stored: bool) -> None:
        self.clock.tick(31)
        shown(self.store)
        ledger = self.ledger(tenant, Crashing(self.store, left, stored=stored))
        with suppress(Crash, ProjectionStopped):
            Runner(ledger, [self.projections[name]], page=page).run(until_current=True)

    @rule(tenant=TENANTS, name=NAMES)
    def begin_anew(self, tenant: str, name: str) -> None:
        forget(self.ledger(tenant), self.projections[name])

    @rule(tenant=TENANTS, page=PAGES, name=NAMES, fresh=st.booleans(), pages=st.integers(1, 12))
    def make_anew(self, tenant: str, page: int, name: str, fresh: bool, pages: int) -> None:
        """Rebuild one, and end after so many pages where there are more."""
        self.clock.tick(31)
        shown(self.store)
        stop, told = Event(), list[Progress]()

        def progress(now: Progress) -> None:
            told.append(now)
            if len(told) == pages:
                stop.set()

        with suppress(ProjectionStopped):
            projection = self.projections[name]
            rebuild(self.ledger(tenant), [projection], page=page, fresh=fresh, stop=stop, progress=progress)

    @rule(tenant=TENANTS, name=NAMES, left=st.integers(1, 6), stored=st.booleans())
    def crash_making_anew(self, tenant: str, name: str, left: int, stored: bool) -> None:
        self.clock.tick(31)
        shown(self.store)
        ledger = self.ledger(tenant, Crashing(self.store, left, stored=stored))
        with suppress(Crash, ProjectionStopped):
            rebuild(ledger, [self.projections[name]], page=2)

    @rule(tenant=TENANTS, name=NAMES)
    def go_back(self, tenant: str, name: str) -> None:
        with suppress(NoPreviousBuild, ProjectionStopped):
            serve_previous(self.ledger(tenant), self.projections[name])

    @rule(tenant=TENANTS, name=NAMES)
    def drop(self, tenant: str, name: str) -> None:
        drop(self.ledger(tenant), self.projections[name])

    @rule(run=RUNS, position=st.integers(1, 6))
    def poison(self, run: str, position: int) -> None:
        self.fragile.poison = {(run, position)}

    @precondition(lambda self: self.fragile.poison)
    @rule(tenant=TENANTS)
    def mend(self, tenant: str) -> None:
        self.fragile.poison = set()
        resume_projection(self.ledger(tenant), self.fragile)

    @invariant()
    def every_projection_stands_for_what_it_has_handled(self) -> None:
        for tenant in ("acme", "Acme"):
            for name in self.projections:
                self.holds(tenant, name, whole=False)

    def holds(self, tenant: str, name: str, *, whole: bool) -> None:
        """Compare the rows with a fold of all up to the cursor, which is everything where it is whole."""
        ledger, projection = self.ledger(tenant), self.projections[name]
        one = standing(ledger, projection)
        if one.stopped is not None:
            assert one.lag_events > 0
        elif whole:
            assert one.lag_events == 0
        # The fold of the fragile one is that of counts, which no record stops.
        told = Counts() if name == "fragile" else projection
        assert kept(ledger, projection) == naive(ledger, told, one.position)
        if name == "runs" and whole:
            contracts = [ledger.contract(summary.run) for summary in ledger.runs().runs]
            assert open_tables(ledger) == all_that_is_open(contracts)


class OnMemory(Machine):
    def __init__(self) -> None:
        super().__init__(MemoryStore())


class OnSQLite(Machine):
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=in_memory()))
        super().__init__(SQLiteStore(self.folder / "ledger.db"))

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)


class OnPostgres(Machine):
    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        super().__init__(postgres("postgres", self.folder))

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)


def test_on_memory() -> None:
    run_state_machine_as_test(OnMemory, settings=settings(max_examples=30, stateful_step_count=25))


@pytest.mark.slow
def test_on_sqlite() -> None:
    run_state_machine_as_test(OnSQLite, settings=settings(max_examples=10, stateful_step_count=25))


@pytest.mark.slow
def test_on_postgres() -> None:
    run_state_machine_as_test(OnPostgres, settings=settings(max_examples=3, stateful_step_count=20))
