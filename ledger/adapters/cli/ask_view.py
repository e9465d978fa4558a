"""Answers and questions on the screen, as JSON and as CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ledger.adapters.cli.csv_text import csv_text
from ledger.adapters.cli.screen import Column, Screen
from ledger.adapters.cli.view_rows import as_of_words
from ledger.adapters.cli.visible import one_line, visible
from ledger.adapters.cli.words import shortened, value_words
from ledger.values.times import read_time, write_time

if TYPE_CHECKING:
    from ledger.stores.read_models import Cell
    from projections.questions.base import Answer, Parameter, Question

_WIDE = 10
"""Columns of an answer that a screen has room for."""
_MOST_LINES = 100
"""Lines of a text at a terminal."""
_MOST = 200
"""Characters of a cell at a terminal; elsewhere it is whole."""


# --- an answer -------------------------------------------------------------------------------------


def answer_document(answer: Answer) -> dict[str, Any]:
    """Give an answer as a JSON object."""
    names = [column.name for column in answer.columns]
    return {
        "question": answer.question,
        "given": {name: value for name, value in answer.given.items() if value is not None},
        "as_of": str(answer.as_of),
        "until": None if answer.until is None else write_time(answer.until),
        "now": write_time(answer.now),
        "events": answer.events,
        "columns": [column._asdict() for column in answer.columns],
        "rows": [dict(zip(names, map(_plain, row), strict=True)) for row in answer.rows],
        "notes": list(answer.notes),
    }


def show_answer(screen: Screen, answer: Answer) -> None:
    """Write an answer: a table where it fits, else a few lines for each row; then as of when."""
    titles = [column.name for column in answer.columns]
    if answer.rows:
        show_rows(screen, titles, answer.rows)
    else:
        screen.line("none")
    for note in answer.notes:
        screen.line(f"note: {note}")
    screen.line(_as_of(answer), style="dim")


def write_csv(screen: Screen, answer: Answer) -> None:
    """Write an answer as CSV; what does not belong into it goes to standard error."""
    for line in csv_text([column.name for column in answer.columns], answer.rows):
        screen.exactly(line)
    for note in answer.notes:
        screen.note(f"note: {note}")
    screen.note(_as_of(answer))


def show_rows(screen: Screen, titles: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
    """Write rows as a table, or where a terminal has no room for it as a few lines for each.

    Of a wide one, columns in which no row has anything are named below it.
    """
    from rich.cells import cell_len

    kept = [place for place in range(len(titles)) if any(row[place] is not None for row in rows)]
    bare = [title for place, title in enumerate(titles) if place not in kept]
    if len(titles) > _WIDE and bare:
        titles, rows = [titles[place] for place in kept], [[row[place] for place in kept] for row in rows]
    else:
        bare = []
    brief = screen.is_terminal
    shown = [[_words(cell, brief=brief) for cell in row] for row in rows]
    heads = [_head(title).upper() for title in titles]
    widths = [max(map(cell_len, column)) for column in zip(heads, *shown, strict=True)]
    # A text of several lines has no place in a table of a terminal.
    if screen.fits(widths) and not (brief and any(_has_lines(cell) for row in rows for cell in row)):
        columns = [
            Column(head, right=_are_numbers(cells))
            for head, cells in zip(heads, zip(*rows, strict=True), strict=True)
        ]
        screen.table(columns, shown)
    else:
        for row, words in zip(rows, shown, strict=True):
            _show_row(screen, titles, row, words)
    if bare:
        screen.line(f"empty in every row: {', '.join(map(_head, bare))}", style="dim")


def _show_row(screen: Screen, titles: Sequence[str], row: Sequence[Cell], words: Sequence[str]) -> None:
    """Write a row in a few lines, and a text of several lines as it is."""
    first = True
    for title, cell, said in zip(titles, row, words, strict=True):
        if cell is None:
            continue
        indent, style = (0, "bold") if first else (2, "")
        first = False
        if not _has_lines(cell):
            screen.entry(f"{_head(title)}: {said}", indent=indent, hang=2, style=style)
            continue
        lines = str(cell).splitlines()
        screen.entry(f"{_head(title)}:", indent=indent, style=style)
        for line in lines[:_MOST_LINES]:
            screen.entry(f"| {line}", indent=indent + 2, mark="| ")
        if len(lines) > _MOST_LINES:
            screen.entry(f"and {len(lines) - _MOST_LINES:,} more lines (--json)", indent=indent + 2)


def _head(title: str) -> str:
    return title.replace("_", " ")


def _has_lines(cell: Cell) -> bool:
    return isinstance(cell, str) and "\n" in cell


def _as_of(answer: Answer) -> str:
    return as_of_words(answer.as_of, answer.events, answer.now, answer.until)


def _plain(cell: Cell) -> str | int | None:
    return cell.hex() if isinstance(cell, bytes) else cell


def _words(cell: Cell, *, brief: bool) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, int):
        return str(cell)
    text = cell.hex() if isinstance(cell, bytes) else cell
    if _is_time(text):
        return value_words(text, brief_time=True)
    if ("\\n" in text or "\n" in text) and not _is_json(text):
        # Of several lines the blanks say something, too. What looks like a break and is none is told apart.
        text = visible(text.replace("\\", "\\\\").replace("\n", "\\n"))
        return text if not brief or len(text) <= _MOST else one_line(text, _MOST)
    return one_line(shortened(text, brief), _MOST if brief else None)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _are_numbers(cells: Iterable[Cell]) -> bool:
    return {type(cell) for cell in cells if cell is not None} == {int}


def _is_time(text: str) -> bool:
    try:
        read_time(text)
    except ValueError:
        return False
    return True


# --- questions -------------------------------------------------------------------------------------


def question_document(question: Question) -> dict[str, Any]:
    """Give a question as a JSON object."""
    return {
        "name": question.name,
        "group": question.group,
        "about": question.about,
        "cannot": question.cannot,
        "parameters": [_parameter(one) for one in question.parameters],
        "columns": [column._asdict() for column in question.columns],
        "example": command_line(question),
    }


def _parameter(one: Parameter) -> dict[str, Any]:
    facts = {"name": one.name, "about": one.about, "kind": one.kind, "required": one.required}
    return {**facts, "choices": list(one.choices)} if one.choices else facts


def command_line(question: Question) -> str:
    """Write a call of a question as one would type it."""
    return f"intent-ledger ask {question.name} {question.example}".rstrip()


def show_list(screen: Screen, questions: Sequence[Question]) -> None:
    """List questions under their headings."""
    for number, (group, some) in enumerate(groupby(questions, lambda one: one.group)):
        if number:
            screen.line()
        screen.line(group, style="bold")
        for one in some:
            asked = " ".join(_typed(one))
            screen.entry(f"{one.name} {asked}".rstrip(), indent=2, hang=4)
            screen.entry(one.about, indent=6, style="dim")


def show_question(screen: Screen, question: Question) -> None:
    """Show what a question answers, what it cannot, and how it is asked."""
    screen.line(f"{question.name} {' '.join(_typed(question))}".rstrip(), style="bold")
    screen.entry(question.about)
    screen.title("What it cannot tell")
    screen.entry(question.cannot)
    if question.parameters:
        screen.title("Parameters")
        for parameter in question.parameters:
            kind = "" if parameter.kind == "text" else f" ({parameter.kind})"
            needed = " Needed." if parameter.required else ""
            choices = f" One of {', '.join(parameter.choices)}." if parameter.choices else ""
            screen.entry(f"{parameter.name}{kind}: {parameter.about}{choices}{needed}", indent=2, hang=2)
    screen.title("Columns")
    for column in question.columns:
        screen.entry(f"{column.name}: {column.about}", indent=2, hang=2)
    screen.title("Example")
    screen.command(command_line(question), indent=2)


def _typed(question: Question) -> list[str]:
    return [
        f"{one.name}=…" if one.required else f"[{one.name}=…]"
        for one in sorted(question.parameters, key=lambda one: not one.required)
    ]
