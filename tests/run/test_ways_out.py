"""What leads on from a brief, as commands of the ledger."""

from __future__ import annotations

import pytest

from ledger import events as e
from ledger.commands import COMMANDS
from ledger.gate.reasons import KINDS
from ledger.run import ways_out
from ledger.run.brief import Brief, Told, build
from ledger.run.contract import Contract
from ledger.testing import History, given
from ledger.values import Ending, Recovery, Verdict
from tests.run import examples as x
from tests.run.briefed import FULL, LATER, brief_of


def said(brief: Brief) -> list[tuple[str | None, str, dict[str, str]]]:
    return [(way.command, way.run, dict(way.fields)) for way in brief.next]


def test_the_next_steps_of_a_run_that_is_open() -> None:
    brief = brief_of(FULL, LATER)
    assert said(brief) == [
        ("effect.reconcile", "run-1", {}),
        ("approval.request", "run-1", {"key": x.ONE}),
        ("run.resume", "run-1", {}),
    ]
    assert brief.next[0].why == "asks the outside about refund"
    assert {way.command_lines for way in brief.next} == {()}, "how they are typed, the core does not know"


def test_a_person_settles_what_nobody_can_ask_about() -> None:
    history = given(x.opened(), x.intended(recovery=Recovery.AT_MOST_ONCE), x.started())
    first, _ = said(brief_of(history, LATER))
    assert first == ("effect.reconcile", "run-1", {"key": x.ONE, "method": "person"})


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
    named = [way for way in brief.next if way.reason == reason]
    assert bool(named) is (reason.cleared_by in ways_out.REMEDIES)
    for way in named:
        assert way.command == ways_out.REMEDIES[reason.cleared_by].command
        assert way.why == reason.what
        assert (
            f"- {way.command} for run run-1\n  ({reason.cleared_by} clears {kind}: because of {kind})\n"
            in (brief.to_markdown())
        )


def test_every_reason_has_a_way_out_or_is_one_that_no_command_clears() -> None:
    named = {kind.cleared_by for kind in KINDS.values()}
    by_settling = {"effect.reconciled", "effect.succeeded", "run.resumed"}
    by_others = {"approval.requested", "run.opened", "upgrade", "a person"}
    assert named == set(ways_out.REMEDIES) | by_settling | by_others


@pytest.mark.parametrize("event", ways_out.REMEDIES)
def test_a_remedy_is_a_command_that_a_stopped_run_takes(event: str) -> None:
    remedy = ways_out.REMEDIES[event]
    command = COMMANDS[remedy.command]
    assert set(remedy.names) <= set(command.model_fields)
    assert command.remedy or command.report


SPOKEN_OF: list[tuple[e.Event, str, str, dict[str, str]]] = [
    (x.granted("till noon"), "authority.renewed", "authority.renew", {"id": "till noon"}),
    (x.granted(), "authority.granted", "authority.grant", {"principal": "agent:refunds"}),
    (x.accepted("kind"), "constraint.accepted", "constraint.accept", {"id": "kind"}),
    (
        x.accepted(source=x.POLICY, source_position=1, published=True),
        "constraint.revision_acknowledged",
        "constraint.acknowledge_revision",
        {"source": x.POLICY.stream},
    ),
    (e.ApprovalRequested(id="ok", key=x.ONE), "approval.requested", "approval.request", {"key": x.ONE}),
    (e.AssumptionMade(id="a", text="It is"), "assumption.refuted", "assumption.refute", {"id": "a"}),
    (x.observed(), "observation.recorded", "observation.record", {"key": "stock", "tool": "count"}),
]


@pytest.mark.parametrize(("event", "cleared_by", "command", "fields"), SPOKEN_OF)
def test_a_remedy_names_what_the_reason_speaks_of(
    event: e.Event, cleared_by: str, command: str, fields: dict[str, str]
) -> None:
    reason = e.Reason(cleared_by=cleared_by, kind="any", position=2, what="it was so")
    elsewhere = reason.with_fields({"position": 1})
    nowhere = reason.with_fields({"position": None})
    held = e.ResumeRefused(reasons=(reason, elsewhere, nowhere), verdict=Verdict.REPLAN)
    assert said(brief_of(given(x.opened(), event, held))) == [
        (command, "run-1", fields),
        (command, "run-1", {}),
        (command, "run-1", {}),
        ("run.resume", "run-1", {}),
    ]


def test_every_remedy_that_names_something_is_shown_above() -> None:
    assert {one[1] for one in SPOKEN_OF} == {event for event, one in ways_out.REMEDIES.items() if one.names}


def test_what_was_revoked_or_must_not_be_relied_on_is_found_where_that_was_said() -> None:
    history = given(
        x.opened(),
        x.granted(),
        e.AuthorityRevoked(by="human:kim", id="refunds", reason="left"),
        x.observed(),
        e.ObservationInvalidated(key="stock", reason="broken sensor"),
    )
    revoked = e.Reason(cleared_by="authority.granted", kind="any", position=3, what="it was revoked")
    invalid = e.Reason(cleared_by="observation.recorded", kind="any", position=5, what="it is wrong")
    assert ways_out.spoken_of(history.contract, revoked) == history.contract.revoked[0]
    assert ways_out.spoken_of(history.contract, invalid) == history.contract.observations[0]


def test_the_text_shows_command_lines_where_somebody_added_them() -> None:
    brief = brief_of(given(x.opened()))
    typed = brief.next[0].with_fields({"command_lines": ("go on", "take it")})
    assert (
        brief.with_fields({"next": (typed,)})
        .to_markdown()
        .endswith(f"## Next\n- go on\n  ({typed.why})\n- take it\n  (or instead: {typed.why})\n")
    )


def test_ids_cannot_pass_for_words_of_ours() -> None:
    contract = given(x.opened(), x.intended(recovery=Recovery.AT_MOST_ONCE), x.started()).contract
    text = build(contract.with_fields({"run": "x, key y"}), Told(), LATER).to_markdown()
    assert f'- effect.reconcile for run "x, key y", key {x.ONE}, method person\n' in text
    assert '- run.resume for run "x, key y"\n' in text


def test_a_run_that_was_restarted_leads_to_its_successor_and_one_that_ended_nowhere() -> None:
    restarted = brief_of(given(x.opened(), e.RunClosed(outcome=Ending.RESTARTED, successor="run-2")))
    assert said(restarted) == [(None, "run-2", {})]
    assert "## Next\n- see run run-2\n" in restarted.to_markdown()
    assert brief_of(given(x.opened(), x.CLOSED)).next == ()
    assert said(brief_of(given(*x.FORK_EVENTS))) == [(None, "run-0", {})]
