"""The cases that eventsourcing publishes for recorders and factories, on each of our stores.

What cannot apply, and is not run:

- `TrackingRecorderTestCase`, `ProcessRecorderTestCase`: the ledger keeps no tracking records. The factory says so,
  which the two cases of `InfrastructureFactoryTestCase` about them are replaced to assert.
- `TranscoderTestCase` tests eventsourcing's own transcoder, of which we have none.
- `tracking_recorder_subclass` and the like name classes that do not exist here; nothing calls them any more.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Never
from unittest import TestCase
from uuid import UUID

import pytest
from eventsourcing.persistence import AggregateRecorder, NotSupportedError
from eventsourcing.tests import persistence as published
from eventsourcing.utils import Environment

from ledger.stores.base import FullStore
from ledger.stores.recording import (
    LedgerAggregateRecorder,
    LedgerApplicationRecorder,
    LedgerFactory,
    LedgerSnapshotRecorder,
)
from tests.stores.conftest import KINDS
from tests.stores.recording.application import archive


class OnAStore(TestCase):
    """Gives each test an empty store of one kind."""

    kind: str
    store: FullStore
    folder: Path

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def setUp(self) -> None:
        self.store = self.enterContext(closing(KINDS[self.kind](self.folder)))
        super().setUp()


class OnMemory(OnAStore):
    kind = "memory"


class OnSQLite(OnAStore):
    kind = "sqlite"


class AggregateRecorderCase(published.AggregateRecorderTestCase):
    store: FullStore

    def create_recorder(self) -> AggregateRecorder:
        return LedgerAggregateRecorder(archive(self.store))


class SnapshotRecorderCase(published.AggregateRecorderTestCase):
    store: FullStore

    def create_recorder(self) -> AggregateRecorder:
        return LedgerSnapshotRecorder(archive(self.store))


class TextIdCase(published.AggregateRecorderTestCase):
    store: FullStore

    def new_originator_id(self) -> UUID | str:
        return f"account-{super().new_originator_id()}"

    def create_recorder(self) -> AggregateRecorder:
        return LedgerAggregateRecorder(archive(self.store, id_type="text"))


class ApplicationRecorderCase(published.ApplicationRecorderTestCase[LedgerApplicationRecorder]):
    store: FullStore

    def create_recorder(self) -> LedgerApplicationRecorder:
        return LedgerApplicationRecorder(archive(self.store))

    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()

    @pytest.mark.slow
    def test_concurrent_no_conflicts(self, initial_position: int = 0) -> None:
        super().test_concurrent_no_conflicts(initial_position)


class NonInterleavingCase(published.NonInterleavingNotificationIDsBaseCase):
    store: FullStore

    def create_recorder(self) -> LedgerApplicationRecorder:
        return LedgerApplicationRecorder(archive(self.store))


class FactoryCase(published.InfrastructureFactoryTestCase[LedgerFactory]):
    folder: Path
    url: str

    def setUp(self) -> None:
        self.env = Environment(
            "Bank",
            {
                "PERSISTENCE_MODULE": "ledger.stores.recording",
                "INTENT_LEDGER_URL": self.url.format(folder=self.folder),
            },
        )
        super().setUp()

    def expected_factory_class(self) -> type[LedgerFactory]:
        return LedgerFactory

    def expected_aggregate_recorder_class(self) -> type[LedgerAggregateRecorder]:
        return LedgerAggregateRecorder

    def expected_application_recorder_class(self) -> type[LedgerApplicationRecorder]:
        return LedgerApplicationRecorder

    def test_create_tracking_recorder(self) -> None:
        with self.assertRaises(NotSupportedError):
            self.factory.tracking_recorder()

    def test_create_process_recorder(self) -> None:
        with self.assertRaises(NotSupportedError):
            self.factory.process_recorder()

    def expected_tracking_recorder_class(self) -> Never:
        raise AssertionError("there is none")

    def tracking_recorder_subclass(self) -> Never:
        raise AssertionError("there is none")

    def expected_process_recorder_class(self) -> Never:
        raise AssertionError("there is none")


# What a module holds is collected, and these are only to be run with a store.
del published.RecorderTestCase.__abstractmethods__
