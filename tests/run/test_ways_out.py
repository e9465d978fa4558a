"""What leads on from a brief, as commands."""

from __future__ import annotations

import pytest

from ledger import events as e
from ledger.gate.reasons import KINDS
from ledger.run import ways_out
from ledger.run.brief import Told, build
from ledger.run.contract import Contract
from ledger.testing import History, given
from ledger.values import Ending, Recovery, Verdict
from tests.run import examples as x
from tests.run.briefed import FULL, LATER, brief_of


def test_the_next_steps_of_a_run_that_is_open() -> None:
    brief = brief_of(FULL, LATER)
    assert [way.command for way in brief.next] == [
        "intent-ledger reconcile --run=run-1 --tools MODULE",
        "intent-ledger resume run-1",
    ]


def test_a_person_settles_what_nobody_can_ask_about() -> None:
    history = given(x.opened(), x.intended(recovery=Recovery.AT_MOST_ONCE), x.started())
    first = brief_of(history, LATER).next[0]
    assert first.command == f"intent-ledger settle --happened --evidence TEXT --by human:NAME {x.ONE}"


def held_by(*kinds: str, verdict: Verdict = Verdict.REFUSE) -> History[Contract | None]:
    reasons = tuple(
        e.Reason(cleared_by=KINDS[kind].cleared_by, kind=kind, what=f"because of {kind}") for kind in kinds
    )
    return given(x.opened(), e.ResumeRefused(reasons=reasons, verdict=verdict))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_held_shows_every_reason_and_what_clears_it(kind: str) -> None:
    brief = brief_of(held_by(kind))
    assert brief.held is not None
    (reason,) = brief.held.reasons
    assert reason.cleared_by == KINDS[kind].cleared_by
    assert f"- {kind}: because of {kind}\n  (cleared by " in brief.to_markdown()
    named = [way for way in brief.next if way.why == reason.what]
    assert bool(named) is (reason.cleared_by in ways_out.REMEDIES)


def test_every_reason_has_a_way_out_or_is_one_that_no_command_clears() -> None:
    named = {kind.cleared_by for kind in KINDS.values()}
    by_settling = {"effect.reconciled", "effect.succeeded", "run.resumed"}
    by_others = {"approval.requested", "run.opened", "upgrade", "a person"}
    assert named == set(ways_out.REMEDIES) | by_settling | by_others


def test_a_remedy_names_what_the_reason_speaks_of() -> None:
    reason = e.Reason(cleared_by="authority.renewed", kind="authority_expired", position=2, what="it ended")
    other = reason.with_fields({"position": 9})
    held = e.ResumeRefused(reasons=(reason, other), verdict=Verdict.REAPPROVE)
    commands = [way.command for way in brief_of(given(x.opened(), x.granted("till noon"), held)).next]
    assert commands == [
        "intent-ledger renew --by human:NAME run-1 'till noon'",
        "intent-ledger renew --by human:NAME run-1 ID",
        "intent-ledger resume run-1",
    ]


def test_ids_cannot_break_out_of_a_command() -> None:
    contract = given(x.opened(), x.intended(), x.started()).contract
    named = contract.with_fields({"run": "-x; rm -rf '$HOME'", "tenant": "a b"})
    commands = [way.command for way in build(named, Told(), LATER).next]
    assert commands == [
        """intent-ledger --tenant='a b' reconcile --run='-x; rm -rf '"'"'$HOME'"'"'' --tools MODULE""",
        """intent-ledger --tenant='a b' resume -- '-x; rm -rf '"'"'$HOME'"'"''""",
    ]


def test_a_run_that_was_restarted_leads_to_its_successor_and_one_that_ended_nowhere() -> None:
    restarted = given(x.opened(), e.RunClosed(outcome=Ending.RESTARTED, successor="run-2"))
    assert [way.command for way in brief_of(restarted).next] == ["intent-ledger brief run-2"]
    assert brief_of(given(x.opened(), x.CLOSED)).next == ()
    fork = given(*x.FORK_EVENTS)
    assert [way.command for way in brief_of(fork).next] == ["intent-ledger brief run-0"]
