"""Where the program stands, what was said, and which runtime runs it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ledger import events as e
from ledger.commands import AdoptRuntime, MoveCursor, RecordMessage, SummariseMessages
from ledger.run.contract import WINDOW, Contract
from ledger.run.decision import Refusal
from ledger.testing import History, given
from ledger.values import Actor, Branch, Payload, Runtime
from tests.run import examples as x

OTHER = Payload(digest="9" * 64)


def ids(history: History[Contract | None]) -> list[str]:
    return [item.id for item in history.contract.messages]


# --- cursor ------------------------------------------------------------------------------------


def test_the_cursor_moves_with_all_that_was_said() -> None:
    command = MoveCursor(
        branches=(Branch(name="left", node="pay", round=1),),
        budget_left={"EUR": Decimal(3)},
        needs=("effect:a",),
        next=("mail",),
        node="pay",
        on_denied="apologise",
        retries={"pay": 1},
        round=2,
        state="a" * 64,
        visited={"look": 1, "pay": 2},
        waits_for=("approval:ok-1",),
    )
    fields = {name: getattr(command, name) for name in MoveCursor.model_fields if name != "about"}
    history = given(x.opened()).when(command).then(e.CursorMoved(**fields))
    cursor = history.contract.cursor
    assert cursor is not None
    assert all(getattr(cursor, name) == value for name, value in fields.items())
    assert (cursor.position, history.contract.tally.steps) == (2, 1)
    history.when(command).then_stands_at(2)
    history.when(MoveCursor(node="pay", round=3)).then(e.CursorMoved(node="pay", round=3))


def test_the_cursor_of_a_program_is_moved_by_no_other_agent_before_the_gate_lets_it_go_on() -> None:
    program, other = Actor("agent:refunds", session="s-1"), Actor("agent:mail", session="s-7")
    run = given(x.opened(), e.CursorMoved(needs=("observation:stock",), node="pay"), actor=program)
    move = MoveCursor(node="mail")
    relayed = Actor("service:desk", on_behalf_of=(other.id,))
    for who in (other, relayed):
        asked = run.by(who).when(move)
        assert asked.then_refused("not_for_agents", position=2).contract.cursor == run.contract.cursor
        assert isinstance(asked.decision, Refusal)
        assert "is the program of 'run-1'" in asked.decision.message
        # What it says to the run, and does in it, is admitted as ever.
        for said in (x.message("m-2", role="assistant"), x.observed()):
            assert run.by(who).also(said).position == 3
    again = Actor("agent:refunds", session="s-2")
    for who in (program, again, Actor("human:kim"), Actor("service:login@host")):
        run.by(who).when(move).then(e.CursorMoved(node="mail"))
    run.also(x.SUSPENDED, x.RESUMED).by(other).when(move).then_refused("not_for_agents")
    run.also(x.SUSPENDED).by(other).also(x.RESUMED).when(move).then(e.CursorMoved(node="mail"))
    run.also(x.SUSPENDED).by("human:kim").also(x.RESUMED).by(other).when(move).then(
        e.CursorMoved(node="mail")
    )


# --- messages ----------------------------------------------------------------------------------


def test_a_message_is_known_by_its_id() -> None:
    command = RecordMessage(content=x.SAID, id="m-1", role="user", tokens=7)
    history = given(x.opened()).when(command).then(x.message(tokens=7))
    history.when(command).then_stands_at(2)
    history.when(command.model_copy(update={"content": OTHER})).then_refused("id_in_use", position=2)
    history.when(command.model_copy(update={"role": "tool"})).then_refused("id_in_use", position=2)


def test_a_message_that_left_the_window_is_still_known_to_the_store() -> None:
    said = given(x.opened(), x.message())
    elsewhere = given(x.opened())
    command = RecordMessage(content=x.SAID, id="m-1", role="user")
    elsewhere.when(command, prior=said.records[1:2]).then_stands_at(2)
    other = command.model_copy(update={"content": OTHER})
    elsewhere.when(other, prior=said.records[1:2]).then_refused("id_in_use", position=2)
    elsewhere.when(command, prior=said.records[:1]).then(x.message())


def test_the_window_holds_the_last_64_messages_and_all_are_counted() -> None:
    history = given(x.opened(), *(x.message(f"m-{number}") for number in range(WINDOW + 2)))
    assert ids(history) == [f"m-{number}" for number in range(2, WINDOW + 2)]
    assert history.contract.tally.messages == WINDOW + 2


def test_a_summary_takes_the_place_of_all_up_to_one() -> None:
    history = given(x.opened(), *(x.message(f"m-{number}") for number in range(WINDOW + 2)))
    command = SummariseMessages(content=OTHER, through="m-4")
    event = e.MessagesSummarised(content=OTHER, count=5, through="m-4")
    history = history.when(command).then(event)
    assert ids(history) == [f"m-{number}" for number in range(5, WINDOW + 2)]
    summary = history.contract.summary
    assert summary is not None
    assert (summary.content, summary.count, summary.position) == (OTHER, 5, WINDOW + 4)
    history.when(command).then_stands_at(WINDOW + 4)
    history.when(SummariseMessages(content=x.SAID, through="m-4")).then_refused("not_open")
    more = history.when(SummariseMessages(content=OTHER, through="m-6")).then(
        e.MessagesSummarised(content=OTHER, count=7, through="m-6")
    )
    assert ids(more)[0] == "m-7"


def test_what_is_not_in_the_window_cannot_be_summarised() -> None:
    given(x.opened(), x.message()).when(SummariseMessages(content=OTHER, through="m-9")).then_refused(
        "not_open"
    )


def test_a_summary_of_what_left_the_window_leaves_the_window_as_it_is() -> None:
    history = given(x.opened(), x.message("m-2"), e.MessagesSummarised(content=OTHER, count=1, through="m-1"))
    assert ids(history) == ["m-2"]


# --- runtime -----------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [None, Runtime(model="m-1")])
def test_another_runtime_is_adopted_for_a_reason(first: Runtime | None) -> None:
    command = AdoptRuntime(by="human:kim", reason="upgrade", runtime=Runtime(model="m-2"))
    history = (
        given(x.opened(runtime=first), e.CursorMoved(node="a"))
        .when(command)
        .then(e.RuntimeAdopted(by="human:kim", reason="upgrade", runtime=Runtime(model="m-2")))
    )
    assert history.contract.runtime == Runtime(model="m-2")
    history.also(e.CursorMoved(node="b")).when(command).then_stands_at(3)


def test_who_accepts_a_runtime_and_why_is_heard_each_time() -> None:
    adopt = AdoptRuntime(by="human:kim", reason="sure", runtime=Runtime(model="m-1"))
    adopted = e.RuntimeAdopted(by="human:kim", reason="sure", runtime=Runtime(model="m-1"))
    history = given(x.opened(runtime=Runtime(model="m-1")), e.CursorMoved(node="a")).when(adopt).then(adopted)
    history.when(adopt).then_stands_at(3)
    lee = history.when(adopt.model_copy(update={"by": "human:lee"}))
    lee.then(adopted.model_copy(update={"by": "human:lee"}))


def test_what_is_not_said_of_an_adopted_runtime_stays_as_it_was() -> None:
    running = given(e.RunOpened(goal="Refund order 17", runtime=Runtime(model="small-3", prompt="p-12")))
    adopted = running.when(AdoptRuntime(by="human:kim", reason="upgrade", runtime=Runtime(model="small-4")))
    whole = Runtime(model="small-4", prompt="p-12")
    assert (
        adopted.then(e.RuntimeAdopted(by="human:kim", reason="upgrade", runtime=whole)).contract.runtime
        == whole
    )
