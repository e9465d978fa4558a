r"""The hotel that the sample transcripts speak to: an outside of its own, with a record of what it did.

It keeps its books in `hotel.db` in the current folder. What it did it can be asked for by the key of the
effect; a refund is paid once for each key. As hotels go it is a small one: it knows the stays, prices and
cards of the samples, and one card that is declined on the first try.

    intent-ledger replay hotel-desk.jsonl --tools hotel-tools.json \
        --outside ledger.adapters.transcripts.samples.hotel
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ledger.canonical import canonical_text, load_text
from ledger.gateway.answers import Happened, NotHappened
from ledger.gateway.current import CurrentEffect
from ledger.gateway.tools import Declared, Tool, declare
from ledger.values import Recovery

_TABLES = """
CREATE TABLE IF NOT EXISTS bookings (
    number INTEGER PRIMARY KEY, room TEXT, arrival TEXT, nights INTEGER, guest TEXT, status TEXT);
CREATE TABLE IF NOT EXISTS deeds (
    number INTEGER PRIMARY KEY, key TEXT, tool TEXT, args TEXT, answer TEXT);
CREATE TABLE IF NOT EXISTS declined (card TEXT PRIMARY KEY, key TEXT);
"""
_PRICES = {"double": 12_600, "single": 9_000, "suite": 24_000}
"""Cents for a night."""
_FREE = {1: {"single": 4}, 2: {"double": 2, "suite": 1}}
"""Rooms that are left, by the number of guests."""
_FIRST_NUMBERS = {"double": 2051, "single": 2060, "suite": 2080}
"""Each kind of room has a book of its own, whose numbers go on from here."""
_STAYED = {
    "HH-1987": {
        "booking": "HH-1987",
        "guest": "Mira Sato",
        "room": "double",
        "paid": "252.00",
        "currency": "EUR",
        "card": "7310",
    }
}
_DECLINED = "1881"
"""A card whose first charge is declined; its limit is raised afterwards."""


class Deed(NamedTuple):
    """Something that the hotel did."""

    key: str
    tool: str
    args: str
    answer: str


class Hotel:
    """A hotel, by its books. Several processes may speak to it."""

    def __init__(self, books: Path) -> None:
        self._path = books

    def tools(self) -> list[Tool]:
        """Declare what it offers."""
        asked: Declared = {"recovery": Recovery.QUERYABLE, "probe": self.find_deed}
        return [
            declare(self.search_rooms, recovery=Recovery.READ_ONLY),
            declare(self.find_booking, recovery=Recovery.READ_ONLY),
            declare(self.book_room, **asked),
            declare(self.cancel_booking, **asked),
            declare(self.refund, recovery=Recovery.IDEMPOTENT, dedupes_for=86_400),
        ]

    def deeds(self) -> list[Deed]:
        """List what it did, in order."""
        with self._opened() as books:
            rows = books.execute("SELECT key, tool, args, answer FROM deeds ORDER BY number").fetchall()
        return [Deed(*row) for row in rows]

    def find_deed(self, key: str, args: Mapping[str, Any]) -> Happened | NotHappened:
        """Tell whether it did something under a key."""
        known = [deed.answer for deed in self.deeds() if deed.key == key]
        return Happened(load_text(known[0])) if known else NotHappened()

    # --- what it offers --------------------------------------------------------------------------

    def search_rooms(self, arrival: str, nights: int, guests: int) -> list[dict[str, Any]]:
        """List the rooms that are free."""
        free = _FREE.get(guests, {})
        return [
            {"room": room, "price": _euros(_PRICES[room]), "currency": "EUR", "left": left}
            for room, left in free.items()
        ]

    def find_booking(self, booking: str) -> dict[str, str] | str:
        """Look a stay up."""
        return _STAYED.get(booking, f"Error: there is no booking {booking}")

    def book_room(
        self, room: str, arrival: str, nights: int, guest: str, card: str, *, effect: CurrentEffect
    ) -> dict[str, str] | str:
        """Book a room, and charge the card."""
        with self._opened() as books:
            if _is_declined(books, effect.key, card):
                return f"Error: the card ending in {card} was declined"
            (last,) = books.execute("SELECT max(number) FROM bookings WHERE room = ?", (room,)).fetchone()
            number = _FIRST_NUMBERS[room] if last is None else last + 1
            row = (number, room, arrival, nights, guest, "confirmed")
            books.execute("INSERT INTO bookings VALUES (?, ?, ?, ?, ?, ?)", row)
            total = _euros(_PRICES[room] * nights)
            answer = {"booking": f"HH-{number}", "total": total, "currency": "EUR", "status": "confirmed"}
            args = {"room": room, "arrival": arrival, "nights": nights, "guest": guest, "card": card}
            _did(books, effect, args, answer)
            return answer

    def cancel_booking(self, booking: str, *, effect: CurrentEffect) -> dict[str, str] | str:
        """Cancel a whole stay."""
        with self._opened() as books:
            changed = books.execute(
                "UPDATE bookings SET status = 'cancelled' WHERE number = ? AND status = 'confirmed'",
                (booking.removeprefix("HH-"),),
            )
            if not changed.rowcount:
                return f"Error: there is no booking {booking} to cancel"
            answer = {"booking": booking, "status": "cancelled", "fee": "0.00"}
            _did(books, effect, {"booking": booking}, answer)
            return answer

    def refund(
        self, booking: str, amount: str, currency: str, *, effect: CurrentEffect
    ) -> dict[str, str] | str:
        """Pay something back, once for each key."""
        if booking not in _STAYED:
            return f"Error: there is no booking {booking}"
        answer = {"booking": booking, "refunded": amount, "currency": currency}
        with self._opened() as books:
            if not books.execute("SELECT 1 FROM deeds WHERE key = ?", (effect.key,)).fetchone():
                _did(books, effect, {"booking": booking, "amount": amount, "currency": currency}, answer)
        return answer

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Open the books for one deed, which is in them whole or not at all."""
        with closing(sqlite3.connect(self._path, timeout=60, isolation_level=None)) as connection:
            connection.executescript(_TABLES)
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")


def _euros(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def _did(books: sqlite3.Connection, effect: CurrentEffect, args: dict[str, Any], answer: Any) -> None:
    deed = (effect.key, effect.tool, canonical_text(args), canonical_text(answer))
    books.execute("INSERT INTO deeds (key, tool, args, answer) VALUES (?, ?, ?, ?)", deed)


def _is_declined(books: sqlite3.Connection, key: str, card: str) -> bool:
    """Decline one card under the first key that would charge it, however often it is sent."""
    if card != _DECLINED:
        return False
    books.execute("INSERT INTO declined VALUES (?, ?) ON CONFLICT DO NOTHING", (card, key))
    (first,) = books.execute("SELECT key FROM declined WHERE card = ?", (card,)).fetchone()
    return bool(first == key)


tools = Hotel(Path("hotel.db")).tools()
