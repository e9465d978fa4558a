"""Finding and reading the states of threads, on top of what their runs keep."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby, islice

from ledger.adapters.packs import Codec, Fetch, Memo, Unpacked, unpack
from ledger.adapters.threads.held import held_in, hold_read
from ledger.adapters.threads.knowing import note_learnt, stands
from ledger.adapters.threads.located import Located, Nearby, states_in
from ledger.adapters.threads.naming import line_name, run_name
from ledger.adapters.threads.raw import RAW, made_of
from ledger.adapters.threads.threads import Entry, Threads
from ledger.application.ledger import edge_of
from ledger.application.saved_states import SavedPart, was_saved
from ledger.application.states import LookedUp
from ledger.errors import IntegrityError, StateMoved, UndecodableRecord


class ThreadReader:
    """Finds and reads the states of threads. A line is named by any text; the main one by the empty text."""

    def __init__(self, threads: Threads, codec: Codec, *, nearby: Nearby | None = None) -> None:
        self.threads = threads
        self.codec = codec
        self._nearby = nearby

    def newest(self, thread: str, line: str = "") -> Located | None:
        """Find the state of a line that was saved last; None where there is none."""
        return self.look(thread, line)[0]

    def look(self, thread: str, line: str = "") -> tuple[Located | None, int]:
        """Find the state of a line that was saved last, and where the thread's present run stood then.

        Where there is none, that is what saving the first state says to have seen; 0: there is no run.
        """
        seen = None
        for entry, (found, _, parts) in self._looked(thread, None, line_name(line)):
            if seen is None:
                # The next state is saved in the present run, whichever keeps this one.
                seen = found.seen
                if found.state is not None:
                    with entry.mutex:
                        stands(entry, found.state.line, found.state.id, found.dropped)
            if found.state is not None:
                return Located(entry, found.state, seen, found.dropped, parts), seen
        return None, seen or 0

    def find(self, thread: str, id: str, line: str = "") -> Located | None:
        """Find a state by its name; None where there is none."""
        for entry, (found, _, parts) in self._looked(thread, id, line_name(line)):
            if found.state is not None:
                return Located(entry, found.state, found.seen, found.dropped, parts)
        return None

    def was_here(self, thread: str, id: str, line: str = "") -> bool:
        """Tell whether a thread ever had a state of this name, given up or not."""
        current = self.threads.current(thread)
        runs = [run_name(thread, 1 + at) for at in range(0 if current is None else current.generation)]
        return was_saved(edge_of(self.threads.ledger), runs, line_name(line), id)

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
        own = self._own(found, learn) if names is None else self._own(found, learn)[:1]
        return self._read(found, self._fetching(found, own), names, learn)

    def read_all(
        self, found: Located, *, names: Collection[str] | None = None, learn: bool = False
    ) -> tuple[Unpacked, list[tuple[SavedPart, bytes | None]]]:
        """Read a state, and what was kept in its run of the work after it; None: such a content is gone.

        It asks the store less often than reading one after the other.

        Raises:
            IntegrityError, UndecodableRecord, StateMoved: as `read` does.
        """
        parts = self.parts(found) if found.parts is None else found.parts
        digests = [part.digest for part in parts]
        own = self._own(found, learn) if names is None else self._own(found, learn)[:1]
        fetch = self._fetching(found, [*own, *digests])
        unpacked = self._read(found, fetch, names, learn)
        contents = fetch(digests)
        return unpacked, [(part, contents.get(part.digest)) for part in parts]

    def together(self, found: Sequence[Located], *, parts: bool) -> Iterator[Located]:
        """Yield states that are about to be read, with what they are made of: it is asked for at once.

        Args:
            found: the states: few at a time, since what they are made of is held.
            parts: what was kept of the work after each, too.
        """
        for _, some in groupby(found, key=lambda one: one.entry.run.id):
            group = list(some)
            entry, wanted = group[0].entry, {one.state.digest for one in group}
            if parts:
                kept = entry.run.states.parts_of_each([one.state for one in group])
                group = [one._replace(parts=mine) for one, mine in zip(group, kept, strict=True)]
                wanted.update(part.digest for mine in kept for part in mine)
                wanted.update(digest for one in group for digest in self._own(one, learn=False))
            try:
                contents = dict(self._contents(entry, wanted))
            except IntegrityError:
                contents = {}  # of which it is is told where that is read, and those before it are
            for one in group:
                yield one._replace(contents=contents)

    def _own(self, found: Located, learn: bool) -> list[bytes]:
        """List the contents that a state is made of, its own first, as far as is known; none: it is held."""
        entry, digest = found.entry, found.state.digest
        with entry.mutex:
            if held_in(entry, digest, learn=learn) is not None:
                return []
            return [digest, *entry.memo.rests.get(digest, ())]

    def _fetching(self, found: Located, at_once: Collection[bytes]) -> Fetch:
        """Read some contents at once, and return what reads others as they are missing."""
        entry, known = found.entry, {} if found.contents is None else found.contents
        wanted = set(at_once).difference(known)
        if wanted:
            known.update(self._contents(entry, wanted))

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
        with entry.mutex:
            held = held_in(entry, state.digest, learn=learn)
        if held is not None:
            return made_of(held, self.codec, names)
        content = fetch([state.digest]).get(state.digest)
        if content is None:
            raise IntegrityError(
                f"the content of state {state.id!r} of {state.run!r} is gone", digest=state.digest.hex()
            )
        learnt = Memo(found.dropped) if learn else None
        raw = unpack(state.digest, content, fetch, RAW, names=names, memo=learnt, line=state.line)
        unpacked = made_of(raw, self.codec, names)
        if learnt is not None:
            note_learnt(entry, learnt)
            self.threads.memory.used(entry)
            if names is None:
                with entry.mutex:
                    hold_read(entry, state.digest, raw)
        return unpacked

    def parts(self, found: Located) -> list[SavedPart]:
        """Read what was kept of the work after a state."""
        return found.entry.run.states.parts(found.state)

    def later(self, found: Located) -> list[Entry]:
        """List the runs after the one that keeps a state, the oldest first: they may keep work after it."""
        last, first = self.threads.last_seen(found.entry.thread), found.entry.generation
        if last is None or last.generation <= first:
            return []
        return [entry for entry in self.threads.past(last) if entry.generation > first][::-1]

    def parts_in(self, entry: Entry, found: Located) -> list[tuple[SavedPart, bytes | None]]:
        """Read what was kept in a later run of the work after a state; None: such a content is gone."""
        return self.parts_in_each(entry, [found])[0]

    def parts_in_each(
        self, entry: Entry, found: Sequence[Located]
    ) -> list[list[tuple[SavedPart, bytes | None]]]:
        """Read what was kept in a later run of the work after each of some states of one run, at once."""
        states, first = entry.run.states, found[0].state
        states.find(first.id, first.line)  # so that what was given up is known
        parts = states.parts_of_each([one.state._replace(run=entry.run.id) for one in found])
        digests = {part.digest for some in parts for part in some}
        contents = states.contents(digests) if digests else {}
        return [[(part, contents.get(part.digest)) for part in some] for some in parts]

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
