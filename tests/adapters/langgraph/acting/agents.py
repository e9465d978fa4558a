"""Agents whose model follows a script, and their tools, which act on an outside that a test holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import Field

from ledger import Actor, Happened, Ledger, NotHappened, current_effect, open_ledger
from ledger.adapters.langgraph import LedgerSaver, LedgerToolCalls
from ledger.adapters.langgraph.middleware import LedgerMiddleware

AGENT = Actor("agent:payer", session="one")
KIM = "human:kim"
HUMAN = Actor(KIM)
DONE = ("one", "two", "three", "four", "five")
"""What a model says that calls nothing."""
ONCE = {"pay": "at_most_once"}
ASKS = {"pay": {"recovery": "at_most_once", "needs_approval": True}}
YES = {"approve": True, "by": KIM}
NO = {"approve": False, "by": KIM, "reason": "not this one"}


class Script(BaseChatModel):
    """Says the next line of a script: as many as it has said stand in the history that it is shown.

    Its messages have ids of their own, as those of real models.
    """

    lines: list[Any]
    shown: list[list[BaseMessage]] = Field(default_factory=list)
    """What it was shown, call by call."""

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        self.shown.append(messages)
        said = sum(isinstance(one, AIMessage) for one in messages)
        line = self.lines[min(said, len(self.lines) - 1)]
        reply = AIMessage(line) if isinstance(line, str) else AIMessage("", tool_calls=line)
        return ChatResult(generations=[ChatGeneration(message=reply)])


def call(tool: str, id: str = "call-1", /, **args: Any) -> ToolCall:
    return ToolCall(name=tool, args=args, id=id, type="tool_call")


PAY = call("pay", order=17, amount="10.00")


class Bank:
    """An outside: what it did, in order, and how it is about to fail."""

    def __init__(self) -> None:
        self.paid: list[tuple[int, str]] = []
        self.keys: list[str] = []
        self.failing: BaseException | None = None
        """Raised after it has paid, once."""
        self.refusing: BaseException | None = None
        """Raised before it pays, once."""

    def pay(self, order: int, amount: str, currency: str = "EUR") -> dict[str, Any]:
        """Pay an order."""
        refusing, self.refusing = self.refusing, None
        if refusing is not None:
            raise refusing
        self.paid.append((order, amount))
        self.keys.append(current_effect().key)
        failing, self.failing = self.failing, None
        if failing is not None:
            raise failing
        return {"id": f"ch_{len(self.paid)}"}

    async def pay_later(self, order: int, amount: str, currency: str = "EUR") -> dict[str, Any]:
        """Pay an order."""
        return self.pay(order, amount, currency)

    def find(self, key: str, args: dict[str, Any]) -> Happened | NotHappened:
        return (
            Happened({"content": f"found {self.keys.index(key) + 1}"}) if key in self.keys else NotHappened()
        )


@contextmanager
def saving(url: str = ":memory:", **options: Any) -> Iterator[LedgerSaver]:
    """Open a ledger, and a saver on it that writes as the agent."""
    with open_ledger(url) as ledger:
        yield LedgerSaver(ledger, actor=AGENT, **options)


def beside(saver: LedgerSaver, **options: Any) -> LedgerSaver:
    """Return another saver on the same ledger, as another process would have it."""
    return LedgerSaver(saver.ledger, **{"actor": AGENT, **options})


def agent_of(
    saver: LedgerSaver,
    lines: Sequence[Any],
    tools: Sequence[Any],
    declared: Any = (),
    *,
    before: Sequence[Any] = (),
    behind: Sequence[Any] = (),
    model: Script | None = None,
    **options: Any,
) -> Any:
    """Make an agent: its model follows the lines, and its tools go through the ledger."""
    acts = LedgerMiddleware(saver, declared, **options)
    return create_agent(
        model or Script(lines=list(lines)),
        tools=list(tools),
        middleware=[*before, acts, *behind],
        checkpointer=saver,
    )


@contextmanager
def paying(
    lines: Sequence[Any], declared: Any = (), *, before: Sequence[Any] = (), **options: Any
) -> Iterator[tuple[LedgerSaver, Bank, Any]]:
    """Open a ledger, and make an agent on it that pays through a bank; `options` are the saver's."""
    bank = Bank()
    with saving(**options) as saver:
        yield saver, bank, agent_of(saver, lines, [bank.pay], declared, before=before)


def chain(saver: LedgerSaver | None, nodes: Mapping[str, Any], **options: Any) -> Any:
    """Make a graph whose nodes come one after another; `options` are those of its compilation."""
    builder: Any = StateGraph(MessagesState)
    last = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(last, name)
        last = name
    return builder.compile(checkpointer=saver, **options)


def graph_of_calls(saver: LedgerSaver, calls: Sequence[Any], tools: Sequence[Any], declared: Any) -> Any:
    """Make a graph whose calls of tools are all made by one task."""
    asks = AIMessage("", tool_calls=list(calls))
    acts = LedgerToolCalls(saver, declared).node(tools)
    return chain(saver, {"model": lambda _: {"messages": [asks.model_copy(deep=True)]}, "tools": acts})


def on(thread: str, **more: Any) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, **more}}


def ask(text: str = "go on") -> Any:
    return {"messages": [HumanMessage(text)]}


def answers(told: dict[str, Any]) -> list[ToolMessage]:
    """Return what tools answered since a person spoke last."""
    found: list[ToolMessage] = []
    for one in reversed(told["messages"]):
        if isinstance(one, HumanMessage):
            break
        if isinstance(one, ToolMessage):
            found.insert(0, one)
    return found


def names(ledger: Ledger, run: str = "t#1") -> list[str]:
    """Return the names of a run's events, but for states."""
    return [one.name for one in ledger.log(run) if not one.name.startswith("state.")]
