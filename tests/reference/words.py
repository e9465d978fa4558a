"""Words and tables of the reference pages."""

from __future__ import annotations

import inspect
from collections.abc import Iterable

WRITTEN = "<!-- Written by `python -m tests.reference`; a test compares this page with the code. -->"


def page(title: str, *parts: str) -> str:
    """Put a page together."""
    return "\n\n".join((f"# {title}", WRITTEN, *parts)) + "\n"


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Write a table."""
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def first(thing: object) -> str:
    """Take the first paragraph of a docstring as one line."""
    return oneline((inspect.getdoc(thing) or "").split("\n\n")[0])


def oneline(text: str) -> str:
    """Write a text without its line breaks."""
    return " ".join(text.split())
