"""Looking at a file whose last user is closing it, which locks it for a moment, waits for that moment."""

from __future__ import annotations

from pathlib import Path
from threading import Thread

from ledger.stores.sqlite import SQLiteStore
from ledger.stores.sqlite_inspection import inspect, schema_of
from ledger.stores.sqlite_schema import supported_version


def test_it_is_looked_at_while_others_come_and_go(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    SQLiteStore(path).close()

    def come_and_go() -> None:
        for number in range(40):
            store = SQLiteStore(path)
            store.open_head("default", f"run-{number}")
            store.close()

    other = Thread(target=come_and_go)
    other.start()
    try:
        while other.is_alive():
            assert schema_of(path) == supported_version()
            assert inspect(path).schema == supported_version()
    finally:
        other.join()
