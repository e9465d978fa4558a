"""A transcript as a script: what is said, and which calls are made, in their order.

Pure: the same messages make the same script, and the script of their beginning is the beginning of that of
the whole. Calls are numbered from 1 through the transcript, since the ids that models give them come again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from ledger.adapters.transcripts.documents import Document
from ledger.adapters.transcripts.facts import document_of, goal_of
from ledger.adapters.transcripts.messages import Message, Result, read_message
from ledger.adapters.transcripts.waiting import Waiting
from ledger.canonical import Json, load_text


@dataclass(frozen=True)
class ScriptedCall:
    """A call of the transcript."""

    number: int
    """Which call of the transcript it is, from 1."""
    message: int
    """Number of the message that makes it."""
    tool: str
    text: str
    """Canonical JSON of what it is called with."""
    occurrence: str
    """Which call of this tool with these arguments it is, from 1."""
    result: Result | None = None
    """What the transcript says it came to; None: it holds no answer."""
    answered_in: int | None = None
    """Number of the message that says so."""

    @property
    def step(self) -> str:
        """The name of the step that the call is."""
        return f"call-{self.number}"

    @cached_property
    def args(self) -> Mapping[str, Any] | None:
        """Its arguments by name; None where the model wrote what is no JSON object."""
        value = load_text(self.text)
        return value if isinstance(value, dict) else None


class Line(NamedTuple):
    """A message, and what it brings about."""

    message: Message
    value: Json
    """The message as it stands in the file."""
    documents: tuple[Document, ...]
    """The rules that it sets."""
    calls: tuple[ScriptedCall, ...]
    answers: int | None
    """Number of the call that it brings the result of."""


class Script(NamedTuple):
    """A transcript, as somebody follows it who makes its calls."""

    goal: str
    lines: tuple[Line, ...]

    @property
    def calls(self) -> dict[int, ScriptedCall]:
        """All calls by their number."""
        return {call.number: call for line in self.lines for call in line.calls}


def script_of(messages: Sequence[Json]) -> Script:
    """Read a transcript as a script.

    Raises:
        InvalidInput: a message is malformed, a result answers no call, nobody says what is wanted, or rules
            are larger than a record; `message` holds the number of the message.
    """
    read = [read_message(number, message) for number, message in enumerate(messages, 1)]
    _, goal = goal_of(read)
    numbered = _numbered(read)
    lines = []
    for message, value in zip(read, messages, strict=True):
        texts = message.texts if message.role == "system" else ()
        documents = tuple(document_of(message.number, text) for text in texts)
        calls, answers = numbered.made[message.number], numbered.answers.get(message.number)
        lines.append(Line(message, value, documents, tuple(numbered.calls[n] for n in calls), answers))
    return Script(goal, tuple(lines))


class _Numbered(NamedTuple):
    calls: dict[int, ScriptedCall]
    made: dict[int, list[int]]
    """Numbers of the calls that a message makes."""
    answers: dict[int, int]
    """Number of the call that a message answers."""


def _numbered(read: Sequence[Message]) -> _Numbered:
    found = _Numbered({}, {message.number: [] for message in read}, {})
    alike: Counter[tuple[str, str]] = Counter()
    waiting = Waiting[int]()
    for message in read:
        for call in message.calls:
            alike[call.tool, call.args] += 1
            number, occurrence = len(found.calls) + 1, str(alike[call.tool, call.args])
            found.calls[number] = ScriptedCall(number, message.number, call.tool, call.args, occurrence)
            found.made[message.number].append(number)
            waiting.add(call, number)
        if message.result is not None:
            number = waiting.take(message.number, message.result)
            found.answers[message.number] = number
            found.calls[number] = replace(
                found.calls[number], result=message.result, answered_in=message.number
            )
    return found
