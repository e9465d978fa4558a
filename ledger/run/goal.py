"""Goal and plan: what the run is to achieve, and the steps it bound itself to."""

from __future__ import annotations

from ledger.commands import CommitPlan, ReviseGoal, RevisePlan
from ledger.events import GoalRevised, PlanCommitted, PlanRevised
from ledger.record import Record
from ledger.run.assumptions import on_refuted
from ledger.run.contract import Contract, Goal, Plan
from ledger.run.decision import Decision, Given, Refusal, admitted, said_by, stands_at, stated
from ledger.run.fold import Changes


def revised(contract: Contract, event: GoalRevised, record: Record) -> Changes:
    """The goal is the new one, with who, why and the next revision."""
    goal = Goal.unchecked(
        {
            "at": record.at,
            "by": event.by,
            "position": record.position,
            "reason": event.reason,
            "rests_on": event.rests_on,
            "revision": contract.goal.revision + 1,
            "said_by": said_by(record.actor, event.by),
            "text": event.text,
        }
    )
    return {"goal": goal}


def planned(contract: Contract, event: PlanCommitted | PlanRevised, record: Record) -> Changes:
    """The plan is the new one, with the next revision."""
    plan = Plan(
        at=record.at,
        by=event.by,
        position=record.position,
        reason=event.reason,
        revision=1 if contract.plan is None else contract.plan.revision + 1,
        said_by=said_by(record.actor, event.by),
        steps=event.steps,
    )
    return {"plan": plan}


def revise_goal(contract: Contract, command: ReviseGoal, given: Given) -> Decision:
    """The goal as it stands, stated again by the same person for the same reason, is a repeat."""
    goal = contract.goal
    if (goal.text, goal.by, goal.reason, goal.rests_on) == (
        command.text,
        command.by,
        command.reason,
        command.rests_on,
    ):
        return stands_at(goal.position)
    return on_refuted(contract, command.rests_on) or admitted(stated(GoalRevised, command))


def commit_plan(contract: Contract, command: CommitPlan, given: Given) -> Decision:
    """A run commits to one plan; another one is a revision with a reason."""
    twin = _twin(command)
    if twin is not None:
        return twin
    if contract.plan is None:
        return _on_refuted(contract, command) or admitted(stated(PlanCommitted, command))
    if _planned_so(contract.plan, command):
        return stands_at(contract.plan.position)
    return Refusal(
        "id_in_use",
        f"a plan was committed at position {contract.plan.position}; revise it with a reason",
        position=contract.plan.position,
        evidence={"kind": "plan"},
    )


def revise_plan(contract: Contract, command: RevisePlan, given: Given) -> Decision:
    twin = _twin(command)
    if twin is not None:
        return twin
    if contract.plan is None:
        return Refusal("not_open", "no plan is committed yet: commit one", evidence={"kind": "plan"})
    if _planned_so(contract.plan, command):
        return stands_at(contract.plan.position)
    return _on_refuted(contract, command) or admitted(stated(PlanRevised, command))


def _on_refuted(contract: Contract, command: CommitPlan | RevisePlan) -> Refusal | None:
    return on_refuted(contract, (ref for step in command.steps for ref in step.rests_on))


def _planned_so(plan: Plan, command: CommitPlan | RevisePlan) -> bool:
    return (plan.steps, plan.by, plan.reason) == (command.steps, command.by, command.reason)


def _twin(command: CommitPlan | RevisePlan) -> Refusal | None:
    names = [step.name for step in command.steps]
    twins = sorted({name for name in names if names.count(name) > 1})
    if not twins:
        return None
    return Refusal(
        "id_in_use", f"the plan names step {twins[0]!r} twice", evidence={"kind": "step", "id": twins[0]}
    )
