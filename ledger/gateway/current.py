"""The effect that is being performed, as the tool's own code sees it."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from datetime import datetime
from typing import Any

from ledger.errors import LeaseLost


class CurrentEffect:
    """An attempt under way. Its key names it to the outside: hand it on as idempotency key or metadata."""

    def __init__(
        self,
        key: str,
        attempt: int,
        tool: str,
        deadline: datetime | None,
    ) -> None:
        self.key = key
        """64 hexadecimal digits, the same for every attempt at the act."""
        self.attempt = attempt
        """Number of this attempt, from 1; 0 where something is only read."""
        self.tool = tool
        self.deadline = deadline
        """When its lease ends unless it is renewed, by the clock of leases; None: it has none."""
        self.is_lost = False
        """The lease ended, or another worker has taken over: stop, and change nothing more."""
        self.last_progress: Any = None
        """What an earlier attempt reported last, as JSON values; None: nothing."""
        self._report: Callable[[Any], None] | None = None
        self._is_over: Callable[[], bool] | None = None

    def ends_when(self, is_over: Callable[[], bool]) -> None:
        """Say what tells whether the lease has ended as far as this worker knows, without asking anybody."""
        self._is_over = is_over

    def on_progress(self, report: Callable[[Any], None]) -> None:
        """Say what keeps the progress that is reported."""
        self._report = report

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.tool} attempt {self.attempt} {self.key[:12]}…>"

    def progress(self, value: Any = None) -> None:
        """Report how far it is, as any JSON value, and renew the lease; a later attempt may read it.

        It is kept beside the ledger as long as the effect is open, and lost when the database is.

        Raises:
            LeaseLost: another worker has taken over: stop, and change nothing more.
            InvalidInput: the value is not JSON.
        """
        if self._report is not None:
            self._report(value)
        self.check()

    def check(self) -> None:
        """Make sure that this worker still holds the effect; it asks nobody and costs nothing.

        Raises:
            LeaseLost: it does not, or its lease has ended without having been renewed.
        """
        if self._is_over is not None and self._is_over():
            self.is_lost = True
        if self.is_lost:
            raise LeaseLost(f"the lease of attempt {self.attempt} of {self.tool!r} ended", key=self.key)


_current: ContextVar[CurrentEffect] = ContextVar("ledger_current_effect")


def current_effect() -> CurrentEffect:
    """Return the effect that the calling code is performing.

    Raises:
        LookupError: none is being performed here. Threads that a tool starts itself see it only where they
            run in a copy of its context (`contextvars.copy_context`).
    """
    try:
        return _current.get()
    except LookupError:
        raise LookupError("no effect is being performed here: call this inside of a tool") from None


class performing:
    """Let an effect be the current one, for `with`."""

    # No generator: that costs more than what it does here.

    __slots__ = ("_effect", "_token")

    def __init__(self, effect: CurrentEffect) -> None:
        self._effect = effect

    def __enter__(self) -> None:
        self._token = _current.set(self._effect)

    def __exit__(self, *raised: object) -> None:
        _current.reset(self._token)
