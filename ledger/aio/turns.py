"""Tasks take turns at a stream: who finds it free begins, what is said meanwhile goes next, together."""

from __future__ import annotations

from functools import partial
from typing import Any, Generic, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from ledger.aio.hands import Hands
from ledger.aio.loops import Event
from ledger.application.statements import Context, Stated, Statement
from ledger.application.stream import Stream
from ledger.application.turns import TOGETHER
from ledger.commands import Command
from ledger.errors import StoreUnavailable

S = TypeVar("S")


class AsyncTurns(Generic[S]):
    """A stream that the tasks of one event loop share."""

    def __init__(self, stream: Stream[S], hands: Hands) -> None:
        self.stream = stream
        self._hands = hands
        self._waiting: list[_Asked] = []
        self._busy = False

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
        caller = id(self._hands.loop.task())
        return await self._said(Statement(command, context, expected, again, caller))

    async def look(self) -> S:
        """Read and fold what was appended since; return the state."""
        await self._said(Statement())
        return self.stream.state

    async def _said(self, statement: Statement) -> Stated:
        asked = _Asked(statement, self._hands.loop.event())
        self._waiting.append(asked)
        if not self._busy:
            self._begin()
        try:
            if asked.answered.is_set():
                # Refused at once: who says it again and again must let the others go on.
                await checkpoint()
            else:
                await asked.answered.wait()
        except anyio.get_cancelled_exc_class():
            if asked in self._waiting:
                self._waiting.remove(asked)
            else:
                await self._surely(asked)
            raise
        outcome = statement.outcome
        if isinstance(outcome, Exception):
            raise outcome
        assert outcome is not None, "an answered statement has an outcome"
        return outcome

    async def _surely(self, asked: _Asked) -> None:
        """Wait until the fate is known, however often the task is cancelled meanwhile."""
        while not asked.answered.is_set():
            try:
                with anyio.CancelScope(shield=True):
                    await asked.answered.wait()
            except anyio.get_cancelled_exc_class():
                # asyncio's own cancelling reaches through a shield; the first one is raised again later.
                continue

    def _begin(self) -> None:
        self._busy = True
        batch, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]
        steps = self.stream.settle([asked.statement for asked in batch])
        self._hands.perform(steps, partial(self._end, batch))

    def _end(self, batch: list[_Asked], result: Any) -> None:
        for asked in batch:
            if asked.statement.outcome is None:
                asked.statement.outcome = _cut_short(result)
            asked.answered.set()
        self._busy = False
        if self._waiting:
            self._begin()


class _Asked:
    """A statement, and where its task waits for the answer."""

    __slots__ = ("answered", "statement")

    def __init__(self, statement: Statement, answered: Event) -> None:
        self.statement = statement
        self.answered = answered


def _cut_short(error: Any) -> StoreUnavailable:
    fate = StoreUnavailable(
        "what was said together with this was cut short, its fate is not known: repeat it as it is",
        reason="interrupted",
    )
    fate.__cause__ = error if isinstance(error, BaseException) else None
    return fate
