"""The sample transcripts, replayed on the sample hotel and killed at all their calls."""

from __future__ import annotations

import json
import signal
from itertools import count
from pathlib import Path

import pytest

from ledger.adapters.transcripts import Repeat, Tools, sample_path, sample_tools_path
from ledger.adapters.transcripts.samples.hotel import Deed, Hotel
from tests.effects import worker
from tests.effects.recorded import uninterrupted
from tests.effects.replayer import STEPS, Job, hotel_tools, replay_until

LINES = {json.loads(line)["id"]: line for line in sample_path().read_text().splitlines()}
TOOLS = Tools.read(sample_tools_path())
CHANGING = {"hotel-41": (2, 3), "hotel-42": (2, 3, 4), "hotel-43": (2,)}
"""Numbers of the calls that change something."""


def job(run: str, folder: Path) -> Job:
    folder.mkdir()
    said = {4: Repeat(undone_by=3)} if run == "hotel-42" else {}
    return Job(folder / "ledger.db", folder / "hotel.db", hotel_tools, LINES[run], TOOLS, run, said)


def did(one: Job) -> list[Deed]:
    return Hotel(one.outside).deeds()


@pytest.mark.parametrize("run", LINES)
def test_the_samples_are_replayed_as_they_were_recorded(tmp_path: Path, run: str) -> None:
    one = job(run, tmp_path / "whole")
    row = uninterrupted(one)
    assert row.verdict == "replayed"
    assert [call.as_recorded for call in row.calls if call.recorded is not None].count(False) == 0
    done = [call for call in row.calls if call.came == "done"]
    assert [(deed.key, deed.tool) for deed in did(one)] == [(call.key, call.tool) for call in done]
    assert [call.recorded for call in done].count(None) == (run == "hotel-43"), "one got no answer"
    again = uninterrupted(one, 1)
    assert all(call.before for call in again.calls)
    assert len(did(one)) == len(done)


@pytest.mark.slow
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("run", LINES)
def test_killed_at_every_call_a_sample_ends_as_without_a_kill(tmp_path: Path, run: str, step: str) -> None:
    whole, killed = job(run, tmp_path / "whole"), job(run, tmp_path / "killed")
    expected = uninterrupted(whole)
    numbers = count()
    for call in CHANGING[run]:
        process, _ = worker.start(replay_until, killed, next(numbers), call, step)
        process.join()
        assert process.exitcode == -signal.SIGKILL
    row = uninterrupted(killed, next(numbers))
    assert row.verdict == "replayed"
    assert [(call.came, call.answer, call.key) for call in row.calls] == [
        (call.came, call.answer, call.key) for call in expected.calls
    ]
    assert did(killed) == did(whole)
