"""Authority: who may act, within which scopes, budget and time, and what of it is spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from ledger.commands import GrantAuthority, RenewAuthority, RevokeAuthority
from ledger.events import (
    AuthorityCarved,
    AuthorityGranted,
    AuthorityRenewed,
    AuthorityReturned,
    AuthorityRevoked,
)
from ledger.record import Record
from ledger.run.amounts import add_amounts, take, take_amounts
from ledger.run.contract import WINDOW, Contract, Grant, by_id, states
from ledger.run.decision import (
    Admitted,
    Decision,
    Given,
    Refusal,
    acting,
    admitted,
    id_in_use,
    not_open,
    said_by,
    stands_at,
    stated,
)
from ledger.run.fold import Changes, placed, put, replaced
from ledger.run.passed_on import ended_with, not_reached
from ledger.run.standing import Revoked
from ledger.values import Actor

Amounts = Mapping[str, Decimal] | None


def granted(contract: Contract, event: AuthorityGranted, record: Record) -> Changes:
    """The grant is in force, with nothing spent or reserved; from the first one on each act needs one."""
    view = placed(Grant, event, record, renewed_at=None, reserved=None, spent=None)
    return {"authority_needed": True, "grants": put(contract.grants, view)}


def renewed(contract: Contract, event: AuthorityRenewed, record: Record) -> Changes:
    """The grant lasts longer, holds more budget or belongs to another session."""
    old = by_id(contract.grants, event.id)
    if old is None:
        return {}
    new = old.with_fields(
        {
            # What has no bound gets none by adding to it.
            "budget": None if old.budget is None else add_amounts(old.budget, event.add_budget),
            # What was added here is not the other run's, and cannot be told from what came from there.
            "carved_from": None if event.add_budget else old.carved_from,
            "expires_at": event.expires_at or old.expires_at,
            "renewed_at": record.position,
            "session": event.session or old.session,
        }
    )
    return {"grants": replaced(contract.grants, old, new)}


def revoked(contract: Contract, event: AuthorityRevoked, record: Record) -> Changes:
    """The grant is gone. That it was once given is not: revoking the last one frees no act.

    What was revoked is remembered until the run goes on after a stop.
    """
    old = by_id(contract.grants, event.id)
    gone = Revoked(
        at=record.at,
        by=event.by,
        id=event.id,
        position=record.position,
        principal=None if old is None else old.principal,
        reason=event.reason,
        said_by=said_by(record.actor, event.by),
        scopes=() if old is None else old.scopes,
    )
    return {
        "authority_needed": True,
        "grants": tuple(item for item in contract.grants if item.id != event.id),
        "revoked": (*contract.revoked[1 - WINDOW :], gone),
    }


def carved(contract: Contract, event: AuthorityCarved, record: Record) -> Changes:
    """What was passed on to another run is spent here."""
    return {"grants": spend(contract.grants, (event.id,), None, event.budget, since=record.position)}


def returned(contract: Contract, event: AuthorityReturned, record: Record) -> Changes:
    """What another run did not spend of what was passed on is back."""
    old = by_id(contract.grants, event.id)
    if old is None:
        return {}
    new = old.with_fields({"spent": take_amounts(old.spent, event.budget)})
    return {"grants": replaced(contract.grants, old, new)}


def reserve(grants: tuple[Grant, ...], ids: Iterable[str], amounts: Amounts) -> tuple[Grant, ...]:
    """Set a declared cost aside on the grants an effect draws on."""
    if not amounts:
        return grants
    for id in ids:
        old = by_id(grants, id)
        if old is not None:
            new = old.with_fields({"reserved": add_amounts(old.reserved, amounts)})
            grants = replaced(grants, old, new)
    return grants


def spend(
    grants: tuple[Grant, ...], ids: Iterable[str], reserved: Amounts, cost: Amounts, *, since: int
) -> tuple[Grant, ...]:
    """Put the cost that was in the place of the one set aside, at position `since`.

    A grant that was given later under the same id set nothing aside then, and has nothing to do with it.
    """
    if not reserved and not cost:
        return grants
    for id in ids:
        old = by_id(grants, id)
        if old is not None and old.position < since:
            new = old.with_fields(
                {
                    "reserved": take_amounts(old.reserved, reserved),
                    "spent": add_amounts(old.spent, cost),
                }
            )
            grants = replaced(grants, old, new)
    return grants


class Covered(NamedTuple):
    """The grants an act may draw on, or why there are none."""

    grants: tuple[str, ...] = ()
    reason: str | None = None
    position: int | None = None
    """Position of the grant that comes nearest."""


def covering(
    grants: Iterable[Grant] | None,
    actor: Actor,
    tool: str,
    cost: Amounts,
    now: datetime,
    revoked: Iterable[Revoked] = (),
) -> Covered:
    """Find a grant in force that covers an act of this actor, with what is in flight counted as spent.

    Where no grant was ever given (None), none is needed. A scope is the name of a tool, or `prefix.*`, or
    `*`. A grant is for who decides: a service that passes on what an agent decided lends it nothing of its
    own. One whose budget is used up covers nothing, whatever the act is said to cost. Where none is left for
    who decides, that which was `revoked` last says why.
    """
    if grants is None:
        return Covered()
    decides = acting(actor)
    nearest = _ended(revoked, decides)
    for item in grants:
        if item.principal != decides:
            continue
        lack = _lack(item, actor, tool, cost, now)
        if lack is None:
            return Covered((item.id,))
        nearest = Covered(reason=f"grant {item.id!r} {lack}", position=item.position)
    return nearest


def _ended(revoked: Iterable[Revoked], decides: str) -> Covered:
    """Say that no grant is for somebody, and how the last one ended where that is known."""
    none = f"no grant of this run is for {decides}"
    gone = [one for one in revoked if one.principal == decides]
    if not gone:
        return Covered(reason=none)
    last = gone[-1]
    reason = f"{none} any more: {last.by} ended {last.id!r} at position {last.position}: {last.reason}"
    return Covered(reason=reason[:1000], position=last.position)


def _lack(item: Grant, actor: Actor, tool: str, cost: Amounts, now: datetime) -> str | None:
    if item.expires_at is not None and item.expires_at <= now:
        return f"ended at {item.expires_at.isoformat()}"
    if item.session is not None and item.session != actor.session:
        return f"is of session {item.session!r}"
    if not any(_in_scope(scope, tool) for scope in item.scopes):
        return f"does not cover {tool!r}"
    if item.budget is None:
        return None
    if not any((cost or {}).values()) and not any(left(item, unit) for unit in item.budget):
        return "is used up"
    for unit, amount in (cost or {}).items():
        rest = left(item, unit)
        if rest < amount:
            return f"has {rest:f} {unit} left, and {amount:f} are needed"
    return None


def _in_scope(scope: str, tool: str) -> bool:
    return scope in ("*", tool) or (scope.endswith(".*") and tool.startswith(scope[:-1]))


def scopes_cover(scopes: Iterable[str], others: Iterable[str]) -> bool:
    """Tell whether every tool that is in one of the other scopes is in one of these."""
    mine = tuple(scopes)
    return all(any(_wider(scope, other) for scope in mine) for other in others)


def _wider(scope: str, other: str) -> bool:
    return scope in ("*", other) or (scope.endswith(".*") and other.startswith(scope[:-1]))


def is_used_up(item: Grant) -> bool:
    """Tell whether nothing of the budget is left, with what is in flight counted as spent."""
    return bool(item.budget) and not any(left(item, unit) for unit in item.budget or ())


def left(item: Grant, unit: str) -> Decimal:
    """Return what is left of a budget, with what is in flight counted as spent."""
    zero = Decimal(0)
    budget, spent, reserved = (
        (each or {}).get(unit, zero) for each in (item.budget, item.spent, item.reserved)
    )
    return max(take(take(budget, spent), reserved), zero)


def grant(contract: Contract, command: GrantAuthority, given: Given) -> Decision:
    event = stated(AuthorityGranted, command)
    old = by_id(contract.grants, command.id)
    if old is None:
        return admitted(event)
    return stands_at(old.position) if states(old, event) else id_in_use("grant", command.id, old.position)


def renew(contract: Contract, command: RenewAuthority, given: Given) -> Decision:
    """A renewal only ever extends: an earlier end is a revocation and a new grant.

    One that extends nothing confirms the grant, once after each time that the program showed signs of life,
    was stopped, or lost another grant.
    """
    old = by_id(contract.grants, command.id)
    if old is None:
        return not_open("grant", command.id)
    narrower = _narrower(old, command)
    if narrower is not None:
        return Refusal(
            "authority_exceeded",
            f"grant {command.id!r} {narrower}",
            position=old.position,
            evidence={"kind": "grant", "id": command.id},
        )
    # What took the place of another grant, or came with the run, says nothing that a confirmation would.
    place = old.renewed_at or (old.position if old.carved_from is None else 0)
    if not command.add_budget and _lasts_so(old, command) and place > _asked_for_at(contract):
        return stands_at(place)
    return admitted(stated(AuthorityRenewed, command))


def _asked_for_at(contract: Contract) -> int:
    """Return where something happened last that may ask for a confirmation."""
    places = [contract.alive.position, *(gone.position for gone in contract.revoked[-1:])]
    if contract.stopped is not None:
        places.append(contract.stopped.position)
    return max(places)


def _narrower(old: Grant, command: RenewAuthority) -> str | None:
    """Say in what the grant would shrink, or None."""
    end = command.expires_at
    if end is not None and (old.expires_at is None or end < old.expires_at):
        until = "for ever" if old.expires_at is None else f"until {old.expires_at}"
        return f"lasts {until}; a renewal cannot shorten it"
    if command.add_budget and old.budget is None:
        return "has no bound; a renewal cannot set one"
    if command.session is not None and old.session is None:
        return "holds in any session; a renewal cannot bind it to one"
    return None


def _lasts_so(old: Grant, command: RenewAuthority) -> bool:
    return command.expires_at in (None, old.expires_at) and command.session in (None, old.session)


def revoke(contract: Contract, command: RevokeAuthority, given: Given) -> Decision:
    """End a grant, and all that was passed on of it, wherever that went.

    Acts that are in flight settle without it: what they cost is recorded with their outcome, and counts for
    no grant that is given later.
    """
    old = by_id(contract.grants, command.id)
    if old is None:
        return not_open("grant", command.id)
    return Admitted(
        (stated(AuthorityRevoked, command), *not_reached(contract, old, command.by, given)),
        beside=ended_with(old, command.by, command.reason, given),
    )
