"""What people thought of runs."""

from __future__ import annotations

from collections.abc import Iterable

from projections.questions.base import PERIOD, SOME_RUN, AnswerColumn, Asked, Parameter, Question, Row
from projections.questions.narrowing import beside_run

MEANINGS = ("reviewed", "objection", "approved", "noted")
"""What a review may mean."""


class ReviewsOfRuns(Question):
    """Every review, and whether its run went on since."""

    name = "reviews"
    group = "Time"
    about = "Every review of a run: who thought what of it, up to which position, and how much came since."
    cannot = "Whether a reviewer read what they signed; it tells to which record they were bound by signing."
    parameters = (
        SOME_RUN,
        Parameter("meaning", "Only reviews of this meaning.", choices=MEANINGS),
        *PERIOD,
    )
    columns = (
        AnswerColumn("run", "The run."),
        AnswerColumn("position", "Position of the review in the run."),
        AnswerColumn("head", "Position up to which the run was reviewed."),
        AnswerColumn("head_hash", "Hash of the record at that position, as the reviewer signed it."),
        AnswerColumn("meaning", "What they thought of it."),
        AnswerColumn("by", "Who reviewed it."),
        AnswerColumn("actor", "Who wrote that down, as `kind:name`."),
        AnswerColumn("at", "When it was recorded."),
        AnswerColumn("note", "What they said."),
        AnswerColumn("changed_after", "How many events came after the head, without the review itself."),
    )
    example = "run=refund-17"
    uses = ("reviews", "timeline")

    def rows(self, asked: Asked) -> Iterable[Row]:
        wanted = asked.where(
            run="r.run = :run",
            meaning=f"{beside_run(asked, 'r.meaning')} = :meaning",
            since=f"{beside_run(asked, 'r.at')} >= :since",
            before=f"{beside_run(asked, 'r.at')} < :before",
        )
        # Along a run times never fall; by its positions it is looked up.
        order = "r.at, r.run, r.position" if asked.given["run"] is None else "r.position"
        found = asked.select(
            f"""
            SELECT r.run, r.position, r.head, r.head_hash, r.meaning, r.by, e.actor, r.at, r.note,
                (SELECT MAX(l.position) FROM {{timeline.events}} AS l WHERE l.run = r.run)
            FROM {{reviews.reviews}} AS r
            JOIN {{timeline.events}} AS e ON e.run = r.run AND e.position = r.position
            WHERE {wanted}
            ORDER BY {order}
            """,
            **asked.given,
        )
        # Positions of a run have no gaps, so the last one counts its events.
        return [(*row[:-1], max(0, row[-1] - row[2] - 1)) for row in found]
