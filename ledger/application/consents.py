"""What people were asked about an act, and whether it still binds: for whoever watches acts."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, NamedTuple

from ledger.run.approvals import asked_about, is_denied, why_void
from ledger.run.contract import Approval, Contract

State = Literal["pending", "void", "expired", "approved", "denied"]


class Consent(NamedTuple):
    """What a person was asked about an act, as of one moment."""

    approval: Approval
    """With the answer that counts."""
    state: State
    """`void` and `expired`: it binds no more, answered or not. What was denied stays so."""
    void: str | None
    """Why it binds no more; None: it does, or was denied. That the tool is another, the claim finds."""


def consent_in(contract: Contract, key: str, now: datetime) -> Consent | None:
    """Say what a person was asked about an act of a run; None: nothing, or its act is done."""
    approval = asked_about(contract, key)
    return None if approval is None else consent_of(contract, approval, now)


def consent_of(contract: Contract, approval: Approval, now: datetime) -> Consent:
    """Say how a request of this contract stands."""
    if is_denied(approval):
        return Consent(approval, "denied", None)
    moment = max(now, contract.at)
    void = why_void(contract, approval, moment)
    if void is not None:
        is_over = approval.expires_at is not None and approval.expires_at <= moment
        return Consent(approval, "expired" if is_over else "void", void)
    return Consent(approval, "pending" if approval.answered is None else "approved", None)
