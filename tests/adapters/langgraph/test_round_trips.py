"""How often a saver asks the store: on a server each time is a round trip, and takes longer than the rest."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, StateGraph

from ledger.adapters.langgraph import LedgerSaver
from tests.adapters.langgraph.places import config_of


class Counted(TypedDict):
    count: int


VERBS = ("append", "blobs", "find", "find_all", "heads", "load", "read", "tail")


@pytest.fixture
def asked(saver: LedgerSaver, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of what the store was asked for, as it is asked."""
    names: list[str] = []
    store: Any = saver.ledger.store

    def watch(name: str) -> None:
        verb = getattr(store, name)

        def watched(*args: Any, **options: Any) -> Any:
            names.append(name)
            return verb(*args, **options)

        monkeypatch.setattr(store, name, watched)

    for name in VERBS:
        watch(name)
    return names


def grown(saver: LedgerSaver, thread: str, steps: int) -> Any:
    """Save a history message by message; return the configuration of the last checkpoint."""
    config: Any = config_of(thread)
    messages: list[HumanMessage] = []
    for number in range(steps):
        messages = [*messages, HumanMessage(f"{number} " + "x" * 100, id=f"m-{number}")]
        state: Any = {
            **empty_checkpoint(),
            "id": f"{number:06}",
            "channel_values": {"messages": messages, "count": number},
            "channel_versions": {"messages": number + 1, "count": number + 1},
        }
        config = saver.put(config, state, {"source": "loop", "step": number}, state["channel_versions"])
    return config


def noted(verb: Any, calls: list[str]) -> Any:
    def called(*args: Any, **options: Any) -> Any:
        calls.append(verb.__name__)
        return verb(*args, **options)

    return called


def test_a_checkpoint_is_saved_by_one_append(saver: LedgerSaver, thread: str, asked: list[str]) -> None:
    config = grown(saver, thread, 2)
    asked.clear()
    grown(saver, thread, 2)
    assert asked == ["append"] * 2
    # Who writes outside of a graph edits: whether somebody is at work is looked up then.
    asked.clear()
    saver.put_writes(config, [("count", 1)], "task")
    assert asked == ["read", "read", "append"]


def test_what_tasks_of_a_graph_wrote_is_kept_by_one_append_each(
    saver: LedgerSaver, thread: str, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = StateGraph(Counted)
    builder.add_node("one", lambda state: {"count": 1})
    builder.add_edge(START, "one")
    graph = builder.compile(checkpointer=saver)
    graph.invoke({"count": 0}, config_of(thread), durability="sync")
    saved: list[str] = []
    for name in ("put", "put_writes"):
        monkeypatch.setattr(saver, name, noted(getattr(saver, name), saved))
    asked.clear()
    graph.invoke({"count": 0}, config_of(thread), durability="sync")
    # Before the first of them the thread is entered and read. Those that are under way at once share one.
    assert set(asked[asked.index("append") :]) == {"append"}
    assert 2 < asked.count("append") <= len(saved)


def test_a_checkpoint_that_this_process_knows_is_loaded_in_three(
    saver: LedgerSaver, thread: str, asked: list[str]
) -> None:
    """Of 40 messages 32 are in a group, and each of the others is where it was first saved."""
    config = grown(saver, thread, 40)
    saver.put_writes(config, [("count", 1), ("count", 2)], "task-1")
    saver.put_writes(config, [("count", 3)], "task-2")
    # What was read is held while it is small, but for what tasks wrote.
    for wanted, requests in ((config_of(thread), ["read", "find_all", "blobs"]), (config, ["read", "blobs"])):
        asked.clear()
        found = saver.get_tuple(wanted)
        assert asked == requests
        assert found is not None
        assert len(found.checkpoint["channel_values"]["messages"]) == 40
        assert [value for _, _, value in found.pending_writes or ()] == [1, 2, 3]


def test_a_checkpoint_of_another_process_is_looked_for_first(
    saver: LedgerSaver, thread: str, asked: list[str]
) -> None:
    """Its run is looked for, and whether another follows it; then what the state refers to has to be read."""
    grown(saver, thread, 40)
    other = LedgerSaver(saver.ledger)
    asked.clear()
    found = other.get_tuple(config_of(thread))
    assert found is not None
    assert len(asked) <= 7, asked
    assert asked[-4:] == ["read", "find_all", "blobs", "blobs"]
    asked.clear()
    other.get_tuple(config_of(thread))
    assert asked == ["read"], "whether somebody has gone on"


def test_a_small_checkpoint_that_this_process_saved_is_loaded_in_two(
    saver: LedgerSaver, thread: str, asked: list[str]
) -> None:
    config = grown(saver, thread, 3)
    for requests in (["read", "find_all"], ["read"]):
        asked.clear()
        found = saver.get_tuple(config_of(thread))
        assert asked == requests
        assert found is not None
        assert found.checkpoint["channel_values"]["count"] == 2
    asked.clear()
    assert saver.get_tuple(config) is not None
    assert asked == ["read"]


def test_many_parts_are_read_by_themselves(saver: LedgerSaver, thread: str, asked: list[str]) -> None:
    config = grown(saver, thread, 1)
    for number in range(40):
        saver.put_writes(config, [("count", number)], f"task-{number:02}")
    asked.clear()
    found = saver.get_tuple(config)
    assert found is not None
    assert [value for _, _, value in found.pending_writes or ()] == list(range(40))
    assert asked == ["read", "find_all", "find", "blobs"]
