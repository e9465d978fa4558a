"""The ledger's own events, as eventsourcing's projections see them: to read, to verify, to follow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from eventsourcing.persistence import (
    InterfaceError,
    InternalError,
    NotSupportedError,
    StoredEvent,
)
from eventsourcing.popo import POPOTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner
from eventsourcing.utils import TopicError
from hypothesis import given
from hypothesis import strategies as st

from ledger.application.edge import Edge
from ledger.application.ledger import Ledger
from ledger.application.opening import open_ledger
from ledger.codec import encode
from ledger.events import GoalRevised, RunOpened
from ledger.record import ZERO_HASH, Envelope
from ledger.stores.base import FullStore, StoredRow
from ledger.stores.memory import MemoryStore
from ledger.stores.recording import (
    LedgerApplicationRecorder,
    LedgerRuns,
    LedgerSnapshotRecorder,
    RecordedEvent,
    RunEvent,
    RunMapper,
    RunRecorder,
)
from ledger.values import Actor
from tests.stores.builder import one, part
from tests.stores.recording.application import FIRST, NOON, Wrapped, archive, stored
from tests.stores.recording.model import bounds

TENANT = "default"


def ledger_on(store: FullStore) -> Ledger:
    return Ledger(Edge(store, TENANT, Actor("service:tests")))


@pytest.fixture
def written(store: FullStore) -> Ledger:
    """Return a ledger with two runs and a source, among events of an application in the same tenant."""
    ledger = ledger_on(store)
    shared = archive(store, TENANT)
    LedgerApplicationRecorder(shared).insert_events([stored(version=1)])
    first = ledger.open_run("run-1", goal="Refund order 17")
    LedgerSnapshotRecorder(shared).insert_events([stored(version=1)])
    ledger.source("policy:refunds").publish("1", {"limit": "Never refund more than 100 EUR"})
    ledger.open_run("run-2", goal="Refund order 18")
    LedgerApplicationRecorder(shared).insert_events([stored(version=2)])
    first.revise_goal("Refund order 17 and tell the customer", reason="asked", by="human:kim")
    ledger_on_other = Ledger(Edge(store, "other", Actor("service:tests")))
    ledger_on_other.open_run("run-3", goal="Of somebody else")
    return ledger


def test_a_run_is_selected_with_its_records(store: FullStore, written: Ledger) -> None:
    recorder = RunRecorder(store, TENANT)
    events = recorder.select_events("run-1")
    rows = store.read(TENANT, "run-1")
    assert [(event.originator_id, event.originator_version) for event in events] == [
        ("run-1", 1),
        ("run-1", 2),
    ]
    assert [event.topic for event in events] == ["run.opened@2", "goal.revised@1"]
    assert [(event.state, event.hash) for event in events] == [(row.record, row.hash) for row in rows]
    assert recorder.select_events("run-3") == []
    assert recorder.select_events(f"$foreign:{FIRST}") == []


@given(st.data())
def test_events_of_a_run_are_selected_by_position(data: st.DataObject) -> None:
    count = data.draw(st.integers(0, 12))
    with closing(MemoryStore()) as store:
        if count:
            store.append(one(part("run-1", *map(str, range(count)), tenant=TENANT), tenant=TENANT))
        store.append(one(part("run-10", "x", tenant=TENANT), tenant=TENANT))
        gt, lte = data.draw(bounds(12)), data.draw(bounds(12))
        desc, limit = data.draw(st.booleans()), data.draw(st.none() | st.integers(0, 12))
        found = RunRecorder(store, TENANT).select_events("run-1", gt=gt, lte=lte, desc=desc, limit=limit)
    wanted = [n for n in range(1, count + 1) if (gt is None or n > gt) and (lte is None or n <= lte)]
    assert [event.originator_version for event in found] == (wanted[::-1] if desc else wanted)[:limit]


def test_the_global_order_of_a_tenant_holds_runs_and_sources_only(store: FullStore, written: Ledger) -> None:
    recorder = RunRecorder(store, TENANT)
    found = recorder.select_notifications(None, 100)
    assert [(notification.originator_id, notification.topic) for notification in found] == [
        ("run-1", "run.opened@2"),
        ("$source:policy:refunds", "source.opened@1"),
        ("$source:policy:refunds", "source.revised@2"),
        ("run-2", "run.opened@2"),
        ("run-1", "goal.revised@1"),
    ]
    assert recorder.max_notification_id() == found[-1].id
    assert recorder.select_notifications(found[1].id, 1, topics=["run.opened@2"]) == [found[3]]
    assert recorder.select_notifications(found[2].id, 9, stop=found[3].id, inclusive_of_start=False) == [
        found[3]
    ]


def test_the_mapper_yields_the_records_of_the_log(store: FullStore, written: Ledger) -> None:
    mapper, recorder = RunMapper(), RunRecorder(store, TENANT)
    log = list(written.log("run-1"))
    events = [mapper.to_domain_event(event) for event in recorder.select_events("run-1")]
    assert events == [record._replace(global_position=None) for record in log]
    assert [(event.originator_id, event.originator_version) for event in events] == [
        ("run-1", 1),
        ("run-1", 2),
    ]
    notifications = recorder.select_notifications(None, 100)
    followed = [mapper.to_domain_event(notification) for notification in notifications]
    assert followed == [record for record in written.follow() if not record.run.startswith("$foreign")]
    assert isinstance(followed[-1].event, GoalRevised)


def test_nothing_is_written_through_it(store: FullStore, written: Ledger) -> None:
    events = RunRecorder(store, TENANT).select_events("run-1")
    with pytest.raises(NotSupportedError):
        RunRecorder(store, TENANT).insert_events(events)
    with pytest.raises(NotSupportedError):
        RunMapper().to_stored_event(RunMapper().to_domain_event(events[0]))


def opened(**fields: Any) -> RecordedEvent:
    """Make what a recorder selects of a run that was opened."""
    envelope = Envelope(TENANT, "run-1", 1, ZERO_HASH, "event-1", NOON, Actor("service:tests"))
    row = encode(RunOpened(goal="Refund order 17"), envelope)
    return replace(RecordedEvent("run-1", 1, "run.opened@2", row.record, row.hash), **fields)


def test_the_hash_is_verified_before_anything_is_decoded() -> None:
    assert isinstance(RunMapper().to_domain_event(opened()).event, RunOpened)
    for altered in (
        opened(state=opened().state.replace(b"order 17", b"order 18")),
        opened(state=b"{"),
        opened(hash=bytes(32)),
        opened(originator_id="run-2"),
        opened(originator_version=2),
    ):
        with pytest.raises(InternalError):
            RunMapper().to_domain_event(altered)


@pytest.mark.parametrize("topic", ["os:system", "goal.revised@1", "run.opened@1", "ledger.events:RunOpened"])
def test_a_topic_is_the_name_of_the_event_and_nothing_else(topic: str) -> None:
    """Case-155: no topic is a path that is resolved."""
    with pytest.raises(TopicError):
        RunMapper().to_domain_event(opened(topic=topic))


def test_what_comes_without_its_hash_is_not_decoded() -> None:
    event = opened()
    with pytest.raises(InterfaceError):
        RunMapper().to_domain_event(StoredEvent(event.originator_id, 1, event.topic, event.state))


def test_an_altered_record_is_not_selected(store: FullStore, written: Ledger) -> None:
    def altered(rows: list[StoredRow]) -> list[StoredRow]:
        return [row._replace(record=row.record.replace(b"order 17", b"order 18")) for row in rows]

    read: Callable[..., list[StoredRow]] = lambda *args, **kwargs: altered(store.read(*args, **kwargs))  # noqa: E731
    tail: Callable[..., list[StoredRow]] = lambda *args, **kwargs: altered(store.tail(*args, **kwargs))  # noqa: E731
    recorder = RunRecorder(Wrapped(store, read=read, tail=tail), TENANT)
    with pytest.raises(InternalError):
        recorder.select_events("run-1")
    with pytest.raises(InternalError):
        recorder.select_notifications(None, 9)
    assert recorder.select_events("run-2")


def test_an_event_this_program_does_not_know_is_passed_on_and_not_decoded(store: FullStore) -> None:
    store.append(one(part("run-1", "event-1", tenant=TENANT), tenant=TENANT))
    (found,) = RunRecorder(store, TENANT).select_notifications(None, 1)
    assert found.topic == "test.happened@1"
    with pytest.raises(NotSupportedError):
        RunMapper().to_domain_event(found)


class Goals(POPOTrackingRecorder):
    """A view: the goals of runs, and who wanted each."""

    def __init__(self) -> None:
        super().__init__()
        self.goals: dict[str, tuple[str, str | None]] = {}


class GoalProjection(Projection[Goals]):
    """Keeps the view as runs are opened and their goals revised."""

    topics = ("run.opened@1", "run.opened@2", "goal.revised@1")

    def process_event(self, domain_event: RunEvent, tracking: Any) -> None:
        event = domain_event.event
        if isinstance(event, RunOpened):
            self.view.goals[domain_event.run] = event.goal, None
        elif isinstance(event, GoalRevised):
            self.view.goals[domain_event.run] = event.text, event.by
        self.view.insert_tracking(tracking)


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[ProjectionRunner[LedgerRuns, Goals]]:
    env = {
        "INTENT_LEDGER_URL": str(tmp_path / "ledger.db"),
        "GOALPROJECTION_PERSISTENCE_MODULE": "eventsourcing.popo",
    }
    with ProjectionRunner(
        application_class=LedgerRuns, projection_class=GoalProjection, view_class=Goals, env=env
    ) as runner:
        yield runner


def test_a_projection_of_eventsourcing_follows_runs(
    runner: ProjectionRunner[LedgerRuns, Goals], tmp_path: Path
) -> None:
    """Case-169: its projection runner works on SQLite."""
    with open_ledger(tmp_path / "ledger.db") as ledger:
        run = ledger.open_run("run-1", goal="Refund order 17")
        ledger.open_run("run-2", goal="Refund order 18")
        run.revise_goal("Refund order 17 and tell the customer", reason="asked", by="human:kim")
        runner.wait(runner.app.recorder.max_notification_id(), timeout=60)
    assert runner.view.goals == {
        "run-1": ("Refund order 17 and tell the customer", "human:kim"),
        "run-2": ("Refund order 18", None),
    }
