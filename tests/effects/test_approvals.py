"""A program dies between asking a person and the act; another one performs what was approved, once."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger import Ledger, Tool, open_ledger
from ledger.errors import ApprovalRequired, EffectInFlight, OutcomeUnknown
from ledger.testing import Clock
from tests.effects import approvals, worker
from tests.effects.approvals import ASKED, ASKS, approved
from tests.effects.deeds import DEEDS, LEASE, SETTLE, before_each_call
from tests.effects.scene import A_PERSON, AGAIN, ASK_LATER, EXECUTES, IN_FLIGHT, TELLS, Scene
from tests.effects.worker import ARRIVED, BEFORE, CLAIMED, DONE, STORED
from tests.outside.manners import HELD, LATE
from tests.outside.outside import Outside

pytestmark = pytest.mark.slow

KIM, LEE = "human:kim", "human:lee"
HOLDS = {ARRIVED: LATE, DONE: HELD}
PROCESSES, THREADS = 2, 4
WAITS = ["effect.intended", "approval.requested"]


class Approving(Scene):
    """A scene whose act a person has to approve."""

    __slots__ = ()

    @property
    def tool(self) -> Tool:
        return approved(
            before_each_call(self.deed.tool(self.server.port), lambda: self.calls.append("called"))
        )

    def perform(self) -> Any:
        before = len(self.calls)
        try:
            result = self.ledger.run(self.run).perform(self.tool, self.deed.args)
        except EffectInFlight:
            return IN_FLIGHT
        except OutcomeUnknown as unknown:
            return {None: A_PERSON, 0.0: AGAIN, float(SETTLE): ASK_LATER}[unknown.retry_after]
        assert set(result) & {"to", "id", "answer"}, result
        return EXECUTES if len(self.calls) > before else TELLS

    def asks(self) -> str:
        with pytest.raises(ApprovalRequired) as asked:
            self.perform()
        return asked.value.id

    def kill_a_worker(self, place: Path | str, recovery: str, moment: str) -> None:
        """Let another process perform the act, and kill it at a moment."""
        self.server.expect(*([HOLDS[moment]] if moment in HOLDS else []))
        arguments = (place, self.run, recovery, self.server.port, moment, 0)
        process, reports = worker.start(approvals.perform_and_stop, *arguments)
        if moment in HOLDS:
            self.server.until_held()
        else:
            assert reports.recv() == moment
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL

    def lands(self, moment: str) -> None:
        if moment in HOLDS:
            self.lets_go(undone=int(moment == ARRIVED))


def scene(
    ledger: Ledger, outside: Callable[[str], Outside], clock: Clock, recovery: str, name: str
) -> Approving:
    deed = DEEDS[recovery]
    run = f"{name}: {recovery}"
    ledger.open_run(run, "Do it once")
    return Approving(ledger, run, clock, deed, outside(deed.outside), [])


@pytest.mark.parametrize("moment", [ASKS, ASKED])
def test_who_asks_is_killed_and_another_asks_the_same_person_no_second_time(
    place: Path | str, outside: Callable[[str], Outside], moment: str
) -> None:
    clock = Clock()
    with open_ledger(place, clock=clock) as ledger:
        there = scene(ledger, outside, clock, "at_most_once", moment)
        there.kill_a_worker(place, "at_most_once", moment)
        assert there.names()[1:] == ([] if moment == ASKS else WAITS)
        id = there.asks()
        assert there.names()[1:] == WAITS
        assert [one.id for one in ledger.contract(there.run).approvals] == [id]
        ledger.approve(id, by=KIM)
        assert [there.perform(), there.perform()] == [EXECUTES, TELLS]
        assert (there.acts(), there.outcomes()) == (1, 1)


# The recovery,  where it died,   then performing it again: at once, lease lapsed, settled;   acts
APPROVED = [
    ("at_most_once", BEFORE, EXECUTES, TELLS, TELLS, 1),
    ("at_most_once", CLAIMED, IN_FLIGHT, A_PERSON, A_PERSON, 0),
    ("queryable", CLAIMED, IN_FLIGHT, ASK_LATER, EXECUTES, 1),
    ("queryable", ARRIVED, IN_FLIGHT, ASK_LATER, TELLS, 1),
    ("queryable", DONE, IN_FLIGHT, TELLS, TELLS, 1),
    ("idempotent", CLAIMED, IN_FLIGHT, EXECUTES, TELLS, 1),
    ("idempotent", STORED, TELLS, TELLS, TELLS, 1),
]


@pytest.mark.parametrize(
    ("recovery", "moment", "at_once", "lapsed", "settled", "acts"),
    APPROVED,
    ids=[f"{row[0]}, {row[1]}" for row in APPROVED],
)
def test_who_performs_what_was_approved_is_killed_and_it_is_done_once(
    place: Path | str,
    outside: Callable[[str], Outside],
    recovery: str,
    moment: str,
    at_once: str,
    lapsed: str,
    settled: str,
    acts: int,
) -> None:
    """Under the same approval as if there had been none: nobody is asked again, and nothing done twice."""
    clock = Clock()
    with open_ledger(place, clock=clock) as ledger:
        there = scene(ledger, outside, clock, recovery, f"approved, {moment}")
        id = there.asks()
        ledger.approve(id, by=KIM)
        there.kill_a_worker(place, recovery, moment)
        found = []
        for seconds in (0, LEASE, LEASE + SETTLE):
            if seconds == LEASE + SETTLE:
                there.lands(moment)
            there.at(seconds)
            found.append(there.perform())
        assert found == [at_once, lapsed, settled]
        assert there.acts() == acts
        assert there.names().count("approval.requested") == 1
        assert there.outcomes() == (0 if found[-1] == A_PERSON else 1)


def test_what_a_person_found_not_to_have_happened_is_performed_under_the_same_approval(
    place: Path | str, outside: Callable[[str], Outside]
) -> None:
    clock = Clock()
    with open_ledger(place, clock=clock) as ledger:
        there = scene(ledger, outside, clock, "at_most_once", "settled by hand")
        ledger.approve(there.asks(), by=KIM)
        there.kill_a_worker(place, "at_most_once", CLAIMED)
        there.at(LEASE)
        assert there.perform() == A_PERSON
        ledger.settle(there.effect().key, happened=False, evidence="no mail went out", by=LEE)
        assert [there.perform(), there.perform()] == [EXECUTES, TELLS]
        assert there.acts() == 1
        assert there.names().count("approval.requested") == 1


def test_processes_that_ask_at_once_are_told_one_id_and_perform_once_it_is_approved(
    place: Path | str, outside: Callable[[str], Outside]
) -> None:
    """The first of them performs it as soon as the answer is there, the others get its result."""
    deed = DEEDS["at_most_once"]
    server, run = outside(deed.outside), "processes at once"
    with open_ledger(place) as ledger:
        ledger.open_run(run, "Do it once")
        begin = worker.CONTEXT.Barrier(PROCESSES * THREADS + 1)
        arguments = (place, run, "at_most_once", server.port, THREADS, begin)
        started = [worker.start(approvals.perform_at_once, *arguments) for _ in range(PROCESSES)]
        begin.wait()
        told = [pipe.recv() for _, pipe in started for _ in range(THREADS)]
        assert {type(each) for each in told} == {ApprovalRequired}
        assert len({each.id for each in told}) == 1
        ledger.approve(told[0].id, by=KIM)
        begin.wait()
        reports: list[Any] = []
        for process, pipe in started:
            reports += worker.drain(pipe)
            process.join()
            assert process.exitcode == 0
        assert reports.count("calls") == 1
        results = [each for each in reports if each != "calls"]
        assert results == [{"to": "kim@example.org"}] * PROCESSES * THREADS
        assert len(deed.record(server)) == 1
        assert [record.name for record in ledger.log(run)][1:] == [
            *WAITS,
            "approval.answered",
            "effect.intended",
            "effect.started",
            "effect.succeeded",
        ]
