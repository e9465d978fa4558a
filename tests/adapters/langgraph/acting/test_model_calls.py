"""Calls of models are recorded where that is wanted, and none of their words by it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from ledger.adapters.langgraph import LedgerSaver
from tests.adapters.langgraph.acting.agents import ONCE, PAY, Bank, Script, agent_of, ask, names, on, saving

WORDS = "the secret name is Rumpelstiltskin"


class Counting(Script):
    """Says which model it is, and what its answers took."""

    def _generate(self, *given: Any, **options: Any) -> ChatResult:
        result = super()._generate(*given, **options)
        message: Any = result.generations[0].message
        message.usage_metadata = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
        message.response_metadata = {"model_name": "small-4"}
        return result


def seen(saver: LedgerSaver) -> list[Any]:
    return [one.event for one in saver.ledger.log("t#1") if one.name == "observation.recorded"]


def test_a_call_of_a_model_is_recorded_with_its_cost_and_the_messages_that_name_its_acts() -> None:
    bank = Bank()
    with saving() as saver:
        model = Counting(lines=[[PAY], WORDS])
        agent = agent_of(saver, [], [bank.pay], ONCE, model=model, record_model_calls=True)
        told = agent.invoke(ask(WORDS), on("t"))
        asked, answered = seen(saver)
        said = [one for one in told["messages"] if isinstance(one, AIMessage)]
        assert [one.tool for one in (asked, answered)] == ["model"] * 2
        assert (asked.runtime.model, asked.step) == ("small-4", "model")
        assert dict(asked.cost) == {"input_tokens": 7, "output_tokens": 2}
        assert f'"messages":["{said[0].id}"]' in asked.value.json_text
        assert '"tools":["pay"]' in asked.value.json_text
        assert '"tools":[]' in answered.value.json_text
        (act,) = (one.event for one in saver.ledger.log("t#1") if one.name == "effect.intended")
        assert act.step == f"tools/{said[0].id}"  # type: ignore[attr-defined]
        assert asked.args_digest != answered.args_digest
        (last,) = saver.ledger.contract("t#1").observations
        assert (last.key, last.value) == ("model/model", answered.value)
        assert WORDS not in repr([one.event for one in saver.ledger.log("t#1")])
    assert bank.paid == [(17, "10.00")]


def test_nothing_is_recorded_of_a_model_unless_that_is_wanted_nor_of_a_call_that_failed() -> None:
    class Failing(Script):
        def _generate(self, *given: Any, **options: Any) -> ChatResult:
            raise ConnectionResetError("gone")

    with saving() as saver:
        agent_of(saver, ["done"], []).invoke(ask(), on("t"))
        agent = agent_of(saver, [], [], model=Failing(lines=[]), record_model_calls=True)
        with pytest.raises(ConnectionResetError):
            agent.invoke(ask(), on("t"))
        assert "observation.recorded" not in names(saver.ledger)


@pytest.mark.anyio
async def test_in_an_event_loop_calls_of_models_are_recorded_too() -> None:
    with saving() as saver:
        agent = agent_of(saver, ["done"], [], record_model_calls=True, contract=False)
        await agent.ainvoke(ask(), on("t"))
        (asked,) = seen(saver)
        assert (asked.cost, asked.runtime.model) == (None, "script")
        saver.faces.close()


def test_the_same_request_has_the_same_digest_and_is_asked_and_recorded_again() -> None:
    with saving() as saver:
        model = Script(lines=["done", "again"])
        agent = agent_of(saver, [], [], model=model, record_model_calls=True, contract=False)
        agent.invoke(ask(), on("t"))
        before = next(one for one in agent.get_state_history(on("t")) if one.next == ("model",))
        agent.invoke(None, before.config)
        agent.invoke(ask("and now?"), on("t"))
        first, second, third = seen(saver)
        assert first.args_digest == second.args_digest != third.args_digest
        assert len(model.shown) == 3


class Unkept(AgentMiddleware[Any, Any]):
    """Puts what is no data into a request."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        odd = [one.model_copy(update={"additional_kwargs": {"lock": object()}}) for one in request.messages]
        return handler(request.override(messages=odd))


def test_a_request_that_is_no_data_is_recorded_by_its_words() -> None:
    with saving() as saver:
        agent = agent_of(saver, ["done"], [], before=[Unkept()], record_model_calls=True)
        for _ in range(2):
            agent.invoke(ask(), on("t"))
        first, second = seen(saver)
        assert first.args_digest != second.args_digest


class Reporting(Script):
    """Answers with a message of its own."""

    reply: Any

    def _generate(self, *given: Any, **options: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.reply)])


def usage(given: Any, said: Any) -> Any:
    return AIMessage("done").model_copy(
        update={"usage_metadata": {"input_tokens": given, "output_tokens": said, "total_tokens": 1}}
    )


@pytest.mark.parametrize(
    ("reply", "cost"),
    [
        (usage(-1, 2), {"output_tokens": 2}),
        (usage(1, None), {"input_tokens": 1}),
        (usage(1.5, 10**400), None),
        (AIMessage("done", response_metadata={"model_name": "\u200b"}), None),
        (AIMessage("done", response_metadata={"model_name": 7}), None),
    ],
)
def test_an_answer_is_kept_whatever_its_model_reports_of_itself(reply: Any, cost: Any) -> None:
    with saving() as saver:
        model = Reporting(lines=[], reply=reply)
        told = agent_of(saver, [], [], model=model, record_model_calls=True).invoke(ask(), on("t"))
        assert told["messages"][-1].text == "done"
        (made,) = seen(saver)
        assert made.cost == cost
        assert made.runtime.model == "script"


def test_ids_of_messages_are_recorded_bounded() -> None:
    with saving() as saver:
        model = Reporting(lines=[], reply=AIMessage("done", id="a\x00\ud800" * 900))
        agent_of(saver, [], [], model=model, record_model_calls=True).invoke(ask(), on("t"))
        (made,) = seen(saver)
        (id,) = json.loads(made.value.json_text)["messages"]
        assert id.startswith("aaa")
        assert len(id) < 300
