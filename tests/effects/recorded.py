"""Recorded runs of a real agent as they are replayed, each on an airline of its own."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ledger import Recovery, open_ledger
from ledger.adapters.transcripts import Repeat, ReplayedRun, Tools
from tests.effects import airline
from tests.effects.replayer import Job, clock, replay
from tests.servers import session

REPEATED = "airline-0-3"
"""It books twice alike, and cancels the first booking in between."""
TRIED_AGAIN = ("airline-13-0", "airline-8-1")
"""They make calls again that were refused."""


class Made(NamedTuple):
    """A call as it was recorded."""

    tool: str
    args: Any
    words: str
    changes: bool

    @property
    def did_something(self) -> bool:
        """Tell whether the airline did something, and did not refuse."""
        return self.changes and not self.words.startswith("Error")


class Recorded:
    """The recorded runs, and how their tools behave."""

    def __init__(self, shared: Path) -> None:
        lines = (shared / "data" / "airline-runs.jsonl").read_text().splitlines()
        self.lines: dict[str, str] = {json.loads(line)["id"]: line for line in lines}
        self.tools = Tools.read(shared / "data" / "airline-tools.json")
        # Killed processes leave nothing to a disk that they would not leave to memory.
        self._folder = Path(tempfile.mkdtemp(prefix="replays-", dir=session.current()))
        self._jobs = 0

    def place(self) -> Path:
        """Return where a new ledger may lie."""
        self._jobs += 1
        return self._folder / f"ledger-{self._jobs}.db"

    def job(
        self, run: str, place: Path | str | None = None, *, repeats: Mapping[int, Repeat] | None = None
    ) -> Job:
        """Prepare a run to be replayed, with an airline that has done nothing yet.

        What is said of repeats is what `meant` says, unless something else is given.
        """
        self._jobs += 1
        outside = self._folder / f"airline-{self._jobs}.db"
        airline.found(outside, [json.loads(self.lines[run])])
        said = self.meant(run) if repeats is None else repeats
        place = place or self.place()
        return Job(place, outside, airline.tools_of, self.lines[run], self.tools, run, said)

    def calls(self, run: str) -> dict[int, Made]:
        """Read the calls of a run, by their number."""
        read = airline.calls_of(json.loads(self.lines[run])["messages"])
        return {
            number: Made(tool, args, words, self.tools.of(tool).recovery is not Recovery.READ_ONLY)
            for number, (tool, args, words) in enumerate(read, 1)
        }

    def changing(self, run: str) -> list[int]:
        """List the numbers of the calls that change something, or try to."""
        return [number for number, call in self.calls(run).items() if call.changes]

    def meant(self, run: str) -> dict[int, Repeat]:
        """Say of the second of two bookings alike that the cancellation between them undid the first."""
        if run != REPEATED:
            return {}
        done = {number: call for number, call in self.calls(run).items() if call.did_something}
        alike = [
            (one, other)
            for one in done
            for other in done
            if one < other and done[one][:2] == done[other][:2] and done[one].tool == "book_reservation"
        ]
        [(first, second)] = alike
        undone = [n for n, call in done.items() if first < n < second and call.tool == "cancel_reservation"]
        return {second: Repeat(undone_by=undone[-1])}


def uninterrupted(job: Job, number: int = 0) -> ReplayedRun:
    """Replay a run, as the process of a number."""
    with open_ledger(job.place, clock=clock(number)) as ledger:
        [row] = replay(job, ledger).rows
    return row


def assert_as_recorded(row: ReplayedRun, job: Job, recorded: Recorded) -> None:
    """Compare what a replay came to, and what the airline did, with what was recorded."""
    assert row.verdict == "replayed", row
    calls = recorded.calls(job.run).values()
    assert [(call.tool, call.answer) for call in row.calls] == [(call.tool, call.words) for call in calls]
    deeds = airline.deeds(job.outside)
    done = [(call.tool, call.args, call.words) for call in calls if call.did_something]
    assert [(deed.tool, json.loads(deed.args), deed.words) for deed in deeds] == done
    assert [deed.key for deed in deeds] == [call.key for call in row.calls if call.came == "done"]
    assert len({deed.key for deed in deeds}) == len(deeds)
