"""What deciding a command takes and yields.

Time, ids and everything that stands outside the run (the source streams, what the store found under a key)
are handed in, so that a decision is a pure function and can be taken again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ledger.commands import Command, forbidden_to_agents
from ledger.events import Event, Reason
from ledger.record import Record
from ledger.values import Actor, Verdict

if TYPE_CHECKING:
    from ledger.run.contract import Contract
    from ledger.run.known import EffectHistory
    from ledger.run.sources import SourceState

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class PassedOn(NamedTuple):
    """What was passed on of a grant that is to end."""

    grants: Mapping[str, frozenset[tuple[str, int]]] = _NOTHING
    """Ids and positions of the grants of other runs that stem from it, by run."""
    unread: Mapping[str, str] = _NOTHING
    """Runs that cannot be read and may have some of it, with the code of the error."""


class Given(NamedTuple):
    """What a decision is taken under, beside the contract and the command."""

    actor: Actor
    now: datetime
    run: str
    """Id of the run (or source) the command speaks to."""
    incarnation: int | None = None
    """Incarnation the caller belongs to; requests of an older one are fenced. None: the present one."""
    prior: tuple[Record, ...] = ()
    """What the store holds under the command's key, where the contract cannot tell: the newest few, oldest
    first."""
    sources: Mapping[str, SourceState] = _NOTHING
    """Source streams the command names, as they stand."""
    earlier: tuple[Event, ...] = ()
    """What the same command yielded before a guard moved; empty at the first try."""
    looked: Looked | None = None
    """What the store holds of the effect a command speaks of; None where it was not asked."""
    secret: str | None = None
    """Where the arguments of an act hold a secret, and why it is taken for one."""
    lease_now: datetime | None = None
    """The time by the clock that leases are judged by; None: `now`."""
    judged: Judgement | None = None
    """What the gate says of the run, where a command asks it."""
    others: Mapping[str, Contract] = _NOTHING
    """Contracts of other runs that a command speaks of: those that exist, by id."""
    then: Contract | None = None
    """The contract as it stood where a command speaks of the past."""
    passed_on: PassedOn = PassedOn()
    """What other runs have of a grant that a command ends; their contracts are among `others`."""
    authenticated_answers: bool = False
    """Answers to approvals are taken only from who is authenticated as the person that they name."""

    @property
    def for_leases(self) -> datetime:
        """The time to judge leases by."""
        return self.lease_now or self.now


class Judgement(NamedTuple):
    """What the gate says: whether a stopped run may go on, and every reason why not."""

    reasons: tuple[Reason, ...] = ()
    """The strictest first; none where it may go on."""
    verdict: Verdict = Verdict.CONTINUE
    """The strictest that a reason calls for."""
    is_live: bool = False
    """Somebody else is at work on the run: the answer is told, and holds nobody."""


class Looked(NamedTuple):
    """What the store holds of an effect, across all runs of the lineage."""

    effect: EffectHistory | None = None
    """What is recorded under its key."""
    lease_until: datetime | None = None
    """End of its last attempt's lease where that was renewed."""
    same_act: tuple[EffectHistory, ...] = ()
    """The same act under other keys, the first intended first."""
    undoing: EffectHistory | None = None
    """The effect that is said to have undone an earlier one."""
    intentions: int = 0
    """How often the act was intended, under all its keys."""


class Act(NamedTuple):
    """An act, and how much of it was seen when something was decided."""

    digest: bytes
    intentions: int = 0
    """How often it was intended; 0: nobody has, or nobody looked."""


class Admitted(NamedTuple):
    """The command is admitted: append these events."""

    events: tuple[Event, ...]
    guards: Mapping[str, int] = _NOTHING
    """Source streams that must still stand at these positions when the append commits."""
    position: int | None = None
    """Where the same statement stands already; then there is nothing to append."""
    beside: Mapping[str, tuple[Event, ...]] = _NOTHING
    """Events of other runs that are appended with these or not at all: behind those of `Given.others`, and as
    the beginning of any other."""
    fresh: tuple[Act, ...] = ()
    """Acts that nobody may have intended, beyond what was seen, before the append commits."""


