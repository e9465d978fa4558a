"""Progress that is reported in a loop: kept by a thread, one report after the other, the latest of them."""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

from ledger.aio.hands import Hands
from ledger.aio.loops import Event
from ledger.aio.stops import Stops
from ledger.application.acting import Doing

log = logging.getLogger("ledger")


class Progress:
    """Takes the progress of one effect, from the loop without blocking it and from threads."""

    def __init__(self, doing: Doing, hands: Hands) -> None:
        self._doing = doing
        self._hands = hands
        self._next: list[str | None] = []
        """What is to be kept next; None: the lease is only renewed."""
        self._idle: Event | None = None
        """Set when nothing is under way any more; None: nothing is."""

    def report(self, value: Any) -> None:
        """Keep how far the tool is, and renew the lease; in a thread it is done on return.

        Raises:
            InvalidInput: the value is not JSON.
        """
        if not self._hands.loop.is_here:
            self._doing.progress(value)
            return
        text = self._doing.progress_text(value)
        if self._idle is None:
            self._begin(text)
        elif text is not None or not self._next:
            self._next = [text]

    async def kept(self, stops: Stops) -> None:
        """Wait until what was reported is kept."""
        while self._idle is not None:
            await stops.until_set(self._idle)

    def _begin(self, text: str | None) -> None:
        self._hands.call(partial(self._doing.renew, text), self._end)
        if self._idle is None:
            self._idle = self._hands.loop.event()

    def _end(self, outcome: Any) -> None:
        if isinstance(outcome, BaseException):
            log.warning("progress of %s is not kept: %s", self._doing.act.tool.name, outcome)
        try:
            if self._next:
                self._begin(self._next.pop())
                return
        except Exception as error:  # noqa: BLE001  nobody is there to hear it
            log.warning("progress of %s is not kept: %s", self._doing.act.tool.name, error)
        idle, self._idle = self._idle, None
        if idle is not None:
            idle.set()
