"""Anything done to threads, in any order: LangGraph's saver in memory and the ledger's show the same."""

from __future__ import annotations

import asyncio
import copy
import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import UnknownInterruptError
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, Send, interrupt

from ledger import open_ledger
from ledger.adapters.langgraph import LedgerSaver
from tests.adapters.langgraph.graphs.growing import joined
from tests.adapters.langgraph.graphs.scenes import Scene, Way, differences

NODES = ("say", "ask", "fail", "fan", "inner")
PLANS = st.lists(st.sampled_from(NODES), max_size=4).map(tuple)


class Planned(TypedDict, total=False):
    """A state that says by itself which nodes are to come."""

    plan: list[str]
    at: int
    said: Annotated[list[Any], operator.add]
    grown: Annotated[list[Any], DeltaChannel(joined, snapshot_frequency=3)]


class Model(InMemorySaver):
    """LangGraph's saver in memory, with what it does not have."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.storage[target_thread_id] = copy.deepcopy(self.storage[source_thread_id])
        for (thread, ns, id), kept in list(self.writes.items()):
            if thread == source_thread_id:
                self.writes[target_thread_id, ns, id] = dict(kept)
        for (thread, *rest), blob in list(self.blobs.items()):
            if thread == source_thread_id:
                self.blobs[target_thread_id, *rest] = blob  # type: ignore[index]

    def let_go(self, thread: str, ns: str, place: int) -> None:
        """Delete the checkpoint at a place of a line, counted from the newest."""
        id = sorted(self.storage[thread][ns], reverse=True)[place]
        del self.storage[thread][ns][id]
        self.writes.pop((thread, ns, id), None)


def planned(scene: Scene) -> Any:
    """Compile a graph that does what its state plans; a node that fails does so once."""

    def told(state: Planned, *more: Any) -> dict[str, Any]:
        at = state.get("at", 0)
        return {"at": at + 1, "said": [at, *more], "grown": [[at, *more]]}

    def fail(state: Planned) -> Any:
        name = f"fail {state.get('at', 0)} {len(state.get('said', ()))}"
        scene.done.append(name)
        if scene.done.count(name) == 1:
            raise ValueError(name)
        return told(state, "mended")

    def fan(state: Planned) -> Command[Any]:
        sent = [Send("sent", number) for number in range(3)]
        return Command(update={"said": ["fan"]}, goto=sent)

    inner: Any = StateGraph(Planned)
    inner.add_node("first", lambda state: {"grown": ["inner"]})
    inner.add_node("asks", lambda state: {"said": [interrupt("inner?")]})
    inner.add_edge(START, "first")
    inner.add_edge("first", "asks")

    builder: Any = StateGraph(Planned)
    builder.add_node("say", told)
    builder.add_node("ask", lambda state: told(state, interrupt("first?"), interrupt({"second": "?"})))
    builder.add_node("fail", fail)
    builder.add_node("fan", fan, destinations=("sent",))
    builder.add_node("sent", lambda item: {"said": [item], "grown": [item]})
    builder.add_node("inner", inner.compile())
    builder.add_node("next", lambda state: {"at": state.get("at", 0) + 1}, defer=True)

    def coming(state: Planned) -> str:
        at, plan = state.get("at", 0), state.get("plan", ())
        return plan[at] if at < len(plan) else END

    ways = [*NODES, END]
    for name in ("say", "ask", "fail", "next"):
        builder.add_conditional_edges(name, coming, ways)
    builder.add_conditional_edges(START, coming, ways)
    builder.add_edge("sent", "next")
    builder.add_edge("inner", "next")
    return builder.compile(checkpointer=scene.saver)


class Savers(RuleBasedStateMachine):
    """Does the same to threads on two savers."""

    threads = Bundle("threads")

    @initialize()
    def begin(self) -> None:
        self.loop = asyncio.Runner()
        self.ledger = open_ledger(":memory:")
        self.savers: tuple[Any, Any] = (Model(), LedgerSaver(self.ledger))
        self.scenes: dict[str, tuple[Scene, Scene]] = {}
        self.touched: set[str] = set()

    def teardown(self) -> None:
        self.ledger.close()
        self.loop.close()

    # --- what is done ---------------------------------------------------------------------------

    @rule(target=threads, plan=PLANS, durability=st.sampled_from(["sync", "exit"]))
    def a_thread_begins(self, plan: tuple[str, ...], durability: str) -> Any:
        thread = self._thread()
        self._call(thread, {"plan": list(plan), "at": 0, "said": ["in"], "grown": ["in"]}, durability)
        return thread

    @rule(thread=threads, plan=PLANS, durability=st.sampled_from(["sync", "exit"]))
    def a_thread_goes_on_with_something_new(
        self, thread: str, plan: tuple[str, ...], durability: str
    ) -> None:
        self._call(thread, {"plan": list(plan), "at": 0, "grown": ["more"]}, durability)

    @rule(thread=threads)
    def a_thread_goes_on(self, thread: str) -> None:
        self._call(thread, None, "sync")

    @rule(thread=threads, answer=st.integers(-(2**63), 2**64 - 1) | st.text(max_size=3))
    def all_questions_are_answered(self, thread: str, answer: Any) -> None:
        def step(scene: Scene, graph: Any) -> Any:
            asked = {one.id: answer for one in scene.state(graph).interrupts}
            return graph.invoke(Command(resume=asked or answer), scene.config)

        self._do(thread, step)

    @rule(thread=threads, back=st.integers(0, 12))
    def a_thread_goes_back_and_on(self, thread: str, back: int) -> None:
        self._do(thread, lambda scene, graph: graph.invoke(None, _earlier(scene, graph, back)))

    @rule(thread=threads, back=st.integers(0, 12), plan=PLANS)
    def a_thread_goes_back_with_something_new(self, thread: str, back: int, plan: tuple[str, ...]) -> None:
        given = {"plan": list(plan), "at": 0, "grown": ["back"]}
        self._do(thread, lambda scene, graph: graph.invoke(given, _earlier(scene, graph, back)))

    @rule(
        thread=threads,
        back=st.none() | st.integers(0, 12),
        node=st.sampled_from(["say", "next", "__copy__", None]),
    )
    def somebody_changes_the_state(self, thread: str, back: int | None, node: str | None) -> None:
        values = None if node == "__copy__" else {"said": ["by hand"], "grown": ["by hand"]}

        def step(scene: Scene, graph: Any) -> Any:
            config = scene.config if back is None else _earlier(scene, graph, back)
            graph.update_state(config, values, node)

        self._do(thread, step)

    @rule(target=threads, thread=threads)
    def a_thread_is_copied(self, thread: str) -> Any:
        if not self.scenes[thread][0].kept():
            return multiple()
        copied = self._thread()
        for saver in self.savers:
            saver.copy_thread(thread, copied)
        for one, other in zip(self.scenes[thread], self.scenes[copied], strict=True):
            other.normal = copy.copy(one.normal)  # no order tells the lines of a pruned thread apart
        self.touched |= {thread, copied}
        return copied

    @rule(thread=threads)
    def a_thread_is_deleted(self, thread: str) -> None:
        for saver in self.savers:
            saver.delete_thread(thread)
        self.touched.add(thread)

    @rule(thread=threads)
    def a_thread_is_pruned(self, thread: str) -> None:
        model, ours = self.scenes[thread]
        before = _ids(ours)
        ours.saver.prune([thread])
        after = _ids(ours)
        assert after.keys() == before.keys()
        for ns, ids in before.items():
            kept = set(after[ns])
            assert after[ns][:1] == ids[:1]
            assert kept <= set(ids)
            for place in reversed(range(len(ids))):
                if ids[place] not in kept:
                    model.saver.let_go(thread, _same_line(ns, ours, model), place)  # type: ignore[attr-defined]
        self.touched.add(thread)

    # --- what is seen ---------------------------------------------------------------------------

    @invariant()
    def both_show_the_same(self) -> None:
        for thread in sorted(getattr(self, "touched", ())):
            for scene in self.scenes[thread]:
                if scene.kept():
                    scene.look(planned(scene))
                    scene.look_back()
            assert not differences(*self.scenes[thread])
            for scene in self.scenes[thread]:
                scene.transcript.clear()
        self.touched = set()

    def _thread(self) -> str:
        thread = f"t{len(self.scenes)}"
        one, other = self.savers
        way = Way(False, "sync")
        self.scenes[thread] = Scene(one, thread, way, self.loop), Scene(other, thread, way, self.loop)
        return thread

    def _call(self, thread: str, given: Any, durability: str) -> None:
        self._do(thread, lambda scene, graph: graph.invoke(given, scene.config, durability=durability))

    def _do(self, thread: str, step: Callable[[Scene, Any], Any]) -> None:
        for scene in self.scenes[thread]:
            try:
                came_of = step(scene, planned(scene))
            except UnknownInterruptError:
                scene.note("refused", RuntimeError.__name__)
            except Exception as error:  # noqa: BLE001 - whatever the one says, the other must say
                scene.note("refused", type(error).__name__)
            else:
                scene.note("came of it", sorted(str(scene.normal.value(came_of))))
        self.touched.add(thread)


def _earlier(scene: Scene, graph: Any, back: int) -> Any:
    kept = scene.history(graph)
    return kept[back % len(kept)].config if kept else scene.config


def _ids(scene: Scene) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in scene.kept():
        given = one.config["configurable"]
        found.setdefault(given["checkpoint_ns"], []).append(given["checkpoint_id"])
    return found


def _same_line(ns: str, ours: Scene, model: Scene) -> str:
    return next(other for other in _ids(model) if model.normal.text(other) == ours.normal.text(ns))


@pytest.mark.slow
def test_any_steps_look_the_same_on_both_savers() -> None:
    # Making an example smaller takes minutes here, and it names its steps anyway.
    phases = [phase for phase in settings().phases if phase is not Phase.shrink]
    examples = max(10, settings().max_examples // 5)
    few = settings(max_examples=examples, stateful_step_count=12, phases=phases)
    run_state_machine_as_test(Savers, settings=few)
