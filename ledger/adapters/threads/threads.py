"""The runs of threads: the present one to write to, and those before it whose states are still read."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ledger import Actor, Ledger, Run, Runtime
from ledger.adapters.packs import Memo
from ledger.adapters.threads.held import Held
from ledger.adapters.threads.memory import Memory
from ledger.adapters.threads.naming import plain_goal, run_name, thread_name
from ledger.application.ledger import edge_of
from ledger.application.saved_states import was_given_up
from ledger.errors import RunExists, RunNotFound
from ledger.run.contract import Contract
from ledger.values import check_id

KEPT = 1024
"""Threads whose handle is kept."""

Goal = Callable[[str], str]
"""Says what the run of a thread is for."""


@dataclass(slots=True)
class Entry:
    """A run of a thread, with what is known to be stored of its states."""

    thread: str
    generation: int
    run: Run
    memo: Memo = field(default_factory=Memo)
    mutex: threading.Lock = field(default_factory=threading.Lock)
    """Held while the memo, or what stands, is read or changed."""
    stands: OrderedDict[str | None, tuple[str, int | None]] = field(default_factory=OrderedDict)
    """By line a state that the run keeps, with where states were last dropped when it was known to."""
    held: Held | None = None
    """What the state is made of that was saved or read last, where that is little."""


class Threads:
    """Finds and opens the runs of threads. Programs' threads may share it."""

    def __init__(
        self,
        ledger: Ledger,
        *,
        actor: Actor | None = None,
        goal: Goal | None = None,
        labels: Mapping[str, str] | None = None,
        runtime: Runtime | None = None,
    ) -> None:
        self.ledger = ledger
        self.actor = actor
        self.memory = Memory()
        self._labels = labels
        self._runtime = runtime
        self._goal = goal or plain_goal
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._mutex = threading.Lock()

    def current(self, thread: str) -> Entry | None:
        """Return the newest run of a thread, closed or not; None where there is none.

        The run is joined, never resumed.
        """
        known = self._known(thread)
        if known is None:
            newest = self._newest(thread)
            return None if newest is None else self._keep(newest)
        while known.run.contract.closed is not None:
            after = self._join(thread, known.generation + 1)
            if after is None:
                break
            known = after
        return self._keep(known)

    def writing(self, thread: str) -> Entry:
        """Return the run of a thread to write to: the newest one, or the next where that was closed.

        A run that this ledger has joined is not read again: whether it was closed since, the append tells.
        """
        known = self._known(thread)
        if known is not None and known.run.position > 0:
            return known
        return self.open(thread)

    def open(self, thread: str) -> Entry:
        """Return the newest run of a thread, and open the next one where there is none that is open."""
        while True:
            entry = self.current(thread)
            if entry is not None and entry.run.contract.closed is None:
                return entry
            generation = 1 if entry is None else entry.generation + 1
            try:
                run = self.ledger.open_run(
                    run_name(thread, generation),
                    self._goal(thread),
                    actor=self.actor,
                    labels=self._labels,
                    runtime=self._runtime,
                    thread=_as_id(thread),
                )
            except RunExists:
                continue  # somebody else has just opened it
            return self._keep(Entry(thread, generation, run))

    def past(self, entry: Entry) -> Iterator[Entry]:
        """Yield the runs of a thread whose states are read: from this one to those that it went on from.

        A run that was restarted is not among them: its successor begins anew. Nor is what lies before one
        whose states were given up all at once, as a deletion does.
        """
        while True:
            yield entry
            if entry.generation == 1 or _begins_anew(entry.run.contract):
                return
            before = self._join(entry.thread, entry.generation - 1)
            if before is None or was_given_up(edge_of(self.ledger), before.run.contract):
                return
            entry = before

    def generation(self, thread: str) -> int:
        """Count the runs of a thread."""
        newest = self._newest(thread)
        return 0 if newest is None else newest.generation

    def generations(self, thread: str) -> Iterator[Entry]:
        """Yield all runs of a thread, the newest first, whether their states are read or not."""
        for generation in range(self.generation(thread), 0, -1):
            entry = self._join(thread, generation)
            if entry is not None:
                yield entry

    def resumed(self, entry: Entry, run: Run) -> Entry:
        """Go on with the handle that the gate gave."""
        return self._keep(Entry(entry.thread, entry.generation, run, entry.memo, entry.mutex), resumed=True)

    def rejoin(self, thread: str) -> None:
        """Join the present incarnation of a thread's run, where it was let go on elsewhere."""
        known = self._known(thread)
        if known is not None:
            self.resumed(known, self.ledger.run(known.run.id, actor=self.actor))

    def last_seen(self, thread: str) -> Entry | None:
        """Return the run that was the newest of a thread when it was last looked for; nothing is read."""
        return self._known(thread)

    def forget(self, thread: str) -> None:
        """Let go of what is known of a thread."""
        with self._mutex:
            self._entries.pop(thread, None)
        self.memory.forget(thread)

    # --- finding ----------------------------------------------------------------------------------

    def _known(self, thread: str) -> Entry | None:
        with self._mutex:
            known = self._entries.get(thread)
            if known is not None:
                self._entries.move_to_end(thread)
            return known

    def _keep(self, entry: Entry, *, resumed: bool = False) -> Entry:
        """Keep an entry, unless another one was kept meanwhile that is of a later run, or was resumed."""
        with self._mutex:
            known = self._entries.get(entry.thread)
            if known is not None and known.generation >= entry.generation + resumed:
                return known
            self._entries[entry.thread] = entry
            self._entries.move_to_end(entry.thread)
            while len(self._entries) > KEPT:
                self.memory.forget(self._entries.popitem(last=False)[0])
            return entry

    def _newest(self, thread: str) -> Entry | None:
        """Join the newest run of a thread: they are numbered without a gap."""
        found: dict[int, Entry] = {}

        def exists(generation: int) -> bool:
            entry = self._join(thread, generation)
            if entry is not None:
                found[generation] = entry
            return entry is not None

        high = 1
        while exists(high):
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            if exists(middle):
                low = middle
            else:
                high = middle
        return found.get(low)

    def _join(self, thread: str, generation: int) -> Entry | None:
        try:
            run = self.ledger.run(run_name(thread, generation), actor=self.actor)
        except RunNotFound:
            return None
        return Entry(thread, generation, run)


def _begins_anew(contract: Contract) -> bool:
    return contract.predecessor is not None


def _as_id(thread: str) -> str:
    """Return the thread as it is named outside, or as it stands in ids where that cannot be kept."""
    try:
        return check_id(thread)
    except ValueError:
        return thread_name(thread)
