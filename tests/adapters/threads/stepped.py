"""Stores that something happens to at one of the calls to them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ledger.stores.base import Append, Appended, FullStore


class Killed(BaseException):
    """The process ended."""


class Stepped:
    """A store that does something before one of the calls that are made to it, and counts them."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self.calls = 0
        self._at = 0
        self._deed: Callable[[], None] = lambda: None

    def arm(self, at: int, deed: Callable[[], None]) -> None:
        self.calls, self._at, self._deed = 0, at, deed

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found) or name == "close":
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls == self._at:
                self._deed()
            return found(*args, **kwargs)

        return call


class Caught:
    """A store to which no state is saved: its append is caught on the way, as that of a slow writer."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self.append_caught: Append | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def append(self, append: Append) -> Appended:
        if any(b"state.saved" in row.record for part in append.streams for row in part.rows):
            self.append_caught = append
            raise Killed
        return self._store.append(append)
