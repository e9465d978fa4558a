"""Resuming: what the gate said becomes an event, and the run goes on, is held, or stays as it is."""

from __future__ import annotations

import hashlib
from datetime import datetime

from ledger.canonical import invalid, quote
from ledger.commands import ResumeRun
from ledger.events import MessageRecorded, ResumeRefused, RunResumed
from ledger.run.contract import Contract
from ledger.run.decision import Admitted, Decision, Given, admitted, stands_at
from ledger.run.fitting import kept
from ledger.run.prompt import render
from ledger.run.seams import seam
from ledger.values import Payload, Verdict

MOST_REASONS = 200
"""Reasons that one event records; all are told to who asks."""


def resume(contract: Contract, command: ResumeRun, given: Given) -> Decision:
    """Go on where the gate says so, in the next incarnation; else hold the run.

    An unchanged decision is not said twice, and that somebody else is at work holds nobody: whoever asks
    could stop every run otherwise.

    Raises:
        InvalidInput: the gate was not asked.
    """
    judged = given.judged
    if judged is None:
        raise invalid("command", "a run goes on by `ledger.resume`, which asks the gate")
    if judged.verdict is Verdict.CONTINUE:
        return _going_on(contract, command, given)
    if judged.is_live:
        return stands_at(contract.position)
    reasons = kept(judged.reasons, MOST_REASONS)
    held = contract.held
    if held is not None and (held.verdict, held.reasons) == (judged.verdict, reasons):
        return stands_at(held.position)
    return admitted(ResumeRefused(reasons=reasons, verdict=judged.verdict))


def _going_on(contract: Contract, command: ResumeRun, given: Given) -> Decision:
    now = max(given.now, contract.at)
    number = contract.incarnation + 1
    text = prompt_after(contract, now)
    resumed = RunResumed(
        gap_seconds=max(0, int((now - contract.at).total_seconds())),
        incarnation=number,
        prompt_digest=hashlib.sha256(text.encode()).hexdigest(),
        runtime=command.runtime,
        take_over=command.take_over,
    )
    told = quote(seam(contract, now, take_over=command.take_over))
    message = MessageRecorded(content=Payload(json_text=told), id=f"ledger:resumed:{number}", role="ledger")
    # What the sources said when it was judged is so when this is stored.
    guards = {name: state.position for name, state in sorted(given.sources.items())}
    return Admitted((resumed, message), guards)


def prompt_after(contract: Contract, now: datetime) -> str:
    """Render what the resumed agent is told: the contract as it is right after the run goes on."""
    resumed = contract.with_fields(
        {
            "held": None,
            "incarnation": contract.incarnation + 1,
            "position": contract.position + 1,
            "suspended": None,
        }
    )
    return render(resumed, now)
