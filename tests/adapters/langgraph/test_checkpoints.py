"""Checkpoints by hand: what is put is what is got, as from the savers of LangGraph itself."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import CheckpointTuple, create_checkpoint, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import UnknownInterruptError
from langgraph.pregel._checkpoint import LATEST_VERSION
from langgraph.types import Command, interrupt

from ledger import Actor, Ledger, open_ledger
from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.langgraph.configs import SEEN
from ledger.adapters.langgraph.heads import MAGIC, VERSION
from ledger.errors import InvalidInput, NotForAgents, UndecodableRecord
from tests.adapters.langgraph.places import State, config_of, graph_of, latest, new_thread, one, put

ERROR, INTERRUPT, RESUME = "__error__", "__interrupt__", "__resume__"


def seen(found: CheckpointTuple | None) -> Any:
    """Return a checkpoint as both kinds of savers have it."""
    if found is None:
        return None
    given = dict(found.config.get("configurable", {}))
    given.pop(SEEN, None)
    return found._replace(config={"configurable": given})


def steps(saver: Any, thread: str) -> list[Any]:
    """Save a few checkpoints as LangGraph would, and return what is read after each.

    There are no tuples among the values: the saver in memory returns them as lists.
    """
    config, read = config_of(thread), []
    values: dict[str, Any] = {"a": [HumanMessage("x", id="1")], "start": {"q": "x"}}
    versions: dict[str, Any] = {"a": 1, "start": 1}
    changes: list[dict[str, Any]] = [
        {},
        {"a": [HumanMessage("x", id="1"), AIMessage("y", id="2")], "start": None},
        {"b": {"k": {1, 2}}},
        {"a": [], "b": None},
        {"c": False},
    ]
    for number, change in enumerate(changes):
        new = dict.fromkeys(change or values, number + 1)
        values = {name: value for name, value in {**values, **change}.items() if value is not None}
        versions = {**versions, **new}
        checkpoint: Any = create_checkpoint(empty_checkpoint(), None, number)
        checkpoint.update(
            channel_values=values,
            channel_versions=versions,
            versions_seen={"n": {"a": 1}},
            updated_channels=["a"],
        )
        metadata: Any = {"source": "loop", "step": number, "parents": {}, "note": "nul \0 in it"}
        config = saver.put({**config, "metadata": {"user": "kim", "n": 1}}, checkpoint, metadata, new)
        saver.put_writes(config, [("a", number), ("b", None)], "task-b", "~path, 2")
        saver.put_writes(config, [("a", HumanMessage("z", id="3"))], "task-a", "~path, 1")
        saver.put_writes(config, [(ERROR, ValueError("no")), (INTERRUPT, ["i"])], "task-c")
        read += [seen(saver.get_tuple(config_of(thread))), seen(saver.get_tuple(config))]
    read += map(seen, saver.list(config_of(thread)))
    return read


def test_what_is_read_is_what_the_saver_in_memory_returns(
    saver: LedgerSaver, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = steps(InMemorySaver(), thread)
    ids = iter([found.checkpoint["id"] for found in expected[:-5:2]])
    times = iter([found.checkpoint["ts"] for found in expected[:-5:2]])
    created = create_checkpoint

    def again(*given: Any, **named: Any) -> Any:
        checkpoint: Any = created(*given, **named)
        checkpoint.update(id=next(ids), ts=next(times))
        return checkpoint

    monkeypatch.setattr(f"{__name__}.create_checkpoint", again)
    assert steps(saver, thread) == expected


# --- writes -----------------------------------------------------------------------------------------


def test_of_thirty_tasks_that_write_at_once_none_is_lost(saver: LedgerSaver, thread: str) -> None:
    config = put(saver, config_of(thread), 1)
    ready = threading.Barrier(30, timeout=60)

    def write(number: int) -> None:
        ready.wait()
        saver.put_writes(config, [("x", number), ("y", str(number))], f"task-{number:02}")

    with ThreadPoolExecutor(30) as pool:
        list(pool.map(write, range(30)))
    expected = [
        (f"task-{number:02}", channel, value)
        for number in range(30)
        for channel, value in (("x", number), ("y", str(number)))
    ]
    assert latest(saver, thread).pending_writes == expected


def test_a_write_said_again_stands_as_it_was_and_a_mark_as_it_is(
    memory_saver: LedgerSaver, thread: str
) -> None:
    config = put(memory_saver, config_of(thread), 1)
    for value in ("first", "second"):
        memory_saver.put_writes(config, [("x", value), (RESUME, value), (INTERRUPT, value)], "task")
    assert latest(memory_saver, thread).pending_writes == [
        ("task", RESUME, "second"),
        ("task", INTERRUPT, "second"),
        ("task", "x", "first"),
    ]


def test_writes_come_in_the_order_in_which_a_graph_applies_them(
    memory_saver: LedgerSaver, thread: str
) -> None:
    config = put(memory_saver, config_of(thread), 1)
    for task, path in (("a", "~2"), ("b", "~1"), ("c", ""), ("d", "~1")):
        memory_saver.put_writes(config, [("x", task), ("y", task)], task, path)
    writes = latest(memory_saver, thread).pending_writes or []
    assert [task for task, _, _ in writes] == ["c", "c", "b", "b", "d", "d", "a", "a"]


def test_what_a_task_wrote_before_its_checkpoint_was_saved_is_kept(saver: LedgerSaver, thread: str) -> None:
    """A graph goes on while its checkpoint is being saved: durability="async"."""
    first = put(saver, config_of(thread), 1)
    checkpoint = create_checkpoint(empty_checkpoint(), None, 2)
    saver.put_writes(config_of(thread, checkpoint["id"]), [("x", "early")], "task")
    saver.put(first, checkpoint, {"source": "loop", "step": 2, "parents": {}}, {})
    saver.put_writes(config_of(thread, checkpoint["id"]), [("x", "late")], "task-2")
    assert latest(saver, thread).pending_writes == [("task", "x", "early"), ("task-2", "x", "late")]


def test_what_was_written_does_not_come_back_with_a_checkpoint_that_was_deleted(
    memory_saver: LedgerSaver, thread: str
) -> None:
    config = put(memory_saver, config_of(thread), 1)
    memory_saver.put_writes(config, [("x", 1)], "task")
    found = latest(memory_saver, thread)
    memory_saver.delete_thread(thread)
    memory_saver.put(config_of(thread), found.checkpoint, found.metadata, {"x": 1})
    assert latest(memory_saver, thread).pending_writes == []
    assert memory_saver.thread_run(config_of(thread)).id == f"{thread}#2"


def test_a_thread_whose_run_was_closed_goes_on_in_the_next(memory_saver: LedgerSaver, thread: str) -> None:
    config = put(memory_saver, config_of(thread), 1)
    memory_saver.put_writes(config, [("x", "before")], "task-1")
    memory_saver.thread_run(config).close("completed", by="human:kim", reason="done")
    memory_saver.put_writes(config, [("x", "after")], "task-2")
    assert memory_saver.thread_run(config).id == f"{thread}#2"
    found = latest(memory_saver, thread)
    assert found.pending_writes == [("task-1", "x", "before"), ("task-2", "x", "after")]
    put(memory_saver, found.config, 2)
    assert [one.checkpoint["channel_values"]["x"] for one in memory_saver.list(config_of(thread))] == [2, 1]


def test_nothing_written_is_nothing_kept(memory_saver: LedgerSaver, thread: str) -> None:
    config = put(memory_saver, config_of(thread), 1)
    position = memory_saver.thread_run(config).contract.position
    memory_saver.put_writes(config, [], "task")
    assert memory_saver.thread_run(config).contract.position == position


# --- lists ------------------------------------------------------------------------------------------


def test_all_threads_are_listed_each_newest_first_and_no_other_tenant_s(tmp_path: Path) -> None:
    names = ["*", "a", "a#1", "%", "x" * 500, "b/../c", "' OR 1=1 --", "\N{SNOWMAN}"]
    with open_ledger(str(tmp_path / "ledger.db")) as ours, LedgerSaver(ours, gate="off") as saver:
        for value in (1, 2):
            for name in names:
                put(saver, config_of(name), value)
        with open_ledger(str(tmp_path / "ledger.db"), tenant="other") as theirs:
            other = LedgerSaver(theirs, gate="off")
            put(other, config_of("*"), 3)
            assert len(list(other.list(None))) == 1
        listed = [(_thread(one), one.checkpoint["channel_values"]["x"]) for one in saver.list(None)]
        assert sorted(listed) == sorted((name, value) for name in names for value in (1, 2))
        assert [value for _, value in listed] == [2, 1] * len(names)
        for name in names:
            assert [_thread(one) for one in saver.list(config_of(name))] == [name, name]
        assert len(list(saver.list(None, limit=3))) == 3
        assert list(saver.list(None, limit=0)) == []


def _thread(found: CheckpointTuple) -> Any:
    return found.config.get("configurable", {})["thread_id"]


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ({"step": 1}, 1),
        ({"step": True}, 1),  # as Python compares
        ({"step": "1"}, 0),
        ({"source": "loop", "step": 1}, 1),
        ({"parents": {}}, 1),
        ({"missing": None}, 1),
        ({"') OR 1=1 --": 1}, 0),
        ({"$.step": 1}, 0),
        ({"source": "%"}, 0),
    ],
)
def test_metadata_are_compared_as_values_and_never_become_a_query(
    saver: LedgerSaver, wanted: dict[str, Any], count: int
) -> None:
    thread = new_thread()
    put(saver, config_of(thread), 1)
    assert len(list(saver.list(config_of(thread), filter=wanted))) == count


def test_what_comes_before_a_checkpoint_is_told_across_namespaces(
    memory_saver: LedgerSaver, thread: str
) -> None:
    """A graph that is replayed asks for what its subgraph saved before a checkpoint of the graph above."""
    put(memory_saver, config_of(thread, ns="sub"), 1)
    above = put(memory_saver, config_of(thread), 2)
    put(memory_saver, config_of(thread, ns="sub"), 3)
    before: Any = {"configurable": {"checkpoint_id": above["configurable"]["checkpoint_id"]}}
    found = memory_saver.list(config_of(thread, ns="sub"), before=before)
    assert [one.checkpoint["channel_values"] for one in found] == [{"x": 1}]


def test_a_checkpoint_that_is_no_more_still_parts_what_was_before_it(
    memory_saver: LedgerSaver, thread: str
) -> None:
    configs = [put(memory_saver, config_of(thread), value) for value in range(4)]
    memory_saver.prune([thread])
    assert [*memory_saver.list(config_of(thread), before=configs[1])] == []
    later = put(memory_saver, configs[3], 4)
    found = memory_saver.list(config_of(thread), before=later)
    assert [one.checkpoint["channel_values"]["x"] for one in found] == [3]


def test_a_checkpoint_is_listed_by_its_id(memory_saver: LedgerSaver, thread: str) -> None:
    first = put(memory_saver, config_of(thread), 1)
    put(memory_saver, first, 2)
    assert [seen(one) for one in memory_saver.list(first)] == [seen(memory_saver.get_tuple(first))]


# --- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, "thread_id"),
        ({"thread_id": None}, "thread_id"),
        ({"thread_id": "  "}, "thread_id"),
        ({"thread_id": ["t"]}, "thread_id"),
        ({"thread_id": {"t": 1}}, "thread_id"),
        ({"thread_id": "t", "checkpoint_ns": 3}, "checkpoint_ns"),
        ({"thread_id": "t", "checkpoint_id": 3}, "checkpoint_id"),
    ],
)
def test_a_configuration_that_points_nowhere_is_refused_by_name(
    memory_saver: LedgerSaver, given: dict[str, Any], path: str
) -> None:
    for ask in (memory_saver.get_tuple, lambda config: list(memory_saver.list(config))):
        with pytest.raises(InvalidInput) as refused:
            ask({"configurable": given})
        assert refused.value.path == path


def test_writes_without_a_checkpoint_are_refused(memory_saver: LedgerSaver, thread: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory_saver.put_writes(config_of(thread), [("x", 1)], "task")
    assert refused.value.path == "checkpoint_id"


def test_a_checkpoint_of_another_thread_is_not_found(memory_saver: LedgerSaver, thread: str) -> None:
    first = put(memory_saver, config_of(thread), 1)
    other = new_thread()
    put(memory_saver, config_of(other), 2)
    id = first["configurable"]["checkpoint_id"]
    assert memory_saver.get_tuple(config_of(other, id)) is None
    assert memory_saver.get_tuple(config_of(thread, id, ns="sub")) is None


def test_a_checkpoint_of_a_later_langgraph_is_refused(memory_saver: LedgerSaver, thread: str) -> None:
    checkpoint = create_checkpoint(empty_checkpoint(), None, 1)
    checkpoint["v"] = LATEST_VERSION + 1
    memory_saver.put(config_of(thread), checkpoint, {"source": "loop", "step": 1, "parents": {}}, {})
    with pytest.raises(UndecodableRecord, match="installed LangGraph"):
        memory_saver.get_tuple(config_of(thread))


def test_what_a_later_release_or_another_program_wrote_is_refused(
    memory_saver: LedgerSaver, thread: str
) -> None:
    states = memory_saver._checkpoints.states
    put(memory_saver, config_of(thread), 1)
    states.save(thread, "newer", {}, MAGIC + bytes((VERSION + 1,)) + b"\x80")
    with pytest.raises(UndecodableRecord, match="later"):
        memory_saver.get_tuple(config_of(thread))
    states.save(thread, "other", {}, b"{}")
    with pytest.raises(UndecodableRecord, match="another program"):
        memory_saver.get_tuple(config_of(thread))
    states.save(f"{thread}-2", "other", {}, b"{}")
    assert list(memory_saver.list(config_of(f"{thread}-2"))) == []


def test_an_answer_to_an_interrupt_that_nobody_waits_for_is_an_error(saver: LedgerSaver, thread: str) -> None:
    graph = graph_of(saver, lambda state: {"said": [interrupt("?")]})
    asked = graph.invoke({"said": []}, config_of(thread))["__interrupt__"][0]
    with pytest.raises(UnknownInterruptError):
        graph.invoke(Command(resume={"0" * 32: "x"}), config_of(thread))
    assert graph.invoke(Command(resume={asked.id: "yes"}), config_of(thread))["said"] == ["yes"]


# --- the rest ---------------------------------------------------------------------------------------


def test_a_thread_that_cannot_be_read_keeps_no_other_from_being_cleaned() -> None:
    with LedgerSaver.from_url(":memory:", gate="off") as saver:
        for name in ("a", "damaged", "z"):
            config = config_of(name)
            config["metadata"] = {"run_id": "r"}
            put(saver, config, 1)
        saver._checkpoints.states.save("damaged", "newer", {}, MAGIC + bytes((VERSION + 1,)) + b"\x80")
        with pytest.raises(UndecodableRecord) as refused:
            saver.delete_for_runs(["r"])
        assert refused.value.data == {"threads": ["damaged"]}
        assert [saver.get_tuple(config_of(name)) for name in ("a", "z")] == [None, None]


def test_an_agent_saves_and_a_custodian_deletes(memory_saver: LedgerSaver, thread: str) -> None:
    agent = Actor("agent:writer")
    saver = LedgerSaver(memory_saver.ledger, actor=agent, gate="off")
    config = put(saver, config_of(thread), 1)
    config["metadata"] = {"run_id": thread}
    put(saver, config, 2)
    with pytest.raises(NotForAgents):
        saver.delete_for_runs([thread])
    with pytest.raises(NotForAgents):
        saver.prune([thread])
    with pytest.raises(NotForAgents):
        saver.delete_thread(thread)
    assert len(list(saver.list(config_of(thread)))) == 2
    LedgerSaver(memory_saver.ledger, actor=agent, custodian=Actor("service:keeper")).delete_thread(thread)
    assert list(saver.list(config_of(thread))) == []


@pytest.mark.parametrize("strategy", ["keep_all", "", None])
def test_a_strategy_of_pruning_that_is_not_known_is_refused(
    memory_saver: LedgerSaver, thread: str, strategy: Any
) -> None:
    with pytest.raises(InvalidInput) as refused:
        memory_saver.prune([thread], strategy=strategy)
    assert refused.value.path == "strategy"


def test_a_thread_is_copied_to_none_that_has_checkpoints(memory_saver: LedgerSaver, thread: str) -> None:
    other = new_thread()
    put(memory_saver, config_of(thread), 1)
    put(memory_saver, config_of(other), 2)
    for target in (other, thread):
        with pytest.raises(InvalidInput):
            memory_saver.copy_thread(thread, target)
    assert latest(memory_saver, other).checkpoint["channel_values"] == {"x": 2}


def test_versions_go_on_from_what_another_saver_began() -> None:
    with LedgerSaver.from_url(":memory:") as saver:
        assert saver.get_next_version(None, None) == 1
        assert saver.get_next_version(1, None) == 2
        theirs = InMemorySaver().get_next_version(None, None)
        ours = saver.get_next_version(theirs, None)
        assert ours > theirs
        assert InMemorySaver().get_next_version(ours, None) > ours


def test_a_saver_closes_the_ledger_that_it_opened_and_no_other(tmp_path: Path) -> None:
    url = str(tmp_path / "ledger.db")
    with LedgerSaver.from_url(url, gate="off") as saver:
        put(saver, config_of("t"), 1)
    with open_ledger(url) as ours:
        with LedgerSaver(ours, gate="off") as again:
            assert latest(again, "t").checkpoint["channel_values"] == {"x": 1}
        assert ours.contract("t#1").saved is not None


@pytest.mark.parametrize("given", [None, "runs.db", InMemorySaver()])
def test_what_is_no_ledger_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        LedgerSaver(given)
    assert refused.value.path == "ledger"


def test_who_refuses_its_options_leaves_no_ledger_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Ledger] = []
    close = Ledger.close

    def noted(ledger: Ledger) -> None:
        closed.append(ledger)
        close(ledger)

    monkeypatch.setattr(Ledger, "close", noted)
    with pytest.raises(InvalidInput):
        LedgerSaver.from_url(str(tmp_path / "ledger.db"), types=[int])
    assert len(closed) == 1


def test_the_awaited_methods_do_the_same(saver: LedgerSaver, thread: str) -> None:
    async def run() -> Any:
        graph = graph_of(saver, one)
        config = config_of(thread)
        await graph.ainvoke({"said": ["a"]}, config)
        history = [state.values async for state in graph.aget_state_history(config)]
        await asyncio.gather(
            *(saver.aput_writes(latest(saver, thread).config, [("x", n)], f"task-{n}") for n in range(10))
        )
        found = await saver.aget_tuple(config)
        listed = [one async for one in saver.alist(config, limit=2)]
        in_run = (await saver.athread_run(config)).id
        copied = new_thread()
        await saver.acopy_thread(thread, copied)
        await saver.aprune([copied])
        kept = [one async for one in saver.alist(config_of(copied))]
        return history, found, listed, in_run, kept

    history, found, listed, in_run, kept = asyncio.run(run())
    assert history == [state.values for state in graph_of(saver, one).get_state_history(config_of(thread))]
    assert seen(found) == seen(saver.get_tuple(config_of(thread)))
    assert len(found.pending_writes) == 10
    assert [seen(one) for one in listed] == [seen(one) for one in saver.list(config_of(thread), limit=2)]
    assert in_run == f"{thread}#1"
    assert [one.checkpoint["channel_values"] for one in kept] == [found.checkpoint["channel_values"]]


def test_what_was_begun_is_ended_although_who_waits_is_cancelled(
    memory_saver: LedgerSaver, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, go_on = threading.Event(), threading.Event()
    keep = memory_saver._checkpoints.keep

    def slow(*given: Any, **more: Any) -> None:
        entered.set()
        assert go_on.wait(60)
        keep(*given, **more)

    config = put(memory_saver, config_of(thread), 1)
    monkeypatch.setattr(memory_saver._checkpoints, "keep", slow)

    async def run() -> None:
        writing = asyncio.ensure_future(memory_saver.aput_writes(config, [("x", 1)], "task"))
        await asyncio.to_thread(entered.wait, 60)
        writing.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await writing
        assert latest(memory_saver, thread).pending_writes == [("task", "x", 1)]

    asyncio.run(run())


def test_a_node_may_look_at_its_thread_while_it_runs(memory_saver: LedgerSaver, thread: str) -> None:
    found: list[Any] = []

    def look(state: State) -> State:
        found.append(graph.get_state(config_of(thread)).values)
        return {"said": ["looked"]}

    graph = graph_of(memory_saver, one, look)
    graph.invoke({"said": []}, config_of(thread), durability="sync")
    assert found == [{"said": ["one"]}]
