"""The time between a claim and its call: what an interrupt leaves behind."""

from __future__ import annotations

from typing import Any

import pytest

from ledger.application.heartbeats import Beat, Heartbeats
from tests.application.conftest import SetClock
from tests.application.performing import Outside, Waiting, names, opened


def test_an_interrupt_right_before_the_call_leaves_no_lease_that_is_renewed_for_ever(
    store: Any, clock: SetClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, outside = Waiting(store, clock)(), Outside()
    run, begin = opened(ledger), Heartbeats.begin

    def interrupted(heartbeats: Heartbeats, beat: Beat) -> None:
        begin(heartbeats, beat)
        raise KeyboardInterrupt

    monkeypatch.setattr(Heartbeats, "begin", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run.perform("refund", {"order": 17}, outside)
    assert names(ledger) == ["effect.intended", "effect.started"]
    assert not outside.calls
    assert not ledger._shared.workshop.heartbeats._beats
