"""Successors: a run that cannot go on is closed, and another one opened with what holds and what is open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ledger.commands import RestartRun
from ledger.events import (
    AuthorityGranted,
    AuthorityRevoked,
    Dropped,
    Event,
    GrantOrigin,
    InheritedEffect,
    ObligationOpened,
    ObservationInvalidated,
    ObservationRecorded,
    RunClosed,
    RunRestarted,
)
from ledger.run.above import freed
from ledger.run.approvals import is_denied, never_begun
from ledger.run.constraints import gone_at
from ledger.run.contract import Contract
from ledger.run.decision import (
    Admitted,
    Decision,
    Given,
    Refusal,
    run_is_closed,
    stands_at,
)
from ledger.run.fitting import named
from ledger.run.lineage import (
    again,
    assumptions,
    begun_from,
    constraints,
    exists,
    of_a_fork,
    rest_of,
)
from ledger.values import Ending, Ref


def restart(contract: Contract, command: RestartRun, given: Given) -> Decision:
    """Close the run and open its successor, with what still holds and what is still open.

    The successor has the effects of the lineage by their keys, inherits what is unsettled, owed and granted,
    and names what it was not given. It has no plan: that is made anew, and a diff shows what it changes.
    """
    taken = given.others.get(command.as_run)
    if contract.fork_of is not None:
        return of_a_fork(contract, "no run that does succeeds it")
    if contract.closed is not None:
        return _restarted_so(contract, command, taken) or run_is_closed(contract)
    if taken is not None:
        return exists(taken)
    dropped = dict(_dropped(contract, given))
    fallen = _refuted(contract)
    if command.goal is None and "goal" in fallen:
        return Refusal(
            "contract_changed",
            "the goal rests on a refuted assumption: say what the successor is to achieve (goal=…)",
            position=contract.goal.position,
            evidence={"goal": contract.goal.text},
        )
    gone = [
        *freed(contract, given.others, command.by),
        *(Dropped(reason=reason, ref=ref) for ref, reason in dropped.items()),
    ]
    closed = RunClosed(
        by=command.by,
        obligations=tuple(item.id for item in contract.obligations),
        outcome=Ending.RESTARTED,
        reason=command.reason,
        successor=command.as_run,
        unsettled=tuple(effect.key for effect in contract.effects if not never_begun(effect)),
    )
    rests_on = contract.goal.rests_on if command.goal is None else command.rests_on
    opened = begun_from(contract, "successor", contract.position, command.goal, rests_on)
    begun = RunRestarted(
        by=command.by,
        dropped=named(gone),
        effects_done=contract.tally.effects_done,
        predecessor=contract.run,
        predecessor_hash=contract.hash,
        predecessor_position=contract.position,
        reason=command.reason,
        unsettled=tuple(_inherited(contract)),
    )
    events: tuple[Event, ...] = (
        opened,
        begun,
        *assumptions(contract, dropped),
        *constraints(contract, dropped, command.by),
        *_observations(contract, rests_on, dropped),
        *_obligations(contract),
        *_authority(contract),
    )
    # What was found withdrawn, and what was not, is so when this is stored.
    guards = {name: state.position for name, state in sorted(given.sources.items())}
    return Admitted((closed,), guards, beside={command.as_run: events})


def _restarted_so(contract: Contract, command: RestartRun, taken: Contract | None) -> Decision | None:
    """Tell a repeat by the successor's name and words."""
    closed = contract.closed
    if closed is None or taken is None or closed.successor != command.as_run:
        return None
    if (closed.by, closed.reason) != (command.by, command.reason) or taken.predecessor != contract.run:
        return None
    return stands_at(closed.position)


def _dropped(contract: Contract, given: Given) -> Iterable[tuple[Ref, str]]:
    """Name what holds no more: withdrawn or lapsed constraints, and what rests on refuted assumptions."""
    for constraint in contract.constraints:
        ref = f"constraint:{constraint.id}"
        until = constraint.valid_until
        if until is not None and until <= given.now:
            yield ref, f"it was valid until {until.isoformat()}"
        elif constraint.source is not None:
            state = given.sources.get(constraint.source.stream)
            gone = None if state is None else gone_at(constraint, state)
            if gone is not None:
                by = "" if gone.by is None else f" by {gone.by}"
                said = f"{constraint.source.stream} withdrew it at its position {gone.position}{by}"
                yield ref, f"{said}: {gone.reason}"[:4096]
    for approval in contract.approvals:
        if not is_denied(approval):
            yield (
                f"approval:{approval.id}",
                "approvals are not passed on: where it is needed, it is asked anew",
            )
    fallen = _refuted(contract)
    for assumption in contract.assumptions:
        ref = f"assumption:{assumption.id}"
        if assumption.refuted is not None:
            yield ref, f"it was refuted: {assumption.refuted.evidence}"[:4096]
        elif ref in fallen:
            yield ref, "it rests on a refuted assumption"


def _refuted(contract: Contract) -> frozenset[str]:
    """Name all that rests on refuted assumptions."""
    refs = [f"assumption:{item.id}" for item in contract.known_wrong]
    return frozenset(name for ref in refs for name in contract.resting_on(ref))


def _inherited(contract: Contract) -> Iterable[InheritedEffect]:
    for effect in contract.effects:
        if never_begun(effect):
            continue
        yield InheritedEffect(
            act=effect.act,
            attempt=effect.attempt,
            key=effect.key,
            position=effect.position,
            recovery=effect.recovery,
            run=effect.inherited_from or contract.run,
            status=effect.status,
            tool=effect.tool,
        )


def _observations(contract: Contract, rests_on: Iterable[str], dropped: Mapping[str, str]) -> Iterable[Event]:
    """State the observations that what is passed on rests on, as old as they are: no run makes them fresh."""
    refs = set(rests_on)
    for item in contract.assumptions:
        if f"assumption:{item.id}" not in dropped:
            refs.update(item.rests_on)
    for seen in contract.observations:
        if f"observation:{seen.key}" in refs:
            yield again(ObservationRecorded, seen)
            if seen.invalidated is not None:
                yield ObservationInvalidated(key=seen.key, reason=seen.invalidated)


def _obligations(contract: Contract) -> Iterable[Event]:
    for item in contract.obligations:
        yield again(ObligationOpened, item)


def _authority(contract: Contract) -> Iterable[Event]:
    """Pass on each grant with what is left of it, as lapsed as it is.

    Where none is left, it is said which one was revoked last.
    """
    for grant in contract.grants:
        yield again(
            AuthorityGranted,
            grant,
            budget=rest_of(grant),
            carved_from=GrantOrigin(id=grant.id, position=grant.position, run=contract.run),
        )
    if not contract.grants:
        for gone in contract.revoked[-1:]:
            yield AuthorityRevoked(by=gone.by, id=gone.id, reason=gone.reason)
