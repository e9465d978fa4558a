"""Performing acts under an event loop: the driver of the gateway's protocol that awaits.

Cancelled before anything was sent, an act is left as it was: a claim that was stored by then is reported as
not begun. Cancelled while a coroutine function is under way, the effect stays executing, as after a crash. A
plain function cannot be stopped in its thread: what it came to is recorded before the task goes on being
cancelled. And what is known of an effect is stored, whatever stops the task meanwhile.
"""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import anyio
from anyio.lowlevel import checkpoint_if_cancelled

from ledger import commands as c
from ledger.aio.hands import Hands
from ledger.aio.progress import Progress
from ledger.aio.stops import Stops
from ledger.aio.turns import AsyncTurns
from ledger.aio.workers import NOT_CALLED, Workers
from ledger.application.acting import Doing
from ledger.application.performing import REPORT_SECONDS, Block
from ledger.application.runs import known
from ledger.application.statements import Stated
from ledger.errors import AlreadyDone, LedgerError, StoreBusy, StoreUnavailable
from ledger.gateway import protocol as p
from ledger.gateway.answers import Outcome
from ledger.gateway.current import CurrentEffect, performing
from ledger.gateway.tools import is_async
from ledger.run.contract import Contract
from ledger.values import ErrorSaid, Recovery

log = logging.getLogger("ledger")
T = TypeVar("T")


class Surroundings(NamedTuple):
    """What drives the acts of a ledger."""

    hands: Hands
    workers: Workers


class End(NamedTuple, Generic[T]):
    """The protocol is at its end, and this is what it came to."""

    value: T


