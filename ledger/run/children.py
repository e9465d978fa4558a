"""Children: a run that does a part of another one's work, under its constraints and within its authority."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from ledger.commands import Carve, CloseRun, OpenChild
from ledger.events import (
    AuthorityCarved,
    AuthorityGranted,
    AuthorityReturned,
    Event,
    GrantOrigin,
    ObligationDischarged,
    ObligationOpened,
    Parent,
    RunOpened,
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
    is_agent,
    not_open,
    stands_at,
    stated,
)
from ledger.run.lineage import again, constraints, exists, going_on_from, of_a_fork, rest_of
from ledger.values import Ending, Limits


def open_child(contract: Contract, command: OpenChild, given: Given) -> Decision:
    """Open a run that does a part of this one's work, bound by its constraints, and owe what it is to do."""
    if contract.fork_of is not None:
        return of_a_fork(contract, "no child does so for it")
    taken = given.others.get(command.as_run)
    obligation = _owed(command, contract, given)
    if taken is not None:
        return _opened_so(contract, command, taken) or exists(taken)
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
    limits = _limits(contract, command, given)
    if isinstance(limits, Refusal):
        return limits
    parent = Parent(position=contract.position, relation="child", root=contract.root, run=contract.run)
    opened = stated(
        RunOpened,
        command,
        limits=limits,
        owner=command.owner or contract.owner,
        parent=parent,
        require_authority=contract.authority_needed,
    )
    bound = [
        item for item in contract.constraints if item.valid_until is None or given.now < item.valid_until
    ]
    bound_by = contract.with_fields({"constraints": tuple(bound)})
    events = (opened, *constraints(bound_by, {}, _by(command, given)), *grants)
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


def _limits(contract: Contract, command: OpenChild, given: Given) -> Limits | Refusal | None:
    """Return the limits of a child; one that an agent opens has none that is wider than its parent's.

    What is not said is as in the parent, or an agent would leave its limits by opening a run.
    """
    mine, said = contract.limits, command.limits
    if mine is None or not (is_agent(given.actor) or _by(command, given).startswith("agent:")):
        return said
    found = {}
    for name in Limits.model_fields:
        most, wanted = getattr(mine, name), None if said is None else getattr(said, name)
        if most is not None and wanted is not None and wanted > most:
            reason = f"this run was given {most} {name}, and a child that an agent opens gets no more"
            return Refusal("not_for_agents", reason, evidence={"command": command.name, "limit": name})
        found[name] = most if wanted is None else wanted
    return Limits(**found)


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
    rest = rest_of(grant)
    return again(  # type: ignore[no-any-return]
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
    parent that has ended hears nothing; what succeeds it owes what it owed.
    """
    child = first_of(contract, given.others)
    if child is None or child.parent is None:
        return {}
    found = given.others.get(child.parent.run)
    above = None if found is None else going_on_from(found, given.others)
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
    events += _returned(contract, above, given.others, by)
    return {above.run: tuple(events)} if events else {}


def first_of(contract: Contract, others: Mapping[str, Contract]) -> Contract | None:
    """Find the child that a run is, or succeeds; None where it is no child's."""
    found: Contract | None = contract
    while found is not None and found.parent is not None and found.parent.relation == "successor":
        found = others.get(found.parent.run)
    if found is None or found.parent is None or found.parent.relation != "child":
        return None
    return found


def _returned(
    contract: Contract, above: Contract, others: Mapping[str, Contract], by: str
) -> Iterable[Event]:
    for grant in contract.grants:
        origin = _origin_above(grant, contract, others)
        if origin is None or origin.run != above.run or grant.budget is None:
            continue
        held = by_id(above.grants, origin.id)
        if held is None or held.position != origin.position or held.budget is None:
            continue
        rest = {unit: left(grant, unit) for unit in held.budget if unit in grant.budget}
        back = type(grant.budget)((unit, amount) for unit, amount in rest.items() if amount)
        if back:
            yield AuthorityReturned(budget=back, by=by, id=origin.id, run=contract.run)


def _origin_above(grant: Grant, contract: Contract, others: Mapping[str, Contract]) -> GrantOrigin | None:
    """Find what a grant was carved from before any run that this one succeeds had it.

    Each of them passed on no more than was left, so what is left now is no more than was carved. Where budget
    was added on the way that cannot be told, and nothing goes back.
    """
    origin, run = grant.carved_from, contract
    while origin is not None and run.parent is not None and run.parent.relation == "successor":
        before = others.get(run.parent.run)
        if before is None or origin.run != before.run:
            break
        held = by_id(before.grants, origin.id)
        if held is None or held.position != origin.position:
            return None
        origin, run = held.carved_from, before
    return origin
