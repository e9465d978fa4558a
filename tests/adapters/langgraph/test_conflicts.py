"""Who goes on from a checkpoint: the latest once, any other as often as one likes."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langgraph.checkpoint.base import create_checkpoint, empty_checkpoint
from langgraph.graph import START, StateGraph
from langgraph.types import Send

from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.langgraph.configs import SEEN
from ledger.adapters.langgraph.history import PAGE
from ledger.errors import PositionConflict, StateMoved
from tests.adapters.langgraph.places import State, config_of, graph_of, latest, one, put

# --- by hand ----------------------------------------------------------------------------------------


def test_of_two_that_loaded_the_latest_the_second_to_save_is_told_of_a_conflict(
    saver: LedgerSaver, thread: str
) -> None:
    put(saver, config_of(thread), 1)
    ours, theirs = latest(saver, thread), latest(saver, thread)
    put(saver, theirs.config, 2)
    with pytest.raises(StateMoved) as refused:
        put(saver, ours.config, 3)
    assert isinstance(refused.value, PositionConflict)
    assert latest(saver, thread).checkpoint["channel_values"] == {"x": 2}
    assert len(list(saver.list(config_of(thread)))) == 2


def test_a_configuration_that_went_through_json_still_knows_that_it_was_the_latest(
    memory_saver: LedgerSaver, thread: str
) -> None:
    put(memory_saver, config_of(thread), 1)
    ours = json.loads(json.dumps(latest(memory_saver, thread).config))
    put(memory_saver, latest(memory_saver, thread).config, 2)
    with pytest.raises(StateMoved):
        put(memory_saver, ours, 3)


def test_what_is_put_on_the_latest_can_be_gone_on_from_in_turn(
    memory_saver: LedgerSaver, thread: str
) -> None:
    put(memory_saver, config_of(thread), 1)
    second = put(memory_saver, latest(memory_saver, thread).config, 2)
    put(memory_saver, second, 3)
    with pytest.raises(StateMoved):
        put(memory_saver, second, 4)


def test_who_names_a_checkpoint_by_its_id_branches_off(saver: LedgerSaver, thread: str) -> None:
    first = put(saver, config_of(thread), 1)
    put(saver, first, 2)
    found = saver.get_tuple(first)
    assert found is not None
    put(saver, found.config, 3)
    assert latest(saver, thread).checkpoint["channel_values"] == {"x": 3}
    assert latest(saver, thread).parent_config == first


@pytest.mark.parametrize("source", ["fork", "update"])
def test_a_fork_and_an_update_branch_off_whatever_the_latest_is(
    memory_saver: LedgerSaver, thread: str, source: str
) -> None:
    put(memory_saver, config_of(thread), 1)
    ours = latest(memory_saver, thread)
    put(memory_saver, latest(memory_saver, thread).config, 2)
    put(memory_saver, ours.config, 3, source)
    assert latest(memory_saver, thread).checkpoint["channel_values"] == {"x": 3}


def test_a_mark_of_another_thread_or_namespace_says_nothing(memory_saver: LedgerSaver, thread: str) -> None:
    put(memory_saver, config_of(thread), 1)
    mark = latest(memory_saver, thread).config["configurable"][SEEN]
    for place in (config_of(f"{thread}-2"), config_of(thread, ns="sub:1")):
        place["configurable"][SEEN] = mark
        put(memory_saver, place, 1)
        put(memory_saver, place, 2)  # each begins a history of its own
        begun = memory_saver.get_tuple(place)
        assert begun is not None
        assert begun.checkpoint["channel_values"] == {"x": 2}


def test_a_line_that_others_pushed_out_of_sight_is_no_conflict(
    memory_saver: LedgerSaver, thread: str
) -> None:
    put(memory_saver, config_of(thread), 1)
    ours = latest(memory_saver, thread)
    for number in range(70):
        put(memory_saver, config_of(thread, ns=f"sub:{number}"), 1)
    second = put(memory_saver, ours.config, 2)
    for number in range(70):
        put(memory_saver, config_of(thread, ns=f"again:{number}"), 1)
    with pytest.raises(StateMoved):
        put(memory_saver, ours.config, 3)
    put(memory_saver, second, 3)


@pytest.mark.parametrize("deed", ["delete", "delete and begin anew", "delete the run"])
@pytest.mark.parametrize("same", [True, False], ids=["same program", "another"])
def test_nobody_goes_on_from_a_checkpoint_that_was_given_up(
    memory_saver: LedgerSaver, thread: str, same: bool, deed: str
) -> None:
    """What was deleted would be back, and over a rival at that."""
    config = config_of(thread)
    config["metadata"] = {"run_id": f"{thread}-run"}
    first = put(memory_saver, config, 1)
    ours = latest(memory_saver, thread)
    joined = LedgerSaver(memory_saver.ledger, gate="off")
    assert joined.get_tuple(first) is not None
    other = memory_saver if same else LedgerSaver(memory_saver.ledger, gate="off")
    if deed == "delete the run":
        other.delete_for_runs([f"{thread}-run"])
    else:
        other.delete_thread(thread)
    if deed == "delete and begin anew":
        put(other, config_of(thread), "rival")
    before = list(other.list(config_of(thread)))
    for going_on in (ours.config, first):
        with pytest.raises(StateMoved):
            put(memory_saver, going_on, 2)
    if deed != "delete the run":
        with pytest.raises(StateMoved):
            joined.put_writes(first, [("x", 1)], "task")
    assert list(other.list(config_of(thread))) == before


def test_a_checkpoint_that_goes_on_from_one_of_another_saver_is_taken(
    memory_saver: LedgerSaver, thread: str
) -> None:
    put(memory_saver, config_of(thread, "of another saver"), 1)
    assert latest(memory_saver, thread).checkpoint["channel_values"] == {"x": 1}


@pytest.mark.parametrize("between", ["load", "another process"])
def test_a_put_that_is_said_again_is_the_one_that_was_said(
    memory_saver: LedgerSaver, thread: str, between: str
) -> None:
    """Whoever lost the answer may have loaded what they saved, and store it in other words."""
    put(memory_saver, config_of(thread), ["x" * 100] * 40)
    ours = latest(memory_saver, thread).config
    checkpoint = create_checkpoint(empty_checkpoint(), None, 2)
    checkpoint["channel_values"] = {"x": [*["x" * 100] * 40, "y" * 300]}
    given: Any = (ours, checkpoint, {"source": "loop", "step": 2, "parents": {}}, {"x": 2})
    memory_saver.put(*given)
    again = memory_saver if between == "load" else LedgerSaver(memory_saver.ledger, gate="off")
    latest(again, thread)
    after = again.put(*given)
    assert len(list(again.list(config_of(thread)))) == 2
    put(again, after, 3)
    with pytest.raises(StateMoved):
        again.put(*given)


def test_a_subgraph_may_be_called_in_turn_after_turn(memory_saver: LedgerSaver, thread: str) -> None:
    """Each call is a line of its own, and a run names the 64 that moved last."""
    inner = graph_of(None, one)
    builder = StateGraph(State)
    builder.add_node("sub", inner)
    builder.add_edge(START, "sub")
    graph: Any = builder.compile(checkpointer=memory_saver)
    for number in range(62):
        put(memory_saver, config_of(thread, ns=f"sub:{number}"), 1)
    for turn in range(4):
        graph.invoke({"said": [str(turn)]}, config_of(thread))
    listed = list(memory_saver.list({"configurable": {"thread_id": thread}}))
    assert len({one.config["configurable"]["checkpoint_ns"] for one in listed}) == 1 + 62 + 4
    memory_saver.prune([thread])
    graph.invoke({"said": ["more"]}, config_of(thread))


@pytest.mark.parametrize("filter", [None, {"step": 1}])
def test_who_lists_a_thread_while_it_is_pruned_passes_over_what_goes(
    memory_saver: LedgerSaver, thread: str, filter: Any
) -> None:
    """But for those that were read together with what was listed already."""
    for number in range(3 * PAGE):
        put(memory_saver, config_of(thread), number)
    listed = memory_saver.list(config_of(thread), filter=filter)
    values = [next(listed).checkpoint["channel_values"]["x"]]
    LedgerSaver(memory_saver.ledger, gate="off").prune([thread])
    values += [one.checkpoint["channel_values"]["x"] for one in listed]
    assert values == list(range(3 * PAGE))[::-1][:PAGE]


def test_the_mark_stands_in_no_metadata(memory_saver: LedgerSaver, thread: str) -> None:
    put(memory_saver, config_of(thread), 1)
    put(memory_saver, latest(memory_saver, thread).config, 2)
    assert not [name for name in latest(memory_saver, thread).metadata if name.startswith("__")]


# --- by graphs --------------------------------------------------------------------------------------


def meeting(saver: Any, thread: str, *, begun: bool) -> list[Any]:
    """Let two invocations of a graph meet after both loaded the thread; return what came of each."""
    barrier = threading.Barrier(2, timeout=60)
    config = config_of(thread)
    if begun:
        graph_of(saver, one).invoke({"said": ["begun"]}, config)

    class Met(LedgerSaver):
        def get_tuple(self, config: Any) -> Any:
            found = super().get_tuple(config)
            barrier.wait()
            return found

    def run(name: str) -> Any:
        graph = graph_of(Met(saver.ledger, gate="off"), one)
        try:
            return graph.invoke({"said": [name]}, config_of(thread))
        except PositionConflict as conflict:
            return conflict

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(run, ("a", "b")))


@pytest.mark.parametrize("begun", [False, True])
def test_of_two_graphs_on_one_thread_one_goes_on_and_the_other_is_told(
    saver: LedgerSaver, thread: str, begun: bool
) -> None:
    ended = meeting(saver, thread, begun=begun)
    won = [result for result in ended if isinstance(result, dict)]
    assert [type(result) for result in ended if result not in won] == [StateMoved]
    state = graph_of(saver, one).get_state(config_of(thread)).values
    assert won == [state], "nothing of the one that was told is in the state"


def test_who_saves_first_in_a_new_thread_is_not_overtaken_by_who_joined_it(
    memory_saver: LedgerSaver, thread: str
) -> None:
    """One that began a thread must notice another that went on from what it began with."""
    entered, go_on = threading.Event(), threading.Event()

    def slow(state: State) -> State:
        entered.set()
        assert go_on.wait(30)
        return {"said": ["slow"]}

    first = graph_of(memory_saver, slow, one)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(first.invoke, {"said": ["a"]}, config_of(thread), durability="sync")
        assert entered.wait(30)
        graph_of(LedgerSaver(memory_saver.ledger, gate="off"), one).invoke({"said": ["b"]}, config_of(thread))
        go_on.set()
        with pytest.raises(PositionConflict):
            running.result()
    said = first.get_state(config_of(thread)).values["said"]
    assert said == ["a", "b", "one"]


def test_a_graph_that_travels_back_branches_off_and_goes_on(saver: LedgerSaver, thread: str) -> None:
    graph, config = graph_of(saver, one, one), config_of(thread)
    graph.invoke({"said": ["a"]}, config)
    graph.invoke({"said": ["b"]}, config)
    past = next(state for state in graph.get_state_history(config) if state.values["said"] == ["a", "one"])
    assert graph.invoke(None, past.config)["said"] == ["a", "one", "one"]
    assert graph.get_state(config).values["said"] == ["a", "one", "one"]
    assert graph.invoke({"said": ["c"]}, config)["said"][3:] == ["c", "one", "one"]


def test_a_state_that_was_updated_is_gone_on_from(memory_saver: LedgerSaver, thread: str) -> None:
    graph, config = graph_of(memory_saver, one), config_of(thread)
    graph.invoke({"said": ["a"]}, config)
    graph.update_state(config, {"said": ["by hand"]})
    graph.update_state(graph.get_state(config).config, {"said": ["twice"]})
    assert graph.invoke({"said": ["b"]}, config)["said"] == ["a", "one", "by hand", "twice", "b", "one"]


def test_subgraphs_side_by_side_are_in_nobodys_way(saver: LedgerSaver, thread: str) -> None:
    def fan(state: State) -> list[Send]:
        return [Send("sub", {"said": [str(number)]}) for number in range(8)]

    inner = graph_of(None, one, one)
    builder = StateGraph(State)
    builder.add_node("sub", lambda state: {"said": inner.invoke({"said": []})["said"]})
    builder.add_conditional_edges(START, fan, ["sub"])
    graph = builder.compile(checkpointer=saver)
    assert graph.invoke({"said": []}, config_of(thread))["said"] == ["one"] * 16


@pytest.mark.parametrize("number", [7, "7"])
def test_a_thread_may_be_named_by_a_number(memory_saver: LedgerSaver, number: Any) -> None:
    graph = graph_of(memory_saver, one)
    graph.invoke({"said": [repr(number)]}, config_of(number))
    assert memory_saver.get_tuple(config_of("7")) is not None
    assert memory_saver.ledger.contract("7#1").saved is not None
