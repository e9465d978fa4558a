"""`tools`, and the modules that declare them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.cli.acts import LEAK, begin_now
from tests.adapters.cli.command import at_terminal, run
from tests.adapters.cli.conftest import Call, Module

TWO = """
from ledger import tool

@tool
def mail(to: str): ...

@tool(recovery="read_only")
def look(): ...
"""


def names(call: Call, *arguments: str | Path) -> list[str]:
    return [row["tool"] for row in call("tools", *arguments, "--json").document["tools"]]


def refusal(call: Call, *arguments: str | Path) -> str:
    answer = call("tools", *arguments, "--json")
    assert (answer.code, answer.out) == (64, "")
    error = answer.error
    assert (error["code"], error["data"]["path"]) == ("invalid_input", "--tools")
    return str(error["message"])


# --- answers -----------------------------------------------------------------------------------------


def test_answers_three_questions_for_each_tool_that_is_declared_or_in_doubt(
    call: Call, acts: Path, shop: Path
) -> None:
    begin_now(acts)
    mail, order, refund, ship = call("tools", "--tools", shop, "--ledger", acts, "--json").document["tools"]
    assert mail == {
        "tool": "mail",
        "recovery": "at_most_once",
        "classified": False,
        "declared": True,
        "changes_the_outside": True,
        "safe_to_redo": "no, never by itself",
        "how_we_know": "a person has to find out",
        "description": "Send a mail.",
        "cost": None,
        "needs_approval": False,
        "unsettled": 1,
        "in_doubt": 1,
    }
    assert (order["declared"], "classified" in order) == (False, False)
    assert (refund["how_we_know"], refund["unsettled"]) == ("its probe asks the outside", 3)
    assert (ship["unsettled"], ship["in_doubt"]) == (1, 0)


def test_marks_what_nobody_classified(call: Call, acts: Path, shop: Path) -> None:
    answer = call("tools", "--tools", shop, "--ledger", acts)
    header, mail, order, refund = answer.out.splitlines()
    assert header.split()[:2] == ["TOOL", "DECLARED"]
    assert mail.split()[:2] == ["mail", "UNCLASSIFIED"]
    assert order.startswith("order   at_most_once, as recorded")
    assert refund.split()[:2] == ["refund", "queryable"]
    assert "declare a recovery for: mail\n" in answer.err


def test_a_narrow_terminal_shows_every_answer(acts: Path, shop: Path) -> None:
    out = at_terminal("tools", "--tools", shop, "--ledger", acts, columns=60).out
    assert max(map(len, out.splitlines())) <= 60
    assert "mail: UNCLASSIFIED\n  safe to redo? no, never by itself\n" in out


def test_what_a_tool_costs_and_whether_a_person_approves_it_is_shown(call: Call, module: Module) -> None:
    module(
        "dear",
        "from ledger import tool\n\n\n@tool(cost={'EUR': '10.00'}, needs_approval=True)\ndef buy(): ...\n",
    )
    (buy,) = call("tools", "--tools", "dear", "--json").document["tools"]
    assert (buy["cost"], buy["needs_approval"]) == ({"EUR": "10.00"}, True)
    header, row = call("tools", "--tools", "dear").out.splitlines()
    assert "COST" in header
    assert "10.00 EUR" in row


def test_of_one_run(call: Call, acts: Path) -> None:
    assert names(call, "desk", "--ledger", acts) == ["order"]
    assert names(call, "--ledger", acts) == ["mail", "order", "refund"]
    assert call("tools", "nobody", "--ledger", acts).code == 3


def test_says_that_no_tool_is_known(call: Call, good: Path) -> None:
    answer = call("tools", "refund-17", "--ledger", good)
    assert (answer.code, answer.out) == (0, "")
    assert "--tools" in answer.err


def test_a_module_alone_needs_no_ledger_unless_one_is_named(call: Call, shop: Path) -> None:
    assert names(call, "--tools", shop) == ["mail", "refund"]
    assert not Path("ledger.db").exists()
    assert call("tools", "--tools", shop, "--ledger", "nowhere.db").code == 3
    assert call("tools", "any", "--tools", shop).code == 3


# --- modules -----------------------------------------------------------------------------------------


def test_a_module_is_a_name_or_a_file(call: Call, module: Module) -> None:
    path = module("two", TWO)
    assert names(call, "--tools", "two") == names(call, "--tools", path) == ["look", "mail"]
    (Path.cwd() / "pack").mkdir()
    inside = Path("pack/inside.py")
    inside.write_text("from helping import *\n")
    Path("pack/helping.py").write_text(TWO)
    module("inside", "")
    module("helping", TWO)
    Path("inside.py").unlink()
    Path("helping.py").unlink()
    assert names(call, "--tools", inside) == ["look", "mail"], "its neighbours can be imported"


def test_the_installed_command_finds_modules_where_it_is_started(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(TWO)
    answer = run("tools", "--tools", "two", "--json", cwd=tmp_path)
    assert (answer.code, answer.err) == (0, "")
    assert [row["tool"] for row in answer.document["tools"]] == ["look", "mail"]


def test_tools_that_are_listed_count_alone(call: Call, module: Module) -> None:
    path = module("listed", TWO + "\ntools = [look]\n")
    assert names(call, "--tools", path) == ["look"]


def test_what_is_named_tools_and_lists_none_is_passed_over(call: Call, module: Module) -> None:
    assert names(call, "--tools", module("odd", TWO + "\nimport json as tools\n")) == ["look", "mail"]
    assert names(call, "--tools", module("single", TWO + "\ntools = look\n")) == ["look", "mail"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1", "declares no tools"),
        ("tools = []", "declares no tools"),
        (TWO + "\ntools = [look, print]", "which is no ledger.Tool"),
        (TWO + "\nother = tool(name='mail')(print)", "two tools that are named 'mail'"),
        (
            "from ledger import Secrets, tool\na, b = Secrets(), Secrets()\n@tool\ndef f(): ...",
            "several Secrets",
        ),
        ("def f(:", "SyntaxError"),
        ("import no_such_thing", "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("raise ValueError('why not')", "failed with ValueError: why not ("),
        (f"raise ValueError('{LEAK}')", "[redacted:"),
        ("import sys; sys.exit(0)", "ends the program"),
    ],
)
def test_a_module_that_is_of_no_use_says_why(call: Call, module: Module, text: str, told: str) -> None:
    path = module("useless", text)
    message = refusal(call, "--tools", path)
    assert told in message
    assert "useless" in message
    assert LEAK not in message


def test_a_module_that_is_not_there_is_told_so(call: Call, module: Module) -> None:
    assert "there is no file nowhere.py" in refusal(call, "--tools", "nowhere.py")
    assert "there is no module 'nowhere'" in refusal(call, "--tools", "nowhere.tools")
    module("two", TWO)
    assert "there is no module 'two.more'" in refusal(call, "--tools", "two.more")
    assert call("tools", "--tools", "").code == 64
    assert call("tools", "--tools", "../two").code == 64


def test_a_file_whose_name_is_taken_is_refused(call: Call) -> None:
    Path("json.py").write_text(TWO)
    assert "rename the file" in refusal(call, "--tools", "json.py")
