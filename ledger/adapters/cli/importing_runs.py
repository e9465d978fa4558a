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
from ledger.canonical import invalid

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.settings import Settings
    from ledger.application.importing_runs import Imported
    from ledger.errors import LedgerError

Bar = AbstractContextManager[Callable[[int, int], None] | None]

STDIN = "-"
"""How standard input is named; an export may come from there."""


def is_export_file(file: Path) -> bool:
    """Tell whether a file begins as an export does; standard input can only be one.

    Raises:
        InvalidInput: it is empty or compressed, so it is neither an export nor transcripts.
    """
    from ledger.application.export_format import is_export

    if str(file) == STDIN:
        return True
    with file.open("rb") as opened:
        first = opened.readline(_LONGEST_HEADER)
    if not first:
        raise invalid(str(file), "it is empty: neither an export nor a transcript")
    if (packed := packed_as(first)) is not None:
        raise invalid(str(file), packed)
    return is_export(first)


_LONGEST_HEADER = 64 * 1024 * 1024
"""Bytes of the longest first line that is looked at: it names streams."""


def import_export(screen: Screen, file: Path, settings: Settings, bar: Bar) -> None:
    """Import an export, and say what became of it."""
    from ledger.errors import LedgerError

    try:
        with _seekable(file) as source, bar as progress:
            done = _imported(source, settings, progress, lambda found: _show_partly(screen, found))
    except KeyboardInterrupt:
        screen.fail("interrupted", _INTERRUPTED, {})
        raise typer.Exit(Exit.INTERRUPTED) from None
    except LedgerError as error:
        code = _fault_of_file(error)
        if code is None:
            raise
        screen.fail(error.code, f"{'standard input' if str(file) == STDIN else file}: {error}", error.data)
        raise typer.Exit(code) from None
    if screen.as_json:
        differing = [one._asdict() for one in done.differing]
        screen.document({**asdict(done), "differing": differing})
    else:
        _show(screen, done)
    raise typer.Exit(Exit.BAD_NEWS if done.differing else Exit.FINE)


_INTERRUPTED = (
    "interrupted: runs of the file may be here in part: repeat the import before anybody goes on with them"
)


def _show_partly(screen: Screen, found: Imported) -> None:
    """Say before anything is stored that runs which are here in part are completed."""
    from ledger.adapters.cli.words import counted

    if found.partly:
        screen.note(f"{counted(found.partly, 'stream')} of the file here in part: adding the rest")


def _imported(
    source: BinaryIO,
    settings: Settings,
    progress: Callable[[int, int], None] | None,
    begun: Callable[[Imported], None],
) -> Imported:
    """Import, and leave no new ledger behind where the file is refused."""
    from ledger.adapters.cli.opening import is_there, open_for_writing
    from ledger.application.importing_runs import check_export, import_runs, refuse_agents

    if (packed := packed_as(source.read(_MAGIC_BYTES))) is not None:
        raise invalid("line 1", packed)
    source.seek(0)
    if not is_there(settings):
        if settings.writer is not None:
            refuse_agents(settings.writer)
        check_export(source, settings.tenant, progress=progress)
        source.seek(0)
    with open_for_writing(settings) as opened:
        return import_runs(opened, source, progress=progress, begun=begun)


def _fault_of_file(error: LedgerError) -> Exit | None:
    """Tell with which code the command ends where it is the file that is at fault; None: it is not."""
    from ledger.adapters.cli.entry import exit_of
    from ledger.errors import InvalidInput

    if isinstance(error, InvalidInput):
        if error.path == "tenant":
            return Exit.COULD_NOT_RUN
        return Exit.BAD_NEWS if error.path.startswith("line ") else None
    return exit_of(error) if "line" in error.data else None


_PACKED = {
    b"\x1f\x8b": ("gzip", "gunzip"),
    b"BZh": ("bzip2", "bunzip2"),
    b"\xfd7zXZ\x00": ("xz", "unxz"),
    b"\x28\xb5\x2f\xfd": ("Zstandard", "unzstd"),
}
_MAGIC_BYTES = max(map(len, _PACKED))


def packed_as(beginning: bytes) -> str | None:
    """Say how to unpack a file that begins as a compressed one; None where it does not."""
    for magic, (name, command) in _PACKED.items():
        if beginning.startswith(magic):
            return f"it is compressed ({name}): {command} < FILE | intent-ledger import -"
    return None


def _seekable(file: Path) -> BinaryIO:
    if str(file) != STDIN:
        return file.open("rb")
    # It is read twice. The system forgets it when it is closed.
    kept = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115 - closed by who asked for it
    shutil.copyfileobj(sys.stdin.buffer, kept)
    kept.seek(0)
    return kept


def _show(screen: Screen, done: Imported) -> None:
    from ledger.adapters.cli.export import missing_words
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
    for line in missing_words(done.missing, done.dropped, "in the file"):
        screen.line(line)
    if done.unfinished:
        screen.line(
            f"{counted(done.unfinished, 'content')} still here that events name as dropped; to follow them: "
            "intent-ledger expire --finish"
        )
