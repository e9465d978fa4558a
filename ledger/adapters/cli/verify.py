"""`verify`: whether the record is what was written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.integrity.verify import Progress, Report

HELP = """Check whether the record is what was written.

Every stored byte is compared: hashes, chains, derived columns, the fold of all events, snapshots, contents.
Writers are not kept waiting, and what they add meanwhile is not looked at. --all covers every run and source
of the tenant, the global order that followers read, what is kept beside the events, and the file itself. A
source is named source:ID; a run that has such an id comes first.

Read models, which `ask` answers from, are not the record: `intent-ledger project verify` compares them.

No seal exists yet, so the answer is UNANCHORED: it cannot show that the end of a run was cut off, or that
somebody wrote all of it anew.

\b
Exit codes: 0 sound, 1 altered, 2 cannot tell (newer records, content that is
not here, or nothing is there), 3 could not run.
Examples:
  intent-ledger verify refund-17
  intent-ledger verify source:policy:refunds
  intent-ledger verify --all --json
"""

READ_MODELS = (
    "Read models, which `ask` answers from, are not the record, and were not looked at: "
    "intent-ledger project verify compares them with it."
)

_MOST = 50
"""Findings shown as text; JSON holds all that were kept."""


@verb()
def verify(
    call: Call,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="One run, or source:ID.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every run and source of the tenant.")] = False,
) -> None:
    """Check whether the record is what was written."""
    from ledger.adapters.cli.verdict import code_of, summary
    from ledger.application.verifying import verify as verified
    from ledger.errors import NotFound, StoreUnavailable

    if run is not None and everything:
        raise typer.BadParameter("both a run and --all were given: name a run, or say --all")
    if run is None and not everything:
        raise typer.BadParameter("name a run, or say --all")
    screen = call.screen
    try:
        opening = call.looking()
        with opening as opened, _bar(screen) as progress:
            report = verified(opened, run, progress=progress)
    except (NotFound, StoreUnavailable) as error:
        # Where something may have been, its absence is no fault of the question.
        if isinstance(error, StoreUnavailable) and error.data.get("reason") != "empty":
            raise
        screen.fail(error.code, f"cannot tell: {error}; if it ever was, all of it is gone", error.data)
        raise typer.Exit(Exit.CANNOT_TELL) from None
    if call.as_json:
        screen.document(summary(report))
    else:
        _show(screen, report, everything=everything)
    raise typer.Exit(code_of(report))


@contextmanager
def _bar(screen: Screen) -> Iterator[Callable[[Progress], None] | None]:
    """Show how far it is, where somebody watches."""
    if screen.as_json or not screen.is_watched:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("verifying"), BarColumn(), MofNCompleteColumn(), TextColumn("events"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda now: bar.update(task, completed=now.events, total=max(now.known, now.events))


def _show(screen: Screen, report: Report, *, everything: bool) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.verdict import sentence, stream_words, where_words
    from ledger.integrity.verify import Standing

    verdict, *rest = sentence(report)
    screen.line(verdict, style="bold")
    for stream in report.streams:
        if stream.standing is Standing.ALTERED:
            where = where_words(report, stream)
            screen.entry(f"{stream_words(stream.stream)}: altered {where}", indent=2, hang=2)
    for finding in report.findings[:_MOST]:
        place = "" if finding.position is None else f" at {finding.position}"
        screen.entry(
            f"{finding.standing}: {stream_words(finding.stream)}{place}: {finding.check}: {finding.what}",
            indent=4,
            hang=2,
        )
    hidden = len(report.findings) - min(len(report.findings), _MOST) + report.omitted
    if hidden:
        screen.entry(f"and {hidden:,} more; --json lists those that were kept", indent=4)
    screen.line()
    screen.table(
        [Column("LOOKED AT"), Column("TIMES", right=True), Column("ALTERED", right=True)],
        [
            (str(check), f"{count:,}", f"{report.altered(check):,}")
            for check, count in report.checked.items()
            if count
        ],
        indent=2,
    )
    for line in [READ_MODELS, *rest] if everything else rest:
        screen.line()
        screen.line(line)
