"""On each store: an agent asks a person, another process goes on, and it is paid once."""

from __future__ import annotations

from pathlib import Path

import pytest
from langgraph.types import Command

from ledger import open_ledger
from ledger.adapters.langgraph import LedgerSaver
from tests.adapters.langgraph.acting.agents import AGENT, ASKS, KIM, Bank, agent_of, answers, ask, call, on

LINES = [[call("pay", order=17, amount="10.00")], "done"]


def play(url: str) -> None:
    bank = Bank()
    with open_ledger(url) as ledger:
        agent = agent_of(LedgerSaver(ledger, actor=AGENT), LINES, [bank.pay], ASKS)
        (asked,) = agent.invoke(ask(), on("t"))["__interrupt__"]
    with open_ledger(url) as ledger:
        agent = agent_of(LedgerSaver(ledger, actor=AGENT), LINES, [bank.pay], ASKS)
        told = agent.invoke(Command(resume={asked.id: {"approve": True, "by": KIM}}), on("t"))
        assert [one.content for one in answers(told)] == ['{"id": "ch_1"}']
    with open_ledger(url) as ledger:
        agent = agent_of(LedgerSaver(ledger, actor=AGENT), LINES, [bank.pay], ASKS)
        before = next(one for one in agent.get_state_history(on("t")) if one.next == ("tools",))
        assert [one.content for one in answers(agent.invoke(None, before.config))] == ['{"id": "ch_1"}']
        assert ledger.contract("t#1").incarnation == 3
    assert bank.paid == [(17, "10.00")]


def test_on_sqlite(tmp_path: Path) -> None:
    play(str(tmp_path / "agent.db"))


@pytest.mark.slow
def test_on_postgresql(fresh_database: str) -> None:
    play(fresh_database)
