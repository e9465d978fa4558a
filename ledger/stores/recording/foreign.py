"""Events of an eventsourcing application, as events of the ledger.

What the application stored is opaque here: its topic, its version and its bytes are the data of one
ForeignRecorded, in a stream of the aggregate's own. So these rows are records like all others, chained and
hashed, and every column is derived from the bytes.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from eventsourcing.persistence import StoredEvent

from ledger.canonical import invalid
from ledger.codec import decode
from ledger.errors import StoreUnavailable
from ledger.events import ForeignRecorded
from ledger.record import Record, undecodable
from ledger.stores.base import Append, Appended, FullStore, StoredRow, StreamHead
from ledger.values import Actor, check_id

FOREIGN = "$foreign"
"""What the names of all streams of applications begin with."""

EVENTS = "$foreign:"
"""Before the id of an aggregate: the stream of its events."""

IdType = Literal["text", "uuid"]


@dataclass(frozen=True)
class Archive:
    """Where the events of one application are kept, and how they are signed."""

    store: FullStore
    tenant: str
    """The application's own: everything it stored there is one application sequence."""
    actor: Actor
    """Who writes: the application."""
    clock: Callable[[], datetime]
    """Returns the present moment in UTC."""
    ids: Callable[[], str]
    """Returns a fresh event id."""
    id_type: IdType = "uuid"
    """What the ids of aggregates are."""

    def id_text(self, originator_id: UUID | str) -> str:
        """Write the id of an aggregate as it stands in the names of streams.

        Raises:
            InvalidInput: it is not of `id_type`, or no id the ledger admits.
        """
        if self.id_type == "uuid":
            if isinstance(originator_id, UUID):
                return str(originator_id)
            raise invalid("originator_id", f"{originator_id!r} is no UUID; set ORIGINATOR_ID_TYPE to 'text'")
        if not isinstance(originator_id, str):
            raise invalid("originator_id", f"{originator_id!r} is no text; set ORIGINATOR_ID_TYPE to 'uuid'")
        try:
            return check_id(originator_id)
        except ValueError as error:
            raise invalid("originator_id", str(error)) from None

    def originator_id(self, stream: str) -> UUID | str:
        """Read the id of an aggregate off the stream of its events.

        Raises:
            UndecodableRecord: the stream was written with ids of another type.
        """
        text = stream.removeprefix(EVENTS)
        if self.id_type == "text":
            return text
        try:
            return UUID(text)
        except ValueError:
            raise undecodable(stream, None, "the name of this stream holds no UUID") from None

    def head(self, stream: str) -> StreamHead | None:
        """Find the last event of a stream; None where there is none."""
        return head_of(self.store, self.tenant, stream)

    def append(self, append: Append) -> Appended:
        """Append, and where the answer was lost ask again: what was stored is recognised by its event ids."""
        for _ in range(2):
            try:
                return self.store.append(append)
            except StoreUnavailable:
                continue
        return self.store.append(append)


def head_of(store: FullStore, tenant: str, stream: str) -> StreamHead | None:
    """Find the last event of a stream; None where there is none."""
    # The stream itself sorts before every other whose name begins with its name.
    found = store.heads(tenant, prefix=stream, limit=1)
    return found[0] if found and found[0].stream == stream else None


def wrap(stored: StoredEvent) -> ForeignRecorded:
    """Turn an application's event into one of the ledger's.

    Raises:
        InvalidInput: the version is no integer of JSON, the state no bytes, or the topic no text.
    """
    if not isinstance(stored.state, bytes | bytearray | memoryview):
        raise invalid("state", f"{type(stored.state).__name__} is not bytes")
    return ForeignRecorded(
        originator_version=stored.originator_version,
        state=b64encode(stored.state).decode(),
        topic=stored.topic,
    )


def verified(tenant: str, row: StoredRow | StreamHead) -> tuple[Record, ForeignRecorded]:
    """Verify and decode a row of an application's stream.

    Raises:
        ChainBroken: it is not what was written.
        UndecodableRecord: it is whole, and yet no event of an application.
        SchemaMismatch, UnknownEventName: a newer program wrote it.
    """
    record = decode(row.record, row.hash, run=row.stream, position=row.position, tenant=tenant)
    event = record.event
    if not isinstance(event, ForeignRecorded):
        raise undecodable(row.stream, row.position, f"{record.name} is no event of an application")
    return record, event


def unwrap(tenant: str, row: StoredRow | StreamHead, originator_id: UUID | str) -> StoredEvent:
    """Turn a row back into the application's event; it raises what `verified` raises."""
    event = verified(tenant, row)[1]
    return StoredEvent(originator_id, event.originator_version, event.topic, b64decode(event.state))
