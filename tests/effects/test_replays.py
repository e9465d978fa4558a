"""Recorded runs of a real agent, replayed through the gateway on an airline that remembers what it did."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger import open_ledger
from ledger.adapters.transcripts import Repeat
from ledger.events import EffectFailed, EffectIntended, EffectRefused
from tests.effects import airline
from tests.effects.recorded import REPEATED, TRIED_AGAIN, Recorded, assert_as_recorded, uninterrupted
from tests.stores.place import address

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def recorded(shared_dir: Path) -> Recorded:
    return Recorded(shared_dir)


def test_all_recorded_runs_are_replayed_as_they_were_recorded(recorded: Recorded) -> None:
    place = recorded.place()
    for run in recorded.lines:
        job = recorded.job(run, place)
        assert_as_recorded(uninterrupted(job), job, recorded)
    with open_ledger(place) as ledger:
        assert {run.run for run in ledger.runs().runs} == set(recorded.lines)
        assert not ledger.effects()


@pytest.mark.parametrize("run", [REPEATED, *TRIED_AGAIN])
def test_a_replay_of_what_was_replayed_calls_nothing_and_adds_nothing(recorded: Recorded, run: str) -> None:
    job = recorded.job(run)
    first = uninterrupted(job)
    with open_ledger(job.place) as ledger:
        end = ledger.store.end()
    again = uninterrupted(job, 1)
    assert again.verdict == "replayed"
    assert all(call.before for call in again.calls)
    assert [call.answer for call in again.calls] == [call.answer for call in first.calls]
    with open_ledger(job.place) as ledger:
        assert ledger.store.end() == end
    assert_as_recorded(again, job, recorded)


@pytest.mark.parametrize("run", [REPEATED, *TRIED_AGAIN])
def test_recorded_runs_are_replayed_on_postgresql_too(recorded: Recorded, tmp_path: Path, run: str) -> None:
    job = recorded.job(run, address("postgres", tmp_path))
    assert_as_recorded(uninterrupted(job), job, recorded)


@pytest.mark.parametrize("run", TRIED_AGAIN)
def test_calls_that_were_refused_are_tried_again_in_another_step(recorded: Recorded, run: str) -> None:
    job = recorded.job(run)
    assert uninterrupted(job).verdict == "replayed"
    with open_ledger(job.place) as ledger:
        events = [record.event for record in ledger.log(run)]
    intended = [event for event in events if isinstance(event, EffectIntended)]
    assert len({event.act for event in intended}) < len(intended), "there are calls that were made again"
    assert len({event.key for event in intended}) == len(intended)
    assert not any(isinstance(event, EffectRefused) for event in events)
    failed = {event.key for event in events if isinstance(event, EffectFailed)}
    for place, event in enumerate(intended):
        assert all(other.key in failed for other in intended[:place] if other.act == event.act)


def test_a_booking_that_is_repeated_without_a_reason_is_refused_and_names_the_first(
    recorded: Recorded,
) -> None:
    job = recorded.job(REPEATED, repeats={})
    [(second, said)] = recorded.meant(REPEATED).items()
    for number in (0, 1):
        row = uninterrupted(job, number)
        assert (row.verdict, row.code, row.call) == ("stopped", "possible_repeat", second)
        assert row.first is not None
        first = row.calls[row.first - 1]
        assert (first.tool, first.came, first.key) == ("book_reservation", "done", row.first_key)
        made = [call for n, call in recorded.calls(REPEATED).items() if n < second and call.did_something]
        assert len(airline.deeds(job.outside)) == len(made)

    assert isinstance(said.undone_by, int)
    key = row.calls[said.undone_by - 1].key
    row = uninterrupted(job._replace(repeats={second: Repeat(undone_by=key)}), 2)
    assert_as_recorded(row, job, recorded)
    assert not row.calls[second - 1].before
    assert uninterrupted(job, 3).verdict == "replayed", "it is recorded, and need not be said again"
