"""How a run stands: who worked on it last, what stopped it, what changed since, and how it ended."""

from __future__ import annotations

from ledger.events import Reason
from ledger.values import (
    Count,
    Ending,
    Id,
    Instant,
    Kept,
    Party,
    Payload,
    Position,
    Principal,
    RunId,
    Sha256,
    Text,
    Value,
    Verdict,
)


class Alive(Value):
    """The last sign of life of the run's program: a move, a message, an act, or what else it says itself.

    So is the begin of an incarnation, unless a person or a service without a session let the run go on for
    its program to pick up. What others say about the run (a revision, a report, a review) is none, nor is
    what comes in while the run is stopped.
    """

    at: Instant
    begun: bool = False
    """Nobody has worked on the run yet: this is who opened it, and perhaps prepares it for another one."""
    by: Principal
    position: Position
    rests: bool = False
    """It said that it waits for somebody: nothing is at work."""
    served_by: Principal | None = None
    """The service that did it for an agent at work on the run, which is who it is from; None: nobody's."""
    served_in: Id | None = None
    """The session of that service."""
    session: Id | None = None


class Meanwhile(Value):
    """Something that was said to the run after its program's last sign of life."""

    at: Instant
    by: Party | None = None
    """Who is said to have decided it, else who wrote it."""
    name: Id
    """Name of the event."""
    position: Position
    said_by: Principal | None = None
    """The agent that wrote it in the name of `by`; None: nobody's word stands between."""
    what: Text
    """In a few words."""


class SavedLine(Value):
    """The newest saved state of a line."""

    content: Kept
    id: Id
    line: Id | None = None
    position: Position


class Saved(Value):
    """What the program keeps of its own state."""

    dropped: Position | None = None
    """Where states were last dropped."""
    let_go: Count = 0
    """The newest states of all lines that are not named here were saved up to there."""
    lines: tuple[SavedLine, ...] = ()
    """The lines that moved last, the last one at the end: at most 64."""


class Suspension(Value):
    """Why the run waits, as last said."""

    at: Instant
    by: Party | None = None
    """Who asked for it, as was said."""
    cause: Id
    position: Position
    reaches_children: bool = False
    """Nothing that acts begins in its children either: a person asked for it, or a service that is not its
    own program."""
    reason: Text
    said_by: Principal | None = None
    """The agent that wrote it in the name of `by`; None: nobody's word stands between."""
    written_by: Principal | None = None
    """Who wrote it, where nobody is named as who asked for it; None: somebody is, or a limit stopped it."""

    @property
    def asked_by(self) -> str | None:
        """Who asked for it, or else wrote it; None: a limit stopped the run."""
        return self.by or self.written_by


class Hold(Value):
    """The verdict that holds the run, with all its reasons."""

    at: Instant
    position: Position
    reasons: tuple[Reason, ...] = ()
    verdict: Verdict


class Stopped(Value):
    """Where the run was first stopped since it last went on, by a suspension or by the gate."""

    at: Instant
    position: Position
    rival: Principal | None = None
    """The agent that stopped it and is not its program; None: its program did, or who is no agent."""


class Revoked(Value):
    """A grant that was revoked since the run last went on."""

    at: Instant
    by: Party
    id: Id
    position: Position
    principal: Principal | None = None
    """None: a grant that this run never held, as where a lineage passes none on."""
    reason: Text
    said_by: Principal | None = None
    """The agent that wrote it in the name of `by`; None: nobody's word stands between."""
    scopes: tuple[Id, ...] = ()


class Allowance(Value):
    """From where the run's limits count: it had reached one, and was let go on."""

    at: Instant
    effects: Count
    position: Position
    steps: Count


class Closing(Value):
    """How the run ended."""

    at: Instant
    by: Party | None = None
    obligations: tuple[Id, ...] = ()
    outcome: Ending
    position: Position
    reason: Text | None = None
    result: Payload | None = None
    """A long one is named by its digest."""
    successor: RunId | None = None
    unsettled: tuple[Sha256, ...] = ()
