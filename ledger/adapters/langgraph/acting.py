"""The run of a thread as its nodes act through it: what earlier runs of the thread did is not done again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from functools import partial
from typing import Any, Unpack

from anyio import to_thread

from ledger import AsyncLedger, AsyncRun, Run, Tool
from ledger.adapters.langgraph.earlier import Earlier, Past
from ledger.application.acting import Doing
from ledger.application.acts import Options
from ledger.application.performing import Block
from ledger.errors import AlreadyDone, InvalidInput
from ledger.gateway.tools import Declared, Function
from ledger.run.history import EffectHistory
from ledger.run.permission import Permission
from ledger.values import Recovery


def acting_run(run: Run, earlier: Earlier | None) -> Run:
    """Return a run as nodes act through it; `earlier` is None where it is the first of its thread."""
    return run if earlier is None else ThreadRun(run, earlier)


def aacting_run(run: AsyncRun, earlier: Earlier | None, face: AsyncLedger) -> AsyncRun:
    """Return a run as nodes act through it in an event loop, whose face of the ledger is given."""
    return run if earlier is None else AsyncThreadRun(run, earlier, face)


class ThreadRun(Run):
    """A run that goes on from others of its thread, and looks for acts there before it begins one."""

    def __init__(self, run: Run, earlier: Earlier) -> None:
        """Take the handle of a run: both are one writer, and share what they know of it."""
        self.__dict__.update(run.__dict__)
        self._earlier = earlier

    def _settled(self, one: Doing, args: Mapping[str, Any] | None, options: Options) -> Past | None:
        """Find what is known of an act, once the outside was asked about what nobody knows."""
        past = _find(self._earlier, one, args, options)
        if past is None or past.doubt is None or not _may_ask(one, self._weigh(one), past.doubt):
            return past
        with suppress(InvalidInput):  # its tool cannot be asked from here
            past.run.ask(past.doubt)
        return _find(self._earlier, one, args, options)

    def perform(
        self,
        tool: Tool | str | Function,
        args: Mapping[str, Any] | None = None,
        function: Function | None = None,
        **options: Unpack[Options],
    ) -> Any:
        """Act on the outside once; as `Run.perform`. What an earlier run of the thread did is returned."""
        one = self._doing(tool, args, function, options, once=False)
        past = self._settled(one, args, options)
        return self._perform(one) if past is None else _result(one, past.check())

    def may(
        self,
        tool: Tool | str | Function,
        args: Mapping[str, Any] | None = None,
        function: Function | None = None,
        **options: Unpack[Options],
    ) -> Any:
        """Say what `perform` would be told now; as `Run.may`."""
        one = self._doing(tool, args, function, options, once=False, keeps=False)
        return _joined(self._weigh(one), _find(self._earlier, one, args, options))

    def effect(
        self, tool: Tool | str, args: Mapping[str, Any] | None = None, **options: Unpack[Options]
    ) -> AbstractContextManager[Block]:
        """Perform an act whose body is a block; as `Run.effect`.

        Raises:
            AlreadyDone: an earlier run of the thread did it, too.
        """
        block = super().effect(tool, args, **options)
        return self._entered(self._enclosing(tool, args, options), args, options, block)

    @contextmanager
    def _entered(
        self,
        one: Doing,
        args: Mapping[str, Any] | None,
        options: Options,
        block: AbstractContextManager[Block],
    ) -> Iterator[Block]:
        past = self._settled(one, args, options)
        if past is not None:
            raise _done_before(one, past.check())
        with block as entered:
            yield entered


class AsyncThreadRun(AsyncRun):
    """A run as `ThreadRun`, for an event loop."""

    def __init__(self, run: AsyncRun, earlier: Earlier, face: AsyncLedger) -> None:
        """Take the handle of a run: both are one writer, and share what they know of it."""
        self.__dict__.update(run.__dict__)
        self._earlier = earlier
        self._face = face

    async def _settled(self, one: Doing, args: Mapping[str, Any] | None, options: Options) -> Past | None:
        """Find what is known of an act, once the outside was asked about what nobody knows."""
        past = await _afind(self._earlier, one, args, options)
        if past is None or past.doubt is None or not _may_ask(one, await self._weigh(one), past.doubt):
            return past
        before = await self._face.run(past.run.id, actor=past.run.actor)
        with suppress(InvalidInput):  # its tool cannot be asked from here
            await before.ask(past.doubt)
        return await _afind(self._earlier, one, args, options)

    def perform(
        self,
        tool: Tool | str | Function,
        args: Mapping[str, Any] | None = None,
        function: Function | None = None,
        **options: Unpack[Options],
    ) -> Coroutine[Any, Any, Any]:
        """Act on the outside once; as `AsyncRun.perform`. What an earlier run did is returned."""
        one = self._doing(tool, args, function, options, once=False)

        async def performed() -> Any:
            past = await self._settled(one, args, options)
            if past is not None:
                return await to_thread.run_sync(_result, one, past.check())
            return await self._perform(one)

        return performed()

    def may(
        self,
        tool: Tool | str | Function,
        args: Mapping[str, Any] | None = None,
        function: Function | None = None,
        **options: Unpack[Options],
    ) -> Coroutine[Any, Any, Permission]:
        """Say what `perform` would be told now; as `AsyncRun.may`."""
        one = self._doing(tool, args, function, options, once=False, keeps=False)

        async def weighed() -> Permission:
            return _joined(await self._weigh(one), await _afind(self._earlier, one, args, options))

        return weighed()

    def effect(
        self, tool: Tool | str, args: Mapping[str, Any] | None = None, **options: Unpack[Options]
    ) -> AbstractAsyncContextManager[Block]:
        """Perform an act whose body is a block; as `AsyncRun.effect`."""
        block = super().effect(tool, args, **options)
        return self._entered(self._enclosing(tool, args, options), args, options, block)

    @asynccontextmanager
    async def _entered(
        self,
        one: Doing,
        args: Mapping[str, Any] | None,
        options: Options,
        block: AbstractAsyncContextManager[Block],
    ) -> AsyncIterator[Block]:
        past = await self._settled(one, args, options)
        if past is not None:
            raise await to_thread.run_sync(_done_before, one, past.check())
        async with block as entered:
            yield entered


def _find(earlier: Earlier, one: Doing, args: Mapping[str, Any] | None, options: Options) -> Past | None:
    """Ask the runs before about an act; what only looks is looked at again."""
    tool = one.act.tool
    if tool.recovery is Recovery.READ_ONLY:
        return None
    named: Any = {name: value for name, value in options.items() if name not in Declared.__annotations__}
    return earlier.find(lambda run: run.may(tool, args, **named))


def _may_ask(one: Doing, found: Permission, doubt: EffectHistory) -> bool:
    """Tell whether the outside may be asked about an act of an earlier run, whose tool is known here now.

    To ask may be to send it again, under the key that it had there: then the present run has to allow it.
    """
    sends = Recovery.IDEMPOTENT in (one.act.tool.recovery, doubt.recovery)
    return found.allowed or not sends


async def _afind(
    earlier: Earlier, one: Doing, args: Mapping[str, Any] | None, options: Options
) -> Past | None:
    return await to_thread.run_sync(partial(_find, earlier, one, args, options))


def _result(one: Doing, done: EffectHistory) -> Any:
    return None if done.result is None else one.read(done.result)


def _done_before(one: Doing, done: EffectHistory) -> AlreadyDone:
    return AlreadyDone(
        f"{one.act.tool.name!r} was done before, in {done.intended_in!r}, so the block is not entered",
        key=done.key,
        result=_result(one, done),
    )


def _joined(found: Permission, past: Past | None) -> Permission:
    """Say of an act what is known of it in the runs before, in front of what stands against it here."""
    if past is None:
        return found
    if past.against is None:
        return found._replace(allowed=False, done=True, key=past.permission.key, objections=())
    return found._replace(allowed=False, done=False, objections=(past.against, *found.objections))
