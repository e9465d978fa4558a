"""What a command says at length, kept beside the record as the methods of a handle keep it.

A command that was built elsewhere, from JSON, carries its content within; said by `do` it is kept alike.
"""

from __future__ import annotations

from typing import Any

from ledger import commands as c
from ledger.application.payloads import Packed, pack, pack_content
from ledger.application.redacting import Redact
from ledger.application.state_sayings import packed_part, packed_state
from ledger.canonical import canonical_text, invalid, load_text
from ledger.stores.base import Blob
from ledger.values import Payload

_SPOKEN: dict[type[c.Command], str] = {c.RecordMessage: "a message", c.SummariseMessages: "a summary"}
"""Commands whose `content` is always kept as content, so that it can be let go of, and holds no secret."""

_AT_LENGTH: dict[type[c.Command], tuple[str, str]] = {
    c.CloseRun: ("result", "result"),
    c.RecordObservation: ("value", "observation"),
}
"""Commands of which a field is kept as content of a class where it is large."""


def apart(command: c.Command, run: str, redact: Redact) -> tuple[c.Command, tuple[Blob, ...]]:
    """Take out of a command to a run what is kept as content; the command then names it by its digest.

    Raises:
        InvalidInput: a state is named by a digest, which may be that of anything.
    """
    if isinstance(command, c.SaveState | c.SaveStatePart):
        state = _state(command, run)
        return command.with_fields({"content": state.payload}), state.blobs
    what = _SPOKEN.get(type(command))
    field, kind = ("content", "message") if what else _AT_LENGTH.get(type(command), (None, ""))
    said = None if field is None else getattr(command, field)
    if field is None or not isinstance(said, Payload) or said.json_text is None:
        return command, ()
    value = load_text(said.json_text)
    packed = _spoken(redact(value, what)) if what else pack(value, kind)
    return command.with_fields({field: packed.payload}), packed.blobs


def _state(command: c.SaveState | c.SaveStatePart, run: str) -> Packed:
    text = command.content.json_text
    if text is None:
        raise invalid("content", f"{command.name} is said with the content itself, not with its digest")
    if isinstance(command, c.SaveState):
        return packed_state(run, command.line, command.id, text.encode())
    return packed_part(run, command.line, command.state, command.task, text.encode())


def _spoken(value: Any) -> Packed:
    return pack_content(canonical_text(value).encode(), "message")