class Refusal(NamedTuple):
    """A rule said no."""

    rule: str
    """Stable code of the rule, as in `ledger.errors.RULES`."""
    message: str
    position: int | None = None
    """Event the refusal rests on."""
    evidence: Mapping[str, Any] = _NOTHING
    events: tuple[Event, ...] = ()
    """Events that record the refusal; they are appended although the command is refused."""


Decision = Admitted | Refusal


class Ruling(NamedTuple):
    """The rule of one command, and everything it may come to.

    The reference is written from it, and tests hold the rule to it.
    """

    decide: Callable[[Any, Any, Given], Decision]
    """From (state, command, given) to a decision."""
    events: tuple[type[Event], ...]
    """What the rule itself may yield, beside a repeat, which yields nothing."""
    refusals: tuple[str, ...] = ()
    """Codes of the refusals of the rule itself, beside what bars any command."""


def admitted(*events: Event) -> Admitted:
    """Admit a command that yields these events."""
    return Admitted(events)


E = TypeVar("E", bound=Event)


def stated(kind: type[E], command: Command, **found: Any) -> E:
    """Build the event that states what a command asks for, and what was found out while deciding it.

    Fields of the same name hold the same kind of value in both, so what the command was checked for when it
    was made holds for the event.
    """
    shared, defaults = _fields(kind, type(command))
    fields = defaults.copy()
    given = command.__dict__
    for name in shared:
        fields[name] = given[name]
    fields.update(found)
    return kind.unchecked(fields)


@cache
def _fields(kind: type[Event], command: type[Command]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Return the fields that an event shares with a command, and all of its own, in their order."""
    own = {name: field.default for name, field in kind.model_fields.items()}
    return tuple(name for name in own if name in command.model_fields), own


def stands_at(position: int) -> Admitted:
    """Admit a repeat: the same statement stands at this position."""
    return Admitted((), position=position)


def is_agent(actor: Actor) -> bool:
    """Tell whether an agent decides here: itself, or through services that act for it.

    A service passes on what somebody else decided, so it is the nearest who is not a service that counts.
    """
    return acting(actor).startswith("agent:")


def acting(actor: Actor) -> str:
    """Name who decides: the actor, or the nearest for whom a service acts that is none itself."""
    chain = (actor.id, *actor.on_behalf_of)
    return next((one for one in chain if not one.startswith("service:")), actor.id)


def said_by(actor: Actor, named: str | None) -> str | None:
    """Name the agent that wrote something in the name of somebody else; None: it did not, or it was none."""
    who = acting(actor)
    return who if named is not None and named != who and who.startswith("agent:") else None


def not_for_agents(command: Command, given: Given) -> Refusal | None:
    """Refuse an agent what is for people and services only: who writes, or who is said to have decided."""
    if not forbidden_to_agents(command):
        return None
    who = given.actor.id if is_agent(given.actor) else _agent_named(command)
    if who is None:
        return None
    return Refusal(
        "not_for_agents",
        f"{command.name} is for people and services, not for {who}",
        evidence={"command": command.name, "actor": who},
    )


def _agent_named(command: Command) -> str | None:
    """Return the agent in whose name a command is given."""
    named = (command.__dict__.get(name) for name in ("by", "granted_by"))
    return next((one for one in named if one is not None and one.startswith("agent:")), None)


def not_open(kind: str, id: str) -> Refusal:
    """Refuse acting on something that is not open."""
    return Refusal("not_open", f"no {kind} {id!r} is open", evidence={"kind": kind, "id": id})


def run_is_closed(contract: Contract) -> Refusal:
    """Refuse what a closed run takes no more."""
    closed = contract.closed
    assert closed is not None
    more = "" if closed.successor is None else f"; {closed.successor!r} succeeds it"
    evidence = {"outcome": closed.outcome.value, "successor": closed.successor}
    return Refusal(
        "run_is_closed",
        f"the run was closed as {closed.outcome} at position {closed.position}{more}",
        position=closed.position,
        evidence={name: value for name, value in evidence.items() if value is not None},
    )


def id_in_use(kind: str, id: str, position: int) -> Refusal:
    """Refuse an id that stands for something else."""
    return Refusal(
        "id_in_use",
        f"{kind} {id!r} was stated at position {position} with other content",
        position=position,
        evidence={"kind": kind, "id": id},
    )
