"""A random sample of effects that everybody draws alike."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from heapq import nsmallest

from projections.questions.base import PERIOD, AnswerColumn, Asked, Parameter, Question, Row, refused
from projections.questions.imported import tell_of_imported

LARGEST = 10_000
"""Effects of the largest sample."""


class SampleOfEffects(Question):
    """A random sample of effects, reproducible by its seed."""

    name = "sample-of-effects"
    group = "Effects"
    about = "A random sample of the effects that were intended in a period, the same for the same seed."
    cannot = (
        "Whether the seed was chosen with the outcome in mind: agree on it before the period ends. An effect "
        "counts once in each run that intended it, however many attempts it took."
    )
    parameters = (
        Parameter("seed", "Any text; another one draws another sample.", required=True),
        Parameter("size", f"How many effects, at most {LARGEST:,}.", kind="integer", required=True),
        *PERIOD,
    )
    columns = (
        AnswerColumn("drawn", "Its place in the sample: a larger one begins with the same effects."),
        AnswerColumn("run", "The run that intended it."),
        AnswerColumn("position", "Position of its first intent in the run in the period."),
        AnswerColumn("at", "When that was."),
        AnswerColumn("key", "The effect."),
        AnswerColumn("tool", "Its tool."),
        AnswerColumn("step", "Its step; empty: none was named."),
        AnswerColumn("args", "Its arguments, as canonical JSON."),
        AnswerColumn(
            "begun", "1: it was begun, in whichever run; 0: it waits for an approval, or was denied."
        ),
        AnswerColumn("rank", "SHA-256 of seed, run and key with line feeds between; the smallest are drawn."),
    )
    example = "seed=audit-2026-Q1 size=25 since=2026-01-01T00:00:00Z before=2026-04-01T00:00:00Z"
    uses = ("effects",)

    def rows(self, asked: Asked) -> Iterable[Row]:
        size = asked.given["size"]
        assert isinstance(size, int)
        if not 1 <= size <= LARGEST:
            raise refused("size", f"{size}: a sample has 1 to {LARGEST:,} effects")
        seed = str(asked.given["seed"])
        condition = asked.where(since="i.at >= :since", before="i.at < :before")
        found = asked.select(
            f"""
            SELECT i.run, i.key, MIN(i.position) FROM {{effects.intents}} AS i
            WHERE {condition}
            GROUP BY i.run, i.key
            """,
            **asked.given,
        )
        asked.note(f"drawn from {len(found):,} effects of the period")
        drawn = nsmallest(size, ((rank(seed, run, key), run, position) for run, key, position in found))
        imported = 0
        for number, (digest, run, position) in enumerate(drawn, 1):
            [(*effect, begun, witnessed)] = asked.select(
                """
                SELECT i.run, i.position, i.at, i.key, i.tool, i.step, i.args,
                    CASE WHEN i.witnessed = 0 OR EXISTS (
                        SELECT 1 FROM {effects.steps} AS s WHERE s.key = i.key
                    ) THEN 1 ELSE 0 END,
                    i.witnessed
                FROM {effects.intents} AS i
                WHERE i.run = :run AND i.position = :position
                """,
                run=run,
                position=position,
            )
            imported += not witnessed
            yield (number, *effect, begun, digest)
        tell_of_imported(asked, imported, len(drawn))


def rank(seed: str, run: str, key: str) -> str:
    """Return by what an effect is drawn, in 64 hexadecimal digits: everybody computes the same."""
    return hashlib.sha256(f"{seed}\n{run}\n{key}".encode()).hexdigest()
