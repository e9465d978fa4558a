"""The projection `reviews`: what people think of runs, each bound to where in the run they had read to."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.events import ReviewSigned
from ledger.record import Record
from projections.base import Column
from projections.facts import Fact, Facts, fact_table
from projections.words import storable

REVIEWS = "reviews"


class Reviews(Facts):
    """One row for each review."""

    name = "reviews"
    version = 1
    wants = frozenset({ReviewSigned})
    tables = (
        fact_table(
            REVIEWS,
            Column("head", "integer"),
            Column("head_hash"),
            Column("meaning"),
            Column("by"),
            Column("note", optional=True),
            indexes=(("meaning", "at"), ("by", "at"), ("at",)),
        ),
    )

    def facts(self, record: Record) -> Iterable[Fact]:
        event = record.event
        assert isinstance(event, ReviewSigned)
        yield Fact(
            REVIEWS,
            {
                "head": event.head,
                "head_hash": event.hash,
                "meaning": event.meaning,
                "by": event.by,
                "note": storable(event.note),
            },
        )
