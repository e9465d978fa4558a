"""Whatever people, programs and crashes do in which order: one life at a time, and nothing is done twice.

Two programs and a person work on one lineage; programs die inside of calls, and appends are lost on the way.
A model knows which handle is of the present life, and counts what the outside did.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from ledger import Actor, Happened, Ledger, NotHappened, Recovery, Run, Source, Tool, tool
from ledger.application.edge import Edge
from ledger.application.verifying import verify
from ledger.errors import LedgerError, RunIsClosed, RunIsHeld, StoreBusy, StoreUnavailable, Superseded
from ledger.events import RunResumed
from ledger.record import Record
from ledger.testing import Clock
from tests.application.faulty import FaultyStore, Interrupt
from tests.scenarios.scene import DAY, KIM, LIMIT
from tests.scenarios.till import LEASE

PROGRAMS = st.integers(0, 1)
ORDERS = st.integers(1, 2)
FAULTS = st.sampled_from(["lost", "lost_stored", "twice", "busy", "interrupted", "interrupted_stored"])
ENDS = st.sampled_from(["answered", "answered", "unanswered", "dies before", "dies after"])
NOBODY_KNOWS = (StoreUnavailable, StoreBusy, Interrupt)
STOPS = {"run.suspended", "run.resume_refused"}
REQUESTS = {"cursor.moved", "effect.intended", "effect.started"}
"""What the programs here ask for; all else that they, or people, say is a remedy or a report."""


class Death(BaseException):
    """The end of a program, inside of a call."""


@dataclass
class Program:
    """A program, and the handle that it was given."""

    ledger: Ledger
    actor: Actor
    run: Run | None = None
    name: str = ""
    incarnation: int = 0


class Lives(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store = FaultyStore()
        self.clock = Clock()
        self.done: list[int] = []
        self.end = "answered"
        self.names = ["run-0"]
        self.revision = 0
        self.person = self._start(KIM)
        self.programs = [self._program(number) for number in (0, 1)]

    def _start(self, actor: Actor, *tools: Tool) -> Ledger:
        store: Any = self.store
        edge = Edge(store, "default", actor, self.clock, pause=lambda lost: None, wait=lambda seconds: None)
        return Ledger(edge, tools=tools)

    def _program(self, number: int) -> Program:
        actor = Actor("agent:refunds", session=f"s-{number}")
        return Program(self._start(actor), actor)

    @property
    def name(self) -> str:
        return self.names[-1]

    # --- the outside ---------------------------------------------------------------------------------

    def pay(self, order: int) -> dict[str, int]:
        if self.end == "dies before":
            self._dies()
        self.done.append(order)
        if self.end == "dies after":
            self._dies()
        if self.end == "unanswered":
            raise TimeoutError("no answer")
        return {"order": order}

    def _dies(self) -> None:
        self.store.faults = ["interrupted"] * 20
        raise Death

    def find(self, key: str, args: Any) -> Happened | NotHappened | None:
        if self.end == "unanswered":
            return None
        order = args["order"]
        return Happened({"order": order}) if order in self.done else NotHappened()

    def tool(self) -> Tool:
        said: Any = {"recovery": Recovery.QUERYABLE, "probe": self.find, "lease_seconds": LEASE}
        return tool(name="pay", settle_seconds=0, **said)(self.pay)

    # --- programs --------------------------------------------------------------------------------------

    @initialize()
    def begin(self) -> None:
        source = self.person.source("policy:refunds")
        self.publish()
        first = self.programs[0]
        run = first.ledger.open_run(self.name, "Refund orders 1 and 2")
        run.accept("limit", LIMIT, source=Source("policy", "refunds"), asserted_by="human:kim")
        assert source.state.revision == "1"
        first.run, first.name, first.incarnation = run, self.name, 1

    @rule(number=PROGRAMS)
    def is_started_again(self, number: int) -> None:
        """Let a program die between two calls; what it had in memory is gone."""
        self.programs[number] = self._program(number)

    @rule(number=PROGRAMS)
    def resumes(self, number: int) -> None:
        program = self.programs[number]
        try:
            said = program.ledger.resume(self.name)
        except (*NOBODY_KNOWS, RunIsClosed):
            return
        if said.run is not None:
            program.run, program.name = said.run, self.name
            program.incarnation = said.run.contract.incarnation

    @rule(number=PROGRAMS)
    def is_resumed_by_a_person(self, number: int) -> None:
        """Let a person take over, and a program go on with the handle that they got."""
        program = self.programs[number]
        try:
            said = self.person.resume(self.name, take_over=True)
        except NOBODY_KNOWS:
            return
        if said.run is not None:
            program.run, program.name = said.run, self.name
            program.incarnation = said.run.contract.incarnation

    @rule(number=PROGRAMS)
    def moves(self, number: int) -> None:
        self._asks(self.programs[number], lambda run: run.move("somewhere"))

    @rule(number=PROGRAMS, order=ORDERS, end=ENDS)
    def goes_on_and_acts(self, number: int, order: int, end: str) -> None:
        self.store.faults = []
        self.resumes(number)
        self.acts(number, order, end)

    @rule(number=PROGRAMS)
    def goes_on_and_moves(self, number: int) -> None:
        self.resumes(number)
        self.moves(number)

    @rule(number=PROGRAMS, order=ORDERS, end=ENDS)
    def acts(self, number: int, order: int, end: str) -> None:
        self.end = end
        try:
            self._asks(
                self.programs[number],
                lambda run: run.perform(self.tool(), {"order": order}, step=f"pay-{order}"),
                may_be_known=True,
            )
        except (Death, Interrupt):
            self.programs[number] = self._program(number)
        finally:
            self.end, self.store.faults = "answered", []

    def _asks(self, program: Program, say: Any, *, may_be_known: bool = False) -> None:
        """Make a request: it is stored by the handle of the present life of a run that nobody stopped."""
        if program.run is None:
            return
        before = self.person.contract(program.name)
        length, faults = before.position, bool(self.store.faults)
        present = program.incarnation == before.incarnation
        try:
            say(program.run)
        except Superseded:
            assert not present
        except (RunIsHeld, RunIsClosed):
            assert before.status != "open"
        except NOBODY_KNOWS:
            assert faults or self.end.startswith("dies")
        except LedgerError:
            # Refused for what the act is about: the policy was withdrawn, or nobody knows what became of it.
            pass
        if not (present and before.status == "open"):
            added = [record.name for record in self._log(program.name)[length:]]
            assert not REQUESTS & set(added), added
            assert may_be_known or not added

    @rule(number=PROGRAMS)
    def reports(self, number: int) -> None:
        """Say what happened: that is heard from every handle, on every run."""
        program = self.programs[number]
        if program.run is None or self.store.faults:
            return
        at = self.clock()
        stated = program.run.observe("order", {"n": len(self.done)}, tool="get_order", observed_at=at)
        assert self._log(program.name)[stated.position - 1].name == "observation.recorded"

    # --- people and time ---------------------------------------------------------------------------------

    def publish(self) -> None:
        self.revision += 1
        said = {"limit": LIMIT}
        self.person.source("policy:refunds").publish(str(self.revision), said, by="human:kim")

    @rule(seconds=st.sampled_from([1, LEASE, 600, 2 * DAY]))
    def time_passes(self, seconds: int) -> None:
        self.clock.tick(seconds)

    @rule(fault=FAULTS)
    def the_next_append_fails(self, fault: str) -> None:
        self.store.faults = [fault]

    def _says(self, say: Any) -> None:
        try:
            say(self.person.run(self.name))
        except (*NOBODY_KNOWS, LedgerError):
            return

    @rule()
    def is_suspended(self) -> None:
        self._says(lambda run: run.suspend(reason="night", by="human:kim"))

    @rule()
    def is_confirmed(self) -> None:
        self._says(lambda run: run.revise_goal("Refund orders 1 and 2", reason="wanted", by="human:kim"))

    @rule()
    def is_found_out(self) -> None:
        ledger = self._start(KIM, self.tool())
        try:
            list(ledger.reconcile(self.name))
        except NOBODY_KNOWS:
            return

    @rule()
    def the_policy_has_another_revision(self) -> None:
        try:
            self.publish()
        except NOBODY_KNOWS:
            return

    @rule()
    def is_acknowledged(self) -> None:
        revision = self.person.source("policy:refunds").state.revision
        source = Source("policy", "refunds", revision=revision)
        self._says(lambda run: run.acknowledge(source, by="human:kim"))

    @precondition(lambda self: len(self.names) < 3 and self.person.contract(self.name).position > 8)
    @rule(withdrawn=st.booleans())
    def is_restarted(self, withdrawn: bool) -> None:
        heir = f"run-{len(self.names)}"
        said: Any = {"as_": heir, "reason": "anew", "by": "human:kim"}
        try:
            if withdrawn:
                policy = self.person.source("policy:refunds")
                policy.withdraw("limit", reason="gone", by="human:kim")
            self.person.restart(self.name, **said)
        except NOBODY_KNOWS:
            self.store.faults = []
            # Said again it is the same restart, whether or not it was stored.
            self.person.restart(self.name, **said)
        self.names.append(heir)

    @precondition(lambda self: len(self.names) < 4)
    @rule(number=PROGRAMS, order=ORDERS)
    def acts_and_is_succeeded_by_one_that_acts(self, number: int, order: int) -> None:
        self.store.faults = []
        self.acts(number, order, "answered")
        self.is_restarted(withdrawn=False)
        self.resumes(number)
        self.acts(number, order, "answered")

    # --- what holds always ---------------------------------------------------------------------------

    def _log(self, name: str) -> list[Record]:
        faults, self.store.faults = self.store.faults, []
        found = list(self.person.log(name))
        self.store.faults = faults
        return found

    @invariant()
    def nothing_is_done_twice(self) -> None:
        assert len(set(self.done)) == len(self.done)

    @invariant()
    def each_run_is_one_history(self) -> None:
        for name in self.names:
            try:
                records = self._log(name)
            except LedgerError:
                assert name == "run-0", "only before it is opened"
                continue
            assert [record.position for record in records] == list(range(1, len(records) + 1))
            lives = [record.event.incarnation for record in records if isinstance(record.event, RunResumed)]
            assert lives == list(range(2, len(lives) + 2))
            self._nothing_is_asked_while_stopped(records)

    def _nothing_is_asked_while_stopped(self, records: list[Record]) -> None:
        stopped = False
        for record in records:
            if record.name in STOPS:
                stopped = True
            elif record.name == "run.resumed":
                stopped = False
            assert not (stopped and record.name in REQUESTS), record.name
            if record.name == "run.closed":
                stopped = True

    @invariant()
    def at_most_one_program_is_of_the_present_life(self) -> None:
        for name in self.names:
            lives = [p.incarnation for p in self.programs if p.run is not None and p.name == name]
            assert len(set(lives)) == len(lives)

    def teardown(self) -> None:
        self.store.faults = []
        assert verify(self.person).findings == ()


TestLives = pytest.mark.slow(Lives.TestCase)
