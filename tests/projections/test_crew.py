"""Records are handled by several processes as they are by one: the same rows, places and errors."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.application.ledger import edge_of
from ledger.errors import InvalidInput
from ledger.record import Record
from projections import crew
from projections.base import Column, Handler, Projection, Rows, Table
from projections.built_in import BUILT_IN
from projections.errors import ProjectionStopped
from projections.history import find_counted
from projections.rebuilding import rebuild
from projections.serving import followed
from tests.projections.samples import Counts, Place, catch_up, fill, kept, naive, standing
from tests.stores.builder import shown
from tests.stores.place import address

pytestmark = pytest.mark.slow


class Sturdy(Counts):
    """Counts, which a record of this process alone does not hurt."""

    name = "sturdy"

    def __init__(self, here: int = 0, *, deadly: bool = False) -> None:
        self.here = here
        self.deadly = deadly

    def handle(self, record: Record, rows: Rows) -> None:
        if (record.run, record.position) == ("run-1", 3) and os.getpid() != self.here:
            if self.deadly:
                os.kill(os.getpid(), signal.SIGKILL)
            raise ValueError("not in another process")
        super().handle(record, rows)


class Remembering(Projection):
    """How many records each run has, remembered between pages; some records hurt in another process."""

    name = "remembering"
    version = 1
    by_run = True
    tables = (Table("runs", (Column("run"), Column("records", "integer")), key=("run",)),)

    def __init__(self, here: int, hurts: frozenset[int] = frozenset(), broken: Place | None = None) -> None:
        self.here = here
        self.hurts = hurts
        self.broken = broken

    def handle(self, record: Record, rows: Rows) -> None:
        raise AssertionError("its handler is what begin returns")

    def begin(self) -> Handler:
        return _Memory(self)


class _Memory:
    def __init__(self, of: Remembering) -> None:
        self.of = of
        self.known: dict[str, int] = {}

    def handle(self, record: Record, rows: Rows) -> None:
        if record.position in self.of.hurts and os.getpid() != self.of.here:
            raise ValueError("not in another process")
        if record.run not in self.known:
            self.known[record.run] = (rows.get("runs", [record.run]) or {"records": 0})["records"]
        self.known[record.run] += 1
        rows.put("runs", {"run": record.run, "records": self.known[record.run]}, record)
        if (record.run, record.position) == self.of.broken:
            # What only the database notices: this column may not be missing.
            rows._pending["runs"][record.run,] = (record.run, None, record.global_position or 0)

    def finish(self, rows: Rows) -> None:
        pass


class Poisoned(Counts):
    """Counts, which stop at a record wherever they are."""

    name = "poisoned"

    def handle(self, record: Record, rows: Rows) -> None:
        if (record.run, record.position) == ("run-1", 3):
            raise ValueError("nowhere")
        super().handle(record, rows)


class Lying(Projection):
    """One row for all runs, which is said to be of one."""

    name = "lying"
    version = 1
    by_run = True
    tables = (Table("all", (Column("id"),), key=("id",)),)

    def handle(self, record: Record, rows: Rows) -> None:
        rows.put("all", {"id": "all"}, record)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of the kind that a test names; on SQLite where nothing is of the database."""
    kind = getattr(request, "param", "sqlite")
    return str(tmp_path / "ledger.db") if kind == "sqlite" else address(kind, tmp_path)


