"""Delta channels: a value that is made of what was written, back to the nearest that has one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.types import Overwrite, Send

from ledger.adapters.langgraph import LedgerSaver, StillNeeded
from ledger.adapters.threads import Threads
from ledger.adapters.threads.dropping import drop, prune
from ledger.errors import StateMoved, UndecodableRecord
from tests.adapters.langgraph.places import config_of, new_thread


def add(state: list[str], writes: Sequence[list[str]]) -> list[str]:
    return [*state, *(one for write in writes for one in write)]


STEPS = 6
"""Checkpoints of a turn: its input, the start, and what follows."""


class Deltas(TypedDict):
    often: Annotated[list[str], DeltaChannel(add, list, snapshot_frequency=4)]
    seldom: Annotated[list[str], DeltaChannel(add, list, snapshot_frequency=1)]
    plain: str


def graph_of(saver: Any, *, nodes: int = 3) -> Any:
    """Compile a graph that writes to `often` at each step, from two tasks at once in the last."""
    builder: Any = StateGraph(Deltas)
    for number in range(nodes):
        builder.add_node(f"n{number}", lambda state, number=number: {"often": [f"n{number}"], "plain": "x"})
        builder.add_edge(f"n{number - 1}" if number else START, f"n{number}")
    builder.add_node("each", lambda arg: {"often": [arg]})
    builder.add_conditional_edges(
        f"n{nodes - 1}", lambda state: [Send("each", "b"), Send("each", "a")], ["each"]
    )
    return builder.compile(checkpointer=saver)


def talk(saver: Any, thread: str, *, turns: int = 3) -> Any:
    """Let a graph write for some turns, the last one by a person."""
    graph = graph_of(saver)
    for turn in range(turns):
        graph.invoke(
            {"often": [f"turn {turn}"], **({"seldom": ["once"]} if turn == 0 else {})}, config_of(thread)
        )
    graph.update_state(config_of(thread), {"often": ["by hand"]}, as_node="n0")
    return graph


def states(graph: Any, thread: str) -> list[Any]:
    return [state.values for state in graph.get_state_history(config_of(thread))]


def expected(turns: int = 3) -> list[Any]:
    saver = InMemorySaver()
    return states(talk(saver, "t", turns=turns), "t")


def test_a_thread_with_delta_channels_is_read_as_from_the_saver_in_memory(
    saver: LedgerSaver, thread: str
) -> None:
    assert states(talk(saver, thread), thread) == expected()


def test_the_history_of_channels_is_what_the_base_class_makes_of_one_checkpoint_at_a_time(
    saver: LedgerSaver, thread: str
) -> None:
    talk(saver, thread)
    channels = ["often", "seldom", "plain", "nobody's"]
    seeds = 0
    for found in [*saver.list(config_of(thread))]:
        ours = saver.get_delta_channel_history(config=found.config, channels=channels)
        base = BaseCheckpointSaver.get_delta_channel_history(saver, config=found.config, channels=channels)
        awaited = asyncio.run(saver.aget_delta_channel_history(config=found.config, channels=channels))
        assert ours == base == awaited
        seeds += "seed" in ours["often"]
    assert seeds > 0
    assert saver.get_delta_channel_history(config=config_of(thread), channels=[]) == {}
    latest = saver.get_delta_channel_history(config=config_of(thread), channels=["often"])
    assert latest == saver.get_delta_channel_history(
        config=next(saver.list(config_of(thread))).config, channels=["often"]
    )


def test_a_channel_that_rests_has_its_value_in_each_checkpoint(
    memory_saver: LedgerSaver, thread: str
) -> None:
    """So that it is not looked for along the whole thread."""
    talk(memory_saver, thread)
    has = ["seldom" in one.checkpoint["channel_values"] for one in memory_saver.list(config_of(thread))]
    assert has[:-1] == [True] * (len(has) - 1)


def test_pruning_keeps_what_the_latest_is_made_of(saver: LedgerSaver, thread: str) -> None:
    graph = talk(saver, thread)
    graph.invoke({"often": ["more"]}, config_of(thread))
    before = states(graph, thread)
    saver.prune([thread])
    kept = states(graph, thread)
    assert 1 < len(kept) < 6
    assert kept == before[: len(kept)], "each that was kept is read as it was"
    saver.prune([thread])
    assert states(graph, thread) == kept
    graph.invoke({"often": ["on"]}, config_of(thread))
    often = graph.get_state(config_of(thread)).values["often"]
    assert often == [*before[0]["often"], "on", "n0", "n1", "n2", "b", "a"]


def test_pruning_without_a_saver_keeps_what_the_latest_is_made_of(
    memory_saver: LedgerSaver, thread: str
) -> None:
    graph = talk(memory_saver, thread)
    graph.invoke({"often": ["more"]}, config_of(thread))
    before = states(graph, thread)
    prune(Threads(memory_saver.ledger), thread, by="human:kim")
    kept = states(graph, thread)
    assert 1 < len(kept) < 6
    assert kept == before[: len(kept)]


@pytest.mark.parametrize("deed", ["delete", "prune", "run"])
def test_a_graph_that_goes_on_from_what_was_given_up_meanwhile_is_told(
    saver: LedgerSaver, thread: str, deed: str
) -> None:
    """It would leave a channel behind that lacks what was written before."""
    other = LedgerSaver(saver.ledger, gate="off")
    graph, config = graph_of(saver), config_of(thread)
    config["metadata"] = {"run_id": f"{thread}-old"}
    graph.invoke({"often": ["old"]}, config)
    old = next(one for one in graph.get_state_history(config_of(thread)) if one.next == ("n1",)).config
    if deed == "prune":  # the latest needs none of those before
        graph.update_state(config_of(thread), {"often": Overwrite(["anew"])}, as_node="n0")

    class Late(LedgerSaver):
        done = False

        def put(self, *args: Any) -> Any:
            if not self.done:
                self.done = True
                if deed == "delete":
                    other.delete_thread(thread)
                elif deed == "prune":
                    other.prune([thread])
                else:
                    other.delete_for_runs([f"{thread}-old"])
            return super().put(*args)

    late = graph_of(Late(saver.ledger, gate="off"))
    said, begun = (None, old) if deed == "prune" else ({"often": ["late"]}, config_of(thread))
    with pytest.raises(StateMoved):
        late.invoke(said, begun)
    assert [state["often"] for state in states(graph, thread)] == ([["anew"]] if deed == "prune" else [])


def test_a_channel_whose_past_was_given_up_is_told(memory_saver: LedgerSaver, thread: str) -> None:
    graph = talk(memory_saver, thread, turns=1)
    graph.update_state(config_of(thread), {"plain": "y"}, as_node="n0")
    listed = list(memory_saver.list(config_of(thread)))
    latest, *above = [one.config["configurable"]["checkpoint_id"] for one in listed]
    assert "often" not in listed[0].checkpoint["channel_values"]
    drop(Threads(memory_saver.ledger), thread, [("", id) for id in above], by="human:kim")
    with pytest.raises(UndecodableRecord, match=r"'often'.*given up"):
        graph.get_state(config_of(thread))
    with pytest.raises(StateMoved):
        memory_saver.get_delta_channel_history(config=config_of(thread, above[0]), channels=["often"])
    history = memory_saver.get_delta_channel_history(config=config_of(thread, latest), channels=["nobody's"])
    assert history == {"nobody's": {"writes": []}}
    never = memory_saver.get_delta_channel_history(config=config_of(thread, "never"), channels=["often"])
    assert never == {"often": {"writes": []}}


def test_pruning_keeps_nothing_but_the_latest_where_that_has_all_its_values(
    memory_saver: LedgerSaver, thread: str
) -> None:
    graph = talk(memory_saver, thread)
    graph.update_state(config_of(thread), {"often": Overwrite(["anew"])}, as_node="n0")
    before = graph.get_state(config_of(thread)).values
    memory_saver.prune([thread])
    assert states(graph, thread) == [before]


def test_what_others_are_made_of_is_not_deleted_with_the_run_that_made_it(
    saver: LedgerSaver, thread: str
) -> None:
    graph = graph_of(saver)
    for run, text in (("r1", "a"), ("r2", "b")):
        config = config_of(thread)
        config["metadata"] = {"run_id": f"{thread}-{run}"}
        graph.invoke({"often": [text]}, config)
    before = states(graph, thread)
    with pytest.raises(StillNeeded) as refused:
        saver.delete_for_runs([f"{thread}-r1"])
    assert refused.value.evidence["thread"] == thread
    assert states(graph, thread) == before
    saver.delete_for_runs([f"{thread}-r2"])
    assert states(graph, thread) == before[STEPS:]
    saver.delete_for_runs([f"{thread}-r1"])
    assert states(graph, thread) == []


def test_a_run_that_no_other_rests_on_is_deleted_from_the_middle(
    memory_saver: LedgerSaver, thread: str
) -> None:
    graph = graph_of(memory_saver)
    for run in ("r1", "r2"):
        config = config_of(thread)
        config["metadata"] = {"run_id": f"{thread}-{run}"}
        graph.invoke({"often": Overwrite([run])}, config)  # the next begins with a value of its own
    before = states(graph, thread)
    memory_saver.delete_for_runs([f"{thread}-r1"])
    assert states(graph, thread) == before[:STEPS]


def test_a_copy_has_all_that_it_is_made_of(saver: LedgerSaver, thread: str) -> None:
    graph, copied = talk(saver, thread), new_thread()
    saver.copy_thread(thread, copied)
    assert states(graph, copied) == states(graph, thread)
    saver.delete_thread(thread)
    assert states(graph, copied) == expected()
    assert states(graph, thread) == []


def test_a_thread_that_was_kept_as_a_plain_list_goes_on_as_a_delta_channel(
    saver: LedgerSaver, thread: str
) -> None:
    """The first write after the change is not lost (case-121)."""

    class Before(TypedDict):
        often: Annotated[list[str], lambda left, right: [*left, *right]]

    class After(TypedDict):
        often: Annotated[list[str], DeltaChannel(add, list, snapshot_frequency=100)]

    def compiled(schema: Any) -> Any:
        builder: Any = StateGraph(schema)
        builder.add_node("n", lambda state: {"often": ["n"]})
        builder.add_edge(START, "n")
        return builder.compile(checkpointer=saver)

    compiled(Before).invoke({"often": ["a"]}, config_of(thread))
    graph = compiled(After)
    graph.invoke({"often": ["b"]}, config_of(thread))
    assert graph.get_state(config_of(thread)).values["often"] == ["a", "n", "b", "n"]
    saver.prune([thread])
    assert graph.get_state(config_of(thread)).values["often"] == ["a", "n", "b", "n"]
