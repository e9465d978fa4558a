"""Whatever crashes, races or gets lost: no act is done a second time blindly, and what is recorded is true.

Workers of two ledgers perform the same few acts in the runs of one lineage, one step of the protocol at a
time. Appends are lost, land late or are interrupted, leases lapse, processes end, people and probes settle
what is unknown. The outside does what arrives, refuses it, or loses the answer, and its own record is
compared with the ledger's after every step.
"""

from __future__ import annotations

import math
from collections import Counter
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from ledger import Actor, Happened, Ledger, NotHappened, Run, Tool, current_effect
from ledger import events as e
from ledger.application.acting import Doing
from ledger.application.edge import Edge
from ledger.application.heartbeats import Beat, Heartbeats
from ledger.application.performing import Driver
from ledger.application.rows import decoded
from ledger.errors import (
    EffectFailed,
    EffectInFlight,
    EffectNotFound,
    KeyConflict,
    LeaseLost,
    LedgerError,
    OutcomeUnknown,
    PossibleRepeat,
    RunIsClosed,
    StoreBusy,
    StoreUnavailable,
)
from ledger.gateway import protocol as p
from ledger.gateway.current import CurrentEffect
from ledger.gateway.tools import declare
from ledger.testing import Clock
from tests.application.faulty import FaultyStore, Interrupt
from tests.gateway.outside import DEDUPES, LANDS_WITHIN, Outside, Request

LEASE = 30
TOOLS = ("mail", "pay", "order", "book")
FAULTS = (
    "none",
    "lost",
    "lost_stored",
    "lost_late",
    "late_first",
    "twice",
    "busy",
    "interrupted",
    "interrupted_stored",
)
# What may be told to who performs an act: it is done, or one of these.
TOLD = (EffectFailed, EffectInFlight, OutcomeUnknown, PossibleRepeat, LeaseLost, RunIsClosed)
INDEX = st.integers(0, 10**6)
LEDGERS, NUMBERS = st.integers(0, 1), st.integers(1, 2)
FAULTY: st.SearchStrategy[list[str]] = st.one_of(st.just([]), st.lists(st.sampled_from(FAULTS), max_size=3))
REFUSES = st.sampled_from([False, False, False, True])


KINDS = ("late appends land", "restart", "crash", "name it")


RESENT = ("done", "refused", "lost", "killed")


class Killed(BaseException):
    """The process ends in the middle of what it sends again."""


class Refusal(Exception):
    """The outside says that it did nothing."""


@dataclass(eq=False)
class Worker:
    """Somebody who performs one act, and where it is."""

    ledger: int
    doing: Doing
    driver: Driver
    steps: Any
    step: Any
    body: AbstractContextManager[CurrentEffect | None] | None = None
    effect: CurrentEffect | None = None
    request: Request | None = None
    renewed: bool = False

    @property
    def key(self) -> str:
        return self.doing.act.key


class Still(Heartbeats):
    """Renews nothing by itself, however long an example takes by the clock on the wall."""

    def begin(self, beat: Beat) -> None:
        beat.ends = math.inf

    def end(self, beat: Beat) -> None: ...

    def renew(self, beat: Beat, progress: str | None = None) -> None:
        super().renew(beat, progress)
        beat.ends = math.inf


