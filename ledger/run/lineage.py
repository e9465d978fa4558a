"""Lineage: successors, forks and children, and what each takes over from the run it comes from.

All of it is one append: a successor begins as its predecessor ends, a child as its parent owes what it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from ledger.commands import Carve, CloseRun, ForkRun, OpenChild, RestartRun
from ledger.events import (
    AssumptionMade,
    AuthorityCarved,
    AuthorityGranted,
    AuthorityReturned,
    AuthorityRevoked,
    ConstraintAccepted,
    CursorMoved,
    Dropped,
    Event,
    GrantOrigin,
    InheritedEffect,
    MessageRecorded,
    MessagesSummarised,
    ObligationDischarged,
    ObligationOpened,
    ObservationInvalidated,
    ObservationRecorded,
    Parent,
    PlanCommitted,
    RevisionAcknowledged,
    RunClosed,
    RunForked,
    RunOpened,
    RunRestarted,
)
from ledger.run.authority import left, scopes_cover
from ledger.run.claims import sources_of
from ledger.run.constraints import gone_at
from ledger.run.contract import Contract, Grant, by_id
from ledger.run.decision import (
    Admitted,
    Decision,
    Given,
    Refusal,
    acting,
    not_open,
    run_is_closed,
    stands_at,
    stated,
)
from ledger.run.fitting import named
from ledger.values import Ending, Ref, Source

# --- successors -------------------------------------------------------------------------------------


def restart(contract: Contract, command: RestartRun, given: Given) -> Decision:
    """Close the run and open its successor, with what still holds and what is still open.

    The successor has the effects of the lineage by their keys, inherits what is unsettled, owed and granted,
    and names what it was not given. It has no plan: that is made anew, and a diff shows what it changes.
    """
    taken = given.others.get(command.as_run)
    if contract.fork_of is not None:
        return _of_a_fork(contract, "no run that does succeeds it")
    if contract.closed is not None:
        return _restarted_so(contract, command, taken) or run_is_closed(contract)
    if taken is not None:
        return _exists(taken)
    dropped = dict(_dropped(contract, given))
    fallen = _refuted(contract)
    if command.goal is None and "goal" in fallen:
        return Refusal(
            "contract_changed",
            "the goal rests on a refuted assumption: say what the successor is to achieve (goal=…)",
            position=contract.goal.position,
            evidence={"goal": contract.goal.text},
        )
    closed = RunClosed(
        by=command.by,
        obligations=tuple(item.id for item in contract.obligations),
        outcome=Ending.RESTARTED,
        reason=command.reason,
        successor=command.as_run,
        unsettled=tuple(effect.key for effect in contract.effects),
    )
    rests_on = contract.goal.rests_on if command.goal is None else command.rests_on
    opened = _opened(contract, "successor", contract.position, command.goal, rests_on)
    begun = RunRestarted(
        by=command.by,
        dropped=named([Dropped(reason=reason, ref=ref) for ref, reason in dropped.items()]),
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
        *_assumptions(contract, dropped),
        *_constraints(contract, dropped, command.by),
        *_observations(contract, rests_on, dropped),
        *_obligations(contract),
        *_authority(contract, command.by, command.reason),
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


def _exists(taken: Contract) -> Refusal:
    return Refusal(
        "run_exists",
        f"run {taken.run!r} was opened on {taken.opened_at:%Y-%m-%d %H:%M:%S} and is {taken.status}; "
        "choose another id",
        position=1,
        evidence={"run": taken.run, "status": taken.status},
    )


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
    fallen = _refuted(contract)
    for assumption in contract.assumptions:
        ref = f"assumption:{assumption.id}"
        if assumption.refuted is not None:
            yield ref, f"it was refuted: {assumption.refuted.evidence}"[:4096]
        elif ref in fallen:
            yield ref, "it rests on a refuted assumption"


def _refuted(contract: Contract) -> frozenset[str]:
    """Name all that rests on refuted assumptions."""
    wrong = [item.id for item in contract.assumptions if item.refuted is not None]
    return frozenset(name for id in wrong for name in contract.resting_on(f"assumption:{id}"))


def _inherited(contract: Contract) -> Iterable[InheritedEffect]:
    for effect in contract.effects:
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


def _opened(
    contract: Contract, relation: str, position: int, goal: str | None, rests_on: tuple[str, ...]
) -> RunOpened:
    parent = Parent.unchecked(
        {"position": position, "relation": relation, "root": contract.root, "run": contract.run}
    )
    return RunOpened(
        goal=contract.goal.text if goal is None else goal,
        labels=contract.labels,
        limits=contract.limits,
        owner=contract.owner,
        parent=parent,
        rests_on=rests_on,
        runtime=contract.runtime,
        thread=contract.thread,
    )


def _again(kind: type[Event], view: Any, **changes: Any) -> Any:
    """State anew what a view of a contract holds."""
    return kind.unchecked({name: changes.get(name, getattr(view, name)) for name in kind.model_fields})


def _constraints(contract: Contract, dropped: Mapping[str, str], by: str) -> Iterable[Event]:
    """State the constraints as they were accepted, and how far their sources were read since.

    What the sources said after that is still to be looked at.
    """
    kept = [item for item in contract.constraints if f"constraint:{item.id}" not in dropped]
    for item in kept:
        yield _again(ConstraintAccepted, item, change=None, supersedes=None)
    for seen in contract.sources:
        own = [item for item in kept if item.source is not None and item.source.stream == seen.source]
        if any((item.source_position or 0) < seen.position for item in own):
            kind, _, name = seen.source.partition(":")
            yield RevisionAcknowledged(
                by=by,
                reason=f"as {contract.run!r} states at its position {seen.stated_at}",
                source=Source(kind, name, revision=seen.revision),
                source_position=seen.position,
            )


def _assumptions(contract: Contract, dropped: Mapping[str, str]) -> Iterable[Event]:
    for item in contract.assumptions:
        if f"assumption:{item.id}" not in dropped:
            yield _again(AssumptionMade, item)


def _observations(contract: Contract, rests_on: Iterable[str], dropped: Mapping[str, str]) -> Iterable[Event]:
    """State the observations that what is passed on rests on, as old as they are: no run makes them fresh."""
    refs = set(rests_on)
    for item in contract.assumptions:
        if f"assumption:{item.id}" not in dropped:
            refs.update(item.rests_on)
    for seen in contract.observations:
        if f"observation:{seen.key}" in refs:
            yield _again(ObservationRecorded, seen)
            if seen.invalidated is not None:
                yield ObservationInvalidated(key=seen.key, reason=seen.invalidated)


def _obligations(contract: Contract) -> Iterable[Event]:
    for item in contract.obligations:
        yield _again(ObligationOpened, item)


def _authority(contract: Contract, by: str, reason: str) -> Iterable[Event]:
    """Pass on each grant with what is left of it, as lapsed as it is.

    Where none is left, each act of the successor still needs one.
    """
    for grant in contract.grants:
        yield _again(
            AuthorityGranted,
            grant,
            budget=_rest(grant),
            carved_from=GrantOrigin(id=grant.id, position=grant.position, run=contract.run),
        )
    if contract.authority_needed and not contract.grants:
        yield from _none_left(contract, by, reason)


def _none_left(contract: Contract, by: str, reason: str) -> Iterable[Event]:
    for gone in contract.revoked[-1:]:
        yield AuthorityRevoked(by=gone.by, id=gone.id, reason=gone.reason)
        return
    yield AuthorityRevoked(
        by=by, id="all", reason=f"no grant of {contract.run!r} is passed on: {reason}"[:4096]
    )


def _rest(grant: Grant) -> Any:
    if grant.budget is None:
        return None
    return type(grant.budget)((unit, left(grant, unit)) for unit in grant.budget)


# --- forks ------------------------------------------------------------------------------------------


def fork(contract: Contract, command: ForkRun, given: Given) -> Decision:
    """Open a run that stands where this one stood at a position, reads what is recorded, and never performs.

    It owes nothing, may do nothing, and has the observations as old as they are.
    """
    then, taken = given.then, given.others.get(command.as_run)
    if then is None:
        reason = f"run {contract.run!r} never had position {command.at}: it stands at {contract.position}"
        return Refusal("not_open", reason, evidence={"kind": "position", "id": str(command.at)})
    opened = _opened(then, "fork", then.position, None, then.goal.rests_on)
    begun = RunForked(
        at=command.at, by=command.by, hash=then.hash, origin=contract.run, reason=command.reason
    )
    if taken is not None:
        # What a fork was opened with never changes, and tells a repeat.
        same = (taken.fork_of, taken.parent) == (contract.run, opened.parent)
        return stands_at(command.at) if same and taken.position >= 2 else _exists(taken)
    events: list[Event] = [opened, begun]
    events += _constraints(then, {}, command.by or given.actor.id)
    events += (_again(AssumptionMade, item) for item in then.assumptions if item.refuted is None)
    if then.plan is not None:
        events.append(PlanCommitted(by=then.plan.by, reason=then.plan.reason, steps=then.plan.steps))
    events += (_again(ObservationRecorded, item) for item in then.observations if item.invalidated is None)
    events += (_again(MessageRecorded, item) for item in then.messages)
    if then.summary is not None:
        events.append(_again(MessagesSummarised, then.summary))
    if then.cursor is not None:
        events.append(_again(CursorMoved, then.cursor))
    return Admitted((), beside={command.as_run: tuple(events)})


def _of_a_fork(contract: Contract, what: str) -> Refusal:
    """Refuse to let perform what comes of a fork, which left its authority and what it owes behind."""
    reason = f"{contract.run!r} is a fork of {contract.fork_of!r}: it performs nothing, and {what}"
    return Refusal("effects_disabled", reason, evidence={"run": contract.run, "origin": contract.fork_of})


# --- children ---------------------------------------------------------------------------------------


def open_child(contract: Contract, command: OpenChild, given: Given) -> Decision:
    """Open a run that does a part of this one's work, bound by its constraints, and owe what it is to do."""
    if contract.fork_of is not None:
        return _of_a_fork(contract, "no child does so for it")
    taken = given.others.get(command.as_run)
    obligation = _owed(command, contract, given)
    if taken is not None:
        return _opened_so(contract, command, taken) or _exists(taken)
    if by_id(contract.obligations, obligation.id) is not None:
        return Refusal(
            "id_in_use",
            f"obligation {obligation.id!r} is open already",
            position=contract.position,
            evidence={"kind": "obligation", "id": obligation.id},
        )
    grants: list[Event] = []
    carved: list[Event] = []
    twin = _twin(command)
    if twin is not None:
        return twin
    for carve in command.grants:
        found = _carved(contract, carve, command, given)
        if isinstance(found, Refusal):
            return found
        grants.append(found)
        carved.append(_taken(contract, found, command, given))
    if contract.authority_needed and not grants:
        grants += _none_left(contract.with_fields({"revoked": ()}), _by(command, given), "for a child")
    parent = Parent(position=contract.position, relation="child", root=contract.root, run=contract.run)
    opened = stated(RunOpened, command, owner=command.owner or contract.owner, parent=parent)
    bound = [
        item for item in contract.constraints if item.valid_until is None or given.now < item.valid_until
    ]
    bound_by = contract.with_fields({"constraints": tuple(bound)})
    events = (opened, *_constraints(bound_by, {}, _by(command, given)), *grants)
    guards = {name: given.sources[name].position for name in sources_of(contract)}
    fallen = next((one for one in bound if _is_gone(one, given)), None)
    if fallen is not None:
        assert fallen.source is not None
        return Refusal(
            "contract_changed",
            f"{fallen.source.stream} withdrew what {fallen.id!r} rests on: a child cannot be bound by it",
            position=fallen.position,
            evidence={"source": fallen.source.stream, "id": fallen.id, "change": "withdrawn"},
        )
    return Admitted((obligation, *carved), guards, beside={command.as_run: events})


