"""Processes that are killed while they import or expire: what they left is whole, the next one goes on."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.application.expiring import finish
from ledger.application.exporting import export
from ledger.application.importing_runs import import_runs
from ledger.application.verifying import verify
from ledger.integrity.findings import Standing
from ledger.stores.memory import MemoryStore
from ledger.stores.opening import open_store
from tests.application.moving import BATCH, expire_and_die, import_and_die
from tests.stores.builder import assert_whole, everything
from tests.stores.place import address
from tests.stores.processes import start

pytestmark = pytest.mark.slow


def ledger_on(store: object) -> Ledger:
    return Ledger(Edge(store, "default", Actor("service:tests")))  # type: ignore[arg-type]


def place_of(kind: str, folder: Path) -> Path | str:
    return folder / "ledger.db" if kind == "sqlite" else address("postgres", folder)


def killed(target: Callable[..., None], *arguments: object) -> None:
    process, reports = start(target, *arguments)
    process.join(120)
    reports.close()
    assert process.exitcode == -9


@pytest.fixture(scope="module")
def exported() -> bytes:
    with ledger_on(MemoryStore()) as origin:
        origin.source("policy:refunds").publish("1", {"limit": "100 EUR"})
        runs = [origin.open_run(name, "goal") for name in ("a", "b")]
        for number in range(5):
            for run in runs:
                run.record_message(f"m-{number}", "user", f"message {number}")
        out = io.BytesIO()
        export(origin, out.write)
        return out.getvalue()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_import_is_killed_around_a_commit(tmp_path: Path, kind: str, when: str, exported: bytes) -> None:
    place, file = place_of(kind, tmp_path), tmp_path / "export"
    file.write_bytes(exported)
    open_store(place).close()
    killed(import_and_die, place, file, when, 3)
    with closing(open_store(place)) as store:
        there = assert_whole(store)
        assert 0 < len(there) <= 3 * BATCH
        ledger = ledger_on(store)
        done = import_runs(ledger, io.BytesIO(exported))
        assert done.added == done.records - len(there)
        assert [row.hash for row in everything(store)][: len(there)] == [row.hash for row in there]
        report = verify(ledger)
        assert (report.standing, report.missing_blobs) == (Standing.SOUND, 0)
        out = io.BytesIO()
        export(ledger, out.write)
        # Every line is as it was but the first, which says when, and the last, which digests it.
        assert out.getvalue().splitlines()[1:-1] == exported.splitlines()[1:-1]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_expiry_is_killed_between_the_event_and_the_deletion(tmp_path: Path, kind: str) -> None:
    place = place_of(kind, tmp_path)
    with closing(open_store(place)) as store:
        run = ledger_on(store).open_run("r", "goal")
        run.record_message("m-1", "user", "hello")
    killed(expire_and_die, place)
    with closing(open_store(place)) as store:
        ledger = ledger_on(store)
        everything(store)
        assert verify(ledger).standing is Standing.SOUND
        (kept,) = store.list_blobs("default")
        before = len(list(store.read("default", "$ledger")))
        done = finish(ledger)
        assert (done.total.contents, done.events, before) == (1, 0, 1)
        assert len(list(store.read("default", "$ledger"))) == 1
        assert store.blob_rows("default", [kept.digest]) == []
        report = verify(ledger)
        assert (report.standing, report.expired_blobs) == (Standing.SOUND, 1)
