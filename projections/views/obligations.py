"""Who is owed what."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Unpack

from ledger.application.ledger import Ledger
from projections.views.base import OF_RUNS, Asking, Selection, View, over, view


class Owed(NamedTuple):
    """An obligation that is open."""

    run: str
    id: str
    text: str
    owed_to: str
    due: datetime | None
    overdue: bool
    because: str | None
    """What brought it about, as a reference."""
    by: str | None
    at: datetime
    """When it was opened."""
    position: int
    run_status: str
    """A run that has ended may owe something still."""


_COLUMNS = {
    "run": "o.run",
    "id": "o.id",
    "text": "o.text",
    "owed_to": "o.owed_to",
    "due": "o.due",
    "because": "o.because",
    "by": 'o."by"',
    "at": "o.at",
    "position": "o.position",
    "run_status": "r.status",
}


def obligations(
    ledger: Ledger, *, owed_to: str | None = None, overdue: bool = False, **asking: Unpack[Asking]
) -> View[Owed]:
    """List what is owed, what is due first in front; `overdue`: only what was due by `now`."""
    selection = Selection(
        _COLUMNS,
        "{runs.obligations} AS o " + OF_RUNS,
        "CASE WHEN o.due IS NULL THEN 1 ELSE 0 END, o.due, o.run, o.position, o.id",
        [
            ("r.successor IS NULL", True),
            ("o.owed_to = :owed_to", owed_to),
            ("o.due <= :now", overdue or None),
        ],
        {"owed_to": owed_to},
    )
    return view(
        ledger, selection, lambda fields, now: Owed(**fields, overdue=over(fields["due"], now)), asking
    )
