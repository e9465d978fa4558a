"""Tasks take turns at a stream: who finds it free begins, what is said meanwhile goes next, together."""

from __future__ import annotations

from functools import partial
from typing import Any, Generic, TypeVar
from weakref import ref

import anyio
from anyio.lowlevel import checkpoint

from ledger.aio.hands import Hands
from ledger.aio.loops import Event
from ledger.aio.stops import Stops, until_set
from ledger.application.doubts import cut_short
from ledger.application.statements import Context, Stated, Statement
from ledger.application.stream import Stream
from ledger.application.turns import TOGETHER
from ledger.commands import Command
from ledger.errors import StoreBusy, StoreUnavailable

S = TypeVar("S")


class AsyncTurns(Generic[S]):
    """A stream that the tasks of one event loop share."""

    def __init__(self, stream: Stream[S], hands: Hands) -> None:
        self.stream = stream
        self._hands = hands
        self._waiting: list[_Asked] = []
        self._busy = False
        self._beginning = False

    async def do(
        self,
        command: Command,
        context: Context,
        *,
        expected: int | None = None,
        again: StoreUnavailable | None = None,
    ) -> Stated:
        """Decide a command and append what it yields; as `Turns.do`.

        A call that is cancelled while it waits for its turn has said nothing. One that is cancelled later
        ends only when its fate is known: nothing lands behind its caller's back.
        """
        return await self._said(self._statement(command, context, expected, again))

    async def hear(
        self,
        command: Command,
        context: Context,
        stops: Stops,
        *,
        again: StoreUnavailable | None = None,
        withdraw: bool = True,
    ) -> Stated:
        """Decide a command as `do` does, and hear what it comes to although the task is stopped meanwhile.

        What stopped it is kept. With `withdraw` a command that still waits for its turn then is taken back,
        and what stopped the task is raised; without, it is said all the same.
        """
        return await self._heard(self._statement(command, context, None, again), stops, withdraw)

    def _statement(
        self, command: Command, context: Context, expected: int | None, again: StoreUnavailable | None
    ) -> Statement:
        self._hands.loop.check()
        # Unlike its address, this never comes to name another task. Its hash is kept once it was asked for.
        caller = ref(self._hands.loop.task())
        hash(caller)
        return Statement(command, context, expected, again, caller)

    async def weigh(self, command: Command, context: Context) -> Any:
        """Say what a command would be told now; as `Turns.weigh`."""
        statement = self._statement(command, context, None, None)
        statement.weighs = True
        await self._said(statement)
        return statement.weighed

    async def look(self) -> S:
        """Read and fold what was appended since; return the state."""
        self._hands.loop.check()
        await self._said(Statement())
        return self.stream.state

    async def _said(self, statement: Statement) -> Stated:
        asked = self._ask(statement)
        try:
            await self._answer(asked)
        except BaseException as stopped:
            if self._withdrew(asked):
                raise
            if isinstance(stopped, anyio.get_cancelled_exc_class()):
                await until_set(asked.answered)
            self.stream.unheard(statement)
            raise
        return self._outcome(asked)

    async def _heard(self, statement: Statement, stops: Stops, withdraw: bool) -> Stated:
        asked = self._ask(statement)
        withdrawn = False
        try:
            with stops.kept():
                await self._answer(asked)
            withdrawn = withdraw and not asked.answered.is_set() and self._withdrew(asked)
            if not withdrawn:
                await until_set(asked.answered)
        except BaseException:  # it can wait no longer
            if not (withdraw and self._withdrew(asked)):
                self.stream.unheard(statement)
            raise
        if withdrawn:
            stops.check()
        return self._outcome(asked)

    def _ask(self, statement: Statement) -> _Asked:
        if len(self._waiting) >= WAITING:
            raise StoreBusy(
                f"{len(self._waiting)} statements wait for {self.stream.name!r} already: back off and repeat",
                waiting=len(self._waiting),
            )
        asked = _Asked(statement, self._hands.loop.event())
        self._waiting.append(asked)
        if not self._busy:
            self._begin()
        return asked

    async def _answer(self, asked: _Asked) -> None:
        if asked.answered.is_set():
            # Refused at once: who says it again and again must let the others go on.
            await checkpoint()
        else:
            await asked.answered.wait()

    def _withdrew(self, asked: _Asked) -> bool:
        """Take back a statement that has not had its turn; False where it has."""
        if asked not in self._waiting:
            return False
        self._waiting.remove(asked)
        return True

    def _outcome(self, asked: _Asked) -> Stated:
        statement = asked.statement
        outcome = statement.outcome
        return (
            outcome if isinstance(outcome, Stated) else self.stream.answer(statement, cut_short(asked.error))
        )

    def _begin(self) -> None:
        # What is refused at once ends in here: one after another, not one inside of the other.
        while self._waiting and not self._busy:
            self._busy = True
            batch, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]
            steps = self.stream.settle([asked.statement for asked in batch])
            self._beginning = True
            try:
                self._hands.perform(steps, partial(self._end, batch))
            finally:
                self._beginning = False

    def _end(self, batch: list[_Asked], result: Any) -> None:
        for asked in batch:
            asked.error = result
            asked.answered.set()
        self._busy = False
        if not self._beginning:
            self._begin()


class _Asked:
    """A statement, and where its task waits for the answer."""

    __slots__ = ("answered", "error", "statement")

    def __init__(self, statement: Statement, answered: Event) -> None:
        self.statement = statement
        self.answered = answered
        self.error: BaseException | None = None
        """What cut it short."""


WAITING = 8192
"""Statements that may wait for one stream."""
