"""A run is ended while an act of it is on its way: nobody says that it was never started."""

from __future__ import annotations

import pytest

from ledger.errors import RunIsClosed, RunNotFound
from tests.adapters.cli.command import run as command_line
from tests.scenarios.conftest import Begin
from tests.scenarios.scene import KIM, RUN
from tests.scenarios.test_take_over import paused
from tests.scenarios.till import LEASE


@pytest.mark.parametrize("comes_back", [True, False])
def test_what_is_on_its_way_is_not_known_and_not_forgotten(begin: Begin, comes_back: bool) -> None:
    desk = begin(2 * LEASE)
    scene = desk.scene
    run = scene.begin()
    run.promise("tell", "Mail the customer", owed_to="customer:17")
    worker, let_go_on = paused(run, scene.till)
    try:
        desk.cancel()
        contract = scene.program().contract(RUN)
        assert contract.closed is not None
        (effect,) = contract.effects
        assert (contract.closed.unsettled, contract.closed.obligations) == ((effect.key,), ("tell",))
        assert (effect.status, effect.status_at(scene.clock())) == ("executing", "executing")
        with pytest.raises(RunIsClosed):
            run.perform(scene.till.tool(), {"order": 18}, step="pay-18")
        scene.clock.tick(2 * LEASE)
        (left,) = scene.program().effects(RUN)
        assert left.status == "unknown"
        if not comes_back:
            # Who asks the outside finds it, also after the end.
            assert desk.reconcile(scene.till.tool(), "queryable") == ["happened"]
    finally:
        let_go_on()
        worker.join()
    assert scene.program().effects(RUN) == []
    names = scene.names()
    assert ("effect.reconciled" in names, "effect.disputed" in names) == (not comes_back, False)
    assert names.index("run.closed") < len(names) - 1
    assert scene.till.orders == [17]
    assert scene.is_sound()


def test_a_cancelled_run_is_not_resumed_and_another_one_is_opened(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    scene.begin().perform(scene.till.tool(), {"order": 17}, step="pay-17")
    desk.cancel()
    for dry_run in (False, True):
        with pytest.raises(RunIsClosed):
            scene.program().resume(RUN, dry_run=dry_run)
    scene.program().open_run("refund-18", "Refund order 18").suspend(reason="night")
    desk.goes_on("refund-18")


@pytest.mark.slow
@pytest.mark.parametrize("begin_lasting", ["sqlite"], indirect=True)
def test_the_command_line_says_that_it_could_not_ask(begin_lasting: Begin) -> None:
    scene = begin_lasting().scene
    scene.begin()
    scene.program(KIM).run(RUN).close("cancelled", reason="not wanted", by="human:kim")
    answer = command_line("resume", RUN, "--json", "--ledger", str(scene.place))
    assert (answer.code, answer.error["code"]) == (4, "run_is_closed")
    answer = command_line("resume", "another", "--json", "--ledger", str(scene.place))
    assert (answer.code, answer.error["code"]) == (3, "run_not_found")


def test_asking_for_a_run_that_nobody_opened_opens_none(begin: Begin) -> None:
    scene = begin().scene
    with pytest.raises(RunNotFound):
        scene.program().resume("nobody's")
    assert scene.program().runs().runs == ()
