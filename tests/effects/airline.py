"""The airline that recorded runs speak to: it answers as they say, and keeps a record of its own.

A call is told by the key of its effect, or of what it reads: asked again under one key it answers the same;
under a new one with the answer that was recorded next for the same call. It dedupes nothing: what changes
something and is not refused is in its record as often as it was done.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from ledger import Happened, NotHappened, Recovery, Tool
from ledger.adapters.transcripts import Tools
from ledger.gateway.current import CurrentEffect
from ledger.gateway.tools import declare

_TABLES = """
CREATE TABLE answers (tool TEXT, args TEXT, place INTEGER, words TEXT, PRIMARY KEY (tool, args, place));
CREATE TABLE asked (key TEXT PRIMARY KEY, tool TEXT, args TEXT, place INTEGER);
CREATE TABLE deeds (
    number INTEGER PRIMARY KEY, key TEXT, tool TEXT, args TEXT, words TEXT);
"""


class Deed(NamedTuple):
    """Something that the airline did."""

    key: str
    tool: str
    args: str
    words: str


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection
        connection.execute("COMMIT")


def calls_of(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Any, str]]:
    """Read the calls of a recorded run in the plainest way: tool, arguments, result."""
    for message, answer in pairwise(messages):
        for call in message.get("tool_calls") or []:
            yield call["function"]["name"], json.loads(call["function"]["arguments"]), answer["content"]


def found(path: Path, transcripts: Iterable[Mapping[str, Any]]) -> None:
    """Make an airline that will answer as these runs were answered."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(_TABLES)
        for transcript in transcripts:
            for tool, args, words in calls_of(transcript["messages"]):
                connection.execute(
                    "INSERT INTO answers SELECT ?1, ?2, "
                    "(SELECT count(*) FROM answers WHERE tool = ?1 AND args = ?2), ?3",
                    (tool, _text(args), words),
                )
        connection.commit()


def deeds(path: Path) -> list[Deed]:
    """Read what it did, in order."""
    with _opened(path) as connection:
        return [
            Deed(*row)
            for row in connection.execute("SELECT key, tool, args, words FROM deeds ORDER BY number")
        ]


def tools_of(path: Path, declared: Tools) -> list[Tool]:
    """Declare the tools that act on it."""
    return [_tool(path, name, one.recovery) for name, one in declared.tools.items()]


def _tool(path: Path, name: str, recovery: Recovery) -> Tool:
    def call(*, effect: CurrentEffect, **args: Any) -> str:
        return _answer(path, effect.key, name, args, changes=recovery is not Recovery.READ_ONLY)

    def find(key: str, args: Mapping[str, Any]) -> Happened | NotHappened:
        known = [deed.words for deed in deeds(path) if deed.key == key]
        return Happened(known[0]) if known else NotHappened()

    if recovery is Recovery.QUERYABLE:
        return declare(call, name=name, recovery=recovery, probe=find)
    return declare(call, name=name, recovery=recovery)


def _answer(path: Path, key: str, tool: str, args: Mapping[str, Any], *, changes: bool) -> str:
    text = _text(args)
    with _opened(path) as connection:
        connection.execute(
            "INSERT INTO asked SELECT ?1, ?2, ?3, "
            "(SELECT count(*) FROM asked WHERE tool = ?2 AND args = ?3) ON CONFLICT DO NOTHING",
            (key, tool, text),
        )
        (words,) = connection.execute(
            "SELECT words FROM asked JOIN answers USING (tool, args, place) WHERE key = ?", (key,)
        ).fetchone()
        if changes and not words.startswith("Error"):
            connection.execute(
                "INSERT INTO deeds (key, tool, args, words) VALUES (?, ?, ?, ?)", (key, tool, text, words)
            )
    return str(words)


def _text(args: Any) -> str:
    return json.dumps(args, sort_keys=True)
