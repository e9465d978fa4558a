"""The ledger of one tenant: open runs and sources, read contracts, logs and the global order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any
from weakref import WeakValueDictionary

from ledger.application.all_sources import Sourced
from ledger.application.briefing import Briefing
from ledger.application.differing import Differing
from ledger.application.edge import Edge
from ledger.application.effects import Effects
from ledger.application.expired import gone
from ledger.application.following import begin, follow
from ledger.application.imported import refuse_agents
from ledger.application.kind import Found
from ledger.application.kinds import RUN, load_contract
from ledger.application.lives import Lives
from ledger.application.query import Page, RunQuery, RunSummary
from ledger.application.reading import at_time, contents_of, loaded, log, records_of
from ledger.application.runs import Run, known
from ledger.application.sayings import counting, several
from ledger.application.shared import Shared, opening, run_id, source_id
from ledger.application.sources import SourceHandle
from ledger.application.statements import Context, Stated
from ledger.application.steps import blocking
from ledger.application.stream import Stream
from ledger.application.tip import Tip
from ledger.application.turns import Turns
from ledger.canonical import invalid
from ledger.errors import InvalidInput, NotFound, RunNotFound
from ledger.events import Event
from ledger.gateway.tools import Tool
from ledger.record import Record
from ledger.run.contract import Contract
from ledger.run.sources import PREFIX
from ledger.secrets import Secrets
from ledger.stores import forks
from ledger.stores.base import Blob, FullStore
from ledger.values import Actor, Limits, Runtime


class Ledger(Briefing, Differing, Effects, Lives, Sourced):
    """A ledger of one tenant. Threads may share it; a process that was forked off reopens its store.

    Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        edge: Edge,
        secrets: Secrets | None = None,
        tools: Iterable[Tool] = (),
        *,
        require_authority: bool = False,
    ) -> None:
        self._edge = edge
        self._shared = Shared(edge, secrets, tools, require_authority=require_authority)
        self._runs: WeakValueDictionary[str, Turns[Contract | None]] = WeakValueDictionary()

    @property
    def tenant(self) -> str:
        """The tenant whose runs and sources this ledger sees."""
        return self._edge.tenant

    @property
    def actor(self) -> Actor:
        """Who writes where a call names nobody."""
        return self._edge.actor

    @property
    def store(self) -> FullStore:
        """The store underneath, for maintenance and verification."""
        return self._edge.store

    def close(self) -> None:
        """Release the store; a second call does nothing."""
        self._edge.store.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of tenant {self.tenant!r}>"

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # --- writing ---------------------------------------------------------------------------------

    def open_run(  # noqa: PLR0913 - as the command has
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
    ) -> Run:
        """Open a run; the call returns once that is durable.

        Opened again with equal content, by the same actor in the same session, it is a repeat as long as
        nothing followed. With `require_authority` each of its acts needs a grant from the first one on, as
        do those of its children and successors; None: as the ledger was opened.

        Raises:
            RunExists: a run of this id was opened before: ask with `resume` whether it may go on, or choose
                another id.
            InvalidInput: an id or a field is malformed; `path` names it.
        """
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
        self._handle(turns, actor, None).do(command)
        return self._handle(turns, actor, 1)

    def run(self, run: str, *, actor: Actor | None = None, correlation: str | None = None) -> Run:
        """Return a handle on the present incarnation of a run. It joins the run and never resumes it.

        It is for further handles of a program that is running, and for who has something to say to a run; a
        program that was started again asks `resume`.

        Raises:
            RunNotFound: no such run; asking creates none.
        """
        turns, contract = self._joined(run)
        return self._handle(turns, actor, contract.incarnation, correlation)

    def _joined(self, run: str) -> tuple[Turns[Contract | None], Contract]:
        turns = self._runs.get(run)
        if turns is not None and turns.stream.tip.is_stored():
            return turns, known(run, turns.look())
        found = load_contract(self._edge, run_id(run))
        contract = known(run, found.state)
        return self._turns(run, found, instead_of=turns), contract

    def source(self, source: str, *, actor: Actor | None = None) -> SourceHandle:
        """Return a handle on a source stream, `kind:name`; it begins with what is first written to it."""
        shared = self._shared
        context = Context(shared.writer(actor), checked=True)
        return SourceHandle(shared.source_turns(source), source, context, shared.workshop.secrets)

    def import_events(
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
        """Append events that happened elsewhere, as they are: facts are not refused.

        No rule is asked, so that who imports may write any grant and withdraw any constraint. An agent may
        not, but for a run that begins with it: nothing that is not for agents to say, and no constraint in
        the place of another. No secret is looked for in them, nor in the contents.

        Args:
            run: the run; it begins with a RunOpened.
            events: all of them are stored together, or none.
            expected: position of the run before them; 0 where it does not exist.
            actor: who writes.
            relies_on: positions of source streams that the events rely on.
            blobs: contents the events name by digest.
            about: subjects the events are about.

        Raises:
            NotForAgents: an agent imports, or a service for one, and an event is not for it.
            PositionConflict: the run does not stand at `expected`.
            GuardMoved: a source does not stand where `relies_on` says.
            InvalidInput: a content is of no class that the ledger keeps.
            UndecodableRecord: the events make no run, e.g. do not begin with RunOpened.
        """
        writer = self._shared.writer(actor)
        found = Found[Contract | None](None) if expected == 0 else load_contract(self._edge, run_id(run))
        refuse_agents(writer, events, found.state)
        tip = Tip(self._edge, run_id(run), RUN, found)
        for name in relies_on or {}:
            self._shared.open_head(name)
        if expected:
            blocking(self._edge.store, tip.expect(expected))
        context = Context(writer, about=several("about", about), blobs=tuple(blobs))
        return blocking(self._edge.store, tip.import_events(events, context, relies_on or {}))

    def _handle(
        self,
        turns: Turns[Contract | None],
        actor: Actor | None,
        incarnation: int | None,
        correlation: str | None = None,
    ) -> Run:
        shared = self._shared
        context = shared.context(actor, incarnation, correlation)
        return Run(turns, context, partial(loaded, self._edge), shared)

    def _turns(
        self,
        run: str,
        found: Found[Contract | None],
        *,
        instead_of: Turns[Contract | None] | None = None,
    ) -> Turns[Contract | None]:
        """Return the run's stream, shared by all who hold a handle on it."""
        # This lock is free on both sides of a fork, whoever holds it.
        with forks.one_at_a_time:
            turns = self._runs.get(run)
            if turns is None or turns is instead_of:
                turns = self._runs[run] = Turns(Stream(self._edge, run, RUN, found))
            return turns

    # --- reading ---------------------------------------------------------------------------------

    def contract(self, run: str, at: int | datetime | None = None) -> Contract:
        """Return the contract of a run now, at a position, or as it stood at a time.

        Raises:
            RunNotFound: no such run, or it was opened after that time.
            InvalidInput: the run never had that position, or the time has no zone.
        """
        if at is not None and not isinstance(at, datetime) and type(at) is not int:
            raise invalid("at", "a position is a whole number, a time a datetime")
        upto = at_time(self._edge, run, at) if isinstance(at, datetime) else at
        if upto is not None and upto < 1:
            raise InvalidInput("at: positions count from 1", path="at", reason="positions count from 1")
        contract = load_contract(self._edge, run_id(run), upto=upto).state
        if contract is None:
            raise RunNotFound(f"no run {run!r} was opened", run=run)
        if upto is not None and contract.position < upto:
            reason = f"run {run!r} stands at position {contract.position}"
            raise InvalidInput(f"at: {reason}", path="at", reason=reason)
        return contract

    def log(
        self, run: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> Iterator[Record]:
        """Yield the records of a run in order: after < position ≤ upto, at most `limit`.

        Each is verified against its hash and the one before it. They are read a page at a time.

        Raises:
            RunNotFound: no such run.
            ChainBroken: the record is not what was written.
        """
        for name, value in (("after", after), ("upto", upto), ("limit", limit)):
            counting(name, value)
        return log(self._edge, run_id(run), after=after, upto=upto, limit=limit)

    def log_source(self, source: str, *, after: int = 0) -> Iterator[Record]:
        """Yield the records of a source stream in order.

        Raises:
            NotFound: nothing was ever published or withdrawn there.
            InvalidInput: the id is not `kind:name`, or `after` no position.
        """
        counting("after", after)
        records = records_of(self._edge, PREFIX + source_id(source), after=after)
        first = next(records, None)
        if first is None and after == 0:
            raise NotFound(f"no source {source!r} was opened", source=source)
        return _again(first, records)

    def runs(self, query: RunQuery | None = None, **fields: Any) -> Page:
        """List the runs that match a query, by id; `fields` are those of `RunQuery`.

        Raises:
            InvalidInput: a field is unknown or malformed.
        """
        if query is not None and (fields or not isinstance(query, RunQuery)):
            raise invalid("query", "give one RunQuery, or its fields")
        if query is None:
            query = RunQuery(**fields)
        found: list[RunSummary] = []
        for name in self._run_names(query.prefix, query.after or ""):
            contract = load_contract(self._edge, name).state
            if contract is None or not query.matches(contract):
                continue
            if len(found) == query.limit:
                return Page(tuple(found), found[-1].run)
            found.append(RunSummary.of(contract))
        return Page(tuple(found), None)

    def _contracts(self, run: str | None) -> Iterator[Contract]:
        if run is not None:
            yield self.contract(run)
            return
        for name in self._run_names("", ""):
            contract = load_contract(self._edge, name).state
            if contract is not None:
                yield contract

    def _run_names(self, prefix: str, after: str) -> Iterator[str]:
        while True:
            page = self._edge.store.heads(self._edge.tenant, after=after, prefix=prefix, limit=200)
            for head in page:
                if not head.stream.startswith("$"):
                    yield head.stream
            if len(page) < 200:
                return
            after = page[-1].stream

    def follow(
        self, after: int = 0, *, live: bool = False, idle_seconds: float | None = None
    ) -> Iterator[Record]:
        """Yield every record of the tenant in the global order, exactly once, runs and sources alike.

        On PostgreSQL a record is shown once nothing that began earlier can still come before it. Without
        `live` the iteration may therefore end before the last append; the next one goes on from there.

        Args:
            after: `global_position` of the last record that was dealt with.
            live: wait for more instead of ending; closing the ledger ends it.
            idle_seconds: with `live`, end when nothing came for so long.

        Raises:
            InvalidInput: `after` lies behind the end of the ledger, as after a restore from a backup.
            StoreBusy: with `live`, somebody's open transaction has held records back for long (on PostgreSQL,
                30 s); `holders` names who. Go on from the last record once it has ended.
        """
        begin(self._edge, after)
        return follow(self._edge, after, live=live, idle_seconds=idle_seconds)

    def blob(self, digest: str) -> bytes:
        """Read the content behind a digest (64 hexadecimal digits).

        Raises:
            HasExpired: it was dropped on purpose, as an event says. Whether a record has named it again since
                is not looked at: `verify` tells what is missing for another reason.
            NotFound: it is not here, and nothing says that it was dropped.
            IntegrityError: it is not what was written.
        """
        try:
            wanted = bytes.fromhex(digest)
        except (TypeError, ValueError):
            raise invalid("digest", "a digest is 64 hexadecimal digits") from None
        content = contents_of(self._edge, [wanted])
        if not content:
            raise gone(self._edge, wanted)
        return next(iter(content.values()))


def edge_of(ledger: Ledger) -> Edge:
    """Return what a ledger touches of the world, for another face of the same ledger."""
    return ledger._edge


def shared_of(ledger: Ledger) -> Shared:
    """Return what all handles of a ledger share, for another face of it to share too."""
    return ledger._shared


def _again(first: Record | None, rest: Iterator[Record]) -> Iterator[Record]:
    if first is not None:
        yield first
    yield from rest
