"""The programs of the page on LangGraph run as they stand, and print what they say."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from tests.adapters.langgraph.acting.agents import call
from tests.conftest import ROOT
from tests.test_readme import blocks

PAGE = (ROOT / "docs/how-to/langgraph.md").read_text("utf-8")
TWICE, ONCE, AGENT, GATE, APPROVED, GRAPH = blocks(PAGE, "python")
EXAMPLE = (ROOT / "docs/examples/pay_once.py").read_text("utf-8")
PRINTED, ANSWERED, OWED = blocks(PAGE, "text")


class Model(BaseChatModel):
    """Pays whenever a person speaks, and says what came of it."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            reply = AIMessage(f"The bank says: {last.text}")
        else:
            reply = AIMessage("", tool_calls=[call("pay", f"call-{len(messages)}", order=17, amount="10.00")])
        return ChatResult(generations=[ChatGeneration(message=reply)])


@pytest.mark.parametrize("lines", [TWICE, ONCE])
def test_what_the_page_shows_of_the_example_stands_there(lines: str) -> None:
    assert lines in EXAMPLE


@pytest.mark.parametrize(
    ("program", "printed"), [(AGENT, PRINTED), (GATE, ""), (APPROVED, ANSWERED), (GRAPH, OWED)]
)
def test_a_program_of_the_page_prints_what_it_says(
    program: str,
    printed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    module = ModuleType("agent_model")
    module.model = Model()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "agent_model", module)
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "page.py", "exec"), {"__name__": "page"})
    assert capsys.readouterr().out == printed