class Lineage(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.held: dict[tuple[int, str], Run] = {}
        """A handle of each ledger on each run: what they remember must not hang on when memory is freed."""
        self.clock = Clock()
        self.store: Any = FaultyStore()
        self.outside = Outside(self.clock)
        self.probe_fails = False
        self.resending = "done"
        """What becomes of what is sent again to find out."""
        self.ledgers = [self._open(), self._open()]
        self.runs = ["run-1"]
        self.ledgers[0].open_run("run-1", goal="Refund order 17")
        self.workers: list[Worker] = []
        self.named: dict[str, tuple[str, int, str | None]] = {}
        self.noted: int | None = None
        self.excused: set[str] = set()
        """Keys about which a person was wrong."""

    def _open(self) -> Ledger:
        edge = Edge(
            self.store,
            "default",
            Actor("service:tests"),
            self.clock,
            pause=lambda attempt: None,
            wait=lambda seconds: None,
            tries=4,
        )
        ledger = Ledger(edge, tools=[self._tool(name) for name in TOOLS])
        ledger._shared.workshop.heartbeats = Still(edge)
        return ledger

    def _run(self, ledger: int, run: str) -> Run:
        handle = self.ledgers[ledger].run(run)
        self.held[ledger, run] = handle
        return handle

    def _ledger(self, ledger: int) -> Ledger:
        for run in self.runs:
            self._run(ledger, run)
        return self.ledgers[ledger]

    def _tool(self, name: str) -> Tool:
        declared: dict[str, dict[str, Any]] = {
            "mail": {"recovery": "at_most_once"},
            "pay": {"recovery": "queryable", "probe": self._probe, "settle_seconds": LANDS_WITHIN},
            "order": {"recovery": "idempotent", "dedupes_for": DEDUPES},
        }
        declared["book"] = {**declared["order"], "probe": self._probe, "settle_seconds": LANDS_WITHIN}
        more: Any = declared[name]
        return declare(self._resent, name=name, definite_errors=Refusal, lease_seconds=LEASE, **more)

    def _resent(self, number: int) -> str:
        """Send what is sent again to find out; what workers send they send by hand."""
        effect = current_effect()
        assert self.named[effect.key][:2] == (effect.tool, number)
        request = self.outside.send(effect.key, effect.tool)
        if self.resending == "killed":
            raise Killed
        if self.resending == "lost":
            raise TimeoutError("no answer")
        self.outside.land(request, refuses=self.resending == "refused")
        if request.answer == "refused":
            raise Refusal
        return effect.key

    def _probe(self, key: str, args: Any) -> Happened | NotHappened:
        if self.probe_fails:
            raise OSError("down")
        return Happened(key) if self.outside.has(key) else NotHappened()

    # --- workers ---------------------------------------------------------------------------------

    @rule(
        data=st.data(),
        ledger=LEDGERS,
        tool=st.sampled_from(TOOLS),
        number=NUMBERS,
        far=st.integers(0, 8),
        faults=FAULTY,
    )
    def begin(
        self, data: st.DataObject, ledger: int, tool: str, number: int, far: int, faults: list[str]
    ) -> None:
        """Somebody sets out to perform an act, under one of its steps, and comes more or less far."""
        step = data.draw(st.sampled_from([None, None, "again", "on purpose"]))
        options: Any = {"step": step}
        if step == "on purpose":
            options |= {"repeat": True, "reason": "the customer asked for two"}
        run = self._run(ledger, data.draw(st.sampled_from(self.runs)))
        doing = run._doing(tool, {"number": number}, None, options, once=False)
        self.named[doing.act.key] = (tool, number, step)
        steps = p.perform(doing.act)
        worker = Worker(ledger, doing, run._driver(doing), steps, next(steps))
        self.workers.append(worker)
        self._go(data, worker, far, faults)

    @precondition(lambda self: self.workers)
    @rule(data=st.data(), which=INDEX, far=st.integers(1, 8), faults=FAULTY)
    def go_on(self, data: st.DataObject, which: int, far: int, faults: list[str]) -> None:
        """One of them goes on; appends may be lost on the way, and reads fail."""
        self._go(data, self._chosen(which), far, faults)

    def _go(self, data: st.DataObject, worker: Worker, far: int, faults: list[str]) -> None:
        self.store.faults = list(faults)
        for _ in range(far):
            if worker not in self.workers:
                break
            self.store.failing_reads = int(bool(faults) and data.draw(st.booleans()))
            self._try(data, worker)
            request = worker.request
            if request in self.outside.wire and data.draw(st.booleans()):
                self.outside.land(request, refuses=data.draw(REFUSES))
        self.store.faults, self.store.failing_reads = [], 0

    def _try(self, data: st.DataObject, worker: Worker) -> None:
        try:
            self._step(data, worker)
        except StopIteration as end:
            self.workers.remove(worker)
            self._was_told(worker, end.value)
        except Interrupt:
            self.workers.remove(worker)
        except Exception as error:  # noqa: BLE001
            self.workers.remove(worker)
            self._was_told(worker, error)

    def _chosen(self, which: int) -> Worker:
        return self.workers[which % len(self.workers)]

    def _step(self, data: st.DataObject, worker: Worker) -> None:
        if not isinstance(worker.step, p.Execute):
            reports = isinstance(worker.step, p.Report)
            try:
                worker.step = worker.driver._one(worker.steps, worker.step)
            except LedgerError as error:
                _expect_no_refusal(error, reports=reports)
                raise
        elif worker.body is None:
            worker.body = worker.driver.under_way(worker.step.attempt)
            worker.effect = worker.body.__enter__()
            if worker.effect is None:
                self._end(worker, p.NotBegun())
        elif worker.request is None:
            self._send(worker)
        else:
            self._hear(worker, is_lost=data.draw(st.booleans()))

    def _send(self, worker: Worker) -> None:
        """Send the request, as a careful body does: only while it holds the effect."""
        assert worker.effect is not None
        assert worker.effect.deadline is not None
        if worker.effect.is_lost or self.clock.now >= worker.effect.deadline:
            self._end(worker, p.Raised(LeaseLost("too late", key=worker.key)))
        else:
            worker.request = self.outside.send(worker.key, worker.doing.act.tool.name)

    def _hear(self, worker: Worker, *, is_lost: bool) -> None:
        assert worker.request is not None
        answer = None if is_lost else worker.request.answer
        if answer is None:
            self._end(worker, p.Raised(TimeoutError("no answer")))
        else:
            self._end(worker, p.Returned(worker.key) if answer == "done" else p.Raised(Refusal()))

    def _end(self, worker: Worker, end: Any) -> None:
        assert worker.body is not None
        worker.body.__exit__(None, None, None)
        worker.body = worker.effect = worker.request = None
        worker.renewed = False
        worker.step = worker.steps.send(end)

    def _was_told(self, worker: Worker, end: Any) -> None:
        key = worker.key
        if isinstance(end, StoreUnavailable | StoreBusy):
            return
        assert end is None or isinstance(end, (str, *TOLD)), repr(end)
        if key in self.excused:
            return
        if end is None or isinstance(end, str):
            assert end in (None, key)  # a person who settled it gave no result
            assert self.outside.has(key), "it was told that it was done"
        if isinstance(end, EffectFailed):
            assert not self.outside.may_have(key), "it was told that nothing happened"

    @precondition(lambda self: self.workers)
    @rule(which=INDEX, crashes=st.booleans())
    def renew_or_crash(self, which: int, crashes: bool) -> None:
        """Let a worker stop where it is, or report progress; what is sent again is sent before that."""
        worker = self._chosen(which)
        if crashes:
            self._stop(worker)
        elif worker.effect is not None and (worker.effect.attempt == 1 or worker.request is not None):
            self._renew(worker)

    def _renew(self, worker: Worker) -> None:
        assert worker.effect is not None
        try:
            worker.effect.progress({"at": "work"})
        except LeaseLost as lost:
            self._end(worker, p.Raised(lost))

    def _stop(self, worker: Worker) -> None:
        self.workers.remove(worker)
        worker.doing.end()
        worker.steps.close()

    @rule(data=st.data(), ledger=LEDGERS, kind=st.sampled_from(KINDS))
    def meanwhile(self, data: st.DataObject, ledger: int, kind: str) -> None:
        """Something else happens."""
        if kind == "late appends land":
            self.store.land()
        elif kind == "restart":
            if len(self.runs) < 3:
                self._restart(ledger, closes=data.draw(st.booleans()))
        elif kind == "crash":
            self._crash(ledger)
        else:
            self._name(ledger, data.draw(NUMBERS))

    def _crash(self, ledger: int) -> None:
        """End a process, and let another open the ledger."""
        for worker in [worker for worker in self.workers if worker.ledger == ledger]:
            self._stop(worker)
        self.ledgers[ledger] = self._open()
        self.held = {place: handle for place, handle in self.held.items() if place[0] != ledger}

    # --- the outside, time, and the store --------------------------------------------------------

    @precondition(lambda self: self.outside.wire)
    @rule(which=INDEX, refuses=REFUSES)
    def arrive(self, which: int, refuses: bool) -> None:
        """Let a request arrive, in any order."""
        self.outside.land(self.outside.wire[which % len(self.outside.wire)], refuses=refuses)

    @rule(data=st.data(), seconds=st.sampled_from([1, 10, 29, 30, 31, 59, 60, 61]))
    def wait(self, data: st.DataObject, seconds: int) -> None:
        """Time passes; what was sent has arrived by its time, or never will."""
        for request in self.outside.due(self.clock.now + timedelta(seconds=seconds)):
            if data.draw(st.booleans()):
                self.outside.land(request)
            else:
                self.outside.lose(request)
        self.clock.tick(seconds)

    # --- who finds out ---------------------------------------------------------------------------

    @rule(ledger=LEDGERS, fails=st.booleans(), resending=st.sampled_from(RESENT))
    def reconcile(self, ledger: int, fails: bool, resending: str) -> None:
        self.probe_fails, self.resending = fails, resending
        with suppress(Killed):
            for one in self._ledger(ledger).reconcile():
                if one.effect.key not in self.excused:
                    if one.found == "happened":
                        assert self.outside.has(one.effect.key)
                    if one.found == "did_not_happen":
                        assert not self.outside.may_have(one.effect.key)
        self.probe_fails = False

    @precondition(lambda self: self.named)
    @rule(data=st.data(), ledger=LEDGERS, which=INDEX, is_wrong=st.sampled_from([False] * 5 + [True]))
    def settle(self, data: st.DataObject, ledger: int, which: int, is_wrong: bool) -> None:
        """Let a person look into the outside's books and say what is there; some are wrong."""
        key = list(self.named)[which % len(self.named)]
        happened = self.outside.has(key)
        if not happened and self._may_be_sent(key):
            return  # who is careful asks the worker first
        if is_wrong:
            happened = not happened
            self.excused.add(key)
        try:
            self._ledger(ledger).settle(key, happened=happened, evidence="the books", by="human:kim")
        except EffectNotFound:
            return

    def _may_be_sent(self, key: str) -> bool:
        executing = any(worker.key == key and worker.effect is not None for worker in self.workers)
        return executing or self.outside.may_have(key)

    def _restart(self, ledger: int, *, closes: bool) -> None:
        """Begin a successor with what the last run left unsettled, while workers of that may be alive."""
        before = self._run(ledger, self.runs[-1])
        if closes and before.contract.closed is None:
            before.close("abandoned")
        contract, name = before.contract, f"run-{len(self.runs) + 1}"
        left = tuple(
            e.InheritedEffect(run=contract.run, **{field: getattr(effect, field) for field in INHERITED})
            for effect in contract.effects
        )
        position = contract.position
        parent = e.Parent(position=position, relation="successor", root="run-1", run=contract.run)
        restarted = e.RunRestarted(
            by="human:kim",
            effects_done=0,
            predecessor=contract.run,
            predecessor_hash=contract.hash,
            predecessor_position=position,
            reason="the policy was withdrawn",
            unsettled=left,
        )
        opened = e.RunOpened(goal="Refund order 17", parent=parent)
        self.ledgers[ledger].import_events(name, [opened, restarted], expected=0)
        self.runs.append(name)

    def _name(self, ledger: int, number: int) -> None:
        """Use a key of the caller's own, which is for one act, whoever uses it."""
        run = self._run(ledger, self.runs[0])
        try:
            told = run.perform("note", {"number": number}, lambda number: number, key="a note")
        except (RunIsClosed, PossibleRepeat):
            return
        except KeyConflict:
            assert number != self.noted
            return
        self.noted = number if self.noted is None else self.noted
        assert told == number == self.noted

    # --- laws ------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_done_twice_blindly(self) -> None:
        """Not under one key, nor the same act under another step, unless somebody wants it on purpose."""
        by_act: Counter[tuple[str, int]] = Counter()
        for key, times in self.outside.done.items():
            tool, number, step = self.named[key]
            if key not in self.excused:
                assert times <= 1, f"{tool} {number} {step} was done {times} times"
            if step != "on purpose":
                by_act[tool, number] += times
        wrong = {self.named[key][:2] for key in self.excused}
        assert all(times <= 1 for act, times in by_act.items() if act not in wrong), by_act

    @invariant()
    def what_is_recorded_is_true(self) -> None:
        for key in self.named.keys() - self.excused:
            try:
                known = self.ledgers[0].effect(key)
            except EffectNotFound:
                assert not self.outside.may_have(key)
                continue
            if known.status == "succeeded":
                assert self.outside.has(key), "a success is recorded of what did not happen"
            if known.status in ("failed", "did_not_happen"):
                assert not self.outside.may_have(key), "a failure is recorded of what may happen"

    @invariant()
    def every_attempt_has_one_claim(self) -> None:
        claims: list[tuple[str, int]] = []
        for row in self.store.tail(limit=100_000):
            event = _event(row)
            if isinstance(event, e.EffectStarted):
                claims.append((event.key, event.attempt))
        assert len(claims) == len(set(claims))
        for key, attempt in claims:
            assert attempt == 1 or (key, attempt - 1) in claims

    def teardown(self) -> None:
        for worker in list(self.workers):
            self._stop(worker)


INHERITED = ("act", "attempt", "key", "position", "recovery", "status", "tool")


def _expect_no_refusal(error: LedgerError, *, reports: bool) -> None:
    """Expect that a report ends in no error but the protocol's own, unless the store did not answer."""
    assert not reports or isinstance(error, (StoreUnavailable, StoreBusy, *TOLD)), repr(error)


def _event(row: Any) -> Any:
    return decoded(row).event


TestLineage = Lineage.TestCase
