"""Ids and names: validated at birth, kept byte for byte, never normalised."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Annotated

from pydantic import AfterValidator, Strict, StringConstraints, WithJsonSchema

MAX_ID_LENGTH = 200
"""Characters of the longest id."""


def check_id(text: str, longest: int = MAX_ID_LENGTH) -> str:
    """Return an id as it is, or say what is wrong with it.

    Raises:
        ValueError: no text, empty, blank, longer than so many characters, or holding a control character.
    """
    try:
        if text.isprintable() and 0 < len(text) <= longest and not text.isspace():
            return text
    except AttributeError:
        raise ValueError(f"an id is text, not {text!r:.50}") from None
    if not text:
        raise ValueError("an id cannot be empty")
    if len(text) > longest:
        raise ValueError(f"an id has at most {longest} characters, this one has {len(text)}")
    if text.isspace():
        raise ValueError("an id cannot be blank")
    for place, character in enumerate(text):
        category = unicodedata.category(character)
        if category == "Cs":
            raise ValueError(f"a lone surrogate (at {place}) is not Unicode text")
        if category in ("Cc", "Zl", "Zp"):
            raise ValueError(f"an id cannot hold the control character U+{ord(character):04X} (at {place})")
    return text


def _run_id(text: str) -> str:
    if text.startswith("$"):
        raise ValueError("ids that start with '$' are the ledger's own streams")
    return text


def _party(text: str) -> str:
    check_id(text)
    if not _KIND_AND_NAME(text):
        raise ValueError(f"{text!r} is not 'kind:name', e.g. 'human:kim' or 'customer:17'")
    return text


_KIND_AND_NAME = re.compile(r"[a-z][a-z0-9_.-]*:\s*\S").match


def _principal(text: str) -> str:
    _party(text)
    if text.partition(":")[0] not in PRINCIPAL_KINDS:
        raise ValueError(f"{text!r} does not begin with one of {', '.join(k + ':' for k in PRINCIPAL_KINDS)}")
    return text


def _ref(text: str) -> str:
    kind, colon, name = text.partition(":")
    if not colon or kind not in REF_KINDS:
        raise ValueError(f"{text!r} does not begin with one of {', '.join(k + ':' for k in REF_KINDS)}")
    # The name is an id of its own: the longest one must be referable, too.
    check_id(name)
    return text


PRINCIPAL_KINDS = ("human", "agent", "service")
REF_KINDS = ("assumption", "constraint", "observation", "effect", "approval", "obligation", "run", "message")


def _schema(pattern: str = "", longest: int = MAX_ID_LENGTH) -> WithJsonSchema:
    """Say of an id what a JSON Schema can say; its validator knows the rest."""
    said = {"type": "string", "minLength": 1, "maxLength": longest}
    return WithJsonSchema({**said, "pattern": pattern} if pattern else said)


Id = Annotated[str, Strict(), AfterValidator(check_id), _schema()]
"""A name somebody gave: 1 to 200 characters, printable or not, never a control character."""

RunId = Annotated[Id, AfterValidator(_run_id), _schema(r"^[^$]")]
"""The id of a run; it may not start with `$`."""

# The same few parties stand in thousands of events; a check that raises is not kept.
Party = Annotated[
    str, Strict(), AfterValidator(lru_cache(maxsize=1024)(_party)), _schema(r"^[a-z][a-z0-9_.-]*:.")
]
"""Somebody or something named by others, as `kind:name` with any kind: `human:kim`, `customer:17`."""

Principal = Annotated[
    str,
    Strict(),
    AfterValidator(lru_cache(maxsize=1024)(_principal)),
    _schema(rf"^({'|'.join(PRINCIPAL_KINDS)}):."),
]
"""Who can act: a party of kind human, agent or service."""

Ref = Annotated[
    str,
    Strict(),
    AfterValidator(_ref),
    _schema(rf"^({'|'.join(REF_KINDS)}):.", max(map(len, REF_KINDS)) + 1 + MAX_ID_LENGTH),
]
"""Something in this run that other things rest on or wait for: `assumption:in-stock`, `observation:KEY`."""

Text = Annotated[str, StringConstraints(strict=True, min_length=1, max_length=65_536, pattern=r"\S")]
"""Words for people and models: not blank, at most 65,536 characters, kept as they are."""

Sha256 = Annotated[str, StringConstraints(strict=True, pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 as 64 lower-case hexadecimal digits."""