class Driver:
    """Performs one act for one task."""

    def __init__(self, doing: Doing, turns: AsyncTurns[Contract | None], around: Surroundings) -> None:
        self._doing = doing
        self._turns = turns
        self._hands, self._workers = around
        self._stops = Stops()
        self._progress = Progress(doing, self._hands)

    async def run(self, steps: p.Steps[T]) -> T:
        """Perform all steps, and return what they come to."""
        end = await self._go_on(steps, _resumed(partial(next, steps)))
        assert isinstance(end, End)
        value: T = end.value
        return value

    async def until_call(self, steps: p.Steps[T]) -> p.Execute | End[T]:
        """Perform the steps up to the call, for who makes it elsewhere; `End` where there is none to make."""
        return await self._go_on(steps, _resumed(partial(next, steps)), elsewhere=True)

    async def after_call(self, steps: p.Steps[T], end: p.Returned | p.Raised | p.NotBegun) -> T:
        """Perform the steps after a call that was made elsewhere."""
        last = await self._go_on(steps, _resumed(partial(steps.send, end)))
        assert isinstance(last, End)
        value: T = last.value
        return value

    @asynccontextmanager
    async def under_way(self, attempt: p.Attempt) -> AsyncIterator[CurrentEffect | None]:
        """Keep the lease alive; None where it has ended already."""
        try:
            effect = await self._begun(attempt)
        except BaseException as error:
            self._doing.end()
            if not isinstance(error, GeneratorExit):
                await self._give_back(attempt)
            raise
        try:
            yield effect
        finally:
            self._doing.end()

    async def _go_on(
        self, steps: p.Steps[T], step: p.Step | End[T], *, elsewhere: bool = False
    ) -> p.Execute | End[T]:
        """Perform steps to the end, or up to a call that is made elsewhere."""
        try:
            while not isinstance(step, End) and not (elsewhere and isinstance(step, p.Execute)):
                step = await self._one(steps, step)
        except Exception as error:
            if self._stops.first is not None:
                self._stops.first.__cause__ = error
                self._stops.check()
            raise
        self._stops.check()
        return step

    async def _one(self, steps: p.Steps[T], step: p.Step) -> p.Step | End[T]:
        try:
            if not isinstance(step, p.Report):
                self._stops.check()  # all that is left to do for who was stopped is to report
            answer = await self._answer(step)
        except BaseException as error:  # noqa: BLE001  it belongs to the protocol, a cancellation too
            return _resumed(partial(steps.throw, error))
        return _resumed(partial(steps.send, answer))

    async def _answer(self, step: p.Step) -> Any:
        doing = self._doing
        if isinstance(step, p.Claim):
            return await self._claim()
        if isinstance(step, p.Execute):
            return await self._execute(step.attempt)
        if isinstance(step, p.Report):
            return await self._report(step)
        if isinstance(step, p.Ask):
            return await self._ask()
        if isinstance(step, p.Look):
            return await self._hands.read(doing.look)
        if isinstance(step, p.Weigh):
            return await self._hands.read(doing.weigh)
        if isinstance(step, p.Resend):
            return await self._resend(step)
        if isinstance(step, p.See):
            contract = known(doing.run, await self._turns.look())
            return await self._hands.read(partial(doing.see, contract))
        if isinstance(step, p.MayLook):
            if doing.is_ruled is None:
                doing.note_rules(known(doing.run, await self._turns.look()))
            return await self._turns.hear(*doing.claiming(), self._stops) if doing.is_ruled else None
        if isinstance(step, p.Again):
            return doing.again(step.result)
        if isinstance(step, p.Read):
            read = partial(doing.read, step.payload)
            return read() if step.payload.json_text is not None else await self._hands.read(read)
        return await anyio.sleep(step.seconds)

    # --- what is said ----------------------------------------------------------------------------

    async def _claim(self) -> p.Attempt | None:
        doing = self._doing
        command, context = doing.claiming()
        attempt = doing.claimed(await self._turns.hear(command, context, self._stops))
        if attempt is not None and self._stops.first is not None:
            await self._give_back(attempt)
        self._stops.check()
        return attempt

    async def _give_back(self, attempt: p.Attempt) -> None:
        """Report that an attempt was not begun, so that the next one need not wait for its lease to end."""
        if attempt.lease_until is None:
            return
        said = ErrorSaid(
            message="it was stopped before the call was made; nothing was sent", type="NotCalled"
        )
        fields = {"attempt": attempt.number, "worker": self._doing.act.claim.worker, "error": said}
        try:
            await self._report(p.Report(c.ReportFailure, fields))
        except LedgerError as error:
            log.warning("an effect that was not begun is executing until its lease ends: %s", error)

    async def _report(self, report: p.Report) -> Stated:
        """Say a report until it is stored, as long as the store may come back soon."""
        command, context = self._doing.reporting(report)
        await self._progress.kept(self._stops)
        deadline = time.monotonic() + REPORT_SECONDS
        again: StoreUnavailable | None = None
        pause = 0.01
        while True:
            try:
                stated = await self._turns.hear(command, context, self._stops, again=again, withdraw=False)
                break
            except (StoreUnavailable, StoreBusy) as error:
                if not error.retryable or time.monotonic() + pause > deadline:
                    raise
                log.warning("a report is said again: %s", error)
                again = error if isinstance(error, StoreUnavailable) else again
            await self._stops.sleep(pause)
            pause = min(pause * 2, 1.0)
        if self._doing.settles(stated):
            with suppress(StoreUnavailable):  # a row that stays ends by itself
                await self._hands.surely(self._doing.settled, self._stops)
        return stated

    # --- what is called --------------------------------------------------------------------------

    async def _begun(self, attempt: p.Attempt) -> CurrentEffect | None:
        doing = self._doing
        begin = partial(doing.begin, attempt)
        reads = attempt.number > 1 or doing.heard_late
        effect = await self._hands.surely(begin) if reads else begin()
        if effect is not None:
            effect.on_progress(self._progress.report)
            await checkpoint_if_cancelled()
        return effect

    async def _execute(self, attempt: p.Attempt) -> p.Returned | p.Raised | p.NotBegun:
        doing = self._doing
        async with self.under_way(attempt) as effect:
            if effect is None:
                return p.NotBegun()
            with performing(effect):
                tool = doing.act.tool
                return await self._called(tool.function, lambda: tool(**doing.called_with(effect)), attempt)

    async def _ask(self) -> Any:
        doing = self._doing
        probe = doing.act.tool.probe
        assert probe is not None, "only what can be asked is asked"
        await self._hands.read(doing.asks)
        end = await self._called(probe, lambda: probe(*doing.asked_with()))
        return end.value if isinstance(end, p.Returned) else end

    async def _resend(self, step: p.Resend) -> p.Returned | p.Raised | p.NotBegun:
        doing = self._doing
        effect = await self._hands.read(partial(doing.begin_again, step))
        if effect is None:
            return p.NotBegun()
        with performing(effect):
            tool = doing.act.tool
            return await self._called(tool.function, lambda: tool(**doing.called_with(effect)))

    async def _called(
        self, function: object, call: Callable[[], Any], attempt: p.Attempt | None = None
    ) -> p.Returned | p.Raised | p.NotBegun:
        """Call a coroutine function here, or any other in a thread; await what it returns to be awaited."""
        if is_async(function):
            return await _awaited(self._unless_forgotten(call))
        try:
            in_time = self._unless_forgotten if attempt is None else self._unless_lost
            end = await self._workers.call(partial(in_time, call), self._stops)
        except StoreUnavailable:
            if attempt is not None:
                await self._give_back(attempt)
            raise
        if end is NOT_CALLED:
            if attempt is not None:
                await self._give_back(attempt)
            self._stops.check()
            raise AssertionError("only who was stopped takes a call back")
        if self._stops.first is not None and isinstance(end, p.Returned) and inspect.isawaitable(end.value):
            if inspect.iscoroutine(end.value):
                end.value.close()
            self._stops.check()
        return await _awaited(end)

    def _unless_lost(self, call: Callable[[], Any]) -> p.Returned | p.Raised | p.NotBegun:
        """Call, in a thread, unless the lease ended while that was waited for."""
        beat = self._doing.beat
        if beat is not None and beat.is_over and not self._doing.is_held():
            return p.NotBegun()
        return _ended(call)

    def _unless_forgotten(self, call: Callable[[], Any]) -> p.Returned | p.Raised | p.NotBegun:
        """Call, unless the outside may have forgotten the key of what is sent again."""
        return p.NotBegun() if self._doing.is_forgotten() else _ended(call)


