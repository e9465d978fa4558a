"""`threads`: conversations whose states are kept, and letting go of those states."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels.delta import DeltaChannel
from langgraph.graph import START, StateGraph

from ledger import Ledger, open_ledger
from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.threads import run_name
from ledger.errors import OutcomeUnknown
from tests.adapters.cli.conftest import Call
from tests.adapters.cli.test_visible import steers
from tests.adapters.threads.plain import chat, ids, kept, states_of

WHY = ("--by", "human:kim", "--reason", "kept long enough")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a ledger with a thread that was closed once and has two lines, one with one state, and a run."""
    path = tmp_path / "threads.db"
    with open_ledger(path) as ledger:
        states = states_of(ledger)
        chat(states, "order-17", 3)
        ledger.run(run_name("order-17", 1)).close("completed")
        chat(states, "order-17", 2, line="sub")
        chat(states, "other", 1)
        ledger.open_run("no thread#1", "goal")
    return path


@pytest.fixture
def opened(path: Path) -> Iterator[Ledger]:
    with open_ledger(path) as ledger:
        yield ledger


def test_threads_are_listed_with_their_newest_run(call: Call, path: Path) -> None:
    found = call("threads", "list", "--ledger", path, "--json").document
    assert [(one["thread"], one["run"], one["runs"]) for one in found["threads"]] == [
        ("order-17", "order-17#2", 2),
        ("other", "other#1", 1),
    ]
    assert {key: found["threads"][0][key] for key in ("position", "status", "unsettled")} == {
        "position": 3,
        "status": "open",
        "unsettled": 0,
    }
    some = call("threads", "list", "--limit", "1", "--ledger", path)
    assert (len(some.out.splitlines()), some.err) == (2, "there are more: --limit 2\n")
    assert "order-17#2" in some.out
    assert "other#1" in call("threads", "list", "--prefix", "ot", "--ledger", path).out
    assert call("threads", "list", "--prefix", "x", "--ledger", path).out == "no threads\n"


def test_a_thread_is_shown_with_its_states_and_what_is_stored(call: Call, path: Path) -> None:
    found = call("threads", "show", "order-17", "--ledger", path, "--json").document
    assert (found["count"], found["unreadable"]) == (5, None)
    assert [(one["run"], one["status"], one["contents"]) for one in found["runs"]] == [
        ("order-17#2", "open", 2),
        ("order-17#1", "closed", 3),
    ]
    assert [(one["id"], one["line"], one["parent"]) for one in found["states"]][:3] == [
        ("2", "sub", "1"),
        ("1", "sub", None),
        ("3", None, "2"),
    ]
    told = call("threads", "show", "order-17", "--limit", "2", "--check", "--ledger", path)
    assert (told.code, told.err) == (0, "3 more: --limit 5\n")
    assert "thread order-17: 5 states" in told.out
    assert told.out.endswith("each state can be read\n")


def test_a_state_that_cannot_be_read_is_named(call: Call, path: Path, opened: Ledger) -> None:
    state = opened.run("order-17#1").states.find("1").state
    assert state is not None
    places = [row.place for row in opened.store.blob_rows("default", [state.digest])]
    opened.store.drop_blobs("default", places, since=opened.store.end(newest=True), but="")
    told = call("threads", "show", "order-17", "--check", "--ledger", path)
    assert told.code == 1
    assert "state 3 cannot be read: " in told.out
    found = call("threads", "show", "order-17", "--check", "--ledger", path, "--json")
    assert (found.code, [one["id"] for one in found.document["unreadable"]]) == (1, ["3", "2", "1"])


def test_a_thread_is_pruned_once_it_is_said_who_decided_it(call: Call, path: Path, opened: Ledger) -> None:
    before = kept(opened)
    asked = call("threads", "prune", "order-17", "--dry-run", "--ledger", path, "--json").document
    assert (asked["states"], asked["dry_run"], kept(opened)) == (3, True, before)
    unsaid = call("threads", "prune", "order-17", "--ledger", path)
    assert (unsaid.code, kept(opened)) == (64, before)
    assert "--by and --reason" in unsaid.err
    told = call("threads", "prune", "order-17", *WHY, "--ledger", path)
    assert told.code == 0
    assert told.out.startswith("3 states of thread order-17 gone, and 0 contents with 0 bytes\n")
    looks = re.findall(r"^  intent-ledger (.*)$", told.out, re.MULTILINE)
    assert [shlex.split(look)[1] for look in looks] == ["order-17#2", "order-17#1"]
    assert "reason 'kept long enough'" in call(*shlex.split(looks[-1]), "--ledger", path).out
    assert ids(states_of(opened), "order-17") == [("sub", "2"), (None, "3")]
    assert call("threads", "prune", "order-17", "--keep", "0", *WHY, "--ledger", path).code == 64


