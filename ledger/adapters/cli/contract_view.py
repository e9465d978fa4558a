"""A contract on the screen, section by section; what is empty is left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import groupby
from typing import Any

from ledger.adapters.cli.effect_view import consent_words
from ledger.adapters.cli.screen import Screen
from ledger.adapters.cli.visible import one_line
from ledger.adapters.cli.words import counted, quoted, shortened, source_words, when
from ledger.application.consents import consent_in, consent_of
from ledger.application.query import changed_since_review
from ledger.application.settling import has_ended
from ledger.run.approvals import never_begun
from ledger.run.contract import Constraint, Contract, Effect, Grant, Observation
from ledger.run.rule_words import enforcement_words, is_enforced

Entry = tuple[str, str]
"""What stands out, and where it comes from."""


def contract_facts(contract: Contract) -> dict[str, Any]:
    """Give a contract as a JSON object; of each constraint whether a machine holds acts to it."""
    facts = {"status": contract.status, **contract.model_dump(mode="json", exclude_none=True)}
    for said, item in zip(facts["constraints"], contract.constraints, strict=True):
        said["enforced"] = is_enforced(item.rule)
    return facts


def show(contract: Contract, now: datetime, screen: Screen, *, opener: str) -> None:
    """Write a contract; `now` judges what is overdue, lapsed, stale or not yet valid; `opener` opened it."""
    screen.line(
        f"Run {quoted(contract.run)} at position {contract.position}: {contract.status}, "
        f"incarnation {contract.incarnation}",
        style="bold",
    )
    for line in _about(contract):
        screen.entry(line, indent=2, hang=2)
    _section(screen, "What holds it", _reasons(contract))
    _section(screen, _goal_title(contract), _goal(contract, opener))
    _section(screen, "Constraints", _constraints(contract.constraints, now, screen.is_terminal))
    _section(screen, "Plan", _plan(contract))
    _section(screen, "Owed", _owed(contract, now))
    _section(
        screen,
        "Effects whose outcome is open",
        (_effect(contract, item, now, screen) for item in contract.effects),
    )
    _section(screen, "Taken for granted", _assumptions(contract))
    _section(screen, "Authority", _authority(contract, now))
    _section(screen, "Approvals", _approvals(contract, now, screen))
    _section(screen, "Latest observations", (_observation(item, now) for item in contract.observations[-8:]))
    _section(screen, "Where the program stands", _cursor(contract))
    _section(screen, "Last review", _review(contract))


def _section(screen: Screen, title: str, entries: Iterable[Entry]) -> None:
    first = True
    for what, origin in entries:
        if first:
            screen.title(title)
            first = False
        screen.quote(what, indent=2)
        if origin:
            screen.entry(origin, indent=4, hang=2, style="dim")


def _about(contract: Contract) -> Iterator[str]:
    yield f"opened {when(contract.opened_at)}, last event {when(contract.at)}"
    named = [
        f"{name} {value}"
        for name, value in (
            ("tenant", quoted(contract.tenant) if contract.tenant != "default" else None),
            ("owner", contract.owner and quoted(contract.owner)),
            ("thread", _thread(contract)),
            ("labels", " ".join(f"{key}={quoted(value)}" for key, value in (contract.labels or {}).items())),
            ("predecessor", contract.predecessor and quoted(contract.predecessor)),
            ("fork of", contract.fork_of and quoted(contract.fork_of)),
            ("child of", _child_of(contract)),
        )
        if value
    ]
    if named:
        yield ", ".join(named)
    if contract.suspended is not None:
        waiting = contract.suspended
        who = "" if waiting.asked_by is None else f" by {quoted(waiting.asked_by)}"
        if waiting.said_by is not None:
            who += f", as {quoted(waiting.said_by)} says"
        yield f"suspended{who} at position {waiting.position} ({waiting.cause}): {waiting.reason}"
    if contract.held is not None:
        yield f"held at position {contract.held.position}: the gate said {contract.held.verdict}"
    if contract.closed is not None:
        ended = contract.closed
        why = f": {ended.reason}" if ended.reason else ""
        after = "" if ended.successor is None else f"; {quoted(ended.successor)} succeeds it"
        yield f"closed as {ended.outcome} at position {ended.position}{why}{after}"
    yield f"terms {contract.terms.digest[:15]}.. last changed at position {contract.terms.position}"


def _thread(contract: Contract) -> str | None:
    """Name the thread that a run says it is of, or that it is named after where it keeps states."""
    thread = contract.thread
    if thread is None and contract.saved is not None:
        name, _, generation = contract.run.rpartition("#")
        thread = name if generation.isdecimal() else None
    return thread and quoted(thread)


def _child_of(contract: Contract) -> str | None:
    parent = contract.parent
    return None if parent is None or parent.relation != "child" else quoted(parent.run)


def _reasons(contract: Contract) -> Iterator[Entry]:
    for one in () if contract.held is None or contract.closed is not None else contract.held.reasons:
        since = "" if one.since is None else f"since {when(one.since)}, "
        where = "" if one.position is None else f", position {one.position}"
        yield (
            f"{quoted(one.kind)}: {one_line(one.what)}",
            f"{since}cleared by {quoted(one.cleared_by)}{where}",
        )


def _goal_title(contract: Contract) -> str:
    return "Goal" if contract.goal.revision == 1 else f"Goal, revision {contract.goal.revision}"


def _goal(contract: Contract, opener: str) -> Iterator[Entry]:
    goal = contract.goal
    if goal.revision == 1:
        whose = "" if contract.owner is None else f" for {quoted(contract.owner)}"
        yield goal.text, f"as opened by {quoted(opener)}{whose}, {_place(goal.at, goal.position)}"
        return
    why = f": {goal.reason}" if goal.reason else ""
    yield goal.text, f"revised by {quoted(goal.by or '')}, {_place(goal.at, goal.position)}{why}"


def _place(at: datetime, position: int) -> str:
    return f"{when(at)}, position {position}"


def _constraints(items: Iterable[Constraint], now: datetime, brief: bool) -> Iterator[Entry]:
    """Write neighbours that have one origin (a document that was accepted whole) with it once."""
    for origin, neighbours in groupby(items, lambda item: _origin(item, now, brief)):
        group = list(neighbours)
        for item in group[:-1]:
            yield f"{quoted(item.id)}: {item.text}", ""
        first, last = group[0].position, group[-1].position
        places = f"position {last}" if first == last else f"these {len(group)} at positions {first} to {last}"
        yield f"{quoted(group[-1].id)}: {group[-1].text}", f"{origin}; {places}"


def _origin(item: Constraint, now: datetime, brief: bool) -> str:
    origin = f"asserted by {quoted(item.asserted_by)}"
    if item.asserted_at is not None:
        origin += f" at {when(item.asserted_at)}"
    if item.source is not None:
        origin += f", from {source_words(item.source, brief=brief)}"
        if not item.published:
            origin += " (CLAIMED: the source does not say so)"
    origin += f"; accepted by {quoted(item.accepted_by)}, {when(item.accepted_at)}"
    if item.change is not None:
        origin += f", {item.change} from position {item.supersedes}"
    if item.valid_from is not None and now < item.valid_from:
        origin += f"; NOT YET valid, from {when(item.valid_from)}"
    if item.valid_until is not None:
        origin += f"; {'EXPIRED' if item.valid_until <= now else 'valid until'} {when(item.valid_until)}"
    return f"{origin}; {one_line(enforcement_words(item.rule))}"


def _plan(contract: Contract) -> Iterator[Entry]:
    plan = contract.plan
    if plan is None:
        return
    for number, step in enumerate(plan.steps, 1):
        tool = f" with tool {quoted(step.tool)}" if step.tool else ""
        rests = f"rests on {', '.join(map(quoted, step.rests_on))}" if step.rests_on else ""
        words = f": {step.description}" if step.description else ""
        yield f"{number}. {quoted(step.name)}{tool}{words}", rests
    why = f": {plan.reason}" if plan.reason else ""
    yield f"revision {plan.revision}, {_place(plan.at, plan.position)}{why}", ""


def _owed(contract: Contract, now: datetime) -> Iterator[Entry]:
    for item in contract.obligations:
        due = ""
        if item.due is not None:
            due = f", due {when(item.due)}{' OVERDUE' if item.due <= now else ''}"
        yield (
            f"{quoted(item.id)}: {item.text}",
            f"to {quoted(item.owed_to)}{due}; {_place(item.at, item.position)}",
        )


def _effect(contract: Contract, item: Effect, now: datetime, screen: Screen) -> Entry:
    seen = "" if item.witnessed else ", imported"
    step = f" in step {quoted(item.step)}" if item.step else ""
    key = shortened(item.key, screen.is_terminal)
    status = f"{item.status_at(now)}, attempt {item.attempt}{seen}"
    consent = consent_in(contract, item.key, now) if never_begun(item) else None
    if never_begun(item) and has_ended(contract):
        status = "never begun, and its run has ended"
    elif consent is not None:
        status = consent_words(consent, brief=screen.is_terminal)
    return (
        f"{quoted(item.tool)}{step}: {status}",
        f"recovery {item.recovery}, key {key}, {_place(item.at, item.position)}",
    )


def _assumptions(contract: Contract) -> Iterator[Entry]:
    for item in contract.assumptions:
        if item.refuted is None:
            yield f"{quoted(item.id)}: {item.text}", _place(item.at, item.position)
        else:
            yield (
                f"{quoted(item.id)}: REFUTED: {item.text}",
                f"{item.refuted.evidence} ({_place(item.refuted.at, item.refuted.position)})",
            )


def _authority(contract: Contract, now: datetime) -> Iterator[Entry]:
    yield from (_grant(item, now) for item in contract.grants)
    if contract.authority_needed and not contract.grants:
        yield "none is in force, and each act needs one", ""


def _grant(item: Grant, now: datetime) -> Entry:
    until = ""
    if item.expires_at is not None:
        until = f", {'LAPSED' if item.expires_at <= now else 'until'} {when(item.expires_at)}"
    session = "" if item.session is None else f", for session {quoted(item.session)}"
    budget = ""
    if item.budget is not None:
        amounts = (
            f"{(item.spent or {}).get(unit, 0)} of {amount} {unit}" for unit, amount in item.budget.items()
        )
        budget = f", spent or passed on {', '.join(amounts)}"
    return (
        f"{quoted(item.id)}: {quoted(item.principal)} may {', '.join(map(quoted, item.scopes))}",
        f"granted by {quoted(item.granted_by)}{session}{budget}{until}; {_place(item.at, item.position)}",
    )


def _approvals(contract: Contract, now: datetime, screen: Screen) -> Iterator[Entry]:
    brief = screen.is_terminal
    for item in contract.approvals:
        stands = consent_words(consent_of(contract, item, now), brief=brief)
        asks = "" if item.requested_by is None else f"asked for by {quoted(item.requested_by)}; "
        key = shortened(item.key, brief)
        yield f"{item.question or 'An act'}", f"{stands}; {asks}act {key}, {_place(item.at, item.position)}"


def _observation(item: Observation, now: datetime) -> Entry:
    state = "never goes stale"
    if item.invalidated is not None:
        state = f"INVALID: {item.invalidated}"
    elif item.stale_at is not None:
        state = "STALE" if item.stale_at <= now else f"fresh until {when(item.stale_at)}"
    return quoted(item.key), f"seen with {quoted(item.tool)}, {state}; {_place(item.at, item.position)}"


def _cursor(contract: Contract) -> Iterator[Entry]:
    cursor = contract.cursor
    if cursor is not None:
        parts = [f"at {quoted(cursor.node)}, round {cursor.round}"]
        if cursor.next:
            parts.append(f"next {', '.join(map(quoted, cursor.next))}")
        if cursor.waits_for:
            parts.append(f"waits for {', '.join(map(quoted, cursor.waits_for))}")
        yield "; ".join(parts), _place(cursor.at, cursor.position)
    tally = contract.tally
    if tally.messages or tally.effects:
        counts = (
            counted(tally.messages, "message"),
            counted(tally.effects, "effect"),
            counted(tally.steps, "step"),
        )
        yield f"so far {', '.join(counts)}", ""


def _review(contract: Contract) -> Iterator[Entry]:
    review = contract.review
    if review is not None:
        later = changed_since_review(contract) or 0
        yield (
            f"{review.meaning} by {quoted(review.by)} up to position {review.head}"
            + (f": {review.note}" if review.note else ""),
            f"{when(review.at)}; {counted(later, 'event')} came after",
        )
