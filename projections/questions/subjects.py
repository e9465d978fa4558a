"""What is recorded about a subject."""

from __future__ import annotations

from collections.abc import Iterable

from projections.questions.base import PERIOD, AnswerColumn, Asked, Known, Parameter, Question, Row
from projections.questions.narrowing import wrapped


class AboutSubject(Question):
    """Every event that names a subject, over all runs and sources."""

    name = "about-subject"
    group = "People and subjects"
    about = (
        "Every event that names a subject: as what it is about, whom it is owed to, or who holds or owns it."
    )
    cannot = (
        "What mentions a subject in words only, as a message may, or in the arguments of an act; nor what it "
        "wrote or decided itself."
    )
    parameters = (
        Parameter(
            "subject",
            "Its reference, as events name it: `customer:17`.",
            "reference",
            required=True,
            known=Known("timeline.subjects.subject", "event that names"),
        ),
        *PERIOD,
    )
    columns = (
        AnswerColumn("run", "The run, or the stream of a source (`$source:…`)."),
        AnswerColumn("position", "Position of the event there."),
        AnswerColumn("at", "When the ledger recorded it."),
        AnswerColumn("name", "Name of the event."),
        AnswerColumn("thing", "What of the run it is about, as `effect:KEY`; empty: the run itself."),
        AnswerColumn(
            "how",
            "How it names the subject: `about`, `owed_to`, `to` (who owes it now), `owner`, `principal`; or "
            "`thing`: what it is about was begun by an event that does.",
        ),
        AnswerColumn("actor", "Who wrote it, as `kind:name`."),
    )
    example = "subject=customer:17"
    uses = ("timeline",)

    def rows(self, asked: Asked) -> Iterable[Row]:
        query = _IN_PERIOD if _is_short(asked) else _OF_SUBJECT
        plain, apart = (_period(asked, column) for column in ("{0}.at", wrapped("{0}.at")))
        period = {"named": plain.format("s"), "followed": plain.format("f"), "all": apart.format("r")}
        return asked.select(query.format_map(period), **asked.given)


def _period(asked: Asked, column: str) -> str:
    return asked.where(since=f"{column} >= :since", before=f"{column} < :before")


def _is_short(asked: Asked) -> bool:
    """Tell whether fewer events lie in the period than name the subject, of which there are many."""
    if asked.given["since"] is None and asked.given["before"] is None:
        return False
    named = _count(asked, "{timeline.subjects} AS c WHERE c.subject = :subject", _MANY)
    within = "{timeline.events} AS c WHERE " + _period(asked, "c.at")
    return named == _MANY and _count(asked, within, _SHORT) < _SHORT


def _count(asked: Asked, rows: str, most: int) -> int:
    found = asked.select(f"SELECT COUNT(*) FROM (SELECT 1 FROM {rows} LIMIT {most}) AS found", **asked.given)
    return int(found[0][0])


_MANY, _SHORT = 1_000, 5_000

# What names a subject may begin a thing, as an effect or an obligation; what became of that names the thing
# only. The key of an effect means the same act in every run.

_OF_SUBJECT = """
    WITH named AS (
        SELECT s.run, s.position, s.at, e.name, e.thing, s.how, e.actor, e.gid
        FROM {{timeline.subjects}} AS s
        JOIN {{timeline.events}} AS e ON e.run = s.run AND e.position = s.position
        WHERE s.subject = :subject
    ), begun AS (
        SELECT n.run, n.thing, MIN(n.gid) AS first,
            CASE WHEN n.thing >= 'effect:' AND n.thing < 'effect;' THEN 1 ELSE 0 END AS is_effect
        FROM named AS n
        GROUP BY n.run, n.thing
    ), followed AS (
        SELECT f.run, f.position, f.at, f.name, f.thing, f.actor
        FROM begun AS b
        CROSS JOIN {{timeline.events}} AS f
        WHERE f.thing = b.thing AND f.run = b.run AND f.gid > b.first
        UNION
        SELECT f.run, f.position, f.at, f.name, f.thing, f.actor
        FROM begun AS b
        CROSS JOIN {{timeline.events}} AS f
        WHERE f.thing = b.thing AND f.gid > b.first AND b.is_effect = 1
    )
    SELECT r.run, r.position, r.at, r.name, r.thing, r.how, r.actor
    FROM (
        SELECT n.run, n.position, n.at, n.name, n.thing, n.how, n.actor FROM named AS n
        UNION ALL
        SELECT f.run, f.position, f.at, f.name, f.thing, 'thing', f.actor FROM followed AS f
        WHERE NOT EXISTS (
            SELECT 1 FROM {{timeline.subjects}} AS x
            WHERE x.run = f.run AND x.position = f.position AND x.subject = :subject
        )
    ) AS r
    WHERE {all}
    ORDER BY r.at, r.run, r.position, r.how
"""
"""Begins with all events that name the subject. CROSS keeps SQLite from beginning with all there are, and a
bound of things that is told in a column of its own from reading the events of all effects."""

_IN_PERIOD = """
    SELECT r.run, r.position, r.at, r.name, r.thing, r.how, r.actor
    FROM (
        SELECT s.run, s.position, s.at, e.name, e.thing, s.how, e.actor
        FROM {{timeline.subjects}} AS s
        JOIN {{timeline.events}} AS e ON e.run = s.run AND e.position = s.position
        WHERE s.subject = :subject AND {named}
        UNION ALL
        SELECT f.run, f.position, f.at, f.name, f.thing, 'thing', f.actor
        FROM {{timeline.events}} AS f
        WHERE {followed} AND NOT EXISTS (
            SELECT 1 FROM {{timeline.subjects}} AS x
            WHERE x.run = f.run AND x.position = f.position AND x.subject = :subject
        ) AND (EXISTS (
            SELECT 1 FROM {{timeline.events}} AS b
            CROSS JOIN {{timeline.subjects}} AS n
            WHERE b.thing = f.thing AND b.run = f.run AND b.gid < f.gid
                AND n.run = b.run AND n.position = b.position AND n.subject = :subject
        ) OR (f.thing >= 'effect:' AND f.thing < 'effect;' AND EXISTS (
            SELECT 1 FROM {{timeline.events}} AS b
            CROSS JOIN {{timeline.subjects}} AS n
            WHERE b.thing = f.thing AND b.gid < f.gid
                AND n.run = b.run AND n.position = b.position AND n.subject = :subject
        )))
    ) AS r
    ORDER BY r.at, r.run, r.position, r.how
"""
"""Begins with the events of the period. What they are about may have been begun long before."""
