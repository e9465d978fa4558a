"""Saving and reading the states of threads, packed, on top of what their runs keep."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

from ledger.adapters.packs import Codec, Fetch, Memo, Unpacked, pack, unpack
from ledger.adapters.packs.memo import PIECES_KNOWN
from ledger.adapters.threads.naming import line_name
from ledger.adapters.threads.threads import Entry, Threads
from ledger.application.states import LookedUp, SavedPart, SavedState
from ledger.errors import IntegrityError, RunIsClosed, StateMoved, UndecodableRecord

TRIES = 4
LISTS_KNOWN = 256
"""Lists of a run of which it is known where their elements are: those that were saved or read last. A program
may begin lines without end."""


class Located(NamedTuple):
    """A state of a thread, and the run that keeps it."""

    entry: Entry
    state: SavedState
    seen: int
    """Position of the run when the state was looked for; of the newest state of a line it is that of the
    thread's present run: saving says it, to go on from there."""
    dropped: int | None
    """Where states of the run were last dropped then."""
    parts: list[SavedPart] | None = None
    """What was kept of the work after it; None: `ThreadStates.parts` tells."""


class Nearby(Protocol):
    """Has contents nearer than the ledger, or gets them there; which state is the newest it never says."""

    def contents(self, entry: Entry, digests: Collection[bytes]) -> Mapping[bytes, bytes]:
        """Read contents by their digests, verified; those that are gone are left out.

        Raises:
            IntegrityError: a content is not what was written.
        """
        rests: bool = False,

    def stored(self, entry: Entry, line: str | None, id: str, content: bytes) -> None:
        """Take note of a content that the ledger has stored."""