def _is_gone(constraint: Any, given: Given) -> bool:
    return constraint.source is not None and (
        gone_at(constraint, given.sources[constraint.source.stream]) is not None
    )


def _by(command: OpenChild, given: Given) -> str:
    return command.by or given.actor.id


def _owed(command: OpenChild, contract: Contract, given: Given) -> ObligationOpened:
    return ObligationOpened(
        because=f"run:{command.as_run}",
        by=command.by,
        due=command.due,
        id=command.as_run,
        owed_to=command.owed_to or contract.owner or given.actor.id,
        text=command.goal,
    )


def _opened_so(contract: Contract, command: OpenChild, taken: Contract) -> Decision | None:
    """Tell a repeat: a child of this run, opened with this goal, whose obligation stands."""
    parent = taken.parent
    owed = by_id(contract.obligations, command.as_run)
    if parent is None or parent.relation != "child" or parent.run != contract.run or owed is None:
        return None
    return stands_at(owed.position) if owed.text == command.goal else None


def _twin(command: OpenChild) -> Refusal | None:
    """Refuse a grant that is passed on twice: each part would be measured by the same whole."""
    names = [carve.id for carve in command.grants]
    twins = sorted({name for name in names if names.count(name) > 1})
    if not twins:
        return None
    return Refusal(
        "id_in_use", f"grant {twins[0]!r} is passed on twice", evidence={"kind": "grant", "id": twins[0]}
    )


