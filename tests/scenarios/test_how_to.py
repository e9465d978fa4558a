"""What the how-to about resuming says is what happens, and its programs run as they stand."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger, Step, Tool, open_ledger, tool
from ledger.errors import ContractChanged, NotForAgents, RunExists, RunIsHeld, Superseded
from tests.conftest import ROOT
from tests.test_readme import blocks, cli, run

PAGE = (ROOT / "docs/how-to/resume.md").read_text("utf-8")
COMMANDS = re.findall(r"^    ((?:intent-ledger|python) .*)$", PAGE, re.MULTILINE)
WORKER, EXAMPLE = blocks(PAGE, "python")
WORKED, PRINTED = blocks(PAGE, "text")

ONE, OTHER = (Actor("agent:refunds", session=name) for name in ("worker-1", "worker-2"))
KIM = Actor("human:kim")


def test_the_example_runs(tmp_path: Path) -> None:
    assert run(EXAMPLE, tmp_path) == PRINTED


def test_the_worker_runs_and_ends_the_second_time_with_what_it_did(tmp_path: Path) -> None:
    assert run(WORKER, tmp_path) == WORKED
    assert run(WORKER, tmp_path) == "the run was closed as completed at position 5\n"


class Desk:
    """The worker of the page at a ledger whose clock can be set."""

    def __init__(self, folder: Path) -> None:
        self.program: dict[str, Any] = {"__name__": "worker"}
        exec(compile(WORKER, "worker.py", "exec"), self.program)
        self.now = datetime(2026, 1, 30, 9, tzinfo=UTC)
        self.refund: Tool = self.program["refund"]
        self.ledger: Ledger = open_ledger(
            folder / "refunds.db", clock=lambda: self.now, tools=[self.refund, look_up]
        )

    def work(self, me: Actor, *, after: float = 1.0) -> None:
        self.now += timedelta(seconds=after)
        self.program["work"](self.ledger, 17, me)

    def killed(self, me: Actor, *, after: float = 1.0) -> None:
        """Let the worker die once the outside has done it, before anybody is told."""
        assert self.refund.function is not None
        pay = self.refund.function

        def dies(order: int, *, effect: object) -> str:
            pay(order, effect=effect)
            raise KeyboardInterrupt

        self.program["refund"] = replace(self.refund, function=dies)
        with pytest.raises(KeyboardInterrupt):
            self.work(me, after=after)
        self.program["refund"] = self.refund

    def kim(self) -> Any:
        return self.ledger.run("refund-17", actor=KIM)


@tool(recovery="read_only", fresh_for=3600)
def look_up(order: int) -> dict[str, int]:
    return {"order": order}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    with desk.ledger:
        yield desk


Told = pytest.CaptureFixture[str]


@pytest.mark.parametrize("me", [ONE, OTHER], ids=["same_session", "other_session"])
def test_a_worker_that_was_killed_inside_of_its_call_finds_out_and_pays_nothing_again(
    desk: Desk, me: Actor, capsys: Told
) -> None:
    desk.killed(ONE)
    desk.work(me)
    (asked, *why) = capsys.readouterr().out.splitlines()
    assert asked == "refund not_asked"
    assert any(line.startswith("reconcile, effect_executing: ") for line in why)
    desk.work(me, after=700)
    assert capsys.readouterr().out == "refund happened\n17 re_17\n"
    assert len(desk.program["BANK"]) == 1


def test_who_else_starts_it_meanwhile_is_told_so_and_holds_nobody(desk: Desk, capsys: Told) -> None:
    desk.ledger.open_run("refund-17", "Refund order 17", actor=ONE, runtime=desk.program["RUNTIME"])
    with pytest.raises(RunExists):
        desk.ledger.open_run("refund-17", "Refund order 17", actor=OTHER, runtime=desk.program["RUNTIME"])
    desk.work(OTHER)
    assert capsys.readouterr().out.startswith("reconcile, still_running: ")
    desk.work(ONE)
    assert capsys.readouterr().out == "17 re_17\n"


def test_a_worker_that_is_stopped_before_its_call_leaves_the_run(desk: Desk, capsys: Told) -> None:
    enter = desk.program["enter"]

    def stopped_meanwhile(*given: Any) -> Any:
        run = enter(*given)
        desk.kim().suspend(reason="night", by="human:kim")
        return run

    desk.program["enter"] = stopped_meanwhile
    desk.work(ONE)
    assert capsys.readouterr().out.startswith("left: ")
    assert not desk.program["BANK"]
    desk.program["enter"] = enter
    desk.work(ONE)
    assert capsys.readouterr().out == "17 re_17\n"


def test_a_worker_whose_call_fails_tries_again_at_the_next_start(desk: Desk, capsys: Told) -> None:
    def declined(order: int) -> None:
        raise ValueError("declined")

    desk.program["refund"] = replace(desk.refund, function=declined, definite_errors=(ValueError,))
    desk.work(ONE)
    assert capsys.readouterr().out.startswith("not done: ")
    desk.program["refund"] = desk.refund
    desk.work(ONE)
    assert capsys.readouterr().out == "17 re_17\n"


def test_a_worker_goes_on_with_the_successor_of_its_run(desk: Desk, capsys: Told) -> None:
    desk.killed(ONE)
    desk.now += timedelta(seconds=60)
    desk.ledger.restart("refund-17", as_="refund-17-b", reason="new limit", by="human:kim", actor=KIM)
    desk.work(ONE, after=60)
    assert capsys.readouterr().out.splitlines()[-1] == "17 re_17"
    assert desk.ledger.contract("refund-17-b").status == "closed"
    assert len(desk.program["BANK"]) == 1


@pytest.mark.parametrize("operator", [KIM, Actor("service:desk")], ids=lambda one: str(one.id))
def test_an_operator_lets_it_go_on_and_the_worker_picks_it_up(
    desk: Desk, operator: Actor, capsys: Told
) -> None:
    run = desk.ledger.open_run("refund-17", "Refund order 17", actor=ONE, runtime=desk.program["RUNTIME"])
    desk.kim().grant(
        "all",
        principal="agent:refunds",
        session="worker-1",
        scopes=["refund"],
        granted_by="human:kim",
    )
    run.move("begun")
    desk.kim().renew("all", session="worker-2", by="human:kim")
    decision = desk.ledger.resume("refund-17", actor=operator, take_over=True)
    assert decision, decision.reasons
    with pytest.raises(Superseded):
        run.move("on")
    desk.work(OTHER)
    assert capsys.readouterr().out == "17 re_17\n"


def test_the_commands_of_the_page_let_a_run_go_on_that_another_worker_left(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "refunds.db") as ledger:
        gone = ledger.open_run("refund-17", "Refund order 17", actor=Actor("agent:refunds", session="gone"))
        gone.move("begun")
    assert run(WORKER, tmp_path).startswith("reconcile, still_running: ")
    resuming, working, *_ = COMMANDS
    assert working == "python worker.py"
    assert cli(*shlex.split(resuming)[1:], folder=tmp_path).returncode == 0
    assert run(WORKER, tmp_path) == WORKED


def test_the_commands_of_the_page_keep_a_run_stopped_that_its_agent_starts_again(tmp_path: Path) -> None:
    actor = Actor("agent:refunds", session="s-1")
    with open_ledger(tmp_path / "refunds.db") as ledger:
        ledger.open_run("refund-17", "Refund order 17", actor=actor).move("begun")
        ledger.run("refund-17").grant(
            "till-friday",
            principal="agent:refunds",
            scopes=["refund"],
            granted_by="human:kim",
            on_resume="continue",
        )
    _, _, suspending, revoking = COMMANDS
    for words in (suspending, revoking):
        said = cli(*shlex.split(words)[1:], "--ledger", "refunds.db", folder=tmp_path)
        assert said.returncode == 0, said.stderr
        with open_ledger(tmp_path / "refunds.db") as ledger:
            told = ledger.resume("refund-17", actor=actor, dry_run=True)
            kept = [] if words == suspending else ["authority_revoked", "authority_missing"]
            assert sorted(one.kind for one in told.reasons) == sorted(kept)


def test_a_take_over_of_a_worker_inside_of_its_call_holds_the_run_and_its_report_counts(desk: Desk) -> None:
    run = desk.ledger.open_run("refund-17", "Refund order 17", actor=ONE)
    with run.effect(desk.refund, {"order": 17}, step="refund") as effect:
        told = desk.ledger.resume("refund-17", actor=OTHER)
        assert {one.kind for one in told.reasons} == {"still_running", "effect_executing"}
        assert (told.position, desk.ledger.contract("refund-17").status) == (None, "open")
        taken = desk.ledger.resume("refund-17", actor=KIM, take_over=True)
        assert [one.kind for one in taken.reasons] == ["effect_executing"]
        assert desk.ledger.contract("refund-17").status == "held"
        with pytest.raises(RunIsHeld):
            run.move("on")
        effect.succeed("re_17")
    assert desk.ledger.effect(effect.key).status == "succeeded"
    assert desk.ledger.resume("refund-17", actor=KIM, take_over=True)


@pytest.mark.parametrize("milder", [{"live_seconds": 0}, {"idle_seconds": None}, {"idle_seconds": 86_401}])
def test_an_agent_makes_the_gate_no_milder(desk: Desk, milder: dict[str, Any]) -> None:
    desk.ledger.open_run("refund-17", "Refund order 17", actor=ONE)
    with pytest.raises(NotForAgents):
        desk.ledger.resume("refund-17", actor=OTHER, **milder)
    assert desk.ledger.resume("refund-17", actor=KIM, **milder).verdict.value in ("continue", "reconcile")


def test_between_two_resumes_an_act_is_stopped_by_what_was_refuted_and_not_by_what_is_stale(
    desk: Desk,
) -> None:
    run = desk.ledger.open_run("refund-17", "Refund order 17", actor=ONE)
    run.perform(look_up, {"order": 17})
    run.assume("in-stock", "The item is in stock")
    steps = {"stale": look_up.observes({"order": 17}), "refuted": "assumption:in-stock"}
    run.commit_plan([Step(name=name, rests_on=(ref,)) for name, ref in steps.items()])
    desk.kim().refute("in-stock", evidence="it is sold out", by="human:kim")
    desk.now += timedelta(hours=2)
    assert run.perform(desk.refund, {"order": 17}, step="stale") == "re_17"
    with pytest.raises(ContractChanged):
        run.perform(desk.refund, {"order": 18}, step="refuted")
    kinds = {one.kind for one in desk.ledger.resume("refund-17", actor=ONE).reasons}
    assert "observation_stale" in kinds
