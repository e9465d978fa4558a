"""Who wrote to a run."""

from __future__ import annotations

from collections.abc import Iterable

from projections.questions.base import RUN, AnswerColumn, Asked, Question, Row
from projections.questions.narrowing import wrapped


class Writers(Question):
    """Who wrote to this run, from which session, authenticated how."""

    name = "writers"
    group = "People and subjects"
    about = "Who wrote to a run, from which session, for whom, authenticated how, and what they wrote."
    cannot = (
        "Whether somebody was who they said they were: it tells by what that was proven, or that it was not."
    )
    parameters = (RUN,)
    columns = (
        AnswerColumn("actor", "Who wrote, as `kind:name`."),
        AnswerColumn("session", "From which session; empty where none was named."),
        AnswerColumn("authenticated_by", "How the id was proven; empty: it was not."),
        AnswerColumn("role", "In which role."),
        AnswerColumn("on_behalf_of", "For whom, nearest first, as a JSON list."),
        AnswerColumn("events", "How many events they wrote so."),
        AnswerColumn("first_position", "Position of the first of them in the run."),
        AnswerColumn("first_at", "When they wrote that."),
        AnswerColumn("last_position", "Position of the last of them."),
        AnswerColumn("last_at", "When they wrote that."),
    )
    example = "run=refund-17"
    uses = ("timeline",)

    def rows(self, asked: Asked) -> Iterable[Row]:
        # By actors there is an index, whose rows of all runs would come in groups.
        actor = wrapped("e.actor")
        return asked.select(
            f"""
            SELECT {actor}, e.session, e.authenticated_by, e.role, e.on_behalf_of, COUNT(*),
                MIN(e.position), MIN(e.at), MAX(e.position), MAX(e.at)
            FROM {{timeline.events}} AS e
            WHERE e.run = :run
            GROUP BY {actor}, e.session, e.authenticated_by, e.role, e.on_behalf_of
            ORDER BY MIN(e.position)
            """,
            **asked.given,
        )
