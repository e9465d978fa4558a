"""Finding an observation that may be used again."""

from __future__ import annotations

from datetime import datetime

from ledger.application.edge import Edge
from ledger.application.rows import decoded
from ledger.codec import observation_digest
from ledger.events import ObservationInvalidated, ObservationRecorded
from ledger.run.contract import Contract
from ledger.run.observations import find, has_let_go
from ledger.stores.base import StoredRow
from ledger.values import Payload

_NEWEST = 32
"""Events under the key of an observation that are asked for at first."""


def fresh(edge: Edge, contract: Contract, key: str, fresh_for: int | None, now: datetime) -> Payload | None:
    """Return the value of the latest observation under a key, where it is fresh; None where there is none.

    It has to be fresh by what was declared when it was made and by `fresh_for` as declared now. One from the
    future is not: a clock that jumped back makes things stale.
    """
    view = find(contract, key)
    if view is None and not has_let_go(contract):
        return None
    if view is not None and (view.invalidated is not None or not _is_fresh(view, fresh_for, now)):
        return None
    if view is not None and view.value.json_text is not None:
        return view.value
    # The contract names long values by their digest, and lets go of old ones: the records have them.
    latest: ObservationRecorded | None = None
    for row in _back_to(edge, observation_digest(contract.run, key), 0 if view is None else view.position):
        event = decoded(row).event
        if isinstance(event, ObservationInvalidated):
            latest = None
        elif isinstance(event, ObservationRecorded) and (latest is None or not _seen_before(event, latest)):
            latest = event
    return latest.value if latest is not None and _is_fresh(latest, fresh_for, now) else None


def _back_to(edge: Edge, digest: bytes, position: int) -> list[StoredRow]:
    """Read what the run recorded under the key, back to a position at least: what was seen last may have been
    told before all of the newest.
    """
    limit = _NEWEST
    while True:
        rows = edge.store.find(edge.tenant, key=digest, limit=limit)
        if len(rows) < limit or rows[0].position <= position:
            return rows
        limit *= 8


def _is_fresh(seen: ObservationRecorded, fresh_for: int | None, now: datetime) -> bool:
    if fresh_for is None and seen.fresh_for is None:
        return seen.observed_at is None or seen.observed_at <= now
    if seen.observed_at is None:
        return False
    shortest = min(each for each in (fresh_for, seen.fresh_for) if each is not None)
    return 0 <= (now - seen.observed_at).total_seconds() < shortest


def _seen_before(event: ObservationRecorded, other: ObservationRecorded) -> bool:
    if other.observed_at is None:
        return False
    return event.observed_at is None or event.observed_at < other.observed_at
