"""Reviews: what somebody thinks of a run up to a position, bound to the hash there."""

from __future__ import annotations

from ledger.commands import SignReview
from ledger.events import ReviewSigned
from ledger.record import Record
from ledger.run.contract import Contract, Review
from ledger.run.decision import Decision, Given, admitted, stands_at, stated
from ledger.run.fold import Changes, placed


def signed(contract: Contract, event: ReviewSigned, record: Record) -> Changes:
    """The review is the last one."""
    return {"review": placed(Review, event, record)}


def sign(contract: Contract, command: SignReview, given: Given) -> Decision:
    """A review binds to the head it was made at; said again with nothing in between it is a repeat."""
    last = contract.review
    if (
        last is not None
        and last.position == contract.position
        and (last.by, last.meaning, last.note) == (command.by, command.meaning, command.note)
    ):
        return stands_at(last.position)
    return admitted(stated(ReviewSigned, command, hash=contract.hash, head=contract.position))
