"""Whatever fails and whoever interferes: what was told is true, and nothing is stored twice or lost.

Callers speak to two runs through two ledgers on one store, in random company, step by step; each append may
be lost, land late, be overtaken or be interrupted, and reads may fail. A model keeps what each was told.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from ledger import Actor, Ledger
from ledger.application.doubts import cut_short
from ledger.application.edge import Edge
from ledger.application.kinds import RUN, load_contract
from ledger.application.rows import chained, decoded
from ledger.application.statements import Stated, Statement
from ledger.application.stream import Stream
from ledger.commands import (
    AcceptConstraint,
    Command,
    DischargeObligation,
    MakeAssumption,
    MoveCursor,
    OpenObligation,
    RecordObservation,
    RefuteAssumption,
)
from ledger.errors import Conflict, InvalidInput, LedgerError, Refused, StoreBusy, StoreUnavailable
from ledger.events import ConstraintAccepted
from ledger.record import ZERO_HASH, Record
from ledger.run.contract import Contract
from ledger.run.sources import PREFIX, SourceState, evolve_source
from ledger.run.state import replay
from ledger.values import Payload, Source
from tests.application.conftest import SetClock
from tests.application.faulty import FAULTS, Driver, FaultyStore

pytestmark = pytest.mark.slow

RUNS = ("r", "s")
SOURCE = "policy:refunds"
CALLERS = st.integers(0, 3)
LEDGERS = st.integers(0, 1)
NAMES = st.sampled_from(["a", "b"])


@dataclass
class Told:
    """Something a caller wants to have said once, and what became of it."""

    number: int
    caller: int
    run: str
    command: Command
    marked: bool
    """No other command leaves the mark that this one does."""
    expected: int | None = None
    error: LedgerError | None = None
    """The last error that says its fate is not known."""
    streams: list[object] = field(default_factory=list)
    """Where it was said, as long as the same words count there."""
    blind: bool = False
    """It was said, and there was no answer at all: only the same words at the same place find out."""
    final: Stated | Exception | None = None


class Protocol(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store = FaultyStore()
        self.clock = SetClock()
        self.edges = [self._edge(), self._edge()]
        self.rival = Ledger(self._edge(self.store._store))
        self.policy = self.rival.source(SOURCE)
        self.revision = 0
        self._publish("a", "b")
        self.context = self.rival._shared.context(Actor("agent:a"), 1)
        self.streams: dict[tuple[int, str], Stream[Contract | None]] = {}
        for run in RUNS:
            self.rival.open_run(run, "goal")
            for ledger in (0, 1):
                self._load(ledger, run)
        self.said: list[Told] = []
        self.open: dict[int, Told] = {}

    def _edge(self, store: Any = None) -> Edge:
        store = store or self.store
        return Edge(store, "default", Actor("service:tests"), self.clock, pause=lambda tries: None, tries=4)

    def _load(self, ledger: int, run: str) -> None:
        edge = self.edges[ledger]
        self.streams[ledger, run] = Stream(edge, run, RUN, load_contract(edge, run))

    def _publish(self, *items: str) -> None:
        self.revision += 1
        self.policy.publish(str(self.revision), {id: f"Rule {id}" for id in items})

    # --- what is said --------------------------------------------------------------------------

    def _new(self, data: st.DataObject, caller: int) -> Told:
        number = len(self.said)
        mark = f"mark-{number}"
        source = Source("policy", "refunds")
        name = data.draw(NAMES)
        marked: dict[str, Command] = {
            "move": MoveCursor(node=mark),
            "observe": RecordObservation(
                key=mark, tool="look", value=Payload(json_text="3"), observed_at=self.clock.now
            ),
            "assume": MakeAssumption(id=mark, text="in stock"),
        }
        shared: dict[str, Command] = {
            "accept": AcceptConstraint(id=name, text=f"Rule {name}", asserted_by="human:kim", source=source),
            "promise": OpenObligation(id=name, text="mail", owed_to="customer:17"),
            "discharge": DischargeObligation(id=name, evidence="sent"),
            "same": MakeAssumption(id=name, text="in stock"),
            "refute": RefuteAssumption(id=name, evidence="seen"),
            "huge": OpenObligation(id=name, text="\x01" * 60_000, owed_to="customer:17"),
        }
        # Two moves to one node are two, wherever another lies between: nothing hides that it was said twice.
        kind = data.draw(st.sampled_from(["move", "move", "move", "move", *marked, *shared]))
        command = {**marked, **shared}[kind]
        run = data.draw(st.sampled_from(RUNS))
        expected = None
        if kind == "move" and data.draw(st.booleans()):
            expected = len(self._rows(run)) + data.draw(st.integers(-1, 1))
        told = Told(number, caller, run, command, kind in marked, expected)
        self.said.append(told)
        return told

    def _statement(self, data: st.DataObject, told: Told, stream: object) -> Statement:
        again = None
        if told.error is not None and (stream not in told.streams or data.draw(st.booleans())):
            again = told.error
        # Other words of the same caller end what the same words would have meant there.
        for other in self.said:
            if other is not told and other.caller == told.caller and stream in other.streams:
                other.streams.remove(stream)
        # What another ledger sent meanwhile is known to the error only.
        told.streams = [stream]
        return Statement(told.command, self.context, told.expected, again, told.caller)  # type: ignore[arg-type]

    def _begin(self, data: st.DataObject, ledger: int, run: str, some: list[Told]) -> _Settling:
        stream = self.streams[ledger, run]
        statements = [self._statement(data, told, stream) for told in some]
        looks = [Statement()] if data.draw(st.booleans()) else []
        steps = stream.settle([*statements, *looks])
        return _Settling(some, statements, looks, stream, Driver(self.store, steps))

    def _finish(self, settling: _Settling) -> None:
        for place, (told, statement) in enumerate(zip(settling.told, settling.statements, strict=True)):
            if settling.driver.interrupted and place == 0:
                # It led, was interrupted, and knows nothing.
                settling.stream.unheard(statement)
                self._left_blind(told, settling.stream)
                continue
            try:
                outcome: Stated | Exception = settling.stream.answer(statement, cut_short(None))
            except Exception as error:  # noqa: BLE001
                outcome = error
            if isinstance(outcome, RuntimeError):
                self._left_blind(told, settling.stream)
            else:
                told.blind = told.blind and statement.outcome is None
                self._hear(told, outcome)
        errors = [one.outcome for one in settling.statements if isinstance(one.outcome, Exception)]
        assert len({id(error) for error in errors}) == len(errors), "each has an error of its own"

    def _left_blind(self, told: Told, stream: object) -> None:
        told.blind = True
        told.streams = [stream]

    def _hear(self, told: Told, outcome: Stated | Exception) -> None:
        if isinstance(outcome, StoreUnavailable | StoreBusy):
            told.error = outcome
            return
        assert isinstance(outcome, Stated | LedgerError), repr(outcome)
        told.final = outcome
        if told.command.report and not isinstance(told.command, RefuteAssumption):
            assert isinstance(outcome, Stated), f"a report was refused: {outcome!r}"
        del self.open[told.caller]

    def _choose(self, data: st.DataObject, taken: set[int]) -> tuple[str, int, list[Told]] | None:
        """Choose who speaks together to one run through one ledger, each anew or again."""
        ledger = data.draw(LEDGERS)
        some: list[Told] = []
        for caller in data.draw(st.lists(CALLERS, unique=True, min_size=1)):
            if caller in taken:
                continue
            told = self.open.get(caller)
            if told is None or not self._can_repeat(told, ledger):
                told = self._new(data, caller)
                self.open[caller] = told
            if some and told.run != some[0].run:
                continue
            some.append(told)
            taken.add(caller)
        return (some[0].run, ledger, some) if some else None

    def _can_repeat(self, told: Told, ledger: int) -> bool:
        if not told.blind and (told.error is not None or not told.streams):
            return True
        return any(self.streams[ledger, told.run] is stream for stream in told.streams)

    def teardown(self) -> None:
        self.store.land()
        for ledger, run in self.streams:
            self._look(ledger, run)
        self.what_was_told_is_true()

    @rule(
        data=st.data(),
        together=st.booleans(),
        faults=st.lists(st.sampled_from(FAULTS), max_size=4),
        failing=st.sampled_from([0, 0, 0, 1, 2]),
    )
    def say(self, data: st.DataObject, together: bool, faults: list[str], failing: int) -> None:
        """One ledger settles what waits there, or two ledgers do at the same time, step by step."""
        taken: set[int] = set()
        chosen = [one for one in (self._choose(data, taken), together and self._choose(data, taken)) if one]
        settling: list[_Settling] = []
        for run, ledger, some in chosen:
            stream = self.streams[ledger, run]
            if not any(one.stream is stream for one in settling):
                settling.append(self._begin(data, ledger, run, some))
        self.store.faults, self.store.failing_reads = faults, failing
        self.store.rivals = [lambda kind=kind: self._interfere(kind) for kind in data.draw(RIVALS)]  # type: ignore[misc]
        running = list(settling)
        while running:
            one = data.draw(st.sampled_from(running)) if len(running) > 1 else running[0]
            one.driver.step()
            running = [other for other in running if not other.driver.done]
        self.store.faults, self.store.failing_reads, self.store.rivals = [], 0, []
        for one in settling:
            self._finish(one)

    @rule(data=st.data(), ledger=LEDGERS, run=st.sampled_from(RUNS))
    def meanwhile(self, data: st.DataObject, ledger: int, run: str) -> None:
        """Something else happens."""
        kind = data.draw(st.sampled_from(["move", "move", *WHAT_ELSE]))
        if kind == "land":
            self.store.land()
        elif kind == "look":
            self._look(ledger, run)
        elif kind == "crash":
            self._crash(ledger, run)
        elif kind == "give up":
            if self.open:
                del self.open[data.draw(st.sampled_from(sorted(self.open)))]
        else:
            self._interfere(kind)

    def _crash(self, ledger: int, run: str) -> None:
        """End the process and open the ledger in another: who spoke there keeps only the error."""
        gone = self.streams[ledger, run]
        for told in self.said:
            said_there = any(stream is gone for stream in told.streams)
            told.streams = [stream for stream in told.streams if stream is not gone]
            if said_there and (told.error is None or told.blind) and self.open.get(told.caller) is told:
                del self.open[told.caller]  # it cannot know, and must not say it again blindly
        self._load(ledger, run)

    def _interfere(self, kind: str) -> None:
        if kind == "move":
            for run in RUNS:
                self.rival.run(run).move("elsewhere")
        elif kind == "publish":
            self._publish("a", "b")
        elif "a" in {item.id for item in self.policy.state.items}:
            self.policy.withdraw("a", reason="replaced", by="human:kim")

    def _look(self, ledger: int, run: str) -> None:
        stream, looking = self.streams[ledger, run], Statement()
        driver = Driver(self.store, stream.settle([looking]))
        while not driver.done:
            driver.step()
        rows = self._rows(run)
        assert looking.outcome == Stated(len(rows))
        assert stream.state == replay(chained(stream.edge, rows, run, 0, ZERO_HASH))

    # --- laws ----------------------------------------------------------------------------------

    def _rows(self, stream: str) -> Any:
        return self.store._store.read("default", stream)

    def _log(self, run: str) -> list[Record]:
        return [decoded(row) for row in self._rows(run)]

    @invariant()
    def what_was_told_is_true(self) -> None:
        logs = {run: self._log(run) for run in RUNS}
        marks = {run: [_mark(record) for record in log] for run, log in logs.items()}
        for log in logs.values():
            assert [record.position for record in log] == list(range(1, len(log) + 1))
            assert len({record.id for record in log}) == len(log)
        for told in self.said:
            log, outcome = logs[told.run], told.final
            if isinstance(outcome, Stated):
                assert 1 <= outcome.position <= len(log)
                for record in outcome.records:
                    assert log[record.position - 1] == record
            if told.marked:
                times = marks[told.run].count(f"mark-{told.number}")
                assert times <= 1, f"{told} was stored {times} times"
                if isinstance(outcome, Stated):
                    assert marks[told.run][outcome.position - 1] == f"mark-{told.number}"
                elif outcome is not None:
                    assert isinstance(outcome, Conflict | Refused | InvalidInput)
                    assert times == 0, f"{told} was refused, and stored"

    @invariant()
    def no_two_callers_are_told_the_same_event(self) -> None:
        """One caller may be: who gave up and says the same words again asks for what they came to."""
        callers: dict[str, int] = {}
        for one in self.said:
            if isinstance(one.final, Stated):
                for record in one.final.records:
                    assert callers.setdefault(record.id, one.caller) == one.caller

    @invariant()
    def nothing_is_accepted_after_its_withdrawal(self) -> None:
        state = SourceState(SOURCE)
        for row in self.store._store.tail(limit=100_000):
            record = decoded(row)
            if row.stream == PREFIX + SOURCE:
                state = evolve_source(state, record)
            elif isinstance(record.event, ConstraintAccepted):
                assert record.event.id in {item.id for item in state.items}, "it was withdrawn before"


def _mark(record: Record) -> str | None:
    found = (getattr(record.event, name, None) for name in ("node", "key", "id"))
    return next((mark for mark in found if mark is not None), None)


@dataclass
class _Settling:
    told: list[Told]
    statements: list[Statement]
    looks: list[Statement]
    stream: Stream[Contract | None]
    driver: Driver


WHAT_ELSE = ["publish", "withdraw", "land", "look", "crash", "give up"]

RIVALS = st.lists(st.sampled_from(["move", "publish", "withdraw"]), max_size=3)

TestProtocol = Protocol.TestCase
