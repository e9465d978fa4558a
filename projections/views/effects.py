"""Acts of which nobody knows yet what became of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple, Unpack

from ledger.application.edge import Edge
from ledger.application.ledger import Ledger, edge_of
from ledger.codec import effect_digest
from projections.views.base import OF_RUNS, Asking, Selection, View, over, view


class OpenEffect(NamedTuple):
    """An act whose outcome is not settled, as the run that answers for it knows."""

    run: str
    key: str
    tool: str
    step: str | None
    occurrence: str | None
    status: str
    """pending, executing, unknown or disputed. What was executing is unknown once its lease has ended."""
    since: datetime
    """When it became so."""
    attempt: int
    recovery: str
    worker: str | None
    lease_until: datetime | None
    """Renewals included."""
    inherited_from: str | None
    """The run whose position it is, where a successor took it over."""
    position: int


_COLUMNS = {
    "run": "o.run",
    "key": "o.key",
    "tool": "o.tool",
    "step": "o.step",
    "occurrence": "o.occurrence",
    "status": "o.status",
    "since": "o.at",
    "attempt": "o.attempt",
    "recovery": "o.recovery",
    "worker": "o.worker",
    "lease_until": "o.lease_until",
    "inherited_from": "o.inherited_from",
    "position": "o.position",
}


def effects(
    ledger: Ledger, *, status: str | None = None, tool: str | None = None, **asking: Unpack[Asking]
) -> View[OpenEffect]:
    """List acts whose outcome is open, of a status or a tool; what has been as it is longest is in front.

    Leases are judged by the clock they are kept by, unless `now` is given.
    """
    edge = edge_of(ledger)
    if asking.get("now") is None:
        asking["now"] = edge.lease_now(edge.now())
    # Time alone turns what is executing into something unknown.
    statuses = (status, "executing") if status == "unknown" else (status,)
    selection = Selection(
        _COLUMNS,
        "{runs.unsettled} AS o " + OF_RUNS,
        "o.at, o.run, o.key",
        [("r.successor IS NULL", True), ("o.status IN :statuses", status), ("o.tool = :tool", tool)],
        {"statuses": statuses, "tool": tool},
    )

    def read(fields: dict[str, Any], now: datetime) -> OpenEffect:
        return _as_time_makes_it(edge, OpenEffect(**fields), now)

    found = view(ledger, selection, read, asking)
    rows = [one for one in found.rows if status in {None, one.status}]
    return found._replace(rows=sorted(rows, key=lambda one: (one.since, one.run, one.key)))


def _as_time_makes_it(edge: Edge, one: OpenEffect, now: datetime) -> OpenEffect:
    if one.status != "executing" or not over(one.lease_until, now):
        return one
    # What the record says of it is over; its worker may have renewed it since.
    lease = edge.store.lease(edge.tenant, effect_digest(one.key), one.attempt)
    until = one.lease_until if lease is None else lease.until
    assert until is not None
    if until > now:
        return one._replace(lease_until=until)
    return one._replace(lease_until=until, status="unknown", since=until)
