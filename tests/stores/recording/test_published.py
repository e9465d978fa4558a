"""The cases that eventsourcing publishes for recorders and factories, on each of our stores.

What cannot apply, and is not run:

- `TrackingRecorderTestCase` and `ProcessRecorderTestCase`: the ledger keeps no tracking records. That the
  factory says so is asserted instead of the two cases of `InfrastructureFactoryTestCase` that ask for them.
- `TranscoderTestCase`: it tests a transcoder of eventsourcing's kind, and the ledger has none.

The cases print how fast they were and assert nothing about it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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
    Archive,
    LedgerAggregateRecorder,
    LedgerApplicationRecorder,
    LedgerFactory,
    LedgerSnapshotRecorder,
)
from ledger.stores.recording.foreign import IdType
from tests.stores.conftest import KINDS
from tests.stores.recording.application import archive, settled


class OnAStore(TestCase):
    """Gives each test an empty store of one kind."""

    kind: str
    folder: Path
    store: FullStore

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    def setUp(self) -> None:
        self.store = settled(self.enterContext(closing(KINDS[self.kind](self.folder))))
        super().setUp()

    def archive(self, id_type: IdType = "uuid") -> Archive:
        return archive(self.store, id_type=id_type)


class OnMemory(OnAStore):
    kind = "memory"


class OnSQLite(OnAStore):
    kind = "sqlite"


class Case(ABC):
    """Keeps what needs a store from being collected without one."""

    @abstractmethod
    def archive(self, id_type: IdType = "uuid") -> Archive: ...


class AggregateRecorderCase(Case, published.AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return LedgerAggregateRecorder(self.archive())


class TextIdCase(Case, published.AggregateRecorderTestCase):
    def new_originator_id(self) -> UUID | str:
        return f"account-{super().new_originator_id()}"

    def create_recorder(self) -> AggregateRecorder:
        return LedgerAggregateRecorder(self.archive("text"))


class SnapshotRecorderCase(Case, published.AggregateRecorderTestCase):
    def create_recorder(self) -> AggregateRecorder:
        return LedgerSnapshotRecorder(self.archive())


class ApplicationRecorderCase(Case, published.ApplicationRecorderTestCase[LedgerApplicationRecorder]):
    def create_recorder(self) -> LedgerApplicationRecorder:
        return LedgerApplicationRecorder(self.archive())

    def test_insert_subscribe(self) -> None:
        self.optional_test_insert_subscribe()


class NonInterleavingCase(Case, published.NonInterleavingNotificationIDsBaseCase):
    def create_recorder(self) -> LedgerApplicationRecorder:
        return LedgerApplicationRecorder(self.archive())


class TestAggregateRecorderOnMemory(OnMemory, AggregateRecorderCase): ...


class TestAggregateRecorderOnSQLite(OnSQLite, AggregateRecorderCase): ...


class TestTextIdsOnMemory(OnMemory, TextIdCase): ...


class TestTextIdsOnSQLite(OnSQLite, TextIdCase): ...


class TestSnapshotRecorderOnMemory(OnMemory, SnapshotRecorderCase): ...


class TestSnapshotRecorderOnSQLite(OnSQLite, SnapshotRecorderCase): ...


class TestApplicationRecorderOnMemory(OnMemory, ApplicationRecorderCase): ...


class TestApplicationRecorderOnSQLite(OnSQLite, ApplicationRecorderCase): ...


class TestNonInterleavingOnMemory(OnMemory, NonInterleavingCase): ...


class TestNonInterleavingOnSQLite(OnSQLite, NonInterleavingCase): ...


class FactoryCase(published.InfrastructureFactoryTestCase[LedgerFactory]):
    folder: Path

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    @abstractmethod
    def url(self) -> str: ...

    def setUp(self) -> None:
        self.env = Environment(
            "Bank", {"PERSISTENCE_MODULE": "ledger.stores.recording", "INTENT_LEDGER_URL": self.url()}
        )
        super().setUp()

    def expected_factory_class(self) -> type[LedgerFactory]:
        return LedgerFactory

    def expected_aggregate_recorder_class(self) -> type[LedgerAggregateRecorder]:
        return LedgerAggregateRecorder

    def expected_application_recorder_class(self) -> type[LedgerApplicationRecorder]:
        return LedgerApplicationRecorder

    def test_create_tracking_recorder(self) -> None:
        with pytest.raises(NotSupportedError):
            self.factory.tracking_recorder()

    def test_create_process_recorder(self) -> None:
        with pytest.raises(NotSupportedError):
            self.factory.process_recorder()

    def expected_tracking_recorder_class(self) -> Never:
        raise AssertionError("there is none")

    def tracking_recorder_subclass(self) -> Never:
        raise AssertionError("there is none")

    def expected_process_recorder_class(self) -> Never:
        raise AssertionError("there is none")


class TestFactoryOnMemory(FactoryCase):
    def url(self) -> str:
        return ":memory:"


class TestFactoryOnSQLite(FactoryCase):
    def url(self) -> str:
        return str(self.folder / "ledger.db")
