"""Reading saved states: one by its name, the newest, all of a run; and what was finished after one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from ledger.application.edge import Edge
from ledger.application.reading import contents_of
from ledger.application.rows import decoded
from ledger.application.state_sayings import unframed
from ledger.canonical import invalid
from ledger.codec import part_digest, state_digest
from ledger.events import StatePartSaved, StateSaved, StatesDropped
from ledger.record import Record, parse
from ledger.run.contract import Contract
from ledger.run.states import drops
from ledger.stores.base import StoredRow
from ledger.values import SavedName

PAGE = 200
PARTS = 100_000
"""More parts than this are read of no state."""


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
    """Of its content, in bytes."""
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


class Drops(NamedTuple):
    """What was dropped of the states of a run."""

    records: tuple[Record, ...] = ()
    """Each drop, the newest first."""

    def dropped(self, line: str | None, id: str, position: int) -> bool:
        """Tell whether the state that was saved at a position was dropped since."""
        name = SavedName(id=id, line=line)
        return any(record.position > position and drops(_drop(record), name) for record in self.records)


NO_DROPS = Drops()


class FoundState(NamedTuple):
    """A saved state, and what saving another on it has to say."""

    state: SavedState | None
    """None: there is none, or it was dropped."""
    seen: int
    """Position of the run when it was looked for."""
    dropped: int | None
    """Where states of the run were last dropped then."""


class StateReader:
    """Reads the states of one run, given its contract; it keeps what was dropped."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._drops = NO_DROPS

    def newest(self, contract: Contract, line: str | None) -> FoundState:
        """Find the state of a line that was saved last."""
        return self._found(contract, newest_state(self._edge, contract, line, self._dropped(contract)))

    def find(self, contract: Contract, id: str, line: str | None) -> FoundState:
        """Find a state by its name."""
        drops = self._dropped(contract)
        return self._found(contract, saved_state(self._edge, contract.run, line, id, drops))

    def all(self, contract: Contract, before: int | None) -> Iterator[SavedState]:
        """Yield the states that are kept, the newest first."""
        return saved_states(self._edge, contract, self._dropped(contract), before=before)

    def parts(self, state: SavedState) -> list[SavedPart]:
        """Read what was kept of the work after a state."""
        return saved_parts(self._edge, state)

    def contents(self, digests: Iterable[bytes]) -> dict[bytes, bytes]:
        """Read contents, verified; those that are gone are left out."""
        return {digest: unframed(content) for digest, content in contents_of(self._edge, digests).items()}

    def _dropped(self, contract: Contract) -> Drops:
        self._drops = drops = drops_of(self._edge, contract, self._drops)
        return drops

    @staticmethod
    def _found(contract: Contract, state: SavedState | None) -> FoundState:
        return FoundState(
            state, contract.position, None if contract.saved is None else contract.saved.dropped
        )


class RunStates:
    """The states that the program of a run saved. A state is read as of the moment it is asked for."""

    def __init__(self, reader: StateReader, look: Callable[[], Contract]) -> None:
        self._reader = reader
        self._look = look

    def newest(self, line: str | None = None) -> FoundState:
        """Find the state of a line that was saved last, branch or not."""
        return self._reader.newest(self._look(), line)

    def find(self, id: str, line: str | None = None) -> FoundState:
        """Find a state by its name."""
        return self._reader.find(self._look(), id, line)

    def all(self, *, before: int | None = None) -> Iterator[SavedState]:
        """Yield the states of all lines that are kept, the newest first, without their contents.

        Args:
            before: only those that were saved before this position of the run.
        """
        return self._reader.all(self._look(), before)

    def parts(self, state: SavedState) -> list[SavedPart]:
        """Read what was kept of the work after a state, in the order in which it was kept."""
        return self._reader.parts(state)

    def contents(self, digests: Iterable[bytes]) -> dict[bytes, bytes]:
        """Read contents by their digests; those that are gone are left out.

        Raises:
            IntegrityError: a content is not what was written.
        """
        return self._reader.contents(digests)


def drops_of(edge: Edge, contract: Contract, known: Drops = NO_DROPS) -> Drops:
    """Read what was dropped of a run's states, on top of what is known of it."""
    found: list[Record] = []
    place = None if contract.saved is None else contract.saved.dropped
    upto = known.records[0].position if known.records else 0
    while place is not None and place > upto:
        rows = edge.store.read(edge.tenant, contract.run, after=place - 1, limit=1)
        record = decoded(rows[0])
        found.append(record)
        place = _drop(record).previous
    return Drops((*found, *known.records)) if found else known


def saved_state(edge: Edge, run: str, line: str | None, id: str, drops: Drops) -> SavedState | None:
    """Find a state by its name; None where there is none, or it was dropped."""
    rows = edge.store.find(edge.tenant, key=state_digest(run, line, id), limit=1)
    if not rows:
        return None
    found = _state(decoded(rows[0]))
    return None if drops.dropped(line, id, found.position) else found


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
    return next((one for one in saved_states(edge, contract, drops) if one.line == line), None)


def saved_states(
    edge: Edge, contract: Contract, drops: Drops, *, before: int | None = None
) -> Iterator[SavedState]:
    """Yield the states of a run that are kept, the newest first, of each name the one that was saved last.

    With `before` only what was saved before that position.
    """
    seen: set[tuple[str | None, str]] = set()
    upto = contract.position if before is None else min(before - 1, contract.position)
    while upto > 0:
        after = max(upto - PAGE, 0)
        for row in reversed(edge.store.read(edge.tenant, contract.run, after=after, upto=upto)):
            if not _is(row, StateSaved.name):
                continue
            found = _state(decoded(row))
            if (found.line, found.id) in seen or drops.dropped(found.line, found.id, found.position):
                continue
            seen.add((found.line, found.id))
            yield found
        upto = after


def saved_parts(edge: Edge, state: SavedState) -> list[SavedPart]:
    """Read what was kept of the work after a state, in the order in which it was kept."""
    rows = edge.store.find(edge.tenant, key=part_digest(state.run, state.line, state.id), limit=PARTS)
    if len(rows) == PARTS:
        raise invalid("state", f"{state.id!r} has {PARTS} parts or more, which is more than is read of one")
    found = [_part(decoded(row)) for row in rows]
    # A state that was saved again begins anew: what was kept after the older one is of that.
    return [one for one in found if one.position > state.position]


def _is(row: StoredRow, name: str) -> bool:
    # What a string search rules out needs no parsing.
    return name.encode() in row.record and parse(row.record)["name"] == name


def _drop(record: Record) -> StatesDropped:
    assert isinstance(record.event, StatesDropped)
    return record.event


def _state(record: Record) -> SavedState:
    event = record.event
    assert isinstance(event, StateSaved)
    content = event.content
    assert content.digest is not None
    return SavedState(
        run=record.run,
        id=event.id,
        line=event.line,
        parent=event.parent,
        position=record.position,
        at=record.at,
        digest=bytes.fromhex(content.digest),
        size=content.size or 0,
        branch=event.branch,
        whole=event.whole,
    )


def _part(record: Record) -> SavedPart:
    event = record.event
    assert isinstance(event, StatePartSaved)
    content = event.content
    assert content.digest is not None
    return SavedPart(
        run=record.run,
        state=event.state,
        line=event.line,
        task=event.task,
        position=record.position,
        digest=bytes.fromhex(content.digest),
        size=content.size or 0,
    )
