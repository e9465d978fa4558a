"""What a model is told before any history: the contract in force, and what came meanwhile."""

from __future__ import annotations

from langchain_core.messages import SystemMessage
from langchain_core.runnables import RunnableConfig

from ledger.adapters.langgraph.running import aledger_run, check_goes_on, entered_with, given, ledger_run


def contract_text(config: RunnableConfig | None = None) -> str:
    """Render the contract of the run that a graph works on, as it is now; `config` as for `ledger_run`.

    Where the gate let the run go on, what it told of the time before stands behind it.

    Raises:
        InvalidInput: this is no node of a graph, or its graph is compiled without a `LedgerSaver`.
        LedgerError: what stopped the graph before, in this invocation, and was kept from it.
    """
    config = given(config)
    check_goes_on(config)
    return _with_message(ledger_run(config).contract.to_prompt(), config)


async def acontract_text(config: RunnableConfig | None = None) -> str:
    """Render the contract of the run that a graph works on, for an event loop; as `contract_text`."""
    config = given(config)
    check_goes_on(config)
    run = await aledger_run(config)
    return _with_message((await run.contract).to_prompt(), config)


def before_history(system: SystemMessage | None, contract: str) -> SystemMessage:
    """Return a system message with the contract behind what it says, since that stays the same."""
    if system is None:
        return SystemMessage(content=contract)
    if isinstance(system.content, str):
        return system.model_copy(update={"content": f"{system.content}\n\n{contract}"})
    return system.model_copy(update={"content": [*system.content, {"type": "text", "text": contract}]})


def _with_message(contract: str, config: RunnableConfig) -> str:
    entered = entered_with(config)
    message = None if entered is None else entered.message
    return contract if message is None else f"{contract}\n{message}"
