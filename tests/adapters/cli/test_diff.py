"""`diff`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ledger import Source, Step, open_ledger
from ledger.run.diff import Diff
from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Call
from tests.adapters.cli.ledgers import AGENT, KIM, ticking
from tests.conftest import ROOT

LONG = "\n".join(
    f"line {number} of a rule that goes on for longer than any terminal is wide" for number in range(5)
)

AT_6 = "2026-01-31 09:00:06Z, position 6"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return a ledger of a run that was replanned, and of another one that goes on where it ended."""
    path = tmp_path / "runs.db"
    with open_ledger(path, actor=AGENT, clock=ticking()) as ledger:
        ledger.source("policy:refunds", actor=KIM).publish(
            "4", {"limit-100": "At most 100 EUR"}, by="human:kim"
        )
        run = ledger.open_run("refund-17", "Refund order 17")
        source = Source("policy", "refunds", revision="4")
        run.accept("limit-100", "At most 100 EUR", source=source, asserted_by="human:kim")
        run.accept("kind", "Be kind", asserted_by="human:kim")
        run.commit_plan([Step(name="look"), Step(name="pay"), Step(name="tell")])
        ledger.run("refund-17", actor=KIM).withdraw("kind", reason="goes without saying", by="human:kim")
        run.revise_goal(LONG, reason="customer asked", by="human:kim")
        run.revise_plan(
            [Step(name="pay", tool="refund"), Step(name="tell"), Step(name="look")], reason="faster"
        )
        other = ledger.open_run("refund-17-again", LONG)
        other.commit_plan([Step(name="pay", tool="refund"), Step(name="tell"), Step(name="look")])
    return path


def found(document: dict[str, Any]) -> list[tuple[str, ...]]:
    return [(one["what"], one.get("id", ""), one["change"]) for one in document["differences"]]


def test_shows_what_was_and_what_is_who_changed_it_and_why(call: Call, runs: Path) -> None:
    answer = call("diff", "refund-17", "--at", "5", "--to", "6", "--ledger", runs)
    lines = answer.out.splitlines()
    assert answer.code == 0
    assert lines[0].startswith("From run refund-17 at position 5: open, 2026-01-31 09:00:05Z, terms v1:")
    assert lines[1].startswith("To   run refund-17 at position 6: open, 2026-01-31 09:00:06Z, terms v1:")
    assert lines[2:] == [
        "The terms DIFFER.",
        "",
        "Goal",
        "  changed",
        "    - text: 'Refund order 17'",
        f"    + text: {LONG.splitlines()[0]}",
        *(f"    | {line}" for line in LONG.splitlines()[1:]),
        f"    goal.revised by human:kim, written by {AGENT.id}, {AT_6}: customer asked",
    ]


def test_names_the_event_that_took_away_what_is_gone(call: Call, runs: Path) -> None:
    document = call("diff", "refund-17", "--at", "4", "--to", "6", "--ledger", runs, "--json").document
    assert found(document) == [("goal", "", "changed"), ("constraint", "kind", "removed")]
    gone = document["differences"][1]
    assert "new" not in gone
    assert {name: gone["origin"][name] for name in ("event", "position", "by", "reason")} == {
        "event": "constraint.withdrawn",
        "position": 5,
        "by": "human:kim",
        "reason": "goes without saying",
    }


def test_compares_a_run_as_it_was_opened_with_the_run_now(call: Call, runs: Path) -> None:
    document = call("diff", "refund-17", "--ledger", runs, "--json").document
    assert (document["old"]["position"], document["new"]["position"]) == (1, 7)
    assert found(document) == [
        ("goal", "", "changed"),
        ("step", "look", "added"),
        ("step", "pay", "added"),
        ("step", "tell", "added"),
        ("constraint", "limit-100", "added"),
        ("source", "policy:refunds", "added"),
    ]


