"""The same question asked twice: one after the other, and by two programs at once."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from ledger import Actor, Verdict
from ledger.errors import Superseded
from ledger.events import ResumeRefused, RunResumed
from ledger.testing import Clock
from tests.effects.worker import CONTEXT, drain, start
from tests.scenarios.conftest import Begin, scene_of
from tests.scenarios.programs import resume_at_once
from tests.scenarios.scene import DAY, LIMIT, OTHER, PROGRAM, RUN, Scene, accept


def test_an_unchanged_refusal_is_one_event(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    scene.publish("4", {"limit-100": LIMIT})
    accept(scene.begin())
    scene.withdraw()
    said = desk.is_held("restart", "constraint_withdrawn")
    assert desk.is_held("restart", "constraint_withdrawn", actor=OTHER).position == said.position
    assert sum(isinstance(record.event, ResumeRefused) for record in scene.records()) == 1


def test_who_goes_on_twice_has_one_handle_that_works(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    scene.begin().suspend(reason="night")
    first = desk.goes_on()
    older = scene.program().run(RUN)
    second = desk.goes_on()
    assert (first.position, second.position) == (3, 5)
    with pytest.raises(Superseded):
        older.move("a")
    older.observe("k", 1, tool="look", observed_at=scene.clock())
    scene.program().run(RUN).move("b")
    assert scene.names()[-2:] == ["observation.recorded", "cursor.moved"]


def test_another_reason_is_another_decision(begin: Begin) -> None:
    desk = begin(2 * DAY)
    scene = desk.scene
    run = scene.begin()
    run.assume("a", "The item is in stock")
    scene.clock.tick(2 * DAY)
    first = desk.is_held("replan", "idle")
    run.revise_goal("Refund order 17", reason="still wanted", by="human:kim", rests_on=["assumption:a"])
    run.refute("a", evidence="there is none")
    second = desk.is_held("restart", "goal_refuted")
    assert second.position != first.position
    desk.restart("refund-17b", goal="Refund order 17 in vouchers")
    desk.goes_on("refund-17b")
    assert scene.program().contract("refund-17b").goal.text == "Refund order 17 in vouchers"


# --- at once -----------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("sessions", [("s-1", "s-2"), ("s-1", "s-1")], ids=["two sessions", "one session"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_of_two_processes_that_ask_at_once_one_works_on(
    kind: str, sessions: tuple[str, str], tmp_path: Path
) -> None:
    rounds = 20
    scene = scene_of(kind, tmp_path)
    with scene.program() as ledger:
        for number in range(rounds):
            ledger.open_run(f"r-{number}", "Refund order 17").suspend(reason="night")
    begin = CONTEXT.Barrier(2)
    processes = [start(resume_at_once, scene.place, Clock(), session, rounds, begin) for session in sessions]
    told = [drain(reports) for _, reports in processes]
    for process, _ in processes:
        process.join()
    assert [len(one) for one in told] == [rounds, rounds]
    for both in zip(*told, strict=True):
        run = both[0][0]
        resumed = [r for r in scene.records(run) if isinstance(r.event, RunResumed)]
        moved = [record for record in scene.records(run) if record.name == "cursor.moved"]
        verdicts = sorted(verdict for _, verdict, _, _ in both)
        assert not [r for r in scene.records(run) if isinstance(r.event, ResumeRefused)]
        assert [record.event.incarnation for record in resumed] == list(range(2, len(resumed) + 2))  # type: ignore[attr-defined]
        assert len(moved) == 1
        if sessions[0] != sessions[1]:
            assert verdicts == ["continue", "reconcile"]
            (other,) = [one for one in both if one[1] == "reconcile"]
            assert other[2:] == (["still_running"], None)
            assert len(resumed) == 1
        else:
            worked = sorted(str(works) for _, verdict, _, works in both)
            assert worked in (["Superseded", "works"], ["None", "works"])
    assert scene.is_sound()
    scene.close()


def test_of_two_threads_that_ask_at_once_one_works_on(scene: Scene) -> None:
    scene.begin().suspend(reason="night")
    programs = [scene.program(Actor(PROGRAM.id, session=f"s-{n}")) for n in range(4)]
    begin = threading.Barrier(len(programs))
    verdicts: list[Verdict] = []

    def ask(number: int) -> None:
        begin.wait()
        verdicts.append(programs[number].resume(RUN).verdict)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(len(programs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(verdicts) == [Verdict.CONTINUE, *[Verdict.RECONCILE] * 3]
    assert scene.names() == ["run.opened", "run.suspended", "run.resumed", "message.recorded"]
