"""What decisions rested on when they were made, and what of it turned out wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from ledger.canonical import invalid
from ledger.run.observations import SET_BACK
from projections.questions.base import RUN, AnswerColumn, Asked, Parameter, Question, Row
from projections.questions.effect_keys import effect_keys

_DECISIONS = ("goal", "cursor", "plan:", "assumption:", "observation:", "effect:")


class BasisOfDecision(Question):
    """What a decision rested on, directly and through what that rests on, and what was later refuted."""

    name = "basis-of-decision"
    group = "Before an act"
    about = (
        "What each goal, plan step, assumption, effect and move of a run rested on when it was decided, also "
        "through others, what of that was later refuted, and which effects ran on it."
    )
    cannot = (
        "What nobody named as a ground; and what became of grounds that are neither assumptions nor "
        "observations."
    )
    parameters = (
        RUN,
        Parameter(
            "ref",
            "Only what was decided under this name: `goal`, `cursor`, `plan:STEP`, `assumption:ID`, "
            "`observation:KEY` or `effect:KEY`.",
        ),
        Parameter("on", "Only what rests on this: `assumption:ID`, `observation:KEY`, `effect:KEY`, …."),
    )
    columns = (
        AnswerColumn("run", "The run."),
        AnswerColumn("position", "Position in the run where it was decided."),
        AnswerColumn("at", "When that was recorded."),
        AnswerColumn("what", "What was decided; of the same name each time it was stated."),
        AnswerColumn("on_ref", "What it rested on; an effect rests on its step of the plan in force, too."),
        AnswerColumn("directly", "1: it names this itself; 0: what it names rests on this."),
        AnswerColumn(
            "on_position",
            "Where that was stated: last before the decision, or first after it if it was stated later only.",
        ),
        AnswerColumn("on_at", "When that was recorded."),
        AnswerColumn("text", "Words of the assumption, value that was observed, tool of the effect."),
        AnswerColumn(
            "refuted_position",
            "Where this assumption was first refuted, or the observation invalidated before another took its "
            "place; empty: nobody said so.",
        ),
        AnswerColumn("refuted_at", "When that was recorded."),
        AnswerColumn("refuted_by", "Who is said to have found out; empty where nobody was named."),
        AnswerColumn("evidence", "What refuted it, or why the observation must not be relied on."),
        AnswerColumn("ran_position", "Where this attempt began, if the decision is an effect that ran."),
        AnswerColumn("effects_after", "How many effects that rest on it ran after it was stated."),
        AnswerColumn("effects_after_refuted", "How many of them ran after it was refuted."),
        AnswerColumn("first_after_refuted", "Key of the first of those."),
    )
    example = "run=refund-17 ref=goal"
    uses = ("assumptions", "effects", "goals", "observations")

    def rows(self, asked: Asked) -> Iterable[Row]:
        ref, on = _decision(asked), asked.given["on"]
        start = "1 = 1" if ref is None else "(e.what = :ref OR e.is_effect = 1)"
        found = asked.select(
            f"WITH RECURSIVE {_EDGES}, {_BASIS.replace('START', start)}, {_JUDGED} {_TOLD}",
            run=asked.given["run"],
            ref=ref,
            set_back=SET_BACK,
        )
        rows = [_Rests(*row) for row in found]
        after = _after(rows)
        for one in rows:
            if ref in (None, one.what) and on in (None, one.on_ref):
                yield (asked.given["run"], *one, *after[one.on_ref, one.on_position])


class _Rests(NamedTuple):
    """That something rested on something: the columns of the answer but the first and the last three."""

    position: int
    at: str
    what: str
    on_ref: str
    directly: int
    on_position: int | None
    on_at: str | None
    text: str | None
    refuted_position: int | None
    refuted_at: str | None
    refuted_by: str | None
    evidence: str | None
    ran_position: int | None


_Grounds = tuple[str, int | None]


def _decision(asked: Asked) -> str | None:
    """Return the whole name of the decision that is asked about; None: all of them."""
    ref: Any = asked.given["ref"]
    if ref is None or ref in ("goal", "cursor"):
        return ref  # type: ignore[no-any-return]
    kind, colon, name = ref.partition(":")
    if not name or kind + colon not in _DECISIONS:
        raise invalid("ref", f"{ref!r:.80} is none of {', '.join(_DECISIONS)} with a name behind the colon")
    if kind == "effect":
        (key,) = effect_keys(replace(asked, given={"key": name}))
        return f"effect:{key}"
    return str(ref)


def _after(rows: list[_Rests]) -> dict[_Grounds, Row]:
    """Count, by what was rested on, the effects that ran after it was stated and after it was refuted."""
    ran: dict[_Grounds, list[tuple[int, str]]] = defaultdict(list)
    refuted: dict[_Grounds, int | None] = {}
    for one in rows:
        grounds = one.on_ref, one.on_position
        refuted[grounds] = one.refuted_position
        if one.ran_position is not None:
            ran[grounds].append((one.ran_position, one.what.removeprefix("effect:")))
    return {grounds: _counted(grounds[1], wrong_at, ran[grounds]) for grounds, wrong_at in refuted.items()}


def _counted(stated_at: int | None, refuted_at: int | None, ran: list[tuple[int, str]]) -> Row:
    if stated_at is None:
        return None, None, None
    after = {key for place, key in ran if place > stated_at}
    if refuted_at is None:
        return len(after), None, None
    late = [(place, key) for place, key in ran if place > refuted_at]
    return len(after), len({key for _, key in late}), min(late)[1] if late else None


# What holds at a moment is found by position: an assumption is the one stated last under its id, an effect
# the attempt that was intended last, a step that of the plan in force. An observation is, as in the contract,
# the one that was seen last, unless a clock was set back: then what was recorded before that counts no more.
# `+ 0` and `|| ''` keep SQLite, which has no statistics here, from walking through the run by position where
# an index leads to the few rows of one key.
_STOOD = """
    CASE
    WHEN substr(e.on_ref, 1, 11) = 'assumption:' THEN COALESCE(
        (SELECT MAX(a.position) FROM {assumptions.assumptions} AS a
            WHERE a.run = :run AND a.id = substr(e.on_ref, 12) AND a.position <= PLACE),
        (SELECT MIN(a.position) FROM {assumptions.assumptions} AS a
            WHERE a.run = :run AND a.id = substr(e.on_ref, 12)))
    WHEN substr(e.on_ref, 1, 12) = 'observation:' THEN COALESCE(
        (SELECT o.position FROM {observations.observations} AS o
            WHERE o.run = :run AND o.key = substr(e.on_ref, 13) AND o.position + 0 <= PLACE
                AND o.observed_at IS NOT NULL AND NOT EXISTS (
                    SELECT 1 FROM {observations.invalidations} AS v
                    WHERE v.run = :run AND v.key = o.key AND v.reason = :set_back
                        AND v.position > o.position AND v.position < PLACE)
            ORDER BY o.observed_at DESC, o.position DESC LIMIT 1),
        (SELECT MAX(o.position + 0) FROM {observations.observations} AS o
            WHERE o.run = :run AND o.key = substr(e.on_ref, 13) AND o.position + 0 <= PLACE
                AND o.observed_at IS NULL),
        (SELECT MIN(o.position + 0) FROM {observations.observations} AS o
            WHERE o.run = :run AND o.key = substr(e.on_ref, 13)))
    WHEN substr(e.on_ref, 1, 7) = 'effect:' THEN COALESCE(
        (SELECT MAX(i.position + 0) FROM {effects.intents} AS i
            WHERE i.run || '' = :run AND i.key = substr(e.on_ref, 8) AND i.position + 0 <= PLACE),
        (SELECT MIN(i.position + 0) FROM {effects.intents} AS i
            WHERE i.run || '' = :run AND i.key = substr(e.on_ref, 8)))
    WHEN substr(e.on_ref, 1, 5) = 'plan:' THEN
        (SELECT MAX(p.position) FROM {goals.plans} AS p WHERE p.run = :run AND p.position <= PLACE)
    END
