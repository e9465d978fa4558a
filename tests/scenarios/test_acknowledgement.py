"""The outside did it and the program died before it heard: found out, and not done again."""

from __future__ import annotations

import pytest

from ledger.errors import OutcomeUnknown, RunIsHeld
from tests.effects.worker import start
from tests.scenarios.conftest import Begin
from tests.scenarios.desk import AtLibrary, Desk
from tests.scenarios.model import work
from tests.scenarios.programs import PAID, work_and_stop
from tests.scenarios.scene import RUN, Scene
from tests.scenarios.till import LEASE, Till

RECOVERIES = ["queryable", "idempotent", "at_most_once"]


def killed_in_the_call(desk: Desk, recovery: str) -> None:
    """Kill a program when the till has taken the payment, before it answered."""
    scene = desk.scene
    process, reports = start(work_and_stop, scene.place, scene.clock, scene.till.path, recovery, PAID)
    assert reports.recv() == PAID
    process.kill()
    process.join()


def goes_on_with_the_goal(scene: Scene, prompt: str | None, recovery: str) -> None:
    work(scene.program().run(RUN), prompt, (), scene.till, recovery)
    assert scene.till.orders == [17, 18]
    scene.program().run(RUN).close("completed")
    assert scene.is_sound()


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_payment_whose_program_was_killed_is_found_out(begin_lasting: Begin, recovery: str) -> None:
    desk = begin_lasting(LEASE)
    scene = desk.scene
    scene.begin("Refund order 17 and order 18")
    killed_in_the_call(desk, recovery)
    # As long as the lease lasts, somebody may still be at it.
    AtLibrary(scene).is_held("reconcile", "effect_executing")
    scene.clock.tick(LEASE)
    said = desk.is_held("reconcile", "effect_unknown")
    assert said.cleared_by == ["effect.reconciled"]
    with pytest.raises(RunIsHeld):
        work(scene.program().run(RUN), scene.program().contract(RUN).to_prompt(), (), scene.till, recovery)
    found = desk.reconcile(scene.till.tool(recovery), recovery)
    if recovery == "at_most_once":
        assert found == ["not_asked"]
        desk.is_held("reconcile", "effect_unknown")
        (effect,) = scene.program().contract(RUN).effects
        desk.settle(effect.key, happened=True)
    else:
        assert found == ["happened"]
    assert scene.till.repeats == (recovery == "idempotent")
    goes_on_with_the_goal(scene, desk.goes_on().prompt, recovery)


@pytest.mark.parametrize("recovery", RECOVERIES)
def test_a_payment_whose_answer_was_lost_is_found_out(begin: Begin, recovery: str) -> None:
    desk = begin(LEASE)
    scene = desk.scene
    run = scene.begin("Refund order 17 and order 18")

    def lose() -> None:
        raise TimeoutError("no answer")

    lost = Till(scene.till.path, lose)
    lost.is_silent = True
    with pytest.raises(OutcomeUnknown):
        run.perform(lost.tool(recovery), {"order": 17}, step="pay-17")
    run.suspend(reason="nobody knows")
    scene.clock.tick(LEASE)
    desk.is_held("reconcile", "effect_unknown")
    found = desk.reconcile(scene.till.tool(recovery), recovery)
    assert found == ["not_asked" if recovery == "at_most_once" else "happened"]
    if recovery == "at_most_once":
        (effect,) = scene.program().contract(RUN).effects
        desk.settle(effect.key, happened=True)
    goes_on_with_the_goal(scene, desk.goes_on().prompt, recovery)


def test_what_did_not_happen_is_done_after_a_person_said_so(begin: Begin) -> None:
    desk = begin(LEASE)
    scene = desk.scene
    run = scene.begin("Refund order 17 and order 18")

    def break_off(order: int) -> None:
        raise TimeoutError("no connection")

    with pytest.raises(OutcomeUnknown):
        run.perform(
            "pay", {"order": 17}, break_off, step="pay-17", recovery="at_most_once", lease_seconds=LEASE
        )
    run.suspend(reason="nobody knows")
    scene.clock.tick(LEASE)
    desk.is_held("reconcile", "effect_unknown")
    (effect,) = scene.program().contract(RUN).effects
    desk.settle(effect.key, happened=False)
    goes_on_with_the_goal(scene, desk.goes_on().prompt, "at_most_once")
