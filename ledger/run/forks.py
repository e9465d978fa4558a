"""Forks: a run that stands where another one stood, reads what is recorded, and never performs."""

from __future__ import annotations

from ledger.commands import ForkRun
from ledger.events import (
    AssumptionMade,
    CursorMoved,
    Event,
    MessageRecorded,
    MessagesSummarised,
    ObservationRecorded,
    PlanCommitted,
    RunForked,
)
from ledger.run.contract import Contract
from ledger.run.decision import (
    Admitted,
    Decision,
    Given,
    Refusal,
    stands_at,
)
from ledger.run.lineage import again, begun_from, constraints, exists


def fork(contract: Contract, command: ForkRun, given: Given) -> Decision:
    """Open a run that stands where this one stood at a position, reads what is recorded, and never performs.

    It owes nothing, may do nothing, and has the observations as old as they are.
    """
    then, taken = given.then, given.others.get(command.as_run)
    if then is None:
        reason = f"run {contract.run!r} never had position {command.at}: it stands at {contract.position}"
        return Refusal("not_open", reason, evidence={"kind": "position", "id": str(command.at)})
    opened = begun_from(then, "fork", then.position, None, then.goal.rests_on)
    begun = RunForked(
        at=command.at, by=command.by, hash=then.hash, origin=contract.run, reason=command.reason
    )
    if taken is not None:
        # What a fork was opened with never changes, and tells a repeat.
        same = (taken.fork_of, taken.parent) == (contract.run, opened.parent)
        return stands_at(command.at) if same and taken.position >= 2 else exists(taken)
    events: list[Event] = [opened, begun]
    events += constraints(then, {}, command.by or given.actor.id)
    events += (again(AssumptionMade, item) for item in then.assumptions if item.refuted is None)
    if then.plan is not None:
        events.append(PlanCommitted(by=then.plan.by, reason=then.plan.reason, steps=then.plan.steps))
    events += (again(ObservationRecorded, item) for item in then.observations if item.invalidated is None)
    if then.summary is not None:
        # Before the messages that came after it: one of them may have the id of the last that it stands for.
        events.append(again(MessagesSummarised, then.summary))
    events += (again(MessageRecorded, item) for item in then.messages)
    if then.cursor is not None:
        events.append(again(CursorMoved, then.cursor))
    return Admitted((), beside={command.as_run: tuple(events)})
