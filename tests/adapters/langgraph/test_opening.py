"""A saver is opened from an address, as other savers of LangGraph are."""

from __future__ import annotations

import asyncio
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from langgraph.graph import START, MessagesState, StateGraph

from ledger.adapters.langgraph import LedgerSaver
from ledger.errors import InvalidInput
from tests.adapters.langgraph.places import config_of
from tests.conftest import ROOT


def graph_of(saver: LedgerSaver):  # type: ignore[no-untyped-def]
    builder = StateGraph(MessagesState)
    builder.add_node("answer", lambda state: {"messages": [("ai", f"heard {len(state['messages'])}")]})
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize(
    "address", [str, "sqlite:///{}".format], ids=["a path", "as SQLAlchemy writes an absolute one"]
)
def test_a_saver_takes_the_place_of_another_one_where_it_is_opened(
    tmp_path: Path, address: Callable[[Path], str]
) -> None:
    path = tmp_path / "agent.db"
    with LedgerSaver.from_conn_string(address(path)) as saver:
        graph_of(saver).invoke({"messages": [("user", "Hello.")]}, config_of("order-17"))
    assert path.exists()

    async def later() -> list[str]:
        async with LedgerSaver.from_url(str(path)) as saver:
            told = await graph_of(saver).ainvoke({"messages": [("user", "Again.")]}, config_of("order-17"))
            return [message.text for message in told["messages"]]

    assert asyncio.run(later()) == ["Hello.", "heard 1", "Again.", "heard 3"]


def test_a_folder_of_files_is_no_place_for_a_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="for a Checkpointer"):
        LedgerSaver.from_url("files:saves")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("module", "needs", "extra"),
    [
        ("__init__", "langgraph.checkpoint.base", "'.[langgraph]'"),
        ("middleware", "langchain.agents.middleware", "'.[langchain]'"),
    ],
)
def test_who_lacks_an_extra_is_told_which(
    module: str, needs: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, needs, None)
    with pytest.raises(ModuleNotFoundError, match=re.escape(f"pip install {extra}")):
        runpy.run_path(str(ROOT / f"ledger/adapters/langgraph/{module}.py"))
