"""Comparing contracts: a run with itself at another position, or with another run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from datetime import datetime

from ledger.canonical import invalid
from ledger.errors import InvalidInput
from ledger.record import Record
from ledger.run.contract import Contract
from ledger.run.diff import Diff, diff, side_of
from ledger.run.tracing import with_origins


class Differing(ABC):
    """What a ledger tells of differences."""

    @abstractmethod
    def contract(self, run: str, at: int | datetime | None = None) -> Contract:
        """Return the contract of a run."""

    @abstractmethod
    def log(
        self, run: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> Iterator[Record]:
        """Yield the records of a run."""

    def diff(
        self,
        run: str,
        other: str | None = None,
        *,
        at: int | datetime | None = None,
        to: int | datetime | None = None,
    ) -> Diff:
        """Tell what differs between a run earlier and later, or between two runs.

        Members are compared by id, steps of a plan by name. Positions and times of events are no differences,
        nor are messages, counts and reviews. Within one run each difference names the event that brought it
        about last, also what took away what is gone; the log between the two positions is read for that.
        Of two runs, and of a run compared backwards, what is said of it is what the contract holds.

        Args:
            run: the run, or the older one of two, e.g. a predecessor.
            other: the run it is compared with, e.g. its successor or fork; None: the same run.
            at: position or time of `run`. Without it: with `other` now, else 1, as it was opened.
            to: position or time of `other`, or of the same run. Without it: now.

        Raises:
            RunNotFound: no such run, or it was opened after that time.
            InvalidInput: a run never had that position, or a time has no zone; `path` is `at` or `to`.
        """
        if other is None:
            at = 1 if at is None else at
        old = self.contract(run, at)
        try:
            new = self.contract(run if other is None else other, to)
        except InvalidInput as error:
            if error.path != "at":
                raise
            raise invalid("to", error.reason) from None
        differences = diff(old, new)
        if old.run == new.run and old.position < new.position:
            records = self.log(old.run, after=old.position, upto=new.position)
            differences = with_origins(differences, old, records)
        return Diff(differences=differences, new=side_of(new), old=side_of(old))
