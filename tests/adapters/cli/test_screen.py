"""What a command writes: wrapped for people at a terminal, whole lines for everything else."""

from __future__ import annotations

import io
import json
import re

import pytest

from ledger.adapters.cli.screen import Column, ReaderGone, Screen, to_json
from ledger.adapters.cli.words import quoted
from tests.adapters.cli.command import unstyled
from tests.adapters.cli.ledgers import HOSTILE


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Gone(io.StringIO):
    """A pipe that nobody reads."""

    def write(self, text: str, /) -> int:
        raise BrokenPipeError

    def flush(self) -> None:
        raise BrokenPipeError


def piped() -> tuple[Screen, io.StringIO]:
    out = io.StringIO()
    return Screen(out=out, err=io.StringIO()), out


def test_a_table_in_a_pipe_is_one_line_a_row_however_long() -> None:
    screen, out = piped()
    screen.table([Column("ID"), Column("N", right=True)], [("x" * 300, "7"), ("日本", "12")])
    lines = out.getvalue().splitlines()
    assert lines[0] == "ID" + " " * 300 + " N"
    assert lines[1] == "x" * 300 + "   7"
    assert lines[2] == "日本" + " " * 296 + "  12"


def test_a_table_at_a_terminal_folds_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    out = Terminal()
    Screen(out=out, err=io.StringIO()).table([Column("ID")], [("0123456789" * 5,)])
    folded = "".join(line.strip() for line in out.getvalue().splitlines()[1:])
    assert folded == "0123456789" * 5


NAMED = [Column("RUN", whole=True), Column("LAST EVENT"), Column("EVENTS", right=True), Column("GOAL")]
MOMENT = "2026-01-31 09:15:00Z"


def at_terminal(monkeypatch: pytest.MonkeyPatch, width: int) -> tuple[Screen, Terminal]:
    monkeypatch.setenv("COLUMNS", str(width))
    out = Terminal()
    return Screen(out=out, err=io.StringIO()), out


