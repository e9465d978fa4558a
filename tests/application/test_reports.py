"""Reports are heard: whatever became of the run, of what they speak of, and in whatever shape they come."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ledger import Ledger
from ledger.errors import NotOpen
from ledger.run.contract import WINDOW
from tests.application.conftest import OpenLedger, SetClock

HOUR = timedelta(hours=1)


# --- late evidence -----------------------------------------------------------------------------


def test_evidence_is_heard_after_the_assumption_left_the_contract(
    ledger: Ledger, open_on: OpenLedger
) -> None:
    run = ledger.open_run("r", "goal")
    run.assume("in-stock", "The goods came back")
    run.refute("in-stock", evidence="an empty shelf")
    assert run.contract.assumptions == ()
    elsewhere = open_on().run("r")
    assert elsewhere.refute("in-stock", evidence="an empty shelf").position == 3
    assert elsewhere.refute("in-stock", evidence="the camera").position == 4
    assert run.refute("in-stock", evidence="the camera").repeated
    with pytest.raises(NotOpen):
        run.refute("never assumed", evidence="x")
    ledger.open_run("other", "goal")
    with pytest.raises(NotOpen):
        ledger.run("other").refute("in-stock", evidence="an empty shelf")


def test_late_evidence_is_heard_by_a_closed_run(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    run.assume("in-stock", "The goods came back")
    run.refute("in-stock", evidence="an empty shelf")
    run.close("failed")
    assert run.refute("in-stock", evidence="the camera").position == 5


# --- late observations -------------------------------------------------------------------------


def test_an_observation_told_late_is_recorded_once(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    run.observe("k", "new", tool="stock", observed_at=clock.now)
    late = run.observe("k", "old", tool="stock", observed_at=clock.now - HOUR)
    run.observe("k", "newest", tool="stock", observed_at=clock.now + HOUR)
    assert (late.position, late.repeated) == (3, False)
    again = run.observe("k", "old", tool="stock", observed_at=clock.now - HOUR)
    assert (again.position, again.repeated) == (3, True)
    assert run.observe("k", "new", tool="stock", observed_at=clock.now).position == 2


def crowd(ledger: Ledger, clock: SetClock) -> None:
    """Let so much be seen that the contract lets go of what was seen before."""
    run = ledger.run("r")
    for number in range(WINDOW):
        run.observe(f"other-{number}", number, tool="stock", observed_at=clock.now)


@pytest.mark.parametrize("size", [1, 5_000], ids=["short", "long"])
@pytest.mark.parametrize("told_again", [False, True], ids=["gone", "told late"])
def test_the_result_is_what_was_seen_last_however_late_others_were_told(
    ledger: Ledger, clock: SetClock, size: int, told_again: bool
) -> None:
    run = ledger.open_run("r", "goal")
    run.observe("k", "seen last " * size, tool="stock", observed_at=clock.now)
    crowd(ledger, clock)
    if told_again:
        assert not run.observe("k", "seen before", tool="stock", observed_at=clock.now - HOUR).repeated
    else:
        crowd(ledger, clock)
    run.move("n", needs=("observation:k",))
    assert run.load().results == {"observation:k": "seen last " * size}


def test_of_two_seen_at_one_moment_the_one_told_last_is_the_result(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    run.observe("k", "first", tool="stock", observed_at=clock.now)
    run.observe("k", "second", tool="stock", observed_at=clock.now)
    crowd(ledger, clock)
    run.move("n", needs=("observation:k",))
    assert run.load().results == {"observation:k": "second"}


def test_what_left_the_contract_is_invalidated_once_for_one_reason(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    run.observe("k", 1, tool="stock", observed_at=clock.now)
    crowd(ledger, clock)
    first = run.invalidate("k", reason="miscounted")
    assert run.invalidate("k", reason="miscounted").position == first.position
    assert run.invalidate("k", reason="stolen").position == first.position + 1
