"""What tests of approvals ask and expect: acts that wait, answers, and claims as they are sent."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

from ledger import commands as c
from ledger import events as e
from ledger.codec import act_digest
from ledger.run.contract import Approval
from ledger.run.decide import decide
from ledger.run.decision import Admitted, Decision, Given, Refusal
from ledger.run.looking import is_wanted
from ledger.testing import Decided, given
from ledger.values import Rule, Runtime
from tests.run import examples as x
from tests.run.claiming import KEY, Run, claim, started

AGENT, KIM, LEE, UI = "agent:refunds", "human:kim", "human:lee", "service:ui"

ASK = Rule(needs_approval=True, tools=("refund",))
RUNTIME = Runtime(model="m-1", prompt="p-1")
ASKING = given(x.opened(runtime=RUNTIME), x.accepted("ask-first", rule=ASK), actor=AGENT)
"""An agent's run, in which a person approves each refund."""


def asked(run: Run = ASKING, command: c.ClaimEffect | None = None) -> Run:
    """Claim, and expect that the act waits for a person."""
    decided = run.when(claim() if command is None else command)
    kinds = [type(event) for event in decided.decision.events]
    assert isinstance(decided.decision, Admitted), decided.decision
    assert e.ApprovalRequested in kinds, decided.decision
    assert e.EffectStarted not in kinds
    return decided.after


def approval(run: Run, key: str = KEY) -> Approval:
    """Return the request about an act."""
    (found,) = (one for one in run.contract.approvals if one.key == key)
    return found


def answer(run: Run, said: Literal["approved", "denied"], by: str = KIM, key: str = KEY, **more: Any) -> Run:
    """Answer the request about an act, as the person who says so."""
    command = c.AnswerApproval(answer=said, by=by, id=approval(run, key).id, **more)
    return run.by(by).when(command).after.by(run.actor)


def approved(run: Run, by: str = KIM, key: str = KEY) -> Run:
    """Let a person approve the act, and expect that it counts."""
    after = answer(run, "approved", by, key)
    assert approval(after, key).answered is not None
    return after


def denied(run: Run, by: str = KIM, key: str = KEY, **more: Any) -> Run:
    """Let a person deny the act, and expect that it counts."""
    after = answer(run, "denied", by, key, **more)
    assert approval(after, key).answered is not None
    return after


def anew(run: Run, by: str = KIM, key: str = KEY, **more: Any) -> Run:
    """Let somebody ask about an act anew, and expect that it is asked."""
    decided = run.by(by).when(c.RequestApproval(key=key, **more))
    assert [type(event) for event in decided.decision.events] == [e.ApprovalRequested], decided.decision
    return decided.after.by(run.actor)


def rule_of(decision: Decision) -> str | None:
    """Return the rule by which a command was refused, or by which a claim waits; None: neither."""
    if isinstance(decision, Refusal):
        return decision.rule
    waits = any(isinstance(event, e.ApprovalRequested) for event in decision.events)
    return "approval_required" if waits else None


def sent(run: Run, command: c.ClaimEffect) -> Decided[Any]:
    """Claim as a ledger does: first on the contract alone, unless that says that the store is to be asked.

    What it decides then stands where the store takes it, which holds each act fresh and each attempt once.
    """
    contract = run.contract
    if not is_wanted(contract, command):
        found = Given(actor=run.actor, now=run.now, run=run.stream, sources=run._sources_of(contract))
        decision = decide(contract, command, found)
        if isinstance(decision, Admitted) and decision.events and _is_taken(run, decision):
            return Decided(run, command, decision)
    return run.when(command)


def _is_taken(run: Run, decision: Admitted) -> bool:
    acts: Counter[bytes] = Counter()
    attempts = set()
    for record in run._lineage():
        if isinstance(record.event, e.EffectIntended):
            acts[act_digest(record.event.act)] += 1
        if isinstance(record.event, e.EffectStarted):
            attempts.add((record.event.key, record.event.attempt))
    begun = [one for one in decision.events if isinstance(one, e.EffectStarted)]
    seen = all(acts[one.digest] == one.intentions for one in decision.fresh)
    return seen and attempts.isdisjoint((one.key, one.attempt) for one in begun)


def begins(run: Run, command: c.ClaimEffect | None = None) -> e.EffectIntended:
    """Claim, and expect that the act begins; return its intention."""
    decided = run.when(claim() if command is None else command)
    assert started(decided) is not None, decided.decision
    (intended,) = (event for event in decided.decision.events if isinstance(event, e.EffectIntended))
    return intended
