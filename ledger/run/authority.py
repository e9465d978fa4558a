"""Authority: who may act, within which scopes, budget and time, and what of it is spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from ledger.commands import GrantAuthority, RenewAuthority, RevokeAuthority
from ledger.events import AuthorityGranted, AuthorityRenewed, AuthorityRevoked
from ledger.record import Record
from ledger.run.contract import Contract, Grant, by_id, states
from ledger.run.decision import Decision, Given, Refusal, admitted, id_in_use, not_open, stands_at
from ledger.run.fold import Changes, add_amounts, placed, replaced, take_amounts

Amounts = Mapping[str, Decimal] | None


def granted(contract: Contract, event: AuthorityGranted, record: Record) -> Changes:
    return {"grants": (*contract.grants, placed(Grant, event, record, reserved=None, spent=None))}


def renewed(contract: Contract, event: AuthorityRenewed, record: Record) -> Changes:
    old = by_id(contract.grants, event.id)
    if old is None:
        return {}
    new = old.model_copy(
        update={
            "budget": add_amounts(old.budget, event.add_budget),
            "expires_at": event.expires_at or old.expires_at,
            "session": event.session or old.session,
            "position": record.position,
        }
    )
    return {"grants": replaced(contract.grants, old, new)}


def revoked(contract: Contract, event: AuthorityRevoked, record: Record) -> Changes:
    return {"grants": tuple(item for item in contract.grants if item.id != event.id)}


def reserve(grants: tuple[Grant, ...], ids: Iterable[str], amounts: Amounts) -> tuple[Grant, ...]:
    """Set a declared cost aside on the grants an effect draws on."""
    if not amounts:
        return grants
    for id in ids:
        old = by_id(grants, id)
        if old is not None:
            new = old.model_copy(update={"reserved": add_amounts(old.reserved, amounts)})
            grants = replaced(grants, old, new)
    return grants


def spend(
    grants: tuple[Grant, ...], ids: Iterable[str], reserved: Amounts, cost: Amounts
) -> tuple[Grant, ...]:
    """Put the cost that was in the place of the one set aside."""
    if not reserved and not cost:
        return grants
    for id in ids:
        old = by_id(grants, id)
        if old is not None:
            new = old.model_copy(
                update={
                    "reserved": take_amounts(old.reserved, reserved),
                    "spent": add_amounts(old.spent, cost),
                }
            )
            grants = replaced(grants, old, new)
    return grants


def grant(contract: Contract, command: GrantAuthority, given: Given) -> Decision:
    event = AuthorityGranted(
        budget=command.budget,
        expires_at=command.expires_at,
        granted_by=command.granted_by,
        id=command.id,
        on_resume=command.on_resume,
        principal=command.principal,
        scopes=command.scopes,
        session=command.session,
    )
    old = by_id(contract.grants, command.id)
    if old is None:
        return admitted(event)
    return stands_at(old.position) if states(old, event) else id_in_use("grant", command.id, old.position)


def renew(contract: Contract, command: RenewAuthority, given: Given) -> Decision:
    """A renewal only ever extends: an earlier end is a revocation and a new grant."""
    old = by_id(contract.grants, command.id)
    if old is None:
        return not_open("grant", command.id)
    if command.expires_at is not None and old.expires_at is not None and command.expires_at < old.expires_at:
        return Refusal(
            "authority_exceeded",
            f"grant {command.id!r} already lasts until {old.expires_at}; a renewal cannot shorten it",
            position=old.position,
            evidence={"kind": "grant", "id": command.id},
        )
    return admitted(
        AuthorityRenewed(
            add_budget=command.add_budget,
            by=command.by,
            expires_at=command.expires_at,
            id=command.id,
            reason=command.reason,
            session=command.session,
        )
    )


def revoke(contract: Contract, command: RevokeAuthority, given: Given) -> Decision:
    if by_id(contract.grants, command.id) is None:
        return not_open("grant", command.id)
    return admitted(AuthorityRevoked(by=command.by, id=command.id, reason=command.reason))
