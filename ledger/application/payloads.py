"""Values on their way into events: as JSON where they are small, as blobs where they are not."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Container, Iterator
from typing import Any, NamedTuple

from ledger.canonical import canonical_text, load_text
from ledger.errors import InvalidInput, LedgerError
from ledger.record import Record, parse
from ledger.stores.base import Blob
from ledger.stores.contents import names_in
from ledger.upcasting import READERS
from ledger.values import Payload
from ledger.values.faults import a
from ledger.values.payloads import content_named

log = logging.getLogger("ledger")

INLINE_BYTES = 16 * 1024
"""Size of the largest value a record carries as it is."""

REPORT_BYTES = 256 * 1024 * 1024
"""Size of the largest content of a report that is kept: what every store takes. Of more its digest is."""

CLASSES = ("evidence", "message", "observation", "result", "state")
"""Every class that the ledger keeps contents in."""

OUTLIVING = ("state",)
"""Classes whose contents rest on older ones of their class: they are dropped together, never by their age."""


class Packed(NamedTuple):
    """A payload, and the blobs that go with it."""

    payload: Payload
    blobs: tuple[Blob, ...] = ()


def pack(value: Any, kind: str, *, path: str = "value") -> Packed:
    """Pack a JSON value for a request.

    Raises:
        InvalidInput: it is not JSON; `path` says where.
    """
    text = canonical_text(value, path=path)
    content = text.encode()
    if len(content) <= INLINE_BYTES:
        # Checking it would read the text that was just written.
        return Packed(Payload.unchecked({"digest": None, "json_text": text, "size": None, "type": None}))
    return pack_content(content, kind)


def pack_report(value: Any, kind: str) -> Packed:
    """Pack what happened, whatever it is: what is not JSON, or larger than any store takes, is named by its
    type and a digest.

    A report cannot be refused, so its shape is mended instead.
    """
    try:
        packed = pack(value, kind)
    except InvalidInput as error:
        name, digest = described(value)
        log.warning("%s, so %s is recorded by its type and a digest only", error, a(name))
        return Packed(Payload(digest=digest, type=name))
    size = packed.payload.size
    if size is None or size <= REPORT_BYTES:
        return packed
    name = _type_name(value)
    log.warning(
        "value: %s bytes, so %s is recorded by its type and the digest of its JSON only", size, a(name)
    )
    return Packed(Payload(digest=packed.payload.digest, type=name))


def described(value: object) -> tuple[str, str]:
    """Name the type of a value that is not JSON, and digest what it says of itself."""
    return _type_name(value), hashlib.sha256(_words(value)).hexdigest()


def _type_name(value: object) -> str:
    return type(value).__name__.encode("ascii", "backslashreplace").decode()[:200] or "unnamed"


def _words(value: Any) -> bytes:
    """Write a value as it describes itself; one that cannot has nothing to digest but its kind."""
    try:
        return repr(value).encode("utf-8", "backslashreplace")
    except Exception:  # noqa: BLE001 - whatever its class raises, the report is kept
        return object.__repr__(value).partition(" at ")[0].encode("utf-8", "backslashreplace")


def pack_content(content: bytes, kind: str) -> Packed:
    """Pack bytes as a blob of a class, named by their SHA-256."""
    digest = hashlib.sha256(content)
    # What was just computed needs no check.
    payload = Payload.unchecked(
        {"digest": digest.hexdigest(), "json_text": None, "size": len(content), "type": None}
    )
    return Packed(payload, (Blob(digest.digest(), kind, content),))


def content_of(content: bytes | None) -> Any:
    """Read the JSON content of a blob; None where it is not here."""
    return None if content is None else load_text(content)


def contents_named(record: Record) -> Iterator[bytes]:
    """Yield the digests of the contents that an event names."""
    for named in filter(None, map(content_named, record.event.__dict__.values())):
        yield bytes.fromhex(named[0])


def named_among(record: bytes, digests: Container[bytes]) -> set[bytes]:
    """Find those of some digests whose contents a record names.

    Text that holds a digest names no content. Of an event that is not known here every digest counts.
    """
    found = {digest for digest in names_in(record) if digest in digests}
    if not found:
        return found
    try:
        fields = parse(record)
        if (fields["name"], fields["version"]) not in READERS:
            return found
        values = [value for value in fields["data"].values() if isinstance(value, dict)]
    except (LedgerError, AttributeError, KeyError, TypeError):
        return found
    payloads = {value.get("digest") for value in values if "type" not in value}
    return {digest for digest in found if digest.hex() in payloads}
