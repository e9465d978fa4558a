"""`export`: whole runs into a file that another ledger imports with their hashes intact."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.exporting import Exported, Progress

HELP = """Write whole runs into a file that another ledger imports with every hash as it is.

With a run goes what it rests on: the runs it comes from, the sources it has accepted from, whole, and what
the ledger says of contents that were dropped. --all writes everything of the tenant. What is appended
meanwhile is not in it. Leases, snapshots, read models and global positions are not exported.

The file is JSON Lines: a header, each content once, each record as the bytes that are hashed, and a last line
that counts and digests the others. With --output it gets its name when all of it is on disk; else it goes to
standard output.

\b
Exit codes: 0 written, 1 a record is altered, 3 could not run.
Examples:
  intent-ledger export refund-17 --output refund-17.jsonl
  intent-ledger export --all | gzip > ledger.jsonl.gz
  intent-ledger import refund-17.jsonl --ledger other.db
"""


@verb()
def export(
    call: Call,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Which runs.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything of the tenant.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to; a file there is replaced."),
    ] = None,
) -> None:
    """Write runs into a file."""
    from ledger.application.exporting import export as exported

    if everything == bool(runs):
        raise typer.BadParameter("name runs, or say --all")
    if call.as_json and output is None:
        raise typer.BadParameter("--json tells of a file: name it with --output")
    screen = call.screen
    opening = call.reading()
    with opening as opened, _target(screen, output) as write, _watched(screen) as progress:
        done = exported(opened, write, runs=None if everything else runs, progress=progress)
    _tell(screen, done, output, runs or ())


_MOST = 5
"""Names shown as text; JSON holds all of them."""


def _tell(screen: Screen, done: Exported, output: Path | None, asked: Sequence[str]) -> None:
    from ledger.adapters.cli.words import counted

    if screen.as_json:
        screen.document({**done._asdict(), "file": str(output)})
        return
    words = (
        f"{counted(done.records, 'record')} of {counted(done.streams, 'stream')}, "
        f"{counted(done.contents, 'content')}: {done.bytes:,} bytes"
    )
    say = screen.note if output is None else screen.line
    say(words if output is None else f"{output}: {words}")
    for line in [*_named(done, asked), *missing_words(done.missing, done.dropped, "here")]:
        say(line)


def _named(done: Exported, asked: Sequence[str]) -> Iterator[str]:
    """Name what is in the file; of runs those that went with what was asked for, if anything was."""
    from ledger.adapters.cli.words import quoted

    runs = [run for run in done.runs if run not in asked]
    own = ["what the ledger says of itself ($ledger)"] if done.own else []
    parts = [
        (f"run{'s' if len(runs) != 1 else ''}", runs),
        (f"source{'s' if len(done.sources) != 1 else ''}", done.sources),
    ]
    named = [f"{noun} {_first(list(map(quoted, names)))}" for noun, names in parts if names]
    if named or own:
        yield ("with it: " if asked else "in it: ") + "; ".join([*named, *own])


def _first(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST:,} more, all of them with --json" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def missing_words(missing: int, dropped: int | None, where: str) -> Iterator[str]:
    """Say which contents that records name are not there, on purpose or not."""
    from ledger.adapters.cli.words import counted

    verb = "are" if missing != 1 else "is"
    if missing and dropped is None:
        yield (
            f"{counted(missing, 'content')} that records name {verb} not {where}; whether dropped on purpose "
            "is not said"
        )
        return
    if dropped:
        verb = "was" if dropped == 1 else "were"
        yield f"{counted(dropped, 'content')} that records name {verb} dropped on purpose"
    lost = missing - (dropped or 0)
    if lost:
        verb = "are" if lost != 1 else "is"
        yield (
            f"{counted(lost, 'content')} that records name {verb} not {where}, and no event says that "
            f"{'they were' if lost != 1 else 'it was'} dropped"
        )


@contextmanager
def _target(screen: Screen, output: Path | None) -> Iterator[Callable[[bytes], object]]:
    """Yield what takes lines; a file gets its name once all of it is durable, and none where that fails."""
    if output is None:
        yield lambda line: screen.exactly(line.decode())
        return
    # Not `with_name`: a folder as `.` has none.
    partial = output.parent / f".{output.name}.{os.getpid()}.partial"
    try:
        with _opened(partial, output) as file:
            yield file.write
            file.flush()
            os.fsync(file.fileno())
        partial.replace(output)
        _sync_folder(output.parent)
    finally:
        partial.unlink(missing_ok=True)


def _opened(partial: Path, output: Path) -> BinaryIO:
    """Open a new file; where that cannot be, it is the file that was named which cannot."""
    try:
        if output.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return partial.open("xb")
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(output)) from None


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system can."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


@contextmanager
def _watched(screen: Screen) -> Iterator[Callable[[Progress], None] | None]:
    """Show how far it is, where somebody watches."""
    if screen.as_json or not screen.is_watched:
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("exporting") as status:
        yield lambda now: status.update(f"exporting: {now.records:,} records, {now.bytes:,} bytes")
