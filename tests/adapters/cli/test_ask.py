"""`ask`: a question with a name is answered as a table, as JSON or as CSV, and says as of when."""

from __future__ import annotations

import csv
import io
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, open_ledger
from ledger.adapters.cli.ask import _values
from ledger.adapters.cli.ask_view import question_document
from ledger.adapters.cli.csv_text import csv_text
from ledger.stores.read_models import Cell
from projections.asking import ask
from projections.built_in import BUILT_IN
from projections.questions.base import Question
from projections.questions.catalogue import QUESTIONS
from tests.adapters.cli.command import at_terminal, run
from tests.adapters.cli.conftest import Alter, Call
from tests.adapters.cli.ledgers import HOSTILE_ID, RAISE_THE_LIMIT, STEERING, make

AS_IS = ("ask", "writers", "run=refund-17", "--as-is")
EACH = pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a ledger that is only asked."""
    path = tmp_path_factory.mktemp("asked") / "ledger.db"
    make(path)
    return path


# --- every question --------------------------------------------------------------------------------


@EACH
def test_a_question_says_what_it_is(question: Question) -> None:
    assert question.about.endswith(".")
    assert question.cannot.endswith(".")
    names = [column.name for column in question.columns]
    assert len(set(names)) == len(names) > 0
    # A sentence may go on in the next column.
    assert all(column.about.endswith((".", "…")) for column in question.columns)
    assert all(parameter.about.endswith(".") for parameter in question.parameters)


@EACH
def test_the_example_of_a_question_can_be_asked(question: Question) -> None:
    values = _values(question, shlex.split(question.example))
    assert values.keys() <= {one.name for one in question.parameters}
    assert values.keys() >= {one.name for one in question.parameters if one.required}


@EACH
def test_a_question_reads_only_what_can_be_read_as_of_a_moment(question: Question) -> None:
    assert question.uses
    for name in question.uses:
        assert all(table.facts for table in BUILT_IN[name].tables), name


@EACH
def test_rows_of_an_answer_have_the_cells_of_its_columns(question: Question, asked: Path) -> None:
    with open_ledger(asked) as ledger:
        (effect,) = ledger.effects("pays")
        there: dict[str, Any] = {"run": "refund-17", "key": effect.effect.key}
        given = _values(question, shlex.split(question.example))
        answer = ask(ledger, question, **{name: there.get(name, value) for name, value in given.items()})
        assert {len(row) for row in answer.rows} <= {len(question.columns)}
        assert answer.events > 0


# --- answers ---------------------------------------------------------------------------------------


def test_an_answer_is_a_document_that_says_as_of_when(asked: Path, call: Call) -> None:
    document = call("ask", "writers", "run=refund-17", "--ledger", asked, "--json").document
    assert document.keys() == {
        "question",
        "given",
        "as_of",
        "until",
        "now",
        "events",
        "columns",
        "rows",
        "notes",
    }
    assert (document["question"], document["given"]) == ("writers", {"run": "refund-17"})
    assert (document["as_of"], document["events"], document["until"]) == ("20", 20, None)
    assert [one["name"] for one in document["columns"]] == list(document["rows"][0])
    assert [(row["actor"], row["events"], row["first_position"]) for row in document["rows"]] == [
        ("agent:refunds", 10, 1),
        ("human:kim", 1, 11),
    ]


def test_as_text_it_is_a_table_and_says_as_of_when(asked: Path, call: Call) -> None:
    said = call("ask", "writers", "run=refund-17", "--ledger", asked)
    head, first, second, as_of = said.out.splitlines()
    assert head.split()[:2] == ["ACTOR", "SESSION"]
    assert first.split()[:3] == ["agent:refunds", "s-1", "-"]
    assert second.split()[:3] == ["human:kim", "-", "badge"]
    assert as_of.startswith("as of global position 20; 20 events handled; by the clock at 20")
    assert (said.code, said.err) == (0, "")


def test_where_a_table_does_not_fit_each_row_has_a_few_lines(asked: Path) -> None:
    wide = at_terminal("ask", "writers", "run=refund-17", "--ledger", asked, columns=200).out
    assert "ACTOR" in wide
    narrow = at_terminal("ask", "writers", "run=refund-17", "--ledger", asked, columns=70).out
    assert "ACTOR" not in narrow
    assert "actor: human:kim\n  authenticated by: badge\n" in narrow
    assert "as of global position 20" in narrow


def test_as_csv_it_has_a_header_and_as_of_when_stands_beside_it(asked: Path, call: Call) -> None:
    said = call("ask", "writers", "run=refund-17", "--ledger", asked, "--csv")
    assert said.out.endswith("\r\n")
    rows = list(csv.DictReader(io.StringIO(said.out, newline="")))
    assert [(row["actor"], row["session"], row["events"]) for row in rows] == [
        ("agent:refunds", "s-1", "10"),
        ("human:kim", "", "1"),
    ]
    assert said.err.startswith("as of global position 20;")


@pytest.fixture(scope="module")
def lined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a ledger with texts of several lines, and with one that only looks so."""
    path = tmp_path_factory.mktemp("lined") / "ledger.db"
    with open_ledger(path, actor=Actor("agent:refunds")) as ledger:
        run = ledger.open_run("run", goal="Refund\n  order 17\nand say \\n")
        run.promise("mail", "say \\n", owed_to="customer:17")
        run.perform("mail", {"body": "a\nb"}, lambda body: None, step="mail", recovery="at_most_once")
    return path


