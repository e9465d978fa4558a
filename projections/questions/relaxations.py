"""What was withdrawn or relaxed, and which effects ran after."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from projections.questions.base import (
    FROM_SOURCE,
    PERIOD,
    RUN,
    SOME_RUN,
    AnswerColumn,
    Asked,
    Parameter,
    Question,
    Row,
)
from projections.questions.begun import Attempt, begun_in
from projections.questions.constraint_changes import USES, Change, changes
from projections.questions.held import Held

_WHAT = (
    "In the run: withdrawn, relaxed, tightened, reworded, or replaced (imported, nobody said how); at the "
    "source of what the run held: withdrawn_at_source, reworded_at_source."
)

_KEYS = 500


class Relaxations(Question):
    """What was withdrawn or relaxed, by whom and why, and how many effects ran after."""

    name = "relaxations"
    group = "Rules"
    about = (
        "What bound a run and was withdrawn, relaxed or changed otherwise, in the run or at its source, by "
        "whom and why, and how many of the run's effects were begun after."
    )
    cannot = (
        "Whether an effect would have been against what was changed, or why somebody superseded a "
        "constraint, for which no reason is recorded; reads are no effects and are not counted."
    )
    parameters = (SOME_RUN, FROM_SOURCE, *PERIOD)
    columns = (
        AnswerColumn("run", "The run that was bound."),
        AnswerColumn("stream", "Where the change is recorded: the run, or the stream of the source."),
        AnswerColumn("position", "Position of that record."),
        AnswerColumn("at", "When it was recorded."),
        AnswerColumn("id", "The constraint, by its id in the run."),
        AnswerColumn("what", _WHAT),
        AnswerColumn("by", "Who did so, as it was claimed; of what supersedes: who accepted it."),
        AnswerColumn("actor", "Who wrote it."),
        AnswerColumn("reason", "Why, where a reason is recorded."),
        AnswerColumn("old_text", "The words the run held."),
        AnswerColumn("new_text", "The words that came in their place; empty where none did."),
        AnswerColumn("source", "The source of what was changed; empty: it had none."),
        AnswerColumn("effects_after", "How many effects of the run had an attempt that was begun later."),
        AnswerColumn("first_effect_after", "Key of the first of them."),
    )
    example = "source=policy:refunds"
    uses = (*USES, "effects")

    def rows(self, asked: Asked) -> Iterable[Row]:
        found = changes(asked)
        begun = begun_in(asked, (one.run for one in found))
        for one in found:
            count, first = begun[one.run].after(one.gid)
            yield (
                *(one.run, one.stream, one.position, one.at, one.id, one.what, one.by, one.actor, one.reason),
                *(one.old_text, one.new_text, one.source, count, None if first is None else first.key),
            )


class EffectsAfterChange(Question):
    """Which effects ran after a constraint of a run was withdrawn, relaxed or changed otherwise."""

    name = "effects-after-change"
    group = "Rules"
    about = (
        "The effects of a run that were begun after a constraint was withdrawn, relaxed or changed "
        "otherwise, in the run or at its source, what became of them, and what of it was in force then."
    )
    cannot = (
        "Whether an effect would have been against what was changed; reads are no effects and are left out."
    )
    parameters = (RUN, Parameter("id", "The constraint, by its id in the run.", required=True))
    columns = (
        AnswerColumn("key", "The effect, by its key."),
        AnswerColumn("tool", "The tool."),
        AnswerColumn("step", "The step it was named as."),
        AnswerColumn("run", "The run."),
        AnswerColumn("position", "Position of the start; of an imported effect: of its intent."),
        AnswerColumn("at", "When it was begun."),
        AnswerColumn("attempt", "Which attempt it was."),
        AnswerColumn(
            "outcome",
            "What was said last of that attempt: started, succeeded, failed, unknown, disputed, compensated, "
            "or what was found out: happened, did_not_happen.",
        ),
        AnswerColumn("change", f"The last change before it, a mere tightening left out. {_WHAT}"),
        AnswerColumn("change_stream", "Where that is recorded: the run, or the stream of the source."),
        AnswerColumn("change_position", "Position of that record."),
        AnswerColumn("changed_at", "When it was recorded."),
        AnswerColumn("by", "Who made the change, as it was claimed."),
        AnswerColumn("in_force", "1: the run held a constraint of this id as it was begun; 0: none."),
        AnswerColumn("text", "Its words then."),
    )
    example = "run=refund-17 id=limit-100"
    uses = (*USES, "effects")

    def rows(self, asked: Asked) -> Iterable[Row]:
        run, id = str(asked.given["run"]), str(asked.given["id"])
        held = Held(asked, [run])
        if (run, id) not in held.lives:
            asked.note(f"no constraint {id!r} was ever accepted in {run}")
        loosened = [one for one in changes(asked) if one.what != "tightened"]
        if not loosened:
            return
        attempts = [one for one in begun_in(asked, [run])[run].all if one.gid > loosened[0].gid]
        outcomes = _outcomes(asked, attempts)
        places = [one.gid for one in loosened]
        for one in attempts:
            last = loosened[bisect_left(places, one.gid) - 1]
            outcome = outcomes.get((one.key, one.attempt), "started")
            yield (*_of_attempt(run, one, outcome), *_of_change(last), *held.told(run, id, one.position))


def _of_attempt(run: str, one: Attempt, outcome: str) -> Row:
    return (one.key, one.tool, one.step, run, one.position, one.at, one.attempt, outcome)


def _of_change(last: Change) -> Row:
    return (last.what, last.stream, last.position, last.at, last.by)


def _outcomes(asked: Asked, attempts: Iterable[Attempt]) -> dict[tuple[str, int], str]:
    """Find what was said last of each attempt, in whatever run of its lineage."""
    keys = sorted({one.key for one in attempts})
    said: dict[tuple[str, int], str] = {}
    latest: dict[str, int] = {}
    for first in range(0, len(keys), _KEYS):
        query = """
            SELECT s.key, s.attempt, s.what, s.found FROM {effects.steps} AS s
            WHERE s.key IN :keys ORDER BY s.gid
        """
        for key, attempt, what, found in asked.select(query, keys=tuple(keys[first : first + _KEYS])):
            # What was undone is named without an attempt: it was the last there was.
            number = latest.get(key, 1) if attempt is None else attempt
            latest[key] = max(number, latest.get(key, 1))
            said[key, number] = what if what != "reconciled" else found
    return said
