"""Following an application sequence: on every store, SQLite included, by reading and waiting in turn.

Nothing is handed over by threads or listeners: the subscriber's own thread reads the next page when it wants
it, from where the last one ended. So nothing is missed or doubled, and nothing is read that nobody asks for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from threading import Condition

from eventsourcing.persistence import ApplicationRecorder, Notification, Subscription

from ledger.stores.recording.errors import translated
from ledger.stores.recording.sequence import ApplicationSequence

_STOP_SECONDS = 0.1
"""How soon a subscription that waits for events notices that it was stopped."""


class TailSubscription(Subscription[ApplicationRecorder]):
    """Yields notifications with ids above `gt` as they are committed, until it is stopped."""

    def __init__(
        self,
        recorder: ApplicationRecorder,
        sequence: ApplicationSequence,
        gt: int | None = None,
        topics: Sequence[str] = (),
    ) -> None:
        super().__init__(recorder, gt=gt, topics=topics)
        self._sequence = sequence
        self._reached = self._position = self._yielded = max(gt or 0, 0)
        self._ready: deque[Notification] = deque()
        self._at_end = False
        self._moved = Condition()

    @property
    def position(self) -> int:
        """The id up to which everything was handled, or is of topics that were not asked for.

        A notification counts as handled when the next one is asked for.
        """
        return self._position

    def wait(self, notification_id: int, timeout: float) -> bool:
        """Wait until `position` has come to an id, at most `timeout` seconds; return whether it has."""
        with self._moved:
            return self._moved.wait_for(lambda: self._position >= notification_id, timeout)

    def __next__(self) -> Notification:
        while not self._has_been_stopped:
            if self._ready:
                self._move(self._yielded)
                notification = self._ready.popleft()
                self._yielded = notification.id
                return notification
            self._move(self._reached)
            self._read()
        raise StopIteration

    def _read(self) -> None:
        with translated():
            if self._at_end:
                self._sequence.wait(self._reached, _STOP_SECONDS)
            page = self._sequence.page(self._reached, self._topics)
        self._reached, self._at_end = page.reached, page.at_end
        self._ready.extend(page.notifications)

    def _move(self, position: int) -> None:
        if position > self._position:
            with self._moved:
                self._position = position
                self._moved.notify_all()
