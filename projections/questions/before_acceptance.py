"""What ran between the assertion of a constraint and its acceptance."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from projections.questions.base import FROM_SOURCE, PERIOD, SOME_RUN, AnswerColumn, Asked, Question, Row
from projections.questions.begun import Attempt, begun_in
from projections.questions.held import Held

_ACCEPTED = """
    SELECT a.gid, a.run, a.position, a.at, a.id, a.text, a.rule, a.source, a.asserted_by, a.accepted_by,
        a.asserted_at, s.at, s.gid
    FROM {constraints.acceptances} AS a
    LEFT JOIN {sources.items} AS s ON a.published = 1 AND s.source = a.source AND s.item = a.item
        AND s.what IN ('added', 'reworded')
        AND s.position = (SELECT MAX(t.position) FROM {sources.items} AS t
            WHERE t.source = a.source AND t.item = a.item AND t.what IN ('added', 'reworded')
                AND t.position <= a.source_position)
    WHERE (a.asserted_at IS NOT NULL OR s.gid IS NOT NULL) AND """


class BeforeAcceptance(Question):
    """What ran between the assertion of a constraint and its acceptance."""

    name = "before-acceptance"
    group = "Rules"
    about = (
        "The effects of a run that were begun after a constraint had been asserted, or published by its "
        "source, and before the run accepted it; what ran while the same words were in force already is left "
        "out."
    )
    cannot = (
        "When a constraint was asserted of which neither a time nor a publication is recorded; whether a "
        "stated time is true; and whether an effect was against the constraint."
    )
    parameters = (
        SOME_RUN,
        FROM_SOURCE,
        *(one._replace(about=f"{one.about[:-1]}, by when it was accepted.") for one in PERIOD),
    )
    columns = (
        AnswerColumn("run", "The run."),
        AnswerColumn("position", "Position of the acceptance."),
        AnswerColumn("id", "The constraint, by its id in the run."),
        AnswerColumn("text", "Its words."),
        AnswerColumn("source", "The source it comes from; empty: from none."),
        AnswerColumn("asserted_by", "Who asserted it, as it was claimed."),
        AnswerColumn("asserted_at", "When it was asserted, or published."),
        AnswerColumn(
            "known_by", "How that is known: stated (with the acceptance), or published (by the source)."
        ),
        AnswerColumn("accepted_by", "Who accepted it, as it was claimed."),
        AnswerColumn("accepted_at", "When it was accepted, by the ledger's clock."),
        AnswerColumn("effect_key", "The effect that ran in between."),
        AnswerColumn("tool", "Its tool."),
        AnswerColumn("effect_position", "Position of its start; of an imported effect: of its intent."),
        AnswerColumn("effect_at", "When it was begun."),
        AnswerColumn("former_text", "Other words of this id that were in force then; empty: none were."),
    )
    example = "run=refund-17"
    uses = ("constraints", "sources", "effects")

    def rows(self, asked: Asked) -> Iterable[Row]:
        where = asked.where(
            run="a.run = :run",
            source="a.source = :source",
            since="a.at >= :since",
            before="a.at < :before",
        )
        # Sorted here: told to sort, SQLite would pass over all acceptances in the order of their key instead.
        accepted = sorted(_Accepted(*row) for row in asked.select(_ACCEPTED + where, **asked.given))
        begun = begun_in(asked, (one.run for one in accepted))
        between = [(one, one.between(begun[one.run].before(one.position))) for one in accepted]
        held = Held(asked, (one.run for one, some in between if some))
        for one, some in between:
            for attempt in some:
                former = held.before(one.run, one.id, attempt.position)
                if former is None or former.words != (one.text, one.rule):
                    yield (*one.told, *_told(attempt), None if former is None else former.text)


class _Accepted(NamedTuple):
    """An acceptance of which it is known when it was asserted."""

    gid: int
    run: str
    position: int
    at: str
    id: str
    text: str
    rule: str | None
    source: str | None
    asserted_by: str
    accepted_by: str
    asserted_at: str | None
    published_at: str | None
    published_gid: int | None

    def between(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        """Choose those begun after it was asserted; a publication has a place in the global order."""
        if self.asserted_at is not None:
            return [one for one in attempts if one.at >= self.asserted_at]
        assert self.published_gid is not None
        return [one for one in attempts if one.gid > self.published_gid]

    @property
    def told(self) -> tuple[Any, ...]:
        known_by = "published" if self.asserted_at is None else "stated"
        since = self.asserted_at or self.published_at
        return (
            *(self.run, self.position, self.id, self.text, self.source, self.asserted_by, since, known_by),
            *(self.accepted_by, self.at),
        )


def _told(one: Attempt) -> tuple[Any, ...]:
    return (one.key, one.tool, one.position, one.at)
