"""Reports in a shape that can be stored: what is too long, or is no text, is mended and never refused.

Requests are taken as they are or not at all. A report says what happened, and refusing it for the length of
its words would lose a fact.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, get_args, get_type_hints

from ledger.application.payloads import described, pack_content
from ledger.canonical import canonical_text, quote
from ledger.commands import Command
from ledger.errors import InvalidInput
from ledger.stores.base import Blob
from ledger.values import Text

log = logging.getLogger("ledger")

MAX_TEXT_LENGTH = int(next(part.max_length for part in get_args(Text) if hasattr(part, "max_length")))
"""Characters of the longest words that an event may hold."""

KEPT_CHARACTERS = 4096
"""How much of words that are too long stands in the record itself."""

MAX_TEXT_BYTES = 128 * 1024
"""Bytes that words may take in a record: characters beyond ASCII take up to four, control characters six."""


class Mended(NamedTuple):
    """Fields of a report that can be stored, and the whole words of those that were too long for a record."""

    fields: Mapping[str, Any]
    blobs: tuple[Blob, ...] = ()


def mended(kind: type[Command], fields: Mapping[str, Any]) -> Mended:
    """Mend the words of a report, so that it can be built and stored; those of a request stay what they are.

    The log `ledger` warns of what was mended. The same words are always mended alike, so that a report told
    again is still a repeat.
    """
    if not kind.report:
        return Mended(fields)
    changed: dict[str, Any] = {}
    blobs: list[Blob] = []
    for name in _texts(kind):
        given = fields.get(name)
        if given is None or _fits(given):
            continue
        text = _as_text(given)
        if not _fits(text):
            text, blob = _shortened(text)
            blobs.append(blob)
        log.warning("%s of %s is not recorded as given but as %.100r", name, kind.name, text)
        changed[name] = text
    return Mended({**fields, **changed} if changed else fields, tuple(blobs))


@cache
def _texts(kind: type[Command]) -> tuple[str, ...]:
    """List the fields of a command that hold words."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(name for name in kind.model_fields if hints[name] in (Text, Text | None))


def _fits(given: object) -> bool:
    if not isinstance(given, str) or len(given) > MAX_TEXT_LENGTH:
        return False
    try:
        return len(quote(given).encode()) <= MAX_TEXT_BYTES
    except UnicodeEncodeError:
        return False


def _as_text(given: object) -> str:
    """Write what was given as words: lone surrogates by their number, what is JSON as that, else its kind."""
    if isinstance(given, str):
        return given.encode("utf-8", "backslashreplace").decode()
    try:
        return canonical_text(given)
    except InvalidInput:
        name, digest = described(given)
        return f"{name} sha256:{digest}"


def _shortened(text: str) -> tuple[str, Blob]:
    """Put the digest of all words behind the first of them; the blob holds them all, as JSON."""
    packed = pack_content(canonical_text(text).encode(), "evidence")
    end = f"… [{len(text)} characters in all, as JSON of SHA-256 {packed.payload.digest}]"
    return text[:KEPT_CHARACTERS] + end, packed.blobs[0]
