"""What people are told of an act that waits for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ledger.application.consents import consent_of
from ledger.application.effect_listing import intended_last
from ledger.application.ledger import Ledger, edge_of
from ledger.application.rows import decoded
from ledger.canonical import load_text
from ledger.events import ApprovalRequested
from ledger.record import Record
from ledger.run.contract import by_id
from ledger.stores.base import StoredRow
from ledger.values.times import write_time


class Notice(NamedTuple):
    """A request for approval, as whoever may answer it is told."""

    approval: str
    """Its id: the same each time it is told, so that who hears it twice knows."""
    run: str
    tenant: str
    key: str
    """Of the act."""
    tool: str | None
    """None, as `step` and `args` are: the act is not in the record."""
    step: str | None
    args: Any
    """As its tool would get them, by name, with what it has by default."""
    question: str | None
    requested_by: str | None
    """Who decides there; they cannot answer."""
    requested_at: datetime
    expires_at: datetime | None
    """Until when it may be answered with what counts."""
    goal: str
    """Of the run."""
    approve: str
    """The command line that approves it; NAME stands for who decides."""
    deny: str

    def document(self) -> dict[str, Any]:
        """Give it as JSON values: every field is there, one that has nothing is null."""
        ends = None if self.expires_at is None else write_time(self.expires_at)
        return {**self._asdict(), "requested_at": write_time(self.requested_at), "expires_at": ends}


_NAME = f'"{ApprovalRequested.name}"'.encode()


def request_in(row: StoredRow) -> Record | None:
    """Read a row that asks for an approval; None: it says something else, and is not decoded.

    Raises:
        ChainBroken, UndecodableRecord, UnknownEventName: it may ask for one, and cannot be read.
    """
    if _NAME not in row.record:
        return None
    record = decoded(row)
    return record if isinstance(record.event, ApprovalRequested) else None


def notice_of(ledger: Ledger, request: Record, where: Sequence[str] = ()) -> Notice | None:
    """Build what is told of a request; None: it is answered, void, expired, asked anew or its run has ended.

    Args:
        ledger: whose request it is.
        request: the record that asks.
        where: options of the command lines that lead to the ledger.

    Raises:
        ChainBroken, UndecodableRecord, UnknownEventName: its run cannot be read.
    """
    from ledger.adapters.cli.ways_out import answering

    event, edge = request.event, edge_of(ledger)
    assert isinstance(event, ApprovalRequested)
    contract = ledger.contract(request.run)
    approval = by_id(contract.approvals, event.id)
    if approval is None or contract.closed is not None:
        return None
    if consent_of(contract, approval, edge.now()).state != "pending":
        return None
    act = intended_last(ledger, event.key)
    approve, deny = answering(event.id, where)
    return Notice(
        approval=event.id,
        run=request.run,
        tenant=edge.tenant,
        key=event.key,
        tool=None if act is None else act.tool,
        step=None if act is None else act.step,
        args=None if act is None else load_text(act.args_in_full or act.args),
        question=event.question,
        requested_by=approval.requested_by,
        requested_at=approval.at,
        expires_at=approval.expires_at,
        goal=contract.goal.text,
        approve=approve,
        deny=deny,
    )
