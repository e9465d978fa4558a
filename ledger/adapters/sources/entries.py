"""What a document of rules holds, before the rules have ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from ledger.canonical import invalid
from ledger.errors import InvalidInput
from ledger.values import Published, Rule

NO_HEADING = "rule"
"""What stands for the heading where a rule has none, or one without words."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule as a document has it."""

    line: int
    """Where it begins, from 1."""
    text: str
    heading: str = NO_HEADING
    """Slug of the heading above it."""
    id: str | None = None
    """The id that the document gives it; None: it gets one of its heading and a digest of its text."""
    rule: Rule | None = None


class LeftOut(NamedTuple):
    """A part of a document that is no rule."""

    line: int
    what: str


class Found(NamedTuple):
    """What a document holds."""

    entries: tuple[Entry, ...]
    left_out: tuple[LeftOut, ...] = ()


def at_line(name: str, line: int, reason: str) -> InvalidInput:
    """Build the refusal of a document; the text reads `NAME: line N: reason`."""
    return InvalidInput(
        f"{name}: line {line}: {reason}", path=name, reason=f"line {line}: {reason}", line=line
    )


def checked(
    name: str, entries: Iterable[Entry], wrong: list[InvalidInput] | None = None
) -> tuple[Entry, ...]:
    """Return the entries of a document, each of which says something of its own.

    With `wrong` what is malformed, or says what another one says, is put there and left out.

    Raises:
        InvalidInput: there are none, or without `wrong`: one is malformed or says what another one says; the
            line is named.
    """
    found, kept = tuple(entries), list[Entry]()
    if not found and not wrong:
        raise invalid(name, "it holds no rules: write `ID: TEXT`, or a list of texts")
    ids: dict[str, Entry] = {}
    texts: dict[tuple[str, str], Entry] = {}
    for entry in found:
        with noted(wrong):
            _check(name, entry, ids, texts)
            kept.append(entry)
    return tuple(kept)


def _check(name: str, entry: Entry, ids: dict[str, Entry], texts: dict[tuple[str, str], Entry]) -> None:
    if not entry.text:
        raise at_line(name, entry.line, "the rule has no text")
    try:
        Published(id=entry.id or NO_HEADING, text=entry.text)
    except InvalidInput as error:
        raise at_line(name, entry.line, f"{error.path}: {error.reason}") from None
    if entry.id is not None:
        first = ids.setdefault(entry.id, entry)
        if first is not entry:
            raise at_line(name, entry.line, f"the id {entry.id!r} is that of line {first.line}, too")
    else:
        first = texts.setdefault((entry.heading, entry.text), entry)
        if first is not entry:
            raise at_line(name, entry.line, f"it says the same as line {first.line}, under one heading")


@contextmanager
def noted(wrong: list[InvalidInput] | None) -> Iterator[None]:
    """Put what is malformed on a list, if there is one: what stands beside it is read all the same."""
    try:
        yield
    except InvalidInput as error:
        if wrong is None:
            raise
        wrong.append(error)
