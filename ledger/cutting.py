"""Decoding a record by cutting its bytes where the writer put them together.

`ledger.record.write` sets the data of an event between bytes that hardly differ from one record of a run to
the next. So a record need not be parsed as a whole: it is cut into pieces, what surrounds the data is read
once for each different piece, and the data goes from its bytes straight into the event.

The cuts are guesses. What makes them sound is that every piece is read as JSON of its own and must hold
exactly the fields that belong there. Only a record that consists of such pieces passes, and a whole that
consists of them says what they say. Of any other record nothing is said here; `ledger.codec` reads it field
by field.
"""

from __future__ import annotations

from binascii import unhexlify
from functools import lru_cache
from typing import Any, TypeVar

from pydantic_core import from_json

from ledger.record import FORMAT, Record, TermsMark
from ledger.upcasting import READERS
from ledger.values import Actor, read_time

_AT = b'"at":"'
_DATA = b',"data":'
_ID = b',"id":"'
_TIME_LENGTH = 27
_HASH_LENGTH = 64

T = TypeVar("T")


def cut(record: bytes, hash: bytes, run: str, position: int) -> Record | None:
    """Decode a record of a run that is spelt as the writer spells it; None where it may be any other.

    That the bytes have the hash was checked before.
    """
    if type(position) is not int:
        # A table that was tampered with may hold anything where numbers were.
        return None
    before_place = b',"position":%d,"prev":"' % position
    head = record.find(_AT)
    at = head + len(_AT)
    links = at + _TIME_LENGTH
    data = record.find(_DATA, links)
    place = record.rfind(before_place)
    id = record.rfind(_ID, 0, place)
    prev = place + len(before_place)
    rest = prev + _HASH_LENGTH
    if not -1 < head < data < id < place:
        return None
    try:
        about, actor = _head(record[:head])
        causation, correlation = _links(record[links:data])
        stream, tenant, terms, version = _rest(record[rest:])
        named = from_json(b"{%b}" % record[id + 1 : place])
        name, event_id = named["name"], named["id"]
        if stream != run or len(named) != 2 or type(event_id) is not str:
            return None
        event = READERS[name, version].__pydantic_validator__.validate_json(record[data + len(_DATA) : id])
        moment, before = read_time(record[at:links].decode()), unhexlify(record[prev:rest])
        where = tenant, run, position, hash, before, event_id, name, version, moment
        # Positional, in the order of the fields: half the time of naming them.
        return Record(*where, actor, causation, correlation, terms, about, event)
    except (LookupError, TypeError, ValueError):
        # Refusals of pydantic are ValueErrors, too.
        return None


# --- the pieces --------------------------------------------------------------------------------

LONGEST_PIECE = 2048
"""Bytes of the longest piece read here: each is kept with what it says, and a store may hold anything."""


@lru_cache(maxsize=1024)
def _head(piece: bytes) -> tuple[tuple[str, ...], Actor]:
    """Read the subjects and the actor, which stand before the time."""
    if not piece.endswith(b","):
        raise ValueError("the time is the first field")
    fields = _short(piece[:-1] + b"}")
    actor = actor_of(fields.pop("actor"))
    about = subjects(fields.pop("about")) if "about" in fields else ()
    return _nothing_more(fields, (about, actor))


@lru_cache(maxsize=1024)
def _links(piece: bytes) -> tuple[str | None, str | None]:
    """Read causation and correlation, which stand between the time, its last quote included, and the data."""
    fields = _short(b'{"at":"' + piece + b"}")
    if fields.pop("at") != "":
        raise ValueError("the time is longer")
    causation = text(fields.pop("causation")) if "causation" in fields else None
    correlation = text(fields.pop("correlation")) if "correlation" in fields else None
    return _nothing_more(fields, (causation, correlation))


@lru_cache(maxsize=1024)
def _rest(piece: bytes) -> tuple[str, str, TermsMark | None, int]:
    """Read stream, tenant, terms and version, which stand behind `prev`, its last quote included."""
    fields = _short(b'{"prev":"' + piece)
    format, version = fields.pop("v"), fields.pop("version")
    if fields.pop("prev") != "" or type(format) is not int or format != FORMAT or type(version) is not int:
        raise ValueError("not as this program writes it")
    run, tenant = text(fields.pop("run")), text(fields.pop("tenant"))
    terms = terms_of(fields.pop("terms")) if "terms" in fields else None
    return _nothing_more(fields, (run, tenant, terms, version))


def _short(piece: bytes) -> dict[str, Any]:
    if len(piece) > LONGEST_PIECE:
        raise ValueError("too long to be kept")
    fields: dict[str, Any] = from_json(piece)
    return fields


def _nothing_more(fields: dict[str, Any], found: T) -> T:
    if fields:
        raise ValueError(f"{min(fields)!r} does not stand here")
    return found


# --- the fields in them --------------------------------------------------------------------------


def text(value: Any) -> str:
    """Return a value that is text.

    Raises:
        TypeError: it is not.
    """
    if type(value) is not str:
        raise TypeError(f"{value!r:.50} is not text")
    return value


def subjects(value: Any) -> tuple[str, ...]:
    """Read `about`.

    Raises:
        TypeError: it is no list of texts.
    """
    if type(value) is not list:
        raise TypeError("about is a list")
    return tuple(map(text, value))


def terms_of(fields: Any) -> TermsMark:
    """Read `terms`.

    Raises:
        TypeError, ValueError: it is no mark of terms.
    """
    return _terms_mark(**fields)


def actor_of(fields: Any) -> Actor:
    """Read `actor`.

    Raises:
        LookupError, TypeError, ValueError: it is no actor.
    """
    return _actor(**{**fields, "on_behalf_of": tuple(fields["on_behalf_of"])})


# The same few actors and terms surround thousands of events. They are told apart by type, too: true is not 1.


@lru_cache(maxsize=1024, typed=True)
def _terms_mark(**fields: Any) -> TermsMark:
    return TermsMark(**fields)


@lru_cache(maxsize=1024, typed=True)
def _actor(**fields: Any) -> Actor:
    return Actor(**fields)
