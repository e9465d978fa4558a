"""Where questions look, and the order of what they find, so that any database is quick and answers alike.

A database without statistics takes an index for the better the more of a query's conditions it serves, and
one that spares it sorting for the best of all. So what is to be looked up by run or by key is written in a
way that leaves no other index to choose (`n.run || ''` is served by none), and rows are sorted afterwards.
"""

from __future__ import annotations

from typing import Any

from projections.questions.base import Asked


def in_place(row: tuple[Any, ...]) -> tuple[bytes, int]:
    """Return what sorts rows that begin with run and position: the run byte by byte, then the position."""
    return str(row[0]).encode(), row[1]


def within(asked: Asked, row: str, *, at: str = "at", **more: str) -> str:
    """Write the conditions on `run`, `since` and `before` for the rows that a query calls `row`.

    Within a run no index serves its period: what is read is the run, however long the period.

    Args:
        asked: which of these parameters were given.
        row: the name of the table in the query.
        at: the column that the period is about.
        more: conditions of other parameters, as `Asked.where` takes them.
    """
    time = f"{row}.{at}" if asked.given["run"] is None else f"{row}.{at} || ''"
    period = {"since": f"{time} >= :since", "before": f"{time} < :before"}
    return asked.where(run=f"{row}.run = :run", **more, **period)
