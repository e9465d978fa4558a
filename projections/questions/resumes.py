"""Who asked whether a run may go on, and what the gate said."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from ledger.canonical import canonical_text
from ledger.values import Verdict
from projections.questions.base import PERIOD, SOME_RUN, AnswerColumn, Asked, Parameter, Question, Row
from projections.questions.narrowing import beside_run


class Resumes(Question):
    """Every verdict of the gate."""

    name = "resumes"
    group = "Time"
    about = "Every verdict on whether a run may go on, with all the reasons that held it, and who asked."
    cannot = (
        "Who asked while the run was at work elsewhere, or of a run that cannot be read: both are told only. "
        "By verdict alone every resume of the tenant is read."
    )
    parameters = (
        SOME_RUN,
        Parameter("verdict", "Only this verdict.", choices=tuple(Verdict)),
        *PERIOD,
    )
    columns = (
        AnswerColumn("run", "The run."),
        AnswerColumn("position", "Position of the verdict in the run."),
        AnswerColumn("at", "When it was recorded."),
        AnswerColumn("verdict", "What the gate said; `continue` lets the run go on."),
        AnswerColumn("incarnation", "The incarnation that began by it; empty: none did."),
        AnswerColumn("gap_seconds", "Seconds since the event before, where it went on."),
        AnswerColumn("take_over", "1: the run was at work elsewhere, and was taken over on purpose."),
        AnswerColumn("kinds", "Kinds of the reasons that held it, the strictest first, with commas between."),
        AnswerColumn(
            "reasons",
            "These reasons as a JSON list: kind, what, cleared_by; position, since, who where known.",
        ),
        AnswerColumn("actor", "Who asked, as `kind:name`."),
        AnswerColumn("session", "From which session; empty where none was named."),
    )
    example = "run=refund-17"
    uses = ("lives", "timeline")

    def rows(self, asked: Asked) -> Iterable[Row]:
        wanted = asked.where(
            run="s.run = :run",
            verdict="s.verdict = :verdict",
            since=f"{beside_run(asked, 's.at')} >= :since",
            before=f"{beside_run(asked, 's.at')} < :before",
        )
        what = beside_run(asked, "s.what")
        found = asked.select(
            f"""
            SELECT s.run, s.position, s.at, s.verdict, s.incarnation, s.gap_seconds, s.take_over,
                e.actor, e.session
            FROM {{lives.steps}} AS s
            JOIN {{timeline.events}} AS e ON e.run = s.run AND e.position = s.position
            WHERE {what} IN ('resumed', 'resume_refused') AND {wanted}
            ORDER BY s.at, s.run, s.position
            """,
            **asked.given,
        )
        reasons = _reasons(asked, f"{what} = 'resume_refused' AND {wanted}")
        return [_row(row, reasons.get((row[0], row[1]), [])) for row in found]


def _row(row: tuple[Any, ...], reasons: list[Mapping[str, Any]]) -> Row:
    kinds = ", ".join(dict.fromkeys(str(one["kind"]) for one in reasons))
    told = (kinds, canonical_text(reasons)) if reasons else (None, None)
    return (*row[:7], *told, *row[7:])


def _reasons(asked: Asked, wanted: str) -> Mapping[tuple[str, int], list[Mapping[str, Any]]]:
    """Read the reasons of all verdicts that are asked for, in one query."""
    found: dict[tuple[str, int], list[Mapping[str, Any]]] = defaultdict(list)
    names = ("kind", "what", "cleared_by", "position", "since", "who")
    for run, position, *cells in asked.select(
        f"""
        SELECT s.run, s.position, r.kind, r.what, r.cleared_by, r.ref_position, r.since, r.who
        FROM {{lives.steps}} AS s
        JOIN {{lives.reasons}} AS r ON r.run = s.run AND r.position = s.position
        WHERE {wanted}
        ORDER BY s.run, s.position, r.n
        """,
        **asked.given,
    ):
        told = zip(names, cells, strict=True)
        found[run, position].append({name: cell for name, cell in told if cell is not None})
    return found
