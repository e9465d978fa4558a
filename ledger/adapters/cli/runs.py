"""`runs`: which runs there are."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.options import JsonOption, LedgerOption, TenantOption

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.listing import Unread
    from ledger.application.query import Page, RunSummary

HELP = """List runs: their status, what they owe, their goal.

Every filter that is given must match. Runs come by id, a page at a time; the next page begins --after the
last id of this one (with --json: `next`). A run whose record is not what was written is named, whatever was
asked for, and the others are listed; the exit code is then 1. Sources are no runs: `import` names those it
publishes, `contract RUN` those a run accepted something from.

\b
Examples:
  intent-ledger runs
  intent-ledger runs --status suspended --label team=refunds
  intent-ledger runs --prefix airline- --json
"""


def runs(  # noqa: PLR0913, PLR0917 - each is an option of the command
    context: typer.Context,
    status: Annotated[
        str | None,
        typer.Option(
            "--status", metavar="STATUS", help="open, suspended, held or closed.", show_default=False
        ),
    ] = None,
    held: Annotated[bool, typer.Option("--held", help="Same as --status held.")] = False,
    owner: Annotated[
        str | None,
        typer.Option("--owner", metavar="KIND:NAME", help="Runs of this owner.", show_default=False),
    ] = None,
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", help="Runs of this thread.", show_default=False)
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label", metavar="KEY=VALUE", help="Runs with this label; repeatable.", show_default=False
        ),
    ] = None,
    prefix: Annotated[
        str | None, typer.Option("--prefix", metavar="TEXT", help="Ids that begin so.", show_default=False)
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="ID", help="Ids after this one.", show_default=False)
    ] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="Most runs to list.")] = 100,
    ledger: LedgerOption = None,
    tenant: TenantOption = None,
    as_json: JsonOption = False,
) -> None:
    """List runs."""
    from ledger.adapters.cli.opening import open_for_reading, settings_of
    from ledger.adapters.cli.screen import Screen
    from ledger.application.listing import list_runs

    if held and status not in {None, "held"}:
        raise typer.BadParameter(f"--held and --status {status} exclude each other")
    query: dict[str, Any] = {
        "status": "held" if held else status,
        "owner": owner,
        "thread": thread,
        "labels": _labels(label or []) or None,
        "prefix": prefix or "",
        "after": after,
        "limit": limit,
    }
    screen = Screen(as_json=as_json)
    with open_for_reading(settings_of(context, url=ledger, tenant=tenant)) as opened:
        page, unread = list_runs(opened, **query)
    if as_json:
        found = [run.model_dump(mode="json", exclude_none=True) for run in page.runs]
        screen.document({"runs": found, "unread": [fault(one) for one in unread], "next": page.next})
    else:
        filtered = any(value for key, value in query.items() if key != "limit")
        _show(screen, page, unread, filtered=filtered)
    if unread:
        raise typer.Exit(exit_of(unread))


def exit_of(unread: Iterable[Unread]) -> Exit:
    """Choose the exit code: altered is bad news, of a newer program only could not be read."""
    return Exit.BAD_NEWS if any(one.altered for one in unread) else Exit.COULD_NOT_RUN


def fault(one: Unread) -> dict[str, Any]:
    """Give a run that could not be read as a JSON object."""
    return {
        "run": one.run,
        "standing": "altered" if one.altered else "unsupported",
        "code": one.error.code,
        "message": str(one.error),
    }


def _labels(pairs: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise typer.BadParameter(f"{pair!r} is not KEY=VALUE", param_hint="--label")
        if found.setdefault(key, value) != value:
            raise typer.BadParameter(f"{key} is asked for with two values", param_hint="--label")
    return found


def show_unread(screen: Screen, unread: Iterable[Unread]) -> None:
    """Name the runs that could not be read, and why."""
    from ledger.adapters.cli.words import quoted

    for one in unread:
        status = "ALTERED" if one.altered else "NEWER THAN THIS PROGRAM"
        screen.entry(f"{quoted(one.run)}: {status}: {one.error}", hang=2)


def _show(screen: Screen, page: Page, unread: Sequence[Unread], *, filtered: bool) -> None:
    show_unread(screen, unread)
    if not page.runs and not unread:
        screen.note("no run matches" if filtered else "this tenant has no runs yet")
        return
    if screen.narrow:
        for run in page.runs:
            _entry(screen, run)
    elif page.runs:
        _table(screen, page.runs)
    if page.next is not None:
        screen.note(f"more: intent-ledger runs --after {shlex.quote(page.next)} (with the same filters)")


def _entry(screen: Screen, run: RunSummary) -> None:
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.words import counted, quoted, when

    parts = [run.status, counted(run.position, "event"), f"last {when(run.at)}"]
    if run.obligations:
        parts.append(f"{run.obligations:,} owed")
    if run.unsettled:
        parts.append(f"{run.unsettled:,} unsettled")
    screen.entry(quoted(run.run), style="bold")
    screen.entry(", ".join(parts), indent=2, hang=2)
    screen.entry(one_line(run.goal, most=150), indent=2, hang=2, style="dim")


def _table(screen: Screen, runs: Iterable[RunSummary]) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.visible import one_line
    from ledger.adapters.cli.words import quoted, when

    screen.table(
        [
            Column("RUN"),
            Column("STATUS"),
            Column("EVENTS", right=True),
            Column("LAST EVENT"),
            Column("OWED", right=True),
            Column("UNSETTLED", right=True),
            Column("GOAL"),
        ],
        [
            (
                quoted(run.run),
                run.status,
                str(run.position),
                when(run.at),
                str(run.obligations or "-"),
                str(run.unsettled or "-"),
                one_line(run.goal, most=120),
            )
            for run in runs
        ],
    )
