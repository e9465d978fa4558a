"""Refusals as the errors that callers meet."""

from __future__ import annotations

from typing import Any

from ledger.errors import (
    EFFECT_ERRORS,
    RULES,
    ApprovalNotFound,
    LedgerError,
    Refused,
    RunNotFound,
    StateMoved,
    Superseded,
)
from ledger.run.decision import Refusal


def refusal_error(refusal: Refusal) -> LedgerError:
    """Build the error that a refusal is told as."""
    facts: dict[str, Any] = {
        "rule": refusal.rule,
        "position": refusal.position,
        "evidence": dict(refusal.evidence),
    }
    if refusal.rule == "superseded":
        return Superseded(refusal.message, **facts)
    if refusal.rule == "run_not_found":
        return RunNotFound(refusal.message, run=refusal.evidence["run"])
    if refusal.rule == "approval_not_found":
        return ApprovalNotFound(refusal.message, id=refusal.evidence["id"])
    if refusal.rule == "state_moved":
        return StateMoved(refusal.message, **refusal.evidence)
    if refusal.rule == "approval_required":
        facts |= {"id": refusal.evidence["id"], "key": refusal.evidence["key"]}
    if refusal.rule in EFFECT_ERRORS:
        return EFFECT_ERRORS[refusal.rule](refusal.message, **refusal.evidence)
    return RULES.get(refusal.rule, Refused)(refusal.message, **facts)
