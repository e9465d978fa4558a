"""The notifier: follows the global order for requests for approval, and tells of each that waits."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Literal, NamedTuple

from ledger.adapters.notifying.notice import Notice, notice_of, request_in
from ledger.adapters.notifying.place import Place
from ledger.adapters.notifying.receivers import NotTold, Receiver
from ledger.application.edge import worker_name
from ledger.application.ledger import Ledger, edge_of
from ledger.canonical import invalid
from ledger.errors import UNREADABLE, LeaseLost, LedgerError, StoreBusy, StoreUnavailable
from ledger.record import Record
from ledger.stores.base import StoredRow
from projections.background import in_background
from projections.reading import PAGE, Reader

log = logging.getLogger("ledger")

LEASE_SECONDS = 60.0
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
"""Seconds before what was not taken is told again: twice as long each time, up to the longest."""
TRIES = 5
"""How often something is told before a notifier that is to end gives up."""
_WAIT_SECONDS = 0.2
"""How long is waited before looking whether it was told to stop, or may take over."""

Outcome = Literal["none", "told", "passed_over", "unreadable"]


class GaveUp(LedgerError):
    """A receiver did not take what it was told, and the notifier was to end: run it again, nothing is lost.

    `approval` is the request at which it stands; those behind it wait for it.
    """

    code = "gave_up"
    approval: str


class Tally(NamedTuple):
    """What a notifier did."""

    told: int = 0
    passed_over: int = 0
    """Requests that were answered, void, expired or asked anew before anybody was told."""
    unreadable: int = 0
    """Requests of which nobody was told: they, or their run, cannot be read, so nobody can answer either."""
    whole: bool = False
    """It came to its end, and was not stopped before."""


class Notifier:
    """Tells a receiver of every act of a tenant that waits for a person: at least once, in order.

    How far it has told stands in the ledger's database under its name. After a crash it goes on there; what
    was told and not noted is told again, under the same id. Several of one name may run: one tells, and the
    others stand by until it ends, or is not heard of for `lease_seconds`. What a receiver does not take is
    told again, with growing pauses, before anything behind it; it is passed over once it was answered or
    binds no more.

    Args:
        ledger: whose requests.
        receiver: takes a `Notice`; whatever it raises means that it is to be told again. It should take less
            than half of `lease_seconds`.
        name: of this notifier; one for each receiver.
        where: options of the command lines in a notice that lead to the ledger.
        lease_seconds: after which time without a sign of life another takes over.
        first_pause, longest_pause: seconds between tries; they double.
        tries: how often something is told by `run(until_current=True)` before it gives up.
        holder: what this one is called, as no other at work is; None: by machine, process and a random part.

    Raises:
        InvalidInput: the name is malformed, or a number out of range.
    """

    def __init__(
        self,
        ledger: Ledger,
        receiver: Receiver,
        *,
        name: str = "default",
        where: Sequence[str] = (),
        lease_seconds: float = LEASE_SECONDS,
        first_pause: float = FIRST_PAUSE,
        longest_pause: float = LONGEST_PAUSE,
        tries: int = TRIES,
        holder: str | None = None,
    ) -> None:
        numbers = {"lease_seconds": lease_seconds, "first_pause": first_pause, "tries": tries}
        for number, value in numbers.items():
            if not value > 0:
                raise invalid(number, "a number above 0 is needed")
        self._ledger = ledger
        self._edge = edge_of(ledger)
        self._receiver = receiver
        self._where = tuple(where)
        self._pauses = first_pause, longest_pause
        self._slice = min(_WAIT_SECONDS, lease_seconds / 3)
        self._tries = tries
        self._place = Place(self._edge, name, holder or worker_name(), lease_seconds)
        self._reader = Reader(self._edge)

    def begin_anew(self) -> None:
        """Forget how far was told: what still waits is told once more."""
        self._place.forget()

    def run(
        self,
        *,
        until_current: bool = False,
        stop: Event | None = None,
        heard: Callable[[Notice], object] | None = None,
    ) -> Tally:
        """Tell until `stop` is set; with `until_current`, until all that is shown now was told.

        Closing the ledger ends it too. While the store is away or busy it waits; with `until_current` it
        raises instead.

        Args:
            until_current: end then.
            stop: what ends it, also in a pause.
            heard: called with each notice after it was taken.

        Raises:
            GaveUp: with `until_current`, the receiver did not take something.
            ProjectionAhead: what was told of last is not in this ledger.
        """
        turn = _Turn(stop or Event(), heard, self._edge.store.end() if until_current else None)
        try:
            while not turn.stop.is_set() and not turn.whole:
                try:
                    self._round(turn)
                except LeaseLost:
                    self._place.lose()
                except (StoreUnavailable, StoreBusy) as error:
                    # What was stored is not known.
                    self._place.lose()
                    if error.data.get("reason") == "closed" and turn.target is None:
                        break
                    if turn.target is not None or not error.retryable:
                        raise
                    log.warning("the notifier waits: %s", error)
                    turn.stop.wait(_WAIT_SECONDS)
        finally:
            self._place.release()
        return Tally(**turn.counts, whole=turn.whole)

    @contextmanager
    def in_background(self) -> Iterator[Notifier]:
        """Tell in a thread as long as the block lasts; at its end raise what ended it before."""
        with in_background(lambda stop: self.run(stop=stop), "notifier"):
            yield self

    # --- a page ----------------------------------------------------------------------------------

    def _round(self, turn: _Turn) -> None:
        place = self._place
        if not place.is_held and not place.take():
            turn.whole = turn.target is not None and place.has_told(turn.target)
            if not turn.whole:
                self._tell_that_it_stands_by(turn)
                turn.stop.wait(_WAIT_SECONDS)
            return
        turn.stands_by_for = None
        read = self._reader.page(place.position, PAGE)
        rows = list(read.rows)
        kept = 0
        for number, row in enumerate(rows, 1):
            outcome = self._handle(row, turn)
            if outcome is None:  # told to end: it stands before this one
                place.passed(rows[kept : number - 1], whole=False)
                return
            turn.count(outcome)
            if outcome == "told":
                place.told(rows[kept:number])
                kept = number
        place.passed(rows[kept:], seen=read.seen, whole=not read.full)
        if read.full:
            return
        turn.whole = turn.target is not None and place.has_told(turn.target)
        if not turn.whole:
            self._wait(turn)

    def _tell_that_it_stands_by(self, turn: _Turn) -> None:
        """Say once for each that tells in its place why nothing comes of this one."""
        other = self._place.held_by()
        if other is None or other.until is None or other.holder == turn.stands_by_for:
            return
        turn.stands_by_for = other.holder
        log.warning(
            "another notifier of this name, %s, was heard of at %s: this one waits until it ends, or is not "
            "heard of until %s",
            other.holder,
            f"{other.updated_at:%Y-%m-%d %H:%M:%SZ}",
            f"{other.until:%Y-%m-%d %H:%M:%SZ}",
        )

    def _wait(self, turn: _Turn) -> None:
        try:
            self._edge.store.wait(self._place.position, _WAIT_SECONDS)
        except StoreBusy as error:
            log.warning("the notifier waits: %s", error)
            turn.stop.wait(_WAIT_SECONDS)

    # --- one request -----------------------------------------------------------------------------

    def _handle(self, row: StoredRow, turn: _Turn) -> Outcome | None:
        """Tell of a row what is to be told; None: it was to end before that was done."""
        try:
            request = request_in(row)
            return "none" if request is None else self._tell(request, turn)
        except UNREADABLE as error:
            log.error("nobody is told of %r position %d: %s", row.stream, row.position, error)
            return "unreadable"

    def _tell(self, request: Record, turn: _Turn) -> Outcome | None:
        tried, pause = 0, self._pauses[0]
        while not turn.stop.is_set():
            notice = notice_of(self._ledger, request, self._where)
            if notice is None:
                return "passed_over"
            self._place.renew()
            try:
                self._receiver(notice)
            except Exception as error:  # noqa: BLE001 - whatever it is, it was not taken
                tried += 1
                self._not_taken(notice, error, tried, pause, turn)
            else:
                if turn.heard is not None:
                    turn.heard(notice)
                return "told"
            self._rest(pause, turn.stop)
            pause = min(2 * pause, self._pauses[1])
        return None

    def _not_taken(self, notice: Notice, error: Exception, tried: int, pause: float, turn: _Turn) -> None:
        why = str(error) if isinstance(error, NotTold) else f"{type(error).__name__}: {error}"
        if turn.target is not None and tried >= self._tries:
            raise GaveUp(
                f"approval {notice.approval} of {notice.run!r} was told {tried} times, and not taken: {why}; "
                "run it again: it goes on there",
                approval=notice.approval,
            ) from error
        log.warning("approval %s was not taken: %s; again in %g s", notice.approval, why, pause)

    def _rest(self, seconds: float, stop: Event) -> None:
        """Wait before telling again, and go on holding the place."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not stop.wait(min(left, self._slice)):
            self._place.renew()


class _Turn:
    """One run of a notifier."""

    def __init__(self, stop: Event, heard: Callable[[Notice], object] | None, target: int | None) -> None:
        self.stop = stop
        self.heard = heard
        self.target = target
        """Global position up to which to tell; None: until `stop`."""
        self.stands_by_for: str | None = None
        """Who tells in its place, as far as that was said."""
        self.counts: dict[str, int] = {}
        self.whole = False

    def count(self, outcome: Outcome) -> None:
        if outcome != "none":
            self.counts[outcome] = self.counts.get(outcome, 0) + 1
