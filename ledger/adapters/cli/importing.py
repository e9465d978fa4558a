"""`import`: recorded chats become runs, and runs of another ledger are taken in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.settings import Settings
    from ledger.adapters.transcripts import ImportedRun, ImportReport, Progress
    from ledger.application.ledger import Ledger

HELP = """Turn recorded chats into runs, or take in runs that another ledger has exported.

FILE may be what intent-ledger export has written, which its first line tells; - reads one from standard
input. All of it is checked before anything is stored, then its records are appended as they are, with their
hashes, to the tenant of the same name. The same file again adds nothing, one that has grown adds the rest,
also after Ctrl-C: repeat it then before anybody goes on with its runs, which may be here in part. Where a run
went on differently here nothing is stored, and the place is named. Global positions are given anew.

Else FILE holds chat-completions transcripts: JSON Lines, one conversation a line, or one JSON value. The
system message becomes a source, its list items accepted constraints, the first user message the goal; nothing
is guessed that a transcript does not say. The same file again adds nothing, a grown one adds the rest. What
tells an imported run differently is refused; what cannot be read is reported with its line, and the rest
goes in. The source that a system message became is named: `log --source` and `verify source:ID` take that id.
After Ctrl-C the same import again adds the rest.

--tools names a JSON file that says how each tool behaves toward the outside; one it does not name is taken
for one that can be neither asked nor repeated.

\b
  {"tools": {"search": {"recovery": "read_only"},
             "book": {"recovery": "queryable", "failed_if": "^Error"}}}

\b
Exit codes: 0 all is in, 1 something was refused, altered or broken,
3 could not run, 4 an export is not for agents.
Examples:
  intent-ledger import chats.jsonl
  intent-ledger import chats.jsonl --tools tools.json --actor human:kim
  intent-ledger import refund-17.jsonl
"""


_MOST = 10
"""Documents named as text; JSON holds all of them."""


@verb(actor=True)
def import_file(
    call: Call,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The transcripts, or an export.", show_default=False)
    ],
    tools: Annotated[
        Path | None,
        typer.Option("--tools", metavar="FILE", help="How the tools behave.", show_default=False),
    ] = None,
) -> None:
    """Turn recorded chats into runs, or take in exported ones."""
    from ledger.adapters.cli.importing_runs import import_export, is_export_file
    from ledger.adapters.transcripts import ImportInterrupted, Tools, import_transcripts
    from ledger.errors import InvalidInput

    screen = call.screen
    try:
        is_export = is_export_file(file)
    except InvalidInput as error:
        screen.fail(error.code, str(error), error.data)
        raise typer.Exit(Exit.BAD_NEWS) from None
    if is_export:
        if tools is not None or call.given.actor is not None:
            raise typer.BadParameter("an export says by itself who wrote, and what tools did: leave that out")
        settings = call.settings
        import_export(screen, file, settings, _bar(screen, file.name))
        return
    # Looked at first: what is not there must not leave an empty ledger behind.
    for path in (file, *([] if tools is None else [tools])):
        path.open("rb").close()
    declared = None if tools is None else Tools.read(tools)
    settings = call.settings
    try:
        with _opening(settings, file) as opened, _bar(screen, file.name) as progress:
            report = import_transcripts(opened, file, tools=declared, progress=progress)
    except ImportInterrupted as stop:
        screen.fail("interrupted", _interrupted(stop.report), _summary(stop.report))
        raise typer.Exit(Exit.INTERRUPTED) from None
    if call.as_json:
        rows = [
            {name: value for name, value in asdict(row).items() if value is not None} for row in report.rows
        ]
        screen.document({**_summary(report), "transcripts": rows})
    else:
        _show(screen, report)
    raise typer.Exit(Exit.BAD_NEWS if report.refused or report.broken else Exit.FINE)


def _opening(settings: Settings, file: Path) -> Ledger:
    """Open the ledger; where none is there and no transcript can be read, one that leaves nothing behind."""
    from ledger.adapters.cli.opening import is_there, open_for_writing
    from ledger.adapters.transcripts.reading import Transcript, open_input, read_entries
    from ledger.application.edge import Edge
    from ledger.application.ledger import Ledger
    from ledger.stores.memory import MemoryStore
    from ledger.values import Actor

    if is_there(settings) or any(
        isinstance(entry.found, Transcript) for entry in read_entries(open_input(file))
    ):
        return open_for_writing(settings)
    return Ledger(Edge(MemoryStore(), settings.tenant, settings.writer or Actor("service:import")))


def _summary(report: ImportReport) -> dict[str, Any]:
    return {
        **{str(verdict): count for verdict, count in report.counts.items()},
        "events": report.events,
        "sources": report.sources,
        "documents": list(report.documents),
    }


def _interrupted(report: ImportReport) -> str:
    from ledger.adapters.cli.words import counted

    touched = sum(row.events > 0 for row in report.rows)
    added = f"{counted(report.events, 'event')} of {counted(touched, 'transcript')}"
    return f"interrupted: {added} added; the same import again adds the rest"


@contextmanager
def _bar(screen: Screen, name: str) -> Iterator[Progress | None]:
    """Show how far a long file is; only where somebody watches, and never among the answer."""
    if screen.as_json or not screen.is_watched:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from ledger.adapters.cli.visible import one_line

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn())
    console = Console(stderr=True, markup=False, emoji=False)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(one_line(name, most=40), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total or None)


def _show(screen: Screen, report: ImportReport) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.words import counted

    screen.table(
        [Column("TRANSCRIPTS"), Column("COUNT", right=True), Column("EVENTS ADDED", right=True)],
        [
            (verdict, f"{count:,}", f"{sum(r.events for r in report.rows if r.verdict == verdict):,}")
            for verdict, count in report.counts.items()
        ],
    )
    if report.sources:
        screen.line(f"{counted(report.sources, 'document')} published as a source of constraints")
    for document in report.documents[:_MOST]:
        screen.line(f"constraints come from {document}")
    if len(report.documents) > _MOST:
        screen.line(f"and from {len(report.documents) - _MOST:,} more; --json lists all")
    for row in report.rows:
        if row.problem is not None:
            _show_problem(screen, row)


def _show_problem(screen: Screen, row: ImportedRun) -> None:
    from ledger.adapters.cli.words import quoted

    run = "" if row.run is None else f", run {quoted(row.run)}"
    screen.entry(f"{row.verdict}: line {row.line}{run}: {row.problem}", hang=2)
    if row.stored is not None:
        screen.entry(f"stored: {row.stored}", indent=4, hang=2)
    if row.found is not None:
        screen.entry(f"found:  {row.found}", indent=4, hang=2)
