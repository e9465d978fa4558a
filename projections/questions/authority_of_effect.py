"""On what authority an act was done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from pydantic_core import from_json

from ledger.canonical import canonical_text
from ledger.run.authority import scopes_cover
from ledger.run.decision import acting
from ledger.values import Actor
from projections.questions.base import KEY, AnswerColumn, Asked, Question, Row
from projections.questions.effect_keys import effect_keys
from projections.questions.grants_at import Grant, Grants

_INTENTS = """
    SELECT i.run, i.position, i.at, i.tool, i.authority, e.actor, e.session, e.on_behalf_of,
        CASE WHEN i.witnessed = 0 OR i.authority IS NOT NULL OR EXISTS (
            SELECT 1 FROM {effects.steps} AS s
            WHERE s.key = i.key AND s.run || '' = i.run AND s.position > i.position
                AND NOT EXISTS (
                    SELECT 1 FROM {effects.intents} AS n
                    WHERE n.key = i.key AND n.run || '' = i.run
                        AND n.position > i.position AND n.position < s.position
                )
        ) THEN 1 ELSE 0 END
    FROM {effects.intents} AS i
    JOIN {timeline.events} AS e ON e.run = i.run AND e.position = i.position
    WHERE i.key IN :keys
    ORDER BY i.gid
"""
_WRITER = "SELECT e.actor FROM {timeline.events} AS e WHERE e.run = :run AND e.position = :position"

_NONE = (None,) * 17


class AuthorityOfEffect(Question):
    """On what authority an act was done: its granter, scope and expiry."""

    name = "authority-of-effect"
    group = "Before an act"
    about = (
        "The grants that an act drew on as they stood right before it: for whom, within which scopes, budget "
        "and time, who granted them, and whether they held then; one row for each attempt and grant. What "
        "only waited for an approval drew on nothing: a note says so."
    )
    cannot = (
        "Whether who granted it was entitled to, and what was left of the budget; acts that were imported "
        "are judged by the time at which they were recorded."
    )
    parameters = (KEY,)
    columns = (
        AnswerColumn("run", "The run that acted."),
        AnswerColumn("position", "Where in the run the act was intended."),
        AnswerColumn("at", "When."),
        AnswerColumn("tool", "The tool it used."),
        AnswerColumn("actor", "Who decided it: the writer, or the first for whom a service wrote."),
        AnswerColumn(
            "valid_at_act",
            "`yes`, `expired`, `revoked`, `missing` (the act cites a grant the run never had), or `none`: it "
            "cites none.",
        ),
        AnswerColumn("covers", "1: the grant was for this actor, its session and this tool; 0: it was not."),
        AnswerColumn("grant", "The grant, by its id in the run."),
        AnswerColumn("principal", "Who may act on it."),
        AnswerColumn("session", "In which session only; empty: in any."),
        AnswerColumn("scopes", "What it covers, as a JSON list."),
        AnswerColumn("budget", "What may be spent in all, with renewals, as JSON; empty: no bound."),
        AnswerColumn("expires_at", "When it ends, with renewals before the act; empty: never."),
        AnswerColumn("granted_by", "Who is said to have granted it."),
        AnswerColumn("granted_at", "When it was granted."),
        AnswerColumn("granted_position", "Where in the run."),
        AnswerColumn("actor_of_grant", "Who wrote that."),
        AnswerColumn("renewed_position", "Where it was last renewed before the act."),
        AnswerColumn("carved_run", "The run whose grant it is a part of."),
        AnswerColumn("carved_id", "That grant, by its id there."),
        AnswerColumn("revoked_position", "Where it was revoked, before or after the act; empty: it was not."),
        AnswerColumn("revoked_at", "When."),
        AnswerColumn("revoked_by", "By whom, as was said."),
    )
    example = "key=3f2a90c1"
    uses = ("authority", "effects", "timeline")

    def rows(self, asked: Asked) -> Iterable[Row]:
        known: dict[str, Grants] = {}
        for row in asked.select(_INTENTS, keys=tuple(effect_keys(asked))):
            act = _act(row[:-1])
            if not row[-1]:
                asked.note(
                    f"what {act.run} intended at {act.position} was not begun then: it drew on nothing"
                )
                continue
            if act.run not in known:
                known[act.run] = Grants.of(asked, act.run)
            grants = known[act.run]
            start = (act.run, act.position, act.at, act.tool, acting(act.actor))
            for id in act.cites:
                yield (*start, *_cited(asked, act, grants, id))
            if not act.cites:
                if grants.any_before(act.position):
                    asked.note(f"{act.run} had grants when it acted at {act.position} and cited none of them")
                yield (*start, "none", *_NONE)


class _Act(NamedTuple):
    run: str
    position: int
    at: str
    tool: str
    cites: tuple[str, ...]
    actor: Actor


def _act(row: tuple[Any, ...]) -> _Act:
    run, position, at, tool, authority, actor, session, on_behalf_of = row
    chain = () if on_behalf_of is None else tuple(from_json(on_behalf_of))
    cites = () if authority is None else tuple(from_json(authority))
    return _Act(run, position, at, tool, cites, Actor(actor, session=session, on_behalf_of=chain))


def _cited(asked: Asked, act: _Act, grants: Grants, id: str) -> Row:
    grant = grants.last(id, act.position)
    if grant is None:
        return ("missing", None, id, *_NONE[2:])
    end = grants.revoked(grant)
    if end is not None and end.position < act.position:
        valid = "revoked"
    else:
        valid = "expired" if grant.has_ended(act.at) else "yes"
    ((writer,),) = asked.select(_WRITER, run=act.run, position=grant.position)
    return (
        valid,
        int(_covers(grant, act)),
        grant.id,
        grant.principal,
        grant.session,
        _listed(grant.scopes),
        grant.budget_text,
        grant.expires_at,
        grant.granted_by,
        grant.at,
        grant.position,
        writer,
        grant.renewed,
        grant.carved_run,
        grant.carved_id,
        *((None, None, None) if end is None else end),
    )


def _covers(grant: Grant, act: _Act) -> bool:
    """Tell whether it was for this act, leaving aside time and budget."""
    if grant.principal != acting(act.actor) or grant.session not in (None, act.actor.session):
        return False
    return scopes_cover(grant.scopes, (act.tool,))


def _listed(scopes: tuple[str, ...]) -> str:
    return canonical_text(list(scopes))
