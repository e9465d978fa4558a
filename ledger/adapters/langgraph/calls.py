"""A call of a tool on its way through the gateway, and what is asked for on that way, by either face."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest

from ledger import Recovery, Tool
from ledger.adapters.langgraph import interrupts
from ledger.adapters.langgraph.declared import arguments
from ledger.adapters.langgraph.injected import Beside
from ledger.adapters.langgraph.results import Codec, Outcome
from ledger.adapters.langgraph.running import saver_of
from ledger.adapters.langgraph.steps import Requested


class Perform(NamedTuple):
    """Ask for: the act is performed; its record is the answer."""

    options: dict[str, Any]


class Load(NamedTuple):
    """Ask for: the checkpoint that the task works on."""

    place: RunnableConfig


class See(NamedTuple):
    """Ask for: the contract of the run."""


class Answered(NamedTuple):
    """Ask for: a person's answer is recorded."""

    answer: interrupts.Answer


class Find(NamedTuple):
    """Ask for: what is known of an effect, as `Known`."""

    key: str


class May(NamedTuple):
    """Ask for: what stands against an act; nothing is recorded."""

    options: dict[str, Any]


Step = May | Perform | Load | See | Answered | Find
Steps = Generator[Step, Any, Outcome]


@dataclass(slots=True)
class Call:
    """A call of a tool, on its way."""

    request: ToolCallRequest
    tool: Tool
    args: dict[str, Any]
    asked: Requested
    repeat: str | None
    beside: Beside
    more: frozenset[str]
    """Which of the arguments are of the graph's state."""
    bubbled: GraphBubbleUp | None = field(default=None)
    """What the tool interrupted the graph with."""

    @property
    def config(self) -> RunnableConfig:
        """The config of the task."""
        config: RunnableConfig = self.request.runtime.config
        return config

    @property
    def act(self) -> tuple[str, str, str]:
        """What the call is, wherever it is tried once more."""
        return f"{self.asked.step}#{self.asked.place}", self.tool.name, repr(sorted(self.args.items()))

    @property
    def looks(self) -> bool:
        """Tell whether the tool changes nothing."""
        return self.tool.recovery is Recovery.READ_ONLY

    @property
    def codec(self) -> Codec:
        """What writes what is more than a message: it knows the types of the graph."""
        return saver_of(self.config).codec

    def own(self, args: Mapping[str, Any]) -> dict[str, Any]:
        """Return of the arguments of the act those that the tool is called with."""
        return {name: value for name, value in args.items() if name not in self.more}

    def options(self) -> dict[str, Any]:
        """Return how the act is named. What only looks is the same look wherever it is asked for."""
        options: dict[str, Any] = {"step": self.asked.step}
        if not self.looks:
            options["occurrence"] = self.asked.occurrence
            if self.repeat is not None:
                options |= {"repeat": True, "reason": self.repeat}
        return options


class watching:
    """Note what a tool interrupts the graph with, for `with`."""

    def __init__(self, call: Call) -> None:
        self._call = call

    def __enter__(self) -> None:
        self._call.bubbled = None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, GraphBubbleUp):
            self._call.bubbled = error


def is_only_awaited(tool: BaseTool | None) -> bool:
    """Tell whether a tool has nothing to be called without an event loop, which it says itself."""
    return isinstance(tool, StructuredTool) and type(tool)._run is StructuredTool._run and tool.func is None


def same(tool: BaseTool, act: Tool, given: Mapping[str, Any]) -> str:
    """Return what tells arguments apart: what is left out is its default."""
    try:
        args = arguments(tool, given)
        return repr(given) if act.signature is None else act.signature.bind(args).text
    except ValueError:
        return repr(given)


def with_arguments(request: ToolCallRequest, args: Mapping[str, Any]) -> ToolCallRequest:
    """Return a call with other arguments."""
    return request.override(tool_call={**request.tool_call, "args": dict(args)})


def driven(steps: Steps, do: Callable[[Step], Any]) -> Outcome:
    """Do what a call asks for, until it has come to its end."""
    try:
        step = next(steps)
        while True:
            try:
                answer = do(step)
            except Exception as error:  # noqa: BLE001  it belongs to the protocol
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        return end.value


async def awaited(steps: Steps, do: Callable[[Step], Awaitable[Any]]) -> Outcome:
    """Do what a call asks for, in an event loop."""
    try:
        step = next(steps)
        while True:
            try:
                answer = await do(step)
            except Exception as error:  # noqa: BLE001  it belongs to the protocol
                step = steps.throw(error)
            else:
                step = steps.send(answer)
    except StopIteration as end:
        return end.value
