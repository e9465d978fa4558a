"""The ledger of one tenant for an event loop: the names of `Ledger`, awaited."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread

from ledger.aio.handles import AsyncRun, AsyncSourceHandle
from ledger.aio.hands import Hands
from ledger.aio.lives import AsyncLives
from ledger.aio.performing import Surroundings
from ledger.aio.sources import AsyncSources
from ledger.aio.turns import AsyncTurns
from ledger.aio.workers import Workers
from ledger.application.effects import Registered
from ledger.application.following import PAGE, Patience, begin, page
from ledger.application.kind import Found
from ledger.application.kinds import RUN, SOURCE, load_contract
from ledger.application.ledger import Ledger, shared_of
from ledger.application.query import Page, RunQuery
from ledger.application.runs import known
from ledger.application.settling import Reconciled, Unsettled, not_asked, recorded_elsewhere
from ledger.application.shared import opening, run_id
from ledger.application.statements import Context, Stated
from ledger.application.stream import Stream
from ledger.errors import StoreUnavailable
from ledger.events import Event
from ledger.record import Record
from ledger.run.brief import Brief
from ledger.run.contract import Contract
from ledger.run.diff import Diff
from ledger.run.history import EffectHistory
from ledger.run.sources import PREFIX
from ledger.stores.base import Blob, FullStore
from ledger.values import Actor, Limits, Runtime


class AsyncLedger(AsyncLives, Registered):
    """A ledger of one tenant, for the tasks of one event loop of asyncio or trio.

    It belongs to the loop it was opened in. Reads go to worker threads; appends join the store's group
    commit, which a thread leads, so the loop never waits for a disk. Use it as an async context manager, or
    call `close`.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._shared = shared_of(ledger)
        self._edge = self._shared.edge
        self._hands = Hands(self._edge.store)
        self._read = self._hands.read
        self._around = Surroundings(self._hands, Workers(self._hands))
        self._runs: WeakValueDictionary[str, AsyncTurns[Contract | None]] = WeakValueDictionary()

    @property
    def tenant(self) -> str:
        """The tenant whose runs and sources this ledger sees."""
        return self._ledger.tenant

    @property
    def actor(self) -> Actor:
        """Who writes where a call names nobody."""
        return self._ledger.actor

    @property
    def store(self) -> FullStore:
        """The store underneath, for maintenance and verification."""
        return self._ledger.store

    async def close(self) -> None:
        """Release the store; a second call does nothing."""
        self._hands.close()
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._ledger.close)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of tenant {self.tenant!r}>"

    async def __aenter__(self) -> AsyncLedger:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    # --- writing ---------------------------------------------------------------------------------

    async def open_run(  # noqa: PLR0913 - as the command has
        self,
        run: str,
        goal: str,
        *,
        actor: Actor | None = None,
        owner: str | None = None,
        labels: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        require_authority: bool | None = None,
        rests_on: Sequence[str] = (),
        runtime: Runtime | None = None,
        thread: str | None = None,
        about: Sequence[str] = (),
    ) -> AsyncRun:
        """Open a run; as `Ledger.open_run`."""
        command = opening(
            goal,
            owner=owner,
            labels=labels,
            limits=limits,
            require_authority=self._shared.requires_authority(require_authority),
            rests_on=rests_on,
            runtime=runtime,
            thread=thread,
            about=about,
        )
        turns = self._turns(run_id(run), Found[Contract | None](None))
        await self._handle(turns, actor, None).do(command)
        return self._handle(turns, actor, 1)

    async def run(self, run: str, *, actor: Actor | None = None, correlation: str | None = None) -> AsyncRun:
        """Return a handle on the present incarnation of a run; as `Ledger.run`."""
        turns, contract = await self._joined(run)
        return self._handle(turns, actor, contract.incarnation, correlation)

    async def _joined(self, run: str) -> tuple[AsyncTurns[Contract | None], Contract]:
        turns = self._runs.get(run)
        if turns is not None and await self._read(turns.stream.tip.is_stored):
            return turns, known(run, await turns.look())
        found = await self._read(partial(load_contract, self._edge, run_id(run)))
        contract = known(run, found.state)
        return self._turns(run, found, instead_of=turns), contract

    async def source(self, source: str, *, actor: Actor | None = None) -> AsyncSourceHandle:
        """Return a handle on a source stream; as `Ledger.source`."""
        context = Context(self._shared.writer(actor), checked=True)
        state = (await self._read(partial(self._shared.source_turns, source))).stream.state
        stream = Stream(self._edge, PREFIX + source, SOURCE, Found(state))
        secrets = self._shared.workshop.secrets
        return AsyncSourceHandle(AsyncTurns(stream, self._hands), source, context, secrets)

    async def import_events(
        self,
        run: str,
        events: Sequence[Event],
        *,
        expected: int,
        actor: Actor | None = None,
        relies_on: Mapping[str, int] | None = None,
        blobs: Sequence[Blob] = (),
        about: Sequence[str] = (),
    ) -> Stated:
        """Append events that happened elsewhere, as they are; as `Ledger.import_events`."""
        append = partial(
            self._ledger.import_events,
            run,
            events,
            expected=expected,
            actor=actor,
            relies_on=relies_on,
            blobs=blobs,
            about=about,
        )
        # Never left behind by a cancelled caller: its end is awaited.
        return await self._hands.surely(append)

    def _handle(
        self,
        turns: AsyncTurns[Contract | None],
        actor: Actor | None,
        incarnation: int | None,
        correlation: str | None = None,
    ) -> AsyncRun:
        context = self._shared.context(actor, incarnation, correlation)
        return AsyncRun(turns, context, self._shared, self._around)

    def _turns(
        self,
        run: str,
        found: Found[Contract | None],
        *,
        instead_of: AsyncTurns[Contract | None] | None = None,
    ) -> AsyncTurns[Contract | None]:
        """Return the run's stream, shared by all who hold a handle on it."""
        turns = self._runs.get(run)
        if turns is None or turns is instead_of:
            turns = self._runs[run] = AsyncTurns(Stream(self._edge, run, RUN, found), self._hands)
        return turns

    # --- effects ---------------------------------------------------------------------------------

    async def effect(self, key: str) -> EffectHistory:
        """Return what is known of an effect, across all runs of its lineage; as `Ledger.effect`."""
        return await self._read(partial(self._ledger.effect, key))

    async def effects(self, run: str | None = None, *, unknown: bool = False) -> list[Unsettled]:
        """List what is unsettled, the oldest first; as `Ledger.effects`."""
        return await self._read(partial(self._ledger.effects, run, unknown=unknown))

    async def reconcile(
        self, run: str | None = None, *, actor: Actor | None = None
    ) -> AsyncGenerator[Reconciled, None]:
        """Ask the outside about every effect of which nobody knows; as `Ledger.reconcile`.

        Leave it through `contextlib.aclosing(...)` where not all of it is wanted.
        """
        for one in await self.effects(run):
            elsewhere = recorded_elsewhere(one.effect)
            because = not_asked(one, self._shared.workshop.known)
            if elsewhere is not None:
                await (await self.run(one.run, actor=actor)).do(elsewhere)
                yield Reconciled(one.run, one.effect, elsewhere.found, elsewhere.evidence)
            elif because is not None:
                yield Reconciled(one.run, one.effect, "not_asked", because)
            else:
                found, said = await (await self.run(one.run, actor=actor))._find_out(one.effect)
                yield Reconciled(one.run, await self.effect(one.effect.key), found, said)

    async def settle(
        self,
        key: str,
        *,
        happened: bool,
        evidence: str,
        by: str,
        result: Any = None,
        external_ref: str | None = None,
        actor: Actor | None = None,
    ) -> EffectHistory:
        """Record what a person found out about an effect; as `Ledger.settle`."""
        known = await self.effect(key)
        run = await self.run(await self._read(partial(self._ledger.answering_for, known)), actor=actor)
        said = {"evidence": evidence, "by": by, "result": result, "external_ref": external_ref}
        await run.settle(key, happened=happened, **said)
        return await self.effect(key)

    async def approve(
        self, id: str, *, by: str, reason: str | None = None, actor: Actor | None = None
    ) -> Stated:
        """Report that a person approved an act that waits; as `Ledger.approve`."""
        run = await self.run(await self.asked_in(id), actor=actor)
        return await run.approve(id, by=by, reason=reason)

    async def deny(
        self, id: str, *, by: str, reason: str | None = None, actor: Actor | None = None
    ) -> Stated:
        """Report that a person denied an act that waits; as `Ledger.deny`."""
        run = await self.run(await self.asked_in(id), actor=actor)
        return await run.deny(id, by=by, reason=reason)

    async def asked_in(self, approval: str) -> str:
        """Return the run that asked for an approval; as `Ledger.asked_in`."""
        return await self._read(partial(self._ledger.asked_in, approval))

    async def answering_for(self, known: EffectHistory) -> str:
        """Return the run that answers for an effect; as `Ledger.answering_for`."""
        return await self._read(partial(self._ledger.answering_for, known))

    # --- reading ---------------------------------------------------------------------------------

    async def contract(self, run: str, at: int | datetime | None = None) -> Contract:
        """Return the contract of a run now, at a position, or as it stood at a time; as `Ledger.contract`."""
        return await self._read(partial(self._ledger.contract, run, at))

    async def diff(
        self,
        run: str,
        other: str | None = None,
        *,
        at: int | datetime | None = None,
        to: int | datetime | None = None,
    ) -> Diff:
        """Tell what differs between a run earlier and later, or between two runs; as `Ledger.diff`."""
        return await self._read(partial(self._ledger.diff, run, other, at=at, to=to))

    async def brief(self, run: str, at: int | datetime | None = None) -> Brief:
        """Say what somebody must know who takes a run over, complete on its own; as `Ledger.brief`."""
        return await self._read(partial(self._ledger.brief, run, at))

    async def log(
        self, run: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> AsyncGenerator[Record, None]:
        """Yield the records of a run in order; as `Ledger.log`."""
        log = partial(self._ledger.log, run, after=after, upto=upto, limit=limit)
        async for record in self._through(log):
            yield record

    async def log_source(self, source: str, *, after: int = 0) -> AsyncGenerator[Record, None]:
        """Yield the records of a source stream in order; as `Ledger.log_source`."""
        async for record in self._through(partial(self._ledger.log_source, source, after=after)):
            yield record

    async def runs(self, query: RunQuery | None = None, **fields: Any) -> Page:
        """List the runs that match a query, by id; as `Ledger.runs`."""
        return await self._read(partial(self._ledger.runs, query, **fields))

    @property
    def sources(self) -> AsyncSources:
        """All sources: called and awaited, they are read by id; `register` lets a function read them."""
        return AsyncSources(self._shared, self._hands, self.run)

    async def follow(
        self, after: int = 0, *, live: bool = False, idle_seconds: float | None = None
    ) -> AsyncGenerator[Record, None]:
        """Yield every record of the tenant in the global order, exactly once; as `Ledger.follow`."""
        await self._read(partial(begin, self._edge, after))
        patience = Patience(idle_seconds)
        while True:
            try:
                found = await self._read(partial(page, self._edge, after))
            except StoreUnavailable as error:
                if live and error.data.get("reason") == "closed":
                    return
                raise
            for record in found.records:
                yield record
            if found.broken is not None:
                raise found.broken
            after = found.after
            if found.records:
                patience.renew()
            if not found.full:
                if not live or (wait := patience.left()) <= 0:
                    return
                await self._waited(after, wait)

    async def blob(self, digest: str) -> bytes:
        """Read the content behind a digest (64 hexadecimal digits); as `Ledger.blob`."""
        return await self._read(partial(self._ledger.blob, digest))

    async def _waited(self, after: int, seconds: float) -> None:
        # Each follower waits in a thread of its own, so that many of them never keep a read waiting.
        await anyio.to_thread.run_sync(
            partial(self._edge.store.wait, after, seconds),
            abandon_on_cancel=True,
            limiter=anyio.CapacityLimiter(1),
        )

    async def _through(self, begin: Callable[[], Iterator[Record]]) -> AsyncGenerator[Record, None]:
        """Go through what is read page by page, each page in a thread."""
        records = await self._read(begin)
        while some := await self._read(lambda: list(islice(records, PAGE))):
            for record in some:
                yield record


def leave(ledger: AsyncLedger) -> None:
    """Let the threads of a face end that was made beside a ledger, which is left to who opened it."""
    ledger._hands.close()
