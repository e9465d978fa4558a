"""Who asks about a run that works holds it in no case: not by being somebody else, nor by asking late."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ledger import Actor, Ledger, Verdict, open_ledger
from ledger.testing import Clock

AGENT = Actor("agent:refunds", session="s-1")
OTHER = Actor("agent:watch", session="w-1")
KIM = Actor("human:kim")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(clock: Clock) -> Iterator[Ledger]:
    with open_ledger(":memory:", clock=clock) as opened:
        yield opened


def test_a_program_that_is_inside_of_a_long_act_is_not_held_by_who_asks(ledger: Ledger, clock: Clock) -> None:
    run = ledger.open_run("r", goal="Refund orders", actor=AGENT)
    with run.effect("refund", {"order": 17}, step="refund", lease_seconds=3600) as effect:
        clock.tick(1800)
        asked = ledger.resume("r", actor=OTHER)
        assert [one.kind for one in asked.reasons] == ["effect_executing", "still_running"]
        assert (asked.position, ledger.contract("r").held) == (None, None)
        effect.succeed("paid")
    run.move("mail")


def test_a_program_whose_lease_has_lapsed_is_not_at_work(ledger: Ledger, clock: Clock) -> None:
    run = ledger.open_run("r", goal="Refund orders", actor=AGENT)
    run.effect("refund", {"order": 17}, step="refund", lease_seconds=60).__enter__()
    clock.tick(1800)
    asked = ledger.resume("r", actor=OTHER)
    assert [one.kind for one in asked.reasons] == ["effect_unknown"]
    assert ledger.contract("r").held is not None


def test_the_same_program_and_who_takes_over_are_told_of_the_act_alone(ledger: Ledger, clock: Clock) -> None:
    run = ledger.open_run("r", goal="Refund orders", actor=AGENT)
    run.effect("refund", {"order": 17}, step="refund", lease_seconds=3600).__enter__()
    clock.tick(1800)
    for actor, taken_over in ((AGENT, False), (KIM, True)):
        asked = ledger.resume("r", actor=actor, take_over=taken_over)
        assert [one.kind for one in asked.reasons] == ["effect_executing"]
        assert asked.verdict is Verdict.RECONCILE
