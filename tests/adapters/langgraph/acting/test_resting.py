"""A graph that has come to its end, or waits for somebody, holds no other session off."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.channels import EphemeralValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.types import Command, Send, interrupt

from ledger import Actor
from ledger.adapters.langgraph import Gate, LedgerSaver, ThreadIsHeld, import_threads, ledger_run
from ledger.errors import InvalidInput, StateMoved, Superseded
from tests.adapters.langgraph.acting.agents import (
    AGENT,
    DONE,
    PAY,
    Bank,
    agent_of,
    answers,
    ask,
    beside,
    chain,
    on,
    saving,
)

TWO = Actor("agent:payer", session="two")
THREE = Actor("agent:payer", session="three")
NOTHING: Callable[[Any], dict[str, Any]] = lambda _: {"messages": []}  # noqa: E731


def graph_of(saver: LedgerSaver, nodes: dict[str, Any], *edges: tuple[Any, str], **options: Any) -> Any:
    builder: Any = StateGraph(MessagesState)
    for name, node in nodes.items():
        builder.add_node(name, node, defer=name == "last")
    for one, other in edges:
        builder.add_edge(one, other)
    return builder.compile(checkpointer=saver, **options)


def rests(saver: LedgerSaver, run: str = "t#1") -> bool:
    return saver.ledger.contract(run).alive.rests


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_two_sessions_take_turns_at_one_conversation(durability: Any) -> None:
    with saving() as saver:
        one, two = (agent_of(at, DONE, []) for at in (saver, beside(saver, actor=TWO)))
        for agent, line in zip((one, two, one, one, two), DONE, strict=True):
            told = agent.invoke(ask(), on("t"), durability=durability)
            assert told["messages"][-1].content == line
        assert rests(saver)


@pytest.mark.anyio
async def test_two_sessions_take_turns_in_an_event_loop() -> None:
    with saving() as saver:
        other = beside(saver, actor=TWO)
        for at, line in ((saver, "one"), (other, "two"), (saver, "three")):
            told = await agent_of(at, DONE, []).ainvoke(ask(), on("t"))
            assert told["messages"][-1].content == line
        saver.faces.close()
        other.faces.close()


@pytest.mark.parametrize("durability", ["async", "exit"])
def test_who_waits_for_an_approval_is_gone_on_with_by_another_session(durability: Any) -> None:
    bank = Bank()
    declared = {"pay": {"recovery": "at_most_once", "needs_approval": True}}
    with saving() as saver:
        one, two = (
            agent_of(at, [[PAY], "done"], [bank.pay], declared) for at in (saver, beside(saver, actor=TWO))
        )
        told = one.invoke(ask(), on("t"), durability=durability)
        assert rests(saver)
        saver.ledger.approve(told["__interrupt__"][0].value["approval"], by="human:kim")
        told = two.invoke(None, on("t"), durability=durability)
        assert [one.status for one in answers(told)] == ["success"]
    assert bank.paid == [(17, "10.00")]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_a_graph_in_the_middle_of_a_node_holds_other_sessions_off(durability: Any) -> None:
    with saving() as saver:
        tried: list[str] = []

        def node(state: MessagesState) -> dict[str, Any]:
            with pytest.raises(ThreadIsHeld, match="still_running"):
                agent_of(beside(saver, actor=TWO), DONE, []).invoke(ask(), on("t"))
            tried.append("held")
            return {"messages": []}

        agent_of(saver, DONE, []).invoke(ask(), on("t"))
        graph = graph_of(saver, {"first": NOTHING, "node": node}, (START, "first"), ("first", "node"))
        for _ in range(2):
            graph.invoke(ask(), on("t"), durability=durability)
        assert tried == ["held"] * 2
        assert rests(saver)


def test_a_question_rests_once_what_works_beside_it_has_ended() -> None:
    seen: list[bool] = []
    asked = threading.Event()
    with saving() as saver:
        keep = saver.put_writes

        def keeping(config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
            keep(config, writes, task_id, task_path)
            if any(channel == "__interrupt__" for channel, _ in writes):
                asked.set()

        saver.put_writes = keeping  # type: ignore[method-assign]

        def works(state: MessagesState) -> dict[str, Any]:
            assert asked.wait(30)
            seen.append(rests(saver))
            return {"messages": []}

        def asks(state: MessagesState) -> dict[str, Any]:
            seen.append(interrupt("well?"))
            return {"messages": []}

        graph = graph_of(saver, {"works": works, "asks": asks}, (START, "works"), (START, "asks"))
        graph.invoke(ask(), on("t"))
        assert seen == [False]
        assert rests(saver)
        graph = graph_of(
            beside(saver, actor=TWO), {"works": works, "asks": asks}, (START, "works"), (START, "asks")
        )
        graph.invoke(Command(resume="fine"), on("t"))
        assert seen == [False, "fine"]


def test_each_of_two_questions_that_one_task_asks_rests_though_another_had_ended_before() -> None:
    def asks(state: MessagesState) -> dict[str, Any]:
        interrupt("one?")
        interrupt("two?")
        return {"messages": []}

    with saving() as saver:
        nodes, edges = {"quick": NOTHING, "asks": asks}, ((START, "quick"), (START, "asks"))
        graph_of(saver, nodes, *edges).invoke(ask(), on("t"))
        assert rests(saver)
        for actor in (TWO, THREE):
            graph_of(beside(saver, actor=actor), nodes, *edges).invoke(Command(resume="so"), on("t"))
            assert rests(saver)


def test_a_question_in_a_graph_inside_of_another_rests() -> None:
    def asks(state: MessagesState) -> dict[str, Any]:
        interrupt("well?")
        return {"messages": []}

    with saving() as saver:
        inner = graph_of(None, {"asks": asks}, (START, "asks"))  # type: ignore[arg-type]
        graph_of(saver, {"inner": inner}, (START, "inner")).invoke(ask(), on("t"))
        assert rests(saver)
        other = graph_of(beside(saver, actor=TWO), {"inner": inner}, (START, "inner"))
        other.invoke(Command(resume="so"), on("t"))
        assert not other.get_state(on("t")).next
        assert rests(saver)


def test_a_node_that_failed_rests() -> None:
    def fails(state: MessagesState) -> dict[str, Any]:
        raise ValueError("not yet")

    with saving() as saver:
        with pytest.raises(ValueError, match="not yet"):
            graph_of(saver, {"node": fails}, (START, "node")).invoke(ask(), on("t"))
        assert rests(saver)
        graph_of(beside(saver, actor=TWO), {"node": NOTHING}, (START, "node")).invoke(None, on("t"))


def test_joins_sends_and_nodes_that_come_last_are_due_until_they_have_run() -> None:
    seen: list[bool] = []

    def look(state: Any) -> dict[str, Any]:
        seen.append(rests(saver))
        return {"messages": []}

    with saving() as saver:
        builder: Any = StateGraph(MessagesState)
        for name in ("a", "b", "joined", "never", "sent", "last"):
            builder.add_node(name, look, defer=name == "last")
        builder.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "joined")
        builder.add_edge(["a", "last"], "never").add_edge("a", "last")
        builder.add_conditional_edges("joined", lambda state: [Send("sent", state)] * 2, ["sent"])
        graph = builder.compile(checkpointer=saver)
        for _ in range(2):
            graph.invoke(ask(), on("t"))
            assert rests(saver)
        assert len(seen) >= 12
        assert not any(seen[1:6])
        assert not any(seen[7:])


def test_a_function_as_a_graph_rests_when_it_has_returned_or_asks() -> None:
    seen: list[bool] = []

    @task
    def part(at: int) -> int:
        seen.append(rests(saver))
        return at

    with saving() as saver:

        @entrypoint(checkpointer=saver)
        def whole(at: int) -> int:
            found = part(at).result() + part(at + 1).result()
            seen.append(rests(saver))
            return found + int(interrupt("how many?"))

        whole.invoke(1, on("t"))
        assert not any(seen)
        assert rests(saver)
        assert whole.invoke(Command(resume=4), on("t")) == 7
        assert rests(saver)


def test_who_edits_a_state_says_nothing_of_who_is_at_work() -> None:
    with saving() as saver:
        graph_of(saver, {"node": NOTHING}, (START, "node")).invoke(ask(), on("t"))
        agent = agent_of(saver, DONE, [])
        agent.update_state(on("t"), ask("edited"))
        assert rests(saver)
        agent.update_state(on("new"), ask("edited"))
        assert rests(saver, "new#1")
        seen: list[bool] = []

        def node(state: MessagesState) -> dict[str, Any]:
            agent.update_state(on("other"), ask("edited"))
            seen.append(rests(saver, "other#1"))
            return {"messages": []}

        with pytest.raises(StateMoved):
            graph_of(saver, {"a": NOTHING, "b": node}, (START, "a"), ("a", "b")).invoke(ask(), on("other"))
        assert seen == [False]


# --- a loop that has ended -----------------------------------------------------------------------------


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("stop", ["interrupt_before", "interrupt_after"])
def test_a_graph_that_stopped_at_a_node_rests(stop: str, durability: Any) -> None:
    ran: list[str] = []

    def node(state: MessagesState) -> dict[str, Any]:
        ran.append("node")
        return {"messages": []}

    nodes = {"a": NOTHING, "node": node}
    with saving() as saver:
        graph_of(saver, nodes, (START, "a"), ("a", "node")).invoke(
            ask(), on("t"), durability=durability, **{stop: ["node" if stop == "interrupt_before" else "a"]}
        )
        assert rests(saver)
        assert not ran
        other = graph_of(beside(saver, actor=TWO), nodes, (START, "a"), ("a", "node"))
        other.invoke(None, on("t"), durability=durability)
        assert not other.get_state(on("t")).next
    assert ran == ["node"]


def test_a_graph_that_stopped_in_a_graph_inside_of_it_rests() -> None:
    with saving() as saver:
        inner = graph_of(None, {"node": NOTHING}, (START, "node"), interrupt_before=["node"])  # type: ignore[arg-type]
        graph = graph_of(saver, {"inner": inner}, (START, "inner"))
        graph.invoke(ask(), on("t"))
        assert graph.get_state(on("t")).next == ("inner",)
        assert rests(saver)


def test_where_a_graph_stopped_is_read_as_if_nothing_had_been_said_of_it() -> None:
    with saving() as saver:
        nodes, edges = {"a": NOTHING, "b": NOTHING}, ((START, "a"), ("a", "b"))
        graph = graph_of(saver, nodes, *edges, interrupt_before=["a", "b"])
        for due in ("a", "b"):
            graph.invoke(ask() if due == "a" else None, on("t"))
            state = graph.get_state(on("t"))
            assert (state.next, state.interrupts) == ((due,), ())
            found = saver.get_tuple(on("t"))
            assert found is not None
            assert not found.pending_writes
        saver.copy_thread("t", "copy")
        assert graph.get_state(on("copy")).next == ("b",)
        graph.invoke(None, on("t"))
        assert not graph.get_state(on("t")).next
        parts = [one.event.task for one in saver.ledger.log("t#1") if one.name == "state.part_saved"]  # type: ignore[attr-defined]
        assert parts.count("rests") == 2


def test_a_graph_that_is_left_before_its_end_rests_once_it_is_closed() -> None:
    with saving() as saver:
        graph = graph_of(saver, {"a": NOTHING, "b": NOTHING}, (START, "a"), ("a", "b"))
        stream = graph.stream(ask(), on("t"), stream_mode="updates")
        next(stream)
        stream.close()
        assert graph.get_state(on("t")).next == ("b",)
        assert rests(saver)


def test_a_graph_of_a_kind_whose_nodes_cannot_be_counted_rests_when_it_has_ended() -> None:
    with saving() as saver:
        node = NodeBuilder().subscribe_only("a").do(lambda said: said + said).write_to("b")
        pregel: Any = Pregel(
            nodes={"one": node},
            channels={"a": EphemeralValue(str), "b": EphemeralValue(str)},
            input_channels=["a"],
            output_channels=["b"],
            checkpointer=saver,
        )
        assert pregel.invoke({"a": "so"}, on("t")) == {"b": "soso"}
        assert rests(saver)


def test_a_graph_that_was_overtaken_says_nothing_of_who_is_at_work_now() -> None:
    begun, ended = threading.Event(), threading.Event()
    seen: list[bool] = []

    def works(state: MessagesState) -> dict[str, Any]:
        begun.set()
        assert ended.wait(30)
        seen.append(rests(saver))
        return {"messages": []}

    def overtaken(state: MessagesState) -> dict[str, Any]:
        later.start()
        assert begun.wait(30)
        return {"messages": []}

    with saving() as saver:
        service = beside(saver, actor=Actor("service:two"), gate=Gate(live_seconds=0))
        graph = graph_of(service, {"node": works}, (START, "node"))
        later = threading.Thread(target=graph.invoke, args=(ask(), on("t")))
        with pytest.raises(Superseded):
            graph_of(saver, {"node": overtaken}, (START, "node")).invoke(ask(), on("t"))
        ended.set()
        later.join()
        assert seen == [False]
        assert rests(saver)


@pytest.mark.anyio
async def test_a_graph_that_stopped_at_a_node_rests_in_an_event_loop_too() -> None:
    with saving() as saver:
        other = beside(saver, actor=TWO)
        nodes, edges = {"a": NOTHING, "b": NOTHING}, ((START, "a"), ("a", "b"))
        await graph_of(saver, nodes, *edges, interrupt_before=["b"]).ainvoke(ask(), on("t"))
        assert rests(saver)
        await graph_of(other, nodes, *edges).ainvoke(None, on("t"))
        assert not (await graph_of(other, nodes, *edges).aget_state(on("t"))).next
        saver.faces.close()
        other.faces.close()


class GivenUp:
    """Two nodes of a step: one works in a thread, and would say something later; the other may fail."""

    def __init__(self, how: str) -> None:
        self.fails = how == "sibling"
        self.begun, self.over, self.done = threading.Event(), threading.Event(), threading.Event()
        self.heard: list[str] = []

    def works(self, state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        if not self.begun.is_set():
            self.begun.set()
            assert self.over.wait(30)
            with pytest.raises(Superseded) as stopped:
                ledger_run(config).promise("mail", "Mail", owed_to="customer:17")
            self.heard.append(type(stopped.value).__name__)
            self.done.set()
        return {"messages": []}

    def other(self, state: MessagesState) -> dict[str, Any]:
        assert self.begun.wait(30)
        fails, self.fails = self.fails, False
        if fails:
            raise ValueError("not yet")
        return {"messages": []}

    def graph(self, saver: LedgerSaver) -> Any:
        nodes = {"works": self.works, "other": self.other}
        return graph_of(saver, nodes, (START, "works"), (START, "other"))


@pytest.mark.anyio
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("how", ["cancelled", "sibling", "closed"])
async def test_what_is_given_up_in_an_event_loop_holds_others_off_since_its_threads_go_on(
    how: str, durability: Any
) -> None:
    """Its own session goes on, and what went on in a thread is heard no more."""
    given_up = GivenUp(how)
    with saving() as saver:
        graph, other = given_up.graph(saver), given_up.graph(beside(saver, actor=TWO))
        await chain(saver, {"before": NOTHING}).ainvoke(ask(), on("t"))
        if how == "closed":
            stream = graph.astream(ask(), on("t"), stream_mode="updates", durability=durability)
            await anext(stream)
            await stream.aclose()
        else:
            running = asyncio.create_task(graph.ainvoke(ask(), on("t"), durability=durability))
            await asyncio.to_thread(given_up.begun.wait, 30)
            if how == "cancelled":
                running.cancel()
            with pytest.raises(asyncio.CancelledError if how == "cancelled" else ValueError):
                await running
        assert not rests(saver)
        with pytest.raises(ThreadIsHeld, match="still_running"):
            await other.ainvoke(None, on("t"))
        await graph.ainvoke(ask(), on("t"))
        given_up.over.set()
        assert await asyncio.to_thread(given_up.done.wait, 30)
        assert given_up.heard == ["Superseded"]
        assert rests(saver)
        saver.faces.close()
        other.checkpointer.faces.close()


def slowly(first: int = 2) -> tuple[Callable[[Any], dict[str, Any]], threading.Event, threading.Event]:
    """Return a node that waits when it has run so many times, with when it does, and what lets it go on."""
    begun, over, ran = threading.Event(), threading.Event(), list[int]()

    def node(state: Any) -> dict[str, Any]:
        ran.append(1)
        if len(ran) == first:
            begun.set()
            assert over.wait(30)
        return {"messages": []}

    return node, begun, over


@pytest.mark.parametrize("mode", ["updates", "values"])
def test_closing_a_stream_says_nothing_of_the_turn_after_it(mode: Any) -> None:
    node, begun, over = slowly(2 if mode == "updates" else 1)
    with saving() as saver:
        graph = graph_of(saver, {"a": node, "b": NOTHING}, (START, "a"), ("a", "b"))
        stream = graph.stream(ask(), on("t"), stream_mode=mode, durability="sync")
        next(stream)
        later = threading.Thread(target=graph.invoke, args=(ask(), on("t")))
        later.start()
        assert begun.wait(30)
        stream.close()
        assert not rests(saver)
        over.set()
        later.join()
        assert rests(saver)


def test_a_turn_that_ends_beside_a_stream_that_is_open_rests_once_that_is_closed() -> None:
    with saving() as saver:
        graph = graph_of(saver, {"a": NOTHING, "b": NOTHING}, (START, "a"), ("a", "b"))
        stream = graph.stream(ask(), on("t"), stream_mode="updates", durability="sync")
        next(stream)
        graph.invoke(ask(), on("t"))
        assert not rests(saver)
        stream.close()
        assert rests(saver)


class Odd:
    """It is no data."""


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("where", ["asked", "returned", "given"])
def test_a_graph_whose_state_could_not_be_saved_rests(where: str, durability: Any) -> None:
    def node(state: Any) -> Any:
        if where == "asked":
            interrupt(Odd())
        return {"what": Odd()}

    def graph(saver: LedgerSaver, node: Any) -> Any:
        builder: Any = StateGraph(Free)
        builder.add_node("node", node)
        return builder.add_edge(START, "node").compile(checkpointer=saver)

    with saving() as saver:
        quick = lambda _: {"what": 2}  # noqa: E731
        graph(saver, quick).invoke({"what": 1}, on("t"))
        given: Any = {"what": Odd() if where == "given" else 1}
        with pytest.raises(InvalidInput):
            graph(beside(saver), node).invoke(given, on("t"), durability=durability)
        assert rests(saver)
        assert graph(beside(saver, actor=TWO), quick).invoke({"what": 3}, on("t")) == {"what": 2}


class Free(TypedDict):
    what: Any


# --- who works -----------------------------------------------------------------------------------------

WORKERS = {
    "agents": (TWO, THREE),
    "services": (Actor("service:w", session="one"), Actor("service:w", session="two")),
    "without sessions": (Actor("service:w"), Actor("service:v")),
    "people": (Actor("human:kim"), Actor("human:lou")),
}
OPENERS = (AGENT, Actor("service:api", session="api"), Actor("service:api"), Actor("human:ann"))


@pytest.mark.parametrize("opener", OPENERS, ids=str)
@pytest.mark.parametrize("kind", WORKERS)
def test_who_opened_the_run_of_a_thread_holds_nobody_off(kind: str, opener: Actor) -> None:
    node, begun, over = slowly(1)
    with saving() as saver:
        run = saver.ledger.open_run("t#1", goal="Answer", thread="t", actor=opener)
        run.promise("mail", "Mail", owed_to="customer:17")
        one, two = (graph_of(beside(saver, actor=at), {"a": node}, (START, "a")) for at in WORKERS[kind])
        working = threading.Thread(target=one.invoke, args=(ask(), on("t")))
        working.start()
        assert begun.wait(30)
        with pytest.raises(ThreadIsHeld, match="still_running"):
            two.invoke(ask(), on("t"))
        over.set()
        working.join()
        for graph in (two, one):
            graph.invoke(ask(), on("t"))
            assert rests(saver)


@pytest.mark.parametrize("actor", [Actor("human:kim"), Actor("service:desk")], ids=str)
def test_who_edits_a_thread_by_hand_holds_nobody_off(actor: Actor) -> None:
    with saving() as saver:
        graph, by_hand, other = (
            graph_of(at, {"a": NOTHING}, (START, "a"))
            for at in (saver, beside(saver, actor=actor), beside(saver, actor=TWO))
        )
        saver.ledger.open_run("t#1", goal="Answer", thread="t", actor=actor)
        by_hand.update_state(on("t"), ask("edited"))
        other.invoke(ask(), on("t"))
        by_hand.update_state(on("t"), ask("edited"))
        graph.invoke(ask(), on("t"))
        assert rests(saver)


def test_threads_that_are_imported_or_copied_rest_whoever_did_so() -> None:
    before = InMemorySaver()
    graph_of(before, {"a": NOTHING}, (START, "a"), interrupt_before=["a"]).invoke(ask(), on("t"))  # type: ignore[arg-type]
    with saving() as saver:
        desk = beside(saver, actor=Actor("service:desk"))
        import_threads(before, desk)
        desk.copy_thread("t", "copy")
        for thread in ("t", "copy"):
            assert rests(saver, f"{thread}#1")
            graph = graph_of(saver, {"a": NOTHING}, (START, "a"))
            graph.invoke(None, on(thread))
            assert not graph.get_state(on(thread)).next
