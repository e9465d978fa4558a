"""An application of eventsourcing, as its users write them."""

from __future__ import annotations

from typing import ClassVar
from uuid import NAMESPACE_URL, UUID, uuid5

from eventsourcing.application import AggregateNotFoundError, Application
from eventsourcing.domain import Aggregate, MutableOrImmutableAggregate, event
from eventsourcing.persistence import IntegrityError


class Counter(Aggregate):
    """Counts, and remembers who did."""

    @event("Started")
    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0
        self.by: dict[str, int] = {}

    @event("Counted")
    def add(self, who: str) -> None:
        self.count += 1
        self.by[who] = self.by.get(who, 0) + 1

    @staticmethod
    def create_id(name: str) -> UUID:
        return uuid5(NAMESPACE_URL, f"/counters/{name}")


class Counting(Application[UUID]):
    """Counts under names."""

    is_snapshotting_enabled = True
    snapshotting_intervals: ClassVar[dict[type[MutableOrImmutableAggregate[UUID]], int]] = {Counter: 10}

    def count(self, name: str, who: str) -> int:
        """Count one more, trying again as long as others are first; return how often they were."""
        lost = 0
        while True:
            try:
                counter: Counter = self.repository.get(Counter.create_id(name))
            except AggregateNotFoundError:
                counter = Counter(name)
            counter.add(who)
            try:
                self.save(counter)
            except IntegrityError:
                lost += 1
            else:
                return lost

    def counter(self, name: str, version: int | None = None) -> Counter:
        found: Counter = self.repository.get(Counter.create_id(name), version=version)
        return found


def environment(url: object, **more: str) -> dict[str, str]:
    return {"PERSISTENCE_MODULE": "ledger.stores.recording", "INTENT_LEDGER_URL": str(url), **more}
