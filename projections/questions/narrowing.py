"""By which index a query narrows down what it reads.

A database that has counted no rows takes any index whose columns are given, e.g. that of a tool, and then
reads all effects of that tool to find those of one run. A column that is wrapped has no index.
"""

from __future__ import annotations

from projections.questions.base import Asked


def wrapped(column: str) -> str:
    """Write a column of text so that no index is taken by it."""
    return f"COALESCE({column}, '')"


def beside_run(asked: Asked, column: str) -> str:
    """Write a column of text so that, where a run is asked about, the rows are found by the run."""
    return column if asked.given["run"] is None else wrapped(column)
