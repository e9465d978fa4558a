"""A thread on a saver, what a scenario does with it, and a transcript of all that was seen on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import StateSnapshot

from tests.adapters.langgraph.graphs.normal import Normal, unordered


class Way(NamedTuple):
    """How a graph is called."""

    asynchronous: bool
    durability: str

    def __str__(self) -> str:
        return f"{'async' if self.asynchronous else 'sync'}-{self.durability}"


WAYS: Final = tuple(
    Way(asynchronous, durability)
    for asynchronous in (False, True)
    for durability in ("sync", "async", "exit")
)


class Scene:
    """What a scenario sees of the world. After each step the whole thread is looked at."""

    def __init__(self, saver: BaseCheckpointSaver[Any], thread: str, way: Way, loop: asyncio.Runner) -> None:
        self.saver = saver
        self.thread = thread
        self.way = way
        self.config: dict[str, Any] = {"configurable": {"thread_id": thread}}
        self.done: list[str] = []
        """What nodes did; they note it by themselves."""
        self.transcript: list[tuple[str, object]] = []
        self.normal = Normal()
        self.graph: Any = None
        """The one that was called last."""
        self._loop = loop

    # --- steps ----------------------------------------------------------------------------------

    def invoke(
        self,
        graph: Any,
        given: Any,
        config: Mapping[str, Any] | None = None,
        *,
        raises: type[Exception] | tuple[type[Exception], ...] | None = None,
        ordered: bool = True,
        **options: Any,
    ) -> Any:
        """Call a graph.

        With `raises` it must fail so; of several errors, each saver may have its own. Where branches ask at
        once, their order says nothing.
        """
        options.setdefault("durability", self.way.durability)
        said = dict(config or self.config)
        if self.way.asynchronous:
            call = lambda: self.run(graph.ainvoke(given, said, **options))  # noqa: E731
        else:
            call = lambda: graph.invoke(given, said, **options)  # noqa: E731
        answer = self._tried("invoke", call, raises, ordered)
        self.look(graph)
        return answer

    def stream(
        self,
        graph: Any,
        given: Any,
        modes: Sequence[str] = ("values", "updates", "tasks", "checkpoints", "debug", "messages", "custom"),
        *,
        config: Mapping[str, Any] | None = None,
        ordered: bool = True,
        **options: Any,
    ) -> list[Any]:
        """Stream from a graph, and note all chunks; where branches run at once, in no order."""
        options.setdefault("durability", self.way.durability)
        said = dict(config or self.config)

        async def gather() -> list[Any]:
            return [one async for one in graph.astream(given, said, stream_mode=list(modes), **options)]

        if self.way.asynchronous:
            chunks: list[Any] = self.run(gather())
        else:
            chunks = list(graph.stream(given, said, stream_mode=list(modes), **options))
        if ordered:
            self.note("stream", [self.normal.value(_without_own(chunk)) for chunk in chunks])
        else:
            self.note("stream", sorted(str(unordered(_without_own(chunk))) for chunk in chunks))
        self.look(graph)
        return chunks

    def update(self, graph: Any, values: Any, as_node: str | None = None, config: Any = None) -> Any:
        """Change the state by hand; return the config of the new one."""
        said = config or self.config
        if self.way.asynchronous:
            changed = self.run(graph.aupdate_state(said, values, as_node))
        else:
            changed = graph.update_state(said, values, as_node)
        self.note("updated", self.normal.config(changed))
        self.look(graph)
        return changed

    def update_many(self, graph: Any, supersteps: Sequence[Sequence[Any]], config: Any = None) -> Any:
        said = config or self.config
        if self.way.asynchronous:
            changed = self.run(graph.abulk_update_state(said, supersteps))
        else:
            changed = graph.bulk_update_state(said, supersteps)
        self.note("updated", self.normal.config(changed))
        self.look(graph)
        return changed

    # --- seeing ---------------------------------------------------------------------------------

    def state(self, graph: Any, config: Any = None, *, subgraphs: bool = False) -> StateSnapshot:
        said = config or self.config
        found: StateSnapshot
        if self.way.asynchronous:
            found = self.run(graph.aget_state(said, subgraphs=subgraphs))
        else:
            found = graph.get_state(said, subgraphs=subgraphs)
        return found

    def history(self, graph: Any, config: Any = None, **options: Any) -> list[StateSnapshot]:
        """Return all states, the newest first."""
        said = config or self.config

        async def gather() -> list[StateSnapshot]:
            return [one async for one in graph.aget_state_history(said, **options)]

        if self.way.asynchronous:
            found: list[StateSnapshot] = self.run(gather())
            return found
        return list(graph.get_state_history(said, **options))

    def kept(self, config: Any = None, **options: Any) -> list[CheckpointTuple]:
        """Return the thread's checkpoints of all lines, as the saver gives them."""
        said: Any = config or self.config

        async def gather() -> list[CheckpointTuple]:
            return [one async for one in self.saver.alist(said, **options)]

        if self.way.asynchronous:
            found: list[CheckpointTuple] = self.run(gather())
            return found
        return list(self.saver.list(said, **options))

    def found(self, config: Any) -> CheckpointTuple | None:
        return (
            self.run(self.saver.aget_tuple(config)) if self.way.asynchronous else self.saver.get_tuple(config)
        )

    def look(self, graph: Any) -> None:
        """Note what nodes did, and what the thread shows.

        What graphs show of older checkpoints is made of nothing but what the saver gives of them.
        """
        self.note("done", sorted(self.done))
        self.note("state", self.normal.snapshot(self.state(graph, subgraphs=True)))
        self.note("kept", self._lines())
        self.graph = graph

    def look_back(self) -> None:
        """Note all that the thread shows, and check that each checkpoint is found by its name."""
        if self.graph is not None:
            self.note("state", self.normal.snapshot(self.state(self.graph)))
            self.note("history", list(map(self.normal.snapshot, self.history(self.graph))))
        kept = self.kept()
        for ns in {_line(one) for one in kept}:
            listed = [self.normal.kept(one) for one in self.kept(self._at(ns))]
            assert listed == [self.normal.kept(one) for one in kept if _line(one) == ns]
            assert listed == [self.normal.kept(self._named(one)) for one in kept if _line(one) == ns]

    def _lines(self) -> dict[str, list[object]]:
        """Return the checkpoints of each line, and check that the newest of each is what is found there."""
        lines: dict[str, list[CheckpointTuple]] = {}
        for one in self.kept():
            lines.setdefault(_line(one), []).append(one)
        said: dict[str, list[object]] = {}
        for name, ns in sorted((self.normal.text(ns), ns) for ns in lines):
            said[name] = list(map(self.normal.kept, lines[ns]))
            newest = self.found(self._at(ns))
            assert newest is not None
            assert self.normal.kept(newest) == said[name][0]
        return said

    def _at(self, ns: str) -> dict[str, Any]:
        return {"configurable": {**self.config["configurable"], "checkpoint_ns": ns}}

    def below(self, graph: Any) -> StateSnapshot | None:
        """Return the state of the graph in the first task that is to run; None where there is none."""
        found = self.state(graph, subgraphs=True).tasks[0].state
        return found if isinstance(found, StateSnapshot) else None

    def _named(self, one: CheckpointTuple) -> CheckpointTuple:
        found = self.found(one.config)
        assert found is not None
        return found

    def note(self, what: str, seen: object) -> None:
        self.transcript.append((what, seen))

    def run(self, coroutine: Any) -> Any:
        return self._loop.run(coroutine)

    def _tried(
        self,
        what: str,
        call: Callable[[], Any],
        raises: type[Exception] | tuple[type[Exception], ...] | None,
        ordered: bool,
    ) -> Any:
        try:
            answer = call()
        except Exception as error:
            if raises is None or not isinstance(error, raises):
                raise
            self.note(what, "failed" if isinstance(raises, tuple) else self.normal.value(error))
            return error
        assert raises is None, f"{what} did not fail, but came to {answer!r}"
        said = self.normal.value(answer) if ordered else unordered(answer)
        self.note(what, said)
        return answer


