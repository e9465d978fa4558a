"""Documents of rules: a file becomes entries, and a revision that names its content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ledger.adapters.sources.entries import Entry, LeftOut, at_line, checked
from ledger.canonical import invalid
from ledger.errors import InvalidInput

LARGEST_BYTES = 256 * 1024
"""Size of the largest document that is read: a revision is one record, and that holds no more."""

MARKDOWN = (".md", ".markdown", ".txt")
YAML = (".yaml", ".yml")

_DIGITS = 12

__all__ = ["Document", "Entry", "LeftOut", "parse_document", "read_document"]


@dataclass(frozen=True, slots=True)
class Document:
    """A document of rules."""

    entries: tuple[Entry, ...]
    """In the order of the document; at least one."""
    left_out: tuple[LeftOut, ...]
    """What of it is no rule, in its order."""
    revision: str
    """`sha256-` and the first 12 digits of the digest of its text, whatever its line ends."""


def read_document(path: str | Path, wrong: list[InvalidInput] | None = None) -> Document:
    """Read a file of rules: Markdown (.md, .markdown, .txt) or YAML (.yaml, .yml).

    With a list as `wrong` each rule that is malformed is put there and left out, instead of raised.

    Raises:
        InvalidInput: the file is no such document; the message names the line.
        OSError: it cannot be read.
    """
    path = Path(path)
    if path.suffix.lower() not in (*MARKDOWN, *YAML):
        raise invalid(str(path), f"give Markdown ({', '.join(MARKDOWN)}) or YAML ({', '.join(YAML)})")
    with path.open("rb") as file:
        content = file.read(LARGEST_BYTES + 1)
    return parse_document(content, str(path), wrong, is_yaml=path.suffix.lower() in YAML)


def parse_document(
    content: bytes, name: str, wrong: list[InvalidInput] | None = None, *, is_yaml: bool = False
) -> Document:
    """Read the rules out of the content of a file; `name` is how errors call it.

    Raises:
        InvalidInput: it is no such document; the message names the line.
    """
    text = _text(content, name)
    if is_yaml:
        from ledger.adapters.sources.yaml_documents import read_yaml

        found = read_yaml(text, name, wrong)
    else:
        from ledger.adapters.sources.markdown_documents import read_markdown

        found = read_markdown(text, name)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Document(checked(name, found.entries, wrong), found.left_out, f"sha256-{digest[:_DIGITS]}")


def _text(content: bytes, name: str) -> str:
    if len(content) > LARGEST_BYTES:
        raise invalid(name, f"it is larger than {LARGEST_BYTES:,} bytes")
    if b"\0" in content:
        raise at_line(name, _line(content, content.index(b"\0")), "a zero byte: this is no text")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise at_line(name, _line(content, error.start), "not UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _line(content: bytes, place: int) -> int:
    return content.count(b"\n", 0, place) + 1
