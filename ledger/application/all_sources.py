"""All sources of a ledger: what they say now, and how what they say outside is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from ledger.application.checking import Checked, check_sources, read_source
from ledger.application.edge import Edge
from ledger.application.kinds import load_source
from ledger.application.readers import Read, Reader
from ledger.application.runs import Run
from ledger.application.shared import Shared, source_id
from ledger.canonical import invalid
from ledger.run.sources import SourceState
from ledger.values import Actor


class Readable:
    """The sources of a ledger, as functions that read them are registered; for both faces of it."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of tenant {self._shared.edge.tenant!r}>"

    def register(
        self, kind: str, read: Read, *, check_every: int | None = None, by: str | None = None
    ) -> Reader:
        """Let a function say what sources of a kind say outside, in the place of one registered before.

        It is called with the id of a source when a run that relies on it is resumed, and by `check`; in the
        thread of whoever asks, never while the gate judges. What it answers is published in the source's
        stream, what it leaves out is withdrawn there, and the run notes that it was read.

        Args:
            kind: of the sources, the part of their ids before the colon.
            read: from the id of a source to a `Reading`, or to None where there is no answer. It may raise.
                Where ids depend on what the source said before, it returns a function from the source's
                state to the `Reading`.
            check_every: seconds after which what was read is stale, which the gate says; within them the
                source is not read again. None: it is read each time, and what was read is never stale.
            by: who stands behind what it says, for sources that have owners; None: who writes.

        Raises:
            InvalidInput: the kind is malformed, `read` is no plain function, or `by` is an agent.
        """
        return self._shared.readers.register(kind, read, check_every=check_every, by=by)


class Sources(Readable):
    """The sources of a ledger. Called, it reads every source stream of the tenant, by id."""

    def __init__(self, shared: Shared, run: Callable[[str], Run]) -> None:
        super().__init__(shared)
        self._run = run

    def __call__(self) -> dict[str, SourceState]:
        """Read every source stream of the tenant, by id."""
        return every_source(self._shared.edge)

    def check(
        self, source: str | None = None, *, run: Run | str | None = None, force: bool = False
    ) -> list[Checked]:
        """Read one source outside, or those of a run's constraints, and publish what they say.

        A reader that raises or gives no answer changes nothing; what it came to is told here and in the log
        `ledger`.

        Args:
            source: its id, `kind:name`; it is read whenever it was read last.
            run: the run whose sources are read, and that notes so; those only that are due.
            force: also those of the run that are not due.

        Returns:
            What came of each that was asked; of a run's sources those without a reader are not.

        Raises:
            InvalidInput: neither a source nor a run is named, or both.
            RunNotFound: no such run.
        """
        if source is not None or run is None:
            return [read_source(self._shared, one_source(source, run))]
        handle = self._run(run) if isinstance(run, str) else run
        return check_sources(self._shared, handle.contract, handle.do, force=force)


class Sourced(ABC):
    """What a ledger knows of its sources."""

    _shared: Shared

    @abstractmethod
    def run(self, run: str, *, actor: Actor | None = None, correlation: str | None = None) -> Run:
        """Return a handle on the present incarnation of a run."""

    @property
    def sources(self) -> Sources:
        """The sources: `sources()` reads them all by id, `register` lets a function read a kind of them."""
        return Sources(self._shared, self.run)


def one_source(source: str | None, run: object) -> str:
    """Return the source to check.

    Raises:
        InvalidInput: neither a source nor a run is named, or both, or the id is not `kind:name`.
    """
    if source is None or run is not None:
        raise invalid("source", "name a source, or a run")
    return source_id(source)


def every_source(edge: Edge) -> dict[str, SourceState]:
    """Read every source stream of the tenant, by id."""
    found: dict[str, SourceState] = {}
    for stream in edge.store.source_heads(edge.tenant):
        state = load_source(edge, stream).state
        # A head at 0 is only a name that a run claimed to have something from.
        if state.position:
            found[state.source] = state
    return found
