"""Asking a person anew about an act, under what holds now."""

from __future__ import annotations

from ledger.commands import RequestApproval
from ledger.events import ApprovalRequested
from ledger.run.approvals import approval_id, asked_about, denied, is_denied, why_void
from ledger.run.contract import Contract
from ledger.run.decision import Decision, Given, Refusal, acting, admitted, is_agent, not_open, stands_at
from ledger.run.keys import runtime_digest
from ledger.run.permits import args_of, demanding_approval
from ledger.run.questions import made_anew
from ledger.values import Party


def request(contract: Contract, command: RequestApproval, given: Given) -> Decision:
    """Ask anew under what holds now. While an earlier request binds, the same question again is a repeat.

    What a person denied only a person asks anew about. An agent asks in the words in which it was asked
    before: they say to a person why they are asked, and are not for it to choose. Where what was asked before
    does not bind any more, nor do its words: they are made anew, of the rules that hold now.
    """
    known = None if given.looked is None else given.looked.effect
    old = asked_about(contract, command.key)
    held = next((one for one in contract.effects if one.key == command.key), None)
    if contract.fork_of is not None:
        reason = f"{contract.run!r} is a fork of {contract.fork_of!r}: it performs nothing, so it asks nobody"
        return Refusal("effects_disabled", reason)
    if known is None or known.status == "succeeded" or (old is None and held is None):
        return not_open("effect", command.key)
    now = max(given.now, contract.at)
    if old is not None and is_denied(old) and is_agent(given.actor):
        return denied(contract, old)
    before = None if old is None else old.question
    void = None if old is None else why_void(contract, old, now)
    if command.question not in (None, before) and is_agent(given.actor):
        return _worded_by_an_agent(command, acting(given.actor))
    question = command.question or before
    if question is not None and void is not None and command.question is None:
        demanding = demanding_approval(contract, known.tool, args_of(known), now)
        question = made_anew(question, known.tool, demanding, void)
    stands = old is not None and old.answered is None and void is None
    if old is not None and stands and (old.question, old.expires_at) == (question, command.expires_at):
        return stands_at(old.position)
    runtime = contract.runtime
    event = ApprovalRequested(
        expires_at=command.expires_at,
        id=approval_id(contract.run, command.key, contract.position + 1),
        key=command.key,
        question=question,
        runtime_digest=None if runtime is None else runtime_digest(runtime),
        tool_schema=known.tool_schema,
    )
    return admitted(event)


def _worded_by_an_agent(command: RequestApproval, who: Party) -> Refusal:
    reason = f"{who} may not word what a person is asked: leave out the question, and it is asked as before"
    return Refusal("not_for_agents", reason, evidence={"command": command.name, "actor": who})
