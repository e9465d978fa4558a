"""Who answered requests for approval: a person, entitled, other than who asked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic_core import from_json

from ledger.run.authority import scopes_cover
from ledger.run.decision import acting
from ledger.run.rules import asks_approval
from ledger.run.sources import PREFIX
from ledger.values import Actor, Rule
from projections.questions.approvals_asked import COUNTING, asked_before
from projections.questions.approvals_bound import Bindings
from projections.questions.base import PERIOD, SOME_RUN, AnswerColumn, Asked, Question, Row
from projections.questions.grants_at import Grants
from projections.questions.placing import in_place, within

_APPROVE = "approve"

_ANSWERS = f"""
    SELECT a.run, a.position, a.at, a.id, a.answer, a.by,
        w.actor, w.session, w.authenticated_by, w.role, w.on_behalf_of,
        r.position, r.key, q.actor, q.on_behalf_of, ({COUNTING}), i.tool, COALESCE(i.args_in_full, i.args),
        a.is_person, a.decided_by, r.requested_by, a.reason, ({asked_before("a")})
    FROM {{approvals.answers}} AS a
    JOIN {{timeline.events}} AS w ON w.run = a.run AND w.position = a.position
    LEFT JOIN {{approvals.requests}} AS r ON r.run = a.run AND r.position = (
        SELECT MAX(n.position) FROM {{approvals.requests}} AS n
        WHERE n.run = a.run AND n.id = a.id AND n.position < a.position
    )
    LEFT JOIN {{timeline.events}} AS q ON q.run = r.run AND q.position = r.position
    LEFT JOIN {{effects.intents}} AS i ON i.run = r.run AND i.position = (
        SELECT MAX(n.position) FROM {{effects.intents}} AS n
        WHERE n.key = r.key AND n.run || '' = r.run AND n.position < a.position
    )
    WHERE %s
"""

# In force right before the request; of one id the last acceptance counts.
_DEMANDS = """
    SELECT c.rule, c.source FROM {constraints.acceptances} AS c
    WHERE c.run = :run AND c.position < :position AND c.rule IS NOT NULL AND c.source IS NOT NULL
        AND NOT EXISTS (
            SELECT 1 FROM {constraints.acceptances} AS n
            WHERE n.run = c.run AND n.id = c.id AND n.position > c.position AND n.position < :position
        )
        AND NOT EXISTS (
            SELECT 1 FROM {constraints.withdrawals} AS n
            WHERE n.run = c.run AND n.id = c.id AND n.position > c.position AND n.position < :position
        )
    ORDER BY c.position
