"""Hands: the threads that do for an event loop what would block it, and how their outcomes come back.

Appends join the same group commit as those of threads. One thread of ours leads whenever one of them has to
lead, never the loop's; whoever leads, the outcomes of a batch return to the loop in one call.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from ledger.aio.loops import running
from ledger.aio.stops import Stops
from ledger.application.steps import Send, Steps
from ledger.errors import StoreUnavailable
from ledger.stores.base import Append, Appended, FullStore
from ledger.stores.commit import Group, Request, State

Done = Callable[[Any], None]
"""Takes an outcome in the loop's thread: a value, or the exception in its place."""

T = TypeVar("T")

_CALLS_AT_ONCE = 8
_READS_AT_ONCE = 16


class Hands:
    """Does work for one event loop, of asyncio or trio, and brings what it came to back to it."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self.loop = running()
        """The loop it works for."""
        self._mutex = threading.Lock()
        self._outcomes: list[tuple[Done, Any]] = []
        self._readers = anyio.CapacityLimiter(_READS_AT_ONCE)
        self._pool = ThreadPoolExecutor(_CALLS_AT_ONCE, thread_name_prefix="ledger-call")
        self._to_lead: SimpleQueue[_Ticket | None] = SimpleQueue()
        self._leader: threading.Thread | None = None
        self._closed = False

    def perform(self, steps: Steps[Any], done: Done) -> None:
        """Perform steps one after another; each begins in the loop's thread, when the one before is done."""

        def go_on(outcome: Any) -> None:
            while True:
                try:
                    step = steps.throw(outcome) if isinstance(outcome, BaseException) else steps.send(outcome)
                except StopIteration as end:
                    return done(end.value)
                except BaseException as error:
                    done(error)
                    if not isinstance(error, Exception):
                        raise
                    return None
                try:
                    if isinstance(step, Send):
                        return self._append(step.append, go_on)
                    return self.call(step.function, go_on)
                except Exception as refused:  # noqa: BLE001  it did not begin: the next step is at hand
                    outcome = refused

        go_on(None)

    def call(self, function: Callable[[], Any], done: Done) -> None:
        """Call a function that may block.

        Raises:
            StoreUnavailable: nobody is there to call it; `reason` is `closed` or `threads`.
        """
        try:
            self._pool.submit(self._call, function, done)
        except RuntimeError as error:
            if self._closed:
                raise StoreUnavailable("this ledger was closed: open it again", reason="closed") from None
            raise StoreUnavailable("no thread can be started", reason="threads") from error

    async def read(self, function: Callable[[], T]) -> T:
        """Call what reads and may block; a cancelled caller leaves it to its thread."""
        self.loop.check()
        return await anyio.to_thread.run_sync(function, abandon_on_cancel=True, limiter=self._readers)

    async def surely(self, function: Callable[[], T], stops: Stops | None = None) -> T:
        """Call a function that may block; who is stopped meanwhile goes on when it has ended.

        What stopped the caller is raised then, or kept in `stops`.

        Raises:
            StoreUnavailable: as `call`, and whatever the function raises.
        """
        self.loop.check()
        answered = self.loop.event()
        outcomes: list[Any] = []

        def done(outcome: Any) -> None:
            outcomes.append(outcome)
            answered.set()

        self.call(function, done)
        if stops is None:
            stops = Stops()
            await stops.until_set(answered)
            stops.check()
        else:
            await stops.until_set(answered)
        outcome = outcomes.pop()
        if isinstance(outcome, BaseException):
            try:
                raise outcome
            finally:
                del outcome
        value: T = outcome
        return value

    def close(self) -> None:
        """Let the threads end when they have done what they have begun."""
        with self._mutex:
            self._closed = True
        self._pool.shutdown(wait=False)
        self._to_lead.put(None)

    # --- appends -----------------------------------------------------------------------------------

    def _append(self, append: Append, done: Done) -> None:
        group = self._store.admit(append)
        ticket = _Ticket(append, group, done, self)
        try:
            if group.enter(ticket.request):
                self.lead(ticket)
        except BaseException:
            # Who is let in as the leader has to lead, or nobody ever will.
            if ticket.request.state is State.LEADING:
                self.lead(ticket)
            raise

    def lead(self, ticket: _Ticket) -> None:
        """Let the leading thread commit for this one; called from any thread."""
        with self._mutex:
            self._to_lead.put(ticket)
            if self._leader is not None:
                return
            leader = threading.Thread(target=self._lead, name="ledger-commit", daemon=True)
            with suppress(
                RuntimeError
            ):  # there can be no more threads: then this one leads, for nobody else will
                leader.start()
                self._leader = leader
                return
        with suppress(Empty):
            while True:
                self._lead_for(self._to_lead.get_nowait())

    def _lead(self) -> None:
        while True:
            self._lead_for(self._to_lead.get())
            with self._mutex:
                if self._closed and self._to_lead.empty():
                    self._leader = None
                    return

    def _lead_for(self, ticket: _Ticket | None) -> None:
        # It may stand here twice, for a spare wake-up is allowed.
        if ticket is not None and ticket.request.state is State.LEADING:
            with suppress(BaseException):  # the request has been answered with it
                ticket.group.lead(ticket.request)
            ticket.wake()

    # --- back to the loop --------------------------------------------------------------------------

    def _call(self, function: Callable[[], Any], done: Done) -> None:
        try:
            outcome = function()
        except BaseException as error:  # noqa: BLE001  it belongs to who asked
            outcome = error
        self.deliver(done, outcome)

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
        told = 0
        try:
            for done, outcome in outcomes:
                told += 1
                done(outcome)
        finally:
            if told < len(outcomes):  # an interrupt stops the loop, and it may go on to end what is under way
                with self._mutex:
                    self._outcomes[:0] = outcomes[told:]
                self.loop.soon(self._dispense)


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
