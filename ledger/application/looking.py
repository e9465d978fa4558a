"""Looking up what the store holds of an effect, across all runs of its lineage."""

from __future__ import annotations

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
"""Newest events under one key that its history is folded from."""

ACTS = 100
"""Newest intentions of one act that a claim is compared with."""


def effect_of(edge: Edge, key: str) -> EffectHistory | None:
    """Read the history of an effect; None where nothing was intended under its key."""
    return history_of(
        key, _records(edge.store.find(edge.tenant, key=effect_digest(key), limit=EVENTS_OF_A_KEY))
    )


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
    rows = edge.store.find(edge.tenant, key=effect_digest(key), limit=EVENTS_OF_A_KEY)
    return list(dict.fromkeys(record.run for record in reversed(_records(rows))))


def effects_of(edge: Edge, keys: Iterable[str]) -> dict[str, EffectHistory]:
    """Read the histories of several effects in one query."""
    several = list(dict.fromkeys(keys))
    if not several:
        return {}
    digests = [effect_digest(key) for key in several]
    return histories(several, _records(edge.store.find_all(edge.tenant, keys=digests, each=EVENTS_OF_A_KEY)))


def look_up(edge: Edge, contract: Contract | None, command: Command, now: datetime) -> Looked | None:
    """Read what a command about an effect is decided on: a constant number of queries."""
    asked = wanted(contract, command)
    if asked is None:
        return None
    keys = [asked.key]
    if asked.undone_by is not None:
        keys.append(asked.undone_by)
    if asked.act is not None:
        intentions = _records(edge.store.find(edge.tenant, act=act_digest(asked.act), limit=ACTS))
        keys += [record.event.key for record in intentions if isinstance(record.event, EffectIntended)]
    found = effects_of(edge, keys)
    return put_together(asked, found, lease_until=renewed_until(edge, found.get(asked.key), now))


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
