"""The one place where commands are decided: from the contract, the command and what is given, to events.

Decided in this order: who may ask at all, whether the run exists, whether this handle was superseded, whether
the run is open; then the rule of the command itself, and whether what it would add goes beyond a limit.
Reports pass straight to their rule.
"""

from __future__ import annotations

from collections.abc import Sequence

from ledger import commands as c
from ledger import events as e
from ledger.record import Record
from ledger.run import (
    approvals,
    asking_anew,
    assumptions,
    authority,
    children,
    claims,
    consent,
    constraints,
    execution,
    forks,
    goal,
    lifecycle,
    limits,
    narrowing,
    obligations,
    observations,
    outcomes,
    resuming,
    reviews,
    states,
    successors,
)
from ledger.run.contract import Contract
from ledger.run.decision import Decision, Given, Refusal, Ruling, not_for_agents, run_is_closed
from ledger.run.sources import SOURCE_RULES
from ledger.values import Recovery

RULES: dict[type[c.Command], Ruling] = {
    c.OpenRun: Ruling(lifecycle.open_, (e.RunOpened,), ("run_exists",)),
    c.SuspendRun: Ruling(lifecycle.suspend, (e.RunSuspended,)),
    c.ResumeRun: Ruling(resuming.resume, (e.RunResumed, e.MessageRecorded, e.ResumeRefused)),
    c.ForkRun: Ruling(
        forks.fork,
        (
            e.RunOpened,
            e.RunForked,
            e.ConstraintAccepted,
            e.RevisionAcknowledged,
            e.AssumptionMade,
            e.PlanCommitted,
            e.ObservationRecorded,
            e.MessageRecorded,
            e.MessagesSummarised,
            e.CursorMoved,
        ),
        ("not_open", "run_exists"),
    ),
    c.RestartRun: Ruling(
        successors.restart,
        (
            e.RunClosed,
            e.RunOpened,
            e.RunRestarted,
            e.AssumptionMade,
            e.ConstraintAccepted,
            e.RevisionAcknowledged,
            e.ObservationRecorded,
            e.ObservationInvalidated,
            e.ObligationOpened,
            e.AuthorityGranted,
            e.AuthorityRevoked,
        ),
        ("effects_disabled", "contract_changed", "run_exists"),
    ),
    c.OpenChild: Ruling(
        children.open_child,
        (
            e.ObligationOpened,
            e.AuthorityCarved,
            e.RunOpened,
            e.ConstraintAccepted,
            e.RevisionAcknowledged,
            e.AuthorityGranted,
        ),
        (
            "effects_disabled",
            "run_exists",
            "id_in_use",
            "not_for_agents",
            "not_open",
            "authority_exceeded",
            "contract_changed",
        ),
    ),
    c.CloseRun: Ruling(
        lifecycle.close, (e.RunClosed, e.ObligationDischarged, e.AuthorityReturned), ("still_open",)
    ),
    c.ReviseGoal: Ruling(goal.revise_goal, (e.GoalRevised,), ("not_open",)),
    c.CommitPlan: Ruling(goal.commit_plan, (e.PlanCommitted,), ("id_in_use", "not_open")),
    c.RevisePlan: Ruling(goal.revise_plan, (e.PlanRevised,), ("id_in_use", "not_open")),
    c.AcceptConstraint: Ruling(
        constraints.accept,
        (e.ConstraintAccepted,),
        ("contract_changed", "id_in_use", "not_for_agents", "not_open"),
    ),
    c.WithdrawConstraint: Ruling(constraints.withdraw, (e.ConstraintWithdrawn,), ("not_open",)),
    c.AcknowledgeRevision: Ruling(
        constraints.acknowledge,
        (e.RevisionAcknowledged,),
        ("contract_changed", "not_for_agents", "not_open"),
    ),
    c.MakeAssumption: Ruling(assumptions.make, (e.AssumptionMade,), ("id_in_use", "not_open")),
    c.RefuteAssumption: Ruling(assumptions.refute, (e.AssumptionRefuted,), ("not_open",)),
    c.OpenObligation: Ruling(obligations.open_, (e.ObligationOpened,), ("id_in_use",)),
    c.DischargeObligation: Ruling(obligations.discharge, (e.ObligationDischarged,), ("not_open",)),
    c.WaiveObligation: Ruling(obligations.waive, (e.ObligationWaived,), ("not_open",)),
    c.TransferObligation: Ruling(obligations.transfer, (e.ObligationTransferred,), ("not_open",)),
    c.GrantAuthority: Ruling(authority.grant, (e.AuthorityGranted,), ("id_in_use",)),
    c.RenewAuthority: Ruling(authority.renew, (e.AuthorityRenewed,), ("authority_exceeded", "not_open")),
    c.NarrowAuthority: Ruling(
        narrowing.narrow,
        (e.AuthorityRevoked, e.AuthorityGranted, e.ObligationOpened),
        ("not_open", "id_in_use", "authority_exceeded"),
    ),
    c.RevokeAuthority: Ruling(authority.revoke, (e.AuthorityRevoked, e.ObligationOpened), ("not_open",)),
    c.RecordObservation: Ruling(observations.record, (e.ObservationInvalidated, e.ObservationRecorded)),
    c.InvalidateObservation: Ruling(observations.invalidate, (e.ObservationInvalidated,), ("not_open",)),
    c.RequestApproval: Ruling(
        asking_anew.request,
        (e.ApprovalRequested,),
        ("effects_disabled", "not_open", "approval_denied", "not_for_agents"),
    ),
    c.AnswerApproval: Ruling(approvals.answer, (e.ApprovalAnswered,), ("not_authenticated",)),
    c.ClaimEffect: Ruling(
        claims.claim,
        (e.EffectUnknown, e.EffectIntended, e.EffectStarted, e.ApprovalRequested, e.EffectRefused),
        (
            "secret_found",
            "run_is_held",
            "key_conflict",
            "effects_disabled",
            "effect_in_flight",
            "effect_failed",
            "outcome_unknown",
            "off_plan",
            "authority_exceeded",
            "contract_changed",
            "constraint_violated",
            "not_supported",
            "not_open",
            "possible_repeat",
            "approval_denied",
            "approval_required",
        ),
    ),
    c.ReportSuccess: Ruling(outcomes.succeed, (e.EffectSucceeded, e.EffectDisputed), ("not_open",)),
    c.ReportFailure: Ruling(
        outcomes.fail, (e.EffectFailed, e.EffectUnknown, e.ObligationOpened, e.EffectDisputed), ("not_open",)
    ),
    c.ReportUnknown: Ruling(outcomes.not_know, (e.EffectUnknown,), ("not_open",)),
    c.ReconcileEffect: Ruling(
        outcomes.reconcile, (e.EffectReconciled, e.ObligationOpened, e.EffectDisputed), ("not_open",)
    ),
    c.MoveCursor: Ruling(execution.move, (e.CursorMoved,), ("not_for_agents",)),
    c.RecordMessage: Ruling(execution.say, (e.MessageRecorded,), ("id_in_use",)),
    c.SummariseMessages: Ruling(execution.summarise, (e.MessagesSummarised,), ("not_open",)),
    c.SaveState: Ruling(states.save, (e.StateSaved,), ("not_supported", "state_moved")),
    c.SaveStatePart: Ruling(states.save_part, (e.StatePartSaved,), ("not_supported",)),
    c.DropStates: Ruling(states.drop, (e.StatesDropped,)),
    c.AdoptRuntime: Ruling(execution.adopt, (e.RuntimeAdopted,)),
    c.SignReview: Ruling(reviews.sign, (e.ReviewSigned,), ("not_open",)),
}
"""The rule of each command that speaks to a run and is performed by this release."""


