"""Performing acts in the caller's thread: the sync driver of the gateway's protocol."""

from __future__ import annotations

import inspect
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ledger.application.acting import Doing
from ledger.application.statements import Stated
from ledger.canonical import invalid
from ledger.errors import AlreadyDone, LedgerError, StoreBusy, StoreUnavailable
from ledger.gateway import protocol as p
from ledger.gateway.answers import Outcome
from ledger.gateway.current import CurrentEffect, performing
from ledger.gateway.tools import is_async
from ledger.run.contract import Contract
from ledger.values import Recovery

log = logging.getLogger("ledger")
T = TypeVar("T")

Say = Callable[..., Stated]
"""Says a command: `say(command, context, again=None)`."""

REPORT_SECONDS = 30.0
"""How long a report is said again while the store does not answer."""


class Driver:
    """Performs one act in this thread."""

    def __init__(self, doing: Doing, say: Say, look: Callable[[], Contract]) -> None:
        self._doing = doing
        self._say = say
        self._look = look
        refuse_async(doing.act.tool)

    def run(self, steps: p.Steps[T]) -> T:
        """Perform all steps, and return what they come to."""
        try:
            step = next(steps)
            while True:
                step = self._one(steps, step)
        except StopIteration as end:
            value: T = end.value
            return value

    def _one(self, steps: p.Steps[T], step: p.Step) -> p.Step:
        try:
            answer = self._answer(step)
        except BaseException as error:  # noqa: BLE001  it belongs to the protocol, an interrupt too
            return steps.throw(error)
        return steps.send(answer)

    def until_call(self, steps: p.Steps[T]) -> p.Execute:
        """Perform the steps up to the call, for who makes it elsewhere.

        Raises:
            StopIteration: there is none to make; its value is what was recorded.
        """
        step = next(steps)
        while not isinstance(step, p.Execute):
            step = self._one(steps, step)
        return step

    def after_call(self, steps: p.Steps[T], end: p.Returned | p.Raised | p.NotBegun) -> T:
        """Perform the steps after a call that was made elsewhere."""
        try:
            step = steps.send(end)
            while True:
                step = self._one(steps, step)
        except StopIteration as stop:
            value: T = stop.value
            return value

    def _answer(self, step: p.Step) -> Any:
        doing = self._doing
        if isinstance(step, p.Claim):
            return doing.claimed(self._say(*doing.claiming()))
        if isinstance(step, p.Execute):
            return self._execute(step.attempt)
        if isinstance(step, p.MayLook):
            if doing.is_ruled is None:
                doing.note_rules(self._look())
            return self._say(*doing.claiming()) if doing.is_ruled else None
        if isinstance(step, p.Report):
            return self._report(step)
        if isinstance(step, p.Ask):
            return self._ask()
        if isinstance(step, p.Look):
            return doing.look()
        if isinstance(step, p.Weigh):
            return doing.weigh()
        if isinstance(step, p.Resend):
            effect = doing.begin_again(step)
            return p.NotBegun() if effect is None else self._called(effect)
        if isinstance(step, p.See):
            return doing.see(self._look())
        if isinstance(step, p.Read):
            return doing.read(step.payload)
        if isinstance(step, p.Again):
            return doing.again(step.result)
        doing.workshop.edge.wait(step.seconds)
        return None

    def _execute(self, attempt: p.Attempt) -> p.Returned | p.Raised | p.NotBegun:
        with self.under_way(attempt) as effect:
            return p.NotBegun() if effect is None else self._called(effect)

    def _called(self, effect: CurrentEffect) -> p.Returned | p.Raised:
        doing = self._doing
        try:
            with performing(effect):
                return p.Returned(plain(doing.act.tool(**doing.called_with(effect))))
        except Exception as error:  # noqa: BLE001  what it means is for the protocol to say
            return p.Raised(error)

    def under_way(self, attempt: p.Attempt) -> UnderWay:
        """Keep the lease alive, within `with`."""
        return UnderWay(self._doing, attempt)

    def _ask(self) -> Any:
        probe = self._doing.act.tool.probe
        assert probe is not None, "only what can be asked is asked"
        self._doing.asks()
        try:
            return plain(probe(*self._doing.asked_with()))
        except Exception as error:  # noqa: BLE001  a probe that fails could not tell
            return p.Raised(error)

    def _report(self, report: p.Report) -> Stated:
        """Say a report until it is stored, as long as the store may come back soon."""
        command, context = self._doing.reporting(report)
        deadline = time.monotonic() + REPORT_SECONDS
        again: StoreUnavailable | None = None
        pause = 0.01
        while True:
            try:
                stated = self._say(command, context, again=again)
                break
            except (StoreUnavailable, StoreBusy) as error:
                if not error.retryable or time.monotonic() + pause > deadline:
                    raise
                log.warning("a report is said again: %s", error)
                again = error if isinstance(error, StoreUnavailable) else again
            self._doing.workshop.edge.wait(pause)
            pause = min(pause * 2, 1.0)
        if self._doing.settles(stated):
            self._doing.settled()
        return stated


