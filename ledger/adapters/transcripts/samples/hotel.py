"""The hotel that the sample transcripts speak to: an outside of its own, with a record of what it did.

It keeps its books in `hotel.db` in the current folder. What it did it can be asked for by the key of the
effect; a refund is paid once for each key. As hotels go it is a small one: it knows the stays, prices and
cards of the samples, and one card that is declined on the first try.

    intent-ledger replay hotel-desk.jsonl --outside ledger.adapters.transcripts.samples.hotel
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, cast

from ledger.canonical import canonical_text, load_text
from ledger.gateway.answers import Happened, NotHappened
from ledger.gateway.current import CurrentEffect
from ledger.gateway.tools import tool
from ledger.values import Recovery

BOOKS = "hotel.db"
"""File of its record, in the current folder."""

_TABLES = """
CREATE TABLE IF NOT EXISTS bookings (
    number INTEGER PRIMARY KEY, key TEXT UNIQUE, room TEXT, guest TEXT, total TEXT, status TEXT);
CREATE TABLE IF NOT EXISTS deeds (
    key TEXT PRIMARY KEY, tool TEXT, args TEXT, answer TEXT);
CREATE TABLE IF NOT EXISTS declined (key TEXT PRIMARY KEY, card TEXT);
"""
_ROOMS = {"double": ("126.00", 2), "single": ("90.00", 4), "suite": ("240.00", 1)}
_GUESTS = {1: ("single",), 2: ("double", "suite")}
_FIRST_NUMBER = {"double": 2051, "single": 2060, "suite": 2080}
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


@contextmanager
def _books() -> Iterator[sqlite3.Connection]:
    """Open the books for one deed, which is in them whole or not at all."""
    with closing(sqlite3.connect(Path(BOOKS), timeout=60, isolation_level=None)) as connection:
        connection.executescript(_TABLES)
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


def _did(books: sqlite3.Connection, effect: CurrentEffect, args: Mapping[str, Any], answer: Any) -> None:
    deed = (effect.key, effect.tool, canonical_text(dict(args)), canonical_text(answer))
    books.execute("INSERT INTO deeds VALUES (?, ?, ?, ?)", deed)


def find_deed(key: str, args: Mapping[str, Any]) -> Happened | NotHappened:
    """Tell whether the hotel did something under a key."""
    with _books() as books:
        found = books.execute("SELECT answer FROM deeds WHERE key = ?", (key,)).fetchone()
    return NotHappened() if found is None else Happened(load_text(found[0]))


@tool(recovery=Recovery.READ_ONLY)
def search_rooms(arrival: str, nights: int, guests: int) -> list[dict[str, Any]]:
    """List the rooms that are free."""
    rooms = ((room, *_ROOMS[room]) for room in _GUESTS.get(guests, ()))
    return [{"room": room, "price": price, "currency": "EUR", "left": left} for room, price, left in rooms]


@tool(recovery=Recovery.READ_ONLY)
def find_booking(booking: str) -> dict[str, str] | str:
    """Look a stay up."""
    return _STAYED.get(booking, f"Error: there is no booking {booking}")


@tool(recovery=Recovery.QUERYABLE, probe=find_deed)
def book_room(
    room: str, arrival: str, nights: int, guest: str, card: str, *, effect: CurrentEffect
) -> dict[str, str] | str:
    """Book a room, and charge the card."""
    with _books() as books:
        if _is_declined(books, effect.key, card):
            return f"Error: the card ending in {card} was declined"
        price = int(_ROOMS[room][0].replace(".", "")) * nights
        total = f"{price // 100}.{price % 100:02}"
        (last,) = books.execute("SELECT max(number) FROM bookings WHERE room = ?", (room,)).fetchone()
        number = _FIRST_NUMBER[room] if last is None else last + 1
        row = (number, effect.key, room, guest, total, "confirmed")
        books.execute("INSERT INTO bookings VALUES (?, ?, ?, ?, ?, ?)", row)
        answer = {"booking": f"HH-{number}", "total": total, "currency": "EUR", "status": "confirmed"}
        args = {"room": room, "arrival": arrival, "nights": nights, "guest": guest, "card": card}
        _did(books, effect, args, answer)
        return answer


def _is_declined(books: sqlite3.Connection, key: str, card: str) -> bool:
    """Decline the card 1881 under the first key that would charge it: its limit is raised afterwards."""
    if card != "1881":
        return False
    first = books.execute("SELECT key FROM declined WHERE card = ?", (card,)).fetchone()
    if first is None:
        books.execute("INSERT INTO declined VALUES (?, ?)", (key, card))
    return first is None or first[0] == key


@tool(recovery=Recovery.QUERYABLE, probe=find_deed)
def cancel_booking(booking: str, *, effect: CurrentEffect) -> dict[str, str] | str:
    """Cancel a whole stay."""
    number = booking.removeprefix("HH-")
    with _books() as books:
        changed = books.execute(
            "UPDATE bookings SET status = 'cancelled' WHERE number = ? AND status = 'confirmed'", (number,)
        )
        if not changed.rowcount:
            return f"Error: there is no booking {booking} to cancel"
        answer = {"booking": booking, "status": "cancelled", "fee": "0.00"}
        _did(books, effect, {"booking": booking}, answer)
        return answer


@tool(recovery=Recovery.IDEMPOTENT, dedupes_for=86_400)
def refund(booking: str, amount: str, currency: str, *, effect: CurrentEffect) -> dict[str, str] | str:
    """Pay something back, once for each key."""
    with _books() as books:
        known = books.execute("SELECT answer FROM deeds WHERE key = ?", (effect.key,)).fetchone()
        if known is not None:
            return cast(dict[str, str], load_text(known[0]))
        if booking not in _STAYED:
            return f"Error: there is no booking {booking}"
        answer = {"booking": booking, "refunded": amount, "currency": currency}
        _did(books, effect, {"booking": booking, "amount": amount, "currency": currency}, answer)
        return answer
