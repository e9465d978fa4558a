"""The runs of a ledger as an application of eventsourcing, for its projection runner to follow."""

from __future__ import annotations

from eventsourcing.application import Application
from eventsourcing.utils import Environment

from ledger.stores.recording.factory import LedgerFactory
from ledger.stores.recording.mapper import RunMapper
from ledger.stores.recording.runs import RunRecorder


class LedgerRuns(Application[str]):
    """Reads the runs and sources of a tenant: `ProjectionRunner(application_class=LedgerRuns, …)`.

    It is configured as LedgerFactory says. Saving to it is refused.
    """

    factory: LedgerFactory

    def construct_factory(self, env: Environment) -> LedgerFactory:
        return LedgerFactory(env)

    def construct_recorder(self) -> RunRecorder:
        return self.factory.run_recorder()

    def construct_mapper(self) -> RunMapper:
        return RunMapper()
