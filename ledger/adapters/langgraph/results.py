"""What a tool of a graph returned, as it is recorded: JSON that says what the model was told, and back."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Protocol

from langchain_core.messages import ToolCall, ToolMessage
from langchain_core.tools import ToolException

from ledger.canonical import canonical_text
from ledger.errors import InvalidInput, LedgerError

Outcome = Any
"""A `ToolMessage`, a `Command`, or a list of both."""
PACKED = "packed"
"""Under this name stands, in base64, what is more than a message: commands, several messages."""


LONGEST = 10_000
"""Characters of a result that a model is told again."""


class Codec(Protocol):
    """Writes and reads what is no JSON."""

    def dumps(self, value: Any, path: str) -> bytes:
        """Write a value."""

    def loads(self, content: bytes) -> Any:
        """Read a value."""


def recorded(outcome: Outcome, name: str, codec: Codec) -> dict[str, Any]:
    """Return what is recorded of an outcome of the tool of this name.

    Raises:
        ToolException: the tool itself handled an error; what it said of it is its text.
        InvalidInput: it holds what is no data, or of a type that is not registered.
    """
    if not isinstance(outcome, ToolMessage):
        return {PACKED: base64.b64encode(codec.dumps(outcome, "result")).decode()}
    if outcome.status == "error":
        raise ToolException(outcome.text)
    if not _is_plain(outcome, name):
        return {PACKED: base64.b64encode(codec.dumps(outcome, "result")).decode()}
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
        return outcome
    if isinstance(kept, Mapping) and "content" in kept:
        return message(call, kept["content"], artifact=kept.get("artifact"))
    # It was settled by a person, or recorded by a program without a graph.
    return message(call, "done" if kept is None else kept if isinstance(kept, str) else canonical_text(kept))


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
