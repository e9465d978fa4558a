"""What a resume asks of the store: its contract, each source once, and one append, at any length."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ledger import Actor, Ledger, Source, Verdict
from ledger.application.edge import Edge
from ledger.application.readers import Reading
from ledger.events import CursorMoved, RunOpened
from tests.application.conftest import SetClock

WRITER = Actor("service:tests", session="s-1")
SOURCES = ("handbook:shop", "policy:refunds")
CLOCK = "lease_offset"
"""It is kept by the process; on PostgreSQL it is asked anew every two minutes."""


class Counting:
    """A store that notes what it is asked, and of which stream."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.asked: list[tuple[str, str]] = []
        self.tail = 0
        """The most records behind a snapshot that a load read."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found

        def noted(*args: Any, **options: Any) -> Any:
            if name != CLOCK:
                stream = args[1] if len(args) > 1 else args[0].streams[0].stream
                self.asked.append((name, stream))
            answer = found(*args, **options)
            if name == "load":
                self.tail = max(self.tail, len(answer.tail))
            return answer

        return noted

    def since(self) -> Iterator[tuple[str, str]]:
        """Return what was asked since this was called last."""
        asked, self.asked = self.asked, []
        return iter(asked)


@pytest.fixture
def counting(store: Any) -> Counting:
    return Counting(store)


@pytest.fixture
def open_one(counting: Counting, clock: SetClock) -> Any:
    """Return a function that opens the ledger as another process would: it has read nothing yet."""
    edge: Any = counting
    return lambda: Ledger(Edge(edge, "default", WRITER, clock, pause=lambda attempt: None))


def lived(ledger: Ledger, name: str, events: int) -> None:
    """Let a run of so many events be stopped, with constraints of two sources."""
    ledger.import_events(name, [RunOpened(goal="Refund order 17")], expected=0)
    at = 1
    while at < events:
        some = min(500, events - at)
        ledger.import_events(name, [CursorMoved(node=f"n-{at + n}") for n in range(some)], expected=at)
        at += some
    run = ledger.run(name)
    for source in SOURCES:
        kind, _, of = source.partition(":")
        run.accept(source, "Refund once", source=Source(kind, of, item="a"), asserted_by="human:kim")
    # A snapshot comes every so many events, rarer as the contract grows: let the last one be near.
    for number in range(40):
        run.record_message(f"m-{number}", "user", "hello")
    run.suspend(reason="night")


@pytest.mark.parametrize("events", [100, 2_000])
def test_it_is_the_contract_each_source_and_one_append(
    open_one: Any, counting: Counting, events: int
) -> None:
    ledger = open_one()
    for source in SOURCES:
        ledger.source(source).publish("1", {"a": "Refund once"})
    lived(ledger, "r", events)
    looks = [("read", f"$source:{source}") for source in SOURCES]

    list(counting.since())
    counting.tail = 0
    assert open_one().contract("r").status == "suspended"
    assert list(counting.since()) == [("load", "r")]

    asked = open_one().resume("r", dry_run=True)
    assert asked.verdict is Verdict.CONTINUE
    assert list(counting.since()) == [("load", "r"), *looks]

    elsewhere = open_one()
    answer = elsewhere.resume("r")
    assert answer.verdict is Verdict.CONTINUE
    assert _but_snapshots(counting.since()) == [("load", "r"), *looks, ("append", "r")]

    # Who has the run in memory looks whether that still stands there, and what came since.
    answer.run.suspend(reason="again")
    list(counting.since())
    assert elsewhere.resume("r").verdict is Verdict.CONTINUE
    assert _but_snapshots(counting.since()) == [("read", "r"), ("read", "r"), *looks, ("append", "r")]
    assert counting.tail < 50


@pytest.mark.parametrize("events", [100, 2_000])
def test_a_refusal_costs_as_much_and_one_that_stands_already_is_looked_at_twice(
    open_one: Any, counting: Counting, events: int
) -> None:
    ledger = open_one()
    for source in SOURCES:
        ledger.source(source).publish("1", {"a": "Refund once"})
    lived(ledger, "r", events)
    ledger.source(SOURCES[1]).withdraw("a", reason="replaced", by="human:kim")
    looks = [("read", f"$source:{source}") for source in SOURCES]

    list(counting.since())
    assert open_one().resume("r").verdict is Verdict.RESTART
    assert _but_snapshots(counting.since()) == [("load", "r"), *looks, ("append", "r")]
    # Nothing is appended, so nothing else would notice that what was read is old.
    assert open_one().resume("r").verdict is Verdict.RESTART
    assert _but_snapshots(counting.since()) == [("load", "r"), *looks, ("read", "r"), *looks]


def test_a_source_that_is_read_outside_adds_its_reading_and_a_note(open_one: Any, counting: Counting) -> None:
    ledger = open_one()
    for source in SOURCES:
        ledger.source(source).publish("1", {"a": "Refund once"})
    lived(ledger, "r", 100)
    again = open_one()
    again.sources.register("policy", lambda source: Reading("1", {"a": "Refund once"}), check_every=60)
    list(counting.since())
    assert again.resume("r").verdict is Verdict.CONTINUE
    asked = _but_snapshots(counting.since())
    assert [one for one in asked if one[0] == "append"] == [("append", "r")] * 2
    assert [one for one in asked if one[1] == "r"] == [("load", "r"), ("append", "r"), ("append", "r")]
    # Within the time it was asked for it is not read again.
    assert again.resume("r").verdict is Verdict.CONTINUE
    assert [one for one in _but_snapshots(counting.since()) if one[0] == "append"] == [("append", "r")]


def _but_snapshots(asked: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    # Written after the commit, every so many events.
    return [one for one in asked if one[0] != "put_snapshot"]
