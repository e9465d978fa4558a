"""The projection `sources`: what sources of constraints published, reworded and withdrew.

The `run` of a row is the source's own stream, `$source:` and the source; its `position` counts there.
"""

from __future__ import annotations

from collections.abc import Iterable

from ledger.events import ConstraintWithdrawnAtSource, SourceOpened, SourceRevised
from ledger.record import Record
from ledger.run.sources import PREFIX
from ledger.stores.read_models import Cell
from ledger.values import Published
from projections.base import Column
from projections.constraints import rule_text
from projections.facts import Fact, Facts, fact_table, text_or_none
from projections.words import storable

OPENED, ITEMS, REVISIONS = "opened", "items", "revisions"


class Sources(Facts):
    """One row for each source, each revision, and each constraint that a source changed.

    `what` of an item is `added`, `reworded`, `withdrawn` (a revision leaves it out) or `withdrawn_here` (it
    was withdrawn by itself).
    """

    name = "sources"
    version = 2
    wants = frozenset({SourceOpened, SourceRevised, ConstraintWithdrawnAtSource})
    tables = (
        fact_table(OPENED, Column("source"), Column("owners", optional=True), Column("actor")),
        fact_table(
            ITEMS,
            Column("source"),
            Column("item"),
            Column("what"),
            Column("text", optional=True),
            Column("rule", optional=True),
            Column("revision", optional=True),
            Column("by", optional=True),
            Column("reason", optional=True),
            Column("actor"),
            more_key=("item", "what"),
            indexes=(("source", "item"), ("at",)),
        ),
        fact_table(
            REVISIONS,
            Column("source"),
            Column("revision"),
            Column("by", optional=True),
            Column("reason", optional=True),
            Column("actor"),
            indexes=(("source", "revision"), ("at",)),
        ),
    )

    def facts(self, record: Record) -> Iterable[Fact]:
        event, source, actor = record.event, record.run.removeprefix(PREFIX), record.actor.id
        if isinstance(event, SourceOpened):
            owners = text_or_none(list(event.owners))
            yield Fact(OPENED, {"source": source, "owners": owners, "actor": actor})
        elif isinstance(event, SourceRevised):
            said: dict[str, Cell] = {
                "source": source,
                "revision": event.revision,
                "by": event.by,
                "reason": storable(event.reason),
                "actor": actor,
            }
            yield Fact(REVISIONS, said)
            for published in event.added:
                yield Fact(ITEMS, {**said, **_words(published), "what": "added"})
            for published in event.reworded:
                yield Fact(ITEMS, {**said, **_words(published), "what": "reworded"})
            for item in event.withdrawn:
                yield Fact(ITEMS, {**said, "item": item, "what": "withdrawn"})
        elif isinstance(event, ConstraintWithdrawnAtSource):
            reason = storable(event.reason)
            own: dict[str, Cell] = {"source": source, "item": event.id, "what": "withdrawn_here"}
            yield Fact(ITEMS, {**own, "by": event.by, "reason": reason, "actor": actor})


def _words(published: Published) -> dict[str, Cell]:
    return {
        "item": published.id,
        "text": storable(published.text),
        "rule": rule_text(published.rule),
    }
