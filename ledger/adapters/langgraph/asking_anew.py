"""Asking people anew where what they were asked binds no more, so that a thread need not be held for it."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime

from ledger import Actor, Ledger, Resumption, Run
from ledger.errors import ApprovalDenied, NotOpen, Superseded
from ledger.run.contract import Approval
from ledger.run.decision import is_agent

CODE = Actor("service:langgraph")
"""This code: by whose decision it is not asked whether a goal holds that nobody gave, and who asks anew."""
VOID = "approval_void"
ASKED = "approval.requested"


def asks_anew(decision: Resumption[Run]) -> bool:
    """Tell whether nothing stands in the way of a thread but approvals that are asked for anew."""
    return bool(decision.reasons) and all(
        one.kind == VOID and one.cleared_by == ASKED for one in decision.reasons
    )


def ask_anew(ledger: Ledger, run: Run, decision: Resumption[Run], now: datetime) -> None:
    """Ask anew, under what holds now, about the acts whose approvals are void.

    Where the graph is run by somebody who is no agent, this code asks: a person who asked could not answer.

    Args:
        ledger: that keeps the run.
        run: in its present incarnation.
        decision: what the gate said of it.
        now: from when on the time counts in which an answer is good, where there is one.
    """
    if not is_agent(run.actor):
        run = ledger.run(run.id, actor=CODE)
    void = {one.position for one in decision.reasons if one.kind == VOID}
    for approval in run.contract.approvals:
        if approval.position in void:
            # Done, denied or gone on with by somebody else meanwhile: the gate is asked once more anyway.
            with suppress(ApprovalDenied, NotOpen, Superseded):
                run.request_approval(approval.key, expires_at=_good_until(approval, now))


def _good_until(approval: Approval, now: datetime) -> datetime | None:
    """Let the answer be good for as long as before."""
    return None if approval.expires_at is None else now + (approval.expires_at - approval.at)
