"""Who may act, and what is left of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Unpack

from ledger.application.ledger import Ledger
from projections.views.base import OF_RUNS, Asking, Selection, View, over, view

State = Literal["in_force", "expired", "used_up"]


class Granted(NamedTuple):
    """An authority that was granted and not revoked, of a run that has not ended."""

    run: str
    id: str
    principal: str
    session: str | None
    scopes: tuple[str, ...]
    state: State
    """What has expired is no longer told to be used up."""
    budget: Mapping[str, Decimal] | None
    """None: it has no bound."""
    spent: Mapping[str, Decimal]
    reserved: Mapping[str, Decimal]
    """For acts whose outcome is open."""
    expires_at: datetime | None
    granted_by: str
    at: datetime
    position: int
    renewed_position: int | None


_COLUMNS = {
    "run": "o.run",
    "id": "o.id",
    "principal": "o.principal",
    "session": "o.session",
    "scopes": "o.scopes",
    "used_up": "o.used_up",
    "budget": "o.budget",
    "spent": "o.spent",
    "reserved": "o.reserved",
    "expires_at": "o.expires_at",
    "granted_by": "o.granted_by",
    "at": "o.at",
    "position": "o.position",
    "renewed_position": "o.renewed_position",
}


def grants(
    ledger: Ledger, *, principal: str | None = None, state: State | None = None, **asking: Unpack[Asking]
) -> View[Granted]:
    """List grants by run, of a principal or in a state."""
    selection = Selection(
        _COLUMNS,
        "{runs.grants} AS o " + OF_RUNS,
        "o.run, o.position, o.id",
        [("r.status <> 'closed'", True), ("o.principal = :principal", principal)],
        {"principal": principal},
    )
    found = view(ledger, selection, _granted, asking)
    return found._replace(rows=[one for one in found.rows if state in {None, one.state}])


def _granted(fields: dict[str, Any], now: datetime) -> Granted:
    is_used_up, scopes, budget = fields.pop("used_up"), fields.pop("scopes"), fields.pop("budget")
    spent, reserved = fields.pop("spent"), fields.pop("reserved")
    return Granted(
        **fields,
        scopes=tuple(json.loads(scopes)),
        state="expired" if over(fields["expires_at"], now) else "used_up" if is_used_up else "in_force",
        budget=None if budget is None else _amounts(budget),
        spent=_amounts(spent),
        reserved=_amounts(reserved),
    )


def _amounts(text: str | None) -> dict[str, Decimal]:
    return {} if text is None else {unit: Decimal(each) for unit, each in json.loads(text).items()}
