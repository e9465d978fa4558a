"""Which constraints runs have accepted."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple, Unpack

from ledger.application.ledger import Ledger
from projections.views.base import OF_RUNS, Asking, Selection, View, view


class InForce(NamedTuple):
    """A constraint that a run has accepted and not withdrawn; runs that have ended are among them."""

    run: str
    id: str
    text: str
    enforced: bool
    """Whether it has a rule, which acts are held to; else it is text for who reads it."""
    source: str | None
    """`kind:name`; None: it comes from no source."""
    item: str | None
    """The id that the source has for it."""
    revision: str | None
    source_position: int | None
    published: bool | None
    asserted_by: str
    accepted_by: str
    accepted_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    position: int
    run_status: str


_COLUMNS = {
    "run": "o.run",
    "id": "o.id",
    "text": "o.text",
    "enforced": "CASE WHEN o.rule IS NULL THEN 0 ELSE 1 END",
    "source": "o.source",
    "item": "o.item",
    "revision": "o.revision",
    "source_position": "o.source_position",
    "published": "o.published",
    "asserted_by": "o.asserted_by",
    "accepted_by": "o.accepted_by",
    "accepted_at": "o.at",
    "valid_from": "o.valid_from",
    "valid_until": "o.valid_until",
    "position": "o.position",
    "run_status": "r.status",
}


def constraints(
    ledger: Ledger, *, source: str | None = None, item: str | None = None, **asking: Unpack[Asking]
) -> View[InForce]:
    """List constraints by run, of a source or of one of its items, whatever their valid time."""
    selection = Selection(
        _COLUMNS,
        "{runs.constraints} AS o " + OF_RUNS,
        "o.run, o.position, o.id",
        [("o.source = :source", source), ("o.item = :item", item)],
        {"source": source, "item": item},
    )
    return view(ledger, selection, _in_force, asking)


def _in_force(fields: dict[str, Any], now: datetime) -> InForce:
    published = fields.pop("published")
    enforced = bool(fields.pop("enforced"))
    return InForce(**fields, enforced=enforced, published=None if published is None else bool(published))
