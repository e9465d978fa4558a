"""`resume`: what the gate says, its exit codes, and the ways out that it prints."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ledger import Verdict, open_ledger
from ledger.adapters.cli.app import command
from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.options import Given
from ledger.adapters.cli.resume import code_of
from ledger.adapters.cli.saying import given_where
from ledger.adapters.cli.ways_out import WAYS, WORDS, Stop, ways_out
from ledger.adapters.settings import Settings
from ledger.events import Reason
from ledger.gate import KINDS
from ledger.values import Actor
from tests.adapters.cli.command import Answer, at_terminal
from tests.adapters.cli.conftest import Alter, Call
from tests.adapters.cli.ledgers import KIM, respelt
from tests.adapters.cli.stops import STOPS, filled, make

UNREADABLE = {"chain_broken", "closed", "newer_format", "undecodable", "unknown_event"}
BY_PEOPLE = {"effect_executing"}
"""What no command of this release clears by itself."""
GOES_ON = {"limit_reached", "still_running"}
"""What is led out by asking in another way."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "stops.db"


@pytest.fixture
def ask(call: Call, path: Path) -> Call:
    def asked(*arguments: str) -> Answer:
        return call("resume", "r", *arguments, "--ledger", path, "--json")

    return asked


# --- every verdict -----------------------------------------------------------------------------------


def test_each_verdict_has_a_code_of_its_own() -> None:
    assert {verdict.value: int(code_of(verdict)) for verdict in Verdict} == {
        "continue": 0,
        "replan": 10,
        "reconcile": 11,
        "reapprove": 12,
        "restart": 13,
        "refuse": 14,
    }


def test_every_kind_of_reason_is_stopped_for_here() -> None:
    assert set(STOPS) == set(KINDS) - UNREADABLE


@pytest.mark.parametrize("kind", STOPS)
def test_a_reason_is_told_with_its_ways_out_and_the_code_of_its_verdict(
    ask: Call, path: Path, kind: str
) -> None:
    stop = make(path, kind)
    answer = ask(*stop.ask)
    document = answer.document
    assert {reason["kind"] for reason in document["reasons"]} == {kind, *stop.among}
    verdict = KINDS[kind].verdict
    assert (document["verdict"], answer.code) == (verdict.value, code_of(verdict))
    for reason in document["reasons"]:
        assert reason["ways_out"]
        assert reason["cleared_by"] == KINDS[reason["kind"]].cleared_by
    if kind != "still_running":
        assert document["status"] == "held"
        with open_ledger(path) as ledger:
            assert ledger.contract("r").held.position == document["position"]  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", [kind for kind in STOPS if kind not in BY_PEOPLE | GOES_ON])
def test_the_last_way_out_clears_it(call: Call, ask: Call, path: Path, kind: str) -> None:
    stop = make(path, kind)
    (first, *_) = [r for r in ask(*stop.ask).document["reasons"] if r["kind"] == kind]
    seen = {"TIME": "2021-01-01T00:00:00Z"} if "observation" in first["cleared_by"] else {}
    done = call(*filled(first["ways_out"][-1], **seen))
    assert done.code == 0, done.err
    if KINDS[kind].verdict is Verdict.RESTART:
        with open_ledger(path) as ledger:
            assert ledger.contract("r").closed.successor == "new"  # type: ignore[union-attr]
        assert call("resume", "new", "--ledger", path, "--actor", "agent:refunds").code == 0
        return
    answer = ask(*stop.ask)
    assert (answer.code, answer.document["reasons"]) == (0, [])
    assert answer.document["incarnation"] == 2


@pytest.mark.parametrize("kind", sorted(GOES_ON))
def test_another_way_of_asking_leads_on(call: Call, ask: Call, path: Path, kind: str) -> None:
    stop = make(path, kind)
    way = ask(*stop.ask).document["reasons"][0]["ways_out"][0]
    answer = call(*filled(way), "--json")
    assert (answer.code, answer.document["verdict"]) == (0, "continue")


def test_what_a_worker_holds_is_shown(call: Call, ask: Call, path: Path) -> None:
    make(path, "effect_executing")
    way = ask().document["reasons"][0]["ways_out"][0]
    assert call(*filled(way), "--json").document["effects"][0]["status"] == "executing"


