"""Saved states: what the program kept of itself, which of them is the newest, and which were given up."""

from __future__ import annotations

from ledger.commands import DropStates, SaveState, SaveStatePart
from ledger.events import Event, StatePartSaved, StateSaved, StatesDropped
from ledger.record import Record
from ledger.run.contract import Contract
from ledger.run.decision import Admitted, Decision, Given, Refusal, admitted, stands_at, stated
from ledger.run.fold import Changes
from ledger.run.standing import Saved, SavedLine
from ledger.values import Kept, Payload, SavedName

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
    upto = record.position if event.upto is None else event.upto
    lines = tuple(
        one
        for one in known.lines
        if one.position > upto or not drops(event, SavedName(id=one.id, line=one.line))
    )
    return {"saved": known.with_fields({"dropped": record.position, "lines": lines})}


def drops(event: StatesDropped, name: SavedName) -> bool:
    """Tell whether a state is among those that were dropped, if it was saved before."""
    return name in event.states or (event.all and name not in event.kept)


def save(contract: Contract, command: SaveState, given: Given) -> Decision:
    """A state goes on from the newest of its line, or says that it is a branch.

    What it rests on must still be there: who does not know of the last drop has to read again.
    """
    content = _kept(command.content)
    if content is None:
        return _not_apart(command)
    known = contract.saved or _NONE
    newest = next((one for one in known.lines if one.line == command.line), None)
    let_go = known.let_go
    if newest is None and to_look_up(contract, command):
        newest = _looked_up(command, given)
        if newest is None:
            let_go = 0
        elif newest.position < (known.dropped or 0):
            newest = None  # it may have been given up since
    if newest is not None and (newest.id, newest.content) == (command.id, content):
        return stands_at(newest.position)
    if command.dropped != known.dropped:
        return _moved(contract, command, "states were dropped since what it rests on was read", known.dropped)
    if not command.branch:
        since = _moved_since(known, newest, command, let_go)
        if since is not None:
            what, position = since
            then = "the line was empty" if command.parent is None else f"{command.parent!r} was its newest"
            return _moved(contract, command, f"{what} since {then}", position)
    return admitted(stated(StateSaved, command, content=content))


def to_look_up(contract: Contract, command: SaveState) -> bool:
    """Tell whether the contract cannot say what the newest state of a line is, and the store can.

    Then the newest that was saved on the line is asked for. The main line is not found by its name.
    """
    known = contract.saved
    return (
        known is not None
        and known.let_go > (command.seen or 0)
        and not command.branch
        and command.line is not None
        and all(one.line != command.line for one in known.lines)
    )


def _looked_up(command: SaveState, given: Given) -> SavedLine | None:
    """Return what was saved last on the line of a state, dropped or not; None: nothing ever was."""
    for record in reversed(given.prior):
        event = record.event
        if isinstance(event, StateSaved) and event.line == command.line:
            return SavedLine.unchecked(
                {"content": event.content, "id": event.id, "line": event.line, "position": record.position}
            )
    return None


def _moved_since(
    known: Saved, newest: SavedLine | None, command: SaveState, let_go: int
) -> tuple[str, int] | None:
    """Say what happened to a line since the parent was its newest state; None: nothing that is known.

    Lines of which nothing is known moved up to `let_go`.
    """
    if newest is not None:
        return None if newest.id == command.parent else (f"{newest.id!r} was saved", newest.position)
    seen = command.seen or 0
    if let_go > seen:
        return "other lines moved so often", let_go
    # The first state of a line has no parent that could have been given up.
    if command.parent is not None and known.dropped is not None and known.dropped > seen:
        return "states were dropped", known.dropped
    return None


def save_part(contract: Contract, command: SaveStatePart, given: Given) -> Decision:
    """A part is kept whatever became of its state: who reads the state reads its parts."""
    content = _kept(command.content)
    if content is None:
        return _not_apart(command)
    return admitted(stated(StatePartSaved, command, content=content))


def drop(contract: Contract, command: DropStates, given: Given) -> Decision:
    """Of no drop there is nothing to say.

    It stands also where nothing was saved: parts may have been kept here after a state of another run, and
    who is about to save on what was given up elsewhere has to look again. So it does where it names none, in
    a later run.
    """
    events: tuple[Event, ...] = ()
    if command.all or command.states:
        events = (stated(StatesDropped, command),)
    later, beside = command.also_in, {}
    if later is not None and later != contract.run and later in given.others:
        beside = {later: (StatesDropped(by=command.by, reason=command.reason),)}
    if not (events or beside):
        return Admitted((), position=contract.position)
    return Admitted(events, beside=beside)


def _kept(content: Payload) -> Kept | None:
    """Return the name of a content that is kept beside the record; None where it is none."""
    if content.digest is None or content.size is None or content.type is not None:
        return None
    return Kept.unchecked({"digest": content.digest, "size": content.size})


def _not_apart(command: SaveState | SaveStatePart) -> Refusal:
    return Refusal(
        "not_supported",
        f"{command.name} names no content that is kept: say it through the handle of a run, which keeps it",
        evidence={"command": command.name},
    )


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
