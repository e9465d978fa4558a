"""Values on their way into events: as JSON where they are small, as blobs where they are not."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from ledger.canonical import canonical_text
from ledger.errors import InvalidInput
from ledger.stores.base import Blob
from ledger.values import Payload

INLINE_BYTES = 16 * 1024
"""Size of the largest value a record carries as it is."""


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
        return Packed(Payload(json_text=text))
    return pack_content(content, kind)


def pack_report(value: Any, kind: str) -> Packed:
    """Pack what happened, whatever it is: a value that is not JSON is named by its type and a digest.

    A report cannot be refused, so its shape is mended instead.
    """
    try:
        return pack(value, kind)
    except InvalidInput:
        digest = hashlib.sha256(repr(value).encode("utf-8", "backslashreplace")).hexdigest()
        name = f"{type(value).__module__}.{type(value).__qualname__}"
        return Packed(Payload(digest=digest, type=name.encode("ascii", "backslashreplace").decode()[:200]))


def pack_content(content: bytes, kind: str) -> Packed:
    """Pack bytes as a blob of a class, named by their SHA-256."""
    digest = hashlib.sha256(content)
    payload = Payload(digest=digest.hexdigest(), size=len(content))
    return Packed(payload, (Blob(digest.digest(), kind, content),))