def test_a_text_of_several_lines_stands_in_lines_at_a_terminal(lined: Path) -> None:
    shown = at_terminal("ask", "goal-history", "run=run", "--ledger", lined, columns=200).out
    assert (
        "  diff:\n    | --- nothing\n    | +++ goal 1\n    | @@ -0,0 +1,3 @@\n"
        "    | +Refund\n    | +  order 17\n    | +and say \\n\n"
    ) in shown.replace("\r\n", "\n")


def test_elsewhere_it_stands_on_one_line_and_each_break_is_told_apart(lined: Path, call: Call) -> None:
    _, row, *_ = call("ask", "goal-history", "run=run", "--ledger", lined).out.splitlines()
    assert row.endswith(r"--- nothing\n+++ goal 1\n@@ -0,0 +1,3 @@\n+Refund\n+  order 17\n+and say \\n")
    assert r"say \\n  customer:17" in call("ask", "obligations", "run=run", "--ledger", lined).out
    # JSON has its own way of writing them.
    assert r'{"body":"a\nb"}' in call("ask", "effects", "run=run", "--ledger", lined).out


def test_of_a_wide_table_what_is_empty_is_named_below(lined: Path, call: Call) -> None:
    asked = ("ask", "obligations", "run=run", "--ledger", lined)
    head, _, bare, _ = call(*asked).out.splitlines()
    assert head.split() == ["RUN", "POSITION", "AT", "ID", "TEXT", "OWED", "TO", "STATE"]
    assert bare.startswith("empty in every row: due, opened by, because, ended position, ")
    assert len(call(*asked, "--json").document["rows"][0]) == 19
    assert call(*asked, "--csv").out.count(",") == 2 * 18


@pytest.mark.parametrize("how", [(), ("--json",), ("--csv",)])
def test_no_rows_are_an_answer_too(asked: Path, call: Call, how: tuple[str, ...]) -> None:
    when = "2020-01-31T09:15:00Z"
    said = call("ask", "writers", "run=refund-17", "--as-of", when, "--ledger", asked, *how)
    assert said.code == 0
    if how == ("--json",):
        assert said.document["rows"] == []
        assert said.document["until"] == said.document["now"] == "2020-01-31T09:15:00.000000Z"
    elif how:
        assert said.out.count("\r\n") == 1
    else:
        none, note, as_of = said.out.splitlines()
        assert (none, note) == ("none", "note: nothing had been recorded by then")
        assert as_of.startswith("as of 2020-01-31 09:15:00Z, looked for up to global position 20;")


