"""What a command writes: tables and entries for people, one JSON document for programs.

On a terminal, text is wrapped and coloured; into a pipe or file goes one line per row, complete and without
colour. Stored texts pass `visible` on both ways; JSON is ASCII, which every terminal and locale carries.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Container, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TextIO

from ledger.adapters.cli.visible import lines_of, visible

if TYPE_CHECKING:
    from rich.console import Console


_GLUE = "\ue000"
"""Stands for a blank at which no line ends; rich ends lines at every blank that there is."""
_PAIR = re.compile(
    r"(?<=\bposition) (?=\d)|(?<=\bpositions) (?=\d)|(?<=\battempt) (?=\d)|(?<=\brevision) (?=\S)"
    r"|(?<=\bterms) (?=v)|(?<=\d\d\d\d-\d\d-\d\d) (?=\d\d:)"
)
"""A blank that keeps a number, or the time of a day, with what it is of."""
_NAME = re.compile(r"""(?<![\w'"])(?:'[^']*'|"[^"]*")+(?!\w)""")
"""What stands in quotes, as a shell reads it: somebody may copy it."""


_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ")
"""A cell that is a moment."""
_LEAST = 12
"""Characters of a line into which prose may be folded in a table."""
_READABLE = 24
"""Characters of a line that prose should have; with fewer, other lines are better where a table has some."""


class ReaderGone(Exception):
    """Whoever read standard output went away, as `head` does; the command ends without a word."""


class Column(NamedTuple):
    """A column of a table."""

    title: str
    right: bool = False
    """Align to the right, as numbers are."""
    whole: bool = False
    """Names that somebody copies: where a line has no room for them, there is no table."""


class Screen:
    """Standard output and standard error of one command.

    `width` wraps text also where no terminal is; it is for prose.
    """

    def __init__(
        self,
        *,
        as_json: bool = False,
        width: int | None = None,
        out: TextIO | None = None,
        err: TextIO | None = None,
    ) -> None:
        self.as_json = as_json
        self._out = out or sys.stdout or _nowhere()
        self._err = err or sys.stderr or _nowhere()
        # A terminal that cannot show a character shows its escape; nothing fails for it.
        for stream in (self._out, self._err):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")
        self.is_terminal = self._out.isatty()
        self.is_watched = self._err.isatty()
        """Somebody sees standard error."""
        self._wraps = self.is_terminal or width is not None
        self._width = None if self.is_terminal else width
        self._console: Console | None = None

    @property
    def narrow(self) -> bool:
        """Whether a table of many columns would not fit: a terminal of fewer than 100 columns."""
        return self._wraps and self._rich().width < 100

    def fits(self, widths: Iterable[int]) -> bool:
        """Tell whether a table of such columns needs no folding: always, where text is not wrapped."""
        return not self._wraps or sum(width + 2 for width in widths) <= self._rich().width + 2

    # --- for programs ----------------------------------------------------------------------------

    def document(self, value: Any, *, pretty: bool = False) -> None:
        """Write the one JSON document of a command, laid out for reading where a person may read it."""
        self._write(to_json(value, indent=2 if pretty or self.is_terminal else None))

    def record(self, value: Any) -> None:
        """Write one line of JSON Lines."""
        self._write(to_json(value))

    def exactly(self, text: str) -> None:
        """Write text as it is, in UTF-8, with the line ends it has."""
        reconfigure = getattr(self._out, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", newline="")
        try:
            self._out.write(text)
        except BrokenPipeError:
            raise ReaderGone from None

    # --- for people ------------------------------------------------------------------------------

    def title(self, text: str) -> None:
        """Write a heading, with an empty line above."""
        self.line()
        self.line(text, style="bold")

    def line(self, text: str = "", *, style: str = "") -> None:
        """Write one line at the margin."""
        self.entry(text, style=style, hang=2)

    def entry(self, text: str, *, indent: int = 0, hang: int = 0, mark: str = "", style: str = "") -> None:
        """Write one paragraph; a terminal wraps it.

        The further lines stand `hang` deeper than the first and begin with `mark`.
        """
        text = visible(text)
        if not self._wraps:
            self._write(" " * indent + text)
            return
        from rich.text import Text

        console = self._rich()
        width = max(console.width - indent - hang - len(mark), 16)
        glued = text if _GLUE in text else _glued(text, width)
        for number, part in enumerate(Text(glued, style).wrap(console, width, overflow="fold")):
            told = part.plain.rstrip() if glued is text else part.plain.rstrip().replace(_GLUE, " ")
            lead = " " * indent + (" " * hang + mark if number else "")
            console.print(Text.assemble(lead, (told, style)), soft_wrap=True)

    def quote(self, text: str, *, indent: int = 0) -> None:
        """Write a stored text of any number of lines.

        All but the first are marked, so that none of them can pass for a line of ours.
        """
        for number, line in enumerate(lines_of(text)):
            self.entry("| " + line if number else line, indent=indent, mark="| ")

    def text(self, text: str) -> None:
        """Write words of ours, each line on its own."""
        for line in lines_of(text):
            self.entry(line)

    def table(
        self,
        columns: Sequence[Column],
        rows: Iterable[Sequence[str]],
        *,
        indent: int = 0,
        instead: Callable[[], None] | None = None,
    ) -> None:
        """Write a table. Cells are shown whole: on one line where no terminal is; there, prose is folded.

        Args:
            columns: its columns, in order.
            rows: their cells.
            indent: how far in it stands.
            instead: writes the same in some lines for each row, for a terminal that is narrow, has no room
                for a column that is `whole`, or would squeeze prose. Without it each row is written as its
                first cell, and the others below, each behind its title.
        """
        cells = [[visible(cell) for cell in row] for row in rows]
        if not self._wraps:
            self._plain_table(columns, cells, indent)
            return
        kept = self._kept(columns, cells, indent, _LEAST)
        squeezes = self.narrow or self._kept(columns, cells, indent, _READABLE) is None
        if (instead is not None and squeezes) or (kept is None and any(one.whole for one in columns)):
            (instead or partial(self._rows_below_each_other, columns, cells, indent))()
            return
        self._folding_table(columns, cells, indent, kept or set())

    def _kept(
        self, columns: Sequence[Column], cells: list[list[str]], indent: int, least: int
    ) -> set[int] | None:
        """Tell which columns are never folded: names, numbers and times; None: there is no room for them.

        The others are folded into lines of at least so many characters.
        """
        from rich.cells import cell_len

        kept, needed = set(), indent
        for place, column in enumerate(columns):
            of_it = [row[place] for row in cells]
            width = max(map(cell_len, [column.title, *of_it]))
            told = [cell for cell in of_it if cell != "-"]
            are_times = bool(told) and all(map(_TIME.fullmatch, told))
            if column.right or column.whole or are_times:
                kept.add(place)
                needed += width + 2
            else:
                needed += min(width, least) + 2
        return kept if needed <= self._rich().width + 2 else None

    def _rows_below_each_other(self, columns: Sequence[Column], cells: list[list[str]], indent: int) -> None:
        for first, *others in cells:
            self.entry(first, indent=indent, style="bold")
            told = zip(columns[1:], others, strict=True)
            words = ", ".join(f"{column.title.lower()} {cell}" for column, cell in told if cell != "-")
            self.entry(words, indent=indent + 2, hang=2)

    def _folding_table(
        self, columns: Sequence[Column], cells: list[list[str]], indent: int, kept: Container[int]
    ) -> None:
        from rich.padding import Padding
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for place, column in enumerate(columns):
            justify: Literal["left", "right"] = "right" if column.right else "left"
            title = Text(column.title)
            table.add_column(title, justify=justify, overflow="fold", no_wrap=place in kept)
        for row in cells:
            table.add_row(*map(Text, row))
        console = self._rich()
        with console.capture() as written:
            console.print(Padding(table, (0, 0, 0, indent)))
        for line in written.get().splitlines():
            self._write(line)

    def command(self, text: str, *, indent: int = 0) -> None:
        """Write something to be copied: it is never wrapped."""
        self._write(" " * indent + visible(text))

    def note(self, text: str) -> None:
        """Write an aside to standard error, so that it never mixes with the answer."""
        self._complain(visible(text))

    def fail(self, code: str, message: str, data: dict[str, Any]) -> None:
        """Say on standard error what went wrong and what to do: one line, or an object with `--json`."""
        if self.as_json:
            plain = json.loads(json.dumps(data, default=str))
            text = to_json({"code": code, "message": message, "data": plain})
        else:
            text = "intent-ledger: " + visible(" ".join(message.split()))
        self._complain(text)

    def _complain(self, line: str) -> None:
        # What was written before comes first, also where both streams end in one file. Where that cannot be
        # written, this may be the word on it.
        with suppress(OSError, ReaderGone):
            self.flush()
        self._err.write(line + "\n")

    def _plain_table(self, columns: Sequence[Column], rows: list[list[str]], indent: int) -> None:
        from rich.cells import cell_len

        lines = [[column.title for column in columns], *rows]
        widths = [max(cell_len(line[place]) for line in lines) for place in range(len(columns))]
        for line in lines:
            parts = []
            for column, cell, width in zip(columns, line, widths, strict=True):
                gap = " " * (width - cell_len(cell))
                parts.append(gap + cell if column.right else cell + gap)
            self._write(" " * indent + "  ".join(parts))

    def _rich(self) -> Console:
        if self._console is None:
            from rich.console import Console

            # Stored texts are no markup, no emoji names and no source code.
            self._console = Console(
                file=self._out, width=self._width, markup=False, emoji=False, highlight=False
            )
        return self._console

    def flush(self) -> None:
        """Hand everything to whoever reads standard output.

        Raises:
            ReaderGone: nobody does any more.
        """
        try:
            self._out.flush()
        except BrokenPipeError:
            raise ReaderGone from None

    def _write(self, line: str) -> None:
        try:
            self._out.write(line.rstrip() + "\n")
        except BrokenPipeError:
            raise ReaderGone from None


def _glued(text: str, width: int) -> str:
    """Let no line end within a pair, nor within quotes where a whole line has room for what stands there."""
    from rich.cells import cell_len

    def whole(found: re.Match[str]) -> str:
        name = found.group()
        return name.replace(" ", _GLUE) if cell_len(name) < width else name

    return _PAIR.sub(_GLUE, _NAME.sub(whole, text))


def _nowhere() -> TextIO:
    """Stand in for a stream that the shell closed (`>&-`)."""
    return Path(os.devnull).open("w", encoding="utf-8")


def to_json(value: Any, *, indent: int | None = None) -> str:
    """Write JSON in printable ASCII."""
    separators = (",", ":") if indent is None else None
    return json.dumps(value, ensure_ascii=True, indent=indent, separators=separators).replace(
        "\x7f", "\\u007f"
    )
