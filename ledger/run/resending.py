"""Sending again: what a contract as it stands has against sending an act once more under its key.

What crashed before anything was sent is done for the first time by that. So a no that was said meanwhile
counts, although nothing is claimed.
"""

from __future__ import annotations

from datetime import datetime

from ledger.run.approvals import asked_about, denied, is_denied
from ledger.run.authority import scopes_cover
from ledger.run.contract import Contract
from ledger.run.known import EffectHistory
from ledger.run.permits import violations_of


def against_sending(contract: Contract, known: EffectHistory, now: datetime) -> str | None:
    """Say what keeps an act from being sent again; None: nothing does.

    A denial of its key, whatever changed since then: who said no is asked first. No grant in force, where one
    is needed, that covers the tool for who intended the act; its cost is set aside already, and its session
    may have ended. A rule in force that the act breaks.

    Args:
        contract: of the run that finds out, as it stands.
        known: the act, as the lineage knows it.
        now: the ledger's time; what had ended when something was recorded has ended.
    """
    now = max(now, contract.at)
    approval = asked_about(contract, known.key)
    if approval is not None and is_denied(approval):
        return denied(contract, approval).message
    if contract.authority_needed and not _is_covered(contract, known, now):
        return f"no grant in force covers {known.tool!r} for {known.intended_by}, who began it"
    return _broken(contract, known, now)


def _is_covered(contract: Contract, known: EffectHistory, now: datetime) -> bool:
    return any(
        grant.principal == known.intended_by
        and (grant.expires_at is None or now < grant.expires_at)
        and scopes_cover(grant.scopes, (known.tool,))
        for grant in contract.grants
    )


def _broken(contract: Contract, known: EffectHistory, now: datetime) -> str | None:
    args = known.args if known.args_in_full is None else known.args_in_full
    found = next(violations_of(contract, known.tool, args, known.resource, now), None)
    if found is None:
        return None
    one, wanted = found.constraint, "; ".join(breach.condition for breach in found.breaches)[:300]
    return f"constraint {one.id!r}, asserted by {one.asserted_by}, allows it only where {wanted}"