@pytest.fixture
def ledger(place: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    # Also the smallest pages go to the crew.
    monkeypatch.setattr(crew, "FEWEST", 1)
    with open_ledger(place, actor=Actor("service:tests"), busy_seconds=60) as opened:
        fill(opened, runs=7, events=6)
        opened.source("policy:refunds").publish("1", {"limit": "Never more than 100"}, by="human:kim")
        run = opened.run("run-3")
        run.promise("mail", "Mail them", owed_to="customer:1")
        run.assume("open", "The shop is open")
        shown(opened.store)
        yield opened


def handled_by_crew(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Note of each page whether the workers handled it."""
    noted: list[bool] = []
    handled = crew.Crew.handled

    def note(self: Any, *arguments: Any) -> Any:
        changes = handled(self, *arguments)
        noted.append(changes is not None)
        return changes

    monkeypatch.setattr(crew.Crew, "handled", note)
    return noted


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
def test_rows_and_cursors_are_those_of_one_process(
    ledger: Ledger, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = [*BUILT_IN.values(), Counts()]
    catch_up(ledger, *everything)
    before = {one.name: (kept(ledger, one), standing(ledger, one)) for one in everything}
    noted = handled_by_crew(monkeypatch)
    for page in (5, 500):
        rebuild(ledger, everything, workers=2, url=place, page=page)
        assert all(noted)
        assert len(noted) >= len(everything)
        for one in everything:
            rows, stood = before[one.name]
            assert kept(ledger, one) == rows
            stands = standing(ledger, one)
            assert (stands.events, stands.at, stands.state) == (stood.events, stood.at, "active")
            cursor = find_counted(edge_of(ledger), followed(edge_of(ledger), one.model))
            assert cursor is not None
            assert cursor.reached.position == stood.position
    assert kept(ledger, Counts()) == naive(ledger, Counts())


def test_a_record_that_no_worker_can_handle_stops_it_there(ledger: Ledger, place: str) -> None:
    with pytest.raises(ProjectionStopped) as stopped:
        rebuild(ledger, [Poisoned(), Counts()], workers=2, url=place, page=8)
    assert (stopped.value.run, stopped.value.position, stopped.value.error) == (
        "run-1",
        3,
        "ValueError: nowhere",
    )
    assert kept(ledger, Poisoned()) == naive(ledger, Counts(), stopped.value.gid - 1)
    assert kept(ledger, Counts()) == naive(ledger, Counts())


@pytest.mark.parametrize("deadly", [False, True])
def test_what_the_crew_cannot_do_is_done_where_it_is_read(
    ledger: Ledger, place: str, monkeypatch: pytest.MonkeyPatch, deadly: bool
) -> None:
    noted = handled_by_crew(monkeypatch)
    monkeypatch.setattr(crew, "MOST_DEATHS", 1)
    sturdy = Sturdy(os.getpid(), deadly=deadly)
    rebuild(ledger, [sturdy, Counts()], workers=2, url=place, page=8)
    for projection in (sturdy, Counts()):
        assert kept(ledger, projection) == naive(ledger, Counts())
    # One page at least was handled here, and others were not.
    assert set(noted) == {True, False}


def test_what_is_remembered_is_of_no_page_that_was_handled_elsewhere(
    ledger: Ledger, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = handled_by_crew(monkeypatch)
    remembering = Remembering(os.getpid(), frozenset({2, 5}))
    rebuild(ledger, [remembering], workers=2, url=place, page=5)
    # Here, there, and here again: each begins from what is stored.
    assert "".join("xo"[one] for one in noted).strip("x").count("x") > 1
    assert kept(ledger, remembering) == naive(ledger, remembering)


def test_what_is_remembered_is_of_no_page_that_was_not_stored(ledger: Ledger, place: str) -> None:
    remembering = Remembering(os.getpid(), broken=("run-4", 5))
    with pytest.raises(ProjectionStopped) as stopped:
        rebuild(ledger, [remembering], workers=2, url=place, page=9)
    assert (stopped.value.run, stopped.value.position) == ("run-4", 5)
    assert kept(ledger, remembering) == naive(ledger, Remembering(os.getpid()), stopped.value.gid - 1)


def test_where_workers_die_again_and_again_it_is_done_without_them(
    ledger: Ledger, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = crew._Worker.answer

    def dying(self: Any, ticket: int) -> Any:
        os.kill(self._process.pid, signal.SIGKILL)
        return answer(self, ticket)

    monkeypatch.setattr(crew._Worker, "answer", dying)
    monkeypatch.setattr(crew, "MOST_DEATHS", 1)
    rebuild(ledger, [Counts()], workers=2, url=place, page=8)
    assert kept(ledger, Counts()) == naive(ledger, Counts())


def test_what_is_not_as_it_was_declared_is_told(ledger: Ledger, place: str) -> None:
    with pytest.raises(InvalidInput, match="more than one stream"):
        rebuild(ledger, [Lying()], workers=2, url=place)

    class Local(Counts):
        name = "local"

    with pytest.raises(InvalidInput, match="cannot be started"):
        rebuild(ledger, [Local()], workers=2, url=place)