def test_a_thread_is_deleted(call: Call, path: Path, opened: Ledger) -> None:
    found = call("threads", "delete", "order-17", *WHY, "--ledger", path, "--json").document
    assert (found["states"], found["contents"], found["events"]) == (5, 5, 2)
    assert (ids(states_of(opened), "order-17"), kept(opened).contents) == ([], 1)
    assert call("verify", "--all", "--ledger", path).code == 0


@pytest.mark.parametrize("deed", ["show", "prune", "delete"])
def test_what_is_no_thread_is_told(call: Call, path: Path, deed: str) -> None:
    told = call("threads", deed, "nobody", *(() if deed == "show" else WHY), "--ledger", path)
    assert (told.code, told.out) == (3, "")
    assert "there is no thread 'nobody'" in told.err


def test_what_threads_and_states_are_called_steers_nothing(call: Call, path: Path, opened: Ledger) -> None:
    thread = "t[red]\u202e\x1b[31m"
    states_of(opened).save(thread, "s[red]\u202e", {}, b"", line="l\x1b[2J", parent="p[red]")
    for deed in (
        ("list",),
        ("show", thread, "--check"),
        ("prune", thread, "--dry-run"),
        ("show", f"{thread}x"),
    ):
        for form in ((), ("--json",)):
            told = call("threads", *deed, *form, "--ledger", path)
            assert told.out + told.err
            assert not any(steers(line) for line in (told.out + told.err).split("\n"))


def damage(opened: Ledger, run: str, *ids: str) -> None:
    """Take away the contents of states, as a disk may."""
    for id in ids:
        state = opened.run(run).states.find(id).state
        assert state is not None
        places = [row.place for row in opened.store.blob_rows("default", [state.digest])]
        opened.store.drop_blobs("default", places, since=opened.store.end(newest=True), but="")


def test_a_thread_is_pruned_although_an_older_state_cannot_be_read(
    call: Call, path: Path, opened: Ledger
) -> None:
    states = states_of(opened)
    for turn in range(1, 4):
        states.save("broken", str(turn), {"turn": turn}, b"head", parent=str(turn - 1) if turn > 1 else None)
    damage(opened, "broken#1", "1")
    told = call("threads", "prune", "broken", "--keep", "3", *WHY, "--ledger", path)
    assert told.code == 1
    assert "would stay and cannot be read, so nothing goes; drop it by name" in told.err
    assert "'1' of 'broken#1'" in told.err
    assert call("threads", "prune", "broken", *WHY, "--ledger", path).code == 0
    assert ids(states_of(opened), "broken") == [(None, "3")]


@pytest.mark.parametrize("chosen", [("--state", "2"), ("2",), ("--unreadable",)])
def test_states_that_cannot_be_read_are_dropped(
    call: Call, path: Path, opened: Ledger, chosen: tuple[str, ...]
) -> None:
    states = states_of(opened)
    for turn in range(1, 4):
        states.save("broken", str(turn), {"turn": turn}, b"head", parent=str(turn - 1) if turn > 1 else None)
    damage(opened, "broken#1", "2")
    asked = call("threads", "drop", "broken", *chosen, "--dry-run", "--ledger", path, "--json").document
    assert (asked["states"], asked["dry_run"]) == (1, True)
    assert call("threads", "drop", "broken", *chosen, *WHY, "--ledger", path).code == 0
    assert ids(states_of(opened), "broken") == [(None, "3"), (None, "1")]
    assert call("threads", "show", "broken", "--check", "--ledger", path).code == 0
    assert call("threads", "prune", "broken", "--keep", "2", *WHY, "--ledger", path).code == 0


def test_what_is_to_be_dropped_is_named(call: Call, path: Path) -> None:
    for chosen in ((), ("--state", "nine")):
        told = call("threads", "drop", "order-17", *chosen, *WHY, "--ledger", path)
        assert (told.code, told.out) == (64, "")
    assert "no state 'nine'" in told.err


