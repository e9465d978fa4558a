"""Narrowing: a grant that allows less takes the place of one, in one append."""

from __future__ import annotations

from typing import Any

from ledger.commands import NarrowAuthority
from ledger.events import AuthorityGranted, AuthorityRevoked, GrantOrigin
from ledger.run.authority import left, scopes_cover
from ledger.run.contract import Contract, Grant, by_id
from ledger.run.decision import Admitted, Decision, Given, Refusal, id_in_use, not_open, stands_at
from ledger.run.lineage import again, rest_of
from ledger.run.passed_on import ended_with, not_reached


def narrow(contract: Contract, command: NarrowAuthority, given: Given) -> Decision:
    """Put a grant that allows no more than is left of one in its place; what was passed on of it ends.

    Acts that are in flight settle without the new grant: what was set aside for them is not left, so it is
    no part of the new budget, and what they do not spend of it comes back to nobody. What they cost is
    counted once, by the grant that is gone. One that is sent again draws on the new grant, like any act that
    begins.
    """
    old = by_id(contract.grants, command.id)
    taken = by_id(contract.grants, command.as_id)
    if old is None:
        return _narrowed_so(contract, command, taken) or not_open("grant", command.id)
    if taken is not None:
        return id_in_use("grant", command.as_id, taken.position)
    more = _beyond(old, command)
    if more is not None:
        return Refusal(
            "authority_exceeded",
            f"grant {command.id!r} {more}",
            position=old.position,
            evidence={"kind": "grant", "id": command.id},
        )
    narrower = again(
        AuthorityGranted,
        old,
        budget=rest_of(old) if command.budget is None else command.budget,
        # What it was carved from takes back what is left of it; else it stems from the one that is gone, so
        # that it is found by who ends what that one came from.
        carved_from=old.carved_from or GrantOrigin(id=old.id, position=old.position, run=contract.run),
        expires_at=command.expires_at or old.expires_at,
        granted_by=command.by,
        id=command.as_id,
        scopes=command.scopes or old.scopes,
        session=command.session or old.session,
    )
    gone = AuthorityRevoked(by=command.by, id=old.id, reason=command.reason)
    return Admitted(
        (gone, narrower, *not_reached(contract, old, command.by, given)),
        beside=ended_with(old, command.by, command.reason, given),
    )


def _beyond(old: Grant, command: NarrowAuthority) -> str | None:
    """Say in what it would allow more, or None."""
    if command.scopes and not scopes_cover(old.scopes, command.scopes):
        return f"covers {', '.join(old.scopes)}, and a narrower one cannot cover more"
    end = command.expires_at
    if end is not None and old.expires_at is not None and end > old.expires_at:
        return f"ends at {old.expires_at.isoformat()}, and a narrower one cannot last longer"
    if command.session not in (None, old.session) and old.session is not None:
        return f"is of session {old.session!r}, and a narrower one cannot be of another"
    if old.budget is None or command.budget is None:
        return None
    for unit, amount in command.budget.items():
        if unit not in old.budget:
            return f"has no budget of {unit}, and a narrower one cannot have one"
        if left(old, unit) < amount:
            return f"has {left(old, unit):f} {unit} left, and a narrower one cannot have {amount:f}"
    return None


def _narrowed_so(contract: Contract, command: NarrowAuthority, taken: Grant | None) -> Decision | None:
    """Tell a repeat: the grant was revoked in these words, and the next event put this one in its place."""
    gone = next((one for one in reversed(contract.revoked) if one.id == command.id), None)
    if gone is None or taken is None or taken.position != gone.position + 1:
        return None
    said: dict[str, Any] = {"budget": command.budget, "session": command.session}
    said |= {"expires_at": command.expires_at, "scopes": command.scopes or None}
    if any(value not in (None, getattr(taken, name)) for name, value in said.items()):
        return None
    if (gone.by, gone.reason) != (command.by, command.reason):
        return None
    return stands_at(gone.position)
