"""Who worked on a run last, and what was said to it since: what a resumed program does not know yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ledger import events as e
from ledger.record import Record
from ledger.run.approvals import answered
from ledger.run.contract import WINDOW, Contract
from ledger.run.decision import acting, is_agent, said_by
from ledger.run.fold import Changes
from ledger.run.markdown import name, names, shortened
from ledger.run.standing import Alive, Meanwhile
from ledger.values import Actor

_SIGNS = frozenset(
    {
        e.CursorMoved,
        e.EffectIntended,
        e.EffectRefused,
        e.EffectStarted,
        e.MessagesSummarised,
        e.RunForked,
        e.RunRestarted,
        e.RunResumed,
        e.StatePartSaved,
        e.StateSaved,
    }
)
"""What the program of a run says, and whoever works in its place.

Reports alone are no signs of life: a worker that was replaced sends them too.
"""

_ITS_OWN = frozenset(
    {
        e.AssumptionMade,
        e.AssumptionRefuted,
        e.AuthorityCarved,
        e.ConstraintAccepted,
        e.EffectFailed,
        e.EffectReconciled,
        e.EffectSucceeded,
        e.EffectUnknown,
        e.GoalRevised,
        e.MessageRecorded,
        e.ObligationDischarged,
        e.ObligationOpened,
        e.ObservationInvalidated,
        e.ObservationRecorded,
        e.PlanCommitted,
        e.PlanRevised,
        e.RevisionAcknowledged,
    }
)
"""What the program says too, where it comes from its own actor and session."""


def noted(contract: Contract, event: e.Event, record: Record) -> Changes:
    """Note a sign of life, or what others said since the last one."""
    kind = type(event)
    if _is_sign(contract, event, record):
        if contract.stopped is not None and kind is not e.RunResumed:
            return {}
        if kind is e.StatePartSaved and _comes_late(contract, event):  # type: ignore[arg-type]
            return {}
        sign = _sign(contract, event, record)
        return {"alive": sign, "meanwhile": ()} if contract.meanwhile else {"alive": sign}
    words = _WORDS.get(kind)
    if words is None or (kind is e.MessageRecorded and event.role == "ledger"):  # type: ignore[attr-defined]
        return {}
    what = words(event)
    if isinstance(event, e.ApprovalAnswered) and not answered(contract, event, record):
        what = f"{what}, which counts for nothing"
    named = _decided_by(event)
    one = Meanwhile.unchecked(
        {
            "at": record.at,
            "by": named or acting(record.actor),
            "name": record.name,
            "position": record.position,
            "said_by": said_by(record.actor, named),
            "what": shortened(what),
        }
    )
    return {"meanwhile": (*contract.meanwhile[1 - WINDOW :], one)}


def _decided_by(event: e.Event) -> str | None:
    """Name who is said to have decided it, which is not always who wrote it; None: the event does not say."""
    return next(filter(None, (getattr(event, name, None) for name in _DECIDING)), None)


_DECIDING = ("by", "accepted_by", "granted_by")


def _is_sign(contract: Contract, event: e.Event, record: Record) -> bool:
    """Tell whether the program said this, rather than somebody about it or to it."""
    kind = type(event)
    if kind is e.RunResumed:
        return not hands_over(record.actor)
    if kind is e.MessageRecorded and event.role == "ledger":  # type: ignore[attr-defined]
        return False
    # A person who changes the state by hand is nobody's program; one who goes on from the newest works on it.
    if kind is e.StateSaved and record.actor.kind == "human" and event.branch:  # type: ignore[attr-defined]
        return False
    if _is_work(event):
        # Nobody begins to work on a run by what they were refused.
        refused = kind is e.EffectRefused and not _is_by(contract.__dict__["alive"], record.actor)
        if refused and _is_left_to_others(contract, contract.__dict__["alive"]):
            return False
        return beside(contract, record.actor) is None
    if contract.stopped is not None or kind not in _ITS_OWN:
        return (
            False  # while it is stopped, the program says nothing: what comes from its session is news to it
        )
    # A successor takes these over in the moment in which it is opened, and its program says none of them.
    if contract.predecessor is not None and record.at == contract.opened_at:
        return False
    # A person is nobody's program, though they may have opened the run.
    if record.actor.kind == "human":
        return False
    last = contract.__dict__["alive"]
    return _is_by(last, record.actor) or (_is_handed_over(contract, last) and not hands_over(record.actor))


def _is_work(event: e.Event) -> bool:
    return type(event) in _SIGNS or (
        isinstance(event, e.MessageRecorded) and event.role in ("assistant", "tool")
    )


def _sign(contract: Contract, event: e.Event, record: Record) -> Alive | Record:
    """Return the last sign of life: who it is from, and whether that is somebody at work."""
    last = contract.__dict__["alive"]
    if _is_begun(last) and _is_by(last, record.actor) and not _begins_work(contract, event, record):
        return alive(record, begun=True)
    if type(event) is not e.RunResumed and _serves(contract, last, record.actor):
        one = alive(last) if isinstance(last, Record) else last
        served = {"served_by": record.actor.id, "served_in": record.actor.session}
        return alive(record).with_fields({"by": one.by, "session": one.session, **served})
    # Left open: of a long replay only the last sign is ever read.
    return record


def _begins_work(contract: Contract, event: e.Event, record: Record) -> bool:
    """Tell whether who opened a run begins to work on it, and does not only say what it begins with.

    A successor or a fork begins with what was said before, in the moment in which it is opened.
    """
    if not _is_work(event) or isinstance(event, e.RunForked | e.RunRestarted):
        return False
    derived = contract.predecessor is not None or contract.fork_of is not None
    return not (derived and record.at == contract.opened_at)


def _comes_late(contract: Contract, part: e.StatePartSaved) -> bool:
    """Tell whether a part was kept after the program had come to rest on a later state.

    What is kept of a piece of work may be written at once with the state that ends it.
    """
    last = contract.__dict__["alive"]
    rests = getattr(last.event, "rests", False) if isinstance(last, Record) else last.rests
    if not rests or contract.saved is None:
        return False
    newest = next((one for one in contract.saved.lines if one.line == part.line), None)
    return newest is not None and newest.position <= last.position and newest.id != part.state


def _is_handed_over(contract: Contract, last: Alive | Record) -> bool:
    """Tell whether who was heard of last leaves the work to others: by hand, or in a run that is derived."""
    by = last.actor.id if isinstance(last, Record) else last.by
    session = last.actor.session if isinstance(last, Record) else last.session
    derived = contract.parent is not None or contract.predecessor is not None or contract.fork_of is not None
    return (
        contract.resumed_position > last.position
        or hands_over(Actor(by, session=session))
        or (derived and _is_begun(last))
    )


def _is_left_to_others(contract: Contract, last: Alive | Record) -> bool:
    """Tell whether no program has said anything yet: who opens a run may have it worked on by another one."""
    return _is_begun(last) or _is_handed_over(contract, last)


def _is_begun(last: Alive | Record) -> bool:
    return isinstance(last, Alive) and last.begun


def rival(contract: Contract, actor: Actor) -> str | None:
    """Name an agent that is not the program at work on the run; None: it is, or nobody is, or it is none."""
    last = contract.__dict__["alive"]
    if not is_agent(actor) or _is_by(last, actor) or _is_handed_over(contract, last):
        return None
    return actor.id


def beside(contract: Contract, actor: Actor) -> str | None:
    """Name a person, or another agent than the one that is at work on the run, who does something in it.

    What they say is the run's all the same, but no sign of life of its program. The same agent in another
    session is its program, started again; whether two of them work at once is for the gate and the
    incarnation to tell.
    """
    last = contract.__dict__["alive"]
    if _is_left_to_others(contract, last) or _is_by(last, actor):
        return None
    if actor.kind == "human":
        return actor.id
    by = last.actor.id if isinstance(last, Record) else last.by
    return actor.id if is_agent(actor) and by.startswith("agent:") and by != acting(actor) else None


def _serves(contract: Contract, last: Alive | Record, actor: Actor) -> bool:
    """Tell whether a service does something for an agent that is at work on the run, as a gateway does."""
    by = last.actor.id if isinstance(last, Record) else last.by
    return (
        actor.kind == "service"
        and not is_agent(actor)
        and by.startswith("agent:")
        and not _is_left_to_others(contract, last)
    )


def hands_over(actor: Actor) -> bool:
    """Tell whether who lets a run go on leaves the work to its program: a person, or a service by hand."""
    return actor.kind == "human" or (actor.kind == "service" and actor.session is None)


def with_alive(contract: Contract) -> Contract:
    """Take the last sign of life out of its record, where that was left open in a contract of one's own."""
    last = contract.__dict__["alive"]
    if isinstance(last, Record):
        contract.__dict__["alive"] = alive(last)
    return contract


