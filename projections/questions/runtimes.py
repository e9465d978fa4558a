"""Which runtime a run was in the hands of at a position: the versions last named, field by field."""

from __future__ import annotations

from typing import NamedTuple

from projections.observations import RUNTIME_FIELDS
from projections.questions.base import Asked


class Named(NamedTuple):
    """A field of the runtime in force, and what named it last."""

    value: str
    how: str
    """`opened`, `resumed` or `adopted`."""
    position: int
    at: str


def in_force(asked: Asked, run: str, before: int) -> dict[str, Named]:
    """Return the fields of the runtime in force before a position of a run, as the contract has them.

    A runtime that is adopted is named whole; a resume names what it knows, and the rest stays. The model of a
    single call says nothing of the run. A question that calls this uses `observations`.
    """
    # `+ 0`: SQLite would walk through all model calls by position, where `how` leads to the few others.
    rows = asked.select(
        f"""
        SELECT r.position, r.at, r.how, {", ".join(f"r.{field}" for field in RUNTIME_FIELDS)}
        FROM {{observations.runtimes}} AS r
        WHERE r.run = :run AND r.how IN ('opened', 'adopted', 'resumed') AND r.position + 0 < :before
        ORDER BY r.position + 0
        """,
        run=run,
        before=before,
    )
    fields: dict[str, Named] = {}
    for position, at, how, *values in rows:
        if how == "adopted":
            fields = {}
        for field, value in zip(RUNTIME_FIELDS, values, strict=True):
            if value is not None:
                fields[field] = Named(value, how, position, at)
    return fields
