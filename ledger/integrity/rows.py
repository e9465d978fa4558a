"""One row against its own bytes: hash, canonical form, place and every derived column.

Hash, JSON and columns are worked out here anew, from the bytes, rather than with the code that wrote them, so
that an error there is not repeated here.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from ledger.canonical import Json, canonical_text, load_canonical, load_text
from ledger.codec import decode, reencode
from ledger.errors import InvalidInput, LedgerError, UnknownEventName
from ledger.integrity.findings import Check, Notes
from ledger.integrity.reader import Stored
from ledger.record import FORMAT, Record
from ledger.upcasting import READERS

_DOMAIN = b"intent-ledger.event.v1\n"


class Seen(NamedTuple):
    """What a row's own bytes show."""

    hash: bytes | None
    """Computed from the bytes; None where they are no bytes."""
    fields: dict[str, Any]
    """The record as JSON; empty where it cannot be read or does not have the stored hash."""
    record: Record | None
    """The record decoded, if all of it is what this program writes."""


def look_at(row: Stored, position: int, notes: Notes) -> Seen:
    """Check one row that should stand at a position."""
    if type(row.record) is not bytes:
        notes.expect(Check.CONTENT, False, position, "the record is not bytes")
        return Seen(None, {}, None)
    hash = hashlib.sha256(_DOMAIN + row.record).digest()
    fields = _json(row, position, hash, notes)
    if fields is None:
        return Seen(hash, {}, None)
    if not _format(fields, position, notes):
        return Seen(hash, {}, None)
    whole = notes.expect(
        Check.CONTENT, row.hash == hash, position, "the record does not have the stored hash"
    )
    _place(row, fields, position, notes)
    record = _decoded(row, hash, fields, position, notes)
    if record is not None:
        _columns(row, fields, record, position, notes)
    # Where the hash is wrong, nothing that the record says of its place and time counts.
    return Seen(hash, fields, record) if whole else Seen(hash, {}, None)


def _json(row: Stored, position: int, hash: bytes, notes: Notes) -> dict[str, Any] | None:
    """Read the bytes strictly."""
    try:
        fields = _read(row.record)
    except InvalidInput as error:
        whole = notes.expect(
            Check.CONTENT, row.hash == hash, position, "the record does not have the stored hash"
        )
        if whole:
            notes.expect(Check.CANONICAL, False, position, "the record is no JSON of ours: {}", error)
        return None
    if not isinstance(fields, dict):
        notes.expect(Check.CANONICAL, False, position, "the record is no JSON object")
        return None
    return fields


def _read(record: bytes) -> Json:
    try:
        return load_canonical(record)
    except InvalidInput:
        # Another spelling still says something, which is looked at before the spelling is.
        return load_text(record)


def _format(fields: dict[str, Any], position: int, notes: Notes) -> bool:
    """Tell whether the record has a format this program knows; a newer one may be hashed in another way."""
    number = fields.get("v")
    if type(number) is int and number == FORMAT:
        return True
    if type(number) is int and number > FORMAT:
        notes.unsupported(
            Check.CONTENT, position, f"the record has format {number}, this program knows up to {FORMAT}"
        )
    else:
        notes.expect(Check.CANONICAL, False, position, f"{number!r} is no format number")
    return False


def _place(row: Stored, fields: dict[str, Any], position: int, notes: Notes) -> None:
    """Compare the columns that say where a record stands."""
    stated = (("tenant", row.tenant), ("run", row.stream), ("position", row.position))
    for name, column in stated:
        said = fields.get(name)
        notes.expect(
            Check.COLUMNS,
            type(said) is type(column) and said == column,
            position,
            "the row says {} {!r}, the record {!r}",
            name,
            column,
            said,
        )


def _decoded(row: Stored, hash: bytes, fields: dict[str, Any], position: int, notes: Notes) -> Record | None:
    """Decode the record, and write it again: the bytes must be the same."""
    written = canonical_text(fields).encode()
    if not notes.expect(
        Check.CANONICAL, written == row.record, position, "the bytes are not canonical JSON (RFC 8785)"
    ):
        return None
    run, place = fields.get("run"), fields.get("position")
    if type(run) is not str or type(place) is not int:
        return None
    try:
        record = decode(row.record, hash, run=run, position=place)
        again = reencode(record).record
    except UnknownEventName as error:
        notes.unsupported(
            Check.MEANING, position, f"this program does not know {error.name} version {error.version}"
        )
        return None
    except LedgerError as error:
        notes.altered(Check.CANONICAL, position, f"no record of ours: {error}")
        return None
    # What is sealed is let stand and does not come back; everything else must.
    rest = {name: value for name, value in fields.items() if name != "sealed"}
    if again != (written if len(rest) == len(fields) else canonical_text(rest).encode()):
        notes.altered(Check.CANONICAL, position, "the ledger writes this event in other bytes")
        return None
    return record


def _columns(row: Stored, fields: dict[str, Any], record: Record, position: int, notes: Notes) -> None:
    """Work out the index columns from the JSON of the record."""
    key, act, claim = derived(record.name, record.version, fields["run"], fields["data"])
    for name, column, digest in (("key", row.key, key), ("act", row.act, act), ("claim", row.claim, claim)):
        notes.expect(
            Check.COLUMNS,
            column == digest,
            position,
            "the column {} is {}, the record yields {}",
            name,
            _Hex(column),
            _Hex(digest),
        )


def derived(
    name: str, version: int, run: str, data: dict[str, Any]
) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Work out key, act and claim of an event from its data."""
    keyed = READERS[name, version].keyed_by
    if keyed is None:
        return None, None, None
    kind, *parts = keyed
    if kind != "effect":
        line = data.get("line") if name == "state.saved" else None
        key = _digest(kind, run, *(data.get(part) or "" for part in parts))
        return key, None if line is None else _digest("line", run, line), None
    key, act, claim = _digest(kind, data["key"]), None, None
    if name == "effect.intended":
        act = _digest("act", data["act"])
    elif name == "effect.started":
        claim = _digest("claim", data["root"], data["key"], str(data["attempt"]))
    return key, act, claim


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\n".join(canonical_text(part) for part in parts).encode()).digest()[:16]


class _Hex(NamedTuple):
    """A digest, written out only when somebody reads it."""

    column: object

    def __format__(self, spec: str) -> str:
        if self.column is None:
            return "empty"
        return self.column.hex() if isinstance(self.column, bytes) else repr(self.column)
