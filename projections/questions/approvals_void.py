"""Approvals that came to nothing: late, contradicted, or for something else than was then done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ledger.values.times import write_time
from projections.questions.approvals_asked import (
    ASKED_AGAIN,
    BEGUN,
    COUNTING,
    DONE,
    REPLACED,
    Runtimes,
    asked_before,
    same,
)
from projections.questions.approvals_bound import Bindings
from projections.questions.base import PERIOD, SOME_RUN, AnswerColumn, Asked, Question, Row
from projections.questions.placing import in_place, within

# The request an answer is to: the last one of its id before it.
_ANSWERS = f"""
    SELECT a.run, a.position, a.at, a.id, a.answer, a.by, r.position, r.at, r.key, r.expires_at,
        ({COUNTING}), c.answer, ({REPLACED}), ({DONE}), a.is_person, a.decided_by, r.requested_by,
        ({asked_before("a")})
    FROM {{approvals.answers}} AS a
    LEFT JOIN {{approvals.requests}} AS r ON r.run = a.run AND r.position = (
        SELECT MAX(n.position) FROM {{approvals.requests}} AS n
        WHERE n.run = a.run AND n.id = a.id AND n.position < a.position
    )
    LEFT JOIN {{approvals.answers}} AS c ON c.run = r.run AND c.position = ({COUNTING})
    WHERE %s
"""

# An act cites the last request of the id before it began.
_ACTS = f"""
    SELECT s.run, s.position, s.at, i.approval, i.position, i.key, i.tool_schema, i.terms_digest,
        r.position, r.at, r.key, r.expires_at, r.tool_schema, r.terms_digest, r.runtime_digest,
        a.position, a.at, a.answer, a.by
    FROM {{effects.steps}} AS s
    CROSS JOIN {{effects.intents}} AS i
    LEFT JOIN {{approvals.requests}} AS r ON r.run = i.run AND r.position = (
        SELECT MAX(n.position) FROM {{approvals.requests}} AS n
        WHERE n.run = i.run AND n.id = i.approval AND n.position < s.position
    )
    LEFT JOIN {{approvals.answers}} AS a ON a.run = r.run AND a.position = ({COUNTING})
    WHERE %s AND %s AND COALESCE(i.approval, '') <> '' AND s.position = ({BEGUN})
        AND i.run = s.run AND i.position = (
            SELECT MAX(n.position) FROM {{effects.intents}} AS n
            WHERE n.key = s.key AND n.run || '' = s.run AND n.position < s.position
        )
"""

_UNANSWERED = f"""
    SELECT r.run, r.position, r.at, r.id, r.key, r.expires_at
    FROM {{approvals.requests}} AS r
    WHERE %s
        AND NOT EXISTS (
            SELECT 1 FROM {{approvals.answers}} AS a
            WHERE a.run = r.run AND a.id = r.id AND a.position > r.position
        )
        AND ({ASKED_AGAIN}) IS NULL AND ({REPLACED}) IS NULL
