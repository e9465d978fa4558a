"""A trip that is planned on guesses: what was seen, assumed, done and found wrong, minute by minute.

The number behind each line is the position of what it states; an act takes three: intent, start, outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from ledger import Actor, Ledger, Recovery, Run, Runtime, Source, Step
from ledger.application.edge import Edge
from ledger.events import EffectIntended
from tests.projections.conftest import SetClock
from tests.stores.conftest import KINDS

KIM, AGENT = Actor("human:kim"), Actor("agent:travel")
STORES = ("memory", "sqlite", "postgres")
At = Callable[[int], None]
GOAL, WORDS = "Book a hotel in Bern", "Book a hotel in Bern\nnear the station"


def minute(number: int) -> datetime:
    return datetime(2026, 1, 31, 9, number, tzinfo=UTC)


def written(number: int) -> str:
    """Write a minute as records do."""
    return f"2026-01-31T09:{number:02}:00.000000Z"


class Trip(NamedTuple):
    """A ledger in which it happened, and the keys of what was done, in order."""

    ledger: Ledger
    booked: str
    mailed: str
    mailed_late: str

    def gid(self, position: int) -> int:
        """Return the global position of a record of the first run."""
        (record,) = self.ledger.log("trip-1", after=position - 1, limit=1)
        return record.global_position or 0


@contextmanager
def trip_on(kind: str, folder: Path) -> Iterator[Trip]:
    """Let it happen on a new store of a kind."""
    store, clock = KINDS[kind](folder), SetClock()
    try:
        ledger = Ledger(Edge(store, "default", Actor("service:tests"), clock, pause=lambda attempt: None))
        happen(ledger, clock)
        yield Trip(ledger, *_keys(ledger))
    finally:
        store.close()


def happen(ledger: Ledger, clock: SetClock) -> None:
    """Let it happen."""

    def at(number: int) -> None:
        clock.now = minute(number)

    at(1)
    opened = Runtime(model="m-1", prompt="p-1", tool_schema="t-1")
    run = ledger.open_run("trip-1", GOAL, rests_on=["assumption:dates"], runtime=opened, actor=AGENT)  # 1
    kim = ledger.run("trip-1", actor=KIM)
    at(2)
    run.assume("dates", "She travels in March", by="agent:travel")  # 2
    at(3)
    run.record_message("msg-1", "user", "Book me a hotel", tokens=5)  # 3
    at(4)
    _look(run, 3, minute(4))  # 4
    at(5)
    run.assume("free", "There is a free room", rests_on=["observation:rooms"])  # 5
    at(6)
    book = Step(name="book", tool="book_room", rests_on=("assumption:free", "assumption:dates"))
    run.commit_plan([book, Step(name="mail", tool="send_mail")], reason="as asked")  # 6
    at(7)
    _act(run, "book_room", {"room": 1}, step="book")  # 7
    _learn(run, kim, at)
    _find_out(ledger, run, kim, at)
    _another(ledger, at)


def _learn(run: Run, kim: Run, at: At) -> None:
    """Another goal, another model, another look."""
    at(8)
    kim.revise_goal(WORDS, reason="she wrote again", by="customer:9", rests_on=["assumption:dates"])  # 10
    at(9)
    kim.adopt_runtime(Runtime(model="m-2"), reason="m-1 is retired", by="human:kim")  # 11
    at(10)
    run.observe(  # 12
        "answer", "station", tool="atlas", observed_at=minute(10), runtime=Runtime(model="m-3", prompt="p-9")
    )
    at(11)
    _look(run, 1, minute(11))  # 13


def _find_out(ledger: Ledger, run: Run, kim: Run, at: At) -> None:
    """Find out that what was seen and assumed is wrong, and still act on it."""
    at(12)
    on = [f"effect:{_keys(ledger)[0]}", "observation:rooms"]
    _act(run, "send_mail", {"to": "customer:9"}, step="mail", rests_on=on)  # 14
    at(13)
    kim.invalidate("rooms", reason="the page was old", by="human:kim")  # 17
    at(14)
    kim.refute("free", evidence="the hotel is full", by="human:kim")  # 18
    at(15)
    _act(run, "send_mail", {"to": "hotel:4"}, step="mail", rests_on=on[:1])  # 19
    at(16)
    told = Step(name="book", tool="book_room", rests_on=("assumption:dates",), description="by telephone")
    kim.revise_plan([told, Step(name="mail", tool="send_mail")], reason="the hotel is full")  # 22
    at(17)
    run.move("asking", needs=("observation:rooms",))  # 23
    at(18)
    kim.revise_goal(WORDS, reason="said again", by="customer:9", rests_on=["assumption:dates"])  # 24


def _another(ledger: Ledger, at: At) -> None:
    """Another run under the first model, which is bound by a policy."""
    at(20)
    source = ledger.source("policy:travel", actor=KIM)
    source.publish("1", {"cheap": "At most 200 CHF a night"}, by="human:kim")
    at(21)
    run = ledger.open_run("trip-2", GOAL, runtime=Runtime(model="m-1", prompt="p-2"), actor=AGENT)  # 1
    policy = Source("policy", "travel", revision="1")
    run.accept("cheap", "At most 200 CHF a night", source=policy, asserted_by="human:kim")  # 2
    at(22)
    source.publish("2", {"cheap": "At most 200 CHF a night", "near": "Near the station"}, by="human:kim")
    at(23)
    later = Source("policy", "travel", revision="2")
    ledger.run("trip-2", actor=KIM).acknowledge(later, by="human:kim")  # 3


def _look(run: Run, free: int, seen: datetime) -> None:
    run.observe("rooms", {"free": free}, tool="look_rooms", observed_at=seen, fresh_for=60)


def _act(run: Run, tool: str, args: dict[str, Any], **options: Any) -> None:
    run.perform(tool, args, lambda **_: "done", recovery=Recovery.AT_MOST_ONCE, **options)


def _keys(ledger: Ledger) -> list[str]:
    """Return the keys of what the first run did, in order."""
    events = [record.event for record in ledger.log("trip-1")]
    return [event.key for event in events if isinstance(event, EffectIntended)]
