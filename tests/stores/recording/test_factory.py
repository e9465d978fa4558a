"""What an application finds by its environment, and what it is told that it cannot have."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from eventsourcing.persistence import (
    InfrastructureFactory,
    InfrastructureFactoryError,
    Mapper,
    NotSupportedError,
    OperationalError,
)
from eventsourcing.utils import Environment, get_topic

from ledger.application.opening import open_ledger
from ledger.stores.recording import (
    ClosedMapper,
    LedgerAggregateRecorder,
    LedgerFactory,
    LedgerRuns,
    LedgerSnapshotRecorder,
)
from tests.stores.recording.application import FIRST, stored


def factory(url: object = ":memory:", name: str = "Bank", **env: str) -> InfrastructureFactory:
    """Make what an application of this name makes."""
    settings = {"PERSISTENCE_MODULE": "ledger.stores.recording", "INTENT_LEDGER_URL": str(url), **env}
    return InfrastructureFactory.construct(Environment(name, settings))


def test_the_module_names_one_factory() -> None:
    assert type(factory()) is LedgerFactory


def test_recorders_of_one_factory_share_a_ledger() -> None:
    made = factory()
    made.aggregate_recorder().insert_events([stored()])
    made.aggregate_recorder("snapshots").insert_events([stored()])
    assert len(made.application_recorder().select_notifications(None, 9)) == 1
    assert isinstance(made.aggregate_recorder(), LedgerAggregateRecorder)
    assert isinstance(made.aggregate_recorder("snapshots"), LedgerSnapshotRecorder)


def test_what_is_stored_is_there_for_the_next_factory(tmp_path: Path) -> None:
    for url in (tmp_path / "ledger.db", f"sqlite:///{tmp_path}/ledger.db"):
        made = factory(url)
        recorder = made.application_recorder()
        recorder.insert_events([stored(version=(recorder.max_notification_id() or 0) + 1)])
        made.close()
        made.close()
        with pytest.raises(OperationalError):
            recorder.select_events(FIRST)
    assert len(factory(tmp_path / "ledger.db").aggregate_recorder().select_events(FIRST)) == 2


def test_each_application_is_a_tenant_of_its_own(tmp_path: Path) -> None:
    url = tmp_path / "ledger.db"
    bank, shop = factory(url, "Bank"), factory(url, "Shop")
    bank.application_recorder().insert_events([stored(version=1)])
    shop.application_recorder().insert_events([stored(version=1)])
    shared = factory(url, "Any", INTENT_LEDGER_TENANT="Bank")
    prefixed = factory(url, "Any", ANY_INTENT_LEDGER_TENANT="Shop", INTENT_LEDGER_TENANT="Bank")
    for made, ids in ((bank, [1]), (shop, [2]), (shared, [1]), (prefixed, [2])):
        assert [found.id for found in made.application_recorder().select_notifications(None, 9)] == ids
        made.close()


def test_the_application_signs_what_it_stores(tmp_path: Path) -> None:
    made = factory(tmp_path / "ledger.db")
    made.application_recorder().insert_events([stored()])
    made.close()
    with open_ledger(tmp_path / "ledger.db", tenant="Bank") as ledger:
        (record,) = ledger.follow()
    assert record.actor.id == "service:Bank"
    assert record.run == f"$foreign:{FIRST}"


def test_runs_are_those_of_the_default_tenant_or_the_named_one(tmp_path: Path) -> None:
    url = tmp_path / "ledger.db"
    for tenant in ("default", "acme"):
        with open_ledger(url, tenant=tenant) as ledger:
            ledger.open_run(f"run-of-{tenant}", goal="Refund order 17")
    for env, run in (({}, "run-of-default"), ({"INTENT_LEDGER_TENANT": "acme"}, "run-of-acme")):
        with LedgerRuns({"INTENT_LEDGER_URL": str(url), **env}) as runs:
            assert [found.originator_id for found in runs.recorder.select_notifications(None, 9)] == [run]


def test_text_ids_are_asked_for_by_environment() -> None:
    recorder = factory(ORIGINATOR_ID_TYPE="TEXT").application_recorder()
    recorder.insert_events([stored("account-1")])
    assert recorder.select_notifications(None, 1)[0].originator_id == "account-1"


def test_the_mapper_is_a_closed_one_unless_another_is_asked_for() -> None:
    class Own(Mapper): ...  # type: ignore[type-arg]

    assert isinstance(factory().mapper(), ClosedMapper)
    assert type(factory().mapper(mapper_class=Own)) is Own
    assert type(factory(MAPPER_TOPIC=get_topic(Mapper)).mapper()) is Mapper


@pytest.mark.parametrize(
    "env",
    [
        {"INTENT_LEDGER_URL": ""},
        {"INTENT_LEDGER_URL": "postgresql://localhost/runs"},
        {"INTENT_LEDGER_URL": "/no/such/folder/ledger.db"},
        {"INTENT_LEDGER_TENANT": " "},
        {"INTENT_LEDGER_TENANT": "a\nb"},
        {"ORIGINATOR_ID_TYPE": "integer"},
    ],
    ids=lambda env: "=".join(*env.items()),
)
def test_what_the_environment_lacks_or_misstates_is_refused(env: dict[str, str]) -> None:
    with pytest.raises(InfrastructureFactoryError):
        factory(**{"url": ":memory:", **env})


def test_recorders_that_there_are_not_are_refused() -> None:
    with pytest.raises(NotSupportedError):
        factory().tracking_recorder()
    with pytest.raises(NotSupportedError):
        factory().process_recorder()
    with pytest.raises(NotSupportedError):
        factory().aggregate_recorder("memories")
    with pytest.raises(NotSupportedError):
        factory(
            APPLICATION_RECORDER_TOPIC="eventsourcing.sqlite:SQLiteApplicationRecorder"
        ).application_recorder()


def test_a_ledger_in_memory_says_that_it_forgets(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="ledger"):
        factory(":memory:").close()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
