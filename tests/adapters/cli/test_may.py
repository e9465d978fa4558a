"""`may`: what an act would be told, and nothing recorded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ledger import open_ledger, tool
from ledger.errors import InvalidInput
from tests.adapters.cli import waits
from tests.adapters.cli.command import Answer
from tests.adapters.cli.conftest import Call, Module
from tests.adapters.cli.waits import SHOP, Waits


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Waits:
    return waits.make(tmp_path_factory.mktemp("waits") / "ledger.db")


@pytest.fixture
def made(_made: Waits, tmp_path: Path) -> Waits:
    """Return a ledger of its own for each test."""
    return _made._replace(path=Path(shutil.copy(_made.path, tmp_path / "waits.db")))


@pytest.fixture
def may(call: Call, made: Waits, module: Module) -> Call:
    """Return the command on run `shop`, with the tools of a shop."""
    module("desk_tools", SHOP)

    def asked(*arguments: str, run: str = "shop") -> Answer:
        more = () if "--tools" in arguments else ("--tools", "desk_tools")
        return call("may", run, *arguments, *more, "--ledger", made.path)

    return asked


def test_what_may_begin_is_said_so_and_nothing_is_recorded(may: Call, made: Waits) -> None:
    answer = may("mail", '{"to": "kim"}', "--json")
    assert answer.code == 0
    document = answer.document
    assert (document["allowed"], document["done"], document["objections"]) == (True, False, [])
    assert (document["args"], document["position"]) == ({"to": "kim"}, 10)
    with open_ledger(made.path) as ledger:
        assert ledger.contract("shop").position == 10
    assert may("mail", '{"to": "kim"}').out.startswith("YES: mail in shop may begin\n")


@pytest.mark.parametrize(
    ("order", "code", "first"),
    [(9, 4, "approval_required"), (3, 4, "approval_required"), (2, 4, "approval_denied"), (1, 0, None)],
)
def test_it_says_what_a_call_would_raise(may: Call, order: int, code: int, first: str | None) -> None:
    answer = may("pay", f'{{"order": {order}}}', "--json")
    assert answer.code == code
    found = answer.document["objections"]
    assert (found[0]["code"] if found else None) == first
    plain = may("pay", f'{{"order": {order}}}').out
    assert plain.startswith("NO: pay in shop may not begin\n" if code else "YES: pay in shop may begin\n")
    assert first is None or f"\n  1. {first}: " in plain


def test_of_what_was_denied_it_is_told_how_a_person_asks_anew(may: Call, made: Waits) -> None:
    answer = may("pay", '{"order": 2}')
    assert f"intent-ledger request-approval {made.denied[:64]} --run shop --actor human:NAME" in answer.err
    assert "denied it at position " in answer.out
    assert "; only a person asks anew, with request_approval" in answer.out
    assert "(position " not in answer.out, "a place is said once"


def test_what_was_done_is_returned_by_the_call(may: Call, made: Waits) -> None:
    with open_ledger(made.path) as ledger:
        ledger.run("shop").perform("mail", {"to": "kim"}, lambda to: to)
    answer = may("mail", '{"to": "kim"}', "--json")
    assert (answer.code, answer.document["done"], answer.document["allowed"]) == (0, True, False)
    assert may("mail", '{"to": "kim"}').out.startswith("DONE: mail in shop was done")


def test_all_that_is_against_it_is_named(may: Call, made: Waits) -> None:
    with open_ledger(made.path) as ledger:
        ledger.run("shop").commit_plan(["look"])
        ledger.run("shop").grant("g", principal="agent:x", scopes=["mail"], granted_by="human:kim")
    found = may("pay", '{"order": 9}', "--step", "rush", "--actor", "agent:refunds", "--json")
    assert found.code == 4
    assert [one["code"] for one in found.document["objections"]] == [
        "off_plan",
        "authority_exceeded",
        "approval_required",
    ]


def test_whether_authority_covers_it_depends_on_who_asks(may: Call, made: Waits) -> None:
    with open_ledger(made.path) as ledger:
        ledger.run("shop").grant(
            "g", principal="agent:x", scopes=["mail"], granted_by="human:kim", session="s-9"
        )
    words = ("mail", '{"to": "kim"}', "--actor", "agent:x", "--actor-session")
    assert may(*words, "s-9").code == 0
    assert may(*words, "s-8").code == 4


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (("nothing", "{}"), 64, "invalid_input"),
        (("mail", "[1]"), 64, "invalid_input"),
        (("mail", "{"), 64, "invalid_input"),
        (("mail", '{"too": 1}'), 64, "invalid_input"),
        (("mail", "{}", "--tools", "no_such_module"), 64, "invalid_input"),
    ],
)
def test_a_malformed_question_is_refused(may: Call, words: tuple[str, ...], code: int, error: str) -> None:
    answer = may(*words, "--json")
    assert (answer.code, answer.error["code"]) == (code, error)


def test_there_has_to_be_such_a_run_and_a_tool(may: Call, call: Call, made: Waits) -> None:
    assert may("mail", '{"to": "kim"}', run="none").code == 3


def test_without_a_module_the_record_alone_answers_and_what_is_not_looked_at_is_told(
    call: Call, made: Waits
) -> None:
    words = ("may", "shop", "mail", "--args", '{"to": "kim"}', "--ledger", made.path)
    told = call(*words)
    assert (told.code, told.out.startswith("YES: mail in shop may begin\n")) == (0, True)
    assert "mail is not declared here, so its program may be told more" in told.err
    document = call(*words, "--json").document
    assert (document["declared"], document["allowed"]) == (False, True)
    with open_ledger(made.path) as ledger:
        run = ledger.run("shop")
        found = run.may("mail", {"to": "kim"})
        assert (found.declared, found.allowed, found.key) == (False, True, document["key"])
        run.perform("mail", {"to": "lee"}, lambda to: None)
        assert run.may("mail", {"to": "kim"}).declared, "a call said what it is"
    with open_ledger(made.path) as ledger:
        run = ledger.run("shop")
        ledger.register(tool(name="other")(print))
        with pytest.raises(InvalidInput, match="no tool 'mail' is known here"):
            run.may("mail", {"to": "kim"})
    denied = call("may", "shop", "pay", '{"order": 2}', "--ledger", made.path, "--json")
    assert denied.code == 4


def test_arguments_are_one_object_in_one_place(may: Call) -> None:
    for words in (("{",), ("[1]",), ("to=kim",), ("--args", "{")):
        answer = may("mail", *words)
        assert answer.code == 64
        assert "behind its name, as one JSON object: '{\"order\": 17}'" in answer.err
    assert "given twice" in may("mail", "{}", "--args", "{}").err
