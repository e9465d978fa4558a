"""The one place where commands are decided: from the contract, the command and what is given, to events.

Decided in this order: who may ask at all, whether the run exists, whether this handle was superseded, whether
the run is open, whether a limit is reached; then the rule of the command itself. Reports pass straight to
their rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ledger import commands as c
from ledger.run import (
    assumptions,
    authority,
    constraints,
    execution,
    goal,
    lifecycle,
    limits,
    obligations,
    observations,
    reviews,
)
from ledger.run.contract import Contract
from ledger.run.decision import Decision, Given, Refusal, not_for_agents

RULES: dict[type[c.Command], Callable[[Contract, Any, Given], Decision]] = {
    c.SuspendRun: lifecycle.suspend,
    c.CloseRun: lifecycle.close,
    c.ReviseGoal: goal.revise_goal,
    c.CommitPlan: goal.commit_plan,
    c.RevisePlan: goal.revise_plan,
    c.AcceptConstraint: constraints.accept,
    c.WithdrawConstraint: constraints.withdraw,
    c.AcknowledgeRevision: constraints.acknowledge,
    c.MakeAssumption: assumptions.make,
    c.RefuteAssumption: assumptions.refute,
    c.OpenObligation: obligations.open_,
    c.DischargeObligation: obligations.discharge,
    c.WaiveObligation: obligations.waive,
    c.TransferObligation: obligations.transfer,
    c.GrantAuthority: authority.grant,
    c.RenewAuthority: authority.renew,
    c.RevokeAuthority: authority.revoke,
    c.RecordObservation: observations.record,
    c.InvalidateObservation: observations.invalidate,
    c.MoveCursor: execution.move,
    c.RecordMessage: execution.say,
    c.SummariseMessages: execution.summarise,
    c.AdoptRuntime: execution.adopt,
    c.SignReview: reviews.sign,
}
"""The rule of each command that speaks to a run. OpenRun speaks to none yet."""


def decide(contract: Contract | None, command: c.Command, given: Given) -> Decision:
    """Decide a command on a run; None is a run that was never opened."""
    barred = not_for_agents(command, given)
    if barred is not None:
        return barred
    if isinstance(command, c.OpenRun):
        return lifecycle.open_(contract, command, given)
    if contract is None:
        return Refusal("run_not_found", f"no run {given.run!r} was opened", evidence={"run": given.run})
    rule = RULES.get(type(command))
    if rule is None:
        return Refusal(
            "not_supported",
            f"this release knows {command.name} and its record, but does not perform it",
            evidence={"command": command.name},
        )
    if not command.report:
        barred = _barred(contract, command, given)
        if barred is not None:
            return barred
    return _limited(contract, rule(contract, command, given))


def _barred(contract: Contract, command: c.Command, given: Given) -> Refusal | None:
    """Say why no request, or only a remedy, is admitted now."""
    if given.incarnation is not None and given.incarnation < contract.incarnation:
        return Refusal(
            "superseded",
            f"the run was resumed: this handle is of incarnation {given.incarnation}, "
            f"the present one is {contract.incarnation}",
            position=contract.position,
            evidence={"incarnation": given.incarnation, "present": contract.incarnation},
        )
    if contract.closed is not None:
        return Refusal(
            "run_is_closed",
            f"the run was closed as {contract.closed.outcome} at position {contract.closed.position}",
            position=contract.closed.position,
            evidence={"outcome": contract.closed.outcome.value},
        )
    if not command.remedy:
        held, suspended = contract.held, contract.suspended
        if held is not None:
            return Refusal(
                "run_is_held",
                f"the run is held since position {held.position}: the gate said {held.verdict}",
                position=held.position,
                evidence={"verdict": held.verdict.value},
            )
        if suspended is not None and not isinstance(command, c.SuspendRun):
            return Refusal(
                "run_is_held",
                f"the run is suspended since position {suspended.position}: {suspended.reason}",
                position=suspended.position,
                evidence={"cause": suspended.cause},
            )
    return limits.beyond(contract, command, given)


def _limited(contract: Contract, decision: Decision) -> Decision:
    events = limits.after_refusals(contract, decision.events)
    return decision if events is decision.events else replace(decision, events=events)
