"""`expire`: contents beside the records go, by class and age."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.expiring import Expiry, Progress, Tally

HELP = """Drop contents by class and age; the records that name them stay, and an event says that they went.

A content is what is too large for a record, and every message: the record holds its digest. It is as old as
the newest record that names it, in whatever run. Before any goes, events in the stream of the ledger itself
name them, with who decided it and why (intent-ledger log '$ledger'); where one is read later, that is the
answer. Contracts, hashes and verify stay as they are, and an act whose result is gone is not done again.

Name at least one of --class, --older-than and --run. With --run only what no other run names goes. On
PostgreSQL the owner of the ledger does this, no writer may.

What events name as dropped may still be here: an expiry was cut short, or the events came with an import.
That is counted each time, and goes by --finish alone, which writes no event.

\b
Exit codes: 0 done, 3 could not run, 4 not for agents.
Examples:
  intent-ledger expire --class message --older-than 90d --dry-run
  intent-ledger expire --older-than 90d --by human:kim --reason "kept 90 days"
  intent-ledger expire --run refund-17 --by human:kim --reason "on request"
  intent-ledger expire --finish
"""


@verb(actor=True)
def expire(
    call: Call,
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--class",
            metavar="NAME,…",
            help="Only of these classes: message, result, observation, evidence.",
            show_default=False,
        ),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="SPAN", help="Only older, e.g. 90d.", show_default=False),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="Only what this run alone names.", show_default=False),
    ] = None,
    finish: Annotated[
        bool, typer.Option("--finish", help="Only what events name as dropped, and is still here.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, change nothing.")] = False,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="KIND:NAME", help="Who decided it.", show_default=False),
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)
    ] = None,
) -> None:
    """Drop contents by class and age."""
    from ledger.adapters.cli.spans import read_span
    from ledger.application import expiring

    kinds = [name.strip() for one in classes or () for name in one.split(",")]
    asked = bool(kinds) or older_than is not None or run is not None
    _check(kinds, asked=asked, finish=finish, decided=(by, reason), dry_run=dry_run)
    span = None if older_than is None else read_span(older_than, option="--older-than")
    screen = call.screen
    opening = call.reading()
    with opening as opened, _watched(screen) as progress:
        if finish:
            found = expiring.finish(opened, dry_run=dry_run, progress=progress)
        else:
            found = expiring.expire(
                opened,
                by=by or "human:nobody",
                reason=reason or "asked only",
                classes=kinds,
                older_than=span,
                run=run,
                dry_run=dry_run,
                progress=progress,
            )
    if call.as_json:
        screen.document(_summary(found))
    else:
        _show(screen, found)


def _check(
    kinds: Sequence[str], *, asked: bool, finish: bool, decided: tuple[str | None, str | None], dry_run: bool
) -> None:
    """Refuse a command line that does not say what goes, or not who decided it."""
    from ledger.application.payloads import CLASSES
    from ledger.values.faults import no_such

    if finish:
        if asked or decided != (None, None):
            raise typer.BadParameter("--finish goes by what events say already: leave the other options out")
        return
    if not asked:
        raise typer.BadParameter("say what is to go: --class, --older-than or --run; or --finish")
    for name in kinds:
        if name not in CLASSES:
            raise typer.BadParameter(f"{name!r:.50}: {no_such('class', name, CLASSES)}", param_hint="--class")
    if not dry_run and None in decided:
        raise typer.BadParameter("say who decided it and why, --by and --reason, or only ask: --dry-run")


def _summary(found: Expiry) -> dict[str, Any]:
    from ledger.values import write_time

    return {
        "dry_run": found.dry_run,
        "cutoff": None if found.cutoff is None else write_time(found.cutoff),
        "classes": {name: one._asdict() for name, one in found.classes.items()},
        **found.total._asdict(),
        "events": found.events,
        "kept": found.kept,
        "kept_because": {"named_since": found.young, "other_runs": found.shared, "wanted": found.wanted},
        "left": {name: one._asdict() for name, one in found.left.items()},
    }


def _show(screen: Screen, found: Expiry) -> None:
    from ledger.adapters.cli.words import counted

    what = "would go" if found.dry_run else "dropped"
    total = found.total
    screen.line(f"{counted(total.contents, 'content')} {what}, {total.bytes:,} bytes{_kept_words(found)}")
    _show_classes(screen, found.classes)
    if found.events:
        screen.line(f"recorded: {counted(found.events, 'event')}, see intent-ledger log '$ledger'")
    if found.left:
        left = counted(sum(one.contents for one in found.left.values()), "content")
        screen.line(
            f"apart from that, {left} still here that events name as dropped: intent-ledger expire --finish"
        )
        _show_classes(screen, found.left)


def _kept_words(found: Expiry) -> str:
    """Say how many stay, and what keeps them."""
    from ledger.adapters.cli.words import when

    if not found.kept or found.cutoff is None:
        return ""
    reasons = [
        (found.young, f"named by a record of {when(found.cutoff)} or later"),
        (found.shared, "named by other runs, too"),
        (found.wanted, "stored to be kept for longer"),
    ]
    return f"; {found.kept:,} stay: " + ", ".join(f"{count:,} {why}" for count, why in reasons if count)


def _show_classes(screen: Screen, classes: Mapping[str, Tally]) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.words import quoted

    if classes:
        screen.table(
            [Column("CLASS"), Column("CONTENTS", right=True), Column("BYTES", right=True)],
            [(quoted(name), f"{one.contents:,}", f"{one.bytes:,}") for name, one in classes.items()],
            indent=2,
        )


@contextmanager
def _watched(screen: Screen) -> Iterator[Callable[[Progress], None] | None]:
    """Show how far it is, where somebody watches."""
    if screen.as_json or not screen.is_watched:
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("expiring") as status:
        yield lambda now: status.update(f"expiring: {now.looked:,} looked at, {now.dropped:,} dropped")
