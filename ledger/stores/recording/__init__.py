"""The ledger's tables for the applications and projections of `eventsourcing`.

    Application(env={"PERSISTENCE_MODULE": "ledger.stores.recording", "INTENT_LEDGER_URL": "runs.db"})

An application's events become records of the ledger (`LedgerFactory`), and projections follow the events of
the ledger's own runs (`LedgerRuns`). Nothing else in the ledger imports eventsourcing.
"""

from ledger.stores.recording.application import LedgerRuns
from ledger.stores.recording.factory import LedgerFactory
from ledger.stores.recording.foreign import Archive
from ledger.stores.recording.mapper import ClosedMapper, RunEvent, RunMapper
from ledger.stores.recording.recorder import LedgerAggregateRecorder, LedgerApplicationRecorder
from ledger.stores.recording.runs import RecordedEvent, RecordedNotification, RunRecorder
from ledger.stores.recording.snapshots import LedgerSnapshotRecorder
from ledger.stores.recording.subscription import TailSubscription

__all__ = [
    "Archive",
    "ClosedMapper",
    "LedgerAggregateRecorder",
    "LedgerApplicationRecorder",
    "LedgerFactory",
    "LedgerRuns",
    "LedgerSnapshotRecorder",
    "RecordedEvent",
    "RecordedNotification",
    "RunEvent",
    "RunMapper",
    "RunRecorder",
    "TailSubscription",
]
