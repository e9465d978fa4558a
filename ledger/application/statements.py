"""What is said to a stream, on its way from the caller to the record and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ledger.commands import Command
from ledger.errors import StoreUnavailable
from ledger.record import Record
from ledger.run.decision import Judgement
from ledger.run.sources import SourceState
from ledger.stores.base import Blob
from ledger.values import Actor, Runtime


class Stated(NamedTuple):
    """What became of a command."""

    position: int
    """Where the statement stands: of the last event appended, or of the first one that said the same."""
    records: tuple[Record, ...] = ()
    """What was appended; empty for a repeat."""

    @property
    def repeated(self) -> bool:
        """The same statement stood there already, and nothing was added."""
        return not self.records

    def __repr__(self) -> str:
        names = ", ".join(record.name for record in self.records)
        return f"Stated(position={self.position}, {f'records=[{names}]' if names else 'repeated'})"


class Doubt(NamedTuple):
    """Events that may or may not be stored."""

    run: str
    after: int
    """Position of the event before them."""
    ids: tuple[str, ...]


@dataclass(slots=True)
class Asking:
    """What the gate is asked beside the contract, and what it said last: a race makes it judge again."""

    idle_seconds: int | None
    live_seconds: int
    check_every: Mapping[str, int]
    """How often each source of the contract has to be read, in seconds, by id."""
    runtime: Runtime | None = None
    take_over: bool = False
    judged: Judgement | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """What surrounds a command beside its content."""

    actor: Actor
    about: tuple[str, ...] = ()
    asking: Asking | None = field(default=None, compare=False)
    """How the gate is asked, where it is."""
    blobs: tuple[Blob, ...] = ()
    causation: str | None = None
    checked: bool = field(default=False, compare=False)
    """The command was built, and so checked, by the handle that asks."""
    correlation: str | None = None
    incarnation: int | None = None
    secret: str | None = None
    """Where the arguments of an act hold a secret, and why it is taken for one."""
    sources: Callable[[str, bool], Mapping[str, SourceState]] | None = None
    """Read a source stream a command names; True after it moved, and where nothing old may be told."""

    def with_blobs(self, blobs: tuple[Blob, ...]) -> Context:
        """Return the same with these contents; `replace` takes three times as long."""
        return Context(
            self.actor,
            self.about,
            self.asking,
            blobs,
            self.causation,
            self.checked,
            self.correlation,
            self.incarnation,
            self.secret,
            self.sources,
        )


class Statement:
    """A command on its way through a stream; without one it asks only that the stream looks at the store."""

    __slots__ = (
        "again",
        "caller",
        "command",
        "context",
        "doubts",
        "expected",
        "outcome",
        "weighed",
        "weighs",
    )

    def __init__(
        self,
        command: Command | None = None,
        context: Context | None = None,
        expected: int | None = None,
        again: StoreUnavailable | None = None,
        caller: object = None,
        weighs: bool = False,
    ) -> None:
        self.caller = caller
        """Who asks: the same one may repeat what got no answer by saying it again."""
        self.command = command
        self.context = context
        self.expected = expected
        self.again = again
        self.doubts: tuple[Doubt, ...] = ()
        """What was sent of it and may be stored, the last try first."""
        self.weighs = weighs
        """It is not to be said: what it would be told now is asked."""
        self.weighed: Any = None
        """What it would be told."""
        self.outcome: Stated | Exception | None = None
        """What is told to who asked; None as long as nothing is known."""