def test_an_earlier_place_and_another_now_can_be_asked_for(asked: Path, call: Call) -> None:
    given = ("ask", "writers", "run=refund-17", "--ledger", asked, "--json")
    then = call(*given, "--as-of", "3", "--now", "2026-02-01T00:00:00+01:00").document
    assert (then["as_of"], then["now"]) == ("3", "2026-01-31T23:00:00.000000Z")
    assert [row["last_position"] for row in then["rows"]] == [1]


def test_as_is_it_answers_from_what_is_handled(good: Path, call: Call) -> None:
    given = ("ask", "writers", "run=refund-17", "--ledger", good, "--json")
    behind = call(*given, "--as-is")
    assert (behind.code, behind.error["code"]) == (3, "projection_behind")
    assert call(*given).document["as_of"] == "20"
    with open_ledger(good, actor=Actor("human:lee")) as ledger:
        ledger.run("refund-17").promise("call", "Call back", owed_to="customer:17")
    assert call(*given, "--as-is").document["as_of"] == "20"
    assert [row["actor"] for row in call(*given).document["rows"]] == [
        "agent:refunds",
        "human:kim",
        "human:lee",
    ]


def test_what_cannot_be_handled_is_no_answer(good: Path, call: Call, alter: Alter) -> None:
    alter(good, RAISE_THE_LIMIT)
    said = call("ask", "writers", "run=refund-17", "--ledger", good, "--json")
    assert (said.code, said.error["code"]) == (1, "projection_stopped")
    assert (said.error["data"]["run"], said.error["data"]["position"]) == ("refund-17", 2)
    assert "bring it back from a backup or an export" in said.error["message"]
    # So it is with what is a question in another dress.
    for command in (("obligations",), ("runs", "--kept")):
        assert call(*command, "--ledger", good).code == 1
    as_is = call("ask", "writers", "run=refund-17", "--as-is", "--ledger", good, "--json")
    assert (as_is.code, as_is.document["as_of"]) == (0, "3")
    (note,) = as_is.document["notes"]
    assert note.startswith(
        "the projection timeline has not handled the last 17 events; the projection timeline v"
    )
    assert "stopped before 'refund-17' position 2" in note
    assert "note: the projection timeline has" in call(*AS_IS, "--ledger", good).out
    assert "note: the projection timeline has" in call(*AS_IS, "--csv", "--ledger", good).err


def test_hostile_texts_steer_nothing(hostile: Path, call: Call) -> None:
    with open_ledger(hostile) as ledger:
        ids = [one.run for one in ledger.runs().runs]
    for run_id in ids:
        for how in ((), ("--csv",), ("--json",)):
            said = call("ask", "writers", f"run={run_id}", "--ledger", hostile, *how)
            assert said.code == 0
            shown = set(said.out.replace("\r\n", "") + said.err) - {"\n"}
            assert not [one for one in shown & set(STEERING) if not one.isprintable()]
    assert HOSTILE_ID in ids


def test_it_shows_how_far_it_is_where_somebody_watches(good: Path, tmp_path: Path) -> None:
    shown = at_terminal("ask", "writers", "run=refund-17", "--ledger", good, columns=200).out
    assert "timeline" in shown
    copy = Path(shutil.copy(good, tmp_path / "copy.db"))
    unwatched = at_terminal("ask", "writers", "run=refund-17", "--ledger", copy, columns=200, watched=False)
    assert "timeline" not in unwatched.out


# --- questions -------------------------------------------------------------------------------------


