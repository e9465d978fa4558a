"""Giving up saved states of a run, and freeing the contents that nothing needs any more.

What goes is said by an event before any content is deleted, so that what is cut short has left nothing
unexplained: asked again, also without a state to give up, it frees what is left. What a state that stays
rests on is never freed: each such state is read before anything is said, and none of what it was read with
goes. A state that is saved meanwhile rests on none of it either: saving says where states were last dropped,
and is refused where that is not so any more.

Memory holds a line for each state and each part that the run ever saved, and some contents.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

from ledger.application.edge import Edge
from ledger.application.expiring import BATCH, Progress, Tally, for_people
from ledger.application.keeping import shown
from ledger.application.ledger import Ledger, edge_of
from ledger.application.own_stream import STREAM
from ledger.application.reading import contents_of
from ledger.application.runs import Run
from ledger.application.state_sayings import KIND, unframed
from ledger.application.states import SavedPart, SavedState, drops_of, ever_saved, state_id
from ledger.canonical import invalid
from ledger.errors import IntegrityError, Superseded, UndecodableRecord
from ledger.run.contract import Contract
from ledger.stores.base import BlobRow
from ledger.values import Actor, SavedName, write_time

__all__ = ["Fetch", "Freed", "Progress", "Resting", "check_may_free", "give_up", "stored"]

Fetch = Callable[[Collection[bytes]], Mapping[bytes, bytes]]
"""Reads contents by their digests; those that are gone are left out."""
T = TypeVar("T")
_CACHED = 32 * 1024 * 1024
"""Bytes of contents that are held, since states rest on the same."""


class Resting(Protocol):
    """Knows what states rest on: whoever wrote their contents."""

    def needed(self, state: SavedState, content: bytes, fetch: Fetch) -> Collection[bytes]:
        """List the contents that have to be kept for a state."""

    def read(self, state: SavedState, content: bytes, fetch: Fetch) -> object:
        """Read a state, all of it, through `fetch`; raise where it cannot be read."""


@dataclass(slots=True)
class Freed:
    """What was given up and freed, or would be."""

    dry_run: bool = False
    states: int = 0
    """States that were given up."""
    contents: int = 0
    """Contents that were freed: of states, and of what was kept of the work after them."""
    bytes: int = 0
    """Bytes of these."""
    events: int = 0
    """Events that were written to say so."""
    looked: int = 0
    """Contents that were looked at for this."""

    def add(self, other: Freed) -> None:
        """Count what another one counted, too."""
        self.states += other.states
        self.contents += other.contents
        self.bytes += other.bytes
        self.events += other.events
        self.looked += other.looked


def give_up(
    ledger: Ledger,
    run: str,
    names: Iterable[SavedName] | None,
    *,
    upto: int | None,
    by: str,
    reason: str,
    resting: Resting | None,
    actor: Actor | None = None,
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Freed:
    """Give up states of a run, and free the contents that no state needs that stays.

    Args:
        ledger: whose run.
        run: the run.
        names: the states; none of them: only what was given up before is freed, where it is still here;
            None: all states.
        upto: position of the run at which it was decided what goes: what is saved after it stays.
        by: who decided it, `kind:name`; no agent.
        reason: why, in words.
        resting: knows what states rest on; None: they are all whole.
        actor: who writes; None: whoever the ledger is opened for.
        dry_run: change nothing, say what would go.
        progress: called after each batch of contents.

    Raises:
        NotForAgents: an agent writes, or is said to have decided it.
        RunNotFound: there is no such run.
        InvalidInput: a state that stays rests on others, and nobody says on which.
        IntegrityError, UndecodableRecord: a state that stays cannot be read; nothing was given up.
        StoreBusy: on PostgreSQL, somebody's open transaction keeps back what was just written; what was
            given up is, and asked again its contents are freed.
        StoreUnavailable: on PostgreSQL, with the reason `no_privilege`, where this login is not the owner of
            the ledger: writers may append, and not delete. Nothing was written then.
    """
    check_may_free(ledger, by=by, actor=actor, dry_run=dry_run)
    actor = edge_of(ledger).actor if actor is None else actor
    counted = Freed(dry_run)
    work = _Work(ledger, run, actor, resting, counted, progress)
    asked = None if names is None else frozenset(names)
    found = work.look(asked, upto)
    if dry_run:
        counted.states += found.states
        work.free(found, since=None)
        return counted
    if found.states or found.names:
        counted.states += found.states
        work.say(found, upto, by, reason, everything=names is None)
    if found.goes or found.states:
        since = shown(work.edge)
        # Looked at again: what was saved, or dropped by others, before the event stood.
        work.free(work.look(frozenset(), upto), since)
    return counted


def check_may_free(ledger: Ledger, *, by: str, actor: Actor | None = None, dry_run: bool = False) -> None:
    """Check that who writes may free contents, before an event says that something goes.

    Raises:
        NotForAgents: an agent writes, or is said to have decided it.
        StoreUnavailable: with the reason `no_privilege` where this login may not delete contents, and it is
            not only asked what would go.
    """
    edge = edge_of(ledger)
    for_people(edge.actor if actor is None else actor, by, "state.drop")
    if not dry_run:
        edge.store.drop_blobs(edge.tenant, (), since=edge.store.end(newest=True), but=STREAM)


def stored(ledger: Ledger, run: str) -> Tally:
    """Count the contents that are here of what a run ever saved, given up or not, and their bytes."""
    edge = edge_of(ledger)
    digests = list({one.digest for one in ever_saved(edge, run, ledger.run(run).contract.position)})
    found = Tally()
    for batch in _batches(digests):
        for row in edge.store.blob_rows(edge.tenant, batch):
            if row.kind == KIND:
                found = found.with_one(row.size)
    return found


class _Found(NamedTuple):
    """What a run holds, and what of it goes."""

    states: int
    """States that are given up now."""
    names: list[SavedName]
    """All that is named as given up now."""
    stays: list[SavedName]
    goes: list[bytes]
    """Contents that nothing needs that stays, by digest."""


class _Work:
    """One run of which states are given up."""

    def __init__(
        self,
        ledger: Ledger,
        run: str,
        actor: Actor,
        resting: Resting | None,
        freed: Freed,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._ledger = ledger
        self._actor = actor
        self._resting = resting
        self._freed = freed
        self._progress = progress
        self.edge = edge_of(ledger)
        self._run: Run = ledger.run(run, actor=actor)
        self._contents = _Contents(self.edge, run)
        self._needed: set[bytes] = set()
        """Contents that states need that stay."""
        self._listed: set[bytes] = set()
        """States of which they are listed."""
        self._read: set[bytes] = set()
        """States that were read without what goes."""

    # --- what goes --------------------------------------------------------------------------------

    def look(self, asked: frozenset[SavedName] | None, upto: int | None) -> _Found:
        """Find out what goes when the states that are asked for are given up; None: all of them.

        Every state that stays is read, without what goes.
        """
        for _ in range(self.edge.tries):
            contract = self._run.contract
            try:
                return self._look(contract, asked, upto)
            except (IntegrityError, UndecodableRecord):
                # What others gave up meanwhile, and freed, was to be read no more.
                if self._run.contract.saved == contract.saved:
                    raise
        return self._look(self._run.contract, asked, upto)

    def _look(self, contract: Contract, asked: frozenset[SavedName] | None, upto: int | None) -> _Found:
        drops = drops_of(self.edge, contract)
        last = contract.position if upto is None else upto
        kept: list[SavedState | SavedPart] = []
        gone: dict[bytes, None] = {}
        for one in ever_saved(self.edge, self._run.id, contract.position):
            if drops.dropped(one.line, state_id(one), one.position):
                gone[one.digest] = None
            else:
                kept.append(one)
        alive = {name_of(one) for one in kept if isinstance(one, SavedState)}
        names: dict[SavedName, None] = {}
        stays: list[SavedState | SavedPart] = []
        for one in kept:
            name = name_of(one)
            # What was kept of the work after a state when that had been given up goes with the next.
            late = bool(asked) and name not in alive and drops.dropped(name.line, name.id, 1)
            if one.position <= last and (asked is None or name in asked or late):
                names[name] = None
                gone[one.digest] = None
            else:
                stays.append(one)
        goes = self._unneeded(gone, stays) if gone else []
        given = sum(name in alive for name in names)
        return _Found(given, list(names), list(dict.fromkeys(map(name_of, stays))), goes)

    def _unneeded(self, gone: Iterable[bytes], stays: Sequence[SavedState | SavedPart]) -> list[bytes]:
        """List what of some contents is here and not needed by what stays, which is read for this."""
        here = [digest for digest in gone if digest not in self._needed]
        here = [row.digest for batch in _batches(here) for row in self._rows(batch)]
        if not here:
            return []
        states = [one for one in stays if isinstance(one, SavedState)]
        self._needed.update(one.digest for one in stays)
        for state in states:
            if state.digest not in self._listed:
                self._needed.update(self._rests_on(state))
                self._listed.add(state.digest)
        goes = {digest for digest in here if digest not in self._needed}
        for state in states:
            if state.digest not in self._read:
                self._read_without(state, goes)
                self._read.add(state.digest)
        return sorted(goes - self._needed)

    def _rests_on(self, state: SavedState) -> Collection[bytes]:
        if self._resting is None:
            if not state.whole:
                raise invalid("resting", f"state {state.id!r} rests on others: say on which")
            return ()
        with _told(state):
            return self._resting.needed(state, self._contents.one(state), self._contents.fetch)

    def _read_without(self, state: SavedState, goes: Collection[bytes]) -> None:
        """Read a state as it is read once these contents are gone; what it is read with never goes."""

        def fetch(digests: Collection[bytes]) -> Mapping[bytes, bytes]:
            self._needed.update(digest for digest in digests if digest not in goes)
            return self._contents.fetch([digest for digest in digests if digest not in goes])

        with _told(state):
            content = self._contents.one(state)
            if self._resting is not None:
                self._resting.read(state, content, fetch)

    # --- saying it, and freeing -------------------------------------------------------------------

    def say(self, found: _Found, upto: int | None, by: str, reason: str, *, everything: bool) -> None:
        """Write the events: one where everything goes or few stay, else each names some states."""
        if everything:
            self._drop(by=by, reason=reason, all=True, upto=upto)
        elif len(found.names) > BATCH >= len(found.stays) > 0:
            # Where none stays, saying that all goes would say more: that nothing before the run is read.
            self._drop(by=by, reason=reason, all=True, kept=found.stays, upto=upto)
        else:
            for batch in _batches(found.names):
                self._drop(by=by, reason=reason, states=batch, upto=upto)

    def _drop(
        self,
        *,
        by: str,
        reason: str,
        upto: int | None,
        all: bool = False,
        kept: Sequence[SavedName] = (),
        states: Sequence[SavedName] = (),
    ) -> None:
        for attempt in range(self.edge.tries):
            try:
                stated = self._run.drop_states(
                    by=by, reason=reason, states=states, all=all, kept=kept, upto=upto
                )
            except Superseded:  # it was resumed, which changes nothing of its states
                if attempt + 1 == self.edge.tries:
                    raise
                self._run = self._ledger.run(self._run.id, actor=self._actor)
            else:
                self._freed.events += len(stated.records)
                return

    def free(self, found: _Found, since: int | None) -> None:
        """Delete what goes, in batches; None: only count it."""
        for batch in _batches(found.goes):
            rows = self._rows(batch)
            sizes = {row.place: row.size for row in rows}
            deleted = list(sizes)
            if since is not None:
                deleted = self.edge.store.drop_blobs(self.edge.tenant, deleted, since=since, but=STREAM)
            self._freed.looked += len(batch)
            self._freed.contents += len(deleted)
            self._freed.bytes += sum(sizes[place] for place in deleted)
            if self._progress is not None:
                self._progress(Progress(self._freed.looked, self._freed.contents))

    def _rows(self, digests: Sequence[bytes]) -> list[BlobRow]:
        """Look up which contents are here, and not wanted until a time to come."""
        now = write_time(self.edge.now())
        rows = self.edge.store.blob_rows(self.edge.tenant, digests)
        return [row for row in rows if row.kind == KIND and (row.expires_at is None or row.expires_at <= now)]


class _Contents:
    """Contents of the states of a run; those that were read last are held."""

    def __init__(self, edge: Edge, run: str) -> None:
        self._edge = edge
        self._run = run
        self._held: dict[bytes, bytes] = {}
        self._size = 0

    def fetch(self, digests: Collection[bytes]) -> Mapping[bytes, bytes]:
        wanted = [digest for digest in digests if digest not in self._held]
        if not wanted:
            return {digest: self._held[digest] for digest in digests}
        found = {
            digest: unframed(self._run, content)
            for digest, content in contents_of(self._edge, wanted).items()
        }
        found.update((digest, self._held[digest]) for digest in digests if digest in self._held)
        if self._size > _CACHED:
            self._held.clear()
            self._size = 0
        self._size += sum(len(found[digest]) for digest in wanted if digest in found)
        self._held.update(found)
        return found

    def one(self, state: SavedState) -> bytes:
        content = self.fetch([state.digest]).get(state.digest)
        if content is None:
            digest = state.digest.hex()
            raise IntegrityError(f"the content of state {state.id!r} of {self._run!r} is gone", digest=digest)
        return content


@contextmanager
def _told(state: SavedState) -> Iterator[None]:
    """Tell which state it is that cannot be read."""
    try:
        yield
    except (UndecodableRecord, IntegrityError) as error:
        raise type(error)(
            f"state {state.id!r} of {state.run!r} would stay and cannot be read, so nothing goes; drop it by "
            f"name, too: {error}",
            **{**error.data, "run": state.run, "state": state.id, "position": state.position},
        ) from error


def name_of(one: SavedState | SavedPart) -> SavedName:
    """Name a state, or the state that a part is kept after."""
    return SavedName.unchecked({"id": state_id(one), "line": one.line})


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[at : at + BATCH] for at in range(0, len(items), BATCH))
