"""What a command changed of a run beside what it recorded: which approvals it made void, and what it left."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.statements import Stated
    from ledger.run.contract import Contract, Grant


def now_void(before: Contract, after: Contract) -> list[str]:
    """List the requests for approval that bound to what the run was, and do not bind any more."""
    from ledger.run.approvals import is_denied, why_unbound

    bound = [one.id for one in before.approvals if not is_denied(one) and why_unbound(before, one) is None]
    return [one.id for one in after.approvals if one.id in bound and why_unbound(after, one) is not None]


def show_changes(screen: Screen, before: Contract, after: Contract, stated: Stated, where: list[str]) -> None:
    """Tell on standard error what was not narrowed, and which approvals are void now."""
    from ledger.adapters.cli.ways_out import asking_anew
    from ledger.adapters.cli.words import quoted
    from ledger.run.approvals import key_of

    if {record.name for record in stated.records} >= {"authority.granted", "authority.revoked"}:
        for new, old in zip(_beside(after, before), _beside(before, after), strict=False):
            if _allows(new) == _allows(old):
                screen.note(f"nothing is narrower: {quoted(new.id)} allows what {quoted(old.id)} did")
    void = now_void(before, after)
    for id in void:
        screen.note(f"approval {id} binds no more; the next call of its act asks a person anew, or:")
        screen.note(f"  {asking_anew(key_of(id) or id, after.run, where)}")


def _beside(one: Contract, other: Contract) -> list[Grant]:
    """List the grants of one contract that the other has not."""
    there = {grant.id for grant in other.grants}
    return [grant for grant in one.grants if grant.id not in there]


def _allows(grant: Grant) -> tuple[object, ...]:
    from ledger.run.authority import left

    budget = None if grant.budget is None else {unit: left(grant, unit) for unit in grant.budget}
    return grant.principal, grant.session, set(grant.scopes), grant.expires_at, budget
