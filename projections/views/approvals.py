"""What waits for a person."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal, NamedTuple, Unpack

from ledger.application.ledger import Ledger
from projections.views.base import OF_RUNS, Asking, Selection, View, over, view

State = Literal["pending", "expired", "approved", "denied"]


class Requested(NamedTuple):
    """A request for approval whose act is not done, of a run that has not ended."""

    run: str
    id: str
    key: str
    """Of the act."""
    question: str | None
    state: State
    """By the first answer that came in time."""
    expires_at: datetime | None
    answered_by: str | None
    answered_at: datetime | None
    answered_position: int | None
    at: datetime
    position: int


_COLUMNS = {
    "run": "o.run",
    "id": "o.id",
    "key": "o.key",
    "question": "o.question",
    "answer": "o.answer",
    "expires_at": "o.expires_at",
    "answered_by": "o.answered_by",
    "answered_at": "o.answered_at",
    "answered_position": "o.answered_position",
    "at": "o.at",
    "position": "o.position",
}


def approvals(ledger: Ledger, *, pending: bool = False, **asking: Unpack[Asking]) -> View[Requested]:
    """List requests for approval, what expires first in front; `pending`: what can be answered still."""
    selection = Selection(
        _COLUMNS,
        "{runs.approvals} AS o " + OF_RUNS,
        "CASE WHEN o.expires_at IS NULL THEN 1 ELSE 0 END, o.expires_at, o.run, o.position, o.id",
        [
            ("r.status <> 'closed'", True),
            ("o.answer IS NULL", pending or None),
            ("(o.expires_at IS NULL OR o.expires_at > :now)", pending or None),
        ],
        {},
    )
    return view(ledger, selection, _requested, asking)


def _requested(fields: dict[str, Any], now: datetime) -> Requested:
    answer = fields.pop("answer")
    waits: State = "expired" if over(fields["expires_at"], now) else "pending"
    return Requested(**fields, state=waits if answer is None else answer)