def _ended(call: Callable[[], Any]) -> p.Returned | p.Raised:
    try:
        return p.Returned(call())
    except Exception as error:  # noqa: BLE001  what it means is for the protocol to say
        return p.Raised(error)


async def _awaited(end: p.Returned | p.Raised | p.NotBegun) -> p.Returned | p.Raised | p.NotBegun:
    if not isinstance(end, p.Returned) or not inspect.isawaitable(end.value):
        return end
    try:
        return p.Returned(await end.value)
    except Exception as error:  # noqa: BLE001
        return p.Raised(error)


def _resumed(resume: Callable[[], p.Step]) -> p.Step | End[Any]:
    try:
        return resume()
    except StopIteration as stop:
        return End(stop.value)


async def perform(driver: Driver, doing: Doing) -> Any:
    """Perform an act, or read what its tool reads."""
    reads = doing.act.tool.recovery is Recovery.READ_ONLY
    return await driver.run(p.read(doing.act) if reads else p.perform(doing.act))


@asynccontextmanager
async def block(driver: Driver, doing: Doing) -> AsyncIterator[Block]:
    """Perform an act whose body is a block."""
    steps = p.perform(doing.act)
    step = await driver.until_call(steps)
    if isinstance(step, End):
        raise AlreadyDone(
            f"{doing.act.tool.name!r} was done before, so the block is not entered",
            key=doing.act.key,
            result=step.value,
        )
    end: p.Returned | p.Raised | p.NotBegun
    raised: BaseException | None = None
    async with driver.under_way(step.attempt) as effect:
        if effect is None:
            end = p.NotBegun()
        else:
            handle = Block(effect)
            try:
                with performing(effect):
                    yield handle
            except BaseException as error:  # noqa: BLE001  what it means is for the protocol to say
                end, raised = handle.ended_by(error), error
            else:
                end = p.Returned(handle.outcome or Outcome())
    try:
        await driver.after_call(steps, end)
    except LedgerError as error:
        raise error from error.__cause__ or raised
    if raised is not None:
        raise raised  # the outside has it, and the rest of the block was not done all the same
