"""`brief`."""

from __future__ import annotations

import shlex
from pathlib import Path

import click
import pytest

from ledger import open_ledger
from ledger.adapters.cli.app import command
from ledger.events import Reason, ResumeRefused, RunOpened
from ledger.run.brief import Brief
from ledger.run.ways_out import REMEDIES, ways_out
from ledger.testing import given
from ledger.values import Verdict
from tests.adapters.cli.acts import BOOKED, FAILED, LEAK, MAIL, REFUNDS, begin_now
from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Call
from tests.adapters.cli.ledgers import HOSTILE, HOSTILE_ID
from tests.adapters.cli.test_visible import steers


def headings(text: str) -> list[str]:
    return [line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")]


def test_shows_all_that_somebody_must_know_as_markdown(call: Call, good: Path) -> None:
    answer = call("brief", "refund-17", "--ledger", good)
    assert (answer.code, answer.err) == (0, "")
    first, judged, *_ = answer.out.splitlines()
    assert first == "# Takeover brief of run refund-17 at position 11"
    assert judged.startswith("Judged at ")
    assert headings(answer.out) == [
        "Where it stands",
        "Goal",
        "How the goal came to that",
        "Said since the last sign of life",
        "Constraints in force: follow every one",
        "Claimed, and not said by the source that is named: ask before you rely on one",
        "Plan",
        "Where the program stands",
        "Owed",
        "Taken for granted",
        "Not to be relied on: look again",
        "Authority",
        "Next",
    ]
    assert (
        "- [tell] OVERDUE: Mail the customer\n  (to customer:17, due 2026-01-31T10:00:00.000000Z"
        in answer.out
    )


def test_says_what_was_done_what_was_not_and_what_nobody_knows(call: Call, acts: Path) -> None:
    document = call("brief", "refund-17", "--ledger", acts, "--json").document
    assert [one["key"] for one in document["done"]] == [BOOKED]
    assert [one["key"] for one in document["failed"]] == [FAILED]
    assert [(one["key"], one["way"]) for one in document["unsettled"]] == [
        *((key, "probe") for key in REFUNDS),
        (MAIL, "person"),
    ]
    out = call("brief", "refund-17", "--ledger", acts).out
    for key in (BOOKED, FAILED, MAIL, *REFUNDS):
        assert f"key {key}" in out, "in full, to be looked up"


def test_what_is_under_way_is_left_to_its_worker(call: Call, acts: Path) -> None:
    key = begin_now(acts)
    (found,) = call("brief", "busy", "--ledger", acts, "--json").document["unsettled"]
    assert (found["key"], found["status_now"], found["way"]) == (key, "executing", "worker")


def test_json_is_the_brief_that_the_library_gives(call: Call, good: Path) -> None:
    document = call("brief", "refund-17", "--at", "11", "--ledger", good, "--json").document
    with open_ledger(good) as ledger:
        assert document == ledger.brief("refund-17", at=11).model_dump(mode="json", exclude_none=True)


def test_json_can_be_read_back(call: Call, acts: Path) -> None:
    out = call("brief", "refund-17", "--at", "9", "--ledger", acts, "--json").out
    read = Brief.model_validate_json(out)
    assert call("brief", "refund-17", "--at", "9", "--ledger", acts).out == read.to_markdown()


def test_at_shows_it_as_it_stood(call: Call, good: Path) -> None:
    for at in ("1", "2026-01-31T09:00:01Z"):
        answer = call("brief", "refund-17", "--at", at, "--ledger", good)
        assert answer.out.startswith(
            "# Takeover brief of run refund-17 at position 1\nJudged at 2026-01-31T09:00:01"
        )
        assert headings(answer.out) == ["Where it stands", "Goal", "Next"]
    answer = call("brief", "refund-17", "--at", "noon", "--ledger", good)
    assert (answer.code, answer.out) == (64, "")


def test_who_is_not_there_is_an_error_and_nothing_is_written(call: Call, good: Path) -> None:
    before = good.read_bytes()
    answer = call("brief", "nobody", "--ledger", good, "--json")
    assert (answer.code, answer.out, answer.error["code"]) == (3, "", "run_not_found")
    call("brief", "refund-17", "--ledger", good)
    assert good.read_bytes() == before


def test_a_run_that_has_ended_says_how(call: Call, good: Path) -> None:
    out = call("brief", "done", "--ledger", good).out
    assert "- closed as cancelled by human:kim: not needed\n" in out
    assert headings(out) == ["Where it stands", "Goal"]


def test_the_commands_that_lead_on_exist_and_take_what_they_are_given(call: Call, acts: Path) -> None:
    ways = call("brief", "refund-17", "--ledger", acts, "--json").document["next"]
    commands = [shlex.split(way["command"]) for way in ways]
    assert [command[:2] for command in commands] == [
        ["intent-ledger", "reconcile"],
        ["intent-ledger", "settle"],
        ["intent-ledger", "resume"],
    ]
    asked, settled, _ = commands
    words = [word for word in asked[1:] if word not in {"--tools", "MODULE"}]
    assert call(*words, "--ledger", acts).code == 2, "it asks, and cannot without the module"
    assert call(*settled[1:], "--ledger", acts).code == 0
    document = call("brief", "refund-17", "--ledger", acts, "--json").document
    assert [one["key"] for one in document["done"]] == [MAIL, BOOKED], "in the order of their intentions"


@pytest.mark.parametrize("event", REMEDIES)
def test_every_remedy_is_a_command_line_that_is_taken(event: str) -> None:
    reason = Reason(cleared_by=event, kind="idle", what="it was so")
    held = given(RunOpened(goal="Pay"), ResumeRefused(reasons=(reason,), verdict=Verdict.REPLAN)).contract
    way, _ = ways_out(held, ())
    program, verb, *words = shlex.split(way.command)
    assert program == "intent-ledger"
    group = command()
    group.commands[verb].make_context(verb, words, parent=click.Context(group))


def test_no_secret_that_an_outside_says_appears(call: Call, acts: Path, shop: Path) -> None:
    call("reconcile", "--tools", shop, "--ledger", acts)
    for answer in (
        call("brief", "refund-17", "--ledger", acts),
        call("brief", "refund-17", "--ledger", acts, "--json"),
    ):
        assert "found unknown" in answer.out or '"found":"unknown"' in answer.out
        assert LEAK not in answer.out


def test_no_stored_text_steers_a_terminal_or_passes_for_a_line_of_ours(call: Call, hostile: Path) -> None:
    answer = call("brief", HOSTILE_ID, "--ledger", hostile)
    assert answer.code == 0
    assert not any(steers(line) for line in answer.out.split("\n"))
    allowed = ("# ", "## ", "- ", "  (", "    ", "Judged at ")
    assert all(not line or line.startswith(allowed) for line in answer.out.split("\n"))
    document = call("brief", HOSTILE_ID, "--ledger", hostile, "--json").document
    assert document["goal"]["text"] == HOSTILE
    shown = at_terminal("brief", HOSTILE_ID, "--ledger", hostile, columns=60)
    assert not any(steers(line) for line in shown.out.split("\n"))
