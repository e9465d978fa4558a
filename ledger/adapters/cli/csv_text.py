"""Answers as CSV: for spreadsheets, which take some texts for formulas and obey them.

Lines end and cells are quoted as RFC 4180 says. Text stands in quotes, a number does not, and a cell that
holds nothing is empty, without quotes. Two things differ from what is stored; `--json` changes neither:

- Text that begins with what begins a formula (`=`, `+`, `-`, `@`, their full-width forms, a tab or a line
  break) or with an apostrophe, also behind blanks, which some programs cut off, gets an apostrophe in front.
  A program that takes one leading apostrophe away has the text again.
- What steers a terminal or hides text is written as its escape, as everywhere on the command line. Line
  breaks stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ledger.adapters.cli.visible import visible

_BEGINS_A_FORMULA = frozenset("=+-@\t\r\n'＝＋－＠")  # noqa: RUF001 - spreadsheets take these, too


def csv_line(cells: Iterable[str | int | bytes | None]) -> str:
    """Write a line with its end."""
    return ",".join(map(_cell, cells)) + "\r\n"


def csv_text(titles: Sequence[str], rows: Iterable[Sequence[str | int | bytes | None]]) -> Iterable[str]:
    """Write a header line and a line for each row."""
    yield csv_line(titles)
    for row in rows:
        yield csv_line(row)


def _cell(value: str | int | bytes | None) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return str(value)
    text = value.hex() if isinstance(value, bytes) else value
    if not _BEGINS_A_FORMULA.isdisjoint((text[:1], text.lstrip()[:1])):
        text = "'" + text
    shown = "\n".join(map(visible, text.replace("\r\n", "\n").split("\n")))
    return '"' + shown.replace('"', '""') + '"'