def _carved(contract: Contract, carve: Carve, command: OpenChild, given: Given) -> AuthorityGranted | Refusal:
    """Carve a grant out of one of this run's, or say in what it would be more than that."""
    grant = by_id(contract.grants, carve.id)
    if grant is None:
        return not_open("grant", carve.id)
    lack = _beyond(grant, carve, given, max(given.now, contract.at))
    if lack is not None:
        return Refusal(
            "authority_exceeded",
            f"grant {carve.id!r} {lack}",
            position=grant.position,
            evidence={"kind": "grant", "id": carve.id},
        )
    rest = _rest(grant)
    return _again(  # type: ignore[no-any-return]
        AuthorityGranted,
        grant,
        budget=rest if carve.budget is None else carve.budget,
        carved_from=GrantOrigin(id=grant.id, position=grant.position, run=contract.run),
        expires_at=carve.expires_at or grant.expires_at,
        principal=carve.principal or grant.principal,
        scopes=carve.scopes or grant.scopes,
    )


def _beyond(grant: Grant, carve: Carve, given: Given, now: datetime) -> str | None:
    if grant.expires_at is not None and grant.expires_at <= now:
        return f"ended at {grant.expires_at.isoformat()}"
    decides = acting(given.actor)
    passed_on = carve.principal not in (None, grant.principal)
    if passed_on and decides.startswith("agent:") and decides != grant.principal:
        return f"is for {grant.principal}, and not {decides}'s to pass on to another"
    if carve.expires_at is not None and grant.expires_at is not None and carve.expires_at > grant.expires_at:
        return f"ends at {grant.expires_at.isoformat()}, and a child's cannot last longer"
    if carve.scopes and not scopes_cover(grant.scopes, carve.scopes):
        return f"covers {', '.join(grant.scopes)}, and a child's cannot cover more"
    if grant.budget is None or carve.budget is None:
        return None
    for unit in carve.budget:
        if unit not in grant.budget:
            return f"has no budget of {unit}, and a child's cannot have one"
    for unit in grant.budget:
        if unit not in carve.budget:
            return f"has a budget of {unit}, and a child's needs one too"
        rest, wanted = left(grant, unit), carve.budget[unit]
        if rest < wanted:
            return f"has {rest:f} {unit} left, and {wanted:f} are to be passed on"
    return None


