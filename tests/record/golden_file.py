"""The golden file: records that were written once and read the same for ever.

    python -m tests.record.golden_file

appends what the file lacks to `golden/records-v1.jsonl`. A line that stands there is never written again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from ledger.codec import encode
from ledger.events import Event
from ledger.record import Envelope, Row
from tests.record.golden_events import COMPLETE, FULL_ENVELOPE, MINIMAL, SMALL_ENVELOPE

FILE = Path(__file__).with_name("golden") / "records-v1.jsonl"


class Golden(NamedTuple):
    """One line of the file, and the event it was made from."""

    event: Event
    envelope: Envelope
    complete: bool

    @property
    def name(self) -> str:
        """How the line is found in the file."""
        return f"{self.event.name} {self.event.version} {'complete' if self.complete else 'minimal'}"


def golden() -> Iterator[Golden]:
    """List what the file holds, in its order."""
    for complete, minimal in zip(COMPLETE, MINIMAL, strict=True):
        yield Golden(complete, FULL_ENVELOPE, True)
        yield Golden(minimal, SMALL_ENVELOPE, False)


def typed(value: Any) -> Any:
    """Write a value as JSON that says what it is where JSON does not tell; no name of the code is in it."""
    if isinstance(value, BaseModel):
        return {name: typed(inner) for name, inner in value if inner is not None}
    if isinstance(value, Enum):
        return {"choice": value.value}
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, Decimal):
        return {"amount": str(value)}
    if isinstance(value, dict):
        return {"map": [[key, typed(inner)] for key, inner in value.items()]}
    if isinstance(value, tuple):
        return [typed(inner) for inner in value]
    return value


def line(sample: Golden, row: Row) -> dict[str, Any]:
    """Write down one record and everything that is read from it."""
    columns = {name: None if part is None else part.hex() for name, part in zip("kac", row[3:6], strict=True)}
    return {
        "sample": sample.name,
        "hash": row.hash.hex(),
        "key": columns["k"],
        "act": columns["a"],
        "claim": columns["c"],
        "event": typed(sample.event),
        "record": row.record.decode(),
    }


def main() -> None:
    """Append the samples that the file lacks."""
    known = set()
    if FILE.exists():
        known = {json.loads(text)["sample"] for text in FILE.read_text("utf-8").splitlines()}
    with FILE.open("ab") as file:
        for sample in golden():
            if sample.name not in known:
                written = json.dumps(line(sample, encode(sample.event, sample.envelope)), ensure_ascii=True)
                file.write(written.encode() + b"\n")


if __name__ == "__main__":
    main()
