"""A run that is at work elsewhere is taken over by a person, and by nobody else."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from ledger import Run
from ledger.errors import NotForAgents, Superseded
from tests.scenarios.conftest import Begin
from tests.scenarios.scene import KIM, OTHER, PROGRAM, RUN
from tests.scenarios.till import LEASE, Till


def paused(run: Run, till: Till) -> tuple[threading.Thread, Callable[[], None]]:
    """Let a program pay, and stand still when the till took it; return what lets it go on."""
    paid, goes_on = threading.Event(), threading.Event()

    def pause() -> None:
        paid.set()
        goes_on.wait()

    worker = threading.Thread(
        target=run.perform, args=(Till(till.path, pause).tool(), {"order": 17}), kwargs={"step": "pay-17"}
    )
    worker.start()
    paid.wait()
    return worker, goes_on.set


def test_a_person_takes_over_and_the_old_program_still_reports(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    old = scene.begin()
    old.move("begun")
    before = scene.names()
    said = desk.resume(actor=OTHER)
    assert (said.verdict, said.kinds, said.position) == ("reconcile", ["still_running"], None)
    assert desk.resume(actor=KIM).kinds == ["still_running"]
    # Whoever asks holds nobody.
    assert scene.names() == before
    old.move("still at work")

    with pytest.raises(NotForAgents):
        scene.program(OTHER).resume(RUN, take_over=True)
    told = desk.goes_on(actor=KIM, take_over=True)
    assert "was taken over" in (told.message or "")
    with pytest.raises(Superseded):
        old.move("never")
    old.observe("order-17", {"total": "10"}, tool="get_order", observed_at=scene.clock())
    assert scene.names()[-1] == "observation.recorded"
    scene.program(KIM).run(RUN).move("goes on")


def test_what_the_old_program_was_doing_is_waited_for(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    old = scene.begin()
    worker, let_go_on = paused(old, scene.till)
    try:
        # Taking over does not make known what became of the act.
        said = desk.is_held("reconcile", "effect_executing", actor=KIM, take_over=True)
        assert said.cleared_by == ["effect.succeeded"]
    finally:
        let_go_on()
        worker.join()
    desk.goes_on(actor=KIM, take_over=True)
    with pytest.raises(Superseded):
        old.perform(scene.till.tool(), {"order": 18}, step="pay-18")
    now = scene.program(KIM).run(RUN)
    now.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    now.perform(scene.till.tool(), {"order": 18}, step="pay-18")
    assert scene.till.orders == [17, 18]
    assert scene.is_sound()


def test_a_frozen_program_that_wakes_up_is_heard_and_claims_nothing(begin: Begin) -> None:
    desk = begin(2 * LEASE)
    scene = desk.scene
    old = scene.begin()
    worker, let_go_on = paused(old, scene.till)
    try:
        scene.clock.tick(2 * LEASE)
        desk.is_held("reconcile", "effect_unknown", actor=KIM, take_over=True)
        assert desk.reconcile(scene.till.tool(), "queryable") == ["happened"]
        desk.goes_on(actor=KIM, take_over=True)
    finally:
        let_go_on()
        worker.join()
    assert "effect.disputed" not in scene.names()
    with pytest.raises(Superseded):
        old.perform(scene.till.tool(), {"order": 18}, step="pay-18")
    scene.program(KIM).run(RUN).perform(scene.till.tool(), {"order": 17}, step="pay-17")
    assert scene.till.orders == [17]


def test_the_same_program_started_again_takes_nothing_over(begin: Begin) -> None:
    desk = begin()
    desk.scene.begin().move("begun")
    desk.goes_on(actor=PROGRAM)
    desk.scene.program().run(RUN).move("goes on")
