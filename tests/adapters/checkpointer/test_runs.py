"""A conversation is a run: its states stand beside what was done, and the gate says whether it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger, Resumption, Run, open_ledger
from ledger.adapters.checkpointer import Checkpointer
from ledger.adapters.threads import Threads
from ledger.adapters.threads.dropping import prune
from ledger.errors import (
    InvalidInput,
    NotForAgents,
    OutcomeUnknown,
    RunNotFound,
    StateMoved,
    StillOpen,
    Superseded,
)
from ledger.testing import Clock
from ledger.values import Ending, Verdict

ME = Actor("agent:clerk", session="one")
Program = Callable[..., tuple[Ledger, Checkpointer]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def program(tmp_path: Path, clock: Clock) -> Iterator[Program]:
    """Return a function that starts the program: a ledger, and a checkpointer in it."""
    with ExitStack() as stack:

        def start(**options: Any) -> tuple[Ledger, Checkpointer]:
            ledger = stack.enter_context(open_ledger(tmp_path / "agent.db", clock=clock))
            return ledger, stack.enter_context(Checkpointer.open(ledger, **{"actor": ME, **options}))

        yield start


def test_a_conversation_is_a_run_that_is_opened_with_its_goal(program: Program) -> None:
    ledger, saves = program(goal=lambda thread: f"Answer {thread}")
    assert saves.run("chat").contract.goal.text == "Answer chat"
    saves.save("chat", {"n": 1}, at="loop_tail")
    assert ledger.contract("chat#1").thread == "chat"
    assert [record.actor.id for record in ledger.log("chat#1")] == ["agent:clerk", "agent:clerk"]
    assert saves.run("chat").id == "chat#1"


def test_closing_it_leaves_a_ledger_open_that_was_handed_in(program: Program) -> None:
    ledger, saves = program()
    saves.save("chat", {}, at="loop_tail")
    saves.close()
    assert ledger.contract("chat#1").position == 2


def test_an_open_ledger_has_its_own_clock(program: Program, clock: Clock) -> None:
    ledger, saves = program()
    clock.tick(60)
    saves.save("chat", {}, at="loop_tail")
    assert saves.list_checkpoints("chat")[0].saved_at == clock()
    with pytest.raises(InvalidInput):
        Checkpointer.open(ledger, clock=Clock())


def test_after_the_gate_the_older_program_saves_no_more(program: Program) -> None:
    _, older = program()
    older.save("chat", {"n": 1}, at="before_wait")
    older.run("chat").suspend(reason="night")
    _, newer = program()
    decision = newer.resume("chat")
    assert decision.verdict is Verdict.CONTINUE
    assert newer.load("chat").state == {"n": 1}  # type: ignore[union-attr]
    newer.save("chat", {"n": 2}, at="loop_tail")
    older.load("chat")
    with pytest.raises(Superseded):
        older.save("chat", {"n": 3}, at="loop_tail")
    with pytest.raises(RunNotFound):
        newer.resume("never begun")


DAY = 86_400


def test_a_goal_that_only_names_the_conversation_needs_nobody_to_confirm_it(
    program: Program, clock: Clock
) -> None:
    ledger, saves = program()
    saves.save("chat", {"n": 1}, at="before_wait")
    clock.tick(30 * DAY)
    assert kinds(saves.resume("chat", idle_seconds=3 * DAY // 4)) == ["idle"]
    assert kinds(saves.resume("chat")) == []
    ledger.run("chat#1", actor=ME).revise_goal("Refund order 17", reason="they asked", by="human:kim")
    clock.tick(2 * DAY)
    assert kinds(saves.resume("chat")) == ["idle"], "now somebody gave it"


def test_a_goal_that_was_given_is_confirmed_after_a_day_unless_the_custodian_says_otherwise(
    program: Program, clock: Clock
) -> None:
    goal = {"goal": lambda thread: f"Answer {thread}"}
    _, saves = program(**goal)
    saves.save("chat", {"n": 1}, at="before_wait")
    clock.tick(DAY + 1)
    assert kinds(saves.resume("chat")) == ["idle"]
    for idle in (None, 2 * DAY):
        with pytest.raises(NotForAgents):
            saves.resume("chat", idle_seconds=idle)
    _, kept = program(custodian=Actor("service:clerks"), **goal)
    assert kinds(kept.resume("chat")) == ["idle"]
    assert kinds(kept.resume("chat", idle_seconds=2 * DAY)) == []
    clock.tick(400 * DAY)
    assert kinds(kept.resume("chat", idle_seconds=None)) == []
    for wrong in (0, -1, "by goal", 1.5, True):
        with pytest.raises(InvalidInput, match="idle_seconds"):
            kept.resume("chat", idle_seconds=wrong)  # type: ignore[arg-type]


def kinds(decision: Resumption[Run]) -> list[str]:
    assert (decision.run is None) == bool(decision.reasons)
    return [reason.kind for reason in decision.reasons]


def test_who_waits_at_a_boundary_holds_no_other_session_off(program: Program) -> None:
    _, one = program()
    one.save("chat", {"n": 1}, at="after_model")
    _, two = program(actor=Actor("agent:clerk", session="two"))
    assert [reason.kind for reason in two.resume("chat").reasons] == ["still_running"]
    one.save("chat", {"n": 2}, at="before_wait")
    assert two.resume("chat")
    assert two.load("chat").state == {"n": 2}  # type: ignore[union-attr]


def test_a_conversation_goes_on_in_the_next_run_when_one_was_closed(program: Program) -> None:
    ledger, saves = program()
    first = saves.save("chat", {"n": 1}, at="loop_tail")
    saves.run("chat").close(Ending.COMPLETED)
    _, other = program()
    assert other.load("chat").state == {"n": 1}  # type: ignore[union-attr]
    second = saves.save("chat", {"n": 2}, at="loop_tail")
    third = other.load("chat")
    assert third is not None
    assert (third.checkpoint.id, third.checkpoint.parent) == (second, first)
    assert other.save("chat", {"n": 3}, at="loop_tail") > second > first
    assert ledger.contract("chat#2").status == "open"
    assert [one.id for one in saves.list_checkpoints("chat")][1:] == [second, first]


def test_a_rival_is_seen_across_a_run_that_was_closed(program: Program) -> None:
    """Who read in the run that was closed saves on what is the newest in the next one, or not at all."""
    _, saves = program()
    saves.save("chat", {"n": 1}, at="loop_tail")
    _, other = program()
    other.load("chat")
    saves.save("chat", {"n": 2}, at="loop_tail")
    saves.run("chat").close(Ending.COMPLETED)
    with pytest.raises(StateMoved):
        other.save("chat", {"n": "lost"}, at="loop_tail")
    other.load("chat")
    saves.save("chat", {"n": 3}, at="loop_tail")
    with pytest.raises(StateMoved):
        other.save("chat", {"n": "lost"}, at="loop_tail")
    assert other.load("chat").state == {"n": 3}  # type: ignore[union-attr]


def test_who_looked_before_it_was_closed_and_saves_after_a_rival_is_told(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rival saves and closes between the look and the save: the next run must not begin with a fork."""
    _, saves = program()
    saves.save("chat", {"n": 1}, at="loop_tail")
    _, other = program()
    other.load("chat")
    backend = other._engine.backend
    save = backend.save

    def overtaken(*args: Any, **options: Any) -> None:
        saves.save("chat", {"n": 2}, at="loop_tail")
        saves.run("chat").close(Ending.COMPLETED)
        save(*args, **options)

    monkeypatch.setattr(backend, "save", overtaken)
    with pytest.raises(StateMoved):
        other.save("chat", {"n": "lost"}, at="loop_tail")
    monkeypatch.undo()
    assert other.load("chat").state == {"n": 2}  # type: ignore[union-attr]


