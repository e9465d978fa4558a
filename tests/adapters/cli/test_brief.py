"""`brief`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from ledger import open_ledger
from ledger.adapters.cli.remedies import REMEDIES as SHORT_NAMES
from ledger.gate import KINDS
from ledger.run.brief import Brief
from ledger.run.ways_out import REMEDIES
from tests.adapters.cli.acts import BOOKED, FAILED, LEAK, MAIL, REFUNDS, begin_now
from tests.adapters.cli.command import at_terminal
from tests.adapters.cli.conftest import Call
from tests.adapters.cli.ledgers import HOSTILE, HOSTILE_ID, KIM
from tests.adapters.cli.stops import STOPS, filled, make
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
    assert "- [tell] OVERDUE: Mail the customer\n  (to customer:17, due 2026-01-31 10:00:00Z" in answer.out


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
        brief = ledger.brief("refund-17", at=11).model_dump(mode="json", exclude_none=True)
    resume = ["intent-ledger resume refund-17 --ledger " + str(good)]
    assert [way.pop("command_lines") for way in document["next"]] == [resume]
    assert [way.pop("command_lines") for way in brief["next"]] == [[]]
    assert document == brief


def test_json_can_be_read_back(call: Call, acts: Path) -> None:
    out = call("brief", "refund-17", "--at", "9", "--ledger", acts, "--json").out
    read = Brief.model_validate_json(out)
    assert call("brief", "refund-17", "--at", "9", "--ledger", acts).out == read.to_markdown()


def test_at_shows_it_as_it_stood(call: Call, good: Path) -> None:
    for at in ("1", "2026-01-31T09:00:01Z"):
        answer = call("brief", "refund-17", "--at", at, "--ledger", good)
        assert answer.out.startswith(
            "# Takeover brief of run refund-17 at position 1\nJudged at 2026-01-31 09:00:01Z"
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


def lines(document: Any) -> list[list[str]]:
    return [way["command_lines"] for way in document["next"]]


def test_the_command_lines_that_lead_on_are_taken_as_they_stand(call: Call, acts: Path) -> None:
    document = call("brief", "refund-17", "--ledger", acts, "--json").document
    asked, settled, resume = lines(document)
    assert [line.split()[:3] for line in (asked[0], *settled, resume[0])] == [
        ["intent-ledger", "reconcile", "--run"],
        ["intent-ledger", "settle", MAIL],
        ["intent-ledger", "settle", MAIL],
        ["intent-ledger", "resume", "refund-17"],
    ]
    asked_without = asked[0].replace(" --tools MODULE", "")
    assert call(*filled(asked_without)).code == 2, "it asks, and cannot without the module"
    happened, did_not = settled
    assert "--did-not" in did_not
    assert call(*filled(happened)).code == 0
    document = call("brief", "refund-17", "--ledger", acts, "--json").document
    assert [one["key"] for one in document["done"]] == [MAIL, BOOKED], "in the order of their intentions"


@pytest.mark.parametrize("kind", [kind for kind in STOPS if KINDS[kind].cleared_by in REMEDIES])
def test_of_a_run_that_is_held_each_reason_is_led_out_of_by_the_lines_of_resume(
    call: Call, tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "stops.db"
    stop = make(path, kind)
    asked = call("resume", "r", *stop.ask, "--ledger", path, "--json").document["reasons"]
    ways = call("brief", "r", "--ledger", path, "--json").document["next"]
    resumed = {reason["what"]: reason["ways_out"] for reason in asked if reason["cleared_by"] in REMEDIES}
    found = {way["why"]: way for way in ways if "reason" in way}
    assert set(found) == set(resumed)
    for what, way in found.items():
        # Who asked is known to `resume` alone, and what would go on.
        assert [line.split()[:3] for line in way["command_lines"]] == [
            line.split()[:3] for line in resumed[what]
        ]
        assert way["command"] in {said(line) for line in way["command_lines"]}
        for text in way["fields"].values():
            assert text in way["command_lines"][-1]


SHORT = {
    "accept": "constraint.accept",
    "acknowledge": "constraint.acknowledge_revision",
    "deny": "approval.answer",
    "request-approval": "approval.request",
    "restart": "run.restart",
    **{name: remedy.saying.command for name, remedy in SHORT_NAMES.items()},
}


def said(line: str) -> str:
    """Name the command of the ledger that a command line says."""
    _, verb, *words = shlex.split(line)
    return words[0] if verb == "do" else SHORT.get(verb, verb)


def test_what_holds_a_run_is_written_with_its_command_line(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "stops.db"
    make(path, "limit_reached")
    call("resume", "r", *STOPS["limit_reached"].ask, "--ledger", path)
    first = f"intent-ledger resume r --actor human:NAME --ledger {path}"
    granted = "--principal agent:refunds --scope SCOPE --granted-by human:NAME"
    second = f"intent-ledger grant r NEW-ID {granted} --ledger {path}"
    clears = "authority.granted clears limit_reached: "
    told = call("brief", "r", "--ledger", path).out.partition("## Next\n")[2]
    assert told.startswith(f"- {first}\n  ({clears}")
    assert f"\n- {second}\n  (or instead: {clears}" in told
    shown = at_terminal("brief", "r", "--ledger", path, columns=40).out
    assert {f"- {first}", f"- {second}"} <= set(shown.splitlines()), "a line to be copied is not wrapped"


def test_a_brief_leads_to_its_tenant_whoever_reads_it(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "shop.db"
    with open_ledger(path, tenant="a shop") as ledger:
        ledger.open_run("r", "Refund order 17")
    monkeypatch.setenv("INTENT_LEDGER_URL", str(path))
    monkeypatch.setenv("INTENT_LEDGER_TENANT", "a shop")
    (resume,) = lines(call("brief", "r", "--json").document)
    assert resume == ["intent-ledger resume r --tenant 'a shop'"]
    (typed,) = lines(call("brief", "r", "--tenant", "a shop", "--json").document)
    assert typed == resume


def test_a_run_that_was_restarted_leads_to_its_successor(call: Call, tmp_path: Path) -> None:
    path = tmp_path / "lives.db"
    with open_ledger(path, actor=KIM) as ledger:
        ledger.open_run("-r", "Refund order 17")
        ledger.restart("-r", as_="-new", reason="other words", by="human:kim")
    (successor,) = lines(call("brief", "--ledger", path, "--json", "--", "-r").document)
    assert successor == [f"intent-ledger brief --ledger {path} -- -new"]
    assert call(*filled(successor[0])).code == 0


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


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_at_a_terminal_further_lines_of_an_entry_stand_deeper(good: Path, columns: int) -> None:
    out = at_terminal("brief", "refund-17", "--ledger", good, columns=columns).out
    begins = ("# ", "## ", "- ", "  (", "    ", "  ", "Judged at ")
    assert all(not line or line.startswith(begins) for line in out.splitlines())
    commands = [line for line in out.splitlines() if line.startswith("- intent-ledger ")]
    assert commands
    assert all(len(line) <= columns for line in out.splitlines() if line not in commands)
    assert "- step 2: refund\n" in out
