"""An agent pays, its process dies, and it is started again: once on a ledger, once on LangGraph's own saver.

    python pay_once.py ledger http://127.0.0.1:8420 --die
    python pay_once.py ledger http://127.0.0.1:8420
    python pay_once.py langgraph http://127.0.0.1:8420 --die
    python pay_once.py langgraph http://127.0.0.1:8420

The address is that of a payment service that speaks Stripe's protocol, e.g. localstripe. `--die` kills the
process when the payment has landed, and before anything of it is saved. Needs the extras `langchain` and
`http`, for the other half `langgraph-checkpoint-sqlite`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from typing import Any

import httpx
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import StructuredTool

from ledger import Happened, NotHappened, current_effect
from ledger.adapters.langgraph import Gate, LedgerSaver
from ledger.adapters.langgraph.middleware import LedgerMiddleware

CONFIG: RunnableConfig = {"configurable": {"thread_id": "order-17"}}


class Model(BaseChatModel):
    """Stands for a model: it asks for the payment, and then says what became of it."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            reply = AIMessage(f"Order 17 is paid: {last.text}")
        else:
            pay = {"name": "pay", "args": {"order": "17", "cents": 1000}, "id": "call-1"}
            reply = AIMessage("", tool_calls=[pay])
        return ChatResult(generations=[ChatGeneration(message=reply)])


class Bank:
    """The payment service."""

    def __init__(self, url: str, dies: bool) -> None:
        self.http = httpx.Client(base_url=url, auth=("sk_test", ""), trust_env=False)
        self.dies = dies

    def pay(self, order: str, cents: int) -> str:
        """Pay an order."""
        return self.charge(order, cents, "none")

    def pay_under_key(self, order: str, cents: int) -> str:
        """Pay an order, so that the payment can be found again."""
        return self.charge(order, cents, current_effect().key)

    def charge(self, order: str, cents: int, key: str) -> str:
        """Take the money."""
        data = {
            "amount": cents,
            "currency": "eur",
            "source": "pm_card_visa",
            "metadata[effect]": key,
            "metadata[order]": order,
        }
        answer = self.http.post("/v1/charges", data=data).raise_for_status()
        if self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return str(answer.json()["id"])

    def find(self, key: str, args: dict[str, Any]) -> Happened | NotHappened:
        """Look whether a payment was made under a key."""
        answer = self.http.get("/v1/charges", params={"limit": 100}).raise_for_status()
        for charge in answer.json()["data"]:
            if charge["metadata"].get("effect") == key:
                return Happened({"content": charge["id"]})
        return NotHappened()


def on_a_ledger(bank: Bank) -> str:
    """Run the agent, or go on with it, on a ledger."""
    with LedgerSaver.from_url("pay-ledger.db", gate=Gate(wait_seconds=60)) as saver:
        acts = LedgerMiddleware(
            saver, {"pay": {"recovery": "queryable", "probe": bank.find, "lease_seconds": 2}}
        )
        tool = named_pay(bank.pay_under_key)
        return run(create_agent(Model(), [tool], middleware=[acts], checkpointer=saver))


def on_langgraph(bank: Bank) -> str:
    """Run the same agent, or go on with it, on LangGraph's own saver."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string("pay-langgraph.db") as saver:
        return run(create_agent(Model(), [named_pay(bank.pay)], checkpointer=saver))


def named_pay(function: Any) -> Any:
    """Make a tool of a function, named `pay`."""
    return StructuredTool.from_function(function, name="pay")


def run(agent: Any) -> str:
    """Begin a thread, or go on with what it was at."""
    begun = bool(agent.get_state(CONFIG).values)
    asked = None if begun else {"messages": [HumanMessage("Pay order 17.")]}
    told = agent.invoke(asked, CONFIG, durability="sync")
    return str(told["messages"][-1].text)


def main(where: str, url: str, *more: str) -> None:
    """Start the agent."""
    bank = Bank(url, dies="--die" in more)
    print(on_a_ledger(bank) if where == "ledger" else on_langgraph(bank), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