def _taken(contract: Contract, grant: AuthorityGranted, command: OpenChild, given: Given) -> AuthorityCarved:
    origin = by_id(contract.grants, grant.id)
    assert origin is not None
    budget = None
    if origin.budget is not None and grant.budget is not None:
        budget = type(grant.budget)((unit, grant.budget[unit]) for unit in origin.budget)
    return AuthorityCarved(budget=budget, by=_by(command, given), id=grant.id, run=command.as_run)


def settled_with_parent(
    contract: Contract, command: CloseRun, given: Given
) -> Mapping[str, tuple[Event, ...]]:
    """Say what a child's close comes to in its parent: what was owed is done, and unspent budgets come back.

    Only a child that is completed discharges; after any other end the parent still owes it, and decides. A
    parent that has ended hears nothing.
    """
    child = first_of(contract, given.others)
    if child is None or child.parent is None:
        return {}
    above = given.others.get(child.parent.run)
    if above is None or above.closed is not None:
        return {}
    by = command.by or given.actor.id
    events: list[Event] = []
    owed = by_id(above.obligations, child.run)
    if command.outcome is Ending.COMPLETED and owed is not None and owed.because == f"run:{child.run}":
        reason = command.reason or f"{contract.run} was completed"
        events.append(
            ObligationDischarged(by=command.by, evidence=reason, id=owed.id, refs=(f"run:{contract.run}",))
        )
    events += _returned(contract, above, by)
    return {above.run: tuple(events)} if events else {}


def first_of(contract: Contract, others: Mapping[str, Contract]) -> Contract | None:
    """Find the child that a run is, or succeeds; None where it is no child's."""
    found: Contract | None = contract
    while found is not None and found.parent is not None and found.parent.relation == "successor":
        found = others.get(found.parent.run)
    if found is None or found.parent is None or found.parent.relation != "child":
        return None
    return found


def _returned(contract: Contract, above: Contract, by: str) -> Iterable[Event]:
    for grant in contract.grants:
        origin = grant.carved_from
        if origin is None or origin.run != above.run or grant.budget is None:
            continue
        held = by_id(above.grants, origin.id)
        if held is None or held.position != origin.position or held.budget is None:
            continue
        rest = {unit: left(grant, unit) for unit in held.budget if unit in grant.budget}
        back = type(grant.budget)((unit, amount) for unit, amount in rest.items() if amount)
        if back:
            yield AuthorityReturned(budget=back, by=by, id=origin.id, run=contract.run)