"""

# An effect of a step rests on that step, where the plan in force says what the step rests on.
_EDGES = """
    edges (position, at, what, on_ref, is_effect) AS (
        SELECT r.position, r.at, r.what, r.on_ref,
            CASE WHEN substr(r.what, 1, 7) = 'effect:' THEN 1 ELSE 0 END
        FROM {assumptions.rests} AS r WHERE r.run = :run
        UNION
        SELECT i.position, i.at, 'effect:' || i.key, 'plan:' || i.step, 1
        FROM {effects.intents} AS i
        WHERE i.run = :run AND i.step IS NOT NULL AND EXISTS (
            SELECT 1 FROM {assumptions.rests} AS r
            WHERE r.run = :run AND r.what = 'plan:' || i.step AND r.position = (
                SELECT MAX(p.position) FROM {goals.plans} AS p
                WHERE p.run = :run AND p.position <= i.position))
    )
"""

# An act is done: it rested on what stood when it was intended, whatever came of that until later decisions.
_THROUGH = "CASE WHEN substr(b.on_ref, 1, 7) = 'effect:' THEN b.on_position ELSE b.place END"

_BASIS = f"""
    basis (position, at, what, on_ref, on_position, place, directly) AS (
        SELECT e.position, e.at, e.what, e.on_ref, {_STOOD.replace("PLACE", "e.position")}, e.position, 1
        FROM edges AS e WHERE START
        UNION
        SELECT b.position, b.at, b.what, e.on_ref, {_STOOD.replace("PLACE", f"({_THROUGH})")}, {_THROUGH}, 0
        FROM basis AS b JOIN edges AS e ON e.position = b.on_position AND e.what = b.on_ref
    ),
    rested AS (
        SELECT b.position, b.at, b.what, b.on_ref, b.on_position, MAX(b.directly) AS directly
        FROM basis AS b
        GROUP BY b.position, b.at, b.what, b.on_ref, b.on_position
    )