class ThreadStates:
    """Keeps the states of threads. A line is named by any text; the main one by the empty text."""

    def __init__(self, threads: Threads, codec: Codec, *, nearby: Nearby | None = None) -> None:
        self.threads = threads
        self.codec = codec
        self._nearby = nearby

    def save(
        self,
            rests: the program waits for somebody after this, and nothing is at work.

        Said again right after, with the same values, it is where it is.
        thread: str,
        id: str,
        values: Mapping[str, Any],
        head: bytes,
        *,
        line: str = "",
        parent: str | None = None,
        seen: int | None = None,
        whole: bool = False,
        but: Collection[str] = (),
        entry: Entry | None = None,
    ) -> tuple[Entry, int]:
        """Save a state; return the run that keeps it, and the position where it stands.

        Args:
            thread: the thread; its first state opens its run, and so does the first after one was closed.
            id: names the state on its line.
            values: its values; lists are stored by element.
            head: what stands beside the values.
            line: the line.
            parent: the state that it goes on from.
            seen: position of the run at which the parent was seen to be the newest of its line; None: it is a
                branch, which may go on from any state.
            whole: refer to no earlier content.
            but: lists that refer to what is stored of them all the same.
                    rests=rests,
            entry: the run that a program entered, as it entered it; None: the present one.

        Raises:
            Superseded: the run goes on elsewhere, in a later incarnation than the handle's.
            RunIsClosed: the run that was entered has a successor, which begins anew.
            StateMoved: another state is the newest of the line.
            InvalidInput: a value is no data; `path` says where.
        """
        named, given = line_name(line), entry
        entry = self.threads.writing(thread) if entry is None else entry
        for attempt in range(TRIES):
            with entry.mutex:
                memo = entry.memo
                known = memo.only(named, but) if whole else memo
                packed = pack(values, head, self.codec, memo=known, line=named)
            try:
                stated = entry.run.save_state(
                    id,
                    packed.content,
                    line=named,
                    parent=parent,
                    branch=seen is None,
                    seen=seen or None,
                    dropped=memo.dropped,
                    whole=packed.whole,
                )
            except StateMoved as moved:
                if moved.dropped == memo.dropped or attempt + 1 == TRIES:
                    raise
                with entry.mutex:
                    entry.memo = Memo(moved.dropped)
            except RunIsClosed as closed:
                if attempt + 1 == TRIES or (given is not None and closed.evidence.get("successor")):
                    raise
                entry = self.threads.open(thread)
                if seen is not None:
                    seen = self._still(thread, line, parent, entry)
            else:
                for record in stated.records:
                    digest = record.event.content.digest  # type: ignore[attr-defined]
                    with entry.mutex:
                        packed.note(memo, named, bytes.fromhex(digest))
                        _used(memo, [(named, name) for name in packed.lists])
                self.threads.memory.used(entry)
                if self._nearby is not None:
                    self._nearby.stored(entry, named, id, packed.content)
                return entry, stated.position
        raise AssertionError("a try ends by returning or raising")

    def newest(self, thread: str, line: str = "") -> Located | None:
        """Find the state of a line that was saved last; None where there is none."""
        seen = None
        for entry, (found, _, parts) in self._looked(thread, None, line_name(line)):
            # The next state is saved in the present run, whichever keeps this one.
            seen = found.seen if seen is None else seen
            if found.state is not None:
                return Located(entry, found.state, seen, found.dropped, parts)
        return None

    def find(self, thread: str, id: str, line: str = "") -> Located | None:
        """Find a state by its name; None where there is none."""
        for entry, (found, _, parts) in self._looked(thread, id, line_name(line)):
            if found.state is not None:
                return Located(entry, found.state, found.seen, found.dropped, parts)
        return None

    def all(self, thread: str) -> Iterator[Located]:
        """Yield the states of a thread, of all lines, the newest first."""
        seen: set[tuple[str | None, str]] = set()
        for entry in self._past(thread):
            for found in states_in(entry):
                # A name that was used again in a later run is that of the newer state.
                if (place := (found.state.line, found.state.id)) not in seen:
                    seen.add(place)
                    yield found

    def read(self, found: Located, *, names: Collection[str] | None = None, learn: bool = False) -> Unpacked:
        """Read a state: all of its values, or those that are named.

        Args:
            found: the state.
            names: only these values.
            learn: note what is stored, so that the next state on it stores only what is new.

        Raises:
            IntegrityError: its content is gone, or is not what was written.
            UndecodableRecord: it cannot be read, or what it rests on is gone.
            StateMoved: that may be since states were given up after it was found: look for it again.
        """
        return self._read(found, self._fetching(found, () if names is not None else None), names, learn)

    def read_all(
        self, found: Located, *, learn: bool = False
    ) -> tuple[Unpacked, list[tuple[SavedPart, bytes | None]]]:
        """Read a state, and what was kept in its run of the work after it; None: such a content is gone.

        It asks the store less often than reading one after the other.

        Raises:
            IntegrityError, UndecodableRecord, StateMoved: as `read` does.
        """
        parts = self.parts(found) if found.parts is None else found.parts
        fetch = self._fetching(found, None, [part.digest for part in parts])
        unpacked = self._read(found, fetch, None, learn)
        contents = fetch([part.digest for part in parts])
        return unpacked, [(part, contents.get(part.digest)) for part in parts]

    def read_each(
        self, found: Sequence[Located], names: Collection[str]
    ) -> Iterator[tuple[Located, Unpacked, list[tuple[SavedPart, bytes | None]]]]:
        """Read some values of states of one run, with what was kept of the work after each.

        What all of them are made of is asked for at once: give few at a time.

        Raises:
            IntegrityError, UndecodableRecord, StateMoved: as `read` does.
        """
        if not found:
            return
        entry = found[0].entry
        parts = [self.parts(one) if one.parts is None else one.parts for one in found]
        digests = {one.state.digest for one in found}
        fetch = self._fetching(found[0], digests, [part.digest for some in parts for part in some])
        for one, some in zip(found, parts, strict=True):
            assert one.entry is entry
            contents = fetch([part.digest for part in some])
            unpacked = self._read(one, fetch, names, learn=False)
            yield one, unpacked, [(part, contents.get(part.digest)) for part in some]

    def _fetching(
        self, found: Located, rests: Collection[bytes] | None, also: Collection[bytes] = ()
    ) -> Fetch:
        """Read a state's own content at once with others, and return what reads those that are missing."""
        entry, digest = found.entry, found.state.digest
        if rests is None:
            with entry.mutex:
                rests = entry.memo.rests.get(digest, ())
        known = dict(self._contents(entry, {digest, *rests, *also}))

        def fetch(digests: Collection[bytes]) -> Mapping[bytes, bytes]:
            missing = [one for one in digests if one not in known]
            if missing:
                known.update(self._contents(entry, missing))
            return {one: known[one] for one in digests if one in known}

        return fetch

    def _read(self, found: Located, fetch: Fetch, names: Collection[str] | None, learn: bool) -> Unpacked:
        try:
            return self._unpacked(found, fetch, names, learn)
        except (IntegrityError, UndecodableRecord) as error:
            contract = found.entry.run.contract
            dropped = None if contract.saved is None else contract.saved.dropped
            if dropped == found.dropped:
                raise
            # What was given up since it was found may be freed.
            raise StateMoved(
                f"states of {contract.run!r} were given up while {found.state.id!r} was read: look again",
                run=contract.run,
                expected=found.seen,
                actual=contract.position,
                dropped=dropped,
            ) from error

    def _unpacked(self, found: Located, fetch: Fetch, names: Collection[str] | None, learn: bool) -> Unpacked:
        entry, state = found.entry, found.state
        content = fetch([state.digest]).get(state.digest)
        if content is None:
            raise IntegrityError(
                f"the content of state {state.id!r} of {state.run!r} is gone", digest=state.digest.hex()
            )
        learnt = Memo(found.dropped) if learn else None
        unpacked = unpack(
            state.digest,
            content,
            fetch,
            self.codec,
            names=names,
            memo=learnt,
            line=state.line,
        )
        if learnt is not None:
            _learn(entry, learnt)
            self.threads.memory.used(entry)
        return unpacked

    def parts(self, found: Located) -> list[SavedPart]:
        """Read what was kept of the work after a state."""
        return found.entry.run.states.parts(found.state)

    def _looked(self, thread: str, id: str | None, line: str | None) -> Iterator[tuple[Entry, LookedUp]]:
        """Look a state up in one run of a thread after another, the newest first."""
        known = self.threads.last_seen(thread)
        entries = None
        if known is not None:
            # Most often it still is the newest, and looking the state up tells that, too.
            looked = known.run.states.look_up(id, line)
            if not looked.closed:
                yield known, looked
                entries = islice(self.threads.past(known), 1, None)
        for entry in self._past(thread) if entries is None else entries:
            yield entry, entry.run.states.look_up(id, line)

    def _past(self, thread: str) -> Iterator[Entry]:
        current = self.threads.current(thread)
        return iter(()) if current is None else self.threads.past(current)

    def _contents(self, entry: Entry, digests: Collection[bytes]) -> Mapping[bytes, bytes]:
        if self._nearby is None:
            return entry.run.states.contents(digests)
        return self._nearby.contents(entry, digests)

    def _still(self, thread: str, line: str, parent: str | None, entry: Entry) -> int:
        """Return where the thread's next run stands, if the parent is still the newest state of its line.

        Raises:
            StateMoved: another one is.
        """
        position = entry.run.contract.position
        newest = self.newest(thread, line)
        if (None if newest is None else newest.state.id) == parent:
            return position
        raise StateMoved(
            f"the run of thread {thread!r:.200} was closed, and {parent!r} is not its newest state any more",
            run=entry.run.id,
            expected=0,
            actual=position,
            dropped=None,
        )


