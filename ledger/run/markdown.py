"""Markdown of which every line is ours or marked as a stored text: nothing that was stated can pass for more.

Texts stand as they were stated, but for their line breaks. What begins a line is ours alone: `#` and `- ` at
the margin, `(` after two spaces. Every further line of a text stands after four, whatever it holds, so that
none can pass for a heading, an entry or a statement of who asserted it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Protocol

from ledger.canonical import quote


def section(title: str, entries: Iterable[str]) -> Iterator[str]:
    """Write a section, a line for each entry; nothing where there is none."""
    first = True
    for entry in entries:
        if first:
            yield from ("", f"## {title}")
            first = False
        yield "- " + entry


def words(text: str) -> str:
    """Indent all lines of a text but the first, at whatever a reader may take for the end of a line."""
    first, *more = text.splitlines() or [""]
    return "\n".join((first, *(f"    {line}" if line else "" for line in more)))


def note(text: str) -> str:
    """Write what is said about an entry, on a line of its own."""
    return f"\n  ({text})"


def flat(text: str) -> str:
    """Write a text on one line."""
    return " ".join(text.split())


def shortened(text: str, most: int = 200) -> str:
    """Write a text on one line of at most so many characters, the last one a mark where it was cut."""
    text = flat(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def moment(at: datetime) -> str:
    """Write a time in UTC to the second, as people read it."""
    return f"{at:%Y-%m-%d %H:%M:%S}Z"


_BREAKS = {ord(char): f"\\u{ord(char):04x}" for char in "\x85\u2028\u2029"}
"""What JSON leaves as it is in a string, and some readers take for the end of a line."""


def unbroken(text: str) -> str:
    """Write JSON on what every reader takes for one line."""
    return text.translate(_BREAKS)


_PLAIN = re.compile(r"[^\s,()\[\]\"]+").fullmatch


def quoted(text: str) -> str:
    """Write a text that was stated within words of ours: on one line, in quotes that it cannot leave."""
    return unbroken(quote(flat(text)))


def by(party: str | None, said_by: str | None = None) -> str:
    """Say whose word something is, and which agent says so; nothing where nobody is named."""
    if party is None:
        return ""
    return f" by {name(party)}" + ("" if said_by is None else f", as {name(said_by)} says")


def name(text: str) -> str:
    """Write a name so that nothing in it can pass for words of ours: quoted, unless it is one plain word."""
    return text if _PLAIN(text) else unbroken(quote(text))


def names(some: Iterable[str]) -> str:
    """Write names one after another."""
    return ", ".join(map(name, some))


class Items(Protocol):
    """A map to be read."""

    def items(self) -> Iterable[tuple[str, object]]: ...


def amounts(some: Items | None) -> str:
    """Write amounts with their units."""
    if some is None:
        return "nothing"
    return ", ".join(f"{amount} {name(unit)}" for unit, amount in sorted(some.items()))
