"""Effects of which nobody knows yet whether they happened."""

from __future__ import annotations

from collections.abc import Iterable

from projections.questions.base import PERIOD, SOME_RUN, TOOL, AnswerColumn, Asked, Question, Row
from projections.questions.effect_states import standings
from projections.questions.narrowing import beside_run


class OpenOutcomes(Question):
    """Which effects are under way, of unknown outcome, or disputed."""

    name = "open-outcomes"
    group = "Effects"
    about = "Effects that are under way, of unknown outcome or disputed, with since when and why."
    cannot = (
        "Whether the outside did something, and whether a worker renewed its lease: renewals are no events, "
        "so an attempt whose lease lapsed as it was given is told as unknown."
    )
    parameters = (SOME_RUN, TOOL, *PERIOD)
    columns = (
        AnswerColumn("run", "Run of the record that made it so."),
        AnswerColumn("position", "Position of that record."),
        AnswerColumn("key", "The effect."),
        AnswerColumn("tool", "Its tool."),
        AnswerColumn("step", "Its step; empty: none was named."),
        AnswerColumn("status", "`executing`, `unknown` or `disputed`; with a lapsed lease it is unknown."),
        AnswerColumn("attempt", "Number of the last attempt."),
        AnswerColumn("since", "Since when it is so."),
        AnswerColumn(
            "because",
            "Why nobody knows: what the event says, `lease_lapsed`, `earlier_attempt` (a later one failed), "
            "`inconclusive` (somebody asked in vain) or `contradicted`; empty while it executes.",
        ),
        AnswerColumn("lease_until", "End of the lease as it was given."),
        AnswerColumn("args", "Its arguments, as canonical JSON."),
        AnswerColumn("intended_run", "Run that intended it last; the parameters speak of intents."),
        AnswerColumn("intended_position", "Position of that intent."),
    )
    example = "tool=refund"
    uses = ("effects",)

    def rows(self, asked: Asked) -> Iterable[Row]:
        tool, at = beside_run(asked, "i.tool"), beside_run(asked, "i.at")
        condition = asked.where(
            run="i.run = :run", tool=f"{tool} = :tool", since=f"{at} >= :since", before=f"{at} < :before"
        )
        for one in standings(asked, condition, only_open=True):
            state = one.state
            told = (state.status, state.attempt, state.since, state.because, state.lease_until)
            what = (one.key, one.tool, one.step)
            yield (state.run, state.position, *what, *told, one.args, one.run, one.position)
