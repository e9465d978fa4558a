"""`import` of a file that a ledger has exported."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

import typer

from ledger.adapters.cli.exits import Exit

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.settings import Settings
    from ledger.application.importing_runs import Imported

Bar = AbstractContextManager[Callable[[int, int], None] | None]

STDIN = "-"
"""How standard input is named; an export may come from there."""


def is_export_file(file: Path) -> bool:
    """Tell whether a file begins as an export does; standard input can only be one."""
    from ledger.application.export_format import is_export

    if str(file) == STDIN:
        return True
    with file.open("rb") as opened:
        return is_export(opened.readline(_LONGEST_HEADER))


_LONGEST_HEADER = 64 * 1024 * 1024
"""Bytes of the longest first line that is looked at: it names streams."""


def import_export(screen: Screen, file: Path, settings: Settings, bar: Bar) -> None:
    """Import an export, and say what became of it."""
    from ledger.adapters.cli.opening import open_for_writing
    from ledger.application.importing_runs import import_runs
    from ledger.errors import InvalidInput

    try:
        with _seekable(file) as source, open_for_writing(settings) as opened, bar as progress:
            done = import_runs(opened, source, progress=progress)
    except InvalidInput as error:
        if not str(error.path).startswith("line "):
            raise
        # It is the file that is at fault, and not the command line.
        screen.fail(error.code, f"{file}: {error}", error.data)
        raise typer.Exit(Exit.BAD_NEWS) from None
    if screen.as_json:
        differing = [one._asdict() for one in done.differing]
        screen.document({**asdict(done), "differing": differing})
    else:
        _show(screen, done)
    raise typer.Exit(Exit.BAD_NEWS if done.differing else Exit.FINE)


def _seekable(file: Path) -> BinaryIO:
    if str(file) != STDIN:
        return file.open("rb")
    # It is read twice. The system forgets it when it is closed.
    kept = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115 - closed by who asked for it
    shutil.copyfileobj(sys.stdin.buffer, kept)
    kept.seek(0)
    return kept


def _show(screen: Screen, done: Imported) -> None:
    from ledger.adapters.cli.verdict import stream_words
    from ledger.adapters.cli.words import counted

    if done.differing:
        screen.line("nothing was imported: what is here went on differently")
        for one in done.differing:
            screen.entry(
                f"{stream_words(one.stream)}: another event at position {one.position}", indent=2, hang=2
            )
        return
    known = done.records - done.added
    screen.line(
        f"{counted(done.added, 'record')} and {counted(done.contents, 'content')} added, "
        f"{counted(known, 'record')} here already, in {counted(done.streams, 'stream')}"
    )
    if done.own_left_out:
        screen.line(
            "what the other ledger says of itself ($ledger) is left out: this one has said other things"
        )
    if done.missing:
        screen.line(f"{counted(done.missing, 'content')} that records name is not in the file")
