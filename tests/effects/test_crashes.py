"""The crash matrix: a worker is killed at every step of the protocol, and another process goes on.

The worker has claimed the act at 0 s, for `LEASE` seconds, and dies by SIGKILL at the moment that the table
names. Another process then performs the same act with the same run, three times: at once, when the lease has
lapsed, and when nothing that was sent can land any more. Where the outside had received the request without
having done it, it does it before the third call. At the end the outside is asked how often it did it.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ledger import open_ledger
from ledger.events import Parent, RunOpened
from ledger.testing import Clock
from tests.effects import worker
from tests.effects.deeds import DEDUPES, DEEDS, FRESH, LEASE, SETTLE, before_each_call
from tests.effects.scene import A_PERSON, AGAIN, ASK_LATER, EXECUTES, IN_FLIGHT, TELLS, Scene
from tests.effects.worker import ANSWERED, ARRIVED, ASKED, BEFORE, CLAIMED, DONE, STORED
from tests.outside.manners import HELD, LATE
from tests.outside.orders import advance, orders, remember
from tests.outside.outside import Outside

pytestmark = pytest.mark.slow

HOLDS = {ARRIVED: LATE, DONE: HELD}
TIMES = (0, LEASE, LEASE + SETTLE)

# The recovery,  where the worker died,   then performing it again: at once, lease lapsed, settled;   acts
MATRIX = [
    ("at_most_once", BEFORE, EXECUTES, TELLS, TELLS, 1),
    ("at_most_once", CLAIMED, IN_FLIGHT, A_PERSON, A_PERSON, 0),
    ("at_most_once", ARRIVED, IN_FLIGHT, A_PERSON, A_PERSON, 1),
    ("at_most_once", DONE, IN_FLIGHT, A_PERSON, A_PERSON, 1),
    ("at_most_once", ANSWERED, IN_FLIGHT, A_PERSON, A_PERSON, 1),
    ("at_most_once", STORED, TELLS, TELLS, TELLS, 1),
    ("queryable", BEFORE, EXECUTES, TELLS, TELLS, 1),
    ("queryable", CLAIMED, IN_FLIGHT, ASK_LATER, EXECUTES, 1),
    ("queryable", ARRIVED, IN_FLIGHT, ASK_LATER, TELLS, 1),
    ("queryable", DONE, IN_FLIGHT, TELLS, TELLS, 1),
    ("queryable", ANSWERED, IN_FLIGHT, TELLS, TELLS, 1),
    ("queryable", STORED, TELLS, TELLS, TELLS, 1),
    ("idempotent", BEFORE, EXECUTES, TELLS, TELLS, 1),
    ("idempotent", CLAIMED, IN_FLIGHT, EXECUTES, TELLS, 1),
    # The key is at work, says the shop, until it has answered the request of the dead.
    ("idempotent", ARRIVED, IN_FLIGHT, AGAIN, EXECUTES, 1),
    ("idempotent", DONE, IN_FLIGHT, AGAIN, EXECUTES, 1),
    ("idempotent", ANSWERED, IN_FLIGHT, EXECUTES, TELLS, 1),
    ("idempotent", STORED, TELLS, TELLS, TELLS, 1),
    # What changes nothing is asked again unless the answer is on record; the model sells it twice then.
    ("read_only", BEFORE, EXECUTES, TELLS, TELLS, 1),
    ("read_only", ARRIVED, EXECUTES, TELLS, TELLS, 2),
    ("read_only", DONE, EXECUTES, TELLS, TELLS, 2),
    ("read_only", ANSWERED, EXECUTES, TELLS, TELLS, 2),
    ("read_only", STORED, TELLS, TELLS, TELLS, 1),
]

LEFT = [row for row in MATRIX if row[0] != "read_only" and row[1] != BEFORE]

# The same deaths, then `reconcile` at the same times, and what performing it comes to afterwards.
# None: nothing is unsettled.
RECONCILED = [
    ("at_most_once", BEFORE, None, None, None, EXECUTES, 1),
    ("at_most_once", CLAIMED, "not_asked", "not_asked", "not_asked", A_PERSON, 0),
    ("at_most_once", ARRIVED, "not_asked", "not_asked", "not_asked", A_PERSON, 1),
    ("at_most_once", DONE, "not_asked", "not_asked", "not_asked", A_PERSON, 1),
    ("at_most_once", ANSWERED, "not_asked", "not_asked", "not_asked", A_PERSON, 1),
    ("at_most_once", STORED, None, None, None, TELLS, 1),
    ("queryable", BEFORE, None, None, None, EXECUTES, 1),
    ("queryable", CLAIMED, "not_asked", "unknown", "did_not_happen", EXECUTES, 1),
    ("queryable", ARRIVED, "not_asked", "unknown", "happened", TELLS, 1),
    ("queryable", DONE, "not_asked", "happened", None, TELLS, 1),
    ("queryable", ANSWERED, "not_asked", "happened", None, TELLS, 1),
    ("queryable", STORED, None, None, None, TELLS, 1),
    ("idempotent", CLAIMED, "not_asked", "happened", None, TELLS, 1),
    # Until it has answered the request of the dead, the shop says that the key is at work.
    ("idempotent", ARRIVED, "not_asked", "unknown", "happened", TELLS, 1),
    ("idempotent", DONE, "not_asked", "unknown", "happened", TELLS, 1),
    ("idempotent", ANSWERED, "not_asked", "happened", None, TELLS, 1),
    ("idempotent", STORED, None, None, None, TELLS, 1),
    ("read_only", ANSWERED, None, None, None, EXECUTES, 2),
]


# A second worker dies too: the first was killed as said, the second goes on after the first's lease, and for
# `queryable` also after what was sent may have landed. Then a third performs it, at the same times as above.
SECOND = [
    ("queryable", CLAIMED, ASKED, EXECUTES, TELLS, TELLS, 1),
    ("queryable", CLAIMED, BEFORE, EXECUTES, TELLS, TELLS, 1),
    ("queryable", CLAIMED, CLAIMED, IN_FLIGHT, ASK_LATER, EXECUTES, 1),
    ("queryable", CLAIMED, ARRIVED, IN_FLIGHT, ASK_LATER, TELLS, 1),
    ("queryable", CLAIMED, DONE, IN_FLIGHT, TELLS, TELLS, 1),
    ("queryable", CLAIMED, ANSWERED, IN_FLIGHT, TELLS, TELLS, 1),
    ("queryable", CLAIMED, STORED, TELLS, TELLS, TELLS, 1),
    ("queryable", ANSWERED, ASKED, TELLS, TELLS, TELLS, 1),
    ("idempotent", CLAIMED, BEFORE, EXECUTES, TELLS, TELLS, 1),
    ("idempotent", ANSWERED, BEFORE, EXECUTES, TELLS, TELLS, 1),
    ("idempotent", ANSWERED, CLAIMED, IN_FLIGHT, EXECUTES, TELLS, 1),
    ("idempotent", ANSWERED, DONE, IN_FLIGHT, AGAIN, EXECUTES, 1),
    ("idempotent", ANSWERED, ANSWERED, IN_FLIGHT, EXECUTES, TELLS, 1),
    ("idempotent", ANSWERED, STORED, TELLS, TELLS, TELLS, 1),
]


@contextmanager
def scene(
    place: Path | str, outside: Callable[[str], Outside], recovery: str, moment: str, name: str = "matrix"
) -> Iterator[Scene]:
    """Open a run, let a worker perform the act of a recovery, and kill it at a moment."""
    deed, clock, calls = DEEDS[recovery], Clock(), list[str]()
    server, run = outside(deed.outside), f"{name}: {recovery}, {moment}"
    tool = before_each_call(deed.tool(server.port), lambda: calls.append("called"))
    with open_ledger(place, clock=clock, tools=[tool]) as ledger:
        ledger.open_run(run, "Do it once")
        kill_a_worker(place, run, recovery, server, moment)
        yield Scene(ledger, run, clock, deed, server, calls)


def kill_a_worker(
    place: Path | str, run: str, recovery: str, server: Outside, moment: str, seconds: int = 0
) -> None:
    """Let a worker, whose clock shows so many seconds, perform the act of a recovery; kill it at a moment."""
    server.expect(*([HOLDS[moment]] if moment in HOLDS else []))
    arguments = (place, run, recovery, server.port, moment, seconds)
    process, reports = worker.start(worker.perform_and_stop, *arguments)
    if moment in HOLDS:
        server.until_held()
    else:
        assert reports.recv() == moment
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def lands(there: Scene, moment: str) -> None:
    """Let the outside do, and answer, what it holds from before the death."""
    if moment in HOLDS:
        there.lets_go(undone=int(moment == ARRIVED))


def named(rows: list[Any]) -> dict[str, Any]:
    """Name each row by the recovery and the moment of the death."""
    return {"argvalues": rows, "ids": [f"{row[0]}, {row[1]}" for row in rows]}


@pytest.mark.parametrize(("recovery", "moment", "at_once", "lapsed", "settled", "acts"), **named(MATRIX))
def test_a_killed_worker_leaves_what_its_recovery_allows(
    place: Path | str,
    outside: Callable[[str], Outside],
    recovery: str,
    moment: str,
    at_once: str,
    lapsed: str,
    settled: str,
    acts: int,
) -> None:
    with scene(place, outside, recovery, moment) as there:
        found = []
        for seconds in TIMES:
            if seconds == TIMES[-1]:
                lands(there, moment)
            there.at(seconds)
            found.append(there.perform())
        assert found == [at_once, lapsed, settled]
        assert there.acts() == acts
        assert there.outcomes() == (0 if found[-1] == A_PERSON else 1)
        assert not there.ledger.effects(there.run) or found[-1] == A_PERSON


@pytest.mark.parametrize(("recovery", "moment", "at_once", "lapsed", "settled", "acts"), **named(LEFT))
def test_a_successor_run_meets_what_a_killed_worker_of_its_ancestor_left(
    place: Path | str,
    outside: Callable[[str], Outside],
    recovery: str,
    moment: str,
    at_once: str,
    lapsed: str,
    settled: str,
    acts: int,
) -> None:
    with scene(place, outside, recovery, moment, "inherited") as ancestor:
        parent = Parent(position=1, relation="successor", root=ancestor.run, run=ancestor.run)
        there = ancestor._replace(run=f"heir of {ancestor.run}")
        opened = RunOpened(goal="Do it once", parent=parent)
        there.ledger.import_events(there.run, [opened], expected=0)
        found = []
        for seconds in TIMES:
            if seconds == TIMES[-1]:
                lands(there, moment)
            there.at(seconds)
            found.append(there.perform())
        assert found == [at_once, lapsed, settled]
        assert ancestor.perform() == (TELLS if found[-1] == EXECUTES else found[-1])
        assert there.acts() == acts
        assert ancestor.outcomes() + there.outcomes() == (0 if found[-1] == A_PERSON else 1)


@pytest.mark.parametrize(
    ("recovery", "first", "second", "at_once", "lapsed", "settled", "acts"),
    SECOND,
    ids=[f"{row[0]}, {row[1]}, {row[2]}" for row in SECOND],
)
def test_a_successor_that_is_killed_too_leaves_no_more(
    place: Path | str,
    outside: Callable[[str], Outside],
    recovery: str,
    first: str,
    second: str,
    at_once: str,
    lapsed: str,
    settled: str,
    acts: int,
) -> None:
    with scene(place, outside, recovery, first, f"then {second}") as there:
        begins = LEASE + SETTLE
        kill_a_worker(place, there.run, recovery, there.server, second, begins)
        found = []
        for seconds in TIMES:
            if seconds == TIMES[-1]:
                lands(there, second)
            there.at(begins + seconds)
            found.append(there.perform())
        assert found == [at_once, lapsed, settled]
        assert there.acts() == acts
        assert there.outcomes() == 1
        assert there.ledger.effects(there.run) == []


@pytest.mark.parametrize(
    ("recovery", "moment", "at_once", "lapsed", "settled", "afterwards", "acts"), **named(RECONCILED)
)
def test_reconciling_asks_about_what_a_killed_worker_left(
    place: Path | str,
    outside: Callable[[str], Outside],
    recovery: str,
    moment: str,
    at_once: str | None,
    lapsed: str | None,
    settled: str | None,
    afterwards: str,
    acts: int,
) -> None:
    with scene(place, outside, recovery, moment, "reconciled") as there:
        found = []
        for seconds in TIMES:
            if seconds == TIMES[-1]:
                lands(there, moment)
            there.at(seconds)
            found.append(next((one.found for one in there.ledger.reconcile(there.run)), None))
        assert found == [at_once, lapsed, settled]
        told = sum(each in ("unknown", "happened", "did_not_happen") for each in found)
        assert len(there.calls) == (told if recovery == "idempotent" else 0), "only what is deduped is sent"
        # That it is sent again is recorded before, and what that came to afterwards.
        assert there.names().count("effect.reconciled") == told + len(there.calls)
        assert there.perform() == afterwards
        assert there.acts() == acts


@pytest.mark.parametrize(
    ("moment", "happened", "afterwards"), [(CLAIMED, False, EXECUTES), (DONE, True, TELLS)]
)
def test_a_person_settles_what_can_be_neither_asked_nor_deduped(
    place: Path | str, outside: Callable[[str], Outside], moment: str, happened: bool, afterwards: str
) -> None:
    """Said while the lease holds, that it did not happen is kept and settles nothing."""
    with scene(place, outside, "at_most_once", moment, "settled") as there:
        said: Any = {
            "evidence": "looked into the mailbox",
            "by": "human:kim",
            "result": {"to": "kim@example.org"},
        }
        key = there.effect().key
        if not happened:
            there.ledger.settle(key, happened=False, **said)
            assert there.perform() == IN_FLIGHT
        there.at(LEASE)
        assert there.perform() == A_PERSON
        there.ledger.settle(key, happened=happened, **said)
        assert there.perform() == afterwards
        assert there.acts() == 1
        assert there.perform() == TELLS


@pytest.mark.parametrize("moment", [CLAIMED, ANSWERED])
def test_a_key_that_the_outside_may_have_forgotten_is_not_sent_again(
    place: Path | str, outside: Callable[[str], Outside], moment: str
) -> None:
    with scene(place, outside, "idempotent", moment, "forgotten") as there:
        remember(there.server.url, DEDUPES)
        advance(there.server.url, DEDUPES)
        there.at(DEDUPES)
        sent = [(found.key, found.repeats) for found in orders(there.server.url)]
        assert there.perform() == A_PERSON
        assert [one.found for one in there.ledger.reconcile(there.run)] == ["not_asked"]
        assert there.calls == []
        assert [(found.key, found.repeats) for found in orders(there.server.url)] == sent
        assert len(sent) == (moment == ANSWERED)


def test_a_key_is_sent_again_as_long_as_it_is_remembered_and_done_once(
    place: Path | str, outside: Callable[[str], Outside]
) -> None:
    with scene(place, outside, "idempotent", ANSWERED, "remembered") as there:
        there.at(DEDUPES - 1)
        advance(there.server.url, DEDUPES - 1)
        assert there.perform() == EXECUTES
        assert [found.repeats for found in orders(there.server.url)] == [1]


def test_what_a_model_answered_is_bought_anew_when_it_is_stale_and_not_before(
    place: Path | str, outside: Callable[[str], Outside]
) -> None:
    with scene(place, outside, "read_only", STORED, "bought") as there:
        there.at(FRESH - 1)
        assert there.perform() == TELLS
        there.at(FRESH)
        assert there.perform() == EXECUTES
        assert there.acts() == 2
        observed: Any = [record.event for record in there.ledger.log(there.run)][1:]
        assert [dict(event.cost) for event in observed] == [{"EUR": Decimal("0.01"), "tokens": 12}] * 2
        assert {event.name for event in observed} == {"observation.recorded"}
        other = there.ledger.run(there.run).perform("ask_model", {"prompt": "Another question"})
        assert other == {"answer": 3}
