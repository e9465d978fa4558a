"""What came after somebody had looked at a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from projections.questions.base import RUN, AnswerColumn, Asked, Parameter, Question, Row
from projections.questions.narrowing import wrapped
from projections.questions.reviews import MEANINGS


class ChangedSinceReview(Question):
    """What changed since the last review."""

    name = "changed-since-review"
    group = "Time"
    about = (
        "What happened in a run after the last review: every event that whoever signed it had not seen; all "
        "of them where nobody reviewed the run."
    )
    cannot = "Whether a change matters, nor whether the reviewer read all that the signature covers."
    parameters = (
        RUN,
        Parameter("by", "Since the last review by this party, `kind:name`.", "reference"),
        Parameter("meaning", "Since the last review of this meaning.", choices=MEANINGS),
    )
    columns = (
        AnswerColumn("review_position", "Position of the review in the run; empty: there is none."),
        AnswerColumn("reviewed_by", "Who reviewed it."),
        AnswerColumn("meaning", "What they thought of it."),
        AnswerColumn("head", "Position up to which it was reviewed."),
        AnswerColumn("position", "Position of an event that came later, the review apart."),
        AnswerColumn("at", "When that was recorded."),
        AnswerColumn("name", "Name of the event."),
        AnswerColumn("thing", "What it is about, as `effect:KEY`; empty: the run itself."),
        AnswerColumn("by", "Who is said to have decided it; empty: the event does not say."),
        AnswerColumn("actor", "Who wrote it, as `kind:name`."),
    )
    example = "run=refund-17"
    uses = ("reviews", "timeline")

    def rows(self, asked: Asked) -> Iterable[Row]:
        last = _last(asked)
        if last is None:
            whose = "such a review" if asked.given["by"] or asked.given["meaning"] else "a review"
            asked.note(f"the run has never had {whose}: all its events are listed")
            last = _NONE
        elif _hash_at(asked, last.head) != last.head_hash:
            asked.note(
                f"the review at position {last.position} was signed for another record than the one at "
                f"position {last.head}: it covers nothing of this run, and all events are listed"
            )
            last = last._replace(head=0)
        else:
            asked.note(
                f"position {last.head} holds the record that the review at position {last.position} was "
                "signed for"
            )
        found = asked.select(
            """
            SELECT e.position, e.at, e.name, e.thing, e.by, e.actor
            FROM {timeline.events} AS e
            WHERE e.run = :run AND e.position > :head AND e.position <> :review
            ORDER BY e.position
            """,
            run=asked.given["run"],
            head=last.head,
            review=last.position,
        )
        review = (None,) * 4 if last is _NONE else (last.position, last.by, last.meaning, last.head)
        return [(*review, *row) for row in found]


class _Last(NamedTuple):
    """The last review that is asked for."""

    position: int
    by: str
    meaning: str
    head: int
    head_hash: str


_NONE = _Last(0, "", "", 0, "")


def _last(asked: Asked) -> _Last | None:
    wanted = asked.where(by=f"{wrapped('r.by')} = :by", meaning=f"{wrapped('r.meaning')} = :meaning")
    found = asked.select(
        f"""
        SELECT r.position, r.by, r.meaning, r.head, r.head_hash
        FROM {{reviews.reviews}} AS r
        WHERE r.run = :run AND {wanted}
        ORDER BY r.position DESC LIMIT 1
        """,
        **asked.given,
    )
    return _Last(*found[0]) if found else None


def _hash_at(asked: Asked, position: int) -> str | None:
    """Return the hash of the record itself; None: the run has none there."""
    run = str(asked.given["run"])
    query = "SELECT 1 FROM {timeline.events} AS e WHERE e.run = :run AND e.position = :position"
    there = asked.select(query, run=run, position=position)
    return asked.record(run, position).hash.hex() if there else None
