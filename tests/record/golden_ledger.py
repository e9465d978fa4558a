"""The golden ledger of format 1: a whole SQLite ledger as the program of commit 2c71480 left it, as text.

`golden/ledger-v1.jsonl` holds the statements of its schema and every row of its tables, so that a file like
the one that program left can be put together again. `golden/contracts-v1.json` holds the contract of
each run as that program folded it, at its end and in the middle. Both were made by

    git worktree add OLD 2c71480
    PYTHONPATH=OLD:. python -P -m tests.record.golden_ledger

and neither is ever made again: another program would write another ledger. All later programs read this one.
Everything in it was written through the public API, with a clock that ticks and ids that count. What no
command performed then (a resume, a fork, a restart, approvals, a compensation) came by `import_events`.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from ledger import open_ledger
from tests.record.golden_runs import write

FOLDER = Path(__file__).with_name("golden")
LEDGER, CONTRACTS = FOLDER / "ledger-v1.jsonl", FOLDER / "contracts-v1.json"
TABLES = ("ledger_migrations", "events", "heads", "snapshots", "blobs", "leases")


def lines(path: Path) -> Iterator[str]:
    """Write down the schema and every row of a ledger's file; bytes stand as `hex:…`, or as text they are."""
    with closing(sqlite3.connect(path)) as database:
        for (statement,) in database.execute(
            "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid"
        ):
            yield json.dumps({"schema": statement}, ensure_ascii=False)
        for table in TABLES:
            cursor = database.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in cursor.description]
            for row in cursor:
                cells = {name: _cell(cell) for name, cell in zip(names, row, strict=True)}
                yield json.dumps({"table": table, "row": cells}, ensure_ascii=False)


def _cell(cell: Any) -> Any:
    if not isinstance(cell, bytes):
        return cell
    try:
        text = cell.decode()
    except UnicodeDecodeError:
        text = ""
    return {"text": text} if text.startswith(("{", '"')) or "\n{" in text else {"hex": cell.hex()}


def rebuild(text: Path, path: Path) -> None:
    """Put the file together again from the text, in the schema that it had."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("BEGIN")
        for line in text.read_text(encoding="utf-8").splitlines():
            found = json.loads(line)
            if "schema" in found:
                database.execute(found["schema"])
                continue
            cells = {name: _stored(cell) for name, cell in found["row"].items()}
            places = ", ".join("?" * len(cells))
            database.execute(
                f"INSERT INTO {found['table']} ({', '.join(cells)}) VALUES ({places})", list(cells.values())
            )
        database.execute("COMMIT")


def _stored(cell: Any) -> Any:
    if not isinstance(cell, dict):
        return cell
    return cell["text"].encode() if "text" in cell else bytes.fromhex(cell["hex"])


def contracts(path: Path) -> dict[str, Any]:
    """Fold every run of the ledger, at its end and in the middle, by `tenant run position`."""
    found = {}
    for tenant in ("default", "acme – Zürich"):
        with open_ledger(path, tenant=tenant) as ledger:
            for summary in ledger.runs(limit=500).runs:
                for at in sorted({summary.position, max(1, summary.position // 2)}):
                    contract = ledger.contract(summary.run, at=at)
                    found[f"{tenant} {summary.run} {at}"] = contract.model_dump(mode="json")
    return found


def main() -> None:
    """Make both files, unless they are there: they are made once."""
    if LEDGER.exists():
        raise SystemExit("the golden ledger is there, and never made again")
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "golden.db"
        write(path)
        LEDGER.write_text("".join(line + "\n" for line in lines(path)), encoding="utf-8")
        told = json.dumps(contracts(path), ensure_ascii=False, indent=1, sort_keys=True)
        CONTRACTS.write_text(told + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