def test_questions_are_listed_under_their_headings(call: Call) -> None:
    said = call("ask", "--list")
    for one in QUESTIONS.values():
        assert f"\n  {one.name}" in said.out
    heads = [line for line in said.out.splitlines() if line and not line.startswith(" ")]
    assert heads == list(dict.fromkeys(one.group for one in QUESTIONS.values()))
    assert call("ask", "--list", "--json").document == {
        "questions": [question_document(one) for one in QUESTIONS.values()]
    }


def test_a_question_is_told_about(call: Call) -> None:
    said = call("ask", "--about", "writers").out
    one = QUESTIONS["writers"]
    for words in (
        one.about,
        one.cannot,
        "run: The run, by its id. Needed.",
        "intent-ledger ask writers run=",
    ):
        assert words in said
    assert all(f"  {column.name}: {column.about}" in said for column in one.columns)
    assert call("ask", "writers", "--about", "--json").document == question_document(one)
    assert "One of reviewed, objection, approved, noted." in call("ask", "--about", "reviews").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "name a question"),
        (("writer",), "did you mean writers?"),
        (("xyz",), "intent-ledger ask --list"),
        (("--about", "writer"), "did you mean writers?"),
        (("writers",), "run= is needed"),
        (("writers", "refund-17"), "is not NAME=VALUE; writers takes run="),
        (("writers", "run=a", "run=b"), "run= is given twice"),
        (("writers", "run=refund-17", "other=1"), "other= is no parameter of writers, which takes run="),
        (("writers", "run=refund-17", "--as-of", "yesterday"), "neither a position nor a time"),
        (("writers", "run=refund-17", "--as-of", "999"), "the ledger ends at the global position"),
        (("writers", "run=refund-17", "--now", "2026-01-31"), "no time with a zone"),
        (("writers", "run=refund-17", "--csv", "--json"), "either it or --json"),
        (("--list", "--csv"), "--csv is for an answer"),
        (("--list", "writers"), "--list stands alone"),
        (("--about",), "name it alone"),
        (("--about", "writers", "run=refund-17"), "name it alone"),
    ],
)
def test_what_is_asked_in_another_way_is_malformed(
    asked: Path, call: Call, arguments: tuple[str, ...], words: str
) -> None:
    said = call("ask", *arguments, "--ledger", asked)
    assert (said.code, said.out) == (64, "")
    assert words in said.err or words in said.err.replace('\\"', '"')


def test_there_has_to_be_such_a_run(asked: Path, call: Call) -> None:
    said = call("ask", "writers", "run=none", "--ledger", asked, "--json")
    assert (said.code, said.error["code"]) == (3, "run_not_found")


# --- CSV -------------------------------------------------------------------------------------------


# Full-width forms are taken, too.
BEGINNINGS = ("=", "+", "-", "@", "\t", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", "'", " =", "\u00a0@")


@pytest.mark.parametrize("begin", BEGINNINGS)
def test_a_cell_that_could_be_a_formula_is_text(begin: str) -> None:
    text = f'{begin}1+1,"x"'
    written = "".join(csv_text(["a", "b"], [(text, -1)]))
    ((_, _), (cell, number)) = csv.reader(io.StringIO(written, newline=""))
    assert number == "-1"
    assert cell[0] == "'"
    if begin.isprintable():
        assert cell[1:] == text


def test_what_is_missing_is_not_what_is_empty() -> None:
    rows: list[tuple[Cell, Cell]] = [(None, ""), (0, "a\r\nb"), ("\x1b[2J", b"\x01\xff")]
    assert "".join(csv_text(["a", "b"], rows)) == '"a","b"\r\n,""\r\n0,"a\nb"\r\n"\\x1b[2J","01ff"\r\n'


def test_csv_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path, actor=Actor("service:tests", session="Köln")) as ledger:
        ledger.open_run("run", "goal")
    said = run("ask", "writers", "run=run", "--csv", "--ledger", path, LC_ALL="C", PYTHONCOERCECLOCALE="0")
    assert '"service:tests","Köln"' in said.out
