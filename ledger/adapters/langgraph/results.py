"""What a tool of a graph returned, as it is recorded: JSON that says what the model was told, and back."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import ToolException
from langgraph.types import Command

from ledger.canonical import canonical_text
from ledger.errors import InvalidInput, LedgerError

log = logging.getLogger("ledger")

Outcome = Any
"""A `ToolMessage`, a `Command`, or a list of both."""
PACKED = "packed"
"""Under this name stands, in base64, what is more than a message: commands, several messages."""
CALL = "call"
"""Under this name stands beside it which call it answered."""

LONGEST = 10_000
"""Characters of a result that a model is told again."""


class Codec(Protocol):
    """Writes and reads what is no JSON."""

    def dumps(self, value: Any, path: str) -> bytes:
        """Write a value."""

    def loads(self, content: bytes) -> Any:
        """Read a value."""


def recorded(outcome: Outcome, call: ToolCall, codec: Codec) -> dict[str, Any]:
    """Return what is recorded of the outcome of a call.

    It was done: of what cannot be kept, as it holds what is no data or of a type that is not registered, the
    words are kept, and the log says so.

    Raises:
        ToolException: the tool itself handled an error; what it said of it is its text.
    """
    if isinstance(outcome, ToolMessage) and outcome.status == "error":
        raise ToolException(outcome.text)
    if not isinstance(outcome, ToolMessage) or not _is_plain(outcome, call["name"]):
        try:
            packed = base64.b64encode(codec.dumps(outcome, "result")).decode()
        except Exception as error:  # noqa: BLE001  whatever keeps it from being written, it was done
            log.warning("what %r returned is kept in words only: %s", call["name"], error)
            return _words(outcome, call["id"])
        return {CALL: call["id"], PACKED: packed}
    if outcome.artifact is None:
        return {"content": outcome.content}
    return {"artifact": outcome.artifact, "content": outcome.content}


def returned(kept: Any, call: ToolCall, codec: Codec) -> Outcome:
    """Return what a tool returned, from the record, as the answer to a call.

    Raises:
        UndecodableRecord: it is nothing that was recorded here.
    """
    if isinstance(kept, Mapping) and isinstance(kept.get(PACKED), str):
        outcome = codec.loads(base64.b64decode(kept[PACKED]))
        if isinstance(outcome, ToolMessage):
            return outcome.model_copy(update={"tool_call_id": call["id"]})
        return _answering(outcome, kept.get(CALL), call["id"])
    if isinstance(kept, Mapping) and "content" in kept:
        return message(call, kept["content"], artifact=kept.get("artifact"))
    # It was settled by a person, or recorded by a program without a graph.
    return message(call, "done" if kept is None else kept if isinstance(kept, str) else canonical_text(kept))


def _answering(outcome: Any, first: str | None, id: str | None) -> Any:
    """Return an outcome as that of another call than the first: wherever it answers that, it answers this."""
    if isinstance(outcome, ToolMessage):
        mine = outcome.tool_call_id == first
        return outcome.model_copy(update={"tool_call_id": id}) if mine else outcome
    if isinstance(outcome, Command):
        return replace(outcome, update=_answering(outcome.update, first, id))
    if type(outcome) in (list, tuple):
        return type(outcome)(_answering(one, first, id) for one in outcome)
    if type(outcome) is dict:
        return {name: _answering(one, first, id) for name, one in outcome.items()}
    return outcome


def _words(outcome: Any, id: str | None) -> dict[str, Any]:
    if isinstance(outcome, ToolMessage):
        return {"content": str(outcome.text)}
    said = [str(one.text) for one in _messages(outcome) if one.tool_call_id == id]
    return {"content": "\n".join([*said, "(It was done. What else it returned could not be kept.)"])}


def _messages(outcome: Any) -> Iterator[ToolMessage]:
    if isinstance(outcome, ToolMessage):
        yield outcome
    elif isinstance(outcome, Command):
        yield from _messages(outcome.update)
    elif isinstance(outcome, list | tuple | dict):
        for one in outcome.values() if isinstance(outcome, dict) else outcome:
            yield from _messages(one)


def in_words(kept: Any, codec: Codec) -> str | None:
    """Return what a tool's result, as it was recorded, tells a model; None: nothing that is text."""
    if kept is None:
        return None
    try:
        outcome = returned(kept, ToolCall(name="", args={}, id=""), codec)
    except LedgerError:  # of a type that is not known any more
        return None
    texts = [
        one.text for one in (outcome if isinstance(outcome, list) else [outcome]) if hasattr(one, "text")
    ]
    text = "\n".join(filter(None, map(str, texts)))
    return (text if len(text) <= LONGEST else f"{text[:LONGEST]}…") or None


def message(call: ToolCall, content: Any, *, failed: bool = False, artifact: Any = None) -> ToolMessage:
    """Build the answer to a call."""
    return ToolMessage(
        content=content,
        name=call["name"],
        tool_call_id=call["id"] or "",
        artifact=artifact,
        status="error" if failed else "success",
    )


def _is_plain(message: ToolMessage, name: str) -> bool:
    """Tell whether a message is what `message` builds of its content and artifact."""
    more = (message.id, message.additional_kwargs, message.response_metadata)
    if any(more) or message.name not in (None, name):
        return False
    try:
        canonical_text(message.artifact)
    except (InvalidInput, RecursionError):
        return False
    return True
