"""Saving the states of threads, packed, on top of what their runs keep."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ledger import Stated
from ledger.adapters.packs import Memo, Packed, pack
from ledger.adapters.threads.held import hold_saved
from ledger.adapters.threads.knowing import note_used, stands
from ledger.adapters.threads.located import Located
from ledger.adapters.threads.naming import line_name
from ledger.adapters.threads.raw import RAW
from ledger.adapters.threads.reading import ThreadReader
from ledger.adapters.threads.repeating import is_same
from ledger.adapters.threads.threads import Entry
from ledger.errors import IntegrityError, RunIsClosed, StateMoved, UndecodableRecord

TRIES = 4


class _Said(NamedTuple):
    """A state as who saves it said it."""

    id: str
    values: Mapping[str, Any]
    head: bytes
    line: str
    parent: str | None
    whole: bool
    but: Collection[str]
    rests: bool


class ThreadStates(ThreadReader):
    """Keeps the states of threads: saves them, and finds and reads them as its base does."""

    def save(  # noqa: PLR0913 - as a state has
        self,
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
        rests: bool = False,
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
            entry: the run that a program entered, as it entered it; None: the present one.
            rests: the program waits for somebody after this, and nothing is at work.

        Said again right after, with the same values, it is where it is.

        Raises:
            Superseded: the run goes on elsewhere, in a later incarnation than the handle's.
            RunIsClosed: the run that was entered has a successor, which begins anew.
            StateMoved: another state is the newest of the line, or the parent was given up.
            InvalidInput: a value is no data; `path` says where.
        """
        said = _Said(id, values, head, line, parent, whole, but, rests)
        given = entry
        entry, opened = self.threads.writing(thread) if entry is None else entry, False
        for attempt in range(TRIES):
            is_last = attempt + 1 == TRIES
            with entry.mutex:
                memo = entry.memo
            try:
                seen = self._goes_on(entry, line, parent, seen, memo.dropped, opened=opened)
                return entry, self._saved(entry, memo, said, seen)
            except StateMoved as moved:
                if moved.dropped != memo.dropped and not is_last:
                    with entry.mutex:
                        entry.memo = Memo(moved.dropped)
                    continue
                newest, position = self.look(thread, line)
                if newest is not None and (newest.state.id, newest.state.parent) == (id, parent):
                    if self._is_same(newest, values, head):
                        return newest.entry, position
                    raise
                if seen is None or is_last or (None if newest is None else newest.state.id) != parent:
                    raise
                # So many other lines moved that nobody knew without looking.
                seen = position
            except RunIsClosed as closed:
                if is_last or (given is not None and closed.evidence.get("successor")):
                    raise
                entry, opened = self.threads.open(thread), True
        raise AssertionError("a try ends by returning or raising")

    def _saved(self, entry: Entry, memo: Memo, said: _Said, seen: int | None) -> int:
        """Save a state on top of what is known to be stored, and return where it stands."""
        named = line_name(said.line)
        with entry.mutex:
            known = memo.only(named, said.but) if said.whole else memo
            packed = pack(said.values, said.head, self.codec, memo=known, line=named)
        stated = entry.run.save_state(
            said.id,
            packed.content,
            line=named,
            parent=said.parent,
            branch=seen is None,
            seen=seen or None,
            dropped=memo.dropped,
            whole=packed.whole,
            rests=said.rests,
        )
        self._note(entry, named, said.id, packed, memo, stated)
        return stated.position

    def _note(
        self, entry: Entry, named: str | None, id: str, packed: Packed, memo: Memo, stated: Stated
    ) -> None:
        """Note what is stored now."""
        with entry.mutex:
            for record in stated.records:
                digest = bytes.fromhex(record.event.content.digest)  # type: ignore[attr-defined]
                packed.note(memo, named, digest)
                note_used(memo, [(named, name) for name in packed.lists])
                hold_saved(entry, digest, packed)
            stands(entry, named, id, memo.dropped)
        self.threads.memory.used(entry)
        if self._nearby is not None:
            self._nearby.stored(entry, named, id, packed.content)

    def _goes_on(
        self,
        entry: Entry,
        line: str,
        parent: str | None,
        seen: int | None,
        dropped: int | None,
        *,
        opened: bool,
    ) -> int | None:
        """Check that what a state goes on from was not given up, where the run that keeps it cannot tell.

        The run tells of a state of its own that was seen to be the newest of its line, and refuses who does
        not know where states were last dropped.

        Args:
            entry: the run that the state is saved in.
            line: the line.
            parent: the state that it goes on from.
            seen: as in `save`.
            dropped: where states of the run are known to have been dropped last.
            opened: the run that it was to be saved in was closed.

        Returns:
            `seen`, of this run.

        Raises:
            StateMoved: it was given up, or another state is the newest of the line.
        """
        if opened and seen is not None:
            return self._still(entry, line, parent, dropped)
        if parent is None:
            return seen
        with entry.mutex:
            if entry.stands.get(line_name(line)) == (parent, dropped):
                return seen
        if seen is not None:
            return seen if entry.generation == 1 else self._still(entry, line, parent, dropped)
        if self.find(entry.thread, parent, line) is None and self.was_here(entry.thread, parent, line):
            raise _gone_on(entry, f"{parent!r} was given up", dropped)
        return None

    def _is_same(self, found: Located, values: Mapping[str, Any], head: bytes) -> bool:
        """Tell whether a state that is saved is the one that is there."""
        try:
            stored = ThreadReader(self.threads, RAW, nearby=self._nearby).read(found)
        except (IntegrityError, UndecodableRecord, StateMoved):
            return False
        return is_same(values, head, self.codec, stored)

    def _still(self, entry: Entry, line: str, parent: str | None, dropped: int | None) -> int:
        """Return where a run of a thread stands, if the parent is still the newest state of its line.

        Raises:
            StateMoved: another one is.
        """
        position = entry.run.contract.position
        newest = self.newest(entry.thread, line)
        if (None if newest is None else newest.state.id) == parent:
            return position
        raise _gone_on(entry, f"{parent!r} is not the newest state any more", dropped)


def _gone_on(entry: Entry, why: str, dropped: int | None) -> StateMoved:
    return StateMoved(
        f"in thread {entry.thread!r:.200} {why}: look again",
        run=entry.run.id,
        expected=0,
        actual=entry.run.position,
        dropped=dropped,
    )
