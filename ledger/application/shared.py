"""What all handles of one ledger share: who writes, what surrounds their commands, and the source streams."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pydantic import TypeAdapter, ValidationError

from ledger import commands as c
from ledger.application.credentials import no_secret
from ledger.application.edge import Edge
from ledger.application.kinds import SOURCE, load_source
from ledger.application.readers import Readers
from ledger.application.sayings import build, several
from ledger.application.statements import Context
from ledger.application.stream import Stream
from ledger.application.turns import Turns
from ledger.application.workshop import Workshop
from ledger.canonical import invalid
from ledger.gateway.tools import Tool
from ledger.run.sources import PREFIX, SourceState
from ledger.secrets import Secrets
from ledger.values import Actor, Limits, Runtime, SourceId, check_id, explain


class Shared:
    """What all handles of one ledger share. Threads may share it."""

    def __init__(
        self,
        edge: Edge,
        secrets: Secrets | None = None,
        tools: Iterable[Tool] = (),
        *,
        require_authority: bool = False,
    ) -> None:
        self.edge = edge
        self._require_authority = require_authority
        self.readers = Readers()
        self.workshop = Workshop(edge, secrets)
        self._harmless: set[Actor] = set()
        self._known_harmless(edge.actor)
        for tool in tools:
            self.workshop.register(tool)
        self._sources: dict[str, Turns[SourceState]] = {}

    def writer(self, actor: Actor | None) -> Actor:
        """Return who writes where a call names this actor, or nobody."""
        if actor is None:
            return self.edge.actor
        if not isinstance(actor, Actor):
            raise invalid("actor", f"give an Actor, e.g. Actor({str(actor)!r:.50})")
        self._known_harmless(actor)
        return actor

    def _known_harmless(self, actor: Actor) -> None:
        """Make sure that an actor holds no credential: it stands in each record that it writes."""
        if actor not in self._harmless:
            no_secret(self.workshop.secrets, {"actor": actor.model_dump(mode="json", exclude_none=True)})
            if len(self._harmless) >= _ACTORS_KEPT:
                self._harmless.clear()
            self._harmless.add(actor)

    def requires_authority(self, said: bool | None) -> bool:
        """Tell whether each act of a run that is opened here needs a grant; None: nobody said."""
        return self._require_authority if said is None else said

    def context(
        self, actor: Actor | None, incarnation: int | None, correlation: str | None = None
    ) -> Context:
        """Return what surrounds the commands of a handle on a run."""
        return Context(
            self.writer(actor),
            checked=True,
            correlation=correlation,
            incarnation=incarnation,
            sources=self.source_states,
        )

    def source_states(self, source: str, fresh: bool) -> Mapping[str, SourceState]:
        """Read a source stream; from then on its head exists, for guards to hold."""
        state = self.source_now(source) if fresh else self.source_turns(source).stream.state
        if state.position == 0:
            self.open_head(source)
        return {source: state}

    def source_now(self, source: str) -> SourceState:
        """Return what a source says now: one query, be it known here or not.

        Raises:
            InvalidInput: the id is not `kind:name`.
        """
        turns, is_new = self._sourced(source)
        return turns.stream.state if is_new else turns.look()

    def source_turns(self, source: str) -> Turns[SourceState]:
        """Return the stream of a source, shared by all of this ledger.

        Raises:
            InvalidInput: the id is not `kind:name`.
        """
        turns, _ = self._sourced(source)
        return turns

    def _sourced(self, source: str) -> tuple[Turns[SourceState], bool]:
        """Return the stream of a source, and whether it was read just now, in this call."""
        turns = self._sources.get(source)
        if turns is not None:
            return turns, False
        name = PREFIX + source_id(source)
        new = Turns(Stream(self.edge, name, SOURCE, load_source(self.edge, name)))
        # Each of these is one step, so there is no lock that a fork could leave locked.
        if len(self._sources) >= _SOURCES_KEPT:
            self._sources.clear()
        turns = self._sources.setdefault(source, new)
        return turns, turns is new

    def open_head(self, source: str) -> None:
        if source not in self.edge.opened_heads:
            self.edge.store.open_head(self.edge.tenant, PREFIX + source)
            self.edge.opened_heads.add(source)


def opening(
    goal: str,
    *,
    owner: str | None,
    labels: Mapping[str, str] | None,
    limits: Limits | None,
    require_authority: bool,
    rests_on: Sequence[str],
    runtime: Runtime | None,
    thread: str | None,
    about: Sequence[str],
) -> c.Command:
    """Build the command that opens a run.

    Raises:
        InvalidInput: a field is malformed; `path` names it.
    """
    return build(
        c.OpenRun,
        goal=goal,
        owner=owner,
        labels=labels,
        limits=limits,
        require_authority=require_authority,
        rests_on=several("rests_on", rests_on),
        runtime=runtime,
        thread=thread,
        about=several("about", about),
    )


def run_id(run: str) -> str:
    """Check the id of a run where it enters.

    Raises:
        InvalidInput: it is malformed, or a name of the ledger's own.
    """
    try:
        check_id(run)
        if run.startswith("$"):
            raise ValueError("ids that start with '$' are the ledger's own streams")
    except ValueError as error:
        raise invalid("run", str(error)) from None
    return run


def source_id(source: str) -> str:
    """Check the id of a source where it enters.

    Raises:
        InvalidInput: it is not `kind:name`.
    """
    try:
        return _SOURCE_ID.validate_python(source)
    except ValidationError as error:
        raise explain(error, root="source") from None


_SOURCE_ID: TypeAdapter[str] = TypeAdapter(SourceId)

_ACTORS_KEPT = 256
"""Actors that need no second look."""

_SOURCES_KEPT = 256
"""Sources whose state a ledger remembers; where each run has a prompt of its own there is no end of them."""
