"""An outside as a model: it takes requests off a wire, does them, and keeps its own record of what it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

LANDS_WITHIN = 30
"""Seconds within which a request that was sent has landed, or never will."""

DEDUPES = 60
"""Seconds for which the outside that dedupes says that it remembers a key."""


@dataclass(eq=False)
class Request:
    """What a worker sent."""

    key: str
    tool: str
    at: datetime
    answer: str | None = None
    """`done` or `refused`, once it has landed."""


class Outside:
    """Services that do what they are told each time, and two, for orders and books, that do each key once."""

    def __init__(self, clock: Callable[[], datetime]) -> None:
        self.done: Counter[str] = Counter()
        """How often it did what was asked for under a key."""
        self.wire: list[Request] = []
        self._clock = clock
        self._known: dict[str, datetime] = {}

    def send(self, key: str, tool: str) -> Request:
        request = Request(key, tool, self._clock())
        self.wire.append(request)
        return request

    def land(self, request: Request, *, refuses: bool = False) -> None:
        """Take a request off the wire, and do it, refuse it, or know it from before."""
        self.wire.remove(request)
        if refuses:
            request.answer = "refused"
            return
        request.answer = "done"
        now, known = self._clock(), self._known.get(request.key)
        # It remembers a little longer than it says, for what was sent in time.
        remembers = timedelta(seconds=DEDUPES + LANDS_WITHIN)
        if request.tool in ("order", "book") and known is not None and now < known + remembers:
            return
        self.done[request.key] += 1
        self._known[request.key] = now

    def lose(self, request: Request) -> None:
        self.wire.remove(request)

    def due(self, now: datetime) -> list[Request]:
        """List what will have landed by then, or never will."""
        return [one for one in self.wire if one.at + timedelta(seconds=LANDS_WITHIN) <= now]

    def has(self, key: str) -> bool:
        return self.done[key] > 0

    def may_have(self, key: str) -> bool:
        return self.has(key) or any(one.key == key for one in self.wire)
