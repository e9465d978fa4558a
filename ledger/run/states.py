"""Saved states: what the program kept of itself, which of them is the newest, and which were given up."""

from __future__ import annotations

from ledger.commands import DropStates, SaveState, SaveStatePart
from ledger.events import StatePartSaved, StateSaved, StatesDropped
from ledger.record import Record
from ledger.run.contract import Contract
from ledger.run.decision import Admitted, Decision, Given, Refusal, admitted, stands_at, stated
from ledger.run.fold import Changes
from ledger.run.standing import Saved, SavedLine
from ledger.values import SavedName

LINES = 64
"""Lines whose newest state a contract names: those that moved last."""

_NONE = Saved()


def saved(contract: Contract, event: StateSaved, record: Record) -> Changes:
    """The state is the newest of its line, which moved last of all."""
    known = contract.saved or _NONE
    line = SavedLine.unchecked(
        {"content": event.content, "id": event.id, "line": event.line, "position": record.position}
    )
    lines = (*(one for one in known.lines if one.line != event.line), line)
    changes: Changes = {"lines": lines}
    if len(lines) > LINES:
        changes = {"let_go": max(known.let_go, lines[0].position), "lines": lines[1:]}
    return {"saved": known.with_fields(changes)}


def part_saved(contract: Contract, event: StatePartSaved, record: Record) -> Changes:
    """A part changes nothing: it is found by the state that it goes on from."""
    return {}


def dropped(contract: Contract, event: StatesDropped, record: Record) -> Changes:
    """What was dropped is the newest of no line any more."""
    known = contract.saved or _NONE
    lines = tuple(one for one in known.lines if not drops(event, SavedName(id=one.id, line=one.line)))
    return {"saved": known.with_fields({"dropped": record.position, "lines": lines})}


def drops(event: StatesDropped, name: SavedName) -> bool:
    """Tell whether a state that was saved before is among those that were dropped."""
    return name in event.states or (event.all and name not in event.kept)


def save(contract: Contract, command: SaveState, given: Given) -> Decision:
    """A state goes on from the newest of its line, or says that it is a branch.

    What it rests on must still be there: who does not know of the last drop has to read again.
    """
    known = contract.saved or _NONE
    newest = next((one for one in known.lines if one.line == command.line), None)
    if newest is not None and (newest.id, newest.content) == (command.id, command.content):
        return stands_at(newest.position)
    if command.dropped != known.dropped:
        return _moved(contract, command, "states were dropped since what it rests on was read", known.dropped)
    if not command.branch and (
        known.let_go > (command.seen or 0) if newest is None else newest.id != command.parent
    ):
        what = "another line moved so often" if newest is None else f"{newest.id!r} was saved"
        stands = known.let_go if newest is None else newest.position
        return _moved(
            contract, command, f"{what} since {command.parent!r} was the newest of its line", stands
        )
    return admitted(stated(StateSaved, command))


def save_part(contract: Contract, command: SaveStatePart, given: Given) -> Decision:
    return admitted(stated(StatePartSaved, command))


def drop(contract: Contract, command: DropStates, given: Given) -> Decision:
    """Each drop names the one before it, so that they are found one after another."""
    known = contract.saved
    if known is None or not (command.all or command.states):
        return Admitted((), position=contract.position)
    return admitted(stated(StatesDropped, command, previous=known.dropped))


def _moved(contract: Contract, command: SaveState, why: str, stands: int | None) -> Refusal:
    return Refusal(
        "state_moved",
        f"state {command.id!r} of {contract.run!r} cannot be saved: {why}",
        position=stands,
        evidence={
            "run": contract.run,
            "expected": command.seen or 0,
            "actual": contract.position,
            "dropped": None if contract.saved is None else contract.saved.dropped,
        },
    )
