"""A crew: processes that decode and handle the records of a page side by side, each those of its own streams.

One process reads the pages and stores what comes of them; it alone holds cursor and lease. It sends every
stream to one and the same worker, and gets back what becomes of each row. So nothing is different from
handling the page in one place, except that it takes less time: what the crew cannot do, whether a record is
wrong or a worker has died, is done there once more, and told as it is told there.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any
from zlib import crc32

from ledger.application.ledger import Ledger, edge_of
from ledger.application.opening import open_ledger
from ledger.canonical import invalid
from ledger.errors import LedgerError
from ledger.stores.base import StoredRow
from ledger.stores.read_models import Changes, Key, Model, Row
from projections.base import Projection
from projections.handling import Decoder, Handled, Here, stored_rows, time_of
from projections.rows import Read

FEWEST = 64
"""Smaller pages are handled where they are read."""

MOST_DEATHS = 3
"""How often workers are started once more."""

_CONTEXT = get_context("spawn")

Place = tuple[int, ...]
"""The records that a page holds, by global position."""


class Crew:
    """Some worker processes, for projections of one ledger.

    Args:
        url: where workers open the ledger, to read rows.
        tenant: whose records they are.
        projections: what is handled; all of them `by_run`, and such as another process can be sent.
        workers: how many processes.

    Raises:
        InvalidInput: a projection cannot be sent to another process, or this process may start none.
    """

    def __init__(self, url: str, tenant: str, projections: Sequence[Projection], workers: int) -> None:
        self._arguments = url, tenant, list(projections)
        self._count = workers
        self._deaths = 0
        self._workers: list[_Worker] = []
        self._shares: list[Share] = []
        self._place: Place | None = None
        self._tickets = 0
        try:
            self._start()
        except Exception as error:
            self.close()
            raise invalid(
                "workers", f"worker processes cannot be started for these projections: {error}"
            ) from error

    def share(self, here: Here) -> Share:
        """Return the hands for the next of the projections."""
        share = Share(self, len(self._shares), here)
        self._shares.append(share)
        return share

    def close(self) -> None:
        """End the workers."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.end()

    def handled(self, share: Share, model: Model, rows: Sequence[StoredRow]) -> Changes | None:
        """Let the workers handle a page; None where one of them could not, or is no more."""
        if not self._workers:
            return None
        place = tuple(row.gid for row in rows)
        try:
            if place != self._place:
                self._send(place, rows)
            wanted = place, share.epoch, model.slot
            if share.asked != wanted:
                # What it has handled ahead was not meant so: it is forgotten.
                share.epoch += share.asked is not None
                self._ask(share, model.slot)
            ticket, share.asked = share.ticket, None
            parts = [worker.answer(ticket) for worker in self._workers]
        except (EOFError, OSError):
            self._restart()
            return None
        share.place = place
        return _merged([part for part in parts if part is not None]) if None not in parts else None

    def _send(self, place: Place, rows: Sequence[StoredRow]) -> None:
        before, self._place = self._place, place
        for worker in self._workers:
            worker.drain()
        parts: list[list[StoredRow]] = [[] for _ in self._workers]
        for row in rows:
            parts[crc32(row.stream.encode()) % len(parts)].append(row)
        for worker, part in zip(self._workers, parts, strict=True):
            worker.send(("page", part))
        for share in self._shares:
            share.asked = None
            # Who was at the same place so far will be now: while one is stored the next is handled.
            if before is not None and share.place == before:
                self._ask(share, share.slot)

    def _ask(self, share: Share, slot: int) -> None:
        self._tickets += 1
        assert self._place is not None
        share.ticket, share.slot, share.asked = self._tickets, slot, (self._place, share.epoch, slot)
        for worker in self._workers:
            worker.ask((share.ticket, share.index, share.epoch, slot))

    def _start(self) -> None:
        self._place = None
        for share in self._shares:
            share.asked = share.place = None
        for _ in range(self._count):
            self._workers.append(_Worker(*self._arguments))

    def _restart(self) -> None:
        self.close()
        self._deaths += 1
        if self._deaths <= MOST_DEATHS:
            self._start()


