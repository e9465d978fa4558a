"""What decisions rested on when they were made, and what of it turned out wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

from ledger.stores.read_models import Cell
from projections.questions.base import RUN, AnswerColumn, Asked, Parameter, Question, Row, refused
from projections.questions.effect_keys import effect_keys
from projections.questions.grounds import Decision, Ground, Grounds, Wrong

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
        Parameter(
            "on",
            "Only what rests on this: `assumption:ID`, `observation:KEY`, `effect:KEY`, ….",
            "reference",
        ),
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
        ref, on, run = _decision(asked), asked.given["on"], str(asked.given["run"])
        grounds = Grounds(asked, run)
        rests = [
            _Rests(decision, ground, directly)
            for decision in grounds.decisions
            if ref in (None, decision.what) or decision.what.startswith("effect:")
            for ground, directly in sorted(grounds.basis(decision).items(), key=_in_order)
        ]
        ran = _ran(grounds, rests)
        told = [one for one in rests if ref in (None, one.decision.what) and on in (None, one.ground.ref)]
        texts = grounds.texts(one.ground for one in told)
        of_ground: dict[Ground, tuple[tuple[Cell, ...], tuple[Cell, ...]]] = {}
        for decision, ground, directly in told:
            if ground not in of_ground:
                wrong = grounds.wrong(ground)
                of_ground[ground] = _became(wrong), _after(ground, wrong, ran.get(ground, []))
            became, after = of_ground[ground]
            place = ground.position
            yield (
                run,
                decision.position,
                grounds.at(decision.position),
                decision.what,
                ground.ref,
                int(directly),
                place,
                None if place is None else grounds.at(place),
                None if place is None else texts.get(place),
                *became,
                grounds.ran(decision),
                *after,
            )


class _Rests(NamedTuple):
    """That a decision rested on something."""

    decision: Decision
    ground: Ground
    directly: bool


def _in_order(rest: tuple[Ground, bool]) -> tuple[str, int]:
    return rest[0].ref, rest[0].position or 0


def _decision(asked: Asked) -> str | None:
    """Return the whole name of the decision that is asked about; None: all of them."""
    ref: Any = asked.given["ref"]
    if ref is None or ref in ("goal", "cursor"):
        return ref  # type: ignore[no-any-return]
    kind, colon, name = ref.partition(":")
    if not name or kind + colon not in _DECISIONS:
        raise refused("ref", f"{ref!r:.80} is none of {', '.join(_DECISIONS)} with a name behind the colon")
    if kind == "effect":
        (key,) = effect_keys(replace(asked, given={"key": name}))
        return f"effect:{key}"
    return str(ref)


def _ran(grounds: Grounds, rests: list[_Rests]) -> dict[Ground, list[tuple[int, str]]]:
    """List, by what effects rested on, where they began, and their keys."""
    ran: dict[Ground, list[tuple[int, str]]] = defaultdict(list)
    for decision, ground, _ in rests:
        begun = grounds.ran(decision)
        if begun is not None:
            ran[ground].append((begun, decision.what.removeprefix("effect:")))
    return ran


def _became(wrong: Wrong | None) -> tuple[Cell, ...]:
    return (None,) * 4 if wrong is None else tuple(wrong)


def _after(ground: Ground, wrong: Wrong | None, ran: list[tuple[int, str]]) -> tuple[Cell, ...]:
    """Count the effects that ran after something was stated, and after it was refuted."""
    place = ground.position
    if place is None:
        return None, None, None
    after = {key for begun, key in ran if begun > place}
    if wrong is None:
        return len(after), None, None
    late = [(begun, key) for begun, key in ran if begun > wrong.position]
    return len(after), len({key for _, key in late}), min(late)[1] if late else None
