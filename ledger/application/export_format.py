r"""The file that an export is: JSON Lines, each line one object, in ASCII, ended by `\n`.

    {"format": "intent-ledger.export", "version": 1, "tenant": …, "streams": null | […], "exported_at": …}
    {"class": "message", "content": "…", "digest": "…"}                     or "base64" in place of "content"
    {"hash": "…", "position": 1, "record": "{…}", "stream": "refund-17"}
    …
    {"contents": …, "digest": "…", "dropped": …, "end": true, "missing": …, "records": …, "streams": …}

`streams` is null where everything of the tenant is in the file. A record is its canonical bytes as text; all
else the store keeps of it is derived from them. Records stand in the global order of the ledger they come
from, each stream from its first position on without a gap, and a content before the first record that names
it, once. `expires_at` stands in a content that is kept at least so long. The last line counts, and digests
every byte before it with SHA-256, so that a file that was cut or changed is noticed; `missing` are contents
that were not there, `dropped` those of them of which an event says so, which older files do not tell. Leases,
snapshots, read models and global positions are not in it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
from typing import Any, NamedTuple

from pydantic_core import from_json

from ledger.application.payloads import CLASSES, REPORT_BYTES
from ledger.canonical import invalid
from ledger.errors import IntegrityError, SchemaMismatch
from ledger.record import MAX_RECORD_BYTES
from ledger.stores.base import Blob, BlobPlace
from ledger.values import read_time, write_time
from ledger.values.faults import no_such

FORMAT = "intent-ledger.export"
VERSION = 1
"""The version of the format that this program writes, and the newest it reads."""
_BEGINNING = b'{"exported_at":"'
"""How every file begins: what ends within its first line is known by it."""


class Entry(NamedTuple):
    """One record of a file."""

    stream: str
    position: int
    hash: bytes
    record: bytes


class Header(NamedTuple):
    """What the first line says."""

    tenant: str
    streams: tuple[str, ...] | None
    """None: everything of the tenant."""


class End(NamedTuple):
    """What the last line says."""

    records: int
    streams: int
    contents: int
    missing: int
    """Contents that records name and that were not there."""
    digest: str
    dropped: int | None = None
    """Those of the missing that were dropped on purpose; None: an older program did not say."""


def is_export(first_line: bytes) -> bool:
    """Tell whether a file that begins so is an export, of whatever version; also where the line is cut."""
    if not first_line.endswith(b"\n") and len(first_line) > 1:
        shorter = min(len(first_line), len(_BEGINNING))
        if first_line[:shorter] == _BEGINNING[:shorter]:
            return True
    try:
        found = from_json(first_line)
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("format") == FORMAT


def line(fields: dict[str, Any]) -> bytes:
    """Write one line."""
    return json.dumps(fields, ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def header_line(header: Header, at: str) -> bytes:
    """Write the first line."""
    return line(
        {
            "exported_at": at,
            "format": FORMAT,
            "streams": None if header.streams is None else list(header.streams),
            "tenant": header.tenant,
            "version": VERSION,
        }
    )


def entry_line(entry: Entry) -> bytes:
    """Write a record."""
    return line(
        {
            "hash": entry.hash.hex(),
            "position": entry.position,
            "record": entry.record.decode(),
            "stream": entry.stream,
        }
    )


def blob_line(blob: Blob) -> bytes:
    """Write a content: as text where it is text."""
    fields: dict[str, Any] = {"class": blob.kind, "digest": blob.digest.hex()}
    if blob.expires_at is not None:
        fields["expires_at"] = blob.expires_at
    try:
        fields["content"] = blob.content.decode()
    except UnicodeDecodeError:
        fields["base64"] = base64.b64encode(blob.content).decode()
    return line(fields)


def end_line(end: End) -> bytes:
    """Write the last line."""
    return line({**{name: value for name, value in end._asdict().items() if value is not None}, "end": True})


# --- reading -----------------------------------------------------------------------------------------


def read_header(text: bytes) -> Header:
    """Read the first line.

    Raises:
        InvalidInput: this is no export.
        SchemaMismatch: it is of a newer version.
    """
    if not text:
        raise invalid("line 1", "the file is empty")
    if not is_export(text):
        raise invalid("line 1", f"this file is no export of a ledger: it does not begin with {FORMAT!r}")
    if not text.endswith(b"\n"):
        raise invalid("line 1", "the export ends within its first line: it was cut")
    fields = _object(text, 1)
    version = fields.get("version")
    if type(version) is not int or version < 1:
        raise invalid("line 1", f"{version!r} is no version")
    if version > VERSION:
        raise SchemaMismatch(
            f"the file is an export of version {version}, this program reads up to {VERSION}: upgrade "
            "intent-ledger",
            found=version,
            supported=VERSION,
        )
    tenant, streams = fields.get("tenant"), fields.get("streams")
    if not isinstance(tenant, str) or not (streams is None or _are_names(streams)):
        raise invalid("line 1", "it does not say whose streams are in the file")
    return Header(tenant, None if streams is None else tuple(streams))


def read_line(text: bytes, number: int) -> Entry | Blob | End:
    """Read any line but the first; the content it holds has its digest.

    Raises:
        InvalidInput: it is cut, or none of this format.
        IntegrityError: the content is not what the digest says.
    """
    if not text.endswith(b"\n"):
        raise invalid(f"line {number}", "the file ends within this line: it was cut")
    fields = _object(text, number)
    try:
        if "record" in fields:
            return _entry(fields)
        if "digest" in fields and "class" in fields:
            return _blob(fields, number)
        if fields.get("end") is True:
            counts = {name: _count(fields[name]) for name in ("records", "streams", "contents", "missing")}
            dropped = _count(fields["dropped"]) if "dropped" in fields else None
            return End(**counts, digest=_text(fields["digest"]), dropped=dropped)
    except KeyError as error:
        raise invalid(f"line {number}", f"it is not a line of an export: it has no {error}") from None
    except (TypeError, ValueError) as error:
        if isinstance(error, IntegrityError):
            raise
        raise invalid(f"line {number}", f"it is not a line of an export: {error}") from None
    raise invalid(f"line {number}", "it is no record, no content and no end")


def _object(text: bytes, number: int) -> dict[str, Any]:
    try:
        found = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise invalid(f"line {number}", f"it is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise invalid(f"line {number}", "it is no object")
    return found


def _are_names(streams: object) -> bool:
    return isinstance(streams, list) and all(isinstance(name, str) for name in streams)


def _entry(fields: dict[str, Any]) -> Entry:
    record = _text(fields["record"]).encode()
    if len(record) > MAX_RECORD_BYTES:
        raise ValueError(f"a record of {len(record)} bytes")
    return Entry(_text(fields["stream"]), _count(fields["position"]), _hash(fields["hash"]), record)


def _blob(fields: dict[str, Any], number: int) -> Blob:
    if "content" in fields:
        content = _text(fields["content"]).encode()
    else:
        content = base64.b64decode(_text(fields["base64"]), validate=True)
    digest = _hash(fields["digest"])
    if hashlib.sha256(content).digest() != digest:
        raise IntegrityError(
            f"line {number}: the content with digest {digest.hex()} is not what was written into this file",
            digest=digest.hex(),
            line=number,
        )
    if len(content) > REPORT_BYTES:
        raise ValueError(f"a content of {len(content):,} bytes, a store takes {REPORT_BYTES:,}")
    if (kind := _text(fields["class"])) not in CLASSES:
        raise ValueError(f"{kind!r:.50}: {no_such('class', kind, CLASSES)}")
    expires_at = fields.get("expires_at")
    return Blob(digest, kind, content, None if expires_at is None else _time(expires_at))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.50} is no text")
    return value


def _time(value: object) -> str:
    """Read a time; in another spelling it would not compare with others."""
    text = _text(value)
    if write_time(read_time(text)) != text:
        raise ValueError(f"{text!r:.50} is no time as the ledger writes it")
    return text


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise TypeError(f"{value!r:.50} is no count")
    return value


def _hash(value: object) -> bytes:
    digest = bytes.fromhex(_text(value))
    if len(digest) != 32:
        raise ValueError("a hash has 64 hexadecimal digits")
    return digest


# --- what does not fit into memory -------------------------------------------------------------------


class Shelved(NamedTuple):
    """Where a content is in a file."""

    place: BlobPlace
    offset: int
    """Where its line begins."""
    size: int
    """Bytes of its content."""


class Shelf:
    """Remembers places of contents, and where in a file they are, on disk and not in memory.

    It is a database without a name, which SQLite keeps in a file of its own while it grows, and deletes.
    """

    def __init__(self) -> None:
        self._connection = sqlite3.connect("", isolation_level=None)
        self._connection.execute(
            "CREATE TABLE places (digest BLOB, kind TEXT, offset INTEGER, size INTEGER, "
            "PRIMARY KEY (digest, kind)) WITHOUT ROWID"
        )
        self._connection.execute("BEGIN")

    def add(self, place: BlobPlace, offset: int = 0, size: int = 0) -> bool:
        """Remember a place; False where it is known already."""
        done = self._connection.execute(
            "INSERT OR IGNORE INTO places VALUES (?, ?, ?, ?)", (*place, offset, size)
        )
        return done.rowcount == 1

    def find(self, digest: bytes) -> list[tuple[BlobPlace, int]]:
        """Return the places of a digest, each with where its line begins in the file."""
        return [(one.place, one.offset) for one in self.shelved(digest)]

    def shelved(self, digest: bytes) -> list[Shelved]:
        """Return the places of a digest, each with where its line is in the file."""
        query = "SELECT kind, offset, size FROM places WHERE digest = ? ORDER BY kind"
        found = self._connection.execute(query, (digest,))
        return [Shelved(BlobPlace(digest, kind), offset, size) for kind, offset, size in found]

    def close(self) -> None:
        """Forget everything."""
        self._connection.close()
