"""Who asks the gate dies, or loses the answer, at every point: asked again, it is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger, Verdict
from ledger.application.edge import Edge
from ledger.errors import StoreBusy, StoreUnavailable, Superseded
from ledger.testing import Clock
from tests.application.faulty import FaultyStore, Interrupt
from tests.effects.worker import start
from tests.scenarios.conftest import scene_of
from tests.scenarios.programs import stopped_around
from tests.scenarios.scene import KIM, LIMIT, OTHER, PROGRAM, RUN, Scene, accept

RESUMED, REFUSED = frozenset({"run.resumed"}), frozenset({"run.resume_refused"})


def asleep(scene: Scene, *, withdrawn: bool = False) -> None:
    scene.publish("4", {"limit-100": LIMIT})
    run = scene.begin()
    accept(run)
    run.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    run.suspend(reason="night")
    if withdrawn:
        scene.withdraw()


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["not stored", "stored, not heard"])
@pytest.mark.parametrize("names", [RESUMED, REFUSED], ids=["continue", "refused"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_who_is_killed_at_the_answer_asks_again(
    kind: str, names: frozenset[str], before: bool, tmp_path: Path
) -> None:
    scene = scene_of(kind, tmp_path)
    refused = names is REFUSED
    asleep(scene, withdrawn=refused)
    process, reports = start(stopped_around, scene.place, scene.clock, "resume", names, before)
    assert reports.recv() == "stopped"
    process.kill()
    process.join()
    if refused:
        said = scene.program().resume(RUN)
        assert said.verdict is Verdict.RESTART
        assert scene.names().count("run.resume_refused") == 1
        assert said.position == len(scene.names())
        scene.close()
        return
    older = scene.program().run(RUN)
    if not before:
        # Nobody knows that its program is dead but who starts it again, in the same session.
        other = scene.program(OTHER).resume(RUN)
        assert [one.kind for one in other.reasons] == ["still_running"]
    said = scene.program().resume(RUN)
    assert said.run is not None
    assert scene.names().count("run.resumed") == (1 if before else 2)
    with pytest.raises(Superseded):
        older.move("never")
    said.run.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    assert scene.till.orders == [17]
    assert scene.is_sound()
    scene.close()


# --- the store fails ---------------------------------------------------------------------------------------

FAULTS = ["lost", "lost_stored", "lost_late", "twice", "busy", "interrupted", "interrupted_stored"]


class Wavering:
    """A run that sleeps in a store whose next appends fail as a test says."""

    def __init__(self, *, withdrawn: bool) -> None:
        self.store = FaultyStore()
        self.clock = Clock()
        sleeping = self.program()
        policy = sleeping.source("policy:refunds", actor=KIM)
        policy.publish("4", {"limit-100": LIMIT}, by="human:kim")
        run = sleeping.open_run(RUN, "Refund order 17")
        accept(run)
        run.suspend(reason="night")
        if withdrawn:
            policy.withdraw("limit-100", reason="gone", by="human:kim")

    def program(self) -> Ledger:
        store: Any = self.store
        return Ledger(Edge(store, "default", PROGRAM, self.clock, pause=lambda lost: None))

    def names(self) -> list[str]:
        return [record.name for record in self.program().log(RUN)]


def asked(ledger: Ledger) -> object:
    """Ask, and say how that ended."""
    try:
        return ledger.resume(RUN).verdict
    except (StoreUnavailable, StoreBusy, Interrupt) as error:
        return type(error)


@pytest.mark.parametrize("again", ["the same program", "another program"])
@pytest.mark.parametrize("fault", FAULTS)
def test_an_answer_that_was_lost_is_asked_for_again(fault: str, again: str) -> None:
    wavering = Wavering(withdrawn=False)
    first = wavering.program()
    older = first.run(RUN)
    wavering.store.faults = [fault]
    asked(first)
    wavering.store.land()
    unheard = wavering.program().run(RUN)
    asks = first if again == "the same program" else wavering.program()
    said = asks.resume(RUN)
    assert said.verdict is Verdict.CONTINUE
    assert said.run is not None
    stored = fault not in ("lost", "busy", "interrupted")
    lives = wavering.names().count("run.resumed")
    # The life of which nobody heard may be begun once more; it is fenced then.
    assert lives == (2 if stored else 1)
    assert said.run.contract.incarnation == lives + 1
    for one in (older, unheard):
        with pytest.raises(Superseded):
            one.move("never")
    said.run.move("goes on")
    assert wavering.names().count("cursor.moved") == 1


@pytest.mark.parametrize("again", ["the same program", "another program"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_refusal_that_was_lost_is_recorded_once(fault: str, again: str) -> None:
    wavering = Wavering(withdrawn=True)
    first = wavering.program()
    wavering.store.faults = [fault]
    asked(first)
    wavering.store.land()
    asks = first if again == "the same program" else wavering.program()
    said = asks.resume(RUN)
    assert (said.verdict, [one.kind for one in said.reasons]) == (Verdict.RESTART, ["constraint_withdrawn"])
    assert wavering.names().count("run.resume_refused") == 1
    assert said.position == len(wavering.names())


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_a_read_that_fails_decides_nothing(failing: int) -> None:
    wavering = Wavering(withdrawn=True)
    ledger = wavering.program()
    before = wavering.names()
    wavering.store.failing_reads = failing
    verdicts = [asked(ledger) for _ in range(failing + 1)]
    wavering.store.failing_reads = 0
    assert set(verdicts) <= {StoreUnavailable, Verdict.RESTART}
    assert wavering.names() in (before, [*before, "run.resume_refused"])
    assert ledger.resume(RUN).verdict is Verdict.RESTART
    assert wavering.names() == [*before, "run.resume_refused"]
