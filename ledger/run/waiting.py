"""Whose answer or act a run waits for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ledger.run.contract import Approval, Contract, Obligation, by_id
from ledger.values import Id, Instant, Ref, Text, Value


class Waiting(Value):
    """Something that somebody else has to say or do before the run can go on, or can end."""

    needed_by_cursor: bool
    """The program stands there until it is said or done."""
    overdue: bool
    """It was due before, or can be answered no more."""
    ref: Ref
    since: Instant | None = None
    until: Instant | None = None
    what: Text
    who: Id | None = None
    """The child run or the worker that it waits for; None: nobody is named."""


def waiting(contract: Contract, now: datetime) -> Iterator[Waiting]:
    """Name what a run waits for: what its cursor says, unanswered approvals, and what its children owe.

    One that has ended waits for nothing: its children go on, and it hears of none.
    """
    if contract.closed is not None:
        return
    cursor = contract.cursor
    asked = dict.fromkeys(() if cursor is None else cursor.waits_for)
    for approval in contract.approvals:
        if approval.answered is None:
            asked.setdefault(f"approval:{approval.id}")
    for obligation in contract.obligations:
        if _is_of_child(obligation):
            asked.setdefault(f"obligation:{obligation.id}")
    for ref in asked:
        yield _one(contract, ref, now)


def _is_of_child(obligation: Obligation) -> bool:
    return obligation.because is not None and obligation.because.startswith("run:")


def _one(contract: Contract, ref: str, now: datetime) -> Waiting:
    kind, _, name = ref.partition(":")
    at_cursor = contract.cursor is not None and ref in contract.cursor.waits_for
    if kind == "approval" and (approval := by_id(contract.approvals, name)) is not None:
        return _approval(approval, ref, at_cursor, now)
    if kind == "obligation" and (owed := by_id(contract.obligations, name)) is not None:
        child = (owed.because or "").removeprefix("run:") if _is_of_child(owed) else None
        late = owed.due is not None and owed.due <= now
        return _built(ref, at_cursor, owed.text, since=owed.at, until=owed.due, overdue=late, who=child)
    if kind == "effect":
        effect = next((item for item in contract.effects if item.key == name), None)
        if effect is not None:
            what = f"the outcome of {effect.tool}"
            return _built(ref, at_cursor, what, since=effect.at, until=effect.lease_until, who=effect.worker)
    return _built(ref, at_cursor, ref)


def _approval(item: Approval, ref: str, at_cursor: bool, now: datetime) -> Waiting:
    late = item.expires_at is not None and item.expires_at <= now
    what = item.question or f"approval of the act {item.key}"
    return _built(ref, at_cursor, what, since=item.at, until=item.expires_at, overdue=late)


def _built(
    ref: str,
    at_cursor: bool,
    what: str,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
    overdue: bool = False,
    who: str | None = None,
) -> Waiting:
    return Waiting.unchecked(
        {
            "needed_by_cursor": at_cursor,
            "overdue": overdue,
            "ref": ref,
            "since": since,
            "until": until,
            "what": what,
            "who": who,
        }
    )
