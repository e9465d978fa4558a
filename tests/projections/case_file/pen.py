"""Writes a ledger word by word: every event, its time and its author are given, nothing is decided.

What is said is kept until `write`, and then stored in the order of time, each event by an append of its own;
what is said at the same time is stored in the order in which it was said. On an empty SQLite or memory store
global positions therefore count the events from 1.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from ledger.codec import decode, encode
from ledger.events import Event
from ledger.record import ZERO_HASH, Envelope, Record
from ledger.run.contract import Contract
from ledger.run.sources import PREFIX
from ledger.run.state import evolve
from ledger.stores.base import Append, FullStore, StreamAppend
from ledger.values import Actor

TENANT = "northwind"

Late = Callable[["Written"], Event]
"""An event that is made when it is written, from what was written before it."""


def when(moment: str) -> datetime:
    """Read a moment of the story: `03-02 09:00`, in 2026 and UTC."""
    return datetime.strptime(f"2026-{moment}", "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


class Saying(NamedTuple):
    """One event that waits to be written."""

    at: datetime
    stream: str
    actor: Actor
    event: Event | Late
    about: tuple[str, ...]


class Pen:
    """Collects what is said; `at` sets the clock for what follows."""

    def __init__(self) -> None:
        self._sayings: list[Saying] = []
        self._at = when("03-01 00:00")

    def at(self, moment: str) -> Pen:
        """Set the clock, forwards or back."""
        self._at = when(moment)
        return self

    def say(self, stream: str, actor: Actor, *events: Event | Late, about: tuple[str, ...] = ()) -> None:
        """Say events into a stream."""
        self._sayings += [Saying(self._at, stream, actor, event, about) for event in events]

    @property
    def story(self) -> list[Saying]:
        """What is said, in the order in which it is stored."""
        return sorted(self._sayings, key=lambda one: one.at)

    def write(self, store: FullStore) -> Written:
        """Store everything."""
        written = Written(store)
        for saying in self.story:
            written.add(saying)
        return written


class Written:
    """What is stored so far."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self._records: dict[str, list[Record]] = {}
        self._contracts: dict[str, Contract | None] = {}
        self._count = 0

    def hash_of(self, stream: str, position: int) -> str:
        """Return the hash of an event, in hexadecimal digits."""
        return self._records[stream][position - 1].hash.hex()

    def records(self, stream: str) -> list[Record]:
        """Return the records of a stream."""
        return self._records[stream]

    @property
    def streams(self) -> list[str]:
        """Name the streams, in the order in which they began."""
        return list(self._records)

    def add(self, saying: Saying) -> None:
        """Store one event behind the last one of its stream."""
        stream, kept = saying.stream, self._records.setdefault(saying.stream, [])
        event = saying.event if isinstance(saying.event, Event) else saying.event(self)
        contract = self._contracts.get(stream)
        position, prev = (kept[-1].position, kept[-1].hash) if kept else (0, ZERO_HASH)
        self._count += 1
        envelope = Envelope(
            tenant=TENANT,
            run=stream,
            position=position + 1,
            prev=prev,
            id=f"event-{self._count}",
            at=saying.at,
            actor=saying.actor,
            terms=contract.terms if contract is not None and event.binds_terms else None,
            about=saying.about,
        )
        row = encode(event, envelope)
        part = StreamAppend(stream, position, prev, (row,), is_source=stream.startswith(PREFIX))
        stored = self._store.append(Append(TENANT, (part,)))
        record = decode(row.record, row.hash, run=stream, position=row.position, tenant=TENANT)
        kept.append(record._replace(global_position=stored.gids[0]))
        if not stream.startswith("$"):
            self._contracts[stream] = evolve(contract, record)
