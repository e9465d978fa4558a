"""The gate is asked where a graph enters a thread again, and before the graph does anything."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from ledger import Actor, Runtime, Source, open_ledger
from ledger.adapters.langgraph import Gate, LedgerSaver, ThreadIsHeld, ledger_run, resuming
from ledger.adapters.langgraph.command_lines import command_line
from ledger.errors import (
    InvalidInput,
    NotForAgents,
    RunIsClosed,
    RunIsHeld,
    RunNotFound,
    Superseded,
)
from tests.adapters.langgraph.acting.agents import (
    AGENT,
    DONE,
    HUMAN,
    KIM,
    ONCE,
    PAY,
    Bank,
    agent_of,
    answers,
    ask,
    beside,
    chain,
    names,
    on,
    saving,
)


def waiting(saver: LedgerSaver, heard: list[Any]) -> Any:
    """Make a graph that asks a person in its second node."""

    def ask_someone(state: MessagesState) -> dict[str, Any]:
        heard.append(interrupt("well?"))
        return {"messages": []}

    return chain(saver, {"first": lambda _: {"messages": []}, "second": ask_someone})


def stop(saver: LedgerSaver) -> None:
    """Take from a run what it may do: it is held until a person grants it anew."""
    kim = saver.ledger.run("t#1", actor=HUMAN)
    kim.grant("till-friday", principal=AGENT.id, scopes=["pay"], granted_by=KIM)
    kim.revoke("till-friday", reason="looking into it", by=KIM)


def resumes(saver: LedgerSaver, run: str = "t#1") -> int:
    return names(saver.ledger, run).count("run.resumed")


def test_a_thread_that_is_new_is_opened_and_no_gate_is_asked() -> None:
    with saving() as saver:
        agent_of(saver, DONE, []).invoke(ask(), on("t"))
        assert names(saver.ledger) == ["run.opened"]
        contract = saver.ledger.contract("t#1")
        assert (contract.thread, contract.incarnation, contract.owner) == ("t", 1, None)


def test_the_next_turn_of_a_conversation_leaves_no_event_where_nothing_stands_in_its_way() -> None:
    with saving() as saver:
        agent = agent_of(saver, DONE, [])
        for _ in range(3):
            agent.invoke(ask(), on("t"))
        assert names(saver.ledger) == ["run.opened"]


def test_another_process_that_goes_on_is_the_next_incarnation() -> None:
    with saving() as saver:
        agent_of(saver, DONE, []).invoke(ask(), on("t"))
        other = beside(saver)
        told = agent_of(other, DONE, []).invoke(ask(), on("t"))
        assert told["messages"][-1].content == "two"
        assert names(saver.ledger) == ["run.opened", "run.resumed", "message.recorded"]
        assert saver.ledger.contract("t#1").incarnation == 2


def test_what_a_graph_had_begun_is_fenced_once_another_has_gone_on() -> None:
    bank = Bank()
    with saving() as saver:
        runs: list[Any] = []

        def overtaken(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            runs.append(ledger_run(config))
            agent_of(beside(saver), DONE, []).invoke(ask(), on("t"))
            ledger_run(config).perform("pay", {"order": 17, "amount": "10.00"}, bank.pay)
            return {}

        with pytest.raises(Superseded):
            chain(saver, {"node": overtaken}).invoke(ask(), on("t"))
        assert runs[0].incarnation == 1
    assert not bank.paid


@pytest.mark.parametrize("resumed", [True, False])
def test_after_an_interrupt_a_graph_resumes(resumed: bool) -> None:
    heard: list[Any] = []
    with saving() as saver:
        graph = waiting(saver, heard)
        graph.invoke(ask(), on("t"))
        assert resumes(saver) == 0
        graph.invoke(Command(resume="fine") if resumed else ask(), on("t"))
        assert resumes(saver) == 1
    assert heard == (["fine"] if resumed else [])


def test_after_an_error_a_graph_resumes() -> None:
    failing = [True]

    def fail(state: MessagesState) -> dict[str, Any]:
        if failing.pop():
            raise ValueError("not yet")
        return {}

    with saving() as saver:
        graph = chain(saver, {"node": fail})
        with pytest.raises(ValueError, match="not yet"):
            graph.invoke(ask(), on("t"))
        failing.append(False)
        graph.invoke(None, on("t"))
        assert resumes(saver) == 1


def test_a_thread_that_may_not_go_on_does_nothing_and_says_what_clears_it() -> None:
    ran: list[str] = []

    def node(state: MessagesState) -> dict[str, Any]:
        ran.append("node")
        return {}

    with saving() as saver:
        graph = chain(saver, {"node": node})
        graph.invoke(ask(), on("t"))
        before = graph.get_state(on("t"))
        stop(saver)
        for _ in range(2):
            with pytest.raises(ThreadIsHeld, match=r"'t'.*authority_revoked.*cleared by") as error:
                graph.invoke(ask(), on("t"))
        held = error.value
        assert held.evidence["thread"] == "t"
        assert {one["kind"] for one in held.reasons} == {one["kind"] for one in held.evidence["reasons"]}
        assert all(one["cleared_by"] and one["what"] for one in held.reasons)
        assert ran == ["node"]
        assert graph.get_state(on("t"))._replace(config={}) == before._replace(config={})


def test_looking_at_a_thread_and_editing_it_never_resume_nor_hold() -> None:
    with saving() as saver:
        agent_of(saver, DONE, []).invoke(ask(), on("t"))
        stop(saver)
        agent = agent_of(beside(saver), DONE, [])
        said = names(saver.ledger)
        agent.get_state(on("t"))
        agent.get_state(on("t"), subgraphs=True)
        list(agent.get_state_history(on("t")))
        agent.update_state(on("t"), ask("edited"))
        list(saver.list(on("t")))
        assert names(saver.ledger) == said


def test_a_rule_that_was_withdrawn_at_its_source_restarts_the_thread_where_its_graph_begins_anew() -> None:
    bank = Bank()
    with saving() as saver:
        lines = [[PAY], "done"]
        policy = saver.ledger.source("policy:refunds", actor=HUMAN)
        policy.publish("4", {"limit": "Never refund more than 100 EUR"}, by=KIM)
        saver.threads.open("t").run.accept(
            "limit",
            "Never refund more than 100 EUR",
            source=Source("policy", "refunds", revision="4"),
            asserted_by=KIM,
        )
        agent = agent_of(saver, lines, [bank.pay], ONCE)
        agent.invoke(ask(), on("t"))
        policy.withdraw("limit", reason="replaced", by=KIM)
        with pytest.raises(ThreadIsHeld, match=r"saver\.restart") as held:
            agent.invoke(ask(), on("t"))
        assert held.value.verdict == "restart"
        with pytest.raises(NotForAgents):
            saver.restart("t", reason="the limit is gone", by=KIM)
        run = saver.restart("t", reason="the limit is gone", by=KIM, actor=HUMAN)
        assert (run.id, saver.ledger.contract("t#1").closed.successor) == ("t#2", "t#2")  # type: ignore[union-attr]
        told = agent.invoke(ask(), on("t"))
        assert len([one for one in told["messages"] if one.type == "human"]) == 1, "it begins anew"
        assert [one.status for one in answers(told)] == ["error"], "and what was done is found all the same"
        agent.invoke(ask(), on("t"))
        assert resumes(saver, "t#2") == 0
        with pytest.raises(RunNotFound):
            saver.restart("never", reason="none", by=KIM, actor=HUMAN)
    assert bank.paid == [(17, "10.00")]


def test_a_successor_of_another_name_is_none_of_the_thread() -> None:
    with saving() as saver:
        agent = agent_of(saver, DONE, [])
        agent.invoke(ask(), on("t"))
        saver.ledger.restart("t#1", as_="another", reason="why not", by=KIM, actor=HUMAN)
        with pytest.raises(RunIsClosed, match="'another'") as closed:
            agent.invoke(ask(), on("t"))
        assert closed.value.evidence["successor"] == "another"
        assert "intent-ledger restart another --as 't#2'" in str(closed.value)
        saver.ledger.restart("another", as_="one more", reason="once more", by=KIM, actor=HUMAN)
        assert saver.restart("t", reason="back to it", by=KIM, actor=HUMAN).id == "t#2"
        assert agent.invoke(ask(), on("t"))["messages"][-1].content == "one"
        assert saver.ledger.contract("one more").closed.successor == "t#2"  # type: ignore[union-attr]


def test_a_run_that_was_closed_is_followed_by_the_next_of_its_thread() -> None:
    with saving() as saver:
        agent = agent_of(saver, DONE, [])
        agent.invoke(ask(), on("t"))
        saver.ledger.run("t#1", actor=HUMAN).close("completed")
        told = agent.invoke(ask(), on("t"))
        assert told["messages"][-1].content == "two", "its states go on"
        assert names(saver.ledger, "t#2") == ["run.opened"]


def test_a_run_that_was_prepared_for_a_thread_is_its_first() -> None:
    with saving() as saver:
        run = saver.ledger.open_run("t#1", "Pay order 17", actor=HUMAN)
        run.promise("tell", "Mail the customer", owed_to="customer:17")
        agent = agent_of(saver, DONE, [])
        agent.invoke(ask(), on("t"))
        assert saver.ledger.contract("t#1").goal.text == "Pay order 17"
        assert resumes(saver) == 0


def test_a_run_that_was_stopped_before_its_graph_began_does_not_begin() -> None:
    with saving() as saver:
        saver.ledger.open_run("t#1", "Pay order 17", actor=HUMAN).suspend(reason="not yet", by=KIM)
        stop(saver)
        with pytest.raises(ThreadIsHeld):
            agent_of(saver, DONE, []).invoke(ask(), on("t"))


def test_a_suspension_stops_what_works_now_and_no_graph_that_enters_again() -> None:
    bank = Bank()
    with saving() as saver:

        def suspended(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
            if not bank.paid:
                saver.ledger.run("t#1", actor=HUMAN).suspend(reason="wait", by=KIM)
            ledger_run(config).perform("pay", {"order": 17, "amount": "1"}, bank.pay, step="pay")
            return {}

        graph = chain(saver, {"node": suspended})
        with pytest.raises(RunIsHeld):
            graph.invoke(ask(), on("t"))
        bank.paid.append((0, "before"))
        graph.invoke(None, on("t"))
        assert resumes(saver) == 1
    assert bank.paid[1:] == [(17, "1")]


def test_a_thread_that_somebody_else_works_on_is_left_alone() -> None:
    said: list[str] = []

    def node(state: MessagesState) -> dict[str, Any]:
        two = Actor("agent:payer", session="two")
        with pytest.raises(ThreadIsHeld, match="still_running"):
            agent_of(beside(saver, actor=two), DONE, []).invoke(ask(), on("t"))
        assert names(saver.ledger) == ["run.opened"]
        kim = beside(saver, actor=Actor("service:two"), gate=Gate(live_seconds=0))
        told = agent_of(kim, DONE, []).invoke(ask(), on("t"))
        said.append(told["messages"][-1].content)
        return {}

    with saving() as saver, pytest.raises(Superseded):
        chain(saver, {"node": node}).invoke(ask(), on("t"))
    assert said == ["one"]


def test_another_graph_than_the_one_that_ran_is_told_to_people_first() -> None:
    one, two = (Gate(runtime=Runtime(prompt=f"refunds-{at}")) for at in (1, 2))
    with saving(gate=one) as saver:
        agent_of(saver, DONE, []).invoke(ask(), on("t"))
        agent_of(beside(saver, gate=one), DONE, []).invoke(ask(), on("t"))
        later = beside(saver, gate=two)
        with pytest.raises(ThreadIsHeld, match="runtime_changed") as held:
            agent_of(later, DONE, []).invoke(ask(), on("t"))
        assert held.value.verdict == "replan"
        saver.ledger.run("t#1", actor=HUMAN).adopt_runtime(
            Runtime(prompt="refunds-2"), reason="tried it", by=KIM
        )
        agent_of(later, DONE, []).invoke(ask(), on("t"))


@pytest.mark.parametrize(
    ("thread", "options"),
    [("given", {"goal": lambda thread: f"Answer {thread}"}), ("said", {"gate": Gate(idle_seconds=86_400)})],
)
def test_a_thread_that_lay_still_needs_somebody_to_say_that_its_goal_holds(
    thread: str, options: dict[str, Any]
) -> None:
    clock = [datetime(2026, 1, 30, tzinfo=UTC)]
    with open_ledger(":memory:", clock=lambda: clock[0]) as ledger:
        agent = agent_of(LedgerSaver(ledger, actor=AGENT, **options), DONE, [])
        agent.invoke(ask(), on(thread))
        clock[0] += timedelta(days=3)
        with pytest.raises(ThreadIsHeld, match=f"idle.*intent-ledger resume '{thread}#1'"):
            agent.invoke(ask(), on(thread))


def test_the_command_that_clears_a_thread_is_taken_as_it_is_printed(tmp_path: Path) -> None:
    clock = [datetime(2026, 1, 30, tzinfo=UTC)]
    path = tmp_path / "of kim.db"
    with open_ledger(path, tenant="shop", clock=lambda: clock[0]) as ledger:
        agent = agent_of(LedgerSaver(ledger, actor=AGENT, gate=Gate(idle_seconds=86_400)), DONE, [])
        agent.invoke(ask(), on("t"))
        clock[0] += timedelta(days=3)
        with pytest.raises(ThreadIsHeld) as held:
            agent.invoke(ask(), on("t"))
    _, _, line = str(held.value).partition("For the commands that clear each: ")
    assert line == f"intent-ledger resume 't#1' --dry-run --ledger '{path}' --tenant shop"


@pytest.mark.parametrize("again", [False, True])
def test_a_conversation_to_which_nobody_gave_a_goal_may_lie_still(again: bool) -> None:
    clock = [datetime(2026, 1, 30, tzinfo=UTC)]
    with open_ledger(":memory:", clock=lambda: clock[0]) as ledger:
        saver = LedgerSaver(ledger, actor=AGENT)
        agent_of(saver, DONE, []).invoke(ask(), on("t"))
        clock[0] += timedelta(days=300)
        saver = LedgerSaver(ledger, actor=AGENT) if again else saver
        assert agent_of(saver, DONE, []).invoke(ask(), on("t"))["messages"][-1].content == "two"
        kim = ledger.open_run("other#1", "Pay order 17", actor=HUMAN, thread="other")
        kim.promise("tell", "Mail the customer", owed_to="customer:17")
        agent_of(saver, DONE, []).invoke(ask(), on("other"))
        clock[0] += timedelta(days=3)
        with pytest.raises(ThreadIsHeld, match="idle"):
            agent_of(saver, DONE, []).invoke(ask(), on("other"))


@pytest.mark.parametrize(
    "milder", [{"idle_seconds": 30 * 86_400}, {"idle_seconds": None}, {"live_seconds": 5}]
)
def test_a_milder_gate_is_decided_by_who_is_no_agent(milder: dict[str, Any]) -> None:
    clock = [datetime(2026, 1, 30, tzinfo=UTC)]
    with open_ledger(":memory:", clock=lambda: clock[0], actor=AGENT) as ledger:
        whose: list[dict[str, Any]] = [{"actor": AGENT}, {}, {"actor": HUMAN, "custodian": AGENT}]
        for who in whose:
            with pytest.raises(InvalidInput, match=r"gate: .*custodian="):
                LedgerSaver(ledger, gate=Gate(**milder), **who)
        for decides in (HUMAN, Actor("service:chat")):
            saver = LedgerSaver(
                ledger,
                actor=AGENT,
                custodian=decides,
                gate=Gate(**milder),
                goal=lambda thread: f"Answer {thread}",
            )
            agent = agent_of(saver, DONE, [])
            for _ in range(2):
                agent.invoke(ask(), on(decides.kind))
                clock[0] += timedelta(hours=20)
    with open_ledger(":memory:") as ledger:
        LedgerSaver(ledger, gate=Gate(**milder))


@pytest.mark.parametrize(
    "given",
    [
        {"runtime": "small-4"},
        {"idle_seconds": "x"},
        {"idle_seconds": 0},
        {"live_seconds": None},
        {"live_seconds": -1},
        {"asks_outside": 1},
        {"wait_seconds": "x"},
    ],
    ids=str,
)
def test_a_gate_that_cannot_be_asked_is_refused_with_the_name_of_what_is_wrong(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(given))):
        Gate(**given)


def test_a_gate_that_is_off_is_not_asked_and_each_run_says_so() -> None:
    with saving(gate="off") as saver:
        agent = agent_of(saver, DONE, [])
        agent.invoke(ask(), on("t"))
        agent_of(beside(saver, gate="off"), DONE, []).invoke(ask(), on("t"))
        assert names(saver.ledger) == ["run.opened"]
        assert saver.ledger.contract("t#1").labels == {"gate": "off"}
        with pytest.raises(InvalidInput, match="gate: give a Gate"):
            beside(saver, gate="no")


def test_with_the_gate_off_a_graph_joins_the_incarnation_that_others_began() -> None:
    with saving(gate="off") as saver:
        agent = agent_of(saver, DONE, [])
        agent.invoke(ask(), on("t"))
        saver.ledger.resume("t#1", actor=AGENT)
        assert agent.invoke(ask(), on("t"))["messages"][-1].content == "two"


def test_a_subgraph_enters_nothing_by_itself() -> None:
    seen: list[Any] = []

    def look(state: MessagesState, config: RunnableConfig) -> dict[str, Any]:
        seen.append(ledger_run(config))
        return {}

    with saving() as saver:
        inner: Any = StateGraph(MessagesState)
        inner.add_node("node", look)
        inner.add_edge(START, "node")
        for checkpointer in (None, True):
            outer: Any = StateGraph(MessagesState)
            outer.add_node("inner", inner.compile(checkpointer=checkpointer))
            outer.add_node("after", look)
            outer.add_edge(START, "inner").add_edge("inner", "after")
            outer.compile(checkpointer=saver).invoke(ask(), on("t"))
        assert resumes(saver) == 0
        assert len({id(one) for one in seen}) == 1


@pytest.mark.anyio
async def test_an_event_loop_asks_the_gate_too() -> None:
    with saving() as saver:
        await agent_of(saver, DONE, []).ainvoke(ask(), on("t"))
        other = beside(saver)
        agent = agent_of(other, DONE, [])
        async for _ in agent.astream(ask(), on("t"), stream_mode="updates"):
            pass
        await agent.ainvoke(ask(), on("t"))
        assert resumes(saver) == 1
        stop(saver)
        with pytest.raises(ThreadIsHeld):
            await agent.ainvoke(ask(), on("t"))
        await agent.aget_state(on("t"))
        saver.faces.close()
        other.faces.close()


def test_a_thread_that_is_named_by_a_number_is_entered_too() -> None:
    with saving() as saver:
        config: Any = {"configurable": {"thread_id": 7}}
        agent_of(saver, DONE, []).invoke(ask(), config)
        agent_of(beside(saver), DONE, []).invoke(ask(), config)
        assert resumes(saver, "7#1") == 1


def test_a_graph_may_wait_for_the_lease_of_a_worker_that_may_be_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [datetime(2026, 1, 30, tzinfo=UTC)]
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        clock[0] += timedelta(seconds=20)

    monkeypatch.setattr(resuming, "time", SimpleNamespace(monotonic=time.monotonic, sleep=sleep))
    bank = Bank()
    bank.failing = SystemExit()
    declared = {"pay": {"recovery": "queryable", "probe": bank.find}}
    with open_ledger(":memory:", clock=lambda: clock[0]) as ledger:
        saver = LedgerSaver(ledger, actor=AGENT)
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], declared)
        with pytest.raises(SystemExit):
            agent.invoke(ask(), on("t"))
        with pytest.raises(ThreadIsHeld, match="effect_executing"):
            agent_of(beside(saver), [[PAY], "done"], [bank.pay], declared).invoke(None, on("t"))
        assert not pauses
        patient = beside(saver, gate=Gate(wait_seconds=60))
        told = agent_of(patient, [[PAY], "done"], [bank.pay], declared).invoke(None, on("t"))
        assert [one.content for one in answers(told)] == ["found 1"]
    assert len(pauses) == 2
    assert len(bank.paid) == 1


@pytest.mark.parametrize("seconds", [-1, True, "long", float("inf")])
def test_how_long_to_wait_is_said_in_seconds(seconds: Any) -> None:
    with pytest.raises(InvalidInput, match="wait_seconds"):
        Gate(wait_seconds=seconds)


def test_a_run_whose_name_begins_with_a_dash_is_named_behind_the_options() -> None:
    with saving() as saver:
        line = command_line(saver.ledger, "resume", "--dry-run", about="-x#1")
        assert line == "intent-ledger resume --dry-run -- '-x#1'"