def _learn(entry: Entry, learnt: Memo) -> None:
    """Add what was learnt by reading to what is known of a run, which others save to at the same time."""
    with entry.mutex:
        if entry.memo.dropped == learnt.dropped:
            entry.memo.lists.update(learnt.lists)
            entry.memo.pieces.update(learnt.pieces)
            for digest, others in learnt.rests.items():
                entry.memo.refers(digest, others)
            _used(entry.memo, learnt.lists)
        elif (entry.memo.dropped or 0) < (learnt.dropped or 0):
            entry.memo = learnt


def _used(memo: Memo, lists: Collection[tuple[str | None, str]]) -> None:
    """Note that lists were used just now, and let go of what is too much."""
    for place in lists:
        memo.lists[place] = memo.lists.pop(place)
    for place in list(memo.lists)[:-LISTS_KNOWN]:
        del memo.lists[place]
    while len(memo.pieces) > PIECES_KNOWN:
        memo.pieces.popitem(last=False)


def states_in(entry: Entry) -> Iterator[Located]:
    """Yield the states that one run of a thread keeps, of all lines, the newest first."""
    contract = entry.run.contract
    dropped = None if contract.saved is None else contract.saved.dropped
    for state in entry.run.states.all():
        yield Located(entry, state, contract.position, dropped)
