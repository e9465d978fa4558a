"""A model is told the contract before any history, and the state never holds it."""

from __future__ import annotations

from tests.adapters.langgraph.acting.agents import (
    Script,
    agent_of,
    ask,
    beside,
    on,
    saving,
)


def test_the_contract_stands_before_the_history_and_in_no_state() -> None:
    with saving() as saver:
        model = Script(lines=["one", "two"])
        agent = agent_of(saver, [], [], model=model)
        agent.invoke(ask(), on("t"))
        saver.ledger.run("t#1").revise_goal("Pay nobody", reason="changed", by="human:kim")
        told = agent.invoke(ask(), on("t"))
        first, second = model.shown
        assert (first[0].type, second[0].type) == ("system", "system")
        assert "# Contract of run" in str(first[0].content)
        assert "Pay nobody" in str(second[0].content), "it is read anew for each call"
        assert "Pay nobody" not in str(first[0].content)
        assert [one.type for one in second[1:]] == ["human", "ai", "human"]
        assert all(one.type != "system" for one in told["messages"])


def test_a_model_is_told_what_came_while_nobody_was_there() -> None:
    with saving() as saver:
        agent_of(saver, ["one"], []).invoke(ask(), on("t"))
        saver.ledger.run("t#1").revise_goal("Pay nobody", reason="changed", by="human:kim")
        model = Script(lines=["one", "two", "three"])
        agent = agent_of(beside(saver), [], [], model=model)
        agent.invoke(ask(), on("t"))
        text = model.shown[0][0].text
        assert "Incarnation 2." in text
        assert "the goal is now: Pay nobody" in text.partition("# Contract of run")[2]
        agent.invoke(ask(), on("t"))
        assert "the goal is now" not in model.shown[1][0].text, "it is told where the graph goes on, and once"


def test_an_agent_keeps_its_own_instructions_in_front() -> None:
    from langchain.agents import create_agent
    from langchain_core.messages import SystemMessage

    from ledger.adapters.langgraph.middleware import LedgerMiddleware

    with saving() as saver:
        for prompt in ("Be kind.", SystemMessage([{"type": "text", "text": "Be kind."}])):
            model = Script(lines=["one"])
            agent = create_agent(
                model, [], system_prompt=prompt, middleware=[LedgerMiddleware(saver)], checkpointer=saver
            )
            agent.invoke(ask(), on("t"))
            text = model.shown[0][0].text
            assert text.index("Be kind.") < text.index("# Contract of run")
        model = Script(lines=["one"])
        agent_of(saver, [], [], model=model, contract=False).invoke(ask(), on("t"))
        assert model.shown[0][0].type == "human"
