"""Saved states in a run: one by its name, the newest, all; what was kept after one, and what was dropped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from ledger.application.edge import Edge
from ledger.application.rows import decoded
from ledger.canonical import invalid
from ledger.codec import drop_digest, line_digest, part_digest, state_digest
from ledger.events import StatePartSaved, StateSaved
from ledger.record import Record, parse
from ledger.run.contract import Contract
from ledger.run.given_up import Drops
from ledger.stores.base import StoredRow

PAGE = 200
PARTS_AT_ONCE = 32
"""So many parts of a state are read together with it; where there are more they are read by themselves."""
PARTS = 100_000
"""More parts than this are read of no state."""
DROPS = 100_000
"""More drops than this are read of no run."""


class SavedState(NamedTuple):
    """A saved state without its content."""

    run: str
    id: str
    line: str | None
    parent: str | None
    position: int
    at: datetime
    digest: bytes
    """Of its content."""
    size: int
    """Of its content as it is stored, in bytes."""
    branch: bool
    whole: bool


class SavedPart(NamedTuple):
    """What was kept of a piece of work after a state, without its content."""

    run: str
    state: str
    line: str | None
    task: str
    position: int
    digest: bytes
    size: int


NO_DROPS = Drops()


def drops_of(edge: Edge, contract: Contract, known: Drops = NO_DROPS) -> Drops:
    """Read what was dropped of a run's states, unless it is known already.

    Raises:
        InvalidInput: they were dropped too often.
    """
    last = None if contract.saved is None else contract.saved.dropped
    if last is None or last <= known.last:
        return known
    return all_drops(edge, contract.run)


def all_drops(edge: Edge, run: str) -> Drops:
    """Read what was dropped of a run's states.

    Raises:
        InvalidInput: they were dropped too often.
    """
    rows = edge.store.find(edge.tenant, key=drop_digest(run), limit=DROPS)
    if len(rows) == DROPS:
        raise invalid("run", f"states of {run!r} were dropped {DROPS} times or more")
    return Drops(map(decoded, rows))


def saved_state(edge: Edge, run: str, line: str | None, id: str, drops: Drops) -> SavedState | None:
    """Find a state by its name; None where there is none, or it was dropped."""
    rows = edge.store.find(edge.tenant, key=state_digest(run, line, id), limit=1)
    if not rows:
        return None
    found = state_of(decoded(rows[0]))
    return None if drops.dropped(line, id, found.position) else found


def was_saved(edge: Edge, runs: Iterable[str], line: str | None, id: str) -> bool:
    """Tell whether a state of this name was ever saved in one of some runs, dropped or not."""
    keys = [state_digest(run, line, id) for run in runs]
    batches = (keys[at : at + PAGE] for at in range(0, len(keys), PAGE))
    return any(edge.store.find_all(edge.tenant, keys=batch, each=1) for batch in batches)


def was_given_up(edge: Edge, contract: Contract) -> bool:
    """Tell whether all states of a run were given up at once, and nothing was saved since.

    Where they were given up by name the run goes on from what lies before it, as it did.
    """
    saved = contract.saved
    if saved is None or saved.dropped is None or saved.lines:
        return False
    drops = drops_of(edge, contract)
    return drops.everything > 0 and next(saved_states(edge, contract, drops), None) is None


def state_and_parts(
    edge: Edge, run: str, line: str | None, id: str, drops: Drops
) -> tuple[SavedState | None, list[SavedPart] | None]:
    """Find a state by its name, and what was kept after it unless that is much."""
    key, key_of_parts = state_digest(run, line, id), part_digest(run, line, id)
    rows = edge.store.find_all(edge.tenant, keys=(key, key_of_parts), each=PARTS_AT_ONCE)
    saves = [row for row in rows if row.key == key]
    if not saves:
        return None, None
    state = state_of(decoded(saves[-1]))
    if drops.last and drops.dropped(line, id, state.position):
        return None, None
    rest = [row for row in rows if row.key == key_of_parts]
    return state, None if len(rest) == PARTS_AT_ONCE else _kept(rest, line, id, drops)


def newest_state(edge: Edge, contract: Contract, line: str | None, drops: Drops) -> SavedState | None:
    """Find the state of a line that was saved last; None where there is none."""
    saved = contract.saved
    if saved is None:
        return None
    known = next((one for one in saved.lines if one.line == line), None)
    if known is not None:
        return saved_state(edge, contract.run, line, known.id, drops)
    if saved.let_go == 0 and saved.dropped is None:
        return None
    if line is None:
        return next((one for one in saved_states(edge, contract, drops) if one.line is None), None)
    # Programs begin lines all the time; looking through the whole run for each would take ever longer.
    return next(_of_line(edge, contract, line, drops), None)


def _of_line(edge: Edge, contract: Contract, line: str, drops: Drops) -> Iterator[SavedState]:
    """Yield the states of a line that are kept, the one that was saved last first."""
    limit, seen = 1, 0
    while True:
        rows = edge.store.find(edge.tenant, act=line_digest(contract.run, line), limit=limit)
        for row in reversed(rows[: len(rows) - seen]):
            found = state_of(decoded(row))
            if found.position <= contract.position and not drops.dropped(line, found.id, found.position):
                yield found
        if len(rows) < limit:
            return
        limit, seen = limit * 16, len(rows)


def saved_states(
    edge: Edge, contract: Contract, drops: Drops, *, before: int | None = None
) -> Iterator[SavedState]:
    """Yield the states of a run that are kept, the newest first, of each name the one that was saved last.

    With `before` only what was saved before that position.
    """
    seen: set[tuple[str | None, str]] = set()
    upto = contract.position if before is None else min(before - 1, contract.position)
    while upto > drops.everything:
        after = max(upto - PAGE, drops.everything)
        for row in reversed(edge.store.read(edge.tenant, contract.run, after=after, upto=upto)):
            if not _is(row, StateSaved.name):
                continue
            found = state_of(decoded(row))
            if (found.line, found.id) in seen or drops.dropped(found.line, found.id, found.position):
                continue
            seen.add((found.line, found.id))
            yield found
        upto = after


def saved_parts(edge: Edge, state: SavedState, drops: Drops) -> list[SavedPart]:
    """Read what was kept of the work after a state, in the order in which it was kept."""
    rows = edge.store.find(edge.tenant, key=part_digest(state.run, state.line, state.id), limit=PARTS)
    if len(rows) == PARTS:
        raise invalid("state", f"{state.id!r} has {PARTS} parts or more, which is more than is read of one")
    return _kept(rows, state.line, state.id, drops)


def parts_of_each(edge: Edge, states: Sequence[SavedState], drops: Drops) -> list[list[SavedPart]]:
    """Read what was kept of the work after each of some states, in the order in which it was kept."""
    keys = [part_digest(one.run, one.line, one.id) for one in states]
    found: dict[bytes | None, list[StoredRow]] = {key: [] for key in keys}
    for at in range(0, len(keys), PAGE):
        for row in edge.store.find_all(edge.tenant, keys=keys[at : at + PAGE], each=PARTS_AT_ONCE):
            found[row.key].append(row)
    return [
        saved_parts(edge, one, drops)
        if len(found[key]) == PARTS_AT_ONCE
        else _kept(found[key], one.line, one.id, drops)
        for one, key in zip(states, keys, strict=True)
    ]


def _kept(rows: Iterable[StoredRow], line: str | None, id: str, drops: Drops) -> list[SavedPart]:
    found = [part_of(decoded(row)) for row in rows]
    # They may stand before their state: a program that goes on while its state is being saved finishes parts.
    return found if drops.last == 0 else [one for one in found if not drops.dropped(line, id, one.position)]


def ever_saved(edge: Edge, run: str, upto: int, *, after: int = 0) -> Iterator[SavedState | SavedPart]:
    """Yield every state and every part that was saved up to a position, the oldest first, dropped or not.

    With `after` only what was saved behind that position.
    """
    while rows := edge.store.read(edge.tenant, run, after=after, upto=upto, limit=PAGE):
        after = rows[-1].position
        for row in rows:
            if _is(row, StateSaved.name) or _is(row, StatePartSaved.name):
                found = saved_in(decoded(row))
                assert found is not None
                yield found


def saved_in(record: Record) -> SavedState | SavedPart | None:
    """Take the state or the part out of a record that was saved by it; None: none was."""
    if isinstance(record.event, StateSaved):
        return state_of(record)
    return part_of(record) if isinstance(record.event, StatePartSaved) else None


def state_id(one: SavedState | SavedPart) -> str:
    """Return the id of a state, or of the state that a part was kept after."""
    return one.id if isinstance(one, SavedState) else one.state


def _is(row: StoredRow, name: str) -> bool:
    # What a string search rules out needs no parsing.
    return name.encode() in row.record and parse(row.record)["name"] == name


def state_of(record: Record) -> SavedState:
    """Take a saved state out of its record."""
    event = record.event
    assert isinstance(event, StateSaved)
    return SavedState(
        run=record.run,
        id=event.id,
        line=event.line,
        parent=event.parent,
        position=record.position,
        at=record.at,
        digest=bytes.fromhex(event.content.digest),
        size=event.content.size,
        branch=event.branch,
        whole=event.whole,
    )


def part_of(record: Record) -> SavedPart:
    """Take what was kept of the work after a state out of its record."""
    event = record.event
    assert isinstance(event, StatePartSaved)
    return SavedPart(
        run=record.run,
        state=event.state,
        line=event.line,
        task=event.task,
        position=record.position,
        digest=bytes.fromhex(event.content.digest),
        size=event.content.size,
    )