def test_until_when_a_worker_holds_it_is_told(call: Call, ask: Call, path: Path) -> None:
    make(path, "effect_executing")
    (reason,) = ask().document["reasons"]
    (effect,) = call("effects", "r", "--ledger", path, "--json").document["effects"]
    assert reason["until"] == effect["lease_until"]
    until = reason["until"][:19].replace("T", " ")
    assert f"its lease ends, {until}Z unless it is renewed:\n" in call("resume", "r", "--ledger", path).out


def test_where_somebody_is_at_work_the_heading_says_that(call: Call, path: Path) -> None:
    make(path, "still_running")
    assert call("resume", "r", "--ledger", path).out.startswith(
        "RECONCILE: run r may not go on: somebody else is at work on it (told, and not recorded)\n"
    )


# --- the table of ways out ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("run", ["r", "-r", "a 'run'"])
def test_each_way_out_is_a_command_line_that_the_program_takes(kind: str, run: str) -> None:
    reason = Reason(cleared_by=KINDS[kind].cleared_by, kind=kind, what="model: a before, b now", position=1)
    lines = ways_out(Stop(run, reason, None, Actor("agent:x", session="s")), ("--ledger", "x y.db"))
    assert lines
    for line in lines:
        parse(filled(line))


def parse(words: list[str]) -> None:
    """Let the program read a command line, and do nothing.

    Raises:
        Exception: it does not take it.
    """
    found: Any = command()
    context = found.make_context("intent-ledger", words)
    while hasattr(found, "get_command"):
        name, found, rest = found.resolve_command(context, [*context._protected_args, *context.args])
        context = found.make_context(name, rest, parent=context)


def test_the_tables_are_complete_and_name_no_kind_that_is_not_there() -> None:
    assert set(WAYS) == set(KINDS)
    assert set(WORDS) <= set(KINDS)


# --- continue ----------------------------------------------------------------------------------------


def test_who_lets_it_go_on_is_told_that_nobody_runs_it_yet(call: Call, good: Path) -> None:
    answer = call("resume", "other", "--ledger", good)
    assert answer.code == 0
    assert answer.out.startswith("CONTINUE: run other goes on as incarnation 2 (recorded at position 3)\n")
    assert answer.err == ("nobody runs it yet: its program picks it up with ledger.resume('other')\n")
    with open_ledger(good) as ledger:
        assert ledger.run("other").move("next").position == 5


def test_where_an_agent_goes_on_it_is_said_to_be_the_one(call: Call, good: Path) -> None:
    answer = call("resume", "other", "--actor", "agent:x", "--actor-session", "s-9", "--ledger", good)
    assert answer.code == 0
    assert answer.err == "agent:x, session s-9, goes on with it: its program picks it up as that\n"


def test_the_document_holds_what_the_resumed_agent_is_told(call: Call, good: Path) -> None:
    document = call("resume", "other", "--ledger", good, "--json").document
    with open_ledger(good) as ledger:
        resumed = next(iter(ledger.log("other", after=2)))
        contract = ledger.contract("other", at=3)
    assert document["prompt"] == contract.to_prompt(resumed.at)
    assert (document["verdict"], document["position"], document["status"]) == ("continue", 3, "open")
    assert document["message"]


# --- asking ------------------------------------------------------------------------------------------


def test_a_dry_run_records_nothing(ask: Call, path: Path) -> None:
    make(path, "idle")
    with open_ledger(path) as ledger:
        before = ledger.contract("r").position
    answer = ask("--dry-run")
    assert (answer.code, answer.document["position"], answer.document["status"]) == (10, None, "open")
    with open_ledger(path) as ledger:
        assert ledger.contract("r").position == before


def test_asking_twice_records_one_refusal(ask: Call, path: Path) -> None:
    make(path, "effect_unknown")
    assert ask().document["position"] == ask().document["position"]


def test_how_long_a_run_may_lie_still_is_an_option(ask: Call, path: Path) -> None:
    make(path, "idle")
    assert ask("--dry-run", "--idle-seconds", "60").code == 10
    assert ask("--dry-run", "--idle-seconds", "0").code == 0


def test_how_long_a_run_counts_as_running_is_an_option(ask: Call, path: Path) -> None:
    make(path, "still_running")
    assert ask("--dry-run").code == 11
    assert ask("--dry-run", "--live-seconds", "0").code == 0


def test_who_worked_on_it_in_the_same_session_goes_on(ask: Call, path: Path) -> None:
    make(path, "still_running")
    assert ask("--actor", "agent:refunds", "--actor-session", "s-2").code == 11
    assert ask("--actor", "agent:refunds", "--actor-session", "s-1").code == 0


