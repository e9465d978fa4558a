"""Reviews: what somebody thinks of a run up to a position, bound to the hash there."""

from __future__ import annotations

from ledger.commands import SignReview
from ledger.events import ReviewSigned
from ledger.record import Record
from ledger.run.contract import Contract, Review
from ledger.run.decision import Decision, Given, Refusal, admitted, stands_at, stated
from ledger.run.fold import Changes, placed


def signed(contract: Contract, event: ReviewSigned, record: Record) -> Changes:
    """The review is the last one."""
    return {"review": placed(Review, event, record)}


def sign(contract: Contract, command: SignReview, given: Given) -> Decision:
    """A review binds to the head it was made at; said again with nothing in between it is a repeat.

    Reviews are no change of what was read: who read up to the head of the last one may bind to that, too.
    """
    last = contract.review if contract.review and contract.review.position == contract.position else None
    here = contract.position, contract.hash
    given_none = command.read_upto is None and command.read_hash is None
    read = here if given_none else (command.read_upto, command.read_hash)
    if (
        last is not None
        and (given_none or read == (last.head, last.hash))
        and (last.by, last.meaning, last.note) == (command.by, command.meaning, command.note)
    ):
        return stands_at(last.position)
    if read != here and (last is None or read != (last.head, last.hash)):
        return Refusal(
            "not_open",
            f"what was read is not what the run holds: it stands at position {contract.position}",
            contract.position,
            {"kind": "position", "id": str(command.read_upto)},
        )
    return admitted(stated(ReviewSigned, command, head=read[0], hash=read[1]))
