"""Execution: where the program of the run stands, what was said, and which runtime runs it."""

from __future__ import annotations

from ledger.commands import AdoptRuntime, MoveCursor, RecordMessage, SummariseMessages
from ledger.events import CursorMoved, MessageRecorded, MessagesSummarised, RuntimeAdopted
from ledger.record import Record
from ledger.run.contract import WINDOW, Adoption, Contract, Cursor, Message, Summary, by_id, states
from ledger.run.decision import Decision, Given, Refusal, admitted, id_in_use, not_open, stands_at, stated
from ledger.run.fold import Changes, placed
from ledger.run.meanwhile import beside
from ledger.values import Runtime


def moved(contract: Contract, event: CursorMoved, record: Record) -> Changes:
    """The cursor stands there, and one step more is counted."""
    tally = contract.tally
    return {
        "cursor": placed(Cursor, event, record),
        "tally": tally.with_fields({"steps": tally.steps + 1}),
    }


def said(contract: Contract, event: MessageRecorded, record: Record) -> Changes:
    """The message enters the window, which holds the last 64, and is counted."""
    tally = contract.tally
    return {
        "messages": (*contract.messages[1 - WINDOW :], placed(Message, event, record)),
        "tally": tally.with_fields({"messages": tally.messages + 1}),
    }


def summarised(contract: Contract, event: MessagesSummarised, record: Record) -> Changes:
    """The summary takes the place of what it stands for, which leaves the window."""
    last = by_id(contract.messages, event.through)
    left = (
        contract.messages
        if last is None
        else tuple(m for m in contract.messages if m.position > last.position)
    )
    return {"messages": left, "summary": placed(Summary, event, record)}


def adopted(contract: Contract, event: RuntimeAdopted, record: Record) -> Changes:
    """The runtime is the new one."""
    return {
        "adopted": placed(Adoption, event, record),
        "runtime": event.runtime,
        "runtime_position": record.position,
    }


def merged(old: Runtime | None, new: Runtime | None) -> Runtime | None:
    """Put what is said of a runtime now over what was said before; what is not said stays."""
    if old is None or new is None:
        return new or old
    said = {name: value for name, value in new.__dict__.items() if value is not None}
    return old.with_fields(said)


def move(contract: Contract, command: MoveCursor, given: Given) -> Decision:
    """Every move is a step of its own; only a move to exactly where the cursor stands is a repeat.

    Where the program of a run stands, no other agent says: it would be resumed there, and what its next step
    needs would be forgotten.
    """
    other = None if given.actor.kind == "human" else beside(contract, given.actor)
    if other is not None:
        return _not_its_cursor(contract, other, command)
    event = stated(CursorMoved, command)
    if contract.cursor is not None and states(contract.cursor, event):
        return stands_at(contract.cursor.position)
    return admitted(event)


def _not_its_cursor(contract: Contract, other: str, command: MoveCursor) -> Refusal:
    alive = contract.alive
    session = "" if alive.session is None else f" in session {alive.session}"
    return Refusal(
        "not_for_agents",
        f"{alive.by}{session} is the program of {contract.run!r}, and {other} is not: where it stands is for "
        "the program to say. Ask with `ledger.resume` whether you may go on with the run, or work in a child",
        position=alive.position,
        evidence={"command": command.name, "actor": other, "program": alive.by},
    )


def say(contract: Contract, command: RecordMessage, given: Given) -> Decision:
    """A message is told by its id: the same one again is a repeat, other content is refused."""
    event = stated(MessageRecorded, command)
    old = by_id(contract.messages, command.id)
    if old is not None:
        return (
            stands_at(old.position) if states(old, event) else id_in_use("message", command.id, old.position)
        )
    for prior in reversed(given.prior):
        if isinstance(prior.event, MessageRecorded):
            if prior.event == event:
                return stands_at(prior.position)
            return id_in_use("message", command.id, prior.position)
    return admitted(event)


def summarise(contract: Contract, command: SummariseMessages, given: Given) -> Decision:
    last = by_id(contract.messages, command.through)
    if last is None:
        summary = contract.summary
        if summary is not None and (summary.through, summary.content) == (command.through, command.content):
            return stands_at(summary.position)
        return not_open("message", command.through)
    before = sum(1 for message in contract.messages if message.position <= last.position)
    # Messages that fell out of the window are older than all in it, so the summary stands for them too.
    earlier = contract.tally.messages - len(contract.messages)
    return admitted(stated(MessagesSummarised, command, count=earlier + before))


def adopt(contract: Contract, command: AdoptRuntime, given: Given) -> Decision:
    """Adopt what is said of the runtime; what is not said stays as it was.

    The same runtime adopted again by another person, or for another reason, is a statement of its own.
    """
    old = contract.adopted
    event = stated(RuntimeAdopted, command, runtime=merged(contract.runtime, command.runtime))
    if old is not None and contract.runtime == event.runtime and states(old, event):
        return stands_at(old.position)
    return admitted(event)