def test_a_plan_shows_what_changed_and_what_moved(call: Call, runs: Path) -> None:
    answer = call("diff", "refund-17", "--at", "6", "--ledger", runs)
    plan = answer.out.partition("\nPlan\n")[2].splitlines()
    assert plan[:3] == ["  moved look", "    - place: 1", "    + place: 3"]
    assert plan[3].endswith("position 7: faster")
    assert plan[4:6] == ["  changed pay", "    + tool: refund"]


def test_a_successor_with_the_same_plan_and_goal_differs_in_the_rest(call: Call, runs: Path) -> None:
    document = call("diff", "refund-17", "refund-17-again", "--ledger", runs, "--json").document
    assert found(document) == [
        ("constraint", "limit-100", "removed"),
        ("source", "policy:refunds", "removed"),
    ]
    assert not document["same_terms"]


def test_the_document_is_what_the_library_returns(call: Call, runs: Path) -> None:
    document = call("diff", "refund-17", "refund-17-again", "--at", "5", "--ledger", runs, "--json").document
    with open_ledger(runs) as ledger:
        expected = ledger.diff("refund-17", "refund-17-again", at=5)
    assert document.pop("same_terms") == expected.same_terms
    assert Diff.model_validate(document) == expected


def test_a_time_is_taken_for_either_side(call: Call, runs: Path) -> None:
    times = ("--at", "2026-01-31T09:00:05Z", "--to", "2026-01-31T10:00:06+01:00")
    document = call("diff", "refund-17", *times, "--ledger", runs, "--json").document
    assert (document["old"]["position"], document["new"]["position"]) == (5, 6)


def test_the_exit_code_tells_a_difference_only_where_it_was_asked_to(call: Call, runs: Path) -> None:
    assert call("diff", "refund-17", "--ledger", runs).code == 0
    assert call("diff", "refund-17", "--exit-code", "--ledger", runs).code == 1
    same = call("diff", "refund-17", "refund-17", "--exit-code", "--ledger", runs)
    assert (same.code, same.out.splitlines()[2:]) == (0, ["The terms are the same.", "Nothing differs."])


def test_a_long_text_is_whole_at_a_terminal(runs: Path) -> None:
    out = at_terminal("diff", "refund-17", "--ledger", runs, columns=50).out
    assert " ".join(LONG.split()) in " ".join(out.replace("| ", "").split())
    assert all(len(line) <= 50 for line in out.splitlines())


@pytest.mark.parametrize(("option", "path"), [("--at", "at"), ("--to", "to")])
def test_a_position_the_run_never_had_is_refused_by_the_name_of_its_option(
    call: Call, runs: Path, option: str, path: str
) -> None:
    answer = call("diff", "refund-17", option, "99", "--ledger", runs, "--json")
    assert (answer.code, answer.out) == (64, "")
    assert answer.error["data"]["path"] == path
    answer = call("diff", "refund-17", option, "noon", "--ledger", runs)
    assert (answer.code, answer.out) == (64, "")
    assert option in answer.err


def test_a_run_nobody_opened_cannot_be_compared(call: Call, runs: Path) -> None:
    for names in (("nobody",), ("nobody", "refund-17"), ("refund-17", "nobody")):
        answer = call("diff", *names, "--ledger", runs, "--json")
        assert (answer.code, answer.error["code"]) == (3, "run_not_found")


def test_the_page_names_each_field_of_the_document(call: Call, runs: Path) -> None:
    section = (
        (ROOT / "docs/how-to/cli.md").read_text().partition("## See what changed\n")[2].partition("\n## ")[0]
    )
    document = call("diff", "refund-17", "--at", "4", "--ledger", runs, "--json").document
    names = {*document, *document["old"]}
    for one in document["differences"]:
        names |= {*one, *one["origin"]}
    assert {name for name in names if f"`{name}`" not in section} == set()


def test_times_stand_in_one_form_in_a_pipe_and_at_a_terminal(call: Call, good: Path) -> None:
    assert "+ due: 2026-01-31 10:00:00Z\n" in call("diff", "refund-17", "--ledger", good).out
    assert "+ due: 2026-01-31 10:00:00Z\n" in at_terminal("diff", "refund-17", "--ledger", good).out
