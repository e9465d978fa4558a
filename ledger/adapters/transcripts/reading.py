"""Files of transcripts: JSON Lines, one JSON object, or one JSON array.

JSON Lines are read a line at a time and never held whole. What cannot be read is yielded in its place, with
its line number and the reason, and reading goes on behind it as far as that can be told.

A transcript is `{"id"?, "messages": [...]}`, other members are let be, or the bare array of its messages.
Which form a file has is told by its content: its first line is a JSON value of its own in JSON Lines, and in
a file laid out over several lines it is not.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from json import JSONDecodeError
from pathlib import Path
from typing import NamedTuple

from ledger.canonical import Json, invalid, load_text
from ledger.errors import InvalidInput

BOM = b"\xef\xbb\xbf"
_LINES_SUFFIXES = (".jsonl", ".ndjson")
_SPACE = re.compile(r"[ \t\r\n]*")


class Transcript(NamedTuple):
    """A conversation as it was recorded; what is in its messages is not checked yet."""

    id: str | None
    messages: list[Json]


class Entry(NamedTuple):
    """What stands in one place of a file: a transcript, or why it is none."""

    place: int
    """The line in JSON Lines, the place in an array; from 1."""
    line: int
    """The line it begins on, from 1."""
    done: int
    """Bytes of the input up to its end."""
    found: Transcript | InvalidInput


class Input(NamedTuple):
    """Lines to read transcripts from."""

    name: str
    """Base name of the file."""
    total: int
    """Bytes in all; 0: not known beforehand."""
    lines: Iterator[bytes]

    @property
    def stem(self) -> str:
        """The name without its last suffix."""
        return Path(self.name).stem


def open_input(path_or_lines: str | os.PathLike[str] | Iterable[str | bytes]) -> Input:
    """Open a file, or take lines as they come.

    Raises:
        InvalidInput: the file cannot be read; `path` names it.
    """
    if not isinstance(path_or_lines, str | os.PathLike):
        return Input("lines", 0, map(_as_bytes, path_or_lines))
    path = Path(path_or_lines)
    try:
        total = path.stat().st_size
        lines = _file_lines(path)
        first = next(lines, b"")
    except OSError as error:
        raise invalid(str(path), error.strerror or str(error)) from None
    return Input(path.name, total, chain([first], lines))


def _as_bytes(line: str | bytes) -> bytes:
    content = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
    return content if content.endswith(b"\n") else content + b"\n"


def _file_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def read_entries(source: Input) -> Iterator[Entry]:
    """Yield what stands in the input, in its order."""
    head: list[bytes] = []
    first: bytes | None = None
    second: bytes | None = None
    for line in source.lines:
        head.append(line if head else line.removeprefix(BOM))
        if not head[-1].strip():
            continue
        if first is not None:
            second = line
            break
        first = head[-1]
    if first is None:
        return
    lines = chain(head, source.lines)
    if _are_lines(source.name, first, second):
        yield from _lines(lines)
    else:
        yield from _whole(b"".join(lines))


def _are_lines(name: str, first: bytes, second: bytes | None) -> bool:
    """Tell JSON Lines, of which one may be broken, from one value that is laid out over several lines."""
    bare = first.strip()
    if bare in (b"{", b"["):
        return False
    if second is None:
        return not bare.startswith(b"[")
    if isinstance(_parsed(first), dict | list) or name.lower().endswith(_LINES_SUFFIXES):
        return True
    other = _parsed(second)
    return not bare.startswith(b"[") and isinstance(other, dict) and "messages" in other


def _parsed(line: bytes) -> object:
    """Read a line as a value of its own; None where it is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


# --- JSON Lines --------------------------------------------------------------------------------


def _lines(lines: Iterable[bytes]) -> Iterator[Entry]:
    done = 0
    for number, line in enumerate(lines, 1):
        done += len(line)
        if line.strip():
            yield Entry(number, number, done, _transcript(line))


def _transcript(text: str | bytes) -> Transcript | InvalidInput:
    try:
        return _shaped(load_text(text))
    except InvalidInput as error:
        return error


def _shaped(value: Json) -> Transcript:
    """Find the messages of a transcript.

    Raises:
        InvalidInput: it has none.
    """
    if isinstance(value, list):
        if not _is_message(value[0] if value else None):
            raise invalid("$", "an array that does not hold messages")
        return Transcript(None, value)
    if not isinstance(value, dict):
        raise invalid("$", "a transcript is a JSON object with 'messages'")
    messages, id = value.get("messages"), value.get("id")
    if not isinstance(messages, list):
        raise invalid("messages", "a transcript has an array of them")
    if id is not None and not isinstance(id, str):
        raise invalid("id", "is no text")
    return Transcript(id, messages)


def _is_message(value: Json) -> bool:
    return isinstance(value, dict) and "role" in value and "messages" not in value


# --- one value over several lines --------------------------------------------------------------


def _whole(content: bytes) -> Iterator[Entry]:
    """Read one transcript, or an array of them element by element, so that a broken one spares the others."""
    size = len(content)
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        yield Entry(1, line, size, invalid("$", "not UTF-8"))
        return
    start = _skip(text, 0)
    if text[start] == "[":
        inside = _skip(text, start + 1)
        try:
            first = json.JSONDecoder().raw_decode(text, inside)[0]
        except (ValueError, RecursionError):
            first = None
        if not _is_message(first):
            yield from _elements(text, inside, size)
            return
    yield Entry(1, text.count("\n", 0, start) + 1, size, _transcript(text))


def _elements(text: str, place: int, size: int) -> Iterator[Entry]:
    """Yield the elements of an array; behind a syntax error nobody knows where the next one begins."""
    decoder = json.JSONDecoder()
    line, counted, index = 1, 0, 0
    if text[place : place + 1] == "]":
        return
    while True:
        index += 1
        line += text.count("\n", counted, place)
        counted = place
        try:
            end = decoder.raw_decode(text, place)[1]
            after = _skip(text, end)
            mark = text[after : after + 1]
            if mark not in (",", "]"):
                raise JSONDecodeError("Expecting ',' delimiter", text, after)
        except JSONDecodeError as error:
            yield Entry(index, error.lineno, size, invalid("$", f"not JSON: {error}"))
            return
        except (ValueError, RecursionError):
            yield Entry(index, line, size, _transcript(text[place:]))
            return
        # Characters stand for bytes here: this is how far a progress bar has come, no more.
        yield Entry(index, line, size * end // len(text), _transcript(text[place:end]))
        if mark == "]":
            yield from _rest(text, after + 1, index, size)
            return
        place = _skip(text, after + 1)


def _rest(text: str, place: int, index: int, size: int) -> Iterator[Entry]:
    """Report what follows an array that has ended."""
    place = _skip(text, place)
    if place < len(text):
        line = text.count("\n", 0, place) + 1
        yield Entry(index + 1, line, size, invalid("$", "something follows the end of the array"))


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    assert found is not None, "no space is space too"
    return found.end()
