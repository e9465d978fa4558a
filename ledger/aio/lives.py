"""The lives of runs for an event loop: going on after a stop, succeeding, forking; as `Lives`, awaited."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ledger import commands as c
from ledger.aio.checking import check_due
from ledger.aio.handles import AsyncRun
from ledger.aio.hands import Hands
from ledger.aio.turns import AsyncTurns
from ledger.application.own_stream import note, refused_for
from ledger.application.resuming import (
    Patience,
    Resumption,
    as_of,
    asking,
    dry,
    superseded,
    told,
    unreadable,
)
from ledger.application.sayings import build, several
from ledger.application.shared import Shared, run_id
from ledger.errors import UNREADABLE, Superseded
from ledger.gate import IDLE_SECONDS, LIVE_SECONDS
from ledger.run.contract import Contract
from ledger.values import Actor, Runtime


class AsyncLives(ABC):
    """What is done with whole runs."""

    _hands: Hands
    _shared: Shared

    async def resume(
        self,
        run: str,
        *,
        actor: Actor | None = None,
        runtime: Runtime | None = None,
        take_over: bool = False,
        dry_run: bool = False,
        idle_seconds: int | None = IDLE_SECONDS,
        live_seconds: int = LIVE_SECONDS,
        allowed_by: Actor | None = None,
    ) -> Resumption[AsyncRun]:
        """Ask the gate whether a run may go on, and record what it says; as `Ledger.resume`.

        Readers of sources are called in a thread; who is cancelled meanwhile waits for them.
        """
        writer, patience = self._shared.writer(actor), Patience(idle_seconds, live_seconds)
        command = build(c.ResumeRun, runtime=runtime, take_over=take_over)
        assert isinstance(command, c.ResumeRun)
        try:
            return await self._asked(run, writer, command, patience, dry_run, allowed_by)
        except UNREADABLE as error:  # the run, or a source of its constraints
            if not dry_run:
                event, _ = refused_for(run, error)
                await self._hands.surely(partial(note, self._shared.edge, writer, event))
            return unreadable(run, error)

    async def _asked(
        self,
        run: str,
        actor: Actor,
        command: c.ResumeRun,
        patience: Patience,
        dry_run: bool,
        allowed_by: Actor | None,
    ) -> Resumption[AsyncRun]:
        turns, contract = await self._joined(run)
        asked = asking(self._shared, contract, command, patience, allowed_by or actor)
        if dry_run:
            judged = await self._hands.read(partial(dry, self._shared, contract, actor, asked))
            return Resumption(judged.verdict, judged.reasons, None, None, contract)
        checked = tuple(await check_due(self._shared, contract, self._handle(turns, actor, None).do))
        context = replace(self._shared.context(actor, contract.incarnation), asking=asked)
        try:
            stated = await turns.do(command, context)
        except Superseded:
            contract = await turns.look() or contract
            judged = superseded(contract)
            return Resumption(judged.verdict, judged.reasons, None, None, contract, checked=checked)
        contract = turns.stream.state or contract
        contract = await self._hands.read(partial(as_of, self._shared, contract, stated))
        answer: Resumption[AsyncRun] = told(contract, stated, asked, checked)
        if answer.position is None or not answer:
            return answer
        return replace(answer, run=self._handle(turns, actor, contract.incarnation))

    async def restart(
        self,
        run: str,
        *,
        as_: str,
        reason: str,
        by: str,
        goal: str | None = None,
        rests_on: Sequence[str] = (),
        actor: Actor | None = None,
    ) -> AsyncRun:
        """Close a run and open its successor, in one append; as `Ledger.restart`."""
        command = build(
            c.RestartRun,
            as_run=as_,
            by=by,
            goal=goal,
            reason=reason,
            rests_on=several("rests_on", rests_on),
        )
        return await self._led_on(run, command, as_, actor)

    async def fork(
        self,
        run: str,
        *,
        as_: str,
        at: int,
        by: str | None = None,
        reason: str | None = None,
        actor: Actor | None = None,
    ) -> AsyncRun:
        """Open a run that stands where another one stood at a position; as `Ledger.fork`."""
        command = build(c.ForkRun, as_run=as_, at=at, by=by, reason=reason)
        return await self._led_on(run, command, as_, actor)

    async def _led_on(self, run: str, command: c.Command, as_: str, actor: Actor | None) -> AsyncRun:
        turns, _ = await self._joined(run)
        await self._handle(turns, actor, None).do(command)
        turns, contract = await self._joined(run_id(as_))
        return self._handle(turns, actor, contract.incarnation)

    @abstractmethod
    async def _joined(self, run: str) -> tuple[AsyncTurns[Contract | None], Contract]:
        """Return the stream of a run and its contract as it is stored."""

    @abstractmethod
    def _handle(
        self,
        turns: AsyncTurns[Contract | None],
        actor: Actor | None,
        incarnation: int | None,
        correlation: str | None = None,
    ) -> AsyncRun:
        """Return a handle on a run."""
