"""Hands: the threads that do for an event loop what would block it, and how their outcomes come back.

Appends join the same group commit as those of threads. One thread of ours leads whenever one of them has to
lead, never the loop's; whoever leads, the outcomes of a batch return to the loop in one call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

from ledger.aio.loops import running
from ledger.application.steps import Send, Steps
from ledger.errors import LedgerError, StoreUnavailable
from ledger.stores.base import Append, Appended, FullStore
from ledger.stores.commit import Group, Request, State

Done = Callable[[Any], None]
"""Takes an outcome in the loop's thread: a value, or the exception in its place."""

_CALLS_AT_ONCE = 8


class Hands:
    """Does work for one event loop, of asyncio or trio, and brings what it came to back to it."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self.loop = running()
        """The loop it works for."""
        self._mutex = threading.Lock()
        self._outcomes: list[tuple[Done, Any]] = []
        self._pool = ThreadPoolExecutor(_CALLS_AT_ONCE, thread_name_prefix="ledger-call")
        self._to_lead: SimpleQueue[_Ticket | None] = SimpleQueue()
        self._leader: threading.Thread | None = None
        self._closed = False

    def perform(self, steps: Steps[Any], done: Done) -> None:
        """Perform steps one after another; each begins in the loop's thread, when the one before is done."""

        def go_on(outcome: Any) -> None:
            try:
                step = steps.throw(outcome) if isinstance(outcome, Exception) else steps.send(outcome)
            except StopIteration as end:
                done(end.value)
            except Exception as error:  # noqa: BLE001  whoever began it is told
                done(error)
            else:
                if isinstance(step, Send):
                    self._append(step.append, go_on)
                else:
                    self.call(step.function, go_on)

        go_on(None)

    def call(self, function: Callable[[], Any], done: Done) -> None:
        """Call a function that may block."""
        try:
            future = self._pool.submit(function)
        except RuntimeError:  # the pool was shut down
            done(StoreUnavailable("this ledger was closed: open it again", reason="closed"))
        else:
            future.add_done_callback(partial(self._called, done))

    def close(self) -> None:
        """Let the threads end when they have done what they have begun."""
        self._pool.shutdown(wait=False)
        with self._mutex:
            self._closed = True
        self._to_lead.put(None)

    # --- appends -----------------------------------------------------------------------------------

    def _append(self, append: Append, done: Done) -> None:
        try:
            group = self._store.admit(append)
            ticket = _Ticket(append, group, done, self)
            if group.enter(ticket.request):
                self.lead(ticket)
        except LedgerError as refused:
            done(refused)

    def lead(self, ticket: _Ticket) -> None:
        """Let the leading thread commit for this one; called from any thread."""
        with self._mutex:
            self._to_lead.put(ticket)
            if self._leader is None:
                self._leader = threading.Thread(target=self._lead, name="ledger-commit", daemon=True)
                self._leader.start()

    def _lead(self) -> None:
        while True:
            ticket = self._to_lead.get()
            # It may stand here twice, for a spare wake-up is allowed.
            if ticket is not None and ticket.request.state is State.LEADING:
                with suppress(Exception):  # the request has been answered with it
                    ticket.group.lead(ticket.request)
                ticket.wake()
            with self._mutex:
                if self._closed and self._to_lead.empty():
                    self._leader = None
                    return

    # --- back to the loop --------------------------------------------------------------------------

    def _called(self, done: Done, future: Future[Any]) -> None:
        error = future.exception()
        self.deliver(done, future.result() if error is None else error)

    def deliver(self, done: Done, outcome: Any) -> None:
        """Hand an outcome to the loop's thread; what comes together goes there together."""
        with self._mutex:
            self._outcomes.append((done, outcome))
            if len(self._outcomes) > 1:
                return
        with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
            self.loop.soon(self._dispense)

    def _dispense(self) -> None:
        with self._mutex:
            outcomes, self._outcomes = self._outcomes, []
        for done, outcome in outcomes:
            done(outcome)


class _Ticket:
    """An append of the loop on its way through the group."""

    __slots__ = ("_done", "_hands", "group", "request")

    def __init__(self, append: Append, group: Group[Append, Appended], done: Done, hands: Hands) -> None:
        self.group = group
        self.request: Request[Append, Appended] = Request(append, self.wake)
        self._done: Done | None = done
        self._hands = hands

    def wake(self) -> None:
        """Look what has become of the request; perhaps called once too often, from any thread."""
        state = self.request.state
        if state is State.LEADING:
            self._hands.lead(self)
        elif state is State.ANSWERED:
            # Whoever leads wakes after answering, one thread after the other: the first one delivers.
            done, self._done = self._done, None
            if done is not None:
                self._hands.deliver(done, self.request.outcome)