def _is_by(program: Alive | Record, actor: Actor) -> bool:
    """Tell whether who wrote is the program itself, which then knows it."""
    if isinstance(program, Record):
        return (actor.id, actor.session) == (program.actor.id, program.actor.session)
    return (actor.id, actor.session) == (program.by, program.session)


def alive(record: Record, *, begun: bool = False) -> Alive:
    """Take who wrote a record for who runs the program."""
    return Alive.unchecked(
        {
            "at": record.at,
            "begun": begun,
            "by": record.actor.id,
            "position": record.position,
            "rests": getattr(record.event, "rests", False),
            "served_by": None,
            "served_in": None,
            "session": record.actor.session,
        }
    )


_WORDS: dict[type[e.Event], Callable[[Any], str]] = {
    e.GoalRevised: lambda event: f"the goal is now: {event.text}",
    e.PlanCommitted: lambda event: f"a plan was committed: {names(step.name for step in event.steps)}",
    e.PlanRevised: lambda event: f"the plan is now: {names(step.name for step in event.steps)}",
    e.ConstraintAccepted: lambda event: f"constraint {name(event.id)} is in force: {event.text}",
    e.ConstraintWithdrawn: lambda event: f"constraint {name(event.id)} is no longer in force: {event.reason}",
    e.RevisionAcknowledged: lambda event: (
        f"revision {event.source.revision} of {event.source.stream} was read"
    ),
    e.AssumptionMade: lambda event: f"assumption {name(event.id)}: {event.text}",
    e.AssumptionRefuted: lambda event: f"assumption {name(event.id)} is wrong: {event.evidence}",
    e.ObligationOpened: lambda event: f"obligation {name(event.id)} to {name(event.owed_to)}: {event.text}",
    e.ObligationDischarged: lambda event: f"obligation {name(event.id)} is discharged: {event.evidence}",
    e.ObligationWaived: lambda event: f"obligation {name(event.id)} is waived: {event.reason}",
    e.ObligationTransferred: lambda event: f"obligation {name(event.id)} is now owed by {name(event.to)}",
    e.AuthorityGranted: lambda event: (
        f"grant {name(event.id)}: {name(event.principal)} may {names(event.scopes)}"
    ),
    e.AuthorityRenewed: lambda event: f"grant {name(event.id)} was renewed",
    e.AuthorityRevoked: lambda event: f"grant {name(event.id)} was revoked: {event.reason}",
    e.ApprovalAnswered: lambda event: f"approval {name(event.id)} was {event.answer}",
    e.ObservationRecorded: lambda event: f"{name(event.tool)} was asked: {name(event.key)}",
    e.ObservationInvalidated: lambda event: f"observation {name(event.key)} does not hold: {event.reason}",
    e.EffectSucceeded: lambda event: f"effect {event.key[:12]} succeeded",
    e.EffectFailed: lambda event: f"effect {event.key[:12]} failed",
    e.EffectReconciled: lambda event: f"effect {event.key[:12]}: {event.found}: {event.evidence}",
    e.EffectDisputed: lambda event: f"effect {event.key[:12]} is disputed",
    e.EffectCompensated: lambda event: f"effect {event.key[:12]} was undone",
    e.MessageRecorded: lambda event: f"a message of role {event.role}",
    e.MessagesSummarised: lambda event: f"the messages up to {name(event.through)} were summarised",
    e.CursorMoved: lambda event: f"the cursor was moved to {name(event.node)}",
    e.EffectIntended: lambda event: f"effect {event.key[:12]} of {name(event.tool)} was intended",
    e.StateSaved: lambda event: f"state {name(event.id)} was saved by hand",
    e.StatePartSaved: lambda event: f"work after state {name(event.state)} was saved",
    e.RunResumed: lambda event: f"it was let go on as incarnation {event.incarnation}",
    e.RuntimeAdopted: lambda event: f"another runtime was adopted: {event.reason}",
}
"""How each is told that others say to a run."""
