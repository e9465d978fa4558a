"""Statements that wait for one run are decided one after another and appended together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Actor, Ledger, Source
from ledger.application.edge import Edge
from ledger.application.kinds import RUN, load_contract
from ledger.application.statements import Stated, Statement
from ledger.application.steps import blocking
from ledger.application.stream import Stream
from ledger.commands import (
    AcceptConstraint,
    Command,
    DischargeObligation,
    MakeAssumption,
    MoveCursor,
    OpenObligation,
    RecordMessage,
    RefuteAssumption,
)
from ledger.errors import ContractChanged, InvalidInput, LedgerError, NotOpen, StoreBusy, StoreUnavailable
from ledger.run.contract import Contract
from ledger.stores.base import Append, FullStore
from ledger.stores.memory import MemoryStore
from ledger.values import Payload
from tests.application.conftest import SetClock


class Waiting:
    """Statements that wait for one run of a ledger."""

    def __init__(self, ledger: Ledger, store: FullStore) -> None:
        self._edge = Edge(
            store, "default", Actor("service:tests"), ledger._edge.clock, pause=lambda tries: None
        )
        self._context = ledger._shared.context(Actor("agent:a"), 1)
        self.stream: Stream[Contract | None] = Stream(self._edge, "r", RUN, load_contract(self._edge, "r"))

    def settle(self, commands: Sequence[Command | None]) -> list[Any]:
        context = self._context
        said = [
            Statement(command, None if command is None else context, caller=number)
            for number, command in enumerate(commands)
        ]
        blocking(self._edge.store, self.stream.settle(said))
        return [one.outcome for one in said]

    @property
    def contract(self) -> Contract:
        assert self.stream.state is not None
        return self.stream.state


@pytest.fixture
def appends(wrapped: Any) -> list[Append]:
    sent: list[Append] = []
    wrapped.before = sent.append
    return sent


@pytest.fixture
def waiting(wrapped: Any, ledger: Ledger) -> Waiting:
    ledger.open_run("r", "goal")
    return Waiting(ledger, wrapped)


PAY, LOOK = MoveCursor(node="pay"), MoveCursor(node="look")
PROMISE = OpenObligation(id="mail", text="Mail the customer", owed_to="customer:17")


def test_what_waits_goes_into_one_append(waiting: Waiting, appends: list[Append], ledger: Ledger) -> None:
    outcomes = waiting.settle([PAY, PROMISE, LOOK])
    assert len(appends) == 1
    assert [one.position for one in outcomes] == [2, 3, 4]
    for one, record in zip(outcomes, list(ledger.log("r"))[1:], strict=True):
        assert one.records == (record,)
    assert ledger.contract("r") == waiting.contract


def test_each_is_decided_on_what_those_before_it_said(waiting: Waiting, appends: list[Append]) -> None:
    done = DischargeObligation(id="mail", evidence="sent")
    opened, discharged = waiting.settle([PROMISE, done])
    assert (opened.position, discharged.position, len(appends)) == (2, 3, 1)
    assert waiting.contract.obligations == ()


def test_a_repeat_and_a_refusal_leave_the_others_alone(waiting: Waiting, appends: list[Append]) -> None:
    nothing = DischargeObligation(id="other", evidence="sent")
    first, repeat, refused, last = waiting.settle([PAY, PAY, nothing, PROMISE])
    assert (first.position, repeat.position, last.position) == (2, 2, 3)
    assert repeat.repeated
    assert isinstance(refused, NotOpen)
    assert len(appends) == 1


def test_what_cannot_be_encoded_fails_alone(waiting: Waiting) -> None:
    huge = OpenObligation(id="huge", text="\x01" * 60_000, owed_to="customer:17")
    first, failed, last = waiting.settle([PAY, huge, LOOK])
    assert isinstance(failed, InvalidInput)
    assert (first.position, last.position) == (2, 3)


def test_somebody_who_was_first_makes_all_be_decided_again(
    waiting: Waiting, wrapped: Any, ledger: Ledger
) -> None:
    def overtake(append: Append) -> None:
        wrapped.before = lambda append: None
        ledger.run("r").promise("mail", "Mail the customer", owed_to="customer:17")

    wrapped.before = overtake
    pay, repeat, look = waiting.settle([PAY, PROMISE, LOOK])
    assert (pay.position, repeat.position, look.position) == (3, 2, 4)
    assert repeat.repeated


def test_a_guard_that_moved_stops_only_who_relied_on_it(
    waiting: Waiting, wrapped: Any, ledger: Ledger
) -> None:
    policy = ledger.source("policy:refunds")
    texts = {"a": "Never refund more than 100 EUR", "b": "Refund once"}
    policy.publish("4", texts)
    source = Source("policy", "refunds", revision="4")

    commands: list[Command] = [
        AcceptConstraint(id=id, text=text, asserted_by="human:kim", source=source)
        for id, text in texts.items()
    ]

    def withdraw(append: Append) -> None:
        wrapped.before = lambda append: None
        policy.withdraw("a", reason="replaced", by="human:kim")

    wrapped.before = withdraw
    withdrawn, kept, pay = waiting.settle([*commands, PAY])
    assert isinstance(withdrawn, ContractChanged)
    assert [item.id for item in waiting.contract.constraints] == ["b"]
    assert {kept.position, pay.position} == {2, 3}


@pytest.mark.parametrize("stored", [True, False])
def test_each_learns_what_of_it_is_in_doubt(waiting: Waiting, wrapped: Any, stored: bool) -> None:
    def cut(append: Append) -> None:
        wrapped.before = wrapped.after = lambda append: None
        raise StoreUnavailable("the connection was lost at COMMIT")

    if stored:
        wrapped.after = cut
    else:
        wrapped.before = cut
    failed = waiting.settle([PAY, PROMISE])
    assert [(one.data["after"], len(one.data["events"])) for one in failed] == [(1, 1), (2, 1)]
    again = waiting.settle([PAY, PROMISE])
    assert [one.position for one in again] == [2, 3]
    assert [one.records[0].id for one in again] == [one.data["events"][0] for one in failed] or not stored
    assert waiting.contract.position == 3


def test_a_busy_store_is_told_to_each(waiting: Waiting, wrapped: Any) -> None:
    def full(append: Append) -> None:
        wrapped.before = lambda append: None
        raise StoreBusy("too many wait")

    wrapped.before = full
    first, second = waiting.settle([PAY, LOOK])
    assert isinstance(first, StoreBusy)
    assert isinstance(second, StoreBusy)
    assert first is not second
    assert [one.position for one in waiting.settle([PAY, LOOK])] == [2, 3]


def test_looking_comes_after_what_was_said(waiting: Waiting) -> None:
    looked, said = waiting.settle([None, PAY])
    assert (looked.position, said.position) == (2, 2)


def test_large_records_are_not_put_together_without_end(waiting: Waiting, appends: list[Append]) -> None:
    outcomes = waiting.settle(
        [OpenObligation(id=f"o{n}", text="x" * 60_000, owed_to="customer:17") for n in range(40)]
    )
    assert sorted(one.position for one in outcomes) == list(range(2, 42))
    assert 1 < len(appends) < 40
    assert all(sum(len(row.record) for row in one.streams[0].rows) < 2 * 1024 * 1024 for one in appends)


IDS = st.sampled_from(["a", "b"])
COMMANDS: st.SearchStrategy[Command] = st.one_of(
    st.builds(MakeAssumption, id=IDS, text=st.sampled_from(["in stock", "in season"])),
    st.builds(RefuteAssumption, id=IDS, evidence=st.sampled_from(["seen", "told"])),
    st.builds(OpenObligation, id=IDS, text=st.just("mail"), owed_to=st.just("customer:17")),
    st.builds(DischargeObligation, id=IDS, evidence=st.just("sent")),
    st.builds(MoveCursor, node=IDS),
    st.builds(RecordMessage, id=IDS, role=st.just("user"), content=st.just(Payload(json_text='"hello"'))),
)


@given(st.lists(st.lists(COMMANDS, max_size=6), max_size=4), st.data())
def test_every_answer_is_true_however_statements_meet(
    rounds: list[list[Command]], data: st.DataObject
) -> None:
    store = MemoryStore()
    ledger = Ledger(Edge(store, "default", Actor("service:tests"), SetClock(), pause=lambda tries: None))
    rival = ledger.open_run("r", "goal")
    waiting = Waiting(ledger, store)
    for commands in rounds:
        if data.draw(st.booleans()):
            rival.move(data.draw(IDS))
        outcomes = waiting.settle([*commands, None])
        log = {record.position: record for record in ledger.log("r")}
        for outcome in outcomes:
            if isinstance(outcome, Stated):
                assert outcome.position in log
                assert all(log[record.position] == record for record in outcome.records)
            else:
                assert isinstance(outcome, LedgerError)
        told = [record.position for one in outcomes if isinstance(one, Stated) for record in one.records]
        assert len(told) == len(set(told))
        assert waiting.contract == ledger.contract("r")