def test_an_agent_does_not_take_over(ask: Call, path: Path) -> None:
    make(path, "still_running")
    answer = ask("--take-over", "--actor", "agent:other")
    assert (answer.code, answer.error["code"]) == (4, "not_for_agents")
    assert "--actor who writes" in answer.error["message"]


def test_the_words_tell_since_when_who_and_where(call: Call, path: Path) -> None:
    make(path, "constraint_withdrawn")
    answer = call("resume", "r", "--ledger", path)
    assert answer.code == Exit.RESTART
    title, _, *rest = answer.out.splitlines()
    assert title == "RESTART: run r may not go on, for 1 reason (recorded at position 4)"
    assert rest[0].startswith("1. restart, constraint_withdrawn: policy:refunds withdrew 'limit-100'")
    assert rest[1].startswith("   since 2020-01-31 09:00:")
    assert rest[1].endswith(" ago), by human:kim, position 2")
    assert rest[2] == "   cleared by run.restarted:"
    assert rest[3] == (
        f"   intent-ledger restart r --as NEW-ID --reason TEXT --by human:NAME --ledger {path}"
    )


def test_a_way_out_leads_to_the_ledger_that_was_named(call: Call, path: Path, monkeypatch: Any) -> None:
    make(path, "idle")
    monkeypatch.setenv("INTENT_LEDGER_URL", str(path))
    unnamed = call("resume", "r", "--json").document["reasons"][0]["ways_out"]
    assert unnamed == ["intent-ledger revise-goal r --reason TEXT --by human:NAME"]
    before = call("--ledger", path, "--tenant", "default", "resume", "r", "--json").document
    assert before["reasons"][0]["ways_out"][0].endswith(f"--ledger {path} --tenant default")


def test_a_terminal_never_wraps_a_way_out(path: Path) -> None:
    make(path, "constraint_withdrawn")
    out = at_terminal("resume", "r", "--ledger", path, columns=40).out
    (line,) = [line for line in out.splitlines() if "intent-ledger restart" in line]
    assert line.endswith(str(path))


# --- what cannot be asked ----------------------------------------------------------------------------


def test_a_run_that_has_ended_is_no_verdict(call: Call, good: Path) -> None:
    answer = call("resume", "done", "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (4, "run_is_closed")


def test_asking_creates_no_run(call: Call, good: Path) -> None:
    answer = call("resume", "nobody", "--ledger", good, "--json")
    assert (answer.code, answer.error["code"]) == (3, "run_not_found")


def test_a_run_that_cannot_be_read_is_refused_and_the_ledger_itself_notes_it(
    call: Call, good: Path, alter: Alter
) -> None:
    alter(good, respelt(good, b'"name":"run.closed"', b'"name":"run.dreamt"'))
    assert call("resume", "done", "--dry-run", "--ledger", good).code == Exit.REFUSE
    assert call("log", "$ledger", "--ledger", good).err == "no event in this range\n"
    answer = call("resume", "done", "--ledger", good)
    assert answer.code == Exit.REFUSE
    assert answer.out.startswith("REFUSE: run done cannot be read, for 1 reason (recorded: ")
    assert "   upgrade intent-ledger, and ask again:\n   intent-ledger verify done " in answer.out
    call("resume", "done", "--ledger", good)
    (line,) = call("log", "$ledger", "--ledger", good).out.splitlines()
    assert "ledger.run_refused" in line
    assert "run done" in line


@pytest.mark.parametrize(
    "arguments",
    [
        ("--runtime", "model"),
        ("--runtime", "engine=x"),
        ("--runtime", "model=a", "--runtime", "model=b"),
        ("--live-seconds", "-1"),
        ("--idle-seconds", "soon"),
        ("--actor-session", ""),
    ],
)
def test_what_is_malformed_is_told_so(call: Call, good: Path, arguments: tuple[str, ...]) -> None:
    answer = call("resume", "other", *arguments, "--ledger", good)
    assert (answer.code, answer.out) == (64, "")
    with open_ledger(good, actor=KIM) as ledger:
        assert ledger.contract("other").status == "suspended"


def test_a_way_out_never_shows_the_address_of_a_server() -> None:
    settings = Settings(url="postgresql://kim:geheim@db/ledger", tenant="shop")
    context = SimpleNamespace(obj=Given(settings.url, None, None))
    where = given_where(settings, context, settings.url, "shop")  # type: ignore[arg-type]
    assert where == ["--tenant", "shop"]
