"""Which constraints were in force when an effect was intended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ledger.canonical import load_text
from projections.questions.base import KEY, AnswerColumn, Asked, Question, Row
from projections.questions.effect_keys import effect_keys

_IN_FORCE = """
    SELECT i.run, i.position, i.source_positions, a.id, a.text, a.asserted_by, a.asserted_at, a.accepted_by,
        a.actor, a.at, a.source, a.item, a.revision, a.published, a.position, a.hash, a.valid_from,
        a.valid_until, CASE WHEN a.rule IS NULL THEN 0 ELSE 1 END,
        CASE WHEN (a.valid_from IS NULL OR a.valid_from <= i.at)
            AND (a.valid_until IS NULL OR i.at < a.valid_until) THEN 1 ELSE 0 END,
        (SELECT MIN(s.position) FROM {sources.items} AS s
            WHERE s.source = a.source AND s.item = a.item AND s.position > a.source_position),
        w.position, w.at, b.position, b.at
    FROM {effects.intents} AS i
    JOIN {constraints.acceptances} AS a ON a.run = i.run AND a.position < i.position
    LEFT JOIN {constraints.withdrawals} AS w ON w.run = a.run
        AND w.position = (SELECT MIN(v.position) FROM {constraints.withdrawals} AS v
            WHERE v.id = a.id AND v.run = a.run AND v.position > a.position)
    LEFT JOIN {constraints.acceptances} AS b ON b.run = a.run
        AND b.position = (SELECT MIN(c.position) FROM {constraints.acceptances} AS c
            WHERE c.id = a.id AND c.run = a.run AND c.position > a.position)
    WHERE i.key IN :keys AND (w.position IS NULL OR w.position > i.position)
        AND (b.position IS NULL OR b.position > i.position)
"""

_INTENTS = "SELECT i.run, i.position FROM {effects.intents} AS i WHERE i.key IN :keys"


class ConstraintsAtEffect(Question):
    """Which constraints were in force when effect X ran, each with its author, time, source and revision."""

    name = "constraints-at-effect"
    group = "Before an act"
    about = (
        "The constraints in force when an effect was intended, each with who asserted and who accepted it, "
        "its source and revision, and whether the source had changed it by then: by positions, not by clock."
    )
    cannot = (
        "Whether the effect kept to them; what a constraint said that nobody accepted in this run; and where "
        "no position of its source was recorded with the effect, whether the source had moved."
    )
    parameters = (KEY,)
    columns = (
        AnswerColumn("id", "The constraint, by its id in the run."),
        AnswerColumn("text", "Its words as they were accepted."),
        AnswerColumn("author", "Who asserted it, as it was claimed."),
        AnswerColumn("asserted_at", "When, where that was said."),
        AnswerColumn("accepted_by", "Who accepted it, as it was claimed."),
        AnswerColumn("actor", "Who wrote the acceptance."),
        AnswerColumn("accepted_at", "When it was accepted, by the ledger's clock: it held from then on …"),
        AnswerColumn("held_until", "… until it was withdrawn or superseded; empty: it was not."),
        AnswerColumn("ended_position", "Position of what ended it."),
        AnswerColumn("valid_from", "Since when it is valid, as it says itself; empty: always."),
        AnswerColumn("valid_until", "Until when; empty: for ever."),
        AnswerColumn(
            "valid", "1: the effect was intended within that valid time; 0: outside, so it did not bind."
        ),
        AnswerColumn(
            "enforced", "1: it has a rule that acts are held to; 0: it is text, which nothing enforces."
        ),
        AnswerColumn("source", "The source it was accepted from; empty: from none."),
        AnswerColumn("item", "Its id in the source."),
        AnswerColumn("revision", "The revision of the source that was named."),
        AnswerColumn("published", "1: these are the source's words; 0: claimed; empty: no source."),
        AnswerColumn("position", "Position of the acceptance, in the run of the effect."),
        AnswerColumn("hash", "Hash of that record, in hexadecimal digits."),
        AnswerColumn(
            "admitted_position", "Where the source stood as the effect was admitted, as was recorded."
        ),
        AnswerColumn(
            "moved",
            "1: the source changed it between the acceptance and the effect; 0: it did not; empty: no "
            "source, or no position of it was recorded.",
        ),
        AnswerColumn("effect_run", "The run of the effect."),
        AnswerColumn(
            "effect_position",
            "Position of its intent there; each attempt has one, and so has each asking for an approval.",
        ),
    )
    example = "key=3f9c1a"
    uses = ("effects", "constraints", "sources")

    def rows(self, asked: Asked) -> Iterable[Row]:
        keys = tuple(effect_keys(asked))
        found = asked.select(_IN_FORCE, keys=keys)
        bound = {(run, position) for run, position, *_ in found}
        for run, position in intents_of(asked, keys):
            if (run, position) not in bound:
                asked.note(f"no constraint was in force at position {position} of {run}")
        return sorted((_row(one) for one in found), key=lambda row: (*row[-2:], row[_ACCEPTED]))


def intents_of(asked: Asked, keys: tuple[str, ...]) -> list[tuple[str, int]]:
    """List where something was intended under some keys: each attempt has an intent, in its own run."""
    # Sorted here: told to sort, SQLite would pass over all intents in the order of their key instead.
    return sorted(asked.select(_INTENTS, keys=keys))


_ACCEPTED = [one.name for one in ConstraintsAtEffect.columns].index("position")


def _row(found: tuple[Any, ...]) -> Row:
    run, position, positions, id, text, author, asserted_at, accepted_by, actor, at, *rest = found
    source, item, revision, published, accepted, hash, valid_from, valid_until, *rest = rest
    enforced, valid, *places = rest
    first_change, withdrawn, withdrawn_at, superseded, superseded_at = places
    admitted = None if source is None else _positions(positions).get(source)
    moved = None
    if admitted is not None:
        moved = int(first_change is not None and first_change <= admitted)
    ends = [(withdrawn, withdrawn_at), (superseded, superseded_at)]
    ended, ended_at = min((end for end in ends if end[0] is not None), default=(None, None))
    return (
        *(id, text, author, asserted_at, accepted_by, actor, at, ended_at, ended),
        *(valid_from, valid_until, valid, enforced, source, item, revision, published),
        *(accepted, bytes(hash).hex(), admitted, moved, run, position),
    )


def _positions(text: str | None) -> Mapping[str, Any]:
    found = {} if text is None else load_text(text)
    assert isinstance(found, dict), "they are kept as an object"
    return found
