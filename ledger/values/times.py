"""Moments: in UTC, with microseconds, in one spelling."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema


def utc(moment: datetime) -> datetime:
    """Return the moment in UTC.

    Raises:
        ValueError: the datetime has no time zone, so nobody knows which moment it means, or it lies outside
            the years 1 to 9999 in UTC.
    """
    if moment.tzinfo is UTC and type(moment) is datetime:
        return moment
    # A zone that gives no offset is none: Python would quietly take the machine's own.
    if moment.utcoffset() is None:
        raise ValueError("a time needs a time zone, e.g. datetime.now(UTC)")
    try:
        moment = moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a time lies within the years 1 to 9999 in UTC") from None
    if type(moment) is datetime:
        return moment
    return datetime.combine(moment.date(), moment.time(), UTC)


def write_time(moment: datetime) -> str:
    """Write a moment in the one form of the record: `2026-01-31T09:15:00.000000Z`, always that long.

    Raises:
        ValueError: `utc` refuses it.
    """
    at = utc(moment)
    return _WRITTEN % (at.year, at.month, at.day, at.hour, at.minute, at.second, at.microsecond)


# Half the time of isoformat, which asks the zone for an offset that would have to go again.
_WRITTEN = "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ"


def read_time(text: str) -> datetime:
    """Read a moment in the one form of the record.

    Raises:
        ValueError: it is written in another way.
    """
    if len(text) != 27 or text[26] != "Z" or text[10] != "T" or text[19] != ".":
        raise ValueError(f"{text!r} is not a time as records write it, e.g. 2026-01-31T09:15:00.000000Z")
    return datetime.fromisoformat(text)


def _instant(value: Any) -> datetime:
    """Take a datetime or ISO 8601 text; a bare number, which could be seconds or milliseconds, is refused."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"{value!r} is not an ISO 8601 time, e.g. 2026-01-31T09:15:00Z") from None
    if not isinstance(value, datetime):
        raise ValueError(f"a time is a datetime or ISO 8601 text, not {type(value).__name__}")
    return utc(value)


Instant = Annotated[
    datetime,
    PlainValidator(_instant),
    PlainSerializer(write_time, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment; it needs a time zone and is kept in UTC with microseconds, finer digits are cut off."""
