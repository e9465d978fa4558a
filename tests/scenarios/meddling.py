"""What other programs, and whoever has the database, write into a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from ledger.canonical import canonical_text, load_text
from ledger.codec import encode
from ledger.events import CursorMoved, Event, SourceRevised
from ledger.record import Envelope, Row, digest
from ledger.stores.base import Append, FullStore, StreamAppend
from ledger.stores.opening import open_store
from ledger.values import Actor
from tests.scenarios.scene import POLICY, RUN, Scene

SOURCE_STREAM = f"$source:{POLICY}"


@contextmanager
def store_of(scene: Scene) -> Iterator[FullStore]:
    """Open the store of a scene past the ledger."""
    if scene.store is not None:
        yield scene.store
        return
    with closing(open_store(scene.place)) as store:
        yield store


def append_raw(scene: Scene, change: Callable[[dict[str, Any]], dict[str, Any]], stream: str = RUN) -> int:
    """Append an event as another program would, its fields changed; return its position."""
    is_source = stream == SOURCE_STREAM
    event: Event = CursorMoved(node="elsewhere")
    if is_source:
        event = SourceRevised(added=(), by="human:kim", revision="9")
    with store_of(scene) as store:
        last = store.read("default", stream)[-1]
        position = last.position + 1
        who = Actor("service:other")
        row = encode(event, Envelope("default", stream, position, last.hash, "x-1", scene.clock(), who))
        row = _changed(row, change)
        streams = (StreamAppend(stream, last.position, last.hash, (row,), is_source=is_source),)
        store.append(Append("default", streams))
    return position


def _changed(row: Row, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Row:
    fields = load_text(row.record.decode())
    assert isinstance(fields, dict)
    record = canonical_text(change(fields)).encode()
    return row._replace(record=record, hash=digest(record))
