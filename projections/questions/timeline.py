"""What happened in a run, in order."""

from __future__ import annotations

from collections.abc import Iterable

from projections.questions.base import PERIOD, RUN, AnswerColumn, Asked, Question, Row
from projections.questions.narrowing import wrapped


class TimelineOfRun(Question):
    """Every event of a run."""

    name = "timeline"
    group = "Time"
    about = "Every event of a run in order, what it is about and who wrote it, with the hash of its record."
    cannot = (
        "What an event says beyond its name and what it is about: `intent-ledger log` shows that; and what "
        "nobody recorded."
    )
    parameters = (RUN, *PERIOD)
    columns = (
        AnswerColumn("position", "Position of the event in the run."),
        AnswerColumn("at", "When the ledger recorded it."),
        AnswerColumn("name", "Name of the event."),
        AnswerColumn("thing", "What it is about, as `effect:KEY` or `constraint:ID`; empty: the run itself."),
        AnswerColumn("by", "Who is said to have decided it; empty: the event does not say."),
        AnswerColumn("actor", "Who wrote it, as `kind:name`."),
        AnswerColumn("hash", "Hash of its record, in hexadecimal digits."),
    )
    example = "run=refund-17 since=2026-01-31T00:00:00Z"
    uses = ("timeline",)

    def rows(self, asked: Asked) -> Iterable[Row]:
        period = asked.where(since=f"{wrapped('e.at')} >= :since", before=f"{wrapped('e.at')} < :before")
        found = asked.select(
            f"""
            SELECT e.position, e.at, e.name, e.thing, e.by, e.actor, e.hash
            FROM {{timeline.events}} AS e
            WHERE e.run = :run AND {period}
            ORDER BY e.position
            """,
            **asked.given,
        )
        return [(*row[:-1], bytes(row[-1]).hex()) for row in found]
