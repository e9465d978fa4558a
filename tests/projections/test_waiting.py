"""Reading what one has just written: waiting for a projection to have handled it."""

from __future__ import annotations

import pytest

from ledger import Ledger
from projections.errors import ProjectionStopped
from projections.runner import Runner
from projections.standing import status, wait_for
from tests.projections.conftest import OpenLedger
from tests.projections.samples import Counts, Fragile, Goals, catch_up, fill, kept
from tests.stores.builder import shown


def test_what_was_waited_for_is_there(ledger: Ledger) -> None:
    goals = Goals()
    with Runner(ledger, [goals]).in_background():
        run = ledger.open_run("run", "goal")
        for number in range(10):
            run.revise_goal(f"goal {number}", reason="it changed", by="human:kim")
            assert wait_for(ledger, goals, timeout=60)
            assert kept(ledger, goals)["goals"][0][1] == f"goal {number}"


def test_a_record_that_was_handled_is_not_waited_for(ledger: Ledger) -> None:
    fill(ledger)
    catch_up(ledger, Goals())
    shown(ledger.store)
    last = list(ledger.follow())[-1].global_position
    assert last is not None
    assert wait_for(ledger, Goals(), last, timeout=0)
    assert wait_for(ledger, Goals(), timeout=0)
    assert not wait_for(ledger, Goals(), last + 1, timeout=0)


def test_records_that_are_not_wanted_or_of_others_are_not_waited_for_in_vain(open_on: OpenLedger) -> None:
    ledger, others = open_on(), open_on("others")
    run = ledger.open_run("run", "goal")
    with Runner(ledger, [Goals()]).in_background():
        run.record_message("m", "user", "hello")
        assert wait_for(ledger, Goals(), timeout=60)
        others.open_run("run", "goal")
        assert wait_for(ledger, Goals(), ledger.store.end(newest=True), timeout=60)


def test_nobody_waits_for_ever(ledger: Ledger) -> None:
    assert wait_for(ledger, Goals(), timeout=0)
    ledger.open_run("run", "goal")
    assert not wait_for(ledger, Goals(), timeout=0)
    catch_up(ledger, Counts())
    assert not wait_for(ledger, Goals(), timeout=0.001)
    assert {one.projection for one in status(ledger)} == {"counts"}


def test_one_that_stopped_before_it_is_told(ledger: Ledger) -> None:
    fill(ledger)
    fragile = Fragile(("run-1", 2))
    with pytest.raises(ProjectionStopped):
        catch_up(ledger, fragile)
    places = {(record.run, record.position): record.global_position for record in ledger.follow()}
    assert wait_for(ledger, fragile, places["run-0", 2], timeout=60)
    with pytest.raises(ProjectionStopped) as stopped:
        wait_for(ledger, fragile, places["run-1", 2], timeout=60)
    assert stopped.value.position == 2
