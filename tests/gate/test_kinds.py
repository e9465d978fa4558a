"""Each kind of reason: the history that shows it, what it says, and the event that clears it."""

from __future__ import annotations

import pytest

from ledger import events as e
from ledger.gate import KINDS, Judgement
from tests.gate.cases import BY_KIND, CASES, UNREADABLE
from tests.gate.scene import Case, Scene, scene

OPEN = [case for case in CASES if case.kind != "closed"]


def test_every_kind_has_its_example_once() -> None:
    assert sorted([*(case.kind for case in CASES), *UNREADABLE]) == sorted(KINDS)


def test_every_event_that_clears_a_reason_exists() -> None:
    """Beside what no event of a run can mend: an upgrade, and a person who looks at what was altered."""
    events = {kind.name for kind in e.EVENT_CLASSES}
    assert {kind.cleared_by for kind in KINDS.values()} - events == {"upgrade", "a person"}


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_history_shows_the_reason_with_what_since_when_where_and_who(case: Case) -> None:
    asked = scene(case)
    judged = asked.judged()
    assert [reason.kind for reason in judged.reasons] == [case.kind, *case.comes_with]
    assert judged.verdict is KINDS[case.kind].verdict
    reason = judged.reasons[0]
    for word in case.mentions:
        assert word in reason.what
    assert (reason.position, reason.since, reason.who) == (place(asked, case), case.since, case.who)
    assert reason.cleared_by == KINDS[case.kind].cleared_by


def place(asked: Scene, case: Case) -> int | None:
    """Find where the event stands that a case says its reason is about."""
    if case.at is None:
        return None
    if isinstance(case.at, e.CursorMoved | e.RunOpened):  # what they hold depends on the other cases
        kind = type(case.at)
        return max(record.position for record in asked.run.records if isinstance(record.event, kind))
    return asked.position_of(case.at)


@pytest.mark.parametrize("case", OPEN, ids=str)
def test_what_clears_a_reason_is_admitted_while_it_holds_the_run_and_lets_it_go_on(case: Case) -> None:
    begun = scene(case)
    refused = begun.asked()
    if case.kind != "still_running":
        judged = begun.judged()
        refused.then(e.ResumeRefused(reasons=judged.reasons, verdict=judged.verdict))
    held = begun.after(refused)
    cleared = case.clear(held)
    assert cleared.judged() == Judgement()
    resumed, message = cleared.asked().decision.events
    assert (type(resumed), type(message)) == (e.RunResumed, e.MessageRecorded)
    told = [record.name for record in cleared.asked().after.records]
    assert KINDS[case.kind].cleared_by in told


def test_a_closed_run_is_neither_held_nor_resumed_and_what_is_left_to_do_needs_another() -> None:
    closed = scene(BY_KIND["closed"])
    closed.asked().then_refused("run_is_closed", position=closed.run.position)
    assert BY_KIND["closed"].clear(closed).judged() == Judgement()
