"""Middleware for LangChain's agents: the contract before the history, and tool calls through the gateway.

    acts = LedgerMiddleware(saver, {"pay": {"recovery": "queryable", "probe": find_payment}})
    agent = create_agent(model, tools=[pay], middleware=[acts], checkpointer=saver)

Needs the extra `langchain`: `pip install '.[langchain]'` in a checkout.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import fields
from typing import Any, Literal

try:
    from langchain.agents.middleware import AgentMiddleware
    from langchain.agents.middleware.types import ModelRequest, ModelResponse
except ModuleNotFoundError as error:  # pragma: no cover - the tests have it
    raise ModuleNotFoundError(
        f"LangChain's agents need {error.name}: pip install '.[langchain]' in a checkout", name=error.name
    ) from error
from langchain_core.runnables import RunnableConfig
from langgraph.prebuilt.tool_node import ToolCallRequest

from ledger import Actor
from ledger.adapters.langgraph.declared import Declarations
from ledger.adapters.langgraph.model_calls import observed
from ledger.adapters.langgraph.prompting import acontract_text, before_history, contract_text
from ledger.adapters.langgraph.results import Outcome
from ledger.adapters.langgraph.running import (
    Saver,
    aledger_run,
    check_goes_on,
    given,
    ledger_run,
    saver_of,
)
from ledger.adapters.langgraph.tool_node import ANSWERS, LedgerToolCalls, Repeats
from ledger.application.ledger import edge_of
from ledger.canonical import invalid


class LedgerMiddleware(AgentMiddleware[Any, Any, Any]):
    """Gives an agent its contract, and makes each of its tool calls an act that is done once.

    Put it last: what stands behind it calls the tools themselves, and what stands before it sees refusals as
    the answers of tools. The contract is read anew for each call of the model, and never becomes a message of
    the state.
    """

    def __init__(
        self,
        saver: Saver,
        tools: Declarations = (),
        *,
        contract: bool = True,
        record_model_calls: bool = False,
        repeats: Repeats | None = None,
        refusals: Literal["tell", "raise"] = "tell",
        answers_as: Actor = ANSWERS,
    ) -> None:
        """Declare the tools of an agent; beside `contract` as `LedgerToolCalls` takes it.

        Args:
            saver: the `LedgerSaver` that the agent is made with.
            tools: what is declared of each tool, by its name.
            contract: put the contract before the history.
            record_model_calls: record each call of the model that was answered as an observation, of the
                tool `model`: which one answered, the tokens that it says it took, the ids of its messages
                and which tools they call, and digests of what was asked and answered. No words are kept by
                it, so a call whose answer was lost is made again.
            repeats: says why a call is done although the same act was done before.
            refusals: `raise` stops the graph at refusals too.
            answers_as: who writes what people answer through the graph.

        Raises:
            InvalidInput: declarations contradict each other; `path` says which.
        """
        super().__init__()
        self.tools = ()
        self.calls = LedgerToolCalls(saver, tools, repeats=repeats, refusals=refusals, answers_as=answers_as)
        """What the calls go through; for a `ToolNode` of the same graph."""
        self._contract = contract
        self._saver = saver
        self._records = record_model_calls

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Put the contract before the history."""
        self._check_names(request)
        config = given(None)
        if self._contract:
            request = _told(request, contract_text(config))
        else:
            check_goes_on(config)
        response = handler(request)
        if self._records:
            ledger_run(config).observe(**self._observed(request, response, config))
        return response

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Put the contract before the history."""
        self._check_names(request)
        config = given(None)
        if self._contract:
            request = _told(request, await acontract_text(config))
        else:
            check_goes_on(config)
        response = await handler(request)
        if self._records:
            run = await aledger_run(config)
            await run.observe(**self._observed(request, response, config))
        return response

    def _observed(
        self, request: ModelRequest[Any], response: ModelResponse[Any], config: RunnableConfig
    ) -> dict[str, Any]:
        now = edge_of(self._saver.ledger).now()
        return observed(request, response, now, config, saver_of(config).codec)

    def _check_names(self, request: ModelRequest[Any]) -> None:
        """Hold what is declared against the tools of the agent, which are known once its model is called."""
        self.calls.check_names(one.name for one in request.tools if not isinstance(one, dict))

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Outcome]
    ) -> Outcome:
        """Perform a call of a tool."""
        return self.calls.wrap_tool_call(request, handler)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Outcome]]
    ) -> Outcome:
        """Perform a call of a tool."""
        return await self.calls.awrap_tool_call(request, handler)


class _WithContract(ModelRequest[Any]):
    """A request that is overridden by middlewares behind, as long as the contract stands in it."""

    def override(self, **overrides: Any) -> ModelRequest[Any]:
        """Replace parts of it.

        Raises:
            InvalidInput: the system message that is to take the place of this one lacks the contract.
        """
        contract = self.__dict__["contract"]
        found = ModelRequest(**{one.name: getattr(self, one.name) for one in fields(ModelRequest)})
        found = found.override(**overrides)
        said = found.system_message
        if said is None or contract not in str(said.text):
            raise invalid(
                "middleware",
                "one behind LedgerMiddleware replaces the system message, and the contract with it: put "
                "LedgerMiddleware last, or give it contract=False",
            )
        return _holding(found, contract)


def _told(request: ModelRequest[Any], contract: str) -> ModelRequest[Any]:
    told = request.override(system_message=before_history(request.system_message, contract))
    return _holding(told, contract) if type(told) is ModelRequest else told


def _holding(request: ModelRequest[Any], contract: str) -> ModelRequest[Any]:
    found = _WithContract(**{one.name: getattr(request, one.name) for one in fields(ModelRequest)})
    found.__dict__["contract"] = contract
    return found
