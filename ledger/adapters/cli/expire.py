"""`expire`: contents beside the records go, by class and age."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.options import ActorOption, JsonOption, LedgerOption, TenantOption

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.expiring import Expiry, Progress

HELP = """Drop contents by class and age; the records that name them stay, and an event says that they went.

A content is what is too large for a record, and every message: the record holds its digest. It is as old as
the newest record that names it, in whatever run. Before any goes, events in the stream of the ledger itself
name them, with who decided it and why (intent-ledger log '$ledger'); where one is read later, that is the
answer. Contracts, hashes and verify stay as they are, and an act whose result is gone is not done again.

Name at least one of --class, --older-than and --run. With --run only what no other run names goes. What was
cut short is finished by the next call. On PostgreSQL the owner of the ledger does this, no writer may.

\b
Exit codes: 0 done, 3 could not run, 4 not for agents.
Examples:
  intent-ledger expire --class message --older-than 90d --dry-run
  intent-ledger expire --older-than 90d --by human:kim --reason "kept 90 days"
  intent-ledger expire --run refund-17 --by human:kim --reason "on request"
"""


def expire(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would go, change nothing.")] = False,
    by: Annotated[
        str | None,
        typer.Option("--by", metavar="KIND:NAME", help="Who decided it.", show_default=False),
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)
    ] = None,
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    actor: ActorOption = None,
    as_json: JsonOption = False,
) -> None:
    """Drop contents by class and age."""
    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.cli.spans import read_span
    from ledger.application.expiring import expire as expired

    if not dry_run and (by is None or reason is None):
        raise typer.BadParameter("say who decided it and why, --by and --reason, or only ask: --dry-run")
    kinds = [name.strip() for one in classes or () for name in one.split(",")]
    if not kinds and older_than is None and run is None:
        raise typer.BadParameter("say what is to go: --class, --older-than or --run")
    span = None if older_than is None else read_span(older_than, option="--older-than")
    screen = Screen(as_json=as_json)
    opening = open_for_reading(settings_of(context, url=ledger, tenant=tenant, actor=actor))
    with opening as opened, _watched(screen) as progress:
        found = expired(
            opened,
            by=by or "human:nobody",
            reason=reason or "asked only",
            classes=kinds,
            older_than=span,
            run=run,
            dry_run=dry_run,
            progress=progress,
        )
    if as_json:
        screen.document(_summary(found))
    else:
        _show(screen, found)


def _summary(found: Expiry) -> dict[str, Any]:
    from ledger.values import write_time

    return {
        "dry_run": found.dry_run,
        "cutoff": write_time(found.cutoff),
        "classes": {name: one._asdict() for name, one in found.classes.items()},
        **found.total._asdict(),
        "events": found.events,
        "finished": found.finished,
        "kept": found.kept,
    }


def _show(screen: Screen, found: Expiry) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.words import counted, quoted, when

    what = "would go" if found.dry_run else "dropped"
    total = found.total
    screen.line(
        f"{counted(total.contents, 'content')} {what}, {total.bytes:,} bytes; "
        f"{found.kept:,} stay (named at or after {when(found.cutoff)}, or otherwise wanted)"
    )
    if found.classes:
        screen.table(
            [Column("CLASS"), Column("CONTENTS", right=True), Column("BYTES", right=True)],
            [(quoted(name), f"{one.contents:,}", f"{one.bytes:,}") for name, one in found.classes.items()],
            indent=2,
        )
    if found.finished:
        screen.line(f"{counted(found.finished, 'content')} of them were left by an expiry that was cut short")
    if found.events:
        screen.line(f"recorded: {counted(found.events, 'event')}, see intent-ledger log '$ledger'")


@contextmanager
def _watched(screen: Screen) -> Iterator[Callable[[Progress], None] | None]:
    """Show how far it is, where somebody watches."""
    if screen.as_json or not screen.is_watched:
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status("expiring") as status:
        yield lambda now: status.update(f"expiring: {now.looked:,} looked at, {now.dropped:,} dropped")
