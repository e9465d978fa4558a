"""Checkpoints in a ledger: the states of a thread's runs."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from ledger import Actor, Ledger, Resumption, Run, Runtime
from ledger.adapters.checkpointer.backend import Cache, New, Stored
from ledger.adapters.checkpointer.codec import DataCodec
from ledger.adapters.packs import Memo, Unpacked
from ledger.adapters.threads import Entry, Located, Threads, ThreadStates, run_name
from ledger.adapters.threads.dropping import delete
from ledger.adapters.threads.naming import plain_goal
from ledger.application.ledger import edge_of
from ledger.application.reading import contents_of
from ledger.application.state_sayings import packed_state, unframed
from ledger.errors import RunNotFound, StateMoved
from ledger.gate import IDLE_SECONDS

Idle = int | Literal["by_goal"] | None
"""After how many seconds somebody has to confirm a goal; `by_goal`: a day, if somebody gave it."""
CODE = Actor("service:checkpointer")
"""By whose decision it is not asked whether a goal holds that nobody gave: this code's."""


class Asking(NamedTuple):
    """How the gate is asked about a thread; as `Ledger.resume` takes it."""

    run: str
    actor: Actor | None
    idle_seconds: int | None
    allowed_by: Actor


class LedgerBackend:
    """Keeps checkpoints in the runs of their threads, beside what the runs did and may do."""

    def __init__(
        self,
        ledger: Ledger,
        threads: Threads,
        codec: DataCodec,
        cache: Cache | None,
        *,
        custodian: Actor | None,
        owned: bool,
    ) -> None:
        self._ledger = ledger
        self._edge = edge_of(ledger)
        self._cache = cache
        self._custodian = custodian or threads.actor or ledger.actor
        self._owned = owned
        self.threads = threads
        self._states = ThreadStates(threads, codec, nearby=None if cache is None else _Near(ledger, cache))

    def place(self) -> Hashable:
        store = self._ledger.store
        about = store.describe()
        path, url = about.get("path"), about.get("url")
        # What is in memory is nobody else's.
        return self._ledger.tenant, Path(str(path)).resolve() if path is not None else url or store

    def new_id(self) -> str:
        return self._edge.ids()

    def find(self, thread: str, id: str | None = None) -> Stored | None:
        found = self._states.newest(thread) if id is None else self._states.find(thread, id)
        return None if found is None else _stored(found)

    def all(self, thread: str) -> Iterator[Stored]:
        return (_stored(found) for found in self._states.all(thread) if found.state.line is None)

    def read(self, thread: str, stored: Stored, names: Collection[str] | None = None) -> Unpacked:
        return self._states.read(stored.place, names=names, learn=True)

    def save(self, thread: str, new: New, after: Stored | None, *, anew: bool) -> None:
        located: Located | None = None if after is None else after.place
        if anew:
            entry = self.threads.writing(thread)
            with entry.mutex:
                entry.memo = Memo(entry.memo.dropped)
        try:
            self._states.save(
                thread,
                new.id,
                new.values,
                new.head,
                parent=None if located is None else located.state.id,
                seen=0 if located is None else located.seen,
                whole=new.whole or anew,
                but=() if anew else new.but,
                rests=new.rests,
            )
        except StateMoved:
            # Whoever was first may have gone on in another run.
            self.threads.forget(thread)
            raise

    def delete(self, thread: str, *, by: str | None, reason: str) -> bool:
        digests = [bytes.fromhex(stored.digest) for stored in self.all(thread)]
        entry = self.threads.current(thread)
        # A deletion that was cut short may have left contents of states that nobody lists any more.
        if digests or (entry is not None and entry.run.contract.closed is not None):
            who = self._custodian
            delete(self.threads, thread, by=by or who.id, reason=reason, actor=who)
            if self._cache is not None:
                self._cache.drop(digests)
        return bool(digests)

    def asking(self, thread: str, idle_seconds: Idle) -> Asking:
        """Return the run of a thread, and how the gate is asked about it.

        Raises:
            RunNotFound: it has none.
        """
        entry = self.threads.current(thread)
        if entry is None:
            raise RunNotFound(f"nothing was begun in thread {thread!r:.200}", run=run_name(thread, 1))
        if idle_seconds != "by_goal":
            return Asking(entry.run.id, self.threads.actor, idle_seconds, self._custodian)
        nobody_gave_it = entry.run.contract.goal.text == plain_goal(thread)
        return Asking(entry.run.id, self.threads.actor, None if nobody_gave_it else IDLE_SECONDS, CODE)

    def join(self, thread: str) -> None:
        """Go on in the present incarnation of a thread's run."""
        self.threads.forget(thread)

    def resume(
        self, thread: str, *, runtime: Runtime | None, take_over: bool, idle_seconds: Idle
    ) -> Resumption[Run]:
        """Ask the gate whether a thread may go on, and go on with its new incarnation."""
        asking = self.asking(thread, idle_seconds)
        decision = self._ledger.resume(**asking._asdict(), runtime=runtime, take_over=take_over)
        self.join(thread)
        return decision

    def close(self) -> None:
        if self._cache is not None:
            self._cache.close()
        if self._owned:
            self._ledger.close()


class _Near:
    """Contents out of a cache, and out of the ledger where it has none."""

    def __init__(self, ledger: Ledger, cache: Cache) -> None:
        self._edge = edge_of(ledger)
        self._cache = cache

    def contents(self, entry: Entry, digests: Collection[bytes]) -> Mapping[bytes, bytes]:
        wanted = set(digests)
        found = dict(self._cache.get(wanted))
        missing = wanted - found.keys()
        if missing:
            read = contents_of(self._edge, missing)
            self._cache.put(read)
            found.update(read)
        return {digest: unframed(entry.run.id, content) for digest, content in found.items()}

    def stored(self, entry: Entry, line: str | None, id: str, content: bytes) -> None:
        packed = packed_state(entry.run.id, line, id, content)
        self._cache.put({blob.digest: blob.content for blob in packed.blobs})


def _stored(found: Located) -> Stored:
    state = found.state
    return Stored(
        id=state.id,
        parent=state.parent,
        at=state.at,
        digest=state.digest.hex(),
        size=state.size,
        whole=state.whole,
        place=found,
    )
