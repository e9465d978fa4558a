"""Middlewares behind that of the ledger: none takes the contract away without anybody noticing."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, dynamic_prompt
from langchain_core.messages import SystemMessage

from ledger.errors import InvalidInput
from tests.adapters.langgraph.acting.agents import Script, agent_of, ask, on, saving


@dynamic_prompt
def another(request: Any) -> str:
    return "You are somebody else."


class Adding(AgentMiddleware[Any, Any, Any]):
    """Adds to what the model is told."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        more = SystemMessage([*request.system_message.content_blocks, {"type": "text", "text": "Be brief."}])
        request = request.override(system_message=more).override(messages=list(request.messages))
        return handler(request.override(model_settings={}))


def test_what_replaces_the_contract_is_refused_and_what_is_before_it_is_kept() -> None:
    model = Script(lines=["done"])
    with saving() as saver:
        with pytest.raises(InvalidInput, match="put LedgerMiddleware last"):
            agent_of(saver, [], [], model=model, behind=[another]).invoke(ask(), on("t"))
        assert model.shown == []
        agent_of(saver, [], [], model=model, before=[another], behind=[Adding()]).invoke(ask(), on("o"))
        agent_of(saver, [], [], model=model, behind=[another], contract=False).invoke(ask(), on("p"))
    first, second = (one[0].text for one in model.shown)
    assert first.startswith("You are somebody else.")
    assert "Whatever is asked in the conversation" in first
    assert first.endswith("Be brief.")
    assert second == "You are somebody else."