def decide(contract: Contract | None, command: c.Command, given: Given) -> Decision:
    """Decide a command on a run; None is a run that was never opened."""
    barred = not_for_agents(command, given)
    if barred is not None:
        return barred
    ruling = RULES.get(type(command))
    if contract is None and not isinstance(command, c.OpenRun):
        return Refusal("run_not_found", f"no run {given.run!r} was opened", evidence={"run": given.run})
    if contract is None or isinstance(command, c.OpenRun):
        return RULES[c.OpenRun].decide(contract, command, given)
    if command.report:
        return _not_supported(command) if ruling is None else ruling.decide(contract, command, given)
    looks = isinstance(command, c.ClaimEffect) and command.recovery is Recovery.READ_ONLY
    # A look is asked about by who was found free to take it: what is held may look again, to be led out.
    barred = None if looks and contract.closed is None else _barred(contract, command, given)
    if barred is not None:
        return barred
    if ruling is None:
        return limits.beyond(contract, command, given) or _not_supported(command)
    decision = ruling.decide(contract, command, given)
    if decision.events:
        # Only what would add to the run can go beyond a limit: a repeat may still be told where it stands.
        decision = limits.beyond(contract, command, given) or decision
    events = limits.after_refusals(contract, decision.events)
    return decision if events is decision.events else decision._replace(events=events)


