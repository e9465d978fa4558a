"""What may stand where: which names streams have, and which events each kind of stream takes.

It is asked by who verifies and by who takes in what another ledger wrote, so that neither lets pass what the
other rejects. It looks at one record at a time.
"""

from __future__ import annotations

from ledger.events import (
    ConstraintWithdrawnAtSource,
    ContentExpired,
    Event,
    ForeignRecorded,
    RunOpened,
    RunRefused,
    SourceOpened,
    SourceRevised,
)
from ledger.integrity.tombstones import OWN_STREAM
from ledger.record import MAX_STREAM_LENGTH, Record
from ledger.run.sources import PREFIX
from ledger.run.state import FOLDS
from ledger.values import check_id

APPLICATIONS = ("$foreign:", "$foreign-snapshots:")
"""What the names of streams begin with that applications of another library keep on our tables."""

_OF_SOURCES: tuple[type[Event], ...] = (SourceOpened, SourceRevised, ConstraintWithdrawnAtSource)
_OF_TENANT: tuple[type[Event], ...] = (RunRefused, ContentExpired)


def name_fault(stream: str) -> str | None:
    """Say why no stream has this name; None where one may."""
    marked = stream.startswith("$")
    if marked and stream != OWN_STREAM and not stream.startswith((PREFIX, *APPLICATIONS)):
        return f"no stream is named {stream!r:.300}: names that begin with '$' are the ledger's own"
    try:
        check_id(stream, MAX_STREAM_LENGTH) if marked else check_id(stream)
    except ValueError as error:
        return f"no stream is named {stream!r:.300}: {error}"
    return None


def place_fault(record: Record) -> str | None:
    """Say why an event has no place where it stands in its stream; None where it has."""
    stream, kind = record.run, type(record.event)
    if stream == OWN_STREAM:
        holds, where = kind in _OF_TENANT, "the tenant's own stream"
    elif stream.startswith(PREFIX):
        holds, where = _stands_in_source(record), "a source stream"
    elif stream.startswith(APPLICATIONS):
        holds, where = kind is ForeignRecorded, "a stream of an application"
    elif record.position == 1:
        return None if kind is RunOpened else f"a run cannot begin with {record.name}"
    else:
        holds, where = kind in FOLDS, "a run"
    return None if holds else f"{record.name} has no place here in {where}"


def _stands_in_source(record: Record) -> bool:
    event = record.event
    if isinstance(event, SourceOpened):
        return record.position == 1 and PREFIX + event.source == record.run
    return record.position > 1 and isinstance(event, _OF_SOURCES)
