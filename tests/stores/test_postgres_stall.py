"""Noticing that followers are held back, told by the clock that the caller reads."""

from __future__ import annotations

from ledger.stores.postgres.stall import Progress, Stall


def test_one_transaction_that_holds_back_for_long_is_noticed_once_in_each_stretch() -> None:
    stall = Stall(seconds=30)
    held = Progress(end=5, newest=9, oldest=700)
    seen = [stall.noticed(held, now) for now in (0, 29, 30, 31, 60, 61)]
    assert seen == [False, False, True, False, False, True]


def test_a_ceiling_that_moves_is_no_stall() -> None:
    stall = Stall(seconds=30)
    assert not any(stall.noticed(Progress(5, 9, 700 + now), now) for now in range(100))


def test_nothing_newer_is_no_stall() -> None:
    """However old the oldest transaction is, nobody waits for it where nothing is to be shown."""
    stall = Stall(seconds=30)
    assert not any(stall.noticed(Progress(9, 9, 700), now) for now in range(100))
    assert not stall.noticed(Progress(9, 12, 700), 100)
    assert stall.noticed(Progress(9, 12, 700), 130)
