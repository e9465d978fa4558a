"""A ledger whose store lets a test step in around the appends of a protocol."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from ledger import Actor, Ledger, Tool
from ledger.application.edge import Edge
from ledger.errors import StoreBusy
from ledger.stores.base import Append, Appended, FullStore
from ledger.stores.opening import open_store
from ledger.stores.stamps import Clock, system_clock

CLAIM = frozenset({"effect.started"})
OUTCOME = frozenset({"effect.succeeded", "observation.recorded"})
EVIDENCE = frozenset({"effect.reconciled"})
FAILURE = frozenset({"effect.failed"})

Hook = Callable[[], object]


class Hooked:
    """A store that calls hooks before and after the appends that hold certain events."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self._before: list[tuple[frozenset[str], Hook]] = []
        self._after: list[tuple[frozenset[str], Hook]] = []
        self.may_renew: Callable[[], bool] = lambda: True

    def before(self, names: frozenset[str], hook: Hook) -> None:
        self._before.append((names, hook))

    def after(self, names: frozenset[str], hook: Hook) -> None:
        self._after.append((names, hook))

    def append(self, append: Append) -> Appended:
        names = {json.loads(row.record)["name"] for stream in append.streams for row in stream.rows}
        _call(self._before, names)
        appended = self._store.append(append)
        _call(self._after, names)
        return appended

    def renew(self, *args: Any, **options: Any) -> datetime | None:
        if not self.may_renew():
            raise StoreBusy("this thread renews nothing")
        return self._store.renew(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def _call(hooks: list[tuple[frozenset[str], Hook]], names: set[str]) -> None:
    for wanted, hook in hooks:
        if wanted & names:
            hook()


def hooked(place: Path | str, clock: Clock = system_clock, *tools: Tool) -> tuple[Ledger, Hooked]:
    """Open a ledger at a place, with the store that a test steps into."""
    store: Any = Hooked(open_store(place, busy_seconds=60))
    return Ledger(Edge(store, "default", Actor("service:tests"), clock), tools=tools), store
