"""The golden files: records that were written once and read the same for ever, and what each event may hold.

    python -m tests.record.golden_file

appends what is lacking to `golden/records-v1.jsonl` and `golden/shapes-v1.jsonl`. A line that stands there is
never written again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel

from ledger.codec import encode, reencode
from ledger.events import EVENT_CLASSES, Event
from ledger.record import Envelope, Record, Row, TermsMark
from ledger.upcasting import READERS, UPCASTS, Upcast
from ledger.values import Actor
from tests.record.golden_events import (
    COMPLETE,
    FULL_ENVELOPE,
    MINIMAL,
    SMALL_ENVELOPE,
)
from tests.record.golden_old import OLD_COMPLETE, OLD_MINIMAL

FILE = Path(__file__).with_name("golden") / "records-v1.jsonl"
SHAPES = FILE.with_name("shapes-v1.jsonl")


class Golden(NamedTuple):
    """One line of the file, and the event it was made from."""

    event: Event
    envelope: Envelope
    complete: bool

    @property
    def name(self) -> str:
        """How the line is found in the file."""
        return f"{self.event.name} {self.event.version} {'complete' if self.complete else 'minimal'}"

    @property
    def read(self) -> Event:
        """The event as a reader finds it: of the newest version, whatever the record holds."""
        reader = READERS[self.event.name, self.event.version]
        return reader.up(self.event) if isinstance(reader, Upcast) else self.event

    def row(self) -> Row:
        """Encode it, in the version that it is of."""
        event = self.event
        if event.version == self.read.version:
            return encode(event, self.envelope)
        fields = {**self.envelope._asdict(), "name": event.name, "version": event.version, "event": self.read}
        return reencode(Record(hash=b"", **fields))


def golden() -> Iterator[Golden]:
    """List what the file holds, in its order."""
    for complete, minimal in zip(COMPLETE + OLD_COMPLETE, MINIMAL + OLD_MINIMAL, strict=True):
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


def shapes() -> Iterator[dict[str, Any]]:
    """Say what each event, and what surrounds it, may hold: its schema without the words for people."""
    stored: dict[str, type[BaseModel]] = {f"{kind.name} {kind.version}": kind for kind in EVENT_CLASSES}
    stored |= {f"{step.old.name} {step.old.version}": step.old for step in UPCASTS}
    stored |= {"actor": Actor, "terms": TermsMark}
    for name, kind in stored.items():
        schema = kind.model_json_schema()
        yield {"of": name, "shape": _bare(schema, schema.get("$defs", {}))}


def _bare(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_bare(inner, definitions) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _bare(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    kept = {name: inner for name, inner in schema.items() if name not in ("$defs", "description", "title")}
    if isinstance(kept.get("properties"), dict):
        kept["properties"] = {name: _bare(inner, definitions) for name, inner in schema["properties"].items()}
    return {
        name: inner if name == "properties" else _bare(inner, definitions) for name, inner in kept.items()
    }


def main() -> None:
    """Append what the files lack."""
    samples = (line(sample, sample.row()) for sample in golden())
    _append(FILE, "sample", samples)
    _append(SHAPES, "of", shapes())


def _append(path: Path, name: str, lines: Iterable[dict[str, Any]]) -> None:
    known = {json.loads(text)[name] for text in path.read_bytes().splitlines()} if path.exists() else set()
    with path.open("ab") as file:
        for one in lines:
            if one[name] not in known:
                file.write(json.dumps(one, ensure_ascii=True).encode() + b"\n")


if __name__ == "__main__":
    main()