class UnderWay:
    """Keeps a lease alive, for `with`, which gives the effect; None where it has ended already."""

    __slots__ = ("_attempt", "_doing")

    def __init__(self, doing: Doing, attempt: p.Attempt) -> None:
        self._doing = doing
        self._attempt = attempt

    def __enter__(self) -> CurrentEffect | None:
        doing = self._doing
        try:
            effect = doing.begin(self._attempt)
            if effect is not None:
                effect.on_progress(doing.progress)
        except BaseException:
            doing.end()  # an interrupt in here must not leave it renewed for ever
            raise
        return effect

    def __exit__(self, *raised: object) -> None:
        self._doing.end()


class Block:
    """An effect whose body is a block of the caller's: `with run.effect(...) as effect:`."""

    def __init__(self, effect: CurrentEffect) -> None:
        self._effect = effect
        self.outcome: Outcome | None = None

    @property
    def key(self) -> str:
        """What names the act to the outside: 64 hexadecimal digits, the same for every attempt."""
        return self._effect.key

    @property
    def attempt(self) -> int:
        """Number of this attempt, from 1."""
        return self._effect.attempt

    @property
    def deadline(self) -> Any:
        """When its lease ends unless it is renewed."""
        return self._effect.deadline

    def progress(self, value: Any = None) -> None:
        """Report how far it is and renew the lease; see `CurrentEffect.progress`."""
        self._effect.progress(value)

    def check(self) -> None:
        """Make sure that this worker still holds the effect; see `CurrentEffect.check`."""
        self._effect.check()

    def succeed(self, result: Any = None, *, external_ref: str | None = None, cost: Any = None) -> None:
        """Say what the act came to; it is recorded when the block ends, also where that raises."""
        self.outcome = Outcome(result, external_ref, cost)

    def ended_by(self, error: BaseException) -> p.Returned | p.Raised:
        """Return how the block ended that raised: what it had said by then stands.

        Raises:
            BaseException: the error, where it stopped a block that had said nothing, or closes its generator.
        """
        if self.outcome is not None and not isinstance(error, GeneratorExit):
            return p.Returned(self.outcome)
        if isinstance(error, Exception):
            return p.Raised(error)
        raise error


def perform(driver: Driver, doing: Doing) -> Any:
    """Perform an act, or read what its tool reads."""
    reads = doing.act.tool.recovery is Recovery.READ_ONLY
    return driver.run(p.read(doing.act) if reads else p.perform(doing.act))


@contextmanager
def block(driver: Driver, doing: Doing) -> Iterator[Block]:
    """Perform an act whose body is a block."""
    steps = p.perform(doing.act)
    try:
        step = driver.until_call(steps)
    except StopIteration as done:
        raise AlreadyDone(
            f"{doing.act.tool.name!r} was done before, so the block is not entered",
            key=doing.act.key,
            result=done.value,
        ) from None
    end: p.Returned | p.Raised | p.NotBegun
    raised: BaseException | None = None
    with driver.under_way(step.attempt) as effect:
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
        driver.after_call(steps, end)
    except LedgerError as error:
        raise error from error.__cause__ or raised
    if raised is not None:
        raise raised  # the outside has it, and the rest of the block was not done all the same


def refuse_async(tool: Any) -> None:
    """Refuse what has to be awaited.

    Raises:
        InvalidInput: the tool, or its probe, is a coroutine function.
    """
    if not tool.is_async:
        return
    for name, function in (("function", tool.function), ("probe", tool.probe)):
        if function is not None and is_async(function):
            raise invalid(
                name,
                f"{tool.name!r} is awaited, and nobody awaits here: use AsyncLedger (open_async_ledger)",
            )


def plain(value: T) -> T:
    """Return a value that is not to be awaited.

    Raises:
        InvalidInput: it is. Of a coroutine nothing has run; what returned it may have acted by itself.
    """
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise invalid("function", "it returned something to be awaited: use AsyncLedger (open_async_ledger)")
    return value
