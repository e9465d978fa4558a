"""How the goal and the plan of a run came to be what they are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from typing import Any

from projections.questions.base import RUN, AnswerColumn, Asked, Question, Row


class GoalHistory(Question):
    """Every goal and every plan of a run, as what each changed of the one before."""

    name = "goal-history"
    group = "Goals and obligations"
    about = "Every goal and every plan of a run, each as a diff to the one before, with who set it and why."
    cannot = "Whether the agent followed them: it tells what was stated."
    parameters = (RUN,)
    columns = (
        AnswerColumn("run", "The run."),
        AnswerColumn("position", "Position in the run where it was stated."),
        AnswerColumn("at", "When it was recorded."),
        AnswerColumn("what", "`goal` or `plan`."),
        AnswerColumn("revision", "1 for the first, counted for goals and plans apart."),
        AnswerColumn("by", "Who is said to have set it; empty where nobody was named."),
        AnswerColumn("actor", "Who wrote it."),
        AnswerColumn("reason", "Why it was changed; empty where none was given."),
        AnswerColumn(
            "diff",
            "Unified diff to the one before, the first to nothing; a plan has an entry for each step. "
            "Empty: it was stated again in the same words.",
        ),
    )
    example = "run=refund-17"
    uses = ("goals",)

    def rows(self, asked: Asked) -> Iterable[Row]:
        stated = asked.select(
            """
            SELECT g.run, g.position, g.at, 'goal', g.by, g.actor, g.reason, g.text, g.rests_on
            FROM {goals.goals} AS g WHERE g.run = :run
            UNION ALL
            SELECT p.run, p.position, p.at, 'plan', p.by, p.actor, p.reason, p.steps, NULL
            FROM {goals.plans} AS p WHERE p.run = :run
            ORDER BY 2
            """,
            **asked.given,
        )
        before: dict[str, tuple[int, list[str]]] = {}
        for run, position, at, what, by, actor, reason, words, rests_on in stated:
            revision, old = before.get(what, (0, []))
            new = goal_lines(words, rests_on) if what == "goal" else plan_lines(words)
            before[what] = revision + 1, new
            diff = difference(what, revision, old, new)
            yield run, position, at, what, revision + 1, by, actor, reason, diff


def goal_lines(text: str, rests_on: str | None) -> list[str]:
    """Write a goal in lines: its words, then what it rests on."""
    lines = text.split("\n")
    return lines if rests_on is None else [*lines, _resting(json.loads(rests_on))]


def plan_lines(steps: str) -> list[str]:
    """Write the steps of a plan in lines."""
    return [line for step in json.loads(steps) for line in _step(step)]


def difference(what: str, revision: int, old: list[str], new: list[str]) -> str:
    """Compare what was stated with the revision before, 0 being nothing."""
    former = f"{what} {revision}" if revision else "nothing"
    return "\n".join(unified_diff(old, new, former, f"{what} {revision + 1}", lineterm=""))


def _step(step: Mapping[str, Any]) -> Iterator[str]:
    tool = step.get("tool")
    yield f"- {step['name']}" + ("" if tool is None else f" with {tool}")
    for line in step.get("description", "").split("\n") if "description" in step else ():
        yield f"  {line}"
    if "rests_on" in step:
        yield f"  {_resting(step['rests_on'])}"


def _resting(refs: list[str]) -> str:
    return f"(rests on {', '.join(refs)})"