"""
_OWNERS = "SELECT o.owners FROM {sources.opened} AS o WHERE o.run = :stream AND o.position = 1"


class Approvers(Question):
    """Was the approver a person, entitled, and other than the requester."""

    name = "approvers"
    group = "Approvals"
    about = (
        "Every answer to a request for approval: who gave it, why, and who wrote it, authenticated how, "
        "whether that is a person, entitled, and other than who asked, and whether what it answered still "
        "bound then."
    )
    cannot = (
        "Whether somebody was who they said they were, and whether a person may approve where neither a "
        "grant of the run nor the owners of a source say who may: that is `unknown`. Whether an approval "
        "binds still, and to the tool as it is: `intent-ledger approvals --all` tells."
    )
    parameters = (SOME_RUN, *PERIOD)
    columns = (
        AnswerColumn("run", "The run."),
        AnswerColumn("position", "Where in the run the answer stands."),
        AnswerColumn("at", "When it was written; `since` and `before` go by this time."),
        AnswerColumn("approval", "The request, by its id in the run."),
        AnswerColumn("asked_position", "Where it was asked; empty: nobody had asked."),
        AnswerColumn("key", "The key of the act that was asked about."),
        AnswerColumn("tool", "Its tool; empty: nobody had intended it."),
        AnswerColumn("answer", "`approved` or `denied`."),
        AnswerColumn(
            "counts",
            "1: it is the answer that counts, the first in time by a person other than those who asked; "
            "0: it counts for nothing, and `void-approvals` says why.",
        ),
        AnswerColumn(
            "bound",
            "1: terms, plan and runtime were then those it was asked under; 0: it counts, and lets nothing "
            "begin unless they are so again; empty: it counts for nothing.",
        ),
        AnswerColumn("reason", "Why, as it was said; empty: that was not said."),
        AnswerColumn("by", "Who is said to have answered."),
        AnswerColumn("actor", "Who wrote that."),
        AnswerColumn("actor_kind", "`human`, `agent` or `service`."),
        AnswerColumn("authenticated_by", "How the writer's id was proven; empty: it was not."),
        AnswerColumn("role", "In which role they wrote."),
        AnswerColumn("on_behalf_of", "For whom, nearest first, as a JSON list."),
        AnswerColumn(
            "is_person",
            "1: a person is said to have answered, and no agent wrote so, nor a service for one; 0: no.",
        ),
        AnswerColumn("answered_self", "1: the writer, or for whom a service wrote, is who answered."),
        AnswerColumn(
            "is_requester",
            "1: who is said to have answered, or who wrote so, decided to ask, then or before; 0: neither; "
            "empty: nobody had asked.",
        ),
        AnswerColumn(
            "asked_for",
            "1: it was asked by or on behalf of one of those who answered, or for whom they did; 0: it was "
            "not; empty: nobody had asked. It counts unless `is_requester` is 1.",
        ),
        AnswerColumn(
            "entitled",
            "`yes`: a grant of the run in force gives `by` the scope `approve` or `approve:TOOL`, or `by` "
            "owns the source of a constraint that demands the approval; `no`: those name others; "
            "`unknown`: nothing says who may.",
        ),
        AnswerColumn("entitled_by", "What says so: `grant:ID`, or the source."),
    )
    example = "run=refund-17"
    uses = ("approvals", "authority", "constraints", "effects", "sources", "timeline")

    def rows(self, asked: Asked) -> Iterable[Row]:
        grants: dict[str, Grants] = {}
        bindings = Bindings(asked)
        for row in sorted(asked.select(_ANSWERS % within(asked, "a"), **asked.given), key=in_place):
            answer = _answer(row)
            if answer.run not in grants:
                grants[answer.run] = Grants.of(asked, answer.run)
            bound = bindings.bound(answer.run, answer.position) if answer.counts else None
            yield _row(answer, bound, _entitled(asked, answer, grants[answer.run]))


class _Answer(NamedTuple):
    run: str
    position: int
    at: str
    id: str
    answer: str
    by: str
    actor: Actor
    on_behalf_of: str | None
    asked: int | None
    key: str | None
    asker: Actor | None
    counting: int | None
    tool: str | None
    args: str | None
    is_person: int
    is_requester: int | None
    reason: str | None

    @property
    def counts(self) -> bool:
        return self.counting == self.position


def _answer(row: tuple[Any, ...]) -> _Answer:
    actor, session, authenticated_by, role, for_whom, asked, key, asker, asked_for, counting = row[6:16]
    tool, args, is_person, decided_by, requested_by, reason, before = row[16:]
    writer = Actor(
        actor,
        session=session,
        authenticated_by=authenticated_by,
        role=role,
        on_behalf_of=_chain(for_whom),
    )
    asked_by = None if asker is None else Actor(asker, on_behalf_of=_chain(asked_for))
    is_requester = None if asked is None else int(requested_by in (row[5], decided_by) or before is not None)
    about = (asked, key, asked_by, counting, tool, args, is_person, is_requester, reason)
    return _Answer._make((*row[:6], writer, for_whom, *about))


def _chain(text: str | None) -> tuple[str, ...]:
    return () if text is None else tuple(from_json(text))


def _row(answer: _Answer, bound: int | None, entitled: tuple[str, str | None]) -> Row:
    actor, by = answer.actor, answer.by
    decides = acting(actor)
    return (
        answer.run,
        answer.position,
        answer.at,
        answer.id,
        answer.asked,
        answer.key,
        answer.tool,
        answer.answer,
        int(answer.counts),
        bound,
        answer.reason,
        by,
        actor.id,
        actor.kind,
        actor.authenticated_by,
        actor.role,
        answer.on_behalf_of,
        answer.is_person,
        int(decides == by),
        answer.is_requester,
        None if answer.asker is None else int(_asked_too(answer, answer.asker)),
        *entitled,
    )


def _asked_too(answer: _Answer, asker: Actor) -> bool:
    """Tell whether somebody stands on both sides.

    A service that passes on what others say is nobody of its own; one that names nobody is.
    """
    mine = (answer.actor.id, *answer.actor.on_behalf_of)
    said = {one for one in mine if not one.startswith("service:")} or {answer.actor.id}
    return not {answer.by, *said}.isdisjoint((asker.id, *asker.on_behalf_of))


def _entitled(asked: Asked, answer: _Answer, grants: Grants) -> tuple[str, str | None]:
    named = False
    for grant in grants.in_force(answer.position, answer.at):
        if not _lets_approve(grant.scopes, answer.tool):
            continue
        named = True
        if grant.principal == answer.by and grant.session in (None, answer.actor.session):
            return "yes", f"grant:{grant.id}"
    for source, owners in _owners(asked, answer):
        named = named or bool(owners)
        if answer.by in owners:
            return "yes", source
    return ("no" if named else "unknown"), None


def _lets_approve(scopes: Iterable[str], tool: str | None) -> bool:
    """Tell whether one of the scopes is about approving acts of a tool; one for every act is not."""
    about = [scope for scope in scopes if scope == _APPROVE or scope.startswith(f"{_APPROVE}:")]
    if _APPROVE in about:
        return True
    return tool is not None and scopes_cover(about, (f"{_APPROVE}:{tool}",))


def _owners(asked: Asked, answer: _Answer) -> Iterable[tuple[str, tuple[str, ...]]]:
    """Yield the sources of the constraints that demand an approval of the act, with their owners."""
    if answer.asked is None or answer.tool is None or answer.args is None:
        return
    sources = {
        source: None
        for rule, source in asked.select(_DEMANDS, run=answer.run, position=answer.asked)
        if asks_approval(Rule.model_validate_json(rule), answer.tool, answer.args)
    }
    for source in sources:
        for (owners,) in asked.select(_OWNERS, stream=PREFIX + source):
            yield source, _chain(owners)
