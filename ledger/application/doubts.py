"""Doubts: appends whose acknowledgement was lost, kept until it is known whether they were stored.

What was sent is recognised by its event ids at the place it was meant for, whatever was stored in between.
Who repeats a statement either hands in the error it got (`again`), which names the ids, or says the same
words next: then the doubt about them is found here. The same words after others are meant anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple
from weakref import ref

from ledger.application.statements import Context, Doubt, Stated, Statement
from ledger.canonical import invalid
from ledger.commands import Command
from ledger.errors import InvalidInput, LedgerError, StoreUnavailable
from ledger.events import ApprovalAnswered, EffectReconciled, Event
from ledger.record import Record
from ledger.run.approvals import key_of
from ledger.run.decide import may_yield
from ledger.values import Kept, Payload, Runtime, Source


def about(run: str, records: Sequence[Record]) -> Doubt:
    """Doubt whether these records were stored."""
    return Doubt(run, records[0].position - 1, tuple(record.id for record in records))


def named(error: LedgerError) -> tuple[Doubt, ...]:
    """Return what an error says was sent, the last try first; nothing where it came before that."""
    data = error.data
    if "events" not in data:
        return ()
    tries = ({"after": data["after"], "events": data["events"]}, *data.get("earlier", ()))
    return tuple(Doubt(data["run"], one["after"], tuple(one["events"])) for one in tries)


def is_from(command: Command, events: Sequence[Event]) -> bool:
    """Tell whether stored events are what a command comes to: of its kinds, the first with its words."""
    yielded = may_yield(type(command))
    return all(type(event) in yielded for event in events) and _says(events[0], command)


def _says(event: Event, command: Command) -> bool:
    said, stands = command.__dict__, event.__dict__
    if isinstance(event, EffectReconciled) and event.method == "late_outcome":
        # What another run of the lineage recorded takes the place of what was found out here.
        return bool(said["key"] == event.key)
    if isinstance(event, ApprovalAnswered) and event.answer == "denied":
        # A no is to the act, also where that was asked about anew since.
        said = {**said, "id": event.id} if key_of(said["id"]) == key_of(event.id) else said
    return all(
        _is_decided(name, said[name], stands[name]) or _same(said[name], stands[name])
        for name in said.keys() & stands.keys()
    )


def _is_decided(name: str, said: object, stands: object) -> bool:
    """Whether the ledger decides what stands there: what nobody said, what waits, and what is evidence."""
    if name in ("accepted_by", "expires_at", "owed_to", "owner", "question", "rule"):
        return said is None
    if name == "max_attempts":
        return said == 1  # none declared: those that were before
    if name == "reserved":
        return stands is None  # nothing is set aside for an act that waits
    return name == "found" and stands == "unknown"


def _same(said: object, stands: object) -> bool:
    if isinstance(said, Source) and isinstance(stands, Source) and said.revision is None:
        stands = stands.with_fields({"revision": None})  # the present one was filled in
    if isinstance(said, Runtime) and isinstance(stands, Runtime):
        # What is not said of one stays as it was.
        return all(value in (None, getattr(stands, name)) for name, value in said)
    if isinstance(said, Payload) and isinstance(stands, Kept):
        return (said.digest, said.size, said.type) == (stands.digest, stands.size, None)
    return said == stands


def naming(error: LedgerError, doubts: Sequence[Doubt]) -> LedgerError:
    """Return the error with the names of all that was sent and may be stored, try by try."""
    if not doubts:
        return error
    last, *others = doubts
    data = {**error.data, "run": last.run, "after": last.after, "events": last.ids}
    data.pop("earlier", None)
    if others:
        data["earlier"] = tuple({"after": one.after, "events": one.ids} for one in others)
    told = type(error)(str(error), **data)
    told.__cause__ = error
    return told


def cut_short(error: BaseException | None) -> StoreUnavailable:
    """Build what is told to who spoke together with somebody that was interrupted."""
    fate = StoreUnavailable(
        "what was said together with this was cut short, its fate is not known: repeat it as it is",
        reason="interrupted",
    )
    fate.__cause__ = error
    return fate


class Doubts:
    """The doubts of one stream, by who is in doubt. The oldest is forgotten where there are very many."""

    __slots__ = ("_kept", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._kept: dict[object, _Words] = {}

    def keep(self, statement: Statement) -> None:
        """Remember what a statement sent, as long as who said it can say it again."""
        self._kept.pop(statement.caller, None)
        for caller in [caller for caller in self._kept if isinstance(caller, ref) and caller() is None]:
            del self._kept[caller]
        self._kept[statement.caller] = _Words(statement.command, _light(statement.context), statement.doubts)
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def of(self, statement: Statement) -> tuple[Doubt, ...]:
        """Find what a statement may be the repeat of.

        Raises:
            InvalidInput: `again` speaks of another run, or is no error that says what was sent.
        """
        found: tuple[Doubt, ...] = ()
        if self._kept:
            words = self._kept.get(statement.caller)
            if words is not None:
                if words.command == statement.command and words.context == _light(statement.context):
                    found = words.sent
                else:
                    del self._kept[statement.caller]
        if statement.again is not None:
            found = tuple(dict.fromkeys((*found, *self._named(statement.again))))
        return found

    def answer(self, statement: Statement, otherwise: LedgerError) -> Stated:
        """Return what a statement came to, or raise it; where nothing is known, raise this instead.

        What earlier tries sent stays in doubt, so the error goes on naming it. Called by who asked.
        """
        outcome = statement.outcome
        if isinstance(outcome, Stated):
            return outcome
        if outcome is None:
            if not statement.doubts:
                with suppress(InvalidInput):
                    statement.doubts = self.of(statement)  # it had no turn
            outcome = naming(otherwise, statement.doubts)
        try:
            raise outcome
        finally:
            # Kept here it would hold the frames it came through, and they this.
            del outcome, otherwise
            statement.outcome = None

    def settle(self, statement: Statement) -> None:
        """Forget the doubts of who is answered now."""
        if self._kept:
            self._kept.pop(statement.caller, None)

    def clear(self) -> None:
        """Forget all of them."""
        self._kept.clear()

    def _named(self, error: LedgerError) -> Iterable[Doubt]:
        if not isinstance(error, LedgerError):
            raise invalid("again", f"give the error that an earlier try ended with, not {error!r:.50}")
        doubts = named(error)
        if doubts and doubts[0].run != self._name:
            raise invalid("again", f"that error is about {doubts[0].run!r}, not {self._name!r}")
        return doubts


class _Words(NamedTuple):
    """What somebody said without getting an answer, and what was sent of it, the last try first."""

    command: Command | None
    context: Context | None
    sent: tuple[Doubt, ...]


def _light(context: Context | None) -> Context | None:
    """Leave out contents, which can be megabytes: the command names them by digest."""
    return replace(context, blobs=()) if context is not None and context.blobs else context


KEPT = 1024
"""Callers whose doubts a stream keeps."""
