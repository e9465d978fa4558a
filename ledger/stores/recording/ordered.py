"""What every recorder on the ledger reads alike: its events in their global order."""

from __future__ import annotations

from collections.abc import Sequence

from eventsourcing.persistence import ApplicationRecorder, Notification

from ledger.stores.recording.errors import translated
from ledger.stores.recording.sequence import ApplicationSequence
from ledger.stores.recording.subscription import TailSubscription


class OrderedRecorder(ApplicationRecorder):
    """Reads a sequence by notification ids, which are global positions of the ledger."""

    _sequence: ApplicationSequence

    def select_notifications(
        self,
        start: int | None,
        limit: int,
        stop: int | None = None,
        topics: Sequence[str] = (),
        *,
        inclusive_of_start: bool = True,
    ) -> Sequence[Notification]:
        with translated():
            return self._sequence.select(behind(start, inclusive_of_start), stop, limit, topics)

    def max_notification_id(self) -> int | None:
        with translated():
            return self._sequence.last()

    def subscribe(self, gt: int | None = None, topics: Sequence[str] = ()) -> TailSubscription:
        return TailSubscription(self, self._sequence, gt, topics)


def behind(start: int | None, inclusive: bool) -> int:
    """Return the id behind which a selection begins."""
    if start is None:
        return 0
    return max(start - 1 if inclusive else start, 0)
