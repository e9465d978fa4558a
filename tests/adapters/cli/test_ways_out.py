"""The table of ways out, where several reasons speak of one grant, and where nobody asks."""

from __future__ import annotations

import pytest

from ledger import events as e
from ledger.adapters.cli.ways_out import Stop, ways_out, with_command_lines
from ledger.gate import KINDS
from ledger.testing import START, given
from ledger.values import Actor, Verdict
from tests.run import examples as x
from tests.run.briefed import brief_of

GRANT = x.granted("g", session="s-1", expires_at=START, budget=x.EUR_10)


def reason(kind: str, cleared_by: str | None = None) -> e.Reason:
    return e.Reason(cleared_by=cleared_by or KINDS[kind].cleared_by, kind=kind, position=2, what="it was so")


LACKS = {
    "authority_expired": " --expires-at TIME",
    "authority_exhausted": " --add-budget EUR=AMOUNT",
    "authority_of_another_session": " --session s-2",
    "authority_on_resume": "",
}


@pytest.mark.parametrize("kind", LACKS)
@pytest.mark.parametrize("asks", ["agent:refunds", "agent:other"])
def test_each_reason_about_a_grant_of_another_session_is_led_out_of_by_what_it_lacks(
    kind: str, asks: str
) -> None:
    contract = given(x.opened(), GRANT).contract
    (line,) = ways_out(Stop("run-1", reason(kind), contract, Actor(asks, session="s-2")))
    assert line == f"intent-ledger renew run-1 g{LACKS[kind]} --by human:NAME"


@pytest.mark.parametrize(
    ("run", "following"),
    [("order-17#1", "'order-17#2'"), ("order-17#9", "'order-17#10'"), ("run-1", "NEW-ID"), ("a#b", "NEW-ID")],
)
def test_the_run_of_a_thread_is_restarted_as_its_next(run: str, following: str) -> None:
    contract = given(x.opened()).contract
    (line,) = ways_out(Stop(run, reason("constraint_withdrawn"), contract, Actor("agent:refunds")))
    assert f" --as {following} " in line


def test_where_no_session_asks_another_grant_stands_beside_it() -> None:
    contract = given(x.opened(), GRANT).contract
    why = reason("authority_of_another_session", "authority.granted")
    (line,) = ways_out(Stop("run-1", why, contract, Actor("agent:refunds")))
    assert line == (
        "intent-ledger grant run-1 NEW-ID --principal agent:refunds --scope refund --granted-by human:NAME"
    )


def test_in_a_brief_the_session_that_goes_on_is_left_open() -> None:
    why = reason("authority_of_another_session")
    history = given(x.opened(), GRANT, e.ResumeRefused(reasons=(why,), verdict=Verdict.REAPPROVE))
    held, resume = with_command_lines(brief_of(history), history.contract, ("--tenant", "t")).next
    assert held.command_lines == ("intent-ledger renew run-1 g --session SESSION --by human:NAME --tenant t",)
    assert resume.command_lines == ("intent-ledger resume run-1 --tenant t",)


def test_a_kind_that_this_program_does_not_know_has_no_command_line_but_its_command() -> None:
    why = e.Reason(cleared_by="goal.revised", kind="dreamt", what="it was so")
    history = given(x.opened(), e.ResumeRefused(reasons=(why,), verdict=Verdict.REPLAN))
    brief = with_command_lines(brief_of(history), history.contract)
    assert brief.next[0].command_lines == ()
    assert "- goal.revise for run run-1\n" in brief.to_markdown()
