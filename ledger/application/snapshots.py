"""When a stream's state is saved: often enough that loading stays short, rarely enough to cost little."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from ledger.application.edge import Edge
from ledger.application.steps import Call, Steps
from ledger.stores.base import SnapshotRow

log = logging.getLogger("ledger")


class Saving:
    """Where the last snapshot of a stream lies, and what it took."""

    __slots__ = ("_at", "_bytes", "_edge", "_name")

    def __init__(self, edge: Edge, name: str, at: int, size: int) -> None:
        self._edge = edge
        self._name = name
        self._at = at
        self._bytes = size

    def is_due(self, position: int) -> bool:
        """Tell whether a state at this position should be saved."""
        return position - self._at >= SNAPSHOT_EVERY * (1 + self._bytes // SNAPSHOT_BYTES)

    def keep(self, position: int, make: Callable[[], SnapshotRow]) -> Steps[None]:
        """Save the state at a position; that it fails never matters, for what was said is stored."""
        self._at = position
        try:
            snapshot = make()
            self._bytes = len(snapshot.state)
            yield Call(partial(self._edge.store.put_snapshot, self._edge.tenant, self._name, snapshot))
        except Exception as error:  # noqa: BLE001
            log.warning("no snapshot of %s at %s: %r", self._name, position, error)


SNAPSHOT_EVERY = 16
"""Events between two snapshots of a small contract."""

SNAPSHOT_BYTES = 8192
"""For each so many bytes of a snapshot, the next one comes another `SNAPSHOT_EVERY` events later, so that
writing snapshots never costs more than a tenth of appending."""
