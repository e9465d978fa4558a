"""Loading a contract costs the same however long the run is."""

from __future__ import annotations

from pathlib import Path

from ledger import Actor, open_ledger
from ledger.events import Event, MessageRecorded, ObservationRecorded, RunOpened
from ledger.values import Payload
from tests.benchmarks.measure import Result, compare, seconds
from tests.benchmarks.replay import story

_LONG, _SHORT = 100_000, 100
_LOADS = 50


def measure(folder: Path) -> list[Result]:
    """Measure the contract of a run of 100,000 events against one of 100 that has as much open."""
    with open_ledger(folder / "loading.db", actor=Actor("agent:refunds")) as ledger:
        for run, size in (("long", _LONG), ("short", _SHORT)):
            ledger.import_events(run, [RunOpened(goal="goal 0")], expected=0)
            at = 1
            while at < size:
                page = min(2_000, size - at)
                ledger.import_events(run, [mixed(at + n) for n in range(page)], expected=at)
                at += page
            handle = ledger.run(run)
            for number in range(40):
                handle.record_message(f"last-{number}", "user", f"text {number}")

        def load(run: str) -> float:
            return seconds(lambda: [ledger.contract(run) for _ in range(_LOADS)])

        return [
            compare(
                f"contract at {_LONG:,} events / at {_SHORT}",
                lambda: load("long"),
                lambda: load("short"),
                rounds=15,
                goal="<= 1.3",
            )
        ]


def mixed(number: int) -> Event:
    """Return an event of a run as agents make them: mostly moves, with messages and observations."""
    if number % 10 == 0:
        content = Payload(digest=f"{number:064x}", size=12)
        return MessageRecorded(id=f"m{number}", role="user", content=content)
    if number % 10 == 5:
        return ObservationRecorded(key=f"k{number % 50}", tool="stock", value=Payload(json_text="3"))
    return story(number)
