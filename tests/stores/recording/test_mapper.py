"""Topics of applications are looked up among what is loaded; none is imported, run or guessed (case-155)."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from eventsourcing.application import project_aggregate
from eventsourcing.domain import Aggregate, AggregateCreated, DomainEvent, Snapshot, event
from eventsourcing.persistence import (
    DatetimeAsISO,
    JSONTranscoder,
    Mapper,
    MapperDeserialisationError,
    StoredEvent,
    UUIDAsHex,
)
from eventsourcing.utils import TopicError, get_topic

from ledger.stores.recording import ClosedMapper
from tests.stores.recording.application import FIRST, NOON


class Account(Aggregate):
    """Something with events of its own."""

    @event("Opened")
    def __init__(self, owner: str) -> None:
        self.owner = owner

    @event("Renamed")
    def rename(self, owner: str) -> None:
        self.owner = owner


class NoEvent:
    """A class that has nothing to do with events."""


@pytest.fixture
def mapper() -> Mapper[UUID]:
    transcoder = JSONTranscoder()
    transcoder.register(UUIDAsHex())
    transcoder.register(DatetimeAsISO())
    return ClosedMapper(transcoder)


@pytest.fixture
def stored_events(mapper: Mapper[UUID]) -> list[StoredEvent]:
    account = Account(owner="kim")
    account.rename("lee")
    events = [*account.collect_events(), Snapshot.take(account)]
    return [mapper.to_stored_event(one) for one in events]


def test_events_and_snapshots_of_loaded_aggregates_are_read(
    mapper: Mapper[UUID], stored_events: list[StoredEvent]
) -> None:
    opened, renamed, snapshot = (mapper.to_domain_event(stored) for stored in stored_events)
    assert [type(one).__name__ for one in (opened, renamed, snapshot)] == ["Opened", "Renamed", "Snapshot"]
    for events in ([opened, renamed], [snapshot]):
        account: Any = project_aggregate(None, events)
        assert type(account) is Account
        assert account.owner == "lee"


def test_a_class_that_is_declared_later_is_found_then(
    mapper: Mapper[UUID], stored_events: list[StoredEvent]
) -> None:
    topic = f"{__name__}:Later.Opened"
    with pytest.raises(TopicError):
        mapper.to_domain_event(replace(stored_events[0], topic=topic))
    later = type("Later", (Account,), {"__module__": __name__, "__qualname__": "Later"})
    globals()["Later"] = later
    assert type(mapper.to_domain_event(replace(stored_events[0], topic=topic))).__qualname__ == "Later.Opened"


@pytest.mark.parametrize(
    "topic",
    [
        "os:system",
        "builtins:eval",
        "",
        ":",
        "os",
        "collections:OrderedDict",
        get_topic(NoEvent),
        get_topic(Account),
    ],
)
def test_a_topic_of_anything_else_is_not_resolved(
    mapper: Mapper[UUID], stored_events: list[StoredEvent], topic: str
) -> None:
    with pytest.raises(TopicError):
        mapper.to_domain_event(replace(stored_events[0], topic=topic))


@pytest.fixture
def unloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a module that can be imported and was not."""
    name = "module_that_a_topic_names"
    (tmp_path / f"{name}.py").write_text(
        "from eventsourcing.domain import Aggregate\nclass Trap(Aggregate): ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_no_topic_imports_a_module(
    mapper: Mapper[UUID], stored_events: list[StoredEvent], unloaded: str
) -> None:
    trap = f"{unloaded}:Trap"
    opened, _, snapshot = stored_events
    inside = [
        mapper.to_stored_event(
            AggregateCreated(originator_id=FIRST, originator_version=1, timestamp=NOON, originator_topic=trap)
        ),
        mapper.to_stored_event(
            Snapshot(originator_id=FIRST, originator_version=1, timestamp=NOON, topic=trap, state={})
        ),
    ]
    for stored in (replace(opened, topic=f"{trap}.Event"), replace(snapshot, topic=trap), *inside):
        with pytest.raises(TopicError):
            mapper.to_domain_event(stored)
    assert unloaded not in sys.modules


def test_bytes_that_do_not_decode_are_refused(mapper: Mapper[UUID], stored_events: list[StoredEvent]) -> None:
    with pytest.raises(MapperDeserialisationError):
        mapper.to_domain_event(replace(stored_events[0], state=b"{"))


def test_an_event_without_an_aggregate_is_read(mapper: Mapper[UUID]) -> None:
    alone = DomainEvent(originator_id=FIRST, originator_version=1, timestamp=NOON)
    assert mapper.to_domain_event(mapper.to_stored_event(alone)) == alone
