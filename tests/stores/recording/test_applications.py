"""An application of eventsourcing at work on a ledger: aggregates, snapshots, retries, several processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from uuid import UUID

import pytest
from eventsourcing.application import AggregateNotFoundError
from eventsourcing.persistence import IntegrityError, Tracking
from eventsourcing.popo import POPOTrackingRecorder
from eventsourcing.projection import Projection, ProjectionRunner

from ledger.application.opening import open_ledger
from ledger.stores.opening import open_store
from tests.stores.builder import assert_whole, together
from tests.stores.recording import counting
from tests.stores.recording.counting import Counter, Counting, environment


@pytest.fixture(params=["memory", "sqlite"])
def application(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Counting]:
    url = ":memory:" if request.param == "memory" else tmp_path / "ledger.db"
    with Counting(environment(url)) as application:
        yield application


def test_an_aggregate_is_stored_and_found_again(application: Counting) -> None:
    with pytest.raises(AggregateNotFoundError):
        application.counter("steps")
    for _ in range(25):
        assert application.count("steps", "kim") == 0
    assert application.counter("steps").count == 25
    assert application.counter("steps", version=5).count == 4


def test_snapshots_shorten_the_replay(application: Counting) -> None:
    for _ in range(25):
        application.count("steps", "kim")
    assert application.snapshots is not None
    taken = list(application.snapshots.get(Counter.create_id("steps")))
    assert [snapshot.originator_version for snapshot in taken] == [10, 20]
    read: list[int] = []
    original = application.recorder.select_events

    def select_events(originator_id: UUID | str, **bounds: int | None) -> object:
        found = original(originator_id, **bounds)  # type: ignore[arg-type]
        read.append(len(found))
        return found

    application.recorder.select_events = select_events  # type: ignore[method-assign, assignment]
    assert application.counter("steps").count == 25
    assert application.counter("steps", version=19).count == 18
    assert read == [6, 9]


def test_an_old_snapshot_can_be_taken_when_there_are_newer_ones(application: Counting) -> None:
    for _ in range(25):
        application.count("steps", "kim")
    application.take_snapshot(Counter.create_id("steps"), version=5)
    assert application.counter("steps", version=7).count == 6


def test_two_who_change_one_aggregate_do_not_overwrite_each_other(application: Counting) -> None:
    application.count("steps", "kim")
    one, other = application.counter("steps"), application.counter("steps")
    one.add("kim")
    other.add("lee")
    application.save(one)
    with pytest.raises(IntegrityError):
        application.save(other)
    assert application.counter("steps").by == {"kim": 2}


def test_threads_that_try_again_count_everything(application: Counting) -> None:
    def work(who: str) -> None:
        for _ in range(20):
            application.count("shared", who)

    together(*(lambda who=who: work(who) for who in ("ann", "ben", "eve")))
    assert application.counter("shared").by == {"ann": 20, "ben": 20, "eve": 20}


def test_the_notification_log_is_read_in_sections(application: Counting) -> None:
    for _ in range(15):
        application.count("steps", "kim")
    section = application.notification_log["1,10"]
    assert len(section.items) == 10
    assert section.next_id is not None
    following = application.notification_log[section.next_id]
    ids = [notification.id for notification in (*section.items, *following.items)]
    assert ids == sorted(set(ids))
    assert len(ids) == 16


def test_encrypted_and_compressed_states_are_kept(tmp_path: Path) -> None:
    from eventsourcing.cipher import AESCipher

    env = environment(
        tmp_path / "ledger.db",
        CIPHER_KEY=AESCipher.create_key(16),
        COMPRESSOR_TOPIC="eventsourcing.compressor:ZlibCompressor",
    )
    with Counting(env) as application:
        application.count("steps", "kim-in-the-clear")
    assert b"kim-in-the-clear" not in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    with Counting(env) as application:
        assert application.counter("steps").count == 1


class Totals(POPOTrackingRecorder):
    """A view: how much was counted."""

    total = 0


class TotalProjection(Projection[Totals]):
    """Adds up."""

    topics = (f"{counting.__name__}:Counter.Counted",)

    def process_event(self, domain_event: object, tracking: Tracking) -> None:
        self.view.insert_tracking(tracking)
        self.view.total += 1


def test_a_projection_follows_an_application_while_it_works(tmp_path: Path) -> None:
    """Case-169: its projection runner works on SQLite."""
    env = environment(tmp_path / "ledger.db", TOTALPROJECTION_PERSISTENCE_MODULE="eventsourcing.popo")
    with (
        ProjectionRunner(
            application_class=Counting, projection_class=TotalProjection, view_class=Totals, env=env
        ) as runner,
        Counting(env) as application,
    ):
        worker = Thread(target=lambda: [application.count("steps", "kim") for _ in range(60)])
        worker.start()
        worker.join()
        runner.wait(application.recorder.max_notification_id(), timeout=60)
        assert runner.view.total == 60


def test_two_processes_count_in_one_ledger(tmp_path: Path) -> None:
    url = tmp_path / "ledger.db"
    # As a module, so that its classes have the names by which this process knows them.
    program = (
        "import sys; from tests.stores.recording.counting import *\n"
        "with Counting(environment(sys.argv[1])) as application:\n"
        "    for _ in range(80): application.count('shared', sys.argv[2])\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", program, str(url), who]) for who in ("ann", "ben")]
    assert [worker.wait() for worker in workers] == [0, 0]
    with Counting(environment(url)) as application:
        assert application.counter("shared").by == {"ann": 80, "ben": 80}
        assert application.counter("shared").version == 161
        events = application.recorder.select_events(Counter.create_id("shared"))
        assert [event.originator_version for event in events] == list(range(1, 162))
    store = open_store(url)
    assert_whole(store)
    store.close()


def test_the_ledger_sees_an_application_as_streams_and_not_as_runs(tmp_path: Path) -> None:
    with Counting(environment(tmp_path / "ledger.db", INTENT_LEDGER_TENANT="default")) as application:
        application.count("steps", "kim")
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_run("run-1", goal="Refund order 17")
        assert [summary.run for summary in ledger.runs().runs] == ["run-1"]
        assert {record.run for record in ledger.follow()} == {
            f"$foreign:{Counter.create_id('steps')}",
            "run-1",
        }
