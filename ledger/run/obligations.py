"""Obligations: what the run owes whom by when, until it is discharged, waived or transferred."""

from __future__ import annotations

from ledger.commands import DischargeObligation, OpenObligation, TransferObligation, WaiveObligation
from ledger.events import ObligationDischarged, ObligationOpened, ObligationTransferred, ObligationWaived
from ledger.record import Record
from ledger.run.contract import Contract, Obligation, by_id, states
from ledger.run.decision import Decision, Given, admitted, id_in_use, not_open, stands_at, stated
from ledger.run.fold import Changes, placed, put

Ended = ObligationDischarged | ObligationWaived | ObligationTransferred


def opened(contract: Contract, event: ObligationOpened, record: Record) -> Changes:
    """The obligation is open."""
    return {"obligations": put(contract.obligations, placed(Obligation, event, record))}


def ended(contract: Contract, event: Ended, record: Record) -> Changes:
    """The obligation is no longer open."""
    return {"obligations": tuple(item for item in contract.obligations if item.id != event.id)}


def open_(contract: Contract, command: OpenObligation, given: Given) -> Decision:
    event = stated(ObligationOpened, command)
    old = by_id(contract.obligations, command.id)
    if old is None:
        return admitted(event)
    return (
        stands_at(old.position) if states(old, event) else id_in_use("obligation", command.id, old.position)
    )


def discharge(contract: Contract, command: DischargeObligation, given: Given) -> Decision:
    if by_id(contract.obligations, command.id) is None:
        return not_open("obligation", command.id)
    return admitted(stated(ObligationDischarged, command))


def waive(contract: Contract, command: WaiveObligation, given: Given) -> Decision:
    if by_id(contract.obligations, command.id) is None:
        return not_open("obligation", command.id)
    return admitted(stated(ObligationWaived, command))


def transfer(contract: Contract, command: TransferObligation, given: Given) -> Decision:
    if by_id(contract.obligations, command.id) is None:
        return not_open("obligation", command.id)
    return admitted(stated(ObligationTransferred, command))
