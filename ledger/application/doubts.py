"""Doubts: appends whose acknowledgement was lost, kept until it is known whether they were stored.

What was sent is recognised by its event ids at the place it was meant for, whatever was stored in between.
Who repeats a statement either hands in the error it got (`again`), which names the ids, or says the same
words next: then the doubt about them is found here. The same words after others are meant anew.
"""

from __future__ import annotations

from typing import NamedTuple

from ledger.application.statements import Context, Statement
from ledger.canonical import invalid
from ledger.commands import Command
from ledger.errors import StoreUnavailable
from ledger.record import Record


class Doubt(NamedTuple):
    """Events that may or may not be stored."""

    run: str
    after: int
    """Position of the event before them."""
    ids: tuple[str, ...]

    @classmethod
    def about(cls, run: str, records: tuple[Record, ...]) -> Doubt:
        """Doubt whether these records were stored."""
        return cls(run, records[0].position - 1, tuple(record.id for record in records))

    def told(self, error: StoreUnavailable) -> StoreUnavailable:
        """Return the error with the names of what was sent, by which it is recognised."""
        data = {**error.data, "run": self.run, "after": self.after, "events": self.ids}
        told = StoreUnavailable(str(error), **data)
        told.__cause__ = error
        return told


class Doubts:
    """The doubts of one stream, by who is in doubt. The oldest is forgotten where there are very many."""

    __slots__ = ("_kept", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._kept: dict[object, _Words] = {}

    def keep(self, statement: Statement, doubt: Doubt) -> None:
        """Remember what a statement sent."""
        earlier = self._kept.pop(statement.caller, None)
        sent = () if earlier is None else earlier.sent
        self._kept[statement.caller] = _Words(statement.command, statement.context, (*sent, doubt))
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def of(self, statement: Statement) -> tuple[Doubt, ...]:
        """Find what a statement may be the repeat of.

        Raises:
            InvalidInput: `again` speaks of another run.
        """
        found: tuple[Doubt, ...] = ()
        if self._kept:
            words = self._kept.get(statement.caller)
            if words is not None:
                if words.command == statement.command and words.context == statement.context:
                    found = words.sent
                else:
                    del self._kept[statement.caller]
        if statement.again is not None:
            found = tuple(dict.fromkeys((*found, *self._named(statement.again))))
        return found

    def settle(self, statement: Statement) -> None:
        """Forget the doubts of who is answered now."""
        if self._kept:
            self._kept.pop(statement.caller, None)

    def clear(self) -> None:
        """Forget all of them."""
        self._kept.clear()

    def _named(self, error: StoreUnavailable) -> list[Doubt]:
        data = error.data
        if "events" not in data:
            return []  # it came before anything was sent
        if data["run"] != self._name:
            raise invalid("again", f"that error is about {data['run']!r}, not {self._name!r}")
        return [Doubt(self._name, data["after"], tuple(data["events"]))]


class _Words(NamedTuple):
    """What somebody said without getting an answer, and what was sent of it, try by try."""

    command: Command | None
    context: Context | None
    sent: tuple[Doubt, ...]


KEPT = 1024
"""Callers whose doubts a stream keeps."""
