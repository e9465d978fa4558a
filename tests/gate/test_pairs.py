"""Every two kinds of reasons that can stand in one history, together and led out one after the other."""

from __future__ import annotations

from itertools import combinations

import pytest

from ledger import events as e
from ledger.gate import KINDS, STRICTNESS, Judgement
from ledger.gate.reasons import reason, verdict_of
from tests.gate.cases import CASES
from tests.gate.scene import Case, Scene, fits, scene
from tests.gate.test_kinds import place

OPEN = [case for case in CASES if case.kind != "closed"]
PAIRS = [(one, other) for one, other in combinations(OPEN, 2) if fits(one, other)]


def named(pairs: list[tuple[Case, Case]]) -> list[object]:
    return [pytest.param(one, other, id=f"{one}+{other}") for one, other in pairs]


def test_nearly_every_two_kinds_stand_in_one_history() -> None:
    """The others need another end of the run, another who asks, or another plan."""
    apart = {
        frozenset((one.kind, other.kind)) for one, other in combinations(OPEN, 2) if not fits(one, other)
    }
    assert apart == {
        frozenset(("limit_reached", "still_running")),
        frozenset(("limit_reached", "idle")),
        frozenset(("authority_missing", "authority_of_another_session")),
        frozenset(("assumption_refuted", "plan_refuted")),
    }


@pytest.mark.parametrize(("one", "other"), named(PAIRS))
def test_both_reasons_are_there_and_the_stricter_one_names_the_verdict(one: Case, other: Case) -> None:
    asked = scene(one, other)
    judged = asked.judged()
    both = {one.kind, other.kind}
    # Whoever executes an act of a run that nobody stopped is at work on it.
    executing = "effect_executing" in both and (one.stays_open or other.stays_open)
    more = {*one.comes_with, *other.comes_with, *(["still_running"] if executing else [])}
    assert both <= asked.kinds() <= both | more
    assert judged.verdict is max(
        (KINDS[one.kind].verdict, KINDS[other.kind].verdict), key=STRICTNESS.__getitem__
    )
    for case in (one, other):
        found = [reason for reason in judged.reasons if reason.kind == case.kind]
        assert place(asked, case) in [reason.position for reason in found]
    order = [STRICTNESS[KINDS[reason.kind].verdict] for reason in judged.reasons]
    assert order == sorted(order, reverse=True)


@pytest.mark.parametrize("first", [0, -1], ids=["strictest-first", "mildest-first"])
@pytest.mark.parametrize(("one", "other"), named(PAIRS))
def test_cleared_one_after_the_other_the_run_goes_on(one: Case, other: Case, first: int) -> None:
    asked = scene(one, other)
    for _ in range(6):
        reasons = asked.judged().reasons
        if not reasons:
            break
        asked = about(reasons[first], one, other).clear(recorded(asked))
        assert reasons[first] not in asked.judged().reasons
    assert asked.judged() == Judgement()
    assert isinstance(recorded(asked).run.records[-2].event, e.RunResumed)


def recorded(asked: Scene) -> Scene:
    return asked.after(asked.asked())


def about(said: e.Reason, one: Case, other: Case) -> Case:
    """Find which of two cases a reason is about: a remedy may have changed why it is given."""
    return max((one, other), key=lambda case: (_mentioned(said, case), case.kind == said.kind))


def _mentioned(said: e.Reason, case: Case) -> tuple[bool, int]:
    found = [word in said.what for word in case.mentions]
    return found[0], sum(found)


@pytest.mark.parametrize("one", KINDS)
@pytest.mark.parametrize("other", KINDS)
def test_of_any_two_reasons_the_stricter_one_names_the_verdict(one: str, other: str) -> None:
    found = verdict_of([reason(one, "this"), reason(other, "that")])
    assert found is verdict_of([reason(other, "that"), reason(one, "this")])
    assert STRICTNESS[found] == max(STRICTNESS[KINDS[one].verdict], STRICTNESS[KINDS[other].verdict])
