"""Attempts at effects that were begun, each with what was intended and when it happened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from projections.questions.base import Asked


class Execution(NamedTuple):
    """An attempt that was begun; of an imported effect, whose start nobody recorded, its intent."""

    run: str
    position: int
    """Where it was begun."""
    at: str
    intent: int
    """Where it was intended."""
    key: str
    tool: str
    args: str
    resource: str | None
    happened: str
    """When it happened by what is known now: as the outside said, else when it was begun."""


# An outcome may stand in another run of the lineage.
_HAPPENED = """
    COALESCE(
        (SELECT MIN(o.occurred_at) FROM {effects.steps} AS o
            WHERE o.key = i.key AND o.attempt = ATTEMPT AND o.what IN ('succeeded', 'failed')),
        BEGUN
    )
"""

_STARTED = """
    SELECT s.run, s.position, s.at, i.position, i.key, i.tool, i.args, i.resource, HAPPENED
    FROM {effects.steps} AS s
    JOIN {effects.intents} AS i ON i.run = s.run AND i.key = s.key AND i.position = (
        SELECT MAX(j.position) FROM {effects.intents} AS j
        WHERE j.run = s.run AND j.key = s.key AND j.position < s.position
    )
    WHERE s.what = 'started' AND CONDITION
""".replace("HAPPENED", _HAPPENED.replace("ATTEMPT", "s.attempt").replace("BEGUN", "s.at"))

_IMPORTED = """
    SELECT i.run, i.position, i.at, i.position, i.key, i.tool, i.args, i.resource, HAPPENED
    FROM {effects.intents} AS i
    WHERE i.witnessed = 0 AND CONDITION AND NOT EXISTS (
        SELECT 1 FROM {effects.steps} AS s
        WHERE s.run = i.run AND s.key = i.key AND s.what = 'started' AND s.position > i.position
            AND NOT EXISTS (
                SELECT 1 FROM {effects.intents} AS n
                WHERE n.run = i.run AND n.key = i.key AND n.position > i.position
                    AND n.position < s.position
            )
    )
""".replace("HAPPENED", _HAPPENED.replace("ATTEMPT", "1").replace("BEGUN", "i.at"))


def executions(asked: Asked) -> Iterator[Execution]:
    """Read what was begun in the run and the period that is asked about, by run and position."""
    found: list[Execution] = []
    for query, table in ((_STARTED, "s"), (_IMPORTED, "i")):
        condition = asked.where(
            run=f"{table}.run = :run", since=f"{table}.at >= :since", before=f"{table}.at < :before"
        )
        found += map(Execution._make, asked.select(query.replace("CONDITION", condition), **asked.given))
    return iter(sorted(found, key=lambda one: (one.run, one.position)))
