"""The contract as words for a model: what a resumed agent must be told before it reads any history.

The same contract and the same `now` yield the same bytes, so that a digest of them can be recorded. No text
that was stated can pass for a line of ours, see `ledger.run.markdown`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ledger.run.approvals import asked_about, is_denied, never_begun, why_unbound, why_void
from ledger.run.contract import (
    Approval,
    Assumption,
    Constraint,
    Contract,
    Effect,
    Grant,
    Obligation,
    Refutation,
)
from ledger.run.markdown import amounts, by, name, names, note, quoted, section, words
from ledger.run.rule_words import enforcement_words
from ledger.values import write_time


def render(contract: Contract, now: datetime | None) -> str:
    """Render a contract as Markdown, sections in a fixed order, empty ones left out."""
    lines = [
        f"# Contract of run {name(contract.run)} at position {contract.position}",
        f"Status: {_status(contract)}. Incarnation {contract.incarnation}.",
        *section("Goal", _goal(contract)),
        *section("Constraints in force: follow every one", _constraints(contract, now, claimed=False)),
        *section(
            "Claimed, and not said by the source that is named: ask before you rely on one",
            _constraints(contract, now, claimed=True),
        ),
        *section("Plan", _plan(contract)),
        *section("Owed", (_obligation(item, now) for item in contract.obligations)),
        *section("Done on the outside", _done(contract)),
        *section(
            "Intended, and nothing was sent",
            (_waiting(contract, item, now) for item in contract.effects if never_begun(item)),
        ),
        *section(
            "Outcome not known: find out, do not repeat",
            (_effect(item, now) for item in contract.effects if not never_begun(item)),
        ),
        *section("Taken for granted", (_assumption(item) for item in contract.assumptions)),
        *section("Authority", _authority(contract, now)),
        *section("Approvals", (_approval(contract, item, now) for item in contract.approvals)),
        *section("Where the program stands", _cursor(contract)),
    ]
    return "\n".join(lines) + "\n"


def _status(contract: Contract) -> str:
    if contract.closed is not None:
        return f"closed as {contract.closed.outcome}"
    if contract.held is not None:
        return f"held, the gate said {contract.held.verdict}"
    if contract.suspended is not None:
        stop = contract.suspended
        return f"suspended{by(stop.asked_by, stop.said_by)}: {quoted(stop.reason)}"
    return "open"


def _done(contract: Contract) -> Iterator[str]:
    done = contract.tally.effects_done
    if done:
        acts = "1 act is" if done == 1 else f"{done} acts are"
        yield f"{acts} done: called again in its step, one returns what is recorded; do none in another way"


def _goal(contract: Contract) -> Iterator[str]:
    goal = contract.goal
    origin = ""
    if goal.revision > 1:
        origin = note(
            f"revision {goal.revision},{by(goal.by or 'nobody', goal.said_by)}, "
            f"because: {quoted(goal.reason or '')}"
        )
    yield words(goal.text) + origin


def _constraints(contract: Contract, now: datetime | None, *, claimed: bool) -> Iterator[str]:
    constraints = contract.constraints if now is None else contract.in_force(now)
    return (_constraint(item) for item in constraints if (item.published is False) is claimed)


def _constraint(item: Constraint) -> str:
    origin = f"asserted by {name(item.asserted_by)}, accepted{by(item.accepted_by, item.said_by)}"
    if item.source is not None:
        revision = f" revision {name(item.source.revision)}" if item.source.revision else ""
        origin += f", {'from' if item.published else 'naming'} {name(item.source.stream)}{revision}"
    since = "" if item.valid_from is None else f", valid from {write_time(item.valid_from)}"
    until = "" if item.valid_until is None else f", valid until {write_time(item.valid_until)}"
    enforced = f"; {words(enforcement_words(item.rule))}"
    return f"[{name(item.id)}] {words(item.text)}{note(origin + since + until + enforced)}"


def _plan(contract: Contract) -> Iterator[str]:
    if contract.plan is None:
        return
    for step in contract.plan.steps:
        tool = f" with {name(step.tool)}" if step.tool else ""
        what = f": {words(step.description)}" if step.description else ""
        yield f"{name(step.name)}{tool}{what}"


def _obligation(item: Obligation, now: datetime | None) -> str:
    due = ""
    if item.due is not None:
        late = " (overdue)" if now is not None and item.due <= now else ""
        due = f", due {write_time(item.due)}{late}"
    return f"[{name(item.id)}] {words(item.text)}{note(f'to {name(item.owed_to)}{due}')}"


def _effect(item: Effect, now: datetime | None) -> str:
    status = item.status if now is None else item.status_at(now)
    step = f" in step {name(item.step)}" if item.step else ""
    return (
        f"{name(item.tool)}{step}: {status}, attempt {item.attempt}, recovery {item.recovery}, key {item.key}"
    )


def _waiting(contract: Contract, item: Effect, now: datetime | None) -> str:
    """Write an act that nobody began: whether it waits for a person, or is to be called again."""
    step = f" in step {name(item.step)}" if item.step else ""
    approval = asked_about(contract, item.key)
    if contract.closed is not None and contract.closed.successor is None:
        stands = "never begun, and the run has ended"
    elif approval is None or _void(contract, approval, now) is not None:
        stands = "a person is asked when it is called again"
    elif approval.answered is None:
        stands = "waits for a person"
    elif is_denied(approval):
        stands = f"denied by {name(approval.answered.by)}"
    else:
        stands = f"approved by {name(approval.answered.by)}, to be called again as it was"
    return f"{name(item.tool)}{step}: {stands}, recovery {item.recovery}, key {item.key}"


def _void(contract: Contract, item: Approval, now: datetime | None) -> str | None:
    if is_denied(item) or now is None:
        return why_unbound(contract, item)
    return why_void(contract, item, now)


def _assumption(item: Assumption) -> str:
    if item.refuted is None:
        return f"[{name(item.id)}] {words(item.text)}"
    return f"[{name(item.id)}] REFUTED: {words(item.text)}{note(_refuted(item.refuted))}"


def _refuted(wrong: Refutation) -> str:
    told = "" if wrong.said_by is None else f"{by(wrong.by, wrong.said_by).strip()}, "
    return f"{told}because: {quoted(wrong.evidence)}"


def _authority(contract: Contract, now: datetime | None) -> Iterator[str]:
    yield from (_grant(item, now) for item in contract.grants)
    if contract.authority_needed and not contract.grants:
        yield "none is in force, and each act needs one"


def _grant(item: Grant, now: datetime | None) -> str:
    lapsed = " (lapsed)" if now is not None and item.expires_at is not None and item.expires_at <= now else ""
    until = "" if item.expires_at is None else f", until {write_time(item.expires_at)}{lapsed}"
    budget = "" if item.budget is None else f", budget {amounts(item.budget)}, spent {amounts(item.spent)}"
    if item.reserved:
        budget += f", reserved {amounts(item.reserved)}"
    return f"[{name(item.id)}] {name(item.principal)} may {names(item.scopes)}{budget}{until}"


def _approval(contract: Contract, item: Approval, now: datetime | None) -> str:
    answer = (
        "no answer yet" if item.answered is None else f"{item.answered.answer} by {name(item.answered.by)}"
    )
    void = _void(contract, item, now)
    if void is not None:
        answer += f", and VOID ({words(void)})"
    return f"[{name(item.id)}] {answer}: {words(item.question or item.key)}"


def _cursor(contract: Contract) -> Iterator[str]:
    cursor = contract.cursor
    if cursor is None:
        return
    yield f"at {name(cursor.node)}, round {cursor.round}"
    if cursor.next:
        yield f"next: {names(cursor.next)}"
    if cursor.waits_for:
        yield f"waits for: {names(cursor.waits_for)}"
