"""The projection `obligations`: what was owed, how each obligation ended, and which a run left open."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.events import (
    ObligationDischarged,
    ObligationOpened,
    ObligationTransferred,
    ObligationWaived,
    RunClosed,
)
from ledger.record import Record
from ledger.values.times import write_time
from projections.base import Column
from projections.facts import Fact, Facts, fact_table, text_or_none
from projections.words import storable

OBLIGATIONS, ENDS, TRANSFERS, LEFT = "obligations", "ends", "transfers", "left_open"


class Obligations(Facts):
    """One row for each obligation that was opened, discharged or waived, and for each that went to others.

    A run owes no longer what was transferred; an id may be opened again once it has ended. What a run that
    ends names as open stands in `left_open`, with the run that takes it over, if any.
    """

    name = "obligations"
    version = 1
    tables = (
        fact_table(
            OBLIGATIONS,
            Column("id"),
            Column("text"),
            Column("owed_to"),
            Column("due", optional=True),
            Column("because", optional=True),
            Column("by", optional=True),
            indexes=(("run", "id", "position"), ("owed_to", "at"), ("at",)),
        ),
        fact_table(
            ENDS,
            Column("id"),
            Column("what"),
            Column("by", optional=True),
            Column("evidence", optional=True),
            Column("reason", optional=True),
            Column("refs", optional=True),
            indexes=(("run", "id", "position"),),
        ),
        fact_table(
            TRANSFERS,
            Column("id"),
            Column("by"),
            Column("to_party"),
            Column("reason"),
            indexes=(("run", "id", "position"),),
        ),
        fact_table(
            LEFT,
            Column("id"),
            Column("outcome"),
            Column("successor", optional=True),
            more_key=("id",),
            indexes=(("run", "id", "position"),),
        ),
    )
    wants = frozenset(
        {ObligationDischarged, ObligationOpened, ObligationTransferred, ObligationWaived, RunClosed}
    )

    def facts(self, record: Record) -> Iterable[Fact]:
        event = record.event
        if isinstance(event, ObligationOpened):
            opened = {
                "id": event.id,
                "text": storable(event.text),
                "owed_to": event.owed_to,
                "due": None if event.due is None else write_time(event.due),
                "because": event.because,
                "by": event.by,
            }
            yield Fact(OBLIGATIONS, opened)
        elif isinstance(event, ObligationTransferred):
            moved = {"id": event.id, "by": event.by, "to_party": event.to, "reason": storable(event.reason)}
            yield Fact(TRANSFERS, moved)
        elif isinstance(event, ObligationDischarged):
            shown = {"evidence": storable(event.evidence), "refs": text_or_none(list(event.refs))}
            yield Fact(ENDS, {"id": event.id, "what": "discharged", "by": event.by, **shown})
        elif isinstance(event, ObligationWaived):
            given_up = {"by": event.by, "reason": storable(event.reason)}
            yield Fact(ENDS, {"id": event.id, "what": "waived", **given_up})
        elif isinstance(event, RunClosed):
            for id in dict.fromkeys(event.obligations):
                yield Fact(LEFT, {"id": id, "outcome": str(event.outcome), "successor": event.successor})
