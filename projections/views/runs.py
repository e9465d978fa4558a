"""Which runs there are, and how they stand."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, Unpack

from ledger.application.ledger import Ledger
from ledger.values.times import write_time
from projections.views.base import Asking, Selection, View, view


class Listed(NamedTuple):
    """A run in a list."""

    run: str
    status: str
    """open, suspended, held or closed."""
    verdict: str | None
    """What holds it."""
    held_at: datetime | None
    reasons: int
    owner: str | None
    thread: str | None
    goal: str
    obligations: int
    unsettled: int
    successor: str | None
    alive_at: datetime
    """When its program gave its last sign of life."""
    opened_at: datetime
    at: datetime
    """Of its last event, which is at `position`."""
    position: int


_COLUMNS = {name: f"o.{name}" for name in Listed._fields}


def runs(
    ledger: Ledger,
    *,
    status: str | None = None,
    verdict: str | None = None,
    owner: str | None = None,
    thread: str | None = None,
    held_before: datetime | None = None,
    alive_before: datetime | None = None,
    unsettled: bool = False,
    **asking: Unpack[Asking],
) -> View[Listed]:
    """List runs by id, of which all that is given is so.

    `held_before`, `alive_before`: held, or without a sign of life, since that moment or longer. `unsettled`:
    with acts whose outcome is open, and for which they answer.
    """
    given = {"status": status, "verdict": verdict, "owner": owner, "thread": thread}
    times = {
        "held_before": None if held_before is None else write_time(held_before),
        "alive_before": None if alive_before is None else write_time(alive_before),
    }
    selection = Selection(
        _COLUMNS,
        "{runs.runs} AS o",
        "o.run",
        [
            *((f"o.{name} = :{name}", value) for name, value in given.items()),
            ("o.held_at <= :held_before", times["held_before"]),
            ("o.alive_at <= :alive_before", times["alive_before"]),
            ("o.unsettled > 0 AND o.successor IS NULL", unsettled or None),
        ],
        {**given, **times},
    )
    return view(ledger, selection, lambda fields, now: Listed(**fields), asking)