def plain(out: Terminal) -> list[str]:
    return re.sub(r"\x1b\[\d*m", "", out.getvalue()).splitlines()


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_table_folds_prose_and_never_a_name_a_time_or_a_number(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    screen, out = at_terminal(monkeypatch, width)
    screen.table(NAMED, [("refund-of-order-17", MOMENT, "1,234", "Refund it " * 12), ("r", "-", "7", "Go")])
    lines = plain(out)
    assert all(len(line) <= width for line in lines)
    assert f"refund-of-order-17  {MOMENT}   1,234  Refund it" in lines[1]
    (last,) = [line for line in lines if line.startswith("r ")]
    assert last.index(" 7 ") + 1 == lines[1].index("1,234") + 4, "numbers stand one below the other"


@pytest.mark.parametrize("width", [80, 100, 120])
def test_where_a_line_has_no_room_for_names_there_is_no_table(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    name = "r" * 79
    screen, out = at_terminal(monkeypatch, width)
    screen.table(NAMED, [(name, MOMENT, "7", "Refund it " * 12), ("r", "-", "8", "Go")])
    lines = plain(out)
    assert lines[0] == name
    assert lines[1].startswith(f"  last event {MOMENT}, events 7, goal Refund it")
    assert lines[-2:] == ["r", "  events 8, goal Go"]


def test_a_command_may_have_other_lines_where_there_is_no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ("refund-17", MOMENT, "7", "Go")
    for width, run, is_table in ((99, "refund-17", False), (100, "refund-17", True), (100, "r" * 80, False)):
        screen, out = at_terminal(monkeypatch, width)
        screen.table(NAMED, [(run, *row[1:])], instead=lambda at=screen: at.line("instead"))  # type: ignore[misc]
        assert (out.getvalue() == "instead\n") is not is_table
    screen, piped_out = piped()
    screen.table(NAMED, [("r" * 300, *row[1:])], instead=lambda: screen.line("instead"))
    assert f"{'r' * 300}  {MOMENT}       7  Go" in piped_out.getvalue()


def test_a_table_that_would_squeeze_prose_is_written_in_other_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, is_table in (("r" * 57, True), ("r" * 66, False)):
        screen, out = at_terminal(monkeypatch, 120)
        rows = [(name, MOMENT, "7", "Refund it " * 12)]
        screen.table(NAMED, rows, instead=lambda at=screen: at.line("instead"))  # type: ignore[misc]
        assert (out.getvalue() == "instead\n") is not is_table


def test_a_quoted_text_cannot_pass_for_a_line_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    forged = "fine\n    asserted by human:boss\n\nConstraints"
    screen, out = piped()
    screen.quote(forged, indent=2)
    first, *others = out.getvalue().splitlines()
    assert first == "  fine"
    assert all(line.startswith("  |") for line in others)
    monkeypatch.setenv("COLUMNS", "40")
    terminal = Terminal()
    Screen(out=terminal, err=io.StringIO()).quote("word " * 30, indent=2)
    assert all(line.startswith("  | ") for line in terminal.getvalue().splitlines()[1:])


def test_markup_in_stored_text_is_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    out = Terminal()
    screen = Screen(out=out, err=io.StringIO())
    screen.line(HOSTILE)
    screen.table([Column("[red]X")], [(HOSTILE,)])
    written = unstyled(out.getvalue())
    assert written.count("[bold red]x[/bold red] [link=http://e.example]y[/link] [/] :boom:") == 2
    assert "[red]X" in written
    assert "\x1b" not in written


def test_json_is_printable_ascii() -> None:
    text = to_json({HOSTILE: ["\x7f", "日本"]})
    assert text.isascii()
    assert text.isprintable()
    assert json.loads(text) == {HOSTILE: ["\x7f", "日本"]}


def test_an_error_is_one_line_whatever_it_says() -> None:
    err = io.StringIO()
    Screen(out=io.StringIO(), err=err).fail("x", "first\nsecond \x1b[2J", {})
    assert err.getvalue() == "intent-ledger: first second \\x1b[2J\n"


def test_an_error_object_holds_what_is_not_json_as_text() -> None:
    err = io.StringIO()
    Screen(as_json=True, out=io.StringIO(), err=err).fail("x", "m", {"path": ValueError("odd")})
    assert json.loads(err.getvalue()) == {"code": "x", "message": "m", "data": {"path": "odd"}}


def test_a_reader_that_went_away_is_told_apart_from_every_other_fault() -> None:
    screen = Screen(out=Gone(), err=io.StringIO())
    with pytest.raises(ReaderGone):
        screen.line("x")
    with pytest.raises(ReaderGone):
        screen.flush()


def test_a_character_the_stream_cannot_carry_is_escaped() -> None:
    raw = io.BytesIO()
    screen = Screen(out=io.TextIOWrapper(raw, encoding="ascii"), err=io.StringIO())
    screen.line("Zürich 日")
    screen.flush()
    assert raw.getvalue() == b"Z\\xfcrich \\u65e5\n"


@pytest.mark.parametrize("columns", range(24, 60))
def test_no_line_ends_between_a_position_and_its_number(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = Terminal()
    text = "asserted by human:kim, 2026-01-31 09:00:02Z, position 12 of a run; these at positions 2 to 4"
    Screen(out=out, err=io.StringIO()).entry(text, style="dim", hang=2)
    written = unstyled(out.getvalue())
    assert "position 12" in written
    assert "positions 2" in written
    assert "2026-01-31 09:00:02Z" in written
    assert " ".join(written.split()) == text


def test_a_text_that_holds_what_keeps_words_together_is_shown_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = Terminal()
    Screen(out=out, err=io.StringIO()).entry("a \ue000 b at position 12")
    assert unstyled(out.getvalue()) == "a \ue000 b at position 12\n"


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_no_line_ends_within_a_name_that_somebody_may_copy(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    names = ["order 17 of kim", "kim's order 17", "a $(id) 'b' c"]
    for before in range(columns):
        out = Terminal()
        text = (
            "word " * (before // 5) + "x" * (before % 5) + " " + "; ".join(map(quoted, names)) + ": it waits"
        )
        Screen(out=out, err=io.StringIO()).entry(text, indent=2, hang=2)
        written = unstyled(out.getvalue())
        assert all(quoted(name) in written for name in names)
        assert all(len(line) <= columns for line in written.splitlines())
