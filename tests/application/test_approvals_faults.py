"""Whatever fails between programs that ask and people who answer: nothing begins without a yes that binds.

Two processes with stores that lose, delay, repeat and overtake appends perform two acts that a person has to
approve, others answer, the terms change and time passes. What was begun is held to the record, and what each
was told to what is stored.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Ledger
from ledger.application.kinds import load_contract
from ledger.application.ledger import edge_of
from ledger.errors import (
    ApprovalDenied,
    ApprovalNotFound,
    ApprovalRequired,
    EffectFailed,
    EffectInFlight,
    LeaseLost,
    NotOpen,
    OutcomeUnknown,
    StoreBusy,
    StoreUnavailable,
)
from ledger.events import ApprovalAnswered, ApprovalRequested, EffectIntended, EffectStarted
from ledger.run.approvals import asked_about, is_denied, why_void
from ledger.run.contract import Contract, by_id
from tests.application.approving import KIM, LEE, PROGRAM, begin, opened, paying
from tests.application.conftest import SetClock
from tests.application.faulty import FaultyStore

GOOD_FOR = 100
FAULTS = st.sampled_from(
    ["none", "rival", "twice", "twice_overtaken", "lost", "lost_stored", "lost_late", "late_first", "busy"]
)
PROCESSES, ORDERS = st.integers(0, 1), st.sampled_from([1, 2])
FAILING: st.SearchStrategy[list[str]] = st.one_of(
    st.just([]), st.just([]), st.lists(FAULTS, min_size=1, max_size=2)
)
PERFORMS = st.tuples(st.just("perform"), PROCESSES, ORDERS, FAILING, st.booleans())
ANSWERS = st.tuples(
    st.just("answer"),
    PROCESSES,
    ORDERS,
    FAILING,
    st.sampled_from([("approve", KIM), ("approve", KIM), ("approve", LEE), ("deny", KIM)]),
)
MEANWHILE = st.one_of(
    st.tuples(st.just("change")),
    st.tuples(st.just("land")),
    st.tuples(st.just("tick"), st.sampled_from([10, 60, 3600])),
    st.tuples(st.just("settle"), ORDERS),
    PERFORMS,
)
ROUNDS = st.tuples(PERFORMS, ANSWERS, st.lists(MEANWHILE, max_size=2), PERFORMS)
"""Somebody asks, somebody answers, something happens or not, and somebody acts."""


class Play:
    def __init__(self) -> None:
        self.clock = SetClock()
        self.refuses = False
        self.done: list[int] = []
        self.changes = 0
        self.stores = [FaultyStore(), FaultyStore()]
        self.stores[1]._store = self.stores[0]._store
        self.clean = self.ledger(self.stores[0]._store)
        begin(self.clean)
        self.processes = [self.ledger(store) for store in self.stores]
        self.handles = [ledger.run("r", actor=PROGRAM) for ledger in self.processes]
        self.desks = [ledger.run("r") for ledger in self.processes]
        for store in self.stores:
            store.rivals = [self.rival] * 100

    def ledger(self, store: Any) -> Ledger:
        tool = paying(self.pay, definite_errors=KeyError, approval_seconds=GOOD_FOR, lease_seconds=30)
        return opened(store, self.clock, [tool], wait=lambda seconds: None, tries=4)

    def pay(self, order: int) -> str:
        if self.refuses:
            raise KeyError("busy")
        self.done.append(order)
        return "paid"

    def rival(self) -> None:
        self.clean.run("r").move(f"node-{self.clean.contract('r').position}")

    @property
    def contract(self) -> Contract:
        return self.clean.contract("r")

    def events(self, kind: type[Any]) -> list[Any]:
        return [record for record in self.clean.log("r") if isinstance(record.event, kind)]

    # --- what happens --------------------------------------------------------------------------

    def perform(self, process: int, order: int, faults: list[str], refuses: bool) -> None:
        self.stores[process].faults, self.refuses = list(faults), refuses
        told: ApprovalRequired | None = None
        try:
            assert self.handles[process].perform("pay", {"order": order}) == "paid"
            assert order in self.done
        except ApprovalRequired as asked:
            told = asked
        except ApprovalDenied:
            approval = asked_about(self.contract, self.key(order))
            assert approval is not None
            assert is_denied(approval)
        except (EffectFailed, EffectInFlight, LeaseLost, OutcomeUnknown, StoreBusy, StoreUnavailable):
            pass
        finally:
            self.stores[process].faults = []
        assert told is None or told.id in {record.event.id for record in self.events(ApprovalRequested)}

    def answer(self, process: int, order: int, faults: list[str], said: tuple[str, str]) -> None:
        asked = [record.event.id for record in self.events(ApprovalRequested)]
        ids = [id for id in asked if id.startswith(self.key(order))] or ["nothing"]
        verb, by = said
        self.stores[process].faults = list(faults)
        try:
            stated = getattr(self.desks[process], verb)(ids[-1], by=by)
            (event,) = (r.event for r in self.clean.log("r") if r.position == stated.position)
            assert isinstance(event, ApprovalAnswered)
            assert (event.id, event.answer) == (ids[-1], {"approve": "approved", "deny": "denied"}[verb])
        except (ApprovalNotFound, NotOpen, StoreBusy, StoreUnavailable):
            pass
        finally:
            self.stores[process].faults = []

    def change(self) -> None:
        self.changes += 1
        self.clean.run("r").accept(f"c-{self.changes}", "Be careful", asserted_by=KIM)

    def land(self) -> None:
        for store in self.stores:
            store.land()

    def tick(self, seconds: int) -> None:
        self.clock.tick(seconds)

    def settle(self, order: int) -> None:
        """Let a person look whether the outside did it; a lease that lasts is left alone."""
        self.land()
        held = next((one for one in self.contract.effects if one.key == self.key(order)), None)
        if held is not None and held.status != "pending" and held.lease_until is not None:
            self.clock.now = max(self.clock.now, held.lease_until)
            happened = order in self.done
            result = "paid" if happened else None
            self.clean.settle(held.key, happened=happened, evidence="looked", by=LEE, result=result)

    def key(self, order: int) -> str:
        return str(self.handles[0].may("pay", {"order": order}).key)

    # --- what has to be so ---------------------------------------------------------------------

    def holds(self) -> None:
        assert len(self.done) == len(set(self.done)), "an act was done twice"
        contract = self.contract
        keys = [approval.key for approval in contract.approvals]
        assert len(keys) == len(set(keys))
        log = list(self.clean.log("r"))
        for record in log:
            if isinstance(record.event, EffectStarted):
                begun = log[record.position - 2]
                assert isinstance(begun.event, EffectIntended)
                before = load_contract(edge_of(self.clean), "r", upto=begun.position - 1).state
                assert before is not None
                approval = by_id(before.approvals, str(begun.event.approval))
                assert approval is not None
                assert approval.answered is not None
                assert approval.answered.answer == "approved"
                assert why_void(before, approval, begun.at) is None
        assert [handle.contract for handle in self.handles] == [contract] * 2


@pytest.mark.slow
@given(st.lists(ROUNDS, min_size=1, max_size=3))
def test_nothing_begins_without_a_yes_that_binds_whatever_fails(rounds: list[Any]) -> None:
    play = Play()
    for asks, answers, meanwhile, acts in rounds:
        for name, *how in (asks, answers, *meanwhile, acts):
            getattr(play, name)(*how)
    play.land()
    play.holds()


def test_a_play_comes_as_far_as_two_acts_that_were_done() -> None:
    """The same as above on one way that ends well, so that the law is not kept by nothing."""
    play = Play()
    for order in (1, 2):
        play.perform(0, order, ["lost_stored"], False)
        play.perform(0, order, [], False)
        play.answer(1, order, ["lost_stored"], ("approve", KIM))
        play.perform(1, order, ["none"], True)
        play.answer(1, order, [], ("deny", LEE))
        play.perform(1, order, ["twice", "lost_stored"], False)
    play.holds()
    assert play.done == [1, 2]
