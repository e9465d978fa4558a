"""Short transcripts in a few words, and what tests compare of the runs that come of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ledger import Contract, Ledger
from ledger.adapters.transcripts import Tools
from ledger.events import Event

TOOLS = Tools.parse(
    """{"tools": {"look": {"recovery": "read_only", "fresh_for": 60},
                  "pay":  {"recovery": "queryable", "failed_if": "^Error"},
                  "mail": {"recovery": "at_most_once"}}}"""
)

POLICY = "# Desk rules\n\n- Ask first.\n- Never guess.\n"

Message = dict[str, Any]


def system(text: str = POLICY) -> Message:
    return {"role": "system", "content": text}


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def says(text: str) -> Message:
    return {"role": "assistant", "content": text}


def calls(tool: str, args: Any = None, *, id: str = "call_1") -> Message:
    """One call; arguments that are no text are written as JSON."""
    text = args if isinstance(args, str) else json.dumps({} if args is None else args)
    function = {"name": tool, "arguments": text}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id, "type": "function", "function": function}],
    }


def answers(content: Any, *, id: str = "call_1") -> Message:
    return {"role": "tool", "tool_call_id": id, "content": content}


def line(id: str | None, messages: Sequence[Message]) -> str:
    """One line of a file; without an id it is named after its place."""
    named = {} if id is None else {"id": id}
    return json.dumps({**named, "messages": list(messages)})


def events(ledger: Ledger, run: str) -> list[Event]:
    """List what a run holds; reading verifies its chain of hashes."""
    return [record.event for record in ledger.log(run)]


def names(ledger: Ledger, run: str) -> list[str]:
    return [event.name for event in events(ledger, run)]


_WHEN_AND_WHERE = frozenset(
    {
        "accepted_at",
        "alive",
        "at",
        "hash",
        "meanwhile",
        "opened_at",
        "position",
        "resumed_at",
        "stated_at",
        "stopped",
        "supersedes",
    }
)
"""An import leaves its run suspended: what another one adds to it came while it was stopped."""


def meaning(contract: Contract) -> Any:
    """Take from a contract what it says, whenever and at whichever positions it was written."""
    return _without(contract.model_dump(mode="json"))


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(inner) for key, inner in value.items() if key not in _WHEN_AND_WHERE}
    return [_without(inner) for inner in value] if isinstance(value, list) else value