class Share:
    """The hands of one projection, most of which are elsewhere. See `projections.handling.Hands`."""

    def __init__(self, crew: Crew, index: int, here: Here) -> None:
        self.index = index
        self.epoch = 0
        """Rises whenever workers are to forget what they have handled."""
        self.slot = 0
        self.ticket = 0
        self.asked: tuple[Place, int, int] | None = None
        """What the workers are handling for it and have not been asked for yet."""
        self.place: Place | None = None
        """Which page it was handled last."""
        self._crew = crew
        self._here = here
        self._is_here = True

    def begin(self) -> None:
        self.epoch += 1
        self._here.begin()
        self._is_here = True

    def handled(self, model: Model, rows: Sequence[StoredRow]) -> Handled:
        if len(rows) >= FEWEST:
            changes = self._crew.handled(self, model, rows)
            if changes is not None:
                self._is_here = False
                return Handled(len(rows), time_of(rows), changes)
        if not self._is_here:
            self._here.begin()
            self._is_here = True
        self.epoch += 1
        return self._here.handled(model, rows)


class _Worker:
    """One process, as who sends it work knows it."""

    def __init__(self, url: str, tenant: str, projections: list[Projection]) -> None:
        self._pipe, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=work, args=(url, tenant, projections, theirs), daemon=True)
        self._answers: dict[int, Changes | None] = {}
        self._open: set[int] = set()
        try:
            self._process.start()
        finally:
            theirs.close()

    def send(self, message: object) -> None:
        self._pipe.send(message)

    def ask(self, request: tuple[int, int, int, int]) -> None:
        self._open.add(request[0])
        self._pipe.send(("handle", request))

    def answer(self, ticket: int) -> Changes | None:
        """Wait for what came of a request; None: it went wrong."""
        while ticket not in self._answers:
            found, changes = self._pipe.recv()
            self._open.discard(found)
            self._answers[found] = changes
        return self._answers.pop(ticket)

    def drain(self) -> None:
        """Wait for all that nobody wants any more, so that both ends never wait to be heard by the other."""
        for ticket in list(self._open):
            self.answer(ticket)
        self._answers.clear()

    def end(self) -> None:
        self._pipe.close()
        if self._process.pid is None:
            return
        # It keeps nothing: whatever it is in the middle of is not wanted.
        self._process.kill()
        self._process.join()
        self._process.close()


def work(url: str, tenant: str, projections: list[Projection], pipe: Connection) -> None:
    """Handle what comes through a pipe until it is closed: the life of a worker."""
    # Ctrl-C is for who sent the work; he closes the pipe.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with _opened_late(url, tenant) as reading:
        page: list[StoredRow] = []
        decode = Decoder()
        hands = [Here(one, reading, decode) for one in projections]
        epochs = [-1] * len(hands)
        while True:
            try:
                kind, message = pipe.recv()
            except (EOFError, OSError):
                return
            if kind == "page":
                page = message
                continue
            ticket, index, epoch, slot = message
            if epochs[index] != epoch:
                hands[index].begin()
                epochs[index] = epoch
            model = projections[index].model._replace(slot=slot)
            with _heard(pipe, ticket) as answer:
                handled = hands[index].handled(model, page)
                if handled.error is None:
                    answer.append(handled.changes)


@contextmanager
def _heard(pipe: Connection, ticket: int) -> Iterator[list[Changes]]:
    """Send what the block appends; None where it goes wrong, whatever it is: it is done again elsewhere."""
    answer: list[Changes] = []
    try:
        yield answer
    except LedgerError:
        answer.clear()
    pipe.send((ticket, answer[0] if answer else None))


@contextmanager
def _opened_late(url: str, tenant: str) -> Iterator[Any]:
    """Lend what reads rows; the ledger is opened when the first row is asked for, which most never do."""
    opened: list[Ledger] = []

    def reading(model: Model) -> Read:
        def read(table: str, keys: Any) -> Any:
            if not opened:
                opened.append(open_ledger(url, tenant=tenant, create=False))
            return stored_rows(edge_of(opened[0]))(model)(table, keys)

        return read

    try:
        yield reading
    finally:
        for ledger in opened:
            ledger.close()


def _merged(parts: Sequence[Changes]) -> Changes:
    """Put together what the workers changed.

    Raises:
        InvalidInput: two of them changed one row, which comes from two streams then.
    """
    merged: dict[str, dict[Key, Row | None]] = {}
    for part in parts:
        for table, changes in part.items():
            known = merged.setdefault(table, {})
            for key in changes.keys() & known.keys():
                raise invalid("by_run", f"the row {key!r:.100} of {table} comes from more than one stream")
            known.update(changes)
    return merged
