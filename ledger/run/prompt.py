"""The contract as words for a model: what a resumed agent must be told before it reads any history.

The same contract and the same `now` yield the same bytes, so that a digest of them can be recorded. Texts
stand as they were stated, but for their line breaks. What begins a line is ours alone: `#` and `- ` at the
margin, `(` after two spaces. Every further line of a text stands after four, whatever it holds, so that none
can pass for a heading, an entry or a statement of who asserted it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Protocol

from ledger.canonical import quote
from ledger.run.contract import Approval, Assumption, Constraint, Contract, Effect, Grant, Obligation
from ledger.values import write_time


def render(contract: Contract, now: datetime | None) -> str:
    """Render a contract as Markdown, sections in a fixed order, empty ones left out."""
    lines = [
        f"# Contract of run {contract.run} at position {contract.position}",
        f"Status: {_status(contract)}. Incarnation {contract.incarnation}.",
        *_section("Goal", _goal(contract)),
        *_section("Constraints in force: follow every one", _constraints(contract, now, claimed=False)),
        *_section(
            "Claimed, and not said by the source that is named: ask before you rely on one",
            _constraints(contract, now, claimed=True),
        ),
        *_section("Plan", _plan(contract)),
        *_section("Owed", (_obligation(item, now) for item in contract.obligations)),
        *_section(
            "Outcome not known: find out, do not repeat", (_effect(item, now) for item in contract.effects)
        ),
        *_section("Taken for granted", (_assumption(item) for item in contract.assumptions)),
        *_section("Authority", (_grant(item, now) for item in contract.grants)),
        *_section("Waiting for approval", (_approval(item) for item in contract.approvals)),
        *_section("Where the program stands", _cursor(contract)),
    ]
    return "\n".join(lines) + "\n"


def _section(title: str, entries: Iterable[str]) -> Iterator[str]:
    first = True
    for entry in entries:
        if first:
            yield from ("", f"## {title}")
            first = False
        yield "- " + entry


def _text(text: str) -> str:
    """Indent all lines of a text but the first, at whatever a reader may take for the end of a line."""
    first, *more = text.splitlines() or [""]
    return "\n".join((first, *(f"    {line}" if line else "" for line in more)))


def _note(text: str) -> str:
    return f"\n  ({text})"


def _status(contract: Contract) -> str:
    if contract.closed is not None:
        return f"closed as {contract.closed.outcome}"
    if contract.held is not None:
        return f"held, the gate said {contract.held.verdict}"
    if contract.suspended is not None:
        return f"suspended: {_flat(contract.suspended.reason)}"
    return "open"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _goal(contract: Contract) -> Iterator[str]:
    goal = contract.goal
    note = ""
    if goal.revision > 1:
        note = _note(f"revision {goal.revision}, by {goal.by}, because: {_text(goal.reason or '')}")
    yield _text(goal.text) + note


def _constraints(contract: Contract, now: datetime | None, *, claimed: bool) -> Iterator[str]:
    constraints = contract.constraints if now is None else contract.in_force(now)
    return (_constraint(item) for item in constraints if (item.published is False) is claimed)


_PLAIN = re.compile(r"[^\s,()\[\]\"]+").fullmatch


def _name(text: str) -> str:
    """Write a name so that nothing in it can pass for words of ours: quoted, unless it is one plain word."""
    return text if _PLAIN(text) else quote(text)


def _constraint(item: Constraint) -> str:
    origin = f"asserted by {_name(item.asserted_by)}, accepted by {_name(item.accepted_by)}"
    if item.source is not None:
        revision = f" revision {_name(item.source.revision)}" if item.source.revision else ""
        origin += f", {'from' if item.published else 'naming'} {_name(item.source.stream)}{revision}"
    since = "" if item.valid_from is None else f", valid from {write_time(item.valid_from)}"
    until = "" if item.valid_until is None else f", valid until {write_time(item.valid_until)}"
    return f"[{_name(item.id)}] {_text(item.text)}{_note(origin + since + until)}"


def _plan(contract: Contract) -> Iterator[str]:
    if contract.plan is None:
        return
    for step in contract.plan.steps:
        tool = f" with {step.tool}" if step.tool else ""
        words = f": {_text(step.description)}" if step.description else ""
        yield f"{step.name}{tool}{words}"


def _obligation(item: Obligation, now: datetime | None) -> str:
    due = ""
    if item.due is not None:
        late = " (overdue)" if now is not None and item.due <= now else ""
        due = f", due {write_time(item.due)}{late}"
    return f"[{_name(item.id)}] {_text(item.text)}{_note(f'to {item.owed_to}{due}')}"


def _effect(item: Effect, now: datetime | None) -> str:
    status = item.status if now is None else item.status_at(now)
    step = f" in step {item.step}" if item.step else ""
    return f"{item.tool}{step}: {status}, attempt {item.attempt}, recovery {item.recovery}, key {item.key}"


def _assumption(item: Assumption) -> str:
    if item.refuted is None:
        return f"[{_name(item.id)}] {_text(item.text)}"
    return (
        f"[{_name(item.id)}] REFUTED: {_text(item.text)}{_note(f'because: {_text(item.refuted.evidence)}')}"
    )


def _grant(item: Grant, now: datetime | None) -> str:
    lapsed = " (lapsed)" if now is not None and item.expires_at is not None and item.expires_at <= now else ""
    until = "" if item.expires_at is None else f", until {write_time(item.expires_at)}{lapsed}"
    budget = "" if item.budget is None else f", budget {_amounts(item.budget)}, spent {_amounts(item.spent)}"
    if item.reserved:
        budget += f", reserved {_amounts(item.reserved)}"
    return f"[{_name(item.id)}] {item.principal} may {', '.join(item.scopes)}{budget}{until}"


class _Items(Protocol):
    def items(self) -> Iterable[tuple[str, object]]: ...


def _amounts(amounts: _Items | None) -> str:
    if amounts is None:
        return "nothing"
    return ", ".join(f"{amount} {unit}" for unit, amount in sorted(amounts.items()))


def _approval(item: Approval) -> str:
    answer = "no answer yet" if item.answered is None else f"{item.answered.answer} by {item.answered.by}"
    return f"[{_name(item.id)}] {answer}: {_text(item.question or item.key)}"


def _cursor(contract: Contract) -> Iterator[str]:
    cursor = contract.cursor
    if cursor is None:
        return
    yield f"at {cursor.node}, round {cursor.round}"
    if cursor.next:
        yield f"next: {', '.join(cursor.next)}"
    if cursor.waits_for:
        yield f"waits for: {', '.join(cursor.waits_for)}"
