"""The takeover brief as Markdown: the same brief yields the same bytes.

No text that was stated can pass for a line of ours, see `ledger.run.markdown`. Sections stand in a fixed
order, those with nothing to say are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from ledger.run.approvals import never_begun
from ledger.run.brief import (
    ApprovalNow,
    AssumptionNow,
    Brief,
    ConstraintNow,
    GoalThen,
    GrantNow,
    Kin,
    ObligationNow,
    ObservationNow,
)
from ledger.run.brief_effects import done, elsewhere, failed, unsettled
from ledger.run.contract import Goal
from ledger.run.markdown import amounts, by, moment, name, names, note, quoted, section, words
from ledger.run.outside import OpenEffect
from ledger.run.rule_words import enforcement_words
from ledger.run.waiting import Waiting
from ledger.run.ways_out import WayOut


def render(brief: Brief) -> str:
    """Write a brief, section by section."""
    lines = [
        f"# Takeover brief of run {name(brief.run)} at position {brief.position}",
        f"Judged at {moment(brief.now)}.",
        *section("Where it stands", _standing(brief)),
        *section("What holds it, and what clears that", _reasons(brief)),
        *section("Goal", _goal(brief)),
        *section("How the goal came to that", _goals(brief.goals)),
        *section("Lineage", _lineage(brief)),
        *section("Said since the last sign of life", _meanwhile(brief)),
        *section("Constraints in force: follow every one", _constraints(brief, claimed=False)),
        *section(
            "Claimed, and not said by the source that is named: ask before you rely on one",
            _constraints(brief, claimed=True),
        ),
        *section("Accepted, and not in force at this time", _not_in_force(brief)),
        *section("Plan", _plan(brief)),
        *section("Where the program stands", _cursor(brief)),
        *section("Owed", map(_obligation, brief.obligations)),
        *_never_sent(brief),
        *section("Not known whether it happened: find out, do not repeat", map(unsettled, _in_doubt(brief))),
        *section("Not settled by other runs of the lineage", map(elsewhere, brief.elsewhere)),
        *section("Done outside: do not repeat", done(brief.done, brief.run)),
        *section("Tried, and did not happen", failed(brief.failed, brief.run)),
        *section("Taken for granted", map(_assumption, brief.assumptions)),
        *section("Not to be relied on: look again", map(_observation, brief.unreliable)),
        *section("Authority", _authority(brief)),
        *section("Approvals", map(_approval, brief.approvals)),
        *section("Waits for", map(_waiting, brief.waiting)),
        *section("Last review", _review(brief)),
        *section("Next", _next(brief)),
    ]
    return "\n".join(lines) + "\n"


def _never_sent(brief: Brief) -> Iterator[str]:
    """Write the acts that wait; of a run that has ended they were never begun, and will not be."""
    if brief.closed is not None and brief.successor is None:
        told = (unsettled(item, how="nothing will be sent, the run has ended") for item in _not_begun(brief))
        return section("Never begun: nothing was sent", told)
    return section("Intended, and nothing was sent yet", map(unsettled, _not_begun(brief)))


def _not_begun(brief: Brief) -> Iterator[OpenEffect]:
    return (item for item in brief.unsettled if never_begun(item))


def _in_doubt(brief: Brief) -> Iterator[OpenEffect]:
    return (item for item in brief.unsettled if not never_begun(item))


def _place(at: datetime, position: int) -> str:
    return f"{moment(at)}, position {position}"


def _because(reason: str | None) -> str:
    return "" if reason is None else f", because: {quoted(reason)}"


def _standing(brief: Brief) -> Iterator[str]:
    yield f"{brief.status}, incarnation {brief.incarnation} since {moment(brief.resumed_at)}"
    alive = brief.alive
    session = "" if alive.session is None else f", session {name(alive.session)}"
    yield f"last sign of life{by(alive.by)}{session}" + note(_place(alive.at, alive.position))
    if brief.stopped is not None:
        yield f"stopped since {_place(brief.stopped.at, brief.stopped.position)}"
    if (waits := brief.suspended) is not None:
        yield f"suspended ({waits.cause}){by(waits.asked_by, waits.said_by)}: {words(waits.reason)}" + note(
            _place(waits.at, waits.position)
        )
    if (ended := brief.closed) is not None:
        why = "" if ended.reason is None else f": {words(ended.reason)}"
        yield f"closed as {ended.outcome}{by(ended.by)}{why}" + note(_place(ended.at, ended.position))
    for what, who in (("owner", brief.owner), ("thread", brief.thread), ("tenant", brief.tenant)):
        if who is not None and (what, who) != ("tenant", "default"):
            yield f"{what} {name(who)}"
    if brief.labels:
        yield "labels " + ", ".join(f"{name(key)} = {name(value)}" for key, value in brief.labels.items())
    if brief.runtime is not None:
        said = brief.runtime.model_dump(exclude_none=True).items()
        yield "runtime " + (", ".join(f"{field} {name(value)}" for field, value in said) or "of no name")
    if brief.limits is not None:
        yield _limits(brief)
    yield f"the event at position {brief.position} has the hash {brief.hash}"


def _limits(brief: Brief) -> str:
    assert brief.limits is not None
    said = brief.limits.model_dump(exclude_none=True).items()
    most = ", ".join(f"{field} {value}" for field, value in said) or "none"
    tally = brief.tally
    return f"limits {most}" + note(f"so far effects {tally.effects}, steps {tally.steps}")


def _reasons(brief: Brief) -> Iterator[str]:
    held = brief.held
    if held is None or brief.closed is not None:
        return
    yield f"the gate said {held.verdict}" + note(_place(held.at, held.position))
    for one in held.reasons:
        since = "" if one.since is None else f", since {moment(one.since)}"
        where = "" if one.position is None else f", position {one.position}"
        who = "" if one.who is None else f", {name(one.who)}"
        told = f"cleared by {name(one.cleared_by)}{who}{since}{where}"
        yield f"{name(one.kind)}: {words(one.what)}" + note(told)


def _goal(brief: Brief) -> Iterator[str]:
    goal = brief.goal
    rests = f"; rests on {names(goal.rests_on)}" if goal.rests_on else ""
    put = _put(goal, brief.goals[-1].opened_by)
    told = f"{put}, {_place(goal.at, goal.position)}{rests}"
    yield words(goal.text) + note(told)


def _put(goal: Goal, opener: str | None) -> str:
    """Say who put a goal: with the first one, who opened the run, and for whom."""
    if opener is None:
        return f"revision {goal.revision}{by(goal.by, goal.said_by)}"
    return f"as opened by {name(opener)}" + ("" if goal.by is None else f" for {name(goal.by)}")


def _goals(goals: Sequence[GoalThen]) -> Iterator[str]:
    if len(goals) < 2:
        return
    for goal in goals:
        put = _put(goal, goal.opened_by)
        told = f"run {name(goal.run)}, {put}, {_place(goal.at, goal.position)}"
        yield words(goal.text) + note(told + _because(goal.reason))


def _lineage(brief: Brief) -> Iterator[str]:
    if len(brief.lineage) > 1 or brief.parent is not None or brief.successor is not None:
        for kin in brief.lineage:
            yield _kin(kin, brief.run)
    for one in brief.dropped:
        yield f"not taken over: {name(one.ref)}" + note(quoted(one.reason))


def _kin(kin: Kin, this: str) -> str:
    here = " (this run)" if kin.run == this else ""
    origin = ""
    if kin.parent is not None:
        origin = f", {kin.parent.relation} of {name(kin.parent.run)} from its position {kin.parent.position}"
    going_on = "" if kin.run == this else ", has not ended"
    ended = going_on if kin.ended is None else f", ended as {kin.ended}"
    after = "" if kin.successor is None else f", succeeded by {name(kin.successor)}"
    return f"{name(kin.run)}{here}{origin}{ended}{after}" + note(f"opened {moment(kin.opened_at)}")


def _meanwhile(brief: Brief) -> Iterator[str]:
    for one in brief.meanwhile:
        yield f"{name(one.name)}{by(one.by, one.said_by)}: {words(one.what)}" + note(
            _place(one.at, one.position)
        )


def _constraints(brief: Brief, *, claimed: bool) -> Iterator[str]:
    found = (one for one in brief.constraints if one.validity == "in_force" and one.claimed is claimed)
    return map(_constraint, found)


def _not_in_force(brief: Brief) -> Iterator[str]:
    return map(_constraint, (one for one in brief.constraints if one.validity != "in_force"))


def _constraint(item: ConstraintNow) -> str:
    told = f"asserted by {name(item.asserted_by)}"
    if item.asserted_at is not None:
        told += f" at {moment(item.asserted_at)}"
    if item.source is not None:
        revision = f" revision {name(item.source.revision)}" if item.source.revision else ""
        told += f", {'naming' if item.claimed else 'from'} {name(item.source.stream)}{revision}"
    told += f", accepted{by(item.accepted_by, item.said_by)}, {_place(item.accepted_at, item.position)}"
    if item.change is not None:
        told += f", {item.change} from position {item.supersedes}"
    if item.valid_from is not None:
        told += f", valid from {moment(item.valid_from)}"
    if item.valid_until is not None:
        told += f", valid until {moment(item.valid_until)}"
    told += f"; {words(enforcement_words(item.rule))}"
    state = {"expired": "EXPIRED: ", "in_force": "", "not_yet": "NOT YET: "}[item.validity]
    return f"[{name(item.id)}] {state}{words(item.text)}{note(told)}"


def _plan(brief: Brief) -> Iterator[str]:
    plan = brief.plan
    if plan is None:
        return
    told = f"{_place(plan.at, plan.position)}{_because(plan.reason)}"
    yield f"revision {plan.revision}{by(plan.by, plan.said_by)}, of these steps" + note(told)
    for number, step in enumerate(plan.steps, 1):
        tool = f" with tool {name(step.tool)}" if step.tool else ""
        what = f": {words(step.description)}" if step.description else ""
        rests = note(f"rests on {names(step.rests_on)}") if step.rests_on else ""
        yield f"step {number}: {name(step.name)}{tool}{what}{rests}"


def _cursor(brief: Brief) -> Iterator[str]:
    cursor = brief.cursor
    if cursor is None:
        return
    yield f"at {name(cursor.node)}, round {cursor.round}" + note(_place(cursor.at, cursor.position))
    for what, some in (("next", cursor.next), ("waits for", cursor.waits_for), ("needs", cursor.needs)):
        if some:
            yield f"{what}: {names(some)}"
    for branch in cursor.branches:
        yield f"branch {name(branch.name)} at {name(branch.node)}, round {branch.round}"
    if cursor.on_denied is not None:
        yield f"when that is denied: {name(cursor.on_denied)}"


def _obligation(item: ObligationNow) -> str:
    due = "" if item.due is None else f", due {moment(item.due)}"
    because = "" if item.because is None else f", because of {name(item.because)}"
    late = "OVERDUE: " if item.overdue else ""
    told = f"to {name(item.owed_to)}{due}{because}, {_place(item.at, item.position)}"
    return f"[{name(item.id)}] {late}{words(item.text)}{note(told)}"


def _assumption(item: AssumptionNow) -> str:
    state, told = "", _place(item.at, item.position)
    if (wrong := item.refuted) is not None:
        state = "REFUTED: "
        told += f", refuted{by(wrong.by, wrong.said_by)} {_place(wrong.at, wrong.position)}"
    if item.resting:
        told += f"; on it rest {names(item.resting)}"
    if wrong is not None:
        told += _because(wrong.evidence)
    return f"[{name(item.id)}] {state}{words(item.text)}{note(told)}"


def _observation(item: ObservationNow) -> str:
    state = "stale" if item.stale_since is not None else "invalid"
    seen = "nobody knows when" if item.observed_at is None else moment(item.observed_at)
    told = f"seen {seen}, position {item.position}"
    if item.stale_since is not None and item.observed_at is not None:
        told += f", stale since {moment(item.stale_since)}"
    told += f"; on it rest {names(item.resting)}" if item.resting else "; nothing rests on it"
    if item.invalidated is not None:
        told += f"; said to be wrong at position {item.invalidated_at}{_because(item.invalidated)}"
    return f"[{name(item.key)}] {state}, seen with {name(item.tool)}{note(told)}"


def _authority(brief: Brief) -> Iterator[str]:
    yield from map(_grant, brief.grants)
    for item in brief.revoked:
        told = f"{_place(item.at, item.position)}{_because(item.reason)}"
        yield f"[{name(item.id)}] REVOKED{by(item.by, item.said_by)}{note(told)}"
    if brief.authority_needed and not any(grant.usable for grant in brief.grants):
        yield "none is left, and each act needs one"


def _grant(item: GrantNow) -> str:
    state = "" if item.usable else "ENDED: " if item.lapsed else "USED UP: "
    told = f"granted by {name(item.granted_by)}, {_place(item.at, item.position)}"
    if item.expires_at is not None:
        told += f", until {moment(item.expires_at)}"
    if item.session is not None:
        told += f", for session {name(item.session)}"
    if item.on_resume is not None:
        told += f", on resume {item.on_resume}"
    if item.budget is not None:
        told += (
            f"; budget {amounts(item.budget)}, spent or passed on {amounts(item.spent)}, "
            f"reserved {amounts(item.reserved)}, left {amounts(item.left)}"
        )
    return f"[{name(item.id)}] {state}{name(item.principal)} may {names(item.scopes)}{note(told)}"


def _approval(item: ApprovalNow) -> str:
    state = "waits for an answer" if item.pending else "not answered"
    if item.answered is not None:
        state = f"{item.answered.answer} by {name(item.answered.by)}"
    if item.void is not None:
        state = f"{state}, and VOID ({words(item.void)})"
    told = f"{_place(item.at, item.position)}, act {item.key}"
    if item.requested_by is not None:
        told += f", asked for by {name(item.requested_by)}, who cannot answer"
    if item.expires_at is not None:
        told += f", until {moment(item.expires_at)}"
    question = f": {words(item.question)}" if item.question else ""
    return f"[{name(item.id)}] {state}{question}{note(told)}"


def _waiting(item: Waiting) -> str:
    who = "" if item.who is None else f" from {name(item.who)}"
    told = "the program stands there until then" if item.needed_by_cursor else "the program goes on meanwhile"
    if item.since is not None:
        told += f", since {moment(item.since)}"
    if item.until is not None:
        told += f", until {moment(item.until)}"
    if item.overdue:
        told += ", OVERDUE"
    return f"{name(item.ref)}{who}: {words(item.what)}{note(told)}"


def _review(brief: Brief) -> Iterator[str]:
    review = brief.review
    if review is not None:
        said = "" if review.note is None else f": {words(review.note)}"
        told = f"{_place(review.at, review.position)}; what came later was not seen"
        yield f"{review.meaning} by {name(review.by)} up to position {review.head}{said}{note(told)}"


def _next(brief: Brief) -> Iterator[str]:
    for way in brief.next:
        for number, line in enumerate(way.command_lines or (_said(way),)):
            yield words(line) + note(("or instead: " if number else "") + _purpose(way))


def _said(way: WayOut) -> str:
    if way.command is None:
        return f"see run {name(way.run)}"
    known = "".join(f", {field} {name(text)}" for field, text in way.fields.items())
    return f"{way.command} for run {name(way.run)}{known}"


def _purpose(way: WayOut) -> str:
    if way.reason is None:
        return words(way.why)
    return f"{name(way.reason.cleared_by)} clears {name(way.reason.kind)}: {words(way.why)}"
