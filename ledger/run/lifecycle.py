"""The life of a run: opened, suspended, resumed or held, forked, restarted, closed."""

from __future__ import annotations

from ledger.commands import CloseRun, Command, OpenRun, SuspendRun
from ledger.events import (
    ResumeRefused,
    RunClosed,
    RunForked,
    RunOpened,
    RunRestarted,
    RunResumed,
    RunSuspended,
)
from ledger.record import Record
from ledger.run.approvals import is_open, never_begun
from ledger.run.children import settled_with_parent
from ledger.run.contract import Contract, Goal
from ledger.run.decision import (
    Admitted,
    Decision,
    Given,
    Refusal,
    acting,
    admitted,
    is_agent,
    said_by,
    stands_at,
    stated,
)
from ledger.run.effects import inherited
from ledger.run.execution import merged
from ledger.run.fold import Changes, brief
from ledger.run.limits import CAUSES
from ledger.run.meanwhile import alive, rival
from ledger.run.standing import Allowance, Closing, Hold, Stopped, Suspension
from ledger.run.terms import changed_at
from ledger.values import Actor, Ending


def opened(event: RunOpened, record: Record) -> Contract:
    """The contract begins: goal, owner, labels, limits and runtime as they were given, nothing open."""
    goal = Goal(
        at=record.at,
        position=record.position,
        rests_on=event.rests_on,
        revision=1,
        text=event.goal,
        by=event.owner,
    )
    return Contract(
        alive=alive(record, begun=True),
        at=record.at,
        authority_needed=event.require_authority,
        goal=goal,
        hash=record.hash.hex(),
        labels=event.labels,
        limits=event.limits,
        opened_at=record.at,
        owner=event.owner,
        parent=event.parent,
        position=record.position,
        resumed_at=record.at,
        run=record.run,
        runtime=event.runtime,
        runtime_position=None if event.runtime is None else record.position,
        tenant=record.tenant,
        terms=changed_at(1),
        thread=event.thread,
    )


def suspended(contract: Contract, event: RunSuspended, record: Record) -> Changes:
    """The run waits, with the cause and the reason, until it is resumed."""
    suspension = Suspension(
        at=record.at,
        by=event.by,
        cause=event.cause,
        position=record.position,
        reaches_children=_reaches_children(contract, event.cause, event.by, record.actor),
        reason=event.reason,
        said_by=said_by(record.actor, event.by),
        written_by=None if event.by is not None or event.cause in CAUSES else acting(record.actor),
    )
    return {"stopped": _stopped(contract, record), "suspended": suspension}


def _reaches_children(contract: Contract, cause: str, by: str | None, actor: Actor) -> bool:
    """Tell whether a run is stopped with its parts: where a person asked for it, or a service.

    A limit stops the run alone. So does its own program, which may wait for them; who was last at work on the
    run counts as that, in whatever session. No agent stops a whole family by its word, whosever name it
    writes in. Nobody takes a stop back but who lets the run go on.
    """
    if contract.suspended is not None and contract.suspended.reaches_children:
        return True
    asked = by or actor.id
    if cause != "asked" or is_agent(actor) or asked.startswith("agent:"):
        return False
    last = contract.__dict__["alive"]  # in a long replay the record of it
    at_work = (last.actor.id,) if isinstance(last, Record) else (last.by, last.served_by)
    return not asked.startswith("service:") or asked not in at_work


def _stopped(contract: Contract, record: Record) -> Stopped:
    """Keep where it was first stopped, and whether only an agent that is not its program did so yet."""
    stopped, other = contract.stopped, rival(contract, record.actor)
    if stopped is None:
        return Stopped(at=record.at, position=record.position, rival=other)
    return stopped if stopped.rival is None or other is not None else stopped.with_fields({"rival": None})


def resumed(contract: Contract, event: RunResumed, record: Record) -> Changes:
    """The run goes on in the next incarnation, no longer held or suspended.

    Where a limit had stopped it, its limits count from here.
    """
    changes: Changes = {
        "held": None,
        "incarnation": event.incarnation,
        "resumed_at": record.at,
        "resumed_position": record.position,
        "revoked": (),
        "stopped": None,
        "suspended": None,
    }
    if contract.suspended is not None and contract.suspended.cause in CAUSES:
        tally = contract.tally
        changes["allowance"] = Allowance(
            at=record.at, effects=tally.effects, position=record.position, steps=tally.steps
        )
        changes["tally"] = tally.with_fields({"refusals_in_a_row": 0})
    if event.runtime is not None:
        changes.update(runtime=merged(contract.runtime, event.runtime), runtime_position=record.position)
    return changes


def resume_refused(contract: Contract, event: ResumeRefused, record: Record) -> Changes:
    """The run is held by the verdict, for these reasons."""
    hold = Hold(at=record.at, position=record.position, reasons=event.reasons, verdict=event.verdict)
    return {"held": hold, "stopped": _stopped(contract, record)}