def test_a_restarted_conversation_begins_anew(program: Program) -> None:
    ledger, saves = program()
    old = saves.save("chat", {"n": 1}, at="loop_tail")
    ledger.restart("chat#1", as_="chat#2", reason="the rule was withdrawn", by="human:kim")
    with pytest.raises(StateMoved):
        saves.save("chat", {"n": 2}, at="loop_tail")
    assert saves.load("chat") is None
    with pytest.raises(StateMoved):
        saves.save("chat", {"n": 2}, at="loop_tail", parent=old)
    saves.save("chat", {"anew": True}, at="loop_head")
    _, other = program()
    assert other.load("chat").state == {"anew": True}  # type: ignore[union-attr]
    assert len(other.list_checkpoints("chat")) == 1
    assert other.run("chat").id == "chat#2"


def test_an_agent_deletes_nothing_and_a_person_not_what_is_unsettled(program: Program) -> None:
    ledger, saves = program()
    saves.save("chat", {"n": 1}, at="loop_tail")
    with pytest.raises(NotForAgents):
        saves.delete("chat")
    _, desk = program(actor=Actor("service:desk"))
    with pytest.raises(NotForAgents):
        desk.delete("chat", by="agent:clerk")
    with pytest.raises(OutcomeUnknown):
        saves.run("chat").perform("pay", {"order": 1}, times_out, recovery="at_most_once")
    with pytest.raises(StillOpen):
        desk.delete("chat", by="human:kim")
    assert desk.load("chat").state == {"n": 1}  # type: ignore[union-attr]
    (unsettled,) = ledger.effects("chat#1")
    ledger.settle(unsettled.effect.key, happened=False, evidence="asked the bank", by="human:kim")
    assert desk.delete("chat", by="human:kim", reason="it is over")
    assert desk.load("chat") is None
    names = [record.name for record in ledger.log("chat#1")]
    assert {"effect.intended", "effect.reconciled", "state.dropped"} <= set(names), "it stays on record"


