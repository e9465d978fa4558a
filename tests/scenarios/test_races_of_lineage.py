"""Restarts, children and their ends beside rivals and crashes: all of it is stored, or none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger, Resumption, Run
from ledger.application.edge import Edge
from ledger.errors import RunExists, RunIsClosed, RunNotFound, StoreBusy, StoreUnavailable
from ledger.testing import Clock
from tests.application.faulty import FaultyStore, Interrupt
from tests.effects.worker import CONTEXT, drain, start
from tests.scenarios.conftest import scene_of
from tests.scenarios.programs import restart_at_once, stopped_around
from tests.scenarios.scene import KIM, LIMIT, PROGRAM, RUN, Scene, accept

HEIR = "refund-17b"
STARTED, RESTARTED = frozenset({"effect.started"}), frozenset({"run.restarted"})


def once(hook: Callable[[], object]) -> Callable[[], object]:
    """Call it the first time only."""
    left = [hook]
    return lambda: left.pop()() if left else None


def restart(scene: Scene, as_: str = HEIR) -> None:
    scene.program(KIM).restart(RUN, as_=as_, reason="gone", by="human:kim")


# --- a restart beside claims and other restarts ------------------------------------------------------


def test_an_act_that_a_restart_overtakes_is_not_begun(scene: Scene) -> None:
    scene.begin()
    ledger, store = scene.hooked()
    store.before(STARTED, once(lambda: restart(scene)))
    with pytest.raises(RunIsClosed):
        ledger.run(RUN).perform(scene.till.tool(), {"order": 17}, step="pay-17")
    assert scene.till.orders == []
    scene.program().run(HEIR).perform(scene.till.tool(), {"order": 17}, step="pay-17")
    assert scene.till.orders == [17]
    assert scene.is_sound()


def test_an_act_that_overtakes_a_restart_is_inherited(scene: Scene) -> None:
    """Its program is in the call: the successor neither forgets it nor does it again."""
    run = scene.begin()
    person = scene.program(KIM)
    scene.till.then = once(lambda: person.restart(**SAID))
    # What the old program reports when it comes back is heard.
    run.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    assert scene.names()[-2:] == ["run.closed", "effect.succeeded"]
    heir = scene.program().run(HEIR)
    heir.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    said = scene.program().resume(HEIR)
    assert [one.kind for one in said.reasons] in (["effect_unknown"], ["effect_executing"])
    # The lineage knows what became of it, so that nobody has to ask the outside.
    (found,) = scene.program(KIM).reconcile(HEIR)
    assert found.found == "happened"
    heir = entered(scene.program().resume(HEIR))
    heir.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    heir.close("completed")
    assert scene.till.orders == [17]
    assert scene.is_sound()


def entered(said: Resumption[Run]) -> Run:
    """Return the run that goes on."""
    assert said.run is not None, said
    return said.run


SAID: dict[str, Any] = {"run": RUN, "as_": HEIR, "reason": "gone", "by": "human:kim", "actor": KIM}


def test_a_claim_between_the_question_and_the_answer_is_inherited_too(scene: Scene) -> None:
    run = scene.begin()
    ledger, store = scene.hooked()
    lost: list[BaseException] = []

    def claim() -> None:
        def dies(order: int) -> None:
            raise SystemExit

        try:
            run.perform("pay", {"order": 17}, dies, step="pay-17", lease_seconds=60)
        except SystemExit as error:
            lost.append(error)

    store.before(RESTARTED, once(claim))
    ledger.restart(**SAID)
    assert lost
    (left,) = scene.program().contract(HEIR).effects
    assert (left.inherited_from, left.tool) == (RUN, "pay")
    closed = scene.program().contract(RUN).closed
    assert closed is not None
    assert closed.unsettled == (left.key,)
    assert scene.is_sound()


def test_the_same_restart_is_a_repeat_and_another_one_is_refused(scene: Scene) -> None:
    scene.begin()
    restart(scene)
    names = scene.names(), scene.names(HEIR)
    restart(scene)
    with pytest.raises(RunIsClosed):
        restart(scene, "refund-17c")
    assert (scene.names(), scene.names(HEIR)) == names
    with pytest.raises(RunNotFound):
        scene.program().run("refund-17c")


def test_a_restart_takes_no_run_that_somebody_opened_meanwhile(scene: Scene) -> None:
    scene.begin()
    ledger, store = scene.hooked()
    store.before(RESTARTED, once(lambda: scene.program().open_run(HEIR, "Something else")))
    with pytest.raises(RunExists):
        ledger.restart(**SAID)
    assert scene.program().contract(RUN).closed is None
    assert scene.names(HEIR) == ["run.opened"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_of_two_processes_that_restart_at_once_one_does(kind: str, tmp_path: Path) -> None:
    rounds = 10
    scene = scene_of(kind, tmp_path)
    with scene.program() as ledger:
        for number in range(rounds):
            ledger.open_run(f"r-{number}", "Refund order 17")
    begin = CONTEXT.Barrier(2)
    workers = [start(restart_at_once, scene.place, Clock(), name, rounds, begin) for name in ("a", "b")]
    told = [drain(reports) for _, reports in workers]
    for process, _ in workers:
        process.join()
    assert [len(one) for one in told] == [rounds, rounds]
    for (number, one), (_, other) in zip(*told, strict=True):
        (heir,) = {one, other} - {"RunIsClosed"}
        assert heir in (f"r-{number}-a", f"r-{number}-b")
        closed = scene.program().contract(f"r-{number}").closed
        assert closed is not None
        assert closed.successor == heir
        (lost,) = {f"r-{number}-a", f"r-{number}-b"} - {heir}
        with pytest.raises(RunNotFound):
            scene.program().run(lost)
    assert scene.is_sound()
    scene.close()


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False], ids=["not stored", "stored, not heard"])
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_restart_that_is_killed_is_stored_whole_or_not_at_all(
    kind: str, before: bool, tmp_path: Path
) -> None:
    scene = scene_of(kind, tmp_path)
    scene.publish("4", {"limit-100": LIMIT})
    run = scene.begin()
    accept(run)
    run.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    process, reports = start(stopped_around, scene.place, scene.clock, "restart", RESTARTED, before)
    assert reports.recv() == "stopped"
    process.kill()
    process.join()
    closed = scene.program().contract(RUN).closed
    if before:
        assert closed is None
        with pytest.raises(RunNotFound):
            scene.program().run(HEIR)
    else:
        assert closed is not None
        assert scene.program().contract(HEIR).predecessor == RUN
    restart(scene)
    heir = scene.program().run(HEIR)
    heir.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    assert scene.till.orders == [17]
    assert scene.names(HEIR).count("run.restarted") == 1
    assert scene.is_sound()
    scene.close()


# --- the store fails ---------------------------------------------------------------------------------

FAULTS = [
    "lost",
    "lost_stored",
    "lost_late",
    "late_first",
    "twice",
    "busy",
    "interrupted",
    "interrupted_stored",
]


class Family:
    """A run with a child, in a store whose next appends fail as a test says."""

    def __init__(self) -> None:
        self.store = FaultyStore()
        self.clock = Clock()
        run = self.program().open_run(RUN, "Refund order 17")
        run.open_child("refund-17/a", "Look it up")

    def program(self) -> Ledger:
        store: Any = self.store
        return Ledger(Edge(store, "default", PROGRAM, self.clock, pause=lambda lost: None))

    def names(self, run: str) -> list[str]:
        try:
            return [record.name for record in self.program().log(run)]
        except RunNotFound:
            return []


ACTS: dict[str, tuple[Callable[[Ledger], object], tuple[str, str], tuple[str, str]]] = {
    "restart": (lambda ledger: ledger.restart(**SAID), (RUN, "run.closed"), (HEIR, "run.restarted")),
    "open a child": (
        lambda ledger: ledger.run(RUN).open_child("refund-17/b", "Pay it back"),
        (RUN, "obligation.opened"),
        ("refund-17/b", "run.opened"),
    ),
    "close a child": (
        lambda ledger: ledger.run("refund-17/a").close("completed"),
        (RUN, "obligation.discharged"),
        ("refund-17/a", "run.closed"),
    ),
    "fork": (
        lambda ledger: ledger.fork(RUN, as_="what-if", at=1),
        ("what-if", "run.opened"),
        ("what-if", "run.forked"),
    ),
}


@pytest.mark.parametrize("again", ["the same program", "another program"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("act", ACTS)
def test_what_touches_two_runs_is_stored_in_both_or_in_none(act: str, fault: str, again: str) -> None:
    say, (one, here), (other, there) = ACTS[act]
    family = Family()
    before = family.names(one).count(here), family.names(other).count(there)
    first = family.program()
    family.store.faults = [fault]
    with suppress(StoreUnavailable, StoreBusy, Interrupt):
        say(first)
    stored = family.names(one).count(here) - before[0], family.names(other).count(there) - before[1]
    assert stored in ((0, 0), (1, 1))
    say(first if again == "the same program" else family.program())
    family.store.land()
    assert (family.names(one).count(here), family.names(other).count(there)) == (before[0] + 1, before[1] + 1)