def forked(contract: Contract, event: RunForked, record: Record) -> Changes:
    """The run is a fork of its origin."""
    return {"fork_of": event.origin}


def restarted(contract: Contract, event: RunRestarted, record: Record) -> Changes:
    """The run succeeds its predecessor, whose unsettled effects are its own from now on."""
    gone = (one.ref.partition(":") for one in event.dropped)
    return {
        "freed_from": tuple(name for kind, _, name in gone if kind == "run"),
        "predecessor": event.predecessor,
        "tally": contract.tally.with_fields({"effects_done": event.effects_done}),
        **inherited(contract, event.unsettled, record),
    }


def closed(contract: Contract, event: RunClosed, record: Record) -> Changes:
    """The run has ended, with the outcome and what was left open; what is open stays listed."""
    return {
        "closed": Closing(
            at=record.at,
            by=event.by,
            obligations=event.obligations,
            outcome=event.outcome,
            position=record.position,
            reason=event.reason,
            result=None if event.result is None else brief(event.result),
            successor=event.successor,
            unsettled=event.unsettled,
        )
    }


def open_(contract: Contract | None, command: OpenRun, given: Given) -> Decision:
    """Open a run once; opening it again with equal content is a repeat while nothing followed."""
    event = stated(RunOpened, command)
    if contract is None:
        return admitted(event)
    opener = contract.alive.by, contract.alive.session
    same = opener == (given.actor.id, given.actor.session) and _opened_so(contract, event)
    # Whoever else opens it with the same words is a second worker, and has to ask.
    if contract.position == 1 and same:
        return stands_at(1)
    return Refusal(
        "run_exists",
        f"run {given.run!r} was opened on {contract.opened_at:%Y-%m-%d %H:%M:%S} and is {contract.status}; "
        "ask with `ledger.resume` whether it may go on, or choose another id",
        position=1,
        evidence={"run": given.run, "status": contract.status},
    )


def _opened_so(contract: Contract, event: RunOpened) -> bool:
    said = (
        event.require_authority,
        event.goal,
        event.labels,
        event.limits,
        event.owner,
        event.rests_on,
        event.runtime,
        event.thread,
    )
    stands = (
        contract.authority_needed,
        contract.goal.text,
        contract.labels,
        contract.limits,
        contract.owner,
        contract.goal.rests_on,
        contract.runtime,
        contract.thread,
    )
    return said == stands and contract.parent is None


def suspend(contract: Contract, command: SuspendRun, given: Given) -> Decision:
    """Who stops a stopped run for another reason is heard as well; the same words again are a repeat.

    They are none after an agent that is not the run's program, whose word does not count for as much, nor
    where they reach further now.
    """
    old, stopped = contract.suspended, contract.stopped
    counts_more = stopped is not None and stopped.rival is not None and rival(contract, given.actor) is None
    if (
        old is not None
        and not counts_more
        and old.reaches_children == _reaches_children(contract, "asked", command.by, given.actor)
        and (old.cause, old.reason) == ("asked", command.reason)
        and old.asked_by == (command.by or acting(given.actor))
    ):
        return stands_at(old.position)
    return admitted(stated(RunSuspended, command, cause="asked"))


def close(contract: Contract, command: CloseRun, given: Given) -> Decision:
    """`completed` needs everything settled and discharged; other outcomes list what is left.

    Closing a closed run is admitted here only as a repeat, see `closed_so`.
    """
    if contract.closed is not None:
        return stands_at(contract.closed.position)
    obligations = tuple(item.id for item in contract.obligations)
    unsettled = tuple(effect.key for effect in contract.effects if not never_begun(effect))
    waiting = tuple(item.id for item in contract.approvals if is_open(contract, item, given.now))
    if command.outcome is Ending.COMPLETED and (obligations or unsettled or waiting):
        asked = f", {len(waiting)} approvals unanswered" if waiting else ""
        return Refusal(
            "still_open",
            f"the run cannot be completed with {len(unsettled)} effects unsettled{asked} and "
            f"{len(obligations)} obligations open; settle them, or close it as failed, cancelled or "
            "abandoned",
            position=contract.position,
            evidence={
                "obligations": list(obligations),
                "unsettled": list(unsettled),
                **({"approvals": list(waiting)} if waiting else {}),
            },
        )
    event = stated(RunClosed, command, obligations=obligations, unsettled=unsettled)
    return Admitted((event,), beside=settled_with_parent(contract, command, given))


def closed_so(contract: Contract, command: Command) -> bool:
    """Tell whether the command closes the run just as it was closed, which makes it a repeat."""
    closed = contract.closed
    if closed is None or not isinstance(command, CloseRun):
        return False
    result = None if command.result is None else brief(command.result)
    said = (command.outcome, command.by, command.reason, result)
    return said == (closed.outcome, closed.by, closed.reason, closed.result)
