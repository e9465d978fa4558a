"""What is declared is held against the tools of a graph, and what cannot be meant is refused by name."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from ledger import Happened, open_ledger
from ledger.adapters.langgraph import LedgerSaver, LedgerToolCalls, ledger_tools
from ledger.adapters.langgraph.middleware import LedgerMiddleware
from ledger.errors import InvalidInput
from ledger.testing import Clock
from tests.adapters.cli.conftest import call as cli  # noqa: F401
from tests.adapters.langgraph.acting.agents import AGENT, PAY, Bank, agent_of, ask, on, paying, saving


def test_a_name_that_is_misspelt_stops_an_agent_before_it_acts() -> None:
    with paying([[PAY], "done"], {"pya": {"needs_approval": True}}) as (saver, bank, agent):
        with pytest.raises(InvalidInput, match="is 'pay' meant") as wrong:
            agent.invoke(ask(), on("t"))
        assert wrong.value.path == "tools.pya"
        with pytest.raises(InvalidInput, match="is 'pay' meant"):
            LedgerToolCalls(saver, {"pya": "at_most_once"}).node([bank.pay])
    assert not bank.paid


@pytest.mark.anyio
async def test_so_it_does_in_an_event_loop() -> None:
    with paying([[PAY], "done"], {"pya": "at_most_once"}) as (saver, _bank, agent):
        with pytest.raises(InvalidInput, match="is 'pay' meant"):
            await agent.ainvoke(ask(), on("t"))
        saver.faces.close()


def test_what_is_declared_for_another_node_or_registered_is_no_slip(caplog: pytest.LogCaptureFixture) -> None:
    bank = Bank()
    with saving() as saver:
        calls = LedgerToolCalls(saver, {"pay": "at_most_once", "mail": "at_most_once", "pays": None})
        with caplog.at_level(logging.WARNING, "ledger"):
            calls.node([bank.pay])
        assert "nothing is declared" not in caplog.text


def test_of_which_tools_nothing_is_declared_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    bank = Bank()
    with saving() as saver, caplog.at_level(logging.WARNING, "ledger"):
        agent = agent_of(saver, [[PAY], "done"], [bank.pay], {"mail": "at_most_once"})
        for _ in range(2):
            agent.invoke(ask(), on("t"))
    assert caplog.text.count("nothing is declared of the tool 'pay'") == 1


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (["pay"], "tools"),
        ("pay", "tools"),
        (7, "tools"),
        ({7: "at_most_once"}, "tools"),
        ({"pay": 7}, "tools.pay"),
        ({"pay": ["at_most_once"]}, "tools.pay"),
        ({"pay": {"recovry": "at_most_once"}}, "tools.pay.recovry"),
        ({"pay": {"colour": "red"}}, "tools.pay.colour"),
        ({"pay": "at_most_twice"}, "tools.pay.recovery"),
    ],
    ids=str,
)
def test_declarations_that_cannot_be_meant_are_refused_by_their_path(given: Any, path: str) -> None:
    with saving() as saver:
        with pytest.raises(InvalidInput) as wrong:
            LedgerMiddleware(saver, given)
        assert wrong.value.path == path
        with pytest.raises(InvalidInput) as wrong:
            ledger_tools(given)
        assert wrong.value.path == path


@pytest.mark.parametrize("given", [InMemorySaver(), None, "runs.db"], ids=lambda one: type(one).__name__)
def test_only_a_saver_on_a_ledger_keeps_acts(given: Any) -> None:
    for made in (LedgerMiddleware, LedgerToolCalls):
        with pytest.raises(InvalidInput, match="give the LedgerSaver") as wrong:
            made(given)
        assert wrong.value.path == "saver"


@pytest.mark.parametrize("name", ["actor", "custodian"])
def test_a_saver_is_given_actors(name: str) -> None:
    given: dict[str, Any] = {name: "agent:payer"}
    with open_ledger(":memory:") as ledger, pytest.raises(InvalidInput, match=f"{name}: give an Actor"):
        LedgerSaver(ledger, **given)


MODULE = """
from ledger import Happened
from ledger.adapters.langgraph import ledger_tools

DECLARED = {
    "pay": {"recovery": "queryable", "probe": lambda key, args: Happened("ch_9")},
    "note": None,
}
tools = ledger_tools(DECLARED)
"""


def test_a_module_that_holds_them_is_asked_by_the_command_line(cli: Any, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "paying.py").write_text(MODULE, encoding="utf-8")
    bank, clock = Bank(), Clock()
    declared = {"pay": {"recovery": "queryable", "probe": lambda key, args: Happened("ch_9")}}
    with open_ledger(tmp_path / "runs.db", clock=clock) as ledger:
        bank.failing = SystemExit()
        with pytest.raises(SystemExit):
            agent_of(LedgerSaver(ledger, actor=AGENT), [[PAY], "done"], [bank.pay], declared).invoke(
                ask(), on("t")
            )
    answer = cli(
        "reconcile", "--run", "t#1", "--tools", tmp_path / "paying.py", "--ledger", tmp_path / "runs.db"
    )
    assert answer.code == 0, answer.err
    with open_ledger(tmp_path / "runs.db") as ledger:
        assert ledger.contract("t#1").tally.effects_done == 1
