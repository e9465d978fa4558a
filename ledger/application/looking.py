"""Looking up what the store holds of an effect, across all runs of its lineage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from ledger.application.edge import Edge
from ledger.application.rows import decoded
from ledger.codec import act_digest, effect_digest
from ledger.commands import Command
from ledger.errors import EffectNotFound
from ledger.events import EffectIntended
from ledger.record import Record
from ledger.run.contract import Contract
from ledger.run.decision import Looked
from ledger.run.history import EffectHistory, history_of
from ledger.run.looking import histories, put_together, wanted
from ledger.stores.base import StoredRow

EVENTS_OF_A_KEY = 1000
"""Events under one key, or intentions of one act, that are asked for at first; few have so many."""

_MORE = 8
"""How many times more are asked for where there were as many as were asked for."""


def all_under(edge: Edge, *, key: bytes | None = None, act: bytes | None = None) -> list[StoredRow]:
    """Read all there is under the digest of a key, or of an act, in global order.

    The newest are no history: whoever writes enough after it would push what was intended out of sight.
    """
    limit = EVENTS_OF_A_KEY
    while len(rows := edge.store.find(edge.tenant, key=key, act=act, limit=limit)) >= limit:
        limit *= _MORE
    return rows


def all_under_each(edge: Edge, keys: Iterable[bytes]) -> list[StoredRow]:
    """Read all there is under the digests of several keys, in global order, as of one moment."""
    digests, each = list(keys), EVENTS_OF_A_KEY
    while True:
        rows = edge.store.find_all(edge.tenant, keys=digests, each=each)
        if len(rows) < each or max(Counter(row.key for row in rows).values()) < each:
            return rows
        each *= _MORE


def effect_of(edge: Edge, key: str) -> EffectHistory | None:
    """Read the history of an effect; None where nothing was intended under its key."""
    return history_of(key, _records(all_under(edge, key=effect_digest(key))))


def known_effect(edge: Edge, key: str) -> EffectHistory:
    """Read the history of an effect that exists.

    Raises:
        EffectNotFound: nothing was intended under its key.
    """
    found = effect_of(edge, key) if isinstance(key, str) else None
    if found is None:
        raise EffectNotFound(f"no effect has the key {key!r:.80}", key=key)
    return found


def runs_of(edge: Edge, key: str) -> list[str]:
    """List the runs that recorded something of an effect, the last first, each once."""
    rows = all_under(edge, key=effect_digest(key))
    return list(dict.fromkeys(record.run for record in reversed(_records(rows))))


def effects_of(edge: Edge, keys: Iterable[str]) -> dict[str, EffectHistory]:
    """Read the histories of several effects in one query."""
    several = list(dict.fromkeys(keys))
    if not several:
        return {}
    digests = [effect_digest(key) for key in several]
    return histories(several, _records(all_under_each(edge, digests)))


def look_up(edge: Edge, contract: Contract | None, command: Command, now: datetime) -> Looked | None:
    """Read what a command about an effect is decided on: a few queries, however much is found."""
    asked = wanted(contract, command)
    if asked is None:
        return None
    keys = [asked.key]
    if asked.undone_by is not None:
        keys.append(asked.undone_by)
    intentions: list[StoredRow] = []
    if asked.act is not None:
        # Counted before the histories are read: what comes between is one more than was counted.
        intentions = all_under(edge, act=act_digest(asked.act))
        events = (record.event for record in _records(intentions))
        keys += [event.key for event in events if isinstance(event, EffectIntended)]
    found = effects_of(edge, keys)
    return put_together(
        asked,
        found,
        intentions=len(intentions),
        lease_until=renewed_until(edge, found.get(asked.key), now),
    )


def leases_of(edge: Edge, keys: Iterable[str], now: datetime) -> dict[str, datetime]:
    """Read when the leases of executing effects end, by key, renewals included."""
    found: dict[str, datetime] = {}
    for key, history in effects_of(edge, keys).items():
        until = renewed_until(edge, history, now) or history.lease_until
        if history.status == "executing" and until is not None:
            found[key] = until
    return found


def renewed_until(edge: Edge, known: EffectHistory | None, now: datetime) -> datetime | None:
    """Read until when the lease of an executing effect was renewed; None where it was not."""
    if known is None or known.status != "executing" or not known.lapsed(now):
        return None
    lease = edge.store.lease(edge.tenant, effect_digest(known.key), known.attempt)
    return None if lease is None else lease.until


def _records(rows: Sequence[StoredRow]) -> list[Record]:
    return [decoded(row) for row in rows]
