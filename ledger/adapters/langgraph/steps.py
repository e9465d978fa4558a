"""What names a tool call as an act: where in the graph it is made, and which message asks for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, HumanMessage, ToolCall
from langgraph.prebuilt.tool_node import ToolCallRequest

from ledger.adapters.langgraph.running import configurable
from ledger.run.history import EffectHistory
from ledger.values import MAX_ID_LENGTH, check_id

CUT = MAX_ID_LENGTH - 66


class Requested(NamedTuple):
    """How a call is named beside its tool and arguments."""

    step: str
    """`node/message`; nodes of subgraphs are set apart by `|`."""
    place: int
    """Which of the calls of its message that are alike it is, from 1."""
    alike: int
    """How many are alike."""
    earlier: tuple[str, ...] = ()
    """The steps of what the model asked for here since a person spoke to it last, the newest first."""

    @property
    def occurrence(self) -> str | None:
        """What tells apart calls of one message that are alike: the first has none."""
        return None if self.place == 1 else str(self.place)

    @property
    def reason(self) -> str:
        """Why the first is done although one of the others was done before it."""
        return f"one message asks for it {self.alike} times"

    def is_sibling(self, first: EffectHistory) -> bool:
        """Tell whether what was done before is another of the calls that are alike: they run at once."""
        return self.place == 1 < self.alike and first.step == self.step and first.occurrence is not None


def requested(request: ToolCallRequest, same: Callable[[Mapping[str, Any]], str]) -> Requested | None:
    """Find out what names a call; None: another call of its message cannot be told from it.

    Args:
        request: the call, with the arguments that it really has: a middleware may have changed them.
        same: says of arguments what tells them apart.
    """
    config, call = request.runtime.config, request.tool_call
    asking = next((one for one in _messages(request.state) if _asks(one, call)), None)
    step = node_path(str(configurable(config).get("checkpoint_ns") or ""))
    if asking is None:
        return Requested(as_id(f"{step}/{call['id']}"), 1, 1)
    earlier = tuple(as_id(f"{step}/{id}") for id in _earlier(request.state, asking))
    named = [one for one in asking.tool_calls if one["name"] == call["name"]]
    if len(named) == 1:
        return Requested(as_id(f"{step}/{asking.id or call['id']}"), 1, 1, earlier)
    mine, by_id = same(call["args"]), [one for one in named if one["id"] == call["id"]]
    said = next((one for one in by_id if same(one["args"]) == mine), by_id[0])
    alike = [one for one in named if same(_changed(one["args"], said["args"], call["args"])) == mine]
    if sum(one["id"] == call["id"] for one in alike) > 1:
        return None
    place = next((at for at, one in enumerate(alike, 1) if one is said), 1)
    return Requested(as_id(f"{step}/{asking.id or call['id']}"), place, len(alike), earlier)


def _changed(args: Mapping[str, Any], said: Mapping[str, Any], real: Mapping[str, Any]) -> dict[str, Any]:
    """Change arguments as those of another call, which the model said, were changed until it was made."""
    kept = {name: value for name, value in args.items() if name in real or name not in said}
    return kept | {name: value for name, value in real.items() if name not in said or said[name] != value}


def node_path(namespace: str) -> str:
    """Return the path of a node: the nodes that its graph lies in, without the ids of their tasks."""
    return "|".join(part.partition(":")[0] for part in namespace.split("|"))


def _asks(one: AIMessage, call: ToolCall) -> bool:
    return any(made["id"] == call["id"] and made["name"] == call["name"] for made in one.tool_calls)


def _messages(state: Any) -> Iterator[AIMessage]:
    """Yield what the model said, the newest first, wherever in the state it stands."""
    for part in _lists(state):
        yield from (one for one in reversed(part) if isinstance(one, AIMessage))


def _earlier(state: Any, asking: AIMessage) -> Iterator[str]:
    """Yield the ids of messages in which the model called tools, until a person spoke before."""
    for part in _lists(state):
        if not any(one is asking for one in part):
            continue
        for one in reversed(part):
            if isinstance(one, HumanMessage):
                return
            if isinstance(one, AIMessage) and one is not asking and one.tool_calls and one.id:
                yield one.id


def _lists(state: Any) -> list[list[Any]]:
    if isinstance(state, Mapping):
        parts = list(state.values())
    elif isinstance(state, list):
        parts = [state]
    else:
        parts = list(getattr(state, "__dict__", {}).values())
    return [part for part in parts if isinstance(part, list)]


def as_id(text: str) -> str:
    """Return a text as an id: as it is, or cut and told apart by a digest."""
    try:
        return check_id(text)
    except ValueError:
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        kept = "".join(one for one in text if one.isprintable())[:CUT]
        return f"{kept}~{digest}"