def may_yield(kind: type[c.Command]) -> tuple[type[e.Event], ...]:
    """List the events that a command may come to, its own and the suspension at a limit."""
    ruling = RULES.get(kind) or SOURCE_RULES.get(kind)
    limited = kind.stream == "run" and not (kind.report or kind.remedy or kind in _UNLIMITED)
    return (*(() if ruling is None else ruling.events), *((e.RunSuspended,) if limited else ()))


def may_refuse(kind: type[c.Command]) -> tuple[str, ...]:
    """List the codes of the refusals that a command may meet, in the order in which they are looked for."""
    codes = [] if kind.not_for_agents is None else ["not_for_agents"]
    if kind.stream == "run" and kind is not c.OpenRun:
        codes.append("run_not_found")
        if not kind.report:
            codes += ["superseded", "run_is_closed"]
            if not kind.remedy:
                codes.append("run_is_held")
        if kind not in RULES:
            return (*codes, "not_supported")
    ruling = RULES.get(kind) or SOURCE_RULES[kind]
    return tuple(dict.fromkeys((*codes, *ruling.refusals)))


_UNLIMITED = (c.OpenRun, c.SuspendRun)


def told(contract: Contract, command: c.Command, records: Sequence[Record]) -> Refusal | None:
    """Say what to tell who asked, where what was recorded is not what they asked for; None: it is.

    `contract` is that after the records. An act that waits for a person is recorded as waiting, an answer
    that does not count is recorded as given: neither is a refusal that leaves the run as it was.
    """
    if isinstance(command, c.ClaimEffect):
        return consent.told(contract, command, records)
    return approvals.told(contract, records) if isinstance(command, c.AnswerApproval) else None


TELLING = (e.ApprovalAnswered, e.ApprovalRequested)
"""Events of which it has to be told what they come to."""


def barred(contract: Contract, incarnation: int | None) -> Refusal | None:
    """Say why a handle of this incarnation must not act now, nor look at the outside; None: it may."""
    if contract.closed is not None:
        return _fenced(contract, incarnation) or run_is_closed(contract)
    return _fenced(contract, incarnation) or _waiting(contract)


def _barred(contract: Contract, command: c.Command, given: Given) -> Refusal | None:
    """Say why no request, or only a remedy, is admitted now."""
    fenced = _fenced(contract, given.incarnation)
    if fenced is not None:
        return fenced
    if contract.closed is not None and not (command.on_closed or lifecycle.closed_so(contract, command)):
        return run_is_closed(contract)
    if command.remedy or (contract.held is None and isinstance(command, c.SuspendRun)):
        return None
    return _waiting(contract)


def _fenced(contract: Contract, incarnation: int | None) -> Refusal | None:
    if incarnation is None or incarnation >= contract.incarnation:
        return None
    return Refusal(
        "superseded",
        f"the run was resumed: this handle is of incarnation {incarnation}, "
        f"the present one is {contract.incarnation}",
        position=contract.position,
        evidence={"incarnation": incarnation, "present": contract.incarnation},
    )


def _waiting(contract: Contract) -> Refusal | None:
    held, suspended = contract.held, contract.suspended
    if held is not None:
        return Refusal(
            "run_is_held",
            f"the run is held since position {held.position}: the gate said {held.verdict}",
            position=held.position,
            evidence={"verdict": held.verdict.value},
        )
    if suspended is not None:
        return Refusal(
            "run_is_held",
            f"the run is suspended since position {suspended.position}: {suspended.reason}",
            position=suspended.position,
            evidence={"cause": suspended.cause},
        )
    return None


def _not_supported(command: c.Command) -> Refusal:
    return Refusal(
        "not_supported",
        f"this release knows {command.name} and its record, but does not perform it",
        evidence={"command": command.name},
    )
