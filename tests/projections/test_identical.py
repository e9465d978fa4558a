"""Rows are the same after any number of rebuilds, interruptions and sizes of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.errors import RunExists
from ledger.record import Record
from ledger.stores.memory import MemoryStore
from projections.base import Handler, Projection
from projections.built_in import BUILT_IN
from projections.rebuilding import rebuild
from projections.rows import Rows
from projections.runner import Progress
from tests.projections.conftest import SetClock
from tests.projections.samples import catch_up, kept, naive

TENANTS = ("acme", "Acme")
ACTS = st.tuples(
    st.sampled_from(TENANTS),
    st.sampled_from(["run-1", "run-2", "RUN-1"]),
    st.integers(0, 7),
    st.integers(0, 3),
)
STEPS = st.tuples(
    st.sampled_from(["rebuild", "interrupt", "fresh", "run"]), st.sampled_from(TENANTS), st.integers(1, 9)
)


@pytest.fixture(scope="module")
def everything() -> list[Projection]:
    return list(BUILT_IN.values())


def act(ledger: Ledger, name: str, kind: int, number: int) -> None:
    """Let one of several things happen to a run, which is opened first where it is not."""
    if kind == 0:
        ledger.source("policy:a").publish(f"{ledger.store.end()}", {"a": f"text {number}"}, by="human:kim")
        return
    with suppress(RunExists):
        ledger.open_run(name, "goal")
    run = ledger.run(name)
    if kind == 1:
        run.revise_goal(f"goal {number}", reason="it changed", by="human:kim")
    elif kind == 2:
        run.promise(f"p-{number}-{run.contract.position}", "Mail them", owed_to="customer:1")
    elif kind == 3:
        run.assume(f"a-{number}-{run.contract.position}", "The shop is open")
    elif kind == 4:
        run.perform("look", {"order": number}, lambda order: {"order": order})
    elif kind == 5:
        run.record_message(f"m-{run.contract.position}", "user", f"hello {number}")
    elif kind == 6:
        run.accept(f"c-{number}-{run.contract.position}", "Never more than 100", asserted_by="human:kim")


def stops_after(pages: int) -> tuple[Event, Callable[[Progress], None]]:
    stop, told = Event(), list[Progress]()

    def progress(now: Progress) -> None:
        told.append(now)
        if len(told) >= pages:
            stop.set()

    return stop, progress


@pytest.mark.slow
@given(acts=st.lists(ACTS, min_size=1, max_size=25), steps=st.lists(STEPS, max_size=5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
def test_rows_are_those_of_one_fold_however_they_came_about(
    everything: list[Projection], acts: list[tuple[str, str, int, int]], steps: list[tuple[str, str, int]]
) -> None:
    store = MemoryStore()
    actor = Actor("service:tests")
    ledgers = {
        one: Ledger(Edge(store, one, actor, SetClock(), pause=lambda attempt: None)) for one in TENANTS
    }
    half = len(acts) // 2
    for tenant, run, kind, number in acts[:half]:
        act(ledgers[tenant], run, kind, number)
    for how, tenant, page in steps:
        ledger = ledgers[tenant]
        if how == "run":
            catch_up(ledger, *everything, page=page)
        elif how == "interrupt":
            stop, progress = stops_after(page)
            rebuild(ledger, everything, page=2, stop=stop, progress=progress)
        else:
            rebuild(ledger, everything, page=page, fresh=how == "fresh")
        for tenant_acts in acts[half : half + 3]:
            act(ledgers[tenant_acts[0]], *tenant_acts[1:])
        half += 3
    for ledger in ledgers.values():
        catch_up(ledger, *everything)
        for projection in everything:
            assert kept(ledger, projection) == naive(ledger, projection)


# --- nothing but rows ------------------------------------------------------------------------------------


class Watched(Projection):
    """Notes what its handler is given."""

    name = "watched"
    version = 1
    by_run = True
    tables = BUILT_IN["timeline"].tables

    def __init__(self) -> None:
        self.given: list[tuple[object, ...]] = []

    def begin(self) -> Handler:
        return self

    def handle(self, *given: object) -> None:
        self.given.append(given)

    def finish(self, *given: object) -> None:
        self.given.append(given)


@pytest.fixture
def small() -> Iterator[Ledger]:
    ledger = Ledger(Edge(MemoryStore(), "default", Actor("service:tests")))
    ledger.open_run("run", "goal")
    yield ledger
    ledger.store.close()


def test_a_handler_has_nothing_to_act_on_the_outside_with(small: Ledger) -> None:
    """What it is given are records, which never change, and rows, which can only be put, deleted and read."""
    watched = Watched()
    catch_up(small, watched)
    rebuild(small, [watched])
    assert {tuple(map(type, given)) for given in watched.given} == {(Record, Rows), (Rows,)}
    offered = {name for name in dir(Rows) if not name.startswith("_")}
    assert offered == {"changes", "delete", "get", "get_all", "put"}