"""

_JUDGED = """
    judged AS (
        SELECT b.position, b.at, b.what, b.on_ref, b.on_position, b.directly,
            COALESCE(a.at, o.at, i.at, p.at) AS on_at,
            COALESCE(a.text, o.value, i.tool) AS text,
            COALESCE(
                (SELECT MIN(x.position) FROM {assumptions.refutations} AS x
                    WHERE x.run = :run AND x.id = a.id AND x.position > a.position),
                (SELECT MIN(v.position) FROM {observations.invalidations} AS v
                    WHERE v.run = :run AND v.key = o.key AND v.position > o.position AND NOT EXISTS (
                        SELECT 1 FROM {observations.observations} AS n
                        WHERE n.run = :run AND n.key = o.key
                            AND n.position + 0 > o.position AND n.position + 0 < v.position
                            AND (o.observed_at IS NULL OR n.observed_at >= o.observed_at)))
            ) AS refuted_position,
            (SELECT MIN(s.position + 0) FROM {effects.steps} AS s
                WHERE s.run || '' = :run AND s.key = substr(b.what, 8) AND substr(b.what, 1, 7) = 'effect:'
                    AND s.what || '' IN ('started', 'succeeded', 'unknown') AND s.position + 0 > b.position
                    AND NOT EXISTS (
                        SELECT 1 FROM {effects.intents} AS n
                        WHERE n.run || '' = :run AND n.key = s.key
                            AND n.position + 0 > b.position AND n.position + 0 < s.position)
            ) AS ran_position
        FROM rested AS b
        LEFT JOIN {assumptions.assumptions} AS a ON a.run = :run AND a.position = b.on_position
        LEFT JOIN {observations.observations} AS o ON o.run = :run AND o.position = b.on_position
        LEFT JOIN {effects.intents} AS i ON i.run = :run AND i.position = b.on_position
        LEFT JOIN {goals.plans} AS p ON p.run = :run AND p.position = b.on_position
    )
"""

_TOLD = """
    SELECT j.position, j.at, j.what, j.on_ref, j.directly, j.on_position, j.on_at, j.text, j.refuted_position,
        COALESCE(x.at, v.at), COALESCE(x.by, v.by), COALESCE(x.evidence, v.reason), j.ran_position
    FROM judged AS j
    LEFT JOIN {assumptions.refutations} AS x ON x.run = :run AND x.position = j.refuted_position
    LEFT JOIN {observations.invalidations} AS v ON v.run = :run AND v.position = j.refuted_position
    ORDER BY j.position, j.what, j.on_ref, j.on_position
"""
