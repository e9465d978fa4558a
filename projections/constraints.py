"""The projection `constraints`: what runs accepted, what they let go, and how far they read its sources.

An acceptance is in force at a position of its run where it stands before it, and neither an acceptance of the
same id nor a withdrawal of that id stands between. The one fold says the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ledger.events import ConstraintAccepted, ConstraintWithdrawn, RevisionAcknowledged
from ledger.record import Record
from ledger.stores.read_models import Cell
from ledger.values import Rule
from ledger.values.times import write_time
from projections.base import Column
from projections.facts import Fact, Facts, fact_table, text_or_none
from projections.words import storable

ACCEPTANCES, WITHDRAWALS, ACKNOWLEDGEMENTS = "acceptances", "withdrawals", "acknowledgements"


class Constraints(Facts):
    """One row for each acceptance, each withdrawal, and each revision of a source that was acknowledged.

    `item` is the id that the source has for a constraint; without a source it is empty. `source_position` is
    where the source stood that an acceptance relied on; `relied` is the same, and 0 where none is named.
    """

    name = "constraints"
    version = 2
    wants = frozenset({ConstraintAccepted, ConstraintWithdrawn, RevisionAcknowledged})
    tables = (
        fact_table(
            ACCEPTANCES,
            Column("id"),
            Column("text"),
            Column("rule", optional=True),
            Column("source", optional=True),
            Column("item", optional=True),
            Column("revision", optional=True),
            Column("source_position", "integer", optional=True),
            Column("relied", "integer"),
            Column("published", "integer", optional=True),
            Column("asserted_by"),
            Column("asserted_at", optional=True),
            Column("accepted_by"),
            Column("change", optional=True),
            Column("supersedes", "integer", optional=True),
            Column("valid_from", optional=True),
            Column("valid_until", optional=True),
            Column("actor"),
            Column("hash", "bytes"),
            indexes=(("id", "run", "position"), ("source", "item", "relied"), ("asserted_by", "at"), ("at",)),
        ),
        fact_table(
            WITHDRAWALS,
            Column("id"),
            Column("by"),
            Column("reason"),
            Column("actor"),
            indexes=(("id", "run", "position"), ("at",)),
        ),
        fact_table(
            ACKNOWLEDGEMENTS,
            Column("source"),
            Column("revision", optional=True),
            Column("source_position", "integer"),
            Column("by"),
            Column("reason", optional=True),
            Column("actor"),
            indexes=(("source", "at"),),
        ),
    )

    def facts(self, record: Record) -> Iterable[Fact]:
        event, actor = record.event, record.actor.id
        if isinstance(event, ConstraintAccepted):
            own: dict[str, Cell] = {"actor": actor, "hash": record.hash}
            yield Fact(ACCEPTANCES, {**_acceptance(event), **_from(event), **own})
        elif isinstance(event, ConstraintWithdrawn):
            reason = storable(event.reason)
            yield Fact(WITHDRAWALS, {"id": event.id, "by": event.by, "reason": reason, "actor": actor})
        elif isinstance(event, RevisionAcknowledged):
            yield Fact(
                ACKNOWLEDGEMENTS,
                {
                    "source": event.source.stream,
                    "revision": event.source.revision,
                    "source_position": event.source_position,
                    "by": event.by,
                    "reason": storable(event.reason),
                    "actor": actor,
                },
            )


def rule_text(rule: Rule | None) -> str | None:
    """Write a rule as canonical JSON; None stays None."""
    return None if rule is None else text_or_none(rule.model_dump(mode="json", exclude_none=True))


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else write_time(moment)


def _acceptance(event: ConstraintAccepted) -> dict[str, Cell]:
    return {
        "id": event.id,
        "text": storable(event.text),
        "rule": rule_text(event.rule),
        "asserted_by": event.asserted_by,
        "asserted_at": _time(event.asserted_at),
        "accepted_by": event.accepted_by,
        "change": None if event.change is None else str(event.change),
        "supersedes": event.supersedes,
        "valid_from": _time(event.valid_from),
        "valid_until": _time(event.valid_until),
    }


def _from(event: ConstraintAccepted) -> dict[str, Cell]:
    """Say where it comes from; a constraint that nobody published under another id has its own there."""
    source = event.source
    if source is None:
        return {"relied": 0}
    return {
        "relied": event.source_position or 0,
        "source": source.stream,
        "item": source.item or event.id,
        "revision": source.revision,
        "source_position": event.source_position,
        "published": None if event.published is None else int(event.published),
    }
