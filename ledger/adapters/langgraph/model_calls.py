"""Calls of models as observations of a run: which model was asked, what it took, and which message answers.

What was said is kept with the states of the thread, and goes with them. An observation stands in the record
for ever, so it holds digests. A contract knows the last call of each node; the log has all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig

from ledger import Runtime
from ledger.adapters.langgraph.results import Codec
from ledger.adapters.langgraph.running import configurable
from ledger.adapters.langgraph.steps import as_id, node_path
from ledger.errors import InvalidInput
from ledger.values import MAX_ID_LENGTH

TOOL = "model"
"""The name under which models are observed."""
MOST = 10**15
"""Tokens from here on are no count of one call."""
PREFIX = b"intent-ledger.model-call.v1\n"


def observed(
    request: ModelRequest[Any],
    response: ModelResponse[Any],
    at: datetime,
    config: RunnableConfig,
    codec: Codec,
) -> dict[str, Any]:
    """Return what `Run.observe` is given of a call of a model.

    The answer was paid for: what a model reports of itself and cannot be so is left out.

    Args:
        request: as the model got it, with the contract.
        response: what it answered.
        at: when it had answered, by the clock of the ledger.
        config: of the task that called it.
        codec: writes messages, so that digests are of all of them.
    """
    said = [one for one in response.result if isinstance(one, AIMessage)]
    asked = _digest((request.system_message, list(request.messages), list(_tools(request))), codec)
    step = node_path(str(configurable(config).get("checkpoint_ns") or ""))
    return {
        "key": as_id(f"{TOOL}/{step}"),
        "value": {
            "answer": _digest(response.result, codec),
            "messages": [None if one.id is None else as_id(str(one.id)) for one in said],
            "tools": [as_id(str(call["name"])) for one in said for call in one.tool_calls],
        },
        "tool": TOOL,
        "observed_at": at,
        "args_digest": asked,
        "cost": _cost(said),
        "runtime": Runtime(model=_model(request, said)),
        "step": as_id(step) if step else None,
    }


def _cost(said: list[AIMessage]) -> dict[str, str] | None:
    """Add up the tokens that were counted; None: nobody counted, or what was said is no count."""
    counted = [one.usage_metadata for one in said if isinstance(one.usage_metadata, dict)]
    cost: dict[str, str] = {}
    for name in ("input_tokens", "output_tokens"):
        counts: list[Any] = [one.get(name) for one in counted]
        if counts and all(type(one) is int and 0 <= one < MOST for one in counts):
            cost[name] = str(sum(counts))
    return cost or None


def _model(request: ModelRequest[Any], said: list[AIMessage]) -> str:
    """Name a model as it names itself in its answer, else as the program does."""
    names: list[Any] = [one.response_metadata.get("model_name") for one in said]
    names += [getattr(request.model, name, None) for name in ("model_name", "model")]
    names.append(getattr(request.model, "_llm_type", None))
    shown = ("".join(filter(str.isprintable, one)).strip() for one in names if isinstance(one, str))
    return next(filter(None, shown), "unnamed")[:MAX_ID_LENGTH].strip()


def _tools(request: ModelRequest[Any]) -> Iterator[str]:
    for tool in request.tools:
        yield str(tool.get("name", "")) if isinstance(tool, dict) else tool.name


def _digest(said: Any, codec: Codec) -> str:
    """Digest messages; of what is no data the words."""
    try:
        content = codec.dumps(said, "messages")
    except InvalidInput:
        content = repr(_words(said)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(PREFIX + content).hexdigest()


def _words(said: Any) -> Any:
    if isinstance(said, BaseMessage):
        return (said.type, str(said.text), getattr(said, "tool_calls", None))
    return [_words(one) for one in said] if isinstance(said, list | tuple) else said
