"""What a killed worker left is sent again to find out: by who is killed too, by many, in a held run."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from ledger import Verdict
from ledger.errors import RunIsHeld
from ledger.events import EffectReconciled, ResumeRefused
from tests.effects import worker
from tests.effects.deeds import DEDUPES, LEASE
from tests.effects.scene import TELLS, Scene
from tests.effects.test_crashes import scene
from tests.effects.worker import ANSWERED, ARRIVED, CLAIMED, DONE, STORED
from tests.outside.manners import HELD, LATE
from tests.outside.orders import advance, orders, remember
from tests.outside.outside import Outside

pytestmark = pytest.mark.slow

Outsides = Callable[[str], Outside]


def kill_who_sends_again(there: Scene, place: Path | str, moment: str, seconds: int) -> None:
    holds = {ARRIVED: LATE, DONE: HELD}
    there.server.expect(*([holds[moment]] if moment in holds else []))
    process, reports = worker.start(
        worker.reconcile_and_stop, place, there.run, there.server.port, moment, seconds
    )
    if moment in holds:
        there.server.until_held()
    else:
        assert reports.recv() == moment
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def evidence(there: Scene) -> list[str]:
    events = [record.event for record in there.ledger.log(there.run)]
    return [event.found for event in events if isinstance(event, EffectReconciled)]


@pytest.mark.parametrize("first", [CLAIMED, ANSWERED])
@pytest.mark.parametrize(
    ("second", "then"),
    [
        (CLAIMED, ["happened"]),
        (ARRIVED, ["happened"]),
        (DONE, ["happened"]),
        (ANSWERED, ["happened"]),
        (STORED, []),
    ],
)
def test_who_is_killed_while_sending_again_leaves_it_to_the_next(
    place: Path | str, outside: Outsides, first: str, second: str, then: list[str]
) -> None:
    with scene(place, outside, "idempotent", first, f"sent again, {second}") as there:
        kill_who_sends_again(there, place, second, LEASE)
        assert evidence(there)[0] == "unknown", "that it is sent is recorded before"
        if second in (ARRIVED, DONE):
            there.lets_go(undone=int(second == ARRIVED and first == CLAIMED))
        there.at(LEASE)
        assert [one.found for one in there.ledger.reconcile(there.run)] == then
        assert evidence(there)[-1] == "happened"
        assert there.perform() == TELLS
        assert there.acts() == 1
        assert there.ledger.effects(there.run) == []


def test_it_is_sent_again_to_find_out_as_long_as_the_outside_remembers(
    place: Path | str, outside: Outsides
) -> None:
    with scene(place, outside, "idempotent", ANSWERED, "sent in time") as there:
        remember(there.server.url, DEDUPES)
        advance(there.server.url, DEDUPES - 1)
        there.at(DEDUPES - 1)
        assert [one.found for one in there.ledger.reconcile(there.run)] == ["happened"]
        assert [one.repeats for one in orders(there.server.url)] == [1]


def test_a_run_that_is_held_finds_out_and_performs_nothing(place: Path | str, outside: Outsides) -> None:
    with scene(place, outside, "idempotent", ANSWERED, "held") as there:
        there.at(LEASE)
        position = there.ledger.contract(there.run).position
        held = ResumeRefused(reasons=(), verdict=Verdict.RECONCILE)
        there.ledger.import_events(there.run, [held], expected=position)
        with pytest.raises(RunIsHeld):
            there.perform()
        [found] = there.ledger.reconcile(there.run)
        assert (found.found, found.effect.status) == ("happened", "succeeded")
        assert found.because == "sent again under its key; the outside answered"
        assert there.ledger.contract(there.run).effects == ()
        assert [one.repeats for one in orders(there.server.url)] == [1]


def test_many_who_send_again_at_once_do_it_once(place: Path | str, outside: Outsides) -> None:
    with scene(place, outside, "idempotent", CLAIMED, "all at once") as there:
        there.at(LEASE)
        found: list[Any] = []

        def ask() -> None:
            found.extend(one.found for one in there.ledger.reconcile(there.run))

        threads = [Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert "happened" in found
        assert set(found) <= {"happened", "unknown"}, "who meets the key at work does not know"
        assert there.perform() == TELLS
        assert there.acts() == 1
