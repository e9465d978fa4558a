"""Attempts are counted across threads and processes: no crowd makes more of them than were declared."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ledger import Retry, open_ledger
from ledger.errors import EffectFailed
from ledger.events import EffectFailed as Failed
from ledger.events import EffectStarted, ObligationOpened
from tests.effects import worker
from tests.stores.builder import together

THREADS, ATTEMPTS = 8, 3
DECLARED: Any = {"definite_errors": ValueError, "retry": Retry(ATTEMPTS, backoff=0), "wait_seconds": 60}


def test_a_crowd_makes_as_many_attempts_as_were_declared_and_owes_once(place: Path | str) -> None:
    counting, calls = threading.Lock(), Counter[str]()

    def refuse(order: int) -> None:
        with counting:
            calls["made"] += 1
        raise ValueError("no such order")

    with open_ledger(place) as one, open_ledger(place) as other:
        one.open_run("crowd", "Refund what cannot be refunded")

        def perform(number: int) -> str:
            run = (one, other)[number % 2].run("crowd")
            with pytest.raises(EffectFailed) as failed:
                run.perform("refund", {"order": 17}, refuse, **DECLARED)
            return str(failed.value.data["cause"])

        told = together(*(lambda number=number: perform(number) for number in range(THREADS)))
        assert {*told} == {"ValueError: no such order"}
        events = [record.event for record in one.log("crowd")]
    assert calls["made"] == ATTEMPTS
    assert [each.attempt for each in events if isinstance(each, EffectStarted)] == [1, 2, 3]
    assert [each.attempt for each in events if isinstance(each, Failed)] == [1, 2, 3]
    assert sum(isinstance(each, ObligationOpened) for each in events) == 1


@pytest.mark.slow
def test_processes_that_end_in_their_pauses_count_on_from_each_other(place: Path | str) -> None:
    """Each is refused once, and ended in its pause, which nobody keeps after it."""
    with open_ledger(place) as ledger:
        ledger.open_run("ended", "Refund what cannot be refunded")
        said = []
        for _ in range(ATTEMPTS):
            process, reports = worker.start(worker.be_refused_and_end_in_the_pause, place, "ended")
            said += worker.drain(reports)
            process.join()
        assert said == ["attempt 1", "attempt 2", "attempt 3", "EffectFailed"]
        assert [item.id[:7] for item in ledger.contract("ended").obligations] == ["failed:"]
        assert ledger.contract("ended").effects == ()
