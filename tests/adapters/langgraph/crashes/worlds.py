"""Graphs that leave traces outside of themselves, and the processes that run them and are killed."""

from __future__ import annotations

import asyncio
import operator
import os
import signal
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

from ledger import Ledger, open_ledger
from ledger.adapters.langgraph import LedgerSaver
from ledger.errors import LedgerError
from tests.effects.hooked import Hooked, hooked

STATES: Final = frozenset({"state.saved", "state.part_saved"})
CONFIG: Final[dict[str, Any]] = {"configurable": {"thread_id": "t"}}
ANSWER: Final = "go on"


class Steps(TypedDict, total=False):
    """The nodes that the state knows of."""

    steps: Annotated[list[str], operator.add]


class Trace:
    """A file that says what happened, line by line; a process that is killed loses none of them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def note(self, line: str) -> None:
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(descriptor, f"{line}\n".encode())
        finally:
            os.close(descriptor)

    def lines(self) -> list[str]:
        return self.path.read_text().splitlines() if self.path.exists() else []

    def node(self, name: str) -> Callable[[Steps], Steps]:
        def node(state: Steps) -> Steps:
            self.note(f"ran {name}")
            return {"steps": [name]}

        return node

    def asking(self, name: str) -> Callable[[Steps], Steps]:
        def node(state: Steps) -> Steps:
            self.note(f"asked {name}")
            answer = interrupt(name)
            self.note(f"ran {name}")
            return {"steps": [f"{name} {answer}"]}

        return node


# --- graphs ------------------------------------------------------------------------------------------


def branches(trace: Trace) -> Any:
    """Return a graph of a node, two at once, and one after both."""
    builder: Any = StateGraph(Steps)
    for name in ("a", "b1", "b2", "c"):
        builder.add_node(name, trace.node(name))
    builder.add_edge(START, "a")
    builder.add_edge("a", "b1")
    builder.add_edge("a", "b2")
    builder.add_edge("b1", "c")
    return builder


def nested(trace: Trace) -> Any:
    """Return a graph with one in it."""
    inner: Any = StateGraph(Steps)
    inner.add_node("x", trace.node("x"))
    inner.add_node("y", trace.node("y"))
    inner.add_edge(START, "x")
    inner.add_edge("x", "y")
    builder: Any = StateGraph(Steps)
    builder.add_node("a", trace.node("a"))
    builder.add_node("inner", inner.compile())
    builder.add_node("z", trace.node("z"))
    builder.add_edge(START, "a")
    builder.add_edge("a", "inner")
    builder.add_edge("inner", "z")
    return builder


def asking(trace: Trace) -> Any:
    """Return a graph that asks between two nodes."""
    builder: Any = StateGraph(Steps)
    builder.add_node("a", trace.node("a"))
    builder.add_node("asks", trace.asking("asks"))
    builder.add_node("beside", trace.node("beside"))
    builder.add_node("z", trace.node("z"))
    builder.add_edge(START, "a")
    builder.add_edge("a", "asks")
    builder.add_edge("a", "beside")
    builder.add_edge("asks", "z")
    return builder


GRAPHS: Final[dict[str, Callable[[Trace], Any]]] = {"branches": branches, "nested": nested, "asking": asking}


def go(graph: Any, given: Any, durability: str, *, asynchronous: bool) -> Any:
    if asynchronous:
        return asyncio.run(graph.ainvoke(given, CONFIG, durability=durability))
    return graph.invoke(given, CONFIG, durability=durability)


def go_on(graph: Any, durability: str = "sync", *, asynchronous: bool = False) -> Any:
    """Go on with a thread as somebody does who finds it: begin it, answer what it asks, or just continue."""
    state = graph.get_state(CONFIG)
    if not state.metadata:
        return go(graph, {"steps": ["in"]}, durability, asynchronous=asynchronous)
    given: Any = Command(resume={one.id: ANSWER for one in state.interrupts}) if state.interrupts else None
    return go(graph, given, durability, asynchronous=asynchronous)


# --- processes ---------------------------------------------------------------------------------------


class Telling(LedgerSaver):
    """Notes what it has acknowledged: checkpoints, and what nodes wrote after which."""

    def __init__(self, ledger: Ledger, trace: Trace) -> None:
        super().__init__(ledger)
        self._trace = trace

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        saved = super().put(config, checkpoint, metadata, new_versions)
        self._trace.note(f"saved {checkpoint['id']}")
        return saved

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, task_path)
        if not {channel for channel, _ in writes} & {"__interrupt__", "__resume__"}:
            node = task_path.rpartition(", ")[2]
            self._trace.note(f"kept {config['configurable']['checkpoint_id']} {node}")


class Interleaved(Telling):
    """Stores what node `a` wrote and the checkpoint after it in an order, and is killed after one or both."""

    def __init__(self, ledger: Ledger, trace: Trace, first: str, both: bool) -> None:
        super().__init__(ledger, trace)
        self._first, self._both = first, both
        self._one_is_stored = threading.Event()

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        put = partial(super().put, config, checkpoint, metadata, new_versions)
        return self._in_order("checkpoint", put) if metadata["step"] == 1 else put()

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        put = partial(super().put_writes, config, writes, task_id, task_path)
        self._in_order("writes", put) if task_path.endswith(", a") else put()

    def _in_order(self, what: str, put: Callable[[], Any]) -> Any:
        if what == self._first:
            put()
            self._one_is_stored.set()
            return threading.Event().wait()
        self._one_is_stored.wait()
        if self._both:
            put()
        return die()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(store: Hooked, number: int, moment: str) -> None:
    """Be killed right before or right after the append of states with this number, counted from one."""
    count = 0

    def one_more() -> None:
        nonlocal count
        count += 1
        if count == number:
            die()

    (store.before if moment == "before" else store.after)(STATES, one_more)


def run_and_die(
    place: str, trace: str, graph: str, durability: str, asynchronous: bool, number: int, moment: str
) -> None:
    """Go on with a graph, and be killed on the way; the process ends well where it is through before."""
    traced = Trace(Path(trace))
    ledger, store = hooked(place)
    store.after(STATES, lambda: traced.note("stored"))
    die_at(store, number, moment)
    compiled = GRAPHS[graph](traced).compile(checkpointer=Telling(ledger, traced))
    go_on(compiled, durability, asynchronous=asynchronous)


def interleave(place: str, trace: str, durability: str, first: str, both: bool) -> None:
    """Run a graph, and be killed around what one of its nodes wrote."""
    traced = Trace(Path(trace))
    saver = Interleaved(hooked(place)[0], traced, first, both)
    go_on(GRAPHS["branches"](traced).compile(checkpointer=saver), durability)


class Meeting(LedgerSaver):
    """Stops once it has loaded a thread, until the test says go."""

    ready = go = Path()

    def get_tuple(self, config: Any) -> Any:
        found = super().get_tuple(config)
        if self.ready.name:
            ready, self.ready = self.ready, Path()
            ready.write_text("")  # returns once the test has opened it to read
            self.go.read_text()  # returns once the test has opened it to write
        return found


def race(url: str, trace: str, name: str, durability: str, gate: Any, ready: str, go: str) -> None:
    """Run a graph on a thread that another process has loaded as well."""
    traced = Trace(Path(trace))
    with open_ledger(url) as ledger:
        saver = Meeting(ledger, gate=gate)
        saver.ready, saver.go = Path(ready), Path(go)
        builder: Any = StateGraph(Steps)
        builder.add_node("n", lambda state: {"steps": [f"{name} done"]})
        builder.add_edge(START, "n")
        graph = builder.compile(checkpointer=saver)
        try:
            graph.invoke({"steps": [name]}, CONFIG, durability=durability)
        except LedgerError as error:
            traced.note(f"{name} {type(error).__name__}")
        else:
            traced.note(f"{name} ended")
