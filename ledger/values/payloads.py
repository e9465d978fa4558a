"""JSON carried as text, and content named by its digest."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Strict, model_validator

from ledger.canonical import load_canonical
from ledger.errors import InvalidInput
from ledger.values.base import Value
from ledger.values.ids import Id, Sha256
from ledger.values.numbers import Count


def _canonical(text: str) -> str:
    try:
        load_canonical(text)
    except InvalidInput as error:
        raise ValueError(str(error)) from None
    return text


CanonicalJson = Annotated[str, Strict(), AfterValidator(_canonical)]
"""A JSON value as its RFC 8785 text. `ledger.canonical.canonical_text` writes it."""


class Payload(Value):
    """A value that came from outside: carried as JSON, or named by its digest.

    Exactly one of `json_text` and `digest` is set. A digest alone stands for content that is kept as a blob
    or, where `type` is set, for a Python value that cannot be written as JSON.
    """

    digest: Sha256 | None = None
    json_text: CanonicalJson | None = None
    size: Count | None = None
    """Bytes of the content behind `digest`."""
    type: Id | None = None
    """Name of the Python type of a value that is not JSON."""

    @model_validator(mode="after")
    def _one(self) -> Payload:
        if (self.digest is None) == (self.json_text is None):
            raise ValueError("a payload is either JSON text or a digest")
        if self.digest is None and not (self.size is None and self.type is None):
            raise ValueError("size and type speak of the content behind a digest")
        return self


class Kept(Value):
    """Content that is kept as a blob, named by its digest."""

    digest: Sha256
    size: Count
    """Bytes of the content."""


def content_named(value: object) -> tuple[str, int | None] | None:
    """Return digest and size of the content that a field of an event names; None: it names none."""
    if type(value) is Kept:
        return value.digest, value.size
    # A digest with the name of a type stands for a value that is kept nowhere.
    if type(value) is Payload and value.digest is not None and value.type is None:
        return value.digest, value.size
    return None