def test_a_thread_that_is_asked_for_as_a_run_or_the_other_way_round_is_told_to_be_that(
    call: Call, path: Path
) -> None:
    for command in (
        ("contract",),
        ("log",),
        ("resume",),
        ("suspend", "--reason", "x"),
        ("export",),
        ("brief",),
    ):
        told = call(*command, "order-17", "--ledger", path)
        assert told.code == 3
        assert (
            "; it is a thread, and its newest run is order-17#2 (intent-ledger threads show order-17)"
            in told.err
        )
    for words in (("show",), ("prune", *WHY), ("delete", *WHY)):
        told = call("threads", *words, "order-17#1", "--ledger", path)
        assert told.code == 3
        assert "; it is a run of thread order-17 (intent-ledger contract order-17#1)" in told.err
    assert "thread" not in call("contract", "nothing", "--ledger", path).err
    assert "it is" not in call("threads", "show", "nothing", "--ledger", path).err


def test_a_run_that_was_opened_beforehand_is_listed_once_it_keeps_states(
    call: Call, path: Path, opened: Ledger
) -> None:
    opened.open_run("ahead#1", "Pay order 17")
    assert "ahead" not in call("threads", "list", "--ledger", path).out
    chat(states_of(opened), "ahead", 1)
    opened.run("ahead#1").close("completed")
    chat(states_of(opened), "ahead", 1)
    found = call("threads", "list", "--prefix", "ahead", "--ledger", path, "--json").document
    assert [(one["thread"], one["run"], one["runs"]) for one in found["threads"]] == [("ahead", "ahead#2", 2)]
    assert "thread ahead" in call("contract", "ahead#1", "--ledger", path).out


def test_agents_and_threads_with_unsettled_effects_are_refused(
    call: Call, path: Path, opened: Ledger
) -> None:
    with pytest.raises(OutcomeUnknown):
        opened.run("order-17#2").perform("charge", {}, lost)
    for more in (("--actor", "agent:a"), ()):
        told = call("threads", "delete", "order-17", *WHY, *more, "--ledger", path)
        assert (told.code, len(ids(states_of(opened), "order-17"))) == (4, 5)
    (unsettled,) = opened.contract("order-17#2").effects
    assert f"1 effects of run 'order-17#2' are unsettled (charge {unsettled.key[:12]})" in told.err
    asked = call("threads", "delete", "order-17", "--dry-run", "--ledger", path)
    assert asked.code == 4
    assert "5 states of thread order-17 would go" in asked.out
    assert f"it would be refused: 1 effect unsettled: charge {unsettled.key[:12]}" in asked.out
    assert "--force" in asked.out
    found = call("threads", "delete", "order-17", "--dry-run", "--force", "--ledger", path, "--json")
    assert (found.code, found.document["unsettled"]) == (0, [])
    assert call("threads", "delete", "order-17", "--force", *WHY, "--ledger", path).code == 0


def lost() -> None:
    raise ConnectionError


def test_a_checkpoint_keeps_those_that_its_delta_channels_are_made_of(
    call: Call, path: Path, opened: Ledger
) -> None:
    """Case-055: they would be empty, without a word."""
    graph = growing(LedgerSaver(opened))
    config: Any = {"configurable": {"thread_id": "graph"}}
    for turn in range(3):
        graph.invoke({"said": [f"turn {turn}"]}, config)
    before = graph.get_state(config).values
    told = call("threads", "prune", "graph", *WHY, "--ledger", path, "--json").document
    assert told["states"] > 0
    assert growing(LedgerSaver(opened)).get_state(config).values == before
    assert len(before["said"]) == 6


def test_what_delta_channels_are_made_of_is_not_dropped_alone(call: Call, path: Path, opened: Ledger) -> None:
    graph = growing(LedgerSaver(opened))
    config: Any = {"configurable": {"thread_id": "graph"}}
    for turn in range(3):
        graph.invoke({"said": [f"turn {turn}"]}, config)
    before = graph.get_state(config)
    parent = before.parent_config["configurable"]["checkpoint_id"]
    for damaged in (False, True):
        if damaged:
            damage(opened, "graph#1", parent)
        told = call("threads", "drop", "graph", "--state", parent, *WHY, "--ledger", path)
        assert (told.code, told.out) == (4, "")
        assert parent in told.err
        assert "is what others are read with" in told.err
    newer = ("--state", before.config["configurable"]["checkpoint_id"])
    assert call("threads", "drop", "graph", "--state", parent, *newer, *WHY, "--ledger", path).code == 0


def add(before: list[str], writes: list[list[str]]) -> list[str]:
    return [*before, *(one for some in writes for one in some)]


class State(TypedDict):
    said: Annotated[list[str], DeltaChannel(add, list, snapshot_frequency=4)]


def growing(saver: LedgerSaver) -> Any:
    builder = StateGraph(State)
    builder.add_node("answer", lambda state: {"said": [f"{len(state['said'])} said"]})
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)
