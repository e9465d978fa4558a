"""The record as evidence: what it covers, what an alteration shows, what becomes of what comes twice."""

from __future__ import annotations

import io
import sqlite3
from contextlib import closing
from pathlib import Path

from ledger import Ledger
from ledger.application.exporting import export
from ledger.application.importing_runs import import_runs
from ledger.application.verifying import verify
from ledger.integrity.findings import Standing
from ledger.stores.memory import MemoryStore
from ledger.testing import Clock
from projections.runner import Runner
from projections.runs import Runs
from projections.timeline import Timeline
from tests.application.test_exporting import opened
from tests.cases.conftest import Another
from tests.stores.builder import shown


def fill(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    run.record_message("m-1", "user", "hello")
    run.accept("limit", "No more than 100 EUR", asserted_by="human:kim")


def test_what_is_kept_beside_the_events_is_no_part_of_the_chain(on_file: Another, file: Path) -> None:
    """Case-066: read models and snapshots come and go; the hash covers the bytes that were written."""
    ledger = on_file()
    fill(ledger)
    before = [(record.hash, record.position) for record in ledger.log("r")]
    Runner(ledger, [Runs(), Timeline()]).run(until_current=True)
    ledger.store.drop_snapshots()
    with closing(sqlite3.connect(file)) as connection, connection:
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE name LIKE 'projection\\_%' ESCAPE '\\'"
        )
        (table, *_) = sorted(name for (name,) in names if "timeline" in name and name.endswith("events"))
        connection.execute(f'ALTER TABLE "{table}" ADD COLUMN enriched TEXT')
        connection.execute(f'UPDATE "{table}" SET enriched = 1')
    assert [(record.hash, record.position) for record in ledger.log("r")] == before
    assert verify(ledger).standing is Standing.SOUND


def test_one_changed_byte_names_the_first_event_that_is_not_as_written(on_file: Another, file: Path) -> None:
    """Case-067: and who accepted which constraint when is what the contract says of it."""
    ledger = on_file()
    fill(ledger)
    (limit,) = ledger.contract("r").constraints
    assert (limit.asserted_by, limit.accepted_by, limit.position) == ("human:kim", "service:tests", 3)
    ledger.close()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DROP TRIGGER events_refuse_update")
        record = connection.execute("SELECT record FROM events WHERE run = 'r' AND position = 2").fetchone()[
            0
        ]
        altered = record.replace(b"user", b"uSer")
        connection.execute("UPDATE events SET record = ? WHERE run = 'r' AND position = 2", (altered,))
    report = verify(on_file(), "r")
    assert (report.standing, report.streams[0].first_broken) == (Standing.ALTERED, 2)


def test_the_same_batch_twice_has_the_same_positions(ledger: Ledger) -> None:
    """Case-068: what is pushed again when a job is done is recognised by its bytes."""
    with opened(MemoryStore(), clock=Clock()) as origin:
        fill(origin)
        out = io.BytesIO()
        export(origin, out.write)
    positions: list[list[tuple[int, int]]] = []
    for _ in range(2):
        out.seek(0)
        import_runs(ledger, out)
        shown(ledger.store)
        positions.append([(row.gid, row.position) for row in ledger.store.tail(limit=100)])
    assert positions[0] == positions[1]
    assert len(positions[0]) == 3
