"""Agents with a scripted model: tools, people in between, tools that change the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from langchain.agents import AgentState, create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt

from tests.adapters.langgraph.graphs.scenarios import scenario
from tests.adapters.langgraph.graphs.scenes import Scene


class Scripted(BaseChatModel):
    """Says what a script says after so many messages."""

    script: dict[int, Any]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        at = len([one for one in messages if not one.type.startswith("system")])
        said = self.script.get(at, "nothing more")
        calls = [] if isinstance(said, str) else said
        message = AIMessage(said if isinstance(said, str) else "", tool_calls=calls, id=f"ai-{at}")
        return ChatResult(generations=[ChatGeneration(message=message)])


def call(name: str, id: str, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": id, "type": "tool_call"}


def with_ids(text: str, id: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text, id=id)]}


@scenario()
def play_an_agent_with_tools(scene: Scene) -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        scene.done.append(f"add {a} {b}")
        return a + b

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        answer = interrupt({"pay": amount})
        scene.done.append(f"pay {amount} {answer}")
        return f"paid: {answer}"

    script = {
        1: [call("add", "c1", a=1, b=2), call("add", "c2", a=3, b=4)],
        4: [call("pay", "c3", amount=7), call("add", "c4", a=5, b=5)],
        7: "all done",
    }
    graph = create_agent(
        Scripted(script=script), [add, pay], checkpointer=scene.saver, system_prompt="be short"
    )
    scene.invoke(graph, with_ids("go", "h1"))
    asked = scene.state(graph).interrupts[0]
    scene.invoke(graph, Command(resume={asked.id: "approved"}))
    scene.invoke(graph, with_ids("and now?", "h2"))


@scenario()
def play_tools_that_change_the_state(scene: Scene) -> None:
    class Counted(AgentState[Any]):
        counted: int

    @tool
    def count(by: int, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Count."""
        told = ToolMessage(f"by {by}", tool_call_id=tool_call_id, id=f"t-{tool_call_id}")
        return Command(update={"counted": by, "messages": [told]})

    script = {1: [call("count", "c1", by=3)], 3: [call("count", "c2", by=4)], 5: "counted"}
    graph = create_agent(Scripted(script=script), [count], checkpointer=scene.saver, state_schema=Counted)
    assert scene.invoke(graph, with_ids("count", "h1"))["counted"] == 4


@scenario()
def play_a_graph_with_a_tool_node(scene: Scene) -> None:
    @tool
    def fails(text: str) -> str:
        """Fail."""
        raise ValueError(text)

    @tool(response_format="content_and_artifact")
    def shows(text: str) -> tuple[str, dict[str, Any]]:
        """Show."""
        return text, {"raw": (1, b"2")}

    model = Scripted(script={1: [call("shows", "c1", text="a"), call("fails", "c2", text="b")], 4: "seen"})
    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_node("tools", ToolNode([fails, shows], handle_tool_errors=True))
    builder.set_entry_point("model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    graph = builder.compile(checkpointer=scene.saver)
    scene.invoke(graph, with_ids("go", "h1"))
