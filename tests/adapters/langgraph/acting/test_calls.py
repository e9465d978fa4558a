"""Tool calls of graphs are acts of their run: each is done once, and the model is told what came of it."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolArg, InjectedToolCallId, StructuredTool, ToolException, tool
from langgraph.errors import GraphInterrupt
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedState, ToolNode
from langgraph.types import Command, Send, interrupt

from ledger import Rule, Source, Step, current_effect, open_ledger
from ledger import tool as declared
from ledger.adapters.langgraph import LedgerSaver, LedgerToolCalls, ThreadIsHeld, ledger_run
from ledger.errors import InvalidInput, OutcomeUnknown, PossibleRepeat
from ledger.values import Operator, Predicate
from tests.adapters.langgraph.acting.agents import (
    AGENT,
    Bank,
    Script,
    agent_of,
    answers,
    ask,
    beside,
    call,
    names,
    on,
    saving,
)

PAY = call("pay", order=17, amount="10.00")


class Crash(BaseException):
    """The process is gone."""


class Crashing(AgentMiddleware[Any, Any]):
    """Lets a tool return, and then the process is gone, once."""

    crashed = False

    def wrap_tool_call(self, request: Any, handler: Any) -> Any:
        done = handler(request)
        if not self.crashed:
            self.crashed = True
            raise Crash
        return done


def intended(saver: LedgerSaver, run: str = "t#1") -> list[Any]:
    return [one.event for one in saver.ledger.log(run) if one.name == "effect.intended"]


def test_a_call_is_named_by_its_node_the_message_that_asks_and_its_arguments() -> None:
    bank = Bank()
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": "at_most_once"})
        told = agent.invoke(ask(), on("t"))
        (act,) = intended(saver)
        asking = next(one for one in told["messages"] if isinstance(one, AIMessage) and one.tool_calls)
        assert (act.tool, act.step, act.occurrence) == ("pay", f"tools/{asking.id}", None)
        assert act.args == '{"amount":"10.00","order":17}'
        assert bank.keys == [act.key], "the tool can hand the key on"
    (answer,) = answers(told)
    assert (answer.content, answer.status, answer.tool_call_id) == ('{"id": "ch_1"}', "success", "call-1")


def test_calls_of_one_message_that_are_alike_are_acts_of_their_own() -> None:
    bank = Bank()
    calls = [call("pay", str(at), order=17, amount="10.00") for at in range(3)]
    with saving() as saver:
        agent = agent_of(saver, [calls, "done"], [bank.pay], {"pay": "at_most_once"})
        told = agent.invoke(ask(), on("t"))
        assert len(bank.paid) == 3
        assert sorted(act.occurrence or "" for act in intended(saver)) == ["", "2", "3"]
    assert [one.tool_call_id for one in answers(told)] == ["0", "1", "2"]
    assert {one.status for one in answers(told)} == {"success"}


def test_what_another_message_asks_for_again_is_not_done_and_the_model_is_told_what_it_came_to() -> None:
    bank = Bank()
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done", [PAY], "done"], [bank.pay], {"pay": "at_most_once"})
        agent.invoke(ask(), on("t"))
        (again,) = answers(agent.invoke(ask(), on("t")))
    assert again.status == "error"
    assert "possible_repeat" in str(again.content)
    assert '{"id": "ch_1"}' in str(again.content)
    assert bank.paid == [(17, "10.00")]


def test_code_may_say_that_it_is_to_be_done_again() -> None:
    bank = Bank()

    def every_month(request: Any) -> str | None:
        asked = [one.text for one in request.state["messages"] if isinstance(one, HumanMessage)]
        return "the subscription of another month" if "month" in asked[-1] else None

    with saving() as saver:
        lines = [[PAY], "done", [PAY], "done", [PAY], "done"]
        agent = agent_of(saver, lines, [bank.pay], {"pay": "at_most_once"}, repeats=every_month)
        agent.invoke(ask(), on("t"))
        (again,) = answers(agent.invoke(ask("another month"), on("t")))
        assert again.content == '{"id": "ch_2"}'
        (refused,) = answers(agent.invoke(ask("once more"), on("t")))
        assert refused.status == "error"
        assert intended(saver)[1].repeat_reason == "the subscription of another month"


def test_arguments_that_are_as_the_tool_has_them_by_default_make_no_other_act() -> None:
    bank = Bank()
    lines = [[PAY], [call("pay", "2", order=17, amount="10.00", currency="EUR")], "done"]
    with saving() as saver:
        told = agent_of(saver, lines, [bank.pay], {"pay": "at_most_once"}).invoke(ask(), on("t"))
    assert [one.status for one in answers(told)] == ["success", "error"]
    assert len(bank.paid) == 1


def test_a_node_that_runs_again_after_a_crash_finds_what_it_did() -> None:
    bank = Bank()
    with saving() as saver:
        crashing = Crashing()
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": "at_most_once"}, before=[crashing])
        with pytest.raises(Crash):
            agent.invoke(ask(), on("t"), durability="sync")
        agent = agent_of(beside(saver), [[PAY], "done"], [bank.pay], {"pay": "at_most_once"})
        told = agent.invoke(None, on("t"))
        assert [one.content for one in answers(told)] == ['{"id": "ch_1"}']
        assert (bank.paid, told["messages"][-1].content) == ([(17, "10.00")], "done")
        assert names(saver.ledger).count("effect.started") == 1


def test_a_model_that_is_asked_again_because_its_answer_was_lost_does_not_pay_again() -> None:
    bank = Bank()
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": "at_most_once"})
        agent.invoke(ask(), on("t"))
        # The checkpoint before the model spoke: what it says next has another id, and so have its calls.
        asked = next(
            one for one in agent.get_state_history(on("t")) if one.next == ("model",) and one.parent_config
        )
        before = [one for one in agent.get_state_history(on("t")) if one.next == ("model",)][-1]
        assert asked.config != before.config
        agent = agent_of(
            saver,
            [[call("pay", "another", order=17, amount="10.00")], "done"],
            [bank.pay],
            {"pay": "at_most_once"},
        )
        (answer,) = answers(agent.invoke(None, before.config))
        assert answer.status == "error"
    assert bank.paid == [(17, "10.00")]


def test_time_travel_to_before_the_tools_returns_what_is_recorded() -> None:
    bank = Bank()
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": "at_most_once"})
        agent.invoke(ask(), on("t"))
        before = next(one for one in agent.get_state_history(on("t")) if one.next == ("tools",))
        (answer,) = answers(agent.invoke(None, before.config))
        assert (answer.content, answer.status) == ('{"id": "ch_1"}', "success")
    assert bank.paid == [(17, "10.00")]


def test_a_tool_that_only_looks_is_asked_again_only_where_its_answer_is_not_fresh() -> None:
    looked: list[int] = []

    def look_up(order: int) -> str:
        """Look an order up."""
        looked.append(order)
        return f"order {order}"

    def price(order: int) -> str:
        """Ask for the price."""
        looked.append(-order)
        return "10.00"

    both = [call("look_up", "1", order=17), call("price", "2", order=17)]
    declared_ = {"look_up": "read_only", "price": {"recovery": "read_only", "fresh_for": 0}}
    with saving() as saver:
        told = agent_of(saver, [both, both, "done"], [look_up, price], declared_).invoke(ask(), on("t"))
    assert [one.content for one in answers(told)] == ["order 17", "10.00"] * 2
    assert sorted(looked) == [-17, -17, 17]


def test_a_rule_that_forbids_an_act_is_told_to_the_model_which_may_do_something_else() -> None:
    bank = Bank()
    lines = [[call("pay", order=17, amount="480.00")], [call("pay", "2", order=17, amount="80.00")], "done"]
    with saving() as saver:
        saver.threads.open("t").run.accept(
            "limit-100",
            "Never pay more than 100 EUR",
            source=Source("human", "kim"),
            asserted_by="human:kim",
            rule=Rule(
                tools=("pay",), require=(Predicate(operator=Operator.AT_MOST, path="/amount", value="100"),)
            ),
        )
        told = agent_of(saver, lines, [bank.pay], {"pay": "at_most_once"}).invoke(ask(), on("t"))
    refused, paid = answers(told)
    assert (refused.status, paid.status) == ("error", "success")
    assert "constraint_violated" in str(refused.content)
    assert "limit-100" in str(refused.content)
    assert bank.paid == [(17, "80.00")]


def test_refusals_are_raised_where_that_is_wanted() -> None:
    bank = Bank()
    with saving() as saver:
        lines = [[PAY], "done", [PAY], "done"]
        agent = agent_of(saver, lines, [bank.pay], {"pay": "at_most_once"}, refusals="raise")
        agent.invoke(ask(), on("t"))
        with pytest.raises(PossibleRepeat):
            agent.invoke(ask(), on("t"))
        with pytest.raises(InvalidInput, match="refusals: one of tell and raise"):
            LedgerToolCalls(saver, refusals="no")  # type: ignore[arg-type]


def test_a_step_outside_of_a_plan_is_told() -> None:
    bank = Bank()
    with saving() as saver:
        saver.threads.open("t").run.commit_plan([Step(name="look")], reason="look only")
        (told,) = answers(
            agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": "at_most_once"}).invoke(ask(), on("t"))
        )
    assert "off_plan" in str(told.content)
    assert not bank.paid


def test_a_definite_failure_is_told_and_may_be_tried_again() -> None:
    bank = Bank()
    bank.refusing = ValueError("no such card")
    lines = [[PAY], [call("pay", "2", order=17, amount="10.00")], "done"]
    with saving() as saver:
        told = agent_of(
            saver, lines, [bank.pay], {"pay": {"recovery": "at_most_once", "definite_errors": ValueError}}
        ).invoke(ask(), on("t"))
    failed, paid = answers(told)
    assert (failed.status, failed.content) == (
        "error",
        "It failed, and nothing was done: ValueError: no such card",
    )
    assert (paid.status, len(bank.paid)) == ("success", 1)


def test_an_act_of_which_nobody_knows_stops_the_graph_and_the_gate_holds_the_thread() -> None:
    bank = Bank()
    bank.failing = ConnectionResetError("gone")
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": "at_most_once"})
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t"))
        with pytest.raises(ThreadIsHeld, match="effect_unknown") as held:
            agent.invoke(None, on("t"))
        assert held.value.verdict == "reconcile"
        assert held.value.reasons[0]["cleared_by"] == "effect.reconciled"
        saver.ledger.settle(
            bank.keys[0], happened=True, evidence="seen at the bank", by="human:kim", result="paid"
        )
        told = agent.invoke(None, on("t"))
        assert [one.content for one in answers(told)] == ["paid"]
    assert len(bank.paid) == 1


def test_what_can_be_asked_is_asked_before_the_thread_goes_on() -> None:
    bank = Bank()
    bank.failing = ConnectionResetError("gone")
    with saving() as saver:
        agent = agent_of(
            saver, [[PAY], "done"], [bank.pay], {"pay": {"recovery": "queryable", "probe": lambda *_: None}}
        )
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t"))
        agent = agent_of(
            beside(saver), [[PAY], "done"], [bank.pay], {"pay": {"recovery": "queryable", "probe": bank.find}}
        )
        assert [one.content for one in answers(agent.invoke(None, on("t")))] == ["found 1"]
    assert len(bank.paid) == 1


def test_an_error_that_the_tool_handles_itself_is_none_of_its_results() -> None:
    def pay(order: int) -> str:
        """Pay."""
        raise ToolException("the card was declined")

    handled = StructuredTool.from_function(pay, handle_tool_error=True)
    with saving() as saver:
        lines = [[call("pay", order=17)], "done"]
        agent = agent_of(
            saver, lines, [handled], {"pay": {"recovery": "at_most_once", "definite_errors": ToolException}}
        )
        (told,) = answers(agent.invoke(ask(), on("t")))
        assert told.status == "error"
        assert "the card was declined" in str(told.content)
        agent = agent_of(saver, lines, [handled], {"pay": "at_most_once"})
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t-2"))


@pytest.mark.parametrize(
    "given", [{"order": "many", "amount": "10"}, {"order": 17}, {"order": 17, "amount": {"a": 1}}]
)
def test_arguments_that_do_not_fit_are_told_and_nothing_is_recorded(given: dict[str, Any]) -> None:
    bank = Bank()
    with saving() as saver:
        lines = [[call("pay", **given)], "done"]
        (told,) = answers(agent_of(saver, lines, [bank.pay]).invoke(ask(), on("t")))
        assert names(saver.ledger) == ["run.opened"]
    assert (told.status, bank.paid) == ("error", [])
    assert str(told.content).startswith("Not called")


def test_a_tool_that_does_not_exist_is_told_as_ever() -> None:
    bank = Bank()
    with saving() as saver:
        (told,) = answers(agent_of(saver, [[call("fly")], "done"], [bank.pay]).invoke(ask(), on("t")))
    assert "fly is not a valid tool" in str(told.content)


def test_a_tool_of_which_nothing_is_declared_is_listed_as_unclassified() -> None:
    bank = Bank()
    with saving() as saver:
        agent_of(saver, [[PAY], "done"], [bank.pay]).invoke(ask(), on("t"))
        (known,) = saver.ledger.tools
        assert (known.name, known.recovery, known.classified) == ("pay", "at_most_once", False)


def test_the_tools_that_the_ledger_has_registered_need_not_be_declared_again() -> None:
    bank = Bank()

    @declared(recovery="idempotent", dedupes_for=86_400, resource="bank")
    def pay(order: int, amount: str, currency: str = "EUR") -> dict[str, Any]:
        raise AssertionError("the graph has the tool itself")

    with open_ledger(":memory:", tools=[pay]) as ledger:
        saver = LedgerSaver(ledger, actor=AGENT)
        agent_of(saver, [[PAY], "done"], [bank.pay]).invoke(ask(), on("t"))
        (act,) = intended(saver)
        assert (act.recovery, act.dedupes_for, act.resource) == ("idempotent", 86_400, "bank")
    assert len(bank.paid) == 1


def test_contradicting_declarations_are_named() -> None:
    with saving() as saver:
        with pytest.raises(InvalidInput, match=r"tools\.pay\.probe: 'pay' is queryable"):
            LedgerToolCalls(saver, {"pay": "queryable"})
        with pytest.raises(InvalidInput, match=r"tools\.pay"):
            LedgerToolCalls(saver, {"pay": {"recovry": "queryable"}})
        with pytest.raises(InvalidInput, match="handle_tool_errors"):
            LedgerToolCalls(saver).node([], handle_tool_errors=True)


# --- what tools return, and what is injected into them ---------------------------------------------


def test_artifacts_and_commands_come_back_from_the_record_as_they_were() -> None:
    done: list[str] = []

    @tool(response_format="content_and_artifact")
    def draw(what: str) -> tuple[str, dict[str, Any]]:
        """Draw."""
        done.append("draw")
        return "drawn", {"points": [1, 2]}

    @tool(response_format="content_and_artifact")
    def count(what: str) -> tuple[str, set[int]]:
        """Count."""
        done.append("count")
        return "counted", {1, 2}

    @tool
    def note(what: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command[Any]:
        """Note."""
        done.append("note")
        return Command(update={"messages": [ToolMessage("noted", tool_call_id=tool_call_id)]})

    @tool
    def mark(what: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> ToolMessage:
        """Mark."""
        done.append("mark")
        return ToolMessage("marked", tool_call_id=tool_call_id, additional_kwargs={"colour": "red"})

    tools = (draw, note, count, mark)
    calls = [call(one.name, str(at), what="a") for at, one in enumerate(tools)]
    declared_ = dict.fromkeys((one.name for one in tools), "at_most_once")
    with saving() as saver:
        agent = agent_of(saver, [calls, "done"], tools, declared_)
        first = answers(agent.invoke(ask(), on("t")))
        before = next(one for one in agent.get_state_history(on("t")) if "tools" in one.next)
        again = answers(agent.invoke(None, before.config))
    assert sorted(done) == ["count", "draw", "mark", "note"]
    assert [(one.content, one.artifact, one.tool_call_id) for one in again] == [
        (one.content, one.artifact, one.tool_call_id) for one in first
    ]
    assert [one.additional_kwargs for one in again] == [one.additional_kwargs for one in first]
    assert (first[2].artifact, first[3].additional_kwargs) == ({1, 2}, {"colour": "red"})


def test_what_is_injected_is_no_argument_and_a_model_cannot_forge_it() -> None:
    seen: list[Any] = []

    @tool
    def pay(
        order: int,
        state: Annotated[dict[str, Any], InjectedState],
        tool_call_id: Annotated[str, InjectedToolCallId],
        token: Annotated[str, InjectedToolArg] = "mine",
    ) -> str:
        """Pay."""
        seen.append((len(state["messages"]), tool_call_id, token))
        return "paid"

    with saving() as saver:
        lines = [[call("pay", order=17, token="theirs", nonsense=1)], "done"]
        agent_of(saver, lines, [pay], {"pay": "at_most_once"}).invoke(ask(), on("t"))
        (act,) = intended(saver)
        assert act.args == '{"order":17}'
    assert seen == [(2, "call-1", "mine")]


def test_a_tool_that_is_described_by_a_schema_takes_what_it_is_given() -> None:
    seen: list[Any] = []
    schema = {
        "type": "object",
        "properties": {"order": {"type": "integer"}, "a-b": {}},
        "required": ["order"],
    }

    def pay(**given: Any) -> str:
        seen.append(given)
        return "paid"

    described = StructuredTool(name="pay", description="Pay.", args_schema=schema, func=pay)
    with saving() as saver:
        lines = [[call("pay", order=17, **{"a-b": 1})], "done"]
        agent_of(saver, lines, [described], {"pay": "at_most_once"}).invoke(ask(), on("t"))
        assert intended(saver)[0].args == '{"a-b":1,"order":17}'
    assert seen == [{"order": 17, "a-b": 1}]


# --- graphs of all kinds -----------------------------------------------------------------------------


def asking(*calls: Any) -> Any:
    """Make a node that asks for tools, as a model would."""

    def model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage("", tool_calls=list(calls))]}

    return model


def test_the_calls_of_a_tool_node_run_at_once_and_each_once() -> None:
    bank = Bank()
    calls = [call("pay", str(at), order=at, amount="10.00") for at in range(6)]
    with saving() as saver:
        acts = LedgerToolCalls(saver, {"pay": "at_most_once"})
        builder: Any = StateGraph(MessagesState)
        builder.add_node("model", asking(*calls))
        builder.add_node("tools", acts.node([bank.pay]))
        builder.add_edge(START, "model").add_edge("model", "tools")
        graph = builder.compile(checkpointer=saver)
        graph.invoke(ask(), on("t"))
        before = next(one for one in graph.get_state_history(on("t")) if one.next == ("tools",))
        graph.invoke(None, before.config)
    assert sorted(order for order, _ in bank.paid) == list(range(6))


def test_subgraphs_and_what_is_sent_are_told_apart_by_path_and_message() -> None:
    bank = Bank()
    with saving() as saver:
        acts = LedgerToolCalls(saver, {"pay": "at_most_once"})
        inner: Any = StateGraph(MessagesState)
        inner.add_node(
            "model",
            lambda state: {
                "messages": [
                    AIMessage(
                        "", tool_calls=[call("pay", order=int(state["messages"][-1].content), amount="1")]
                    )
                ]
            },
        )
        inner.add_node("tools", acts.node([bank.pay]))
        inner.add_edge(START, "model").add_edge("model", "tools")
        outer: Any = StateGraph(MessagesState)
        outer.add_node("worker", inner.compile())
        outer.add_conditional_edges(
            START, lambda state: [Send("worker", {"messages": [HumanMessage(str(at))]}) for at in range(3)]
        )
        graph = outer.compile(checkpointer=saver)
        graph.invoke(ask(), on("t"))
        assert len(bank.paid) == 3
        steps = {act.step.partition("/")[0] for act in intended(saver)}
        assert steps == {"worker|tools"}
        assert len({act.step for act in intended(saver)}) == 3


def test_a_plain_tool_node_takes_the_wrappers_too() -> None:
    bank = Bank()
    with saving() as saver:
        acts = LedgerToolCalls(saver, {"pay": "at_most_once"})
        builder: Any = StateGraph(MessagesState)
        builder.add_node("model", asking(PAY))
        builder.add_node(
            "tools",
            ToolNode([bank.pay], wrap_tool_call=acts.wrap_tool_call, awrap_tool_call=acts.awrap_tool_call),
        )
        builder.add_edge(START, "model").add_edge("model", "tools")
        graph = builder.compile(checkpointer=saver)
        for _ in graph.stream(ask(), on("t"), stream_mode=["updates", "messages"]):
            pass
        assert len(intended(saver)) == 1
    assert len(bank.paid) == 1


@pytest.mark.anyio
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_an_agent_in_an_event_loop_acts_once(durability: Any) -> None:
    bank = Bank()
    calls = [call("pay", "1", order=17, amount="10.00"), call("later", "2", order=17, amount="10.00")]
    later = StructuredTool.from_function(coroutine=bank.pay_later, name="later")
    with saving() as saver:
        model = Script(lines=[calls, calls, "done"])
        agent = agent_of(
            saver, [], [bank.pay, later], {"pay": "at_most_once", "later": "at_most_once"}, model=model
        )
        told = answers(await agent.ainvoke(ask(), on("t"), durability=durability))
        assert [one.status for one in told] == ["success", "success", "error", "error"]
        assert len(intended(saver)) == 2
        saver.faces.close()
    assert len(bank.paid) == 2


def test_a_tool_that_has_to_be_awaited_is_not_begun_without_an_event_loop() -> None:
    bank = Bank()
    later = StructuredTool.from_function(coroutine=bank.pay_later, name="pay")
    with saving() as saver:
        with pytest.raises(NotImplementedError):
            agent_of(saver, [[PAY], "done"], [later], {"pay": "at_most_once"}).invoke(ask(), on("t"))
        assert names(saver.ledger) == ["run.opened"]


@pytest.mark.parametrize("mode", ["debug", "checkpoints", "tasks"])
def test_what_a_graph_streams_holds_nothing_but_data(mode: Any) -> None:
    bank = Bank()
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"pay": "at_most_once"})
        streamed = list(agent.stream(ask(), on("t"), stream_mode=mode, durability="sync"))
        assert streamed
        assert "Entered(" not in repr(streamed)


@pytest.mark.anyio
async def test_in_an_event_loop_too_an_act_of_which_nobody_knows_stops_the_graph() -> None:
    bank = Bank()
    bank.failing = ConnectionResetError("gone")
    later = StructuredTool.from_function(coroutine=bank.pay_later, name="pay")
    with saving() as saver:
        agent = agent_of(saver, [[PAY], "done"], [later], {"pay": "at_most_once"})
        with pytest.raises(OutcomeUnknown):
            await agent.ainvoke(ask(), on("t"))
        with pytest.raises(ThreadIsHeld, match="effect_unknown"):
            await agent.ainvoke(None, on("t"))
        agent = agent_of(
            saver, [[PAY], "done"], [later], {"pay": {"recovery": "queryable", "probe": bank.find}}
        )
        told = await agent.ainvoke(None, on("t"))
        assert [one.content for one in answers(told)] == ["found 1"]
        saver.faces.close()
    assert len(bank.paid) == 1


# --- what is no act, what asks by itself, and what another process declared ------------------------------


def test_a_tool_that_is_declared_to_be_no_act_is_called_as_ever() -> None:
    bank = Bank()
    noted: list[str] = []

    def note(what: str) -> str:
        """Note something."""
        noted.append(what)
        return "noted"

    calls = [call("note", "1", what="a"), call("note", "2", what="a")]
    with saving() as saver:
        told = agent_of(saver, [calls, "done"], [note, bank.pay], {"note": None}).invoke(ask(), on("t"))
        assert [one.content for one in answers(told)] == ["noted", "noted"]
        assert names(saver.ledger) == ["run.opened"]


def test_a_tool_that_interrupts_is_in_doubt_unless_it_says_that_it_asks_before_it_acts() -> None:
    paid: list[Any] = []

    def pay(order: int) -> str:
        """Pay."""
        said = interrupt("really?")
        paid.append((order, said))
        return "paid"

    lines = [[call("pay", order=17)], "done"]
    with saving() as saver:
        agent = agent_of(saver, lines, [pay], {"pay": "at_most_once"})
        with pytest.raises(OutcomeUnknown):
            agent.invoke(ask(), on("t"))
        agent = agent_of(
            saver, lines, [pay], {"pay": {"recovery": "at_most_once", "definite_errors": GraphInterrupt}}
        )
        (asked,) = agent.invoke(ask(), on("other"))["__interrupt__"]
        assert asked.value == "really?"
        told = agent.invoke(Command(resume={asked.id: "yes"}), on("other"))
        assert [one.content for one in answers(told)] == ["paid"]
        looks = agent_of(saver, lines, [pay], {"pay": "read_only"})
        (asked,) = looks.invoke(ask(), on("third"))["__interrupt__"]
        looks.invoke(Command(resume="yes"), on("third"))
    assert paid == [(17, "yes")] * 2


def test_an_act_inside_of_a_tool_is_the_tool_that_it_names() -> None:
    bank = Bank()

    @declared(recovery="at_most_once")
    def pay(order: int, amount: str) -> str:
        return str(bank.pay(order, amount)["id"])

    def settle(order: int) -> str:
        """Settle an order."""
        return str(ledger_run().perform("pay", {"order": order, "amount": "1"}, step="inside"))

    with open_ledger(":memory:", tools=[pay]) as ledger:
        saver = LedgerSaver(ledger, actor=AGENT)
        agent = agent_of(saver, [[call("settle", order=17)], "done"], [settle], {"settle": "at_most_once"})
        assert [one.content for one in answers(agent.invoke(ask(), on("t")))] == ["ch_1"]
    assert bank.paid == [(17, "1")]


def test_what_a_tool_is_told_by_the_ledger_is_sent_again_under_its_key_outside_of_the_graph() -> None:
    sent: list[tuple[str, int]] = []

    @declared(recovery="idempotent", dedupes_for=86_400)
    def pay(order: int, *, effect: Any) -> str:
        """Pay."""
        sent.append((effect.key, order))
        if len(sent) == 1:
            raise ConnectionResetError("gone")
        return "paid"

    def of_the_graph(order: int) -> str:
        """Pay."""
        return str(pay(order=order, effect=current_effect()))

    acting = StructuredTool.from_function(of_the_graph, name="pay")
    with open_ledger(":memory:", tools=[pay]) as ledger:
        saver = LedgerSaver(ledger, actor=AGENT)
        with pytest.raises(OutcomeUnknown):
            agent_of(saver, [[call("pay", order=17)], "done"], [acting]).invoke(ask(), on("t"))
        told = agent_of(beside(saver), [[call("pay", order=17)], "done"], [acting]).invoke(None, on("t"))
        assert [one.content for one in answers(told)] == ["paid"]
    assert len(sent) == 2
    assert len(set(sent)) == 1
