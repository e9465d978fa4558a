"""Handling the records of a page: what it changes, or which of them goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from ledger.application.edge import Edge
from ledger.errors import StoreBusy, StoreUnavailable, UnknownEventName
from ledger.record import Record
from ledger.stores.base import StoredRow
from ledger.stores.read_models import Changes, Key, Model, Row
from projections.base import Projection
from projections.rows import Read, Rows

_MOST_WORDS = 500

Found = Record | Exception
"""What a row was read as, or why it cannot be."""


class Handled(NamedTuple):
    """What came of some records."""

    fine: int
    """How many of them are fine, from the first on; of the one behind them it is not known."""
    at: datetime | None
    """Time of the last; None: there is none, or it was not read."""
    changes: Changes
    error: Exception | None = None
    """What went wrong; then nothing of the changes is to be kept."""


class Hands(Protocol):
    """Who handles the records of a projection, and remembers what its handler does."""

    def begin(self) -> None:
        """Forget what was handled: the next records come behind what is stored."""

    def handled(self, model: Model, rows: Sequence[StoredRow]) -> Handled:
        """Handle the records of a page, in order.

        Raises:
            StoreUnavailable, StoreBusy: rows that they need could not be read.
        """


class Here:
    """Handles records in this thread.

    Args:
        projection: whose.
        read: makes, for a build, what reads its stored rows.
        records: decodes rows.
    """

    def __init__(
        self,
        projection: Projection,
        read: Callable[[Model], Read],
        records: Callable[[Sequence[StoredRow]], Sequence[Found]],
    ) -> None:
        self._projection = projection
        self._read = read
        self._records = records
        self._handler = projection.begin()

    def begin(self) -> None:
        self._handler = self._projection.begin()

    def handled(self, model: Model, rows: Sequence[StoredRow]) -> Handled:
        pending = Rows(model, self._read(model))
        if not rows:
            return Handled(0, None, pending.changes)
        wants, handle = self._projection.wants, self._handler.handle
        at: datetime | None = None
        done = 0
        try:
            for record in self._records(rows):
                if isinstance(record, Exception):
                    self._pass_over(record)
                else:
                    at = record.at
                    if wants is None or type(record.event) in wants:
                        handle(record, pending)
                done += 1
            # Whose record it was is not known from here on: half of them are tried.
            done //= 2
            self._handler.finish(pending)
        except (StoreUnavailable, StoreBusy):
            raise
        except Exception as error:  # noqa: BLE001 - a projection's own code may raise anything
            return Handled(done, at, pending.changes, error)
        return Handled(len(rows), at, pending.changes)

    def time_of(self, rows: Sequence[StoredRow]) -> datetime | None:
        """Return the time of the last of some records that were handled elsewhere."""
        found = (self._records([row])[0] for row in reversed(rows))
        return next((record.at for record in found if not isinstance(record, Exception)), None)

    def _pass_over(self, error: Exception) -> None:
        """Go on past an event that is not known here and was never wanted; else raise what is wrong."""
        if not isinstance(error, UnknownEventName) or self._projection.wants_name(error.name):
            raise error


def stored_rows(edge: Edge) -> Callable[[Model], Read]:
    """Return what makes, for a build, the function that reads its stored rows by key."""

    def of(model: Model) -> Read:
        def read(table: str, keys: Iterable[Key]) -> Mapping[Key, Row]:
            return edge.store.read_models().rows(edge.tenant, model, table, keys)

        return read

    return of


def words(error: Exception | None) -> str:
    """Say what went wrong, in text that every database keeps."""
    said = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace").decode()
    return said.replace("\0", "\\0")[:_MOST_WORDS]
