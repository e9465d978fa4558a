"""One chat-completions message: who speaks, the words in it, the calls it makes or the result it brings.

A message keeps all it says: it is stored whole, and what is read out of it here is only what events need.

Roles outside the ledger's own are read as what they replaced or were replaced by: `developer` is the newer
name of `system`, `function` the older one of `tool`. The stored message keeps the name it came with.

Calls come as `tool_calls` (functions, and custom tools with free text) or as the older `function_call`, which
has no id: its result, a message of role `function`, names the tool instead. So do calls of programs that give
none of their calls an id.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, NoReturn

from ledger.canonical import canonical_text, load_text
from ledger.errors import InvalidInput

Role = Literal["assistant", "system", "tool", "user"]

ROLES: dict[str, Role] = {
    "assistant": "assistant",
    "developer": "system",
    "function": "tool",
    "system": "system",
    "tool": "tool",
    "user": "user",
}
"""The roles of chat-completions messages, and what the ledger calls them."""


class Call(NamedTuple):
    """A call of a tool, as the model asked for it."""

    id: str | None
    """How a result refers to it. It may come again later in the same transcript."""
    tool: str
    args: str
    """Canonical JSON of the arguments; a JSON string where the model wrote what is not JSON."""


class Result(NamedTuple):
    """What a tool answered."""

    call: str | None
    """Id of the call."""
    tool: str | None
    value: Any
    """The content as it is: text, parts, or whatever was recorded."""
    text: str
    """The words of the content."""


class Message(NamedTuple):
    """A message of a transcript."""

    number: int
    """Place in the transcript, from 1."""
    role: Role
    content: bytes
    """Canonical JSON of the whole message."""
    texts: tuple[str, ...]
    """Its words, part by part."""
    calls: tuple[Call, ...] = ()
    result: Result | None = None


def read_message(number: int, value: object) -> Message:
    """Read a message of a transcript.

    Raises:
        InvalidInput: it is malformed; `path` says where, `message` holds its number.
    """
    if not isinstance(value, dict):
        wrong(number, "", "a message is a JSON object")
    named = value.get("role")
    role = ROLES.get(named) if isinstance(named, str) else None
    if role is None:
        wrong(number, "role", f"{named!r} is none of {', '.join(ROLES)}")
    texts = _texts(value.get("content"))
    calls = tuple(_calls(number, value)) if role == "assistant" else ()
    result = _result(number, value, texts) if role == "tool" else None
    return Message(number, role, _canonical(number, "", value).encode(), texts, calls, result)


def wrong(number: int, place: str, reason: str) -> NoReturn:
    """Say what is wrong with a message.

    Raises:
        InvalidInput: always.
    """
    where = f"message {number}" + (f", {place}" if place else "")
    path = f"messages[{number - 1}]" + (f".{place}" if place else "")
    raise InvalidInput(f"{where}: {reason}", path=path, reason=reason, message=number)


def _canonical(number: int, place: str, value: Any) -> str:
    try:
        return canonical_text(value, path="")
    except InvalidInput as error:
        wrong(number, f"{place}{error.path}".lstrip("."), error.reason)


def _texts(content: object) -> tuple[str, ...]:
    """List the words of a content: one text, or the texts among its parts; pictures and sound have none."""
    if isinstance(content, str):
        return (content,)
    if not isinstance(content, list):
        return ()
    parts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return tuple(part for part in parts if isinstance(part, str))


# --- calls and results -------------------------------------------------------------------------


def _calls(number: int, message: dict[str, Any]) -> list[Call]:
    listed = message.get("tool_calls") or []
    if not isinstance(listed, list):
        wrong(number, "tool_calls", "calls are a JSON array")
    calls = [_call(number, f"tool_calls[{index}]", call) for index, call in enumerate(listed)]
    if message.get("function_call") is not None:
        calls.append(_function(number, "function_call", None, message["function_call"]))
    return calls


def _call(number: int, place: str, call: object) -> Call:
    if not isinstance(call, dict):
        wrong(number, place, "a call is a JSON object")
    id = _optional_text(number, f"{place}.id", call.get("id"))
    kind = call.get("type") or "function"
    if kind == "custom":
        custom = call.get("custom")
        if not isinstance(custom, dict):
            wrong(number, f"{place}.custom", "a call of a custom tool says which")
        name = _tool_name(number, f"{place}.custom", custom.get("name"))
        return Call(id, name, _canonical(number, f"{place}.custom.input", custom.get("input")))
    if kind != "function":
        wrong(number, f"{place}.type", f"{kind!r} is neither 'function' nor 'custom'")
    return _function(number, f"{place}.function", id, call.get("function"))


def _function(number: int, place: str, id: str | None, function: object) -> Call:
    if not isinstance(function, dict):
        wrong(number, place, "a call says which function")
    name = _tool_name(number, place, function.get("name"))
    said = function.get("arguments")
    if isinstance(said, str):
        try:
            # What is no JSON, or none that all readers agree on, stays the text that it is.
            return Call(id, name, canonical_text(load_text(said)))
        except InvalidInput:
            pass
    return Call(id, name, _canonical(number, f"{place}.arguments", said))


def _tool_name(number: int, place: str, name: object) -> str:
    if not isinstance(name, str):
        wrong(number, f"{place}.name", "a call names its tool")
    return name


def _optional_text(number: int, place: str, value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    wrong(number, place, "is no text")


def _result(number: int, message: dict[str, Any], texts: tuple[str, ...]) -> Result:
    call = _optional_text(number, "tool_call_id", message.get("tool_call_id"))
    tool = _optional_text(number, "name", message.get("name"))
    if call is None and tool is None:
        wrong(number, "tool_call_id", "a result says which call it answers")
    return Result(call, tool, message.get("content"), "".join(texts))
