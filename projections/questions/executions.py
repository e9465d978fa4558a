"""Attempts at effects that were begun, each with what was intended and when it happened."""

from __future__ import annotations

from typing import NamedTuple

from projections.questions.base import Asked
from projections.questions.narrowing import beside_run, wrapped


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
    """With what its tool declares by default, where that is recorded."""
    resource: str | None
    approval: str | None
    """The request that the intent cites."""
    intended_at: str
    happened: str
    """When it happened by what is known now: as the outside said, else when it was begun."""
    witnessed: int
    """0: it was imported."""


# An outcome may stand in another run of the lineage.
_HAPPENED = f"""
    COALESCE(
        (SELECT MIN(o.occurred_at) FROM {{effects.steps}} AS o
            WHERE o.key = i.key AND o.attempt = ATTEMPT AND {wrapped("o.what")} IN ('succeeded', 'failed')),
        BEGUN
    )
"""

# What belongs to an effect is found by its key: a run may be long, an effect has few rows.
_STARTED = f"""
    SELECT s.run, s.position, s.at, i.position, i.key, i.tool, COALESCE(i.args_in_full, i.args),
        i.resource, i.approval, i.at, HAPPENED, i.witnessed
    FROM {{effects.steps}} AS s
    JOIN {{effects.intents}} AS i ON i.run = s.run AND i.key = s.key AND i.position = (
        SELECT MAX(j.position) FROM {{effects.intents}} AS j
        WHERE j.key = s.key AND {wrapped("j.run")} = s.run AND COALESCE(j.position, 0) < s.position
    )
    WHERE CONDITION
""".replace("HAPPENED", _HAPPENED.replace("ATTEMPT", "s.attempt").replace("BEGUN", "s.at"))

_IMPORTED = f"""
    SELECT i.run, i.position, i.at, i.position, i.key, i.tool, COALESCE(i.args_in_full, i.args),
        i.resource, i.approval, i.at, HAPPENED, i.witnessed
    FROM {{effects.intents}} AS i
    WHERE i.witnessed = 0 AND CONDITION AND NOT EXISTS (
        SELECT 1 FROM {{effects.steps}} AS s
        WHERE s.key = i.key AND {wrapped("s.run")} = i.run AND {wrapped("s.what")} = 'started'
            AND COALESCE(s.position, 0) > i.position
            AND NOT EXISTS (
                SELECT 1 FROM {{effects.intents}} AS n
                WHERE n.key = i.key AND {wrapped("n.run")} = i.run AND COALESCE(n.position, 0) > i.position
                    AND COALESCE(n.position, 0) < s.position
            )
    )
""".replace("HAPPENED", _HAPPENED.replace("ATTEMPT", "1").replace("BEGUN", "i.at"))


def executions(asked: Asked) -> list[Execution]:
    """Read what was begun in the run and the period that is asked about, by run and position."""
    started = f"{beside_run(asked, 's.what')} = 'started' AND {_asked_about(asked, 's')}"
    found = asked.select(_STARTED.replace("CONDITION", started), **asked.given)
    found += asked.select(_IMPORTED.replace("CONDITION", _asked_about(asked, "i")), **asked.given)
    return sorted(map(Execution._make, found), key=lambda one: (one.run, one.position))


def _asked_about(asked: Asked, table: str) -> str:
    at = beside_run(asked, f"{table}.at")
    return asked.where(run=f"{table}.run = :run", since=f"{at} >= :since", before=f"{at} < :before")
