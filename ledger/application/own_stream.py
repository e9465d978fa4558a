"""The tenant's own stream: what the ledger has to say where it cannot be said in a run."""

from __future__ import annotations

from collections.abc import Sequence

from ledger.application.edge import Edge
from ledger.application.rows import decoded
from ledger.codec import encode
from ledger.errors import (
    ChainBroken,
    LedgerError,
    PositionConflict,
    SchemaMismatch,
    UndecodableRecord,
    UnknownEventName,
)
from ledger.events import Event, Reason, RunRefused
from ledger.gate.reasons import reason
from ledger.integrity.tombstones import OWN_STREAM
from ledger.record import ZERO_HASH, Envelope, Row, short_digest
from ledger.stores.base import Append, StreamAppend
from ledger.values import Actor

STREAM = OWN_STREAM
"""Name of the tenant's own stream in the store."""

_KINDS: dict[type[LedgerError], str] = {
    ChainBroken: "chain_broken",
    SchemaMismatch: "newer_format",
    UndecodableRecord: "undecodable",
    UnknownEventName: "unknown_event",
}


def refused_for(run: str, error: LedgerError) -> tuple[RunRefused, Reason]:
    """Put into an event, and into a reason, that a run cannot be read."""
    position = error.data.get("position")
    event = RunRefused(
        code=error.code,
        found=error.data.get("found"),
        position=position,
        run=run,
        supported=error.data.get("supported"),
        what=str(error),
    )
    kind = next((kind for known, kind in _KINDS.items() if isinstance(error, known)), "chain_broken")
    return event, reason(kind, str(error), position=position)


def note(edge: Edge, actor: Actor, event: RunRefused) -> None:
    """Record that a run was refused, unless that was said of it last.

    Raises:
        PositionConflict: races were lost too often.
    """
    for attempt in range(edge.tries):
        key = short_digest("refusal", STREAM, event.run)
        last = edge.store.find(edge.tenant, key=key, limit=1)
        if last and decoded(last[-1]).event == event:
            return
        try:
            edge.store.append(_append(edge, actor, [event]))
        except PositionConflict:
            if attempt + 1 == edge.tries:
                raise
            edge.pause(attempt)
        else:
            return


def say(edge: Edge, actor: Actor, events: Sequence[Event]) -> None:
    """Record events in the tenant's own stream, all of them or none.

    Raises:
        PositionConflict: races were lost too often.
    """
    for attempt in range(edge.tries):
        try:
            edge.store.append(_append(edge, actor, events))
        except PositionConflict:
            if attempt + 1 == edge.tries:
                raise
            edge.pause(attempt)
        else:
            return


def _append(edge: Edge, actor: Actor, events: Sequence[Event]) -> Append:
    heads = edge.store.heads(edge.tenant, prefix=STREAM, limit=1)
    position, prev, now = 0, ZERO_HASH, edge.now()
    if heads and heads[0].stream == STREAM:
        position, prev = heads[0].position, heads[0].hash
        last = edge.store.read(edge.tenant, STREAM, after=position - 1, upto=position)
        now = max(now, decoded(last[0]).at)
    rows: list[Row] = []
    before = prev
    for number, event in enumerate(events, position + 1):
        rows.append(encode(event, Envelope(edge.tenant, STREAM, number, before, edge.ids(), now, actor)))
        before = rows[-1].hash
    return Append(edge.tenant, (StreamAppend(STREAM, position, prev, tuple(rows)),))
