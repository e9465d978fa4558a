"""`export`: whole runs into a file that another ledger imports with their hashes intact."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.options import JsonOption, LedgerOption, TenantOption

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


def export(
    context: typer.Context,
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]...", help="Which runs.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Everything of the tenant.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where to; a file there is replaced."),
    ] = None,
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write runs into a file."""
    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.screen import Screen
    from ledger.application.exporting import export as exported

    if everything == bool(runs):
        raise typer.BadParameter("name runs, or say --all")
    if as_json and output is None:
        raise typer.BadParameter("--json tells of a file: name it with --output")
    screen = Screen(as_json=as_json)
    opening = open_for_reading(settings_of(context, url=ledger, tenant=tenant))
    with opening as opened, _target(screen, output) as write, _watched(screen) as progress:
        done = exported(opened, write, runs=None if everything else runs, progress=progress)
    _tell(screen, done, output)


def _tell(screen: Screen, done: Exported, output: Path | None) -> None:
    from ledger.adapters.cli.words import counted

    if screen.as_json:
        screen.document({**done._asdict(), "file": str(output)})
        return
    missing = f", {counted(done.missing, 'content')} not here" if done.missing else ""
    words = (
        f"{counted(done.records, 'record')} of {counted(done.streams, 'stream')}, "
        f"{counted(done.contents, 'content')}{missing}: {done.bytes:,} bytes"
    )
    if output is None:
        screen.note(words)
    else:
        screen.line(f"{output}: {words}")


@contextmanager
def _target(screen: Screen, output: Path | None) -> Iterator[Callable[[bytes], object]]:
    """Yield what takes lines; a file gets its name once all of it is durable, and none where that fails."""
    if output is None:
        yield lambda line: screen.exactly(line.decode())
        return
    partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
    try:
        with partial.open("xb") as file:
            yield file.write
            file.flush()
            os.fsync(file.fileno())
        partial.replace(output)
        _sync_folder(output.parent)
    finally:
        partial.unlink(missing_ok=True)


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