def test_who_deletes_for_an_agent_is_the_custodian_that_was_named(program: Program) -> None:
    ledger, saves = program()
    saves.save("chat", {"n": 1}, at="loop_tail")
    with pytest.raises(NotForAgents, match="custodian"):
        saves.delete("chat", by="human:kim")
    with pytest.raises(NotForAgents):
        program(custodian=Actor("agent:clerk"))[1].delete("chat")
    _, kept = program(custodian=Actor("service:retention"))
    with pytest.raises(NotForAgents):
        kept.delete("chat", by="agent:clerk")
    assert kept.delete("chat")
    *_, closed, dropped = list(ledger.log("chat#1"))
    assert {closed.actor.id, dropped.actor.id, dropped.event.by} == {"service:retention"}  # type: ignore[attr-defined]


def times_out(order: int) -> None:
    raise TimeoutError


def test_pruned_to_the_newest_a_conversation_keeps_its_state_and_all_of_its_archive(
    program: Program,
) -> None:
    ledger, saves = program(window=3, every=30)
    said = [{"id": f"m{n}", "text": f"{n:0200}"} for n in range(90)]
    for end in range(1, 81):
        saves.save("chat", {"messages": said[:end]}, at="after_model")
    stored = sum(one.size for one in saves.list_checkpoints("chat"))
    freed = prune(Threads(ledger), "chat", by="human:kim")
    assert freed.bytes > stored / 4
    (left,) = saves.list_checkpoints("chat")
    for one in (saves, program(window=3, every=30)[1]):
        loaded = one.load("chat")
        assert loaded is not None
        assert (loaded.checkpoint, loaded.state) == (left, {"messages": said[77:80]})
        assert [m for page in reversed(list(one.archive("chat"))) for m in page] == said[:77]
    for end in range(81, 91):
        saves.save("chat", {"messages": said[:end]}, at="after_model")
    _, other = program(window=3)
    assert other.load("chat").state == {"messages": said[87:]}  # type: ignore[union-attr]
    assert [m for page in reversed(list(other.archive("chat"))) for m in page] == said[:87]


def test_states_are_saved_while_the_contract_moves(program: Program) -> None:
    _, saves = program()
    run = saves.run("chat")
    for turn in range(3):
        run.assume(f"a-{turn}", "in stock")
        saves.save("chat", {"turn": turn}, at="after_tool")
        run.promise(f"o-{turn}", "Mail the customer", owed_to="customer:17")
    loaded = saves.load("chat")
    assert loaded is not None
    assert loaded.state == {"turn": 2}
    assert len(run.contract.obligations) == 3