"""


class VoidApprovals(Question):
    """Approvals that are void or late."""

    name = "void-approvals"
    group = "Approvals"
    about = (
        "Answers that came late, once more, against another, from who may not give them, or to nothing; "
        "approvals that count, of what had changed since it was asked; "
        "requests that nobody answered in time; and acts that began on an approval that did not hold for "
        "them. One row for each reason."
    )
    cannot = (
        "Whether an approval that no act has cited yet still holds: `intent-ledger approvals --all` and the "
        "gate say so. Of acts, a plan that changed after the request is not looked at here."
    )
    parameters = (SOME_RUN, *PERIOD)
    columns = (
        AnswerColumn("run", "The run."),
        AnswerColumn(
            "position",
            "Where the answer stands, where the act began, or where was asked that nobody answered.",
        ),
        AnswerColumn(
            "at",
            "When that was, or when the request expired that nobody answered; `since` and `before` go by "
            "this time.",
        ),
        AnswerColumn("approval", "The request, by its id in the run."),
        AnswerColumn(
            "why",
            "Of an answer: `late` (a denial is never), `not_a_person` (or an agent wrote it), "
            "`by_requester` (they asked for the act, then or before), `second_answer` (the one that counts "
            "says the same), `conflicting` (it says something else), "
            "`asked_anew` (another request about the act stood), `act_done` (it had been), `unknown_id` "
            "(nobody had asked), `not_bound` (it counts, but terms, plan or runtime were not those asked "
            "under, and unless they are so again nothing begins on it). Of a request: `unanswered`. Of an "
            "act: `unknown_id`, `not_approved` (no answer counts, or it was denied), `expired` (begun when "
            "it had ended), "
            "`key_changed` (another act was asked about), `terms_changed`, `tool_changed`, "
            "`runtime_changed`.",
        ),
        AnswerColumn("key", "The key of the act that was asked about."),
        AnswerColumn("asked_position", "Where it was asked."),
        AnswerColumn("asked_at", "When it was asked."),
        AnswerColumn("expires_at", "Until when an answer counts; empty: for ever."),
        AnswerColumn("answer", "The answer that the row is about, or that the act began on."),
        AnswerColumn("answered_by", "Who is said to have answered so."),
        AnswerColumn("answered_position", "Where."),
        AnswerColumn("answered_at", "When."),
        AnswerColumn("executed_key", "The key of the act."),
        AnswerColumn("executed_position", "Where the act was intended."),
    )
    example = "run=refund-17"
    uses = ("approvals", "effects", "observations")

    def rows(self, asked: Asked) -> Iterable[Row]:
        found = [*_answers(asked), *_acts(asked), *_unanswered(asked)]
        return sorted(found, key=lambda row: (*in_place(row), row[4]))


def _answers(asked: Asked) -> Iterator[Row]:
    bindings = Bindings(asked)
    for row in asked.select(_ANSWERS % within(asked, "a"), **asked.given):
        run, position, at, id, answer, by, place, asked_at, key, expires_at, counts = row[:11]
        said = (answer, by, position, at)
        reasons = [*_why_not(row)]
        if answer == "approved" and counts == position and bindings.bound(run, position) == 0:
            reasons.append("not_bound")
        for why in reasons:
            yield (run, position, at, id, why, key, place, asked_at, expires_at, *said, None, None)


def _why_not(row: tuple[Any, ...]) -> Iterator[str]:
    """Say why an answer counts for nothing."""
    _, position, at, _, answer, by, place, _, _, expires_at, counts, counting = row[:12]
    replaced, done, is_person, decided_by, requested_by, before = row[12:]
    if place is None:
        yield "unknown_id"
        return
    if answer == "approved" and expires_at is not None and expires_at <= at:
        yield "late"
    if not is_person:
        yield "not_a_person"
    elif requested_by in (by, decided_by) or before is not None:
        yield "by_requester"
    if replaced is not None and replaced < position:
        yield "asked_anew"
    if done is not None and done < position:
        yield "act_done"
    if counts is not None and counts < position:
        yield "second_answer" if counting == answer else "conflicting"


class _Act(NamedTuple):
    run: str
    position: int
    at: str
    approval: str
    intended: int
    key: str
    tool_schema: str | None
    terms_digest: str | None
    asked: int | None
    asked_at: str | None
    asked_key: str | None
    expires_at: str | None
    asked_tool: str | None
    asked_terms: str | None
    asked_runtime: str | None
    answered: int | None
    answered_at: str | None
    answer: str | None
    by: str | None


def _acts(asked: Asked) -> Iterator[Row]:
    what = "s.what" if asked.given["run"] is None else "s.what || ''"
    query = _ACTS % (f"{what} IN ('started', 'succeeded')", within(asked, "s"))
    runtimes = Runtimes(asked)
    for row in asked.select(query, **asked.given):
        act = _Act(*row)
        said = (act.answer, act.by, act.answered, act.answered_at)
        if act.answered is not None and act.answered > act.position:
            said = (None, None, None, None)
        for why in _why_void(act, said[0], runtimes):
            asked_for = (act.asked_key, act.asked, act.asked_at, act.expires_at)
            yield (act.run, act.position, act.at, act.approval, why, *asked_for, *said, act.key, act.intended)


def _why_void(act: _Act, answer: str | None, runtimes: Runtimes) -> Iterator[str]:
    """Say why an approval did not hold for an act that began on it."""
    if act.asked is None:
        yield "unknown_id"
        return
    if answer != "approved":
        yield "not_approved"
    if act.expires_at is not None and act.expires_at <= act.at:
        yield "expired"
    if act.key != act.asked_key:
        yield "key_changed"
    if same(act.asked_terms, act.terms_digest) == 0:
        yield "terms_changed"
    if same(act.asked_tool, act.tool_schema) == 0:
        yield "tool_changed"
    if runtimes.same(act.asked_runtime, act.run, act.intended) == 0:
        yield "runtime_changed"


def _unanswered(asked: Asked) -> Iterator[Row]:
    now = write_time(asked.now)
    query = _UNANSWERED % within(asked, "r", at="expires_at")
    for run, position, at, id, key, expires_at in asked.select(query, **asked.given):
        if expires_at is not None and expires_at <= now:
            asked_for = (key, position, at, expires_at)
            yield (run, position, expires_at, id, "unanswered", *asked_for, *[None] * 6)