def _line(found: CheckpointTuple) -> str:
    return str(found.config["configurable"]["checkpoint_ns"])


def _without_own(value: Any) -> Any:
    """Leave out of the configs in a chunk what is no data: the loop's own affairs."""
    if type(value) is dict:
        return {
            name: _without_own(item)
            for name, item in value.items()
            if not (isinstance(name, str) and name.startswith("__") and name not in _SHOWN)
        }
    if type(value) in (list, tuple):
        return type(value)(_without_own(item) for item in value)
    return value


_SHOWN = frozenset({"__interrupt__", "__error__", "__start__", "__root__"})


def differences(expected: Scene, found: Scene) -> list[str]:
    """Say where two transcripts part, at most one place."""
    for number, (one, other) in enumerate(zip(expected.transcript, found.transcript, strict=False)):
        if one != other:
            return [f"step {number}, {one[0]}", *_parting(one[1], other[1], "")]
    if len(expected.transcript) != len(found.transcript):
        return [f"{len(found.transcript)} notes instead of {len(expected.transcript)}"]
    return []


def _parting(one: Any, other: Any, path: str) -> list[str]:
    if type(one) is type(other) and isinstance(one, dict) and one.keys() == other.keys():
        for key in one:
            if one[key] != other[key]:
                return _parting(one[key], other[key], f"{path}.{key}")
    if type(one) is type(other) and isinstance(one, (list, tuple)) and len(one) == len(other):
        for at, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            if mine != theirs:
                return _parting(mine, theirs, f"{path}[{at}]")
    return [path, f"expected {one!r}", f"found    {other!r}"]


__all__ = ["WAYS", "Scene", "Way", "differences"]
