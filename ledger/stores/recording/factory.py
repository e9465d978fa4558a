"""What eventsourcing asks for when an application starts: the recorders of its ledger, by its environment."""

from __future__ import annotations

from typing import Never, cast

from eventsourcing.domain import TAggregateID
from eventsourcing.persistence import (
    AggregateRecorder,
    InfrastructureFactory,
    InfrastructureFactoryError,
    Mapper,
    NotSupportedError,
    TrackingRecorder,
    Transcoder,
)
from eventsourcing.utils import Environment, EnvType

from ledger.errors import LedgerError
from ledger.stores.base import FullStore
from ledger.stores.opening import open_store
from ledger.stores.recording.foreign import Archive, IdType
from ledger.stores.recording.mapper import ClosedMapper
from ledger.stores.recording.recorder import LedgerAggregateRecorder, LedgerApplicationRecorder
from ledger.stores.recording.runs import RunRecorder
from ledger.stores.recording.snapshots import LedgerSnapshotRecorder
from ledger.stores.stamps import new_id, system_clock
from ledger.values import Actor, check_id


class LedgerFactory(InfrastructureFactory[TrackingRecorder]):
    """Makes the recorders of one application on one ledger.

    Environment, each name also with the application's name and `_` before it:
        INTENT_LEDGER_URL: path of the ledger's SQLite file (it is created), or `:memory:`.
        INTENT_LEDGER_TENANT: whose events these are. Without it, an application's are in a tenant of its own
            name, because two applications in one tenant make one sequence; and runs are those of `default`.
        ORIGINATOR_ID_TYPE: `uuid` (without it) or `text`: what the ids of aggregates are.
        MAPPER_TOPIC, TRANSCODER_TOPIC, CIPHER_TOPIC, COMPRESSOR_TOPIC, IS_SNAPSHOTTING_ENABLED: as always.

    Raises:
        InfrastructureFactoryError: one of them is missing or malformed, or the ledger cannot be opened.
    """

    LEDGER_URL = "INTENT_LEDGER_URL"
    LEDGER_TENANT = "INTENT_LEDGER_TENANT"
    ORIGINATOR_ID_TYPE = "ORIGINATOR_ID_TYPE"

    def __init__(self, env: Environment | EnvType | None) -> None:
        super().__init__(env)
        tenant = self.env.get(self.LEDGER_TENANT)
        self._archive = Archive(
            store=self._open(),
            tenant=_tenant(tenant or self.env.name or "default"),
            actor=_actor(self.env.name),
            clock=system_clock,
            ids=new_id,
            id_type=self._id_type(),
        )
        self._tenant_of_runs = _tenant(tenant or "default")

    def mapper(
        self,
        transcoder: Transcoder | None = None,
        mapper_class: type[Mapper[TAggregateID]] | None = None,
    ) -> Mapper[TAggregateID]:
        """Make a mapper: the one that was asked for, else one that resolves only what is loaded."""
        if mapper_class is None and not self.env.get(self.MAPPER_TOPIC):
            mapper_class = ClosedMapper[TAggregateID]
        return super().mapper(transcoder, mapper_class)

    def aggregate_recorder(self, purpose: str = "events") -> AggregateRecorder:
        """Make a recorder of `events` or `snapshots`.

        Raises:
            NotSupportedError: the purpose is another.
        """
        if purpose == "events":
            return LedgerAggregateRecorder(self._archive)
        if purpose == "snapshots":
            return LedgerSnapshotRecorder(self._archive)
        raise NotSupportedError(f"the ledger has no recorder of {purpose!r}: 'events' or 'snapshots'")

    def application_recorder(self) -> LedgerApplicationRecorder:
        """Make the recorder of the application's events.

        Raises:
            NotSupportedError: the environment names a class of its own for it.
        """
        if self.env.get(self.APPLICATION_RECORDER_TOPIC):
            raise NotSupportedError(f"the ledger takes no {self.APPLICATION_RECORDER_TOPIC}")
        return LedgerApplicationRecorder(self._archive)

    def run_recorder(self) -> RunRecorder:
        """Make a recorder that reads the ledger's own events."""
        return RunRecorder(self._archive.store, self._tenant_of_runs)

    def tracking_recorder(self, tracking_recorder_class: type[TrackingRecorder] | None = None) -> Never:
        """Refuse; the ledger keeps no tracking records.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError(
            "the ledger keeps no tracking records: give the projection another PERSISTENCE_MODULE by an "
            "environment variable with its name before it, or write it for the ledger's own `projections`"
        )

    def process_recorder(self) -> Never:
        """Refuse; the ledger keeps no tracking records, so none together with events.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("the ledger keeps no tracking records, so it cannot run process applications")

    def close(self) -> None:
        """Close the ledger; a second call does nothing."""
        self._archive.store.close()

    def _open(self) -> FullStore:
        url = (self.env.get(self.LEDGER_URL) or "").strip()
        try:
            return open_store(url)
        except LedgerError as error:
            raise InfrastructureFactoryError(str(error)) from error

    def _id_type(self) -> IdType:
        text = self.env.get(self.ORIGINATOR_ID_TYPE, "uuid").lower()
        if text not in ("text", "uuid"):
            raise InfrastructureFactoryError(f"{self.ORIGINATOR_ID_TYPE} is {text!r}, not 'uuid' or 'text'")
        return cast("IdType", text)


def _tenant(text: str) -> str:
    try:
        return check_id(text)
    except ValueError as error:
        raise InfrastructureFactoryError(f"{LedgerFactory.LEDGER_TENANT}: {error}") from None


def _actor(name: str) -> Actor:
    try:
        return Actor(f"service:{name or 'eventsourcing'}")
    except ValueError as error:
        raise InfrastructureFactoryError(f"the application's name is no id: {error}") from None
