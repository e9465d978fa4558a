"""`suspend`, `cancel`, `restart`, `fork`: what people do with whole runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import Ledger, open_ledger
from ledger.errors import EffectsDisabled, RunIsHeld
from tests.adapters.cli.acts import begin_now
from tests.adapters.cli.conftest import Alter, Call
from tests.adapters.cli.ledgers import KIM
from tests.adapters.cli.stops import filled, make

BY = ("--by", "human:kim")
WHY = ("--reason", "the shop is closed")


# --- suspend -----------------------------------------------------------------------------------------


def test_a_suspended_run_waits_and_one_is_told_what_asks_whether_it_goes_on(call: Call, good: Path) -> None:
    answer = call("suspend", "refund-17", *WHY, *BY, "--ledger", good)
    assert answer.code == 0
    assert answer.out == "Recorded: run.suspended, position 12\n"
    assert answer.err.endswith("whether it may go on: intent-ledger resume refund-17\n")
    with open_ledger(good) as ledger:
        waits = ledger.contract("refund-17").suspended
        assert waits is not None
        assert (waits.reason, waits.by, waits.cause) == ("the shop is closed", "human:kim", "asked")
        with pytest.raises(RunIsHeld):
            ledger.run("refund-17").move("next")


def test_saying_it_twice_adds_nothing(call: Call, good: Path) -> None:
    first = call("suspend", "refund-17", *WHY, "--ledger", good, "--json").document
    again = call("suspend", "refund-17", *WHY, "--ledger", good, "--json").document
    assert (first["repeated"], first["position"], first["status"]) == (False, 12, "suspended")
    assert [event["name"] for event in first["events"]] == ["run.suspended"]
    assert (again["repeated"], again["position"], again["events"]) == (True, 12, [])
    words = call("suspend", "refund-17", *WHY, "--ledger", good).out
    assert words == "Nothing new: refund-17 says so already, at position 12\n"


def test_a_run_that_has_ended_is_not_suspended(call: Call, good: Path) -> None:
    answer = call("suspend", "done", *WHY, "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (4, "run_is_closed")


# --- cancel ------------------------------------------------------------------------------------------


def test_a_cancelled_run_has_ended_and_what_it_owed_is_listed(call: Call, good: Path) -> None:
    answer = call("cancel", "refund-17", *WHY, *BY, "--ledger", good)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.splitlines() == [
        "Run refund-17 is cancelled, position 12",
        "",
        "Still owed",
        "  tell to customer:17, due 2026-01-31 10:00:00Z: Mail the customer",
    ]
    with open_ledger(good) as ledger:
        closed = ledger.contract("refund-17").closed
        assert closed is not None
        assert (closed.outcome.value, closed.by, closed.obligations) == ("cancelled", "human:kim", ("tell",))


def test_acts_on_their_way_are_unknown_and_each_says_how_it_is_settled(call: Call, acts: Path) -> None:
    key = begin_now(acts)
    answer = call("cancel", "busy", *WHY, "--ledger", acts)
    assert answer.code == 2
    assert "\nStill on its way: 1 act, of which the worker will tell\nship: executing since " in answer.out
    for found in ("--happened", "--did-not"):
        assert f"\n  intent-ledger settle {key} --run busy {found} " in answer.out
    assert call("cancel", "refund-17", *WHY, "--ledger", acts).out.count("intent-ledger settle ") == 8
    document = call("cancel", "refund-17", *WHY, "--ledger", acts, "--json").document
    assert document["in_doubt"] == 4
    assert {effect["status"] for effect in document["effects"]} == {"unknown"}
    # Its outcome is heard after the end.
    said = ("--happened", "--evidence", "it left", *BY)
    assert call("settle", key, *said, "--ledger", acts, "--json").document["came_to"] == "settled"


def test_cancelling_again_adds_nothing_and_in_other_words_is_refused(call: Call, good: Path) -> None:
    call("cancel", "refund-17", *WHY, "--ledger", good)
    again = call("cancel", "refund-17", *WHY, "--ledger", good)
    assert again.out.startswith("Run refund-17 was cancelled already, position 12\n")
    other = call("cancel", "refund-17", "--reason", "another one", "--ledger", good, "--json")
    assert (other.code, other.error["code"]) == (4, "run_is_closed")


# --- children ----------------------------------------------------------------------------------------


@pytest.fixture
def family(tmp_path: Path) -> Path:
    """Make a run with a child that was restarted, one that goes on, has ended, waits, and a grandchild."""
    path = tmp_path / "family.db"
    with open_ledger(path, actor=KIM) as ledger:
        parent = ledger.open_run("p", "All of it")
        for name in ("again", "ended", "goes-on", "waits"):
            parent.open_child(f"p/{name}", f"A part: {name}")
        ledger.restart("p/again", as_="p/again-2", reason="anew", by="human:kim")
        ledger.run("p/ended").close("completed")
        ledger.run("p/waits").suspend(reason="night")
        ledger.run("p/goes-on").open_child("p/goes-on/deep", "A part of a part")
    return path


GOES_ON = ["p/again-2", "p/goes-on", "p/goes-on/deep"]


def test_who_cancels_a_run_is_told_which_children_have_not_ended(call: Call, family: Path) -> None:
    answer = call("cancel", "p", *WHY, *BY, "--ledger", family)
    assert answer.code == 0
    title = "\nChild runs that have not ended: no act begins in them any more\n"
    told = answer.out.partition(title)[2].splitlines()
    assert [line.split(":")[0].strip() for line in told[::2]] == [*GOES_ON, "p/waits"]
    for line in told[1::2]:
        assert call(*filled(line.strip()), "--json").document["status"] == "closed"
    assert "Child runs" not in call("cancel", "p", *WHY, *BY, "--ledger", family).out
    assert call("cancel", "p", *WHY, *BY, "--ledger", family, "--json").document["children"] == []


def test_who_suspends_a_run_is_told_which_children_go_on(call: Call, family: Path) -> None:
    document = call("suspend", "p", *WHY, "--ledger", family, "--json").document
    assert [(child["run"], child["status"]) for child in document["children"]] == [
        (name, "open") for name in GOES_ON
    ]
    assert document["children"][0]["alive"]["by"] == "human:kim"
    told = call("suspend", "p", *WHY, "--ledger", family).out
    assert "\nChild runs that are not suspended themselves: no act begins in them until it goes on\n" in told
    assert f"  intent-ledger suspend p/goes-on/deep --reason TEXT --by human:NAME --ledger {family}\n" in told


def test_who_suspends_a_run_by_the_word_of_an_agent_is_told_that_its_children_go_on(
    call: Call, family: Path
) -> None:
    told = call("suspend", "p", *WHY, "--actor", "agent:x", "--ledger", family).out
    assert "\nChild runs that go on\n" in told


def test_from_a_child_nobody_is_told_of_its_parent(call: Call, family: Path) -> None:
    assert call("suspend", "p/goes-on/deep", *WHY, "--ledger", family, "--json").document["children"] == []
    told = call("cancel", "p/goes-on", *WHY, *BY, "--ledger", family, "--json").document["children"]
    assert [child["run"] for child in told] == ["p/goes-on/deep"]


def test_a_child_that_cannot_be_read_is_named(call: Call, family: Path, alter: Alter) -> None:
    alter(family, "UPDATE events SET hash = zeroblob(32) WHERE run = 'p/goes-on'")
    told = call("cancel", "p", *WHY, *BY, "--ledger", family, "--json").document["children"]
    assert {"run": "p/goes-on", "status": "cannot be read"} in told


# --- restart -----------------------------------------------------------------------------------------


@pytest.fixture
def gone(tmp_path: Path) -> Path:
    path = tmp_path / "gone.db"
    make(path, "constraint_withdrawn")
    with open_ledger(path, actor=KIM) as ledger:
        run = ledger.run("r")
        run.accept("tell", "Tell the customer", asserted_by="human:kim")
        run.grant("g", principal="agent:refunds", scopes=["refund"], granted_by="human:kim")
    return path


def test_a_restart_tells_what_the_successor_has_and_what_it_was_not_given(call: Call, gone: Path) -> None:
    answer = call("restart", "r", "--as", "r2", *WHY, *BY, "--ledger", gone)
    assert answer.code == 0
    assert answer.err == ("nobody runs it yet: its program picks it up with ledger.resume('r2')\n")
    assert answer.out.splitlines() == [
        "Run r is closed; r2 succeeds it",
        "  goal: Refund order 17",
        "",
        "It has",
        "  1 constraint: tell",
        "  0 assumptions",
        "  0 obligations",
        "  1 grant: g",
        "  0 effects done, found by their keys",
        "",
        "It was not given",
        "  constraint:limit-100: policy:refunds withdrew it at its position 3 by human:kim: replaced",
        "",
        "Asked now for agent:refunds, the gate would say continue",
    ]
    with open_ledger(gone) as ledger:
        assert ledger.contract("r2").predecessor == "r"


def test_a_restart_is_told_alike_when_it_is_said_again(call: Call, gone: Path) -> None:
    said = ("restart", "r", "--as", "r2", *WHY, *BY, "--ledger", gone, "--json")
    first, again = call(*said), call(*said)
    assert first.document == again.document
    assert first.document["successor"] == "r2"
    assert [dropped["ref"] for dropped in first.document["dropped"]] == ["constraint:limit-100"]
    assert (first.document["contract"]["status"], first.document["effects_done"]) == ("open", 0)


def test_unsettled_acts_go_on_with_the_successor(call: Call, acts: Path) -> None:
    answer = call("restart", "refund-17", "--as", "next", *WHY, *BY, "--ledger", acts)
    assert answer.code == 2, "what became of them is not known"
    assert "  4 effects whose outcome is open: refund " in answer.out
    assert "  1 effect done, found by its key" in answer.out
    assert "\nAsked now for agent:refunds, the gate would say reconcile\n" in answer.out
    assert answer.out.count("\n  effect_unknown: ") == 4
    assert call("restart", "refund-17", "--as", "next", *WHY, *BY, "--ledger", acts, "--json").code == 2


def test_a_restart_tells_what_the_gate_would_say_of_the_successor(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "reworded.db"
    make(path, "constraint_reworded")
    said = ("restart", "r", "--as", "r2", *WHY, *BY, "--ledger", path)
    answer = call(*said)
    assert answer.code == 0
    asks = "intent-ledger resume r2 --dry-run --actor agent:refunds --actor-session s-1 --ledger"
    told = answer.out.partition("\nAsked now for agent:refunds, the gate would say replan\n")[2].splitlines()
    assert [line.partition(":")[0] for line in told[:3]] == [
        "  constraint_reworded",
        "  source_revised",
        "  what clears each",
    ]
    assert told[3:] == [f"  {asks} {path}"]
    document = call(*said, "--json").document["gate"]
    assert (document["actor"], document["session"]) == ("agent:refunds", "s-1")
    assert [reason["kind"] for reason in document["reasons"]] == ["constraint_reworded", "source_revised"]
    asked = call(*filled(told[-1].strip()), "--json")
    assert (asked.code, asked.document["verdict"]) == (10, document["verdict"])
    with open_ledger(path, actor=KIM) as ledger:
        ledger.run("r2").close("cancelled", by="human:kim")
    assert call(*said, "--json").document["gate"] is None, "it has ended by now"


def test_a_goal_that_fell_needs_another_one(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "fell.db"
    make(path, "goal_refuted")
    said = ("restart", "r", "--as", "r2", *WHY, *BY, "--ledger", path, "--json")
    assert call(*said).error["code"] == "contract_changed"
    again = call(*said, "--goal", "Refund in vouchers", "--rests-on", "constraint:x")
    goal = again.document["contract"]["goal"]
    assert (goal["text"], goal["rests_on"]) == ("Refund in vouchers", ["constraint:x"])


def test_an_agent_restarts_nothing(call: Call, gone: Path) -> None:
    said = ("restart", "r", "--as", "r2", *WHY, *BY, "--ledger", gone, "--json")
    answer = call(*said, "--actor", "agent:refunds")
    assert (answer.code, answer.error["code"]) == (4, "not_for_agents")
    assert answer.error["message"] == (
        "run.restart is for people and services, not for agent:refunds: "
        "say with --actor who writes (human:NAME), and with --by who decided it"
    )


def test_an_id_that_is_taken_is_refused(call: Call, good: Path) -> None:
    answer = call("restart", "refund-17", "--as", "other", *WHY, *BY, "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (4, "run_exists")


# --- fork --------------------------------------------------------------------------------------------


def test_a_fork_stands_where_the_other_run_stood(call: Call, good: Path) -> None:
    answer = call("fork", "refund-17", "--as", "what-if", "--at", "6", "--ledger", good)
    assert answer.code == 0
    assert answer.out.startswith("Run what-if stands where refund-17 stood at position 6\n")
    assert "\nAsked now for agent:refunds, the gate would say " in answer.out
    with open_ledger(good) as ledger:
        assert ledger.contract("what-if").goal.text == "Refund order 17"
        assert ledger.contract("what-if").fork_of == "refund-17"
        assert performs_nothing(ledger)
    document = call("fork", "refund-17", "--as", "what-if", "--at", "6", "--ledger", good, "--json").document
    assert (document["run"], document["fork"], document["at"]) == ("refund-17", "what-if", 6)
    assert document["contract"]["fork_of"] == "refund-17"
    assert (document["repeated"], document["gate"]["actor"]) == (True, "agent:refunds")
    again = call("fork", "refund-17", "--as", "what-if", "--at", "6", "--ledger", good).out
    assert again.startswith("Run what-if was there already, and began where refund-17 stood at position 6\n")


def performs_nothing(ledger: Ledger) -> bool:
    with pytest.raises(EffectsDisabled):
        ledger.run("what-if").perform("look-up", {}, dict, step="look-up")
    return True


def test_a_position_that_never_was_is_refused(call: Call, good: Path) -> None:
    answer = call("fork", "refund-17", "--as", "what-if", "--at", "99", "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (4, "not_open")
