"""Handling the records of a page: what it changes, or which of them goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import NamedTuple, Protocol

from ledger.application.edge import Edge
from ledger.application.rows import decoded
from ledger.errors import StoreBusy, StoreUnavailable, UnknownEventName
from ledger.events import Event
from ledger.record import Record
from ledger.stores.base import StoredRow
from ledger.stores.read_models import Changes, Key, Model, Row
from projections.base import Projection
from projections.rows import Read, Rows

_MOST_WORDS = 500


class Decoded:
    """Rows as records, decoded once for all projections that handle them."""

    def __init__(self, rows: Sequence[StoredRow]) -> None:
        self.rows = rows
        self.at: datetime | None = None
        """Time of the last record that could be read."""
        self._found: list[Record | Exception] = []
        self._kinds: dict[type[Event], list[int]] = {}
        self._errors: list[int] = []
        for place, row in enumerate(rows):
            try:
                record = decoded(row)
            except Exception as error:  # noqa: BLE001 - told with the row, by each projection it is for
                self._found.append(error)
                self._errors.append(place)
            else:
                self._found.append(record)
                self._kinds.setdefault(type(record.event), []).append(place)
                self.at = record.at

    def wanted(self, kinds: Collection[type[Event]] | None) -> Iterator[tuple[int, Record | Exception]]:
        """Yield, with its place, each record of some events, and why a row cannot be read; None: of all."""
        if kinds is None:
            return enumerate(self._found)
        places = sorted(chain(self._errors, *(self._kinds[kind] for kind in self._kinds.keys() & kinds)))
        return ((place, self._found[place]) for place in places)


class Decoder:
    """Decodes rows, unless they are those that it decoded last."""

    def __init__(self) -> None:
        self._last = Decoded([])

    def __call__(self, rows: Sequence[StoredRow]) -> Decoded:
        if self._last.rows != rows:
            self._last = Decoded(rows)
        return self._last


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
        decode: turns rows into records.
    """

    def __init__(
        self,
        projection: Projection,
        read: Callable[[Model], Read],
        decode: Callable[[Sequence[StoredRow]], Decoded],
    ) -> None:
        self._projection = projection
        self._read = read
        self._decode = decode
        self._handler = projection.begin()

    def begin(self) -> None:
        self._handler = self._projection.begin()

    def handled(self, model: Model, rows: Sequence[StoredRow]) -> Handled:
        pending = Rows(model, self._read(model))
        if not rows:
            return Handled(0, None, pending.changes)
        page, done = self._decode(rows), 0
        try:
            for done, record in page.wanted(self._projection.wants):  # noqa: B007 - told where it goes wrong
                if isinstance(record, Exception):
                    self._pass_over(record)
                else:
                    self._handler.handle(record, pending)
            # Whose record it was is not known from here on: half of them are tried.
            done = len(rows) // 2
            self._handler.finish(pending)
        except (StoreUnavailable, StoreBusy):
            raise
        except Exception as error:  # noqa: BLE001 - a projection's own code may raise anything
            return Handled(done, page.at, pending.changes, error)
        return Handled(len(rows), page.at, pending.changes)

    def _pass_over(self, error: Exception) -> None:
        """Go on past an event that is not known here and was never wanted; else raise what is wrong."""
        if not isinstance(error, UnknownEventName) or self._projection.wants_name(error.name):
            raise error


def time_of(rows: Sequence[StoredRow]) -> datetime | None:
    """Return the time of the last of some records that were handled elsewhere."""
    found = (Decoded([row]).at for row in reversed(rows))
    return next((at for at in found if at is not None), None)


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
