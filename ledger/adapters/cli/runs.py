"""`runs`: which runs there are."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.options import KeptOption
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from datetime import datetime

    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.application.listing import Listing, Unread
    from ledger.application.query import Page
    from projections.views import Listed, View

HELP = """List runs: their status, what they owe, their goal.

Every filter that is given must match. Runs come by id, a page at a time; the next page begins --after the
last id of this one (with --json: `next`). A run whose record is not what was written is named, whatever was
asked for, and the others are listed; the exit code is then 1. Sources are no runs: `sources list` names them.
REVIEW says what was thought of a run last, and how many events came since (`review`).

--held lists what the gate holds, with its verdict, how long, and for how many reasons (`resume RUN` tells
them with their ways out); --quiet-for what is open and of whose program nothing was heard for so long, as
when it died. Both come oldest first, at most --limit of them. A SPAN is 90s, 15m, 2h, 3d, 1w. What a run that
was restarted owed, its successor owes.

That takes reading every run. With --kept the read model `runs` is kept instead, and first catches up with all
that is stored; then only runs that match are read. One that was altered since and does not match is not named
then (`verify --all` looks at all).

\b
Examples:
  intent-ledger runs
  intent-ledger runs --status suspended --label team=refunds
  intent-ledger runs --held --verdict reapprove --older-than 2h
  intent-ledger runs --quiet-for 15m --kept --json
"""

VerdictName = Literal["replan", "reconcile", "reapprove", "restart", "refuse"]


@verb()
def runs(  # noqa: PLR0913, PLR0917 - each is an option of the command
    call: Call,
    status: Annotated[
        str | None,
        typer.Option(
            "--status", metavar="STATUS", help="open, suspended, held or closed.", show_default=False
        ),
    ] = None,
    held: Annotated[bool, typer.Option("--held", help="What the gate holds, longest first.")] = False,
    verdict: Annotated[
        VerdictName | None,
        typer.Option("--verdict", help="Held with this verdict.", show_default=False),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="SPAN", help="Held for so long.", show_default=False),
    ] = None,
    quiet_for: Annotated[
        str | None,
        typer.Option("--quiet-for", metavar="SPAN", help="Open, without a sign of life.", show_default=False),
    ] = None,
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
    kept: KeptOption = False,
) -> None:
    """List runs."""
    from ledger.adapters.cli.view_rows import among_of, show_as_of
    from ledger.application.listing import list_runs

    query: dict[str, Any] = {
        "owner": owner,
        "thread": thread,
        "labels": _labels(label or []) or None,
        "prefix": prefix or "",
        "limit": limit,
    }
    of_the_held = held or verdict is not None or older_than is not None
    order = _order(status, after, of_the_held=of_the_held, quiet=quiet_for is not None)
    screen = call.screen
    with call.looking(writes=kept) as opened:
        now = _now(opened)
        if order is None:
            query |= {"status": status, "after": after}
        else:
            query["status"] = "held" if of_the_held else "open"
            query["verdict"] = verdict
            query["held_before"] = _ago(older_than, now, "--older-than")
            query["alive_before"] = _ago(quiet_for, now, "--quiet-for")
        found = _kept(opened, query, screen) if kept else None
        among = None if found is None else among_of(found)
        if order is None:
            listed, left_out = list_runs(opened, among=among, **query), 0
        else:
            listed, left_out = _oldest_first(opened, query, order, among)
    page, unread = listed
    if call.as_json:
        screen.document(_document(listed, found, None if order is None else left_out))
    else:
        filtered = order is not None or any(value for key, value in query.items() if key != "limit")
        _show(screen, page, unread, now, filtered=filtered, order=order)
        if left_out:
            screen.note(f"{left_out:,} more: --limit {left_out + limit}")
        if found is not None:
            show_as_of(screen, found)
    if unread:
        raise typer.Exit(exit_of(unread))


def _kept(opened: Ledger, query: dict[str, Any], screen: Screen) -> View[Listed]:
    """Find runs that match by the read model, whatever their labels."""
    from ledger.adapters.cli.catching_up import bar
    from ledger.application.query import RunQuery
    from projections import views

    asked = RunQuery(**query)
    fields = ("status", "owner", "thread", "held_before", "alive_before")
    verdict = None if asked.verdict is None else asked.verdict.value
    with bar(screen) as progress:
        return views.runs(
            opened, verdict=verdict, progress=progress, **{name: getattr(asked, name) for name in fields}
        )


def _document(listed: Listing, found: View[Listed] | None, left_out: int | None) -> dict[str, Any]:
    page, unread = listed
    document: dict[str, Any] = {
        "runs": [run.model_dump(mode="json", exclude_none=True) for run in page.runs],
        "unread": [fault(one) for one in unread],
        "next": page.next,
    }
    if left_out is not None:
        document["left_out"] = left_out
    if found is not None:
        document["as_of"] = str(found.as_of)
    return document


Order = Literal["alive_at", "held_at"]


def _order(status: str | None, after: str | None, *, of_the_held: bool, quiet: bool) -> Order | None:
    """Return by which moment runs are sorted; None: by id, a page at a time."""
    if not of_the_held and not quiet:
        return None
    if of_the_held and quiet:
        raise typer.BadParameter("--quiet-for is about open runs, --held about those that are held")
    only = "held" if of_the_held else "open"
    named = "--held" if of_the_held else "--quiet-for"
    if status not in {None, only}:
        raise typer.BadParameter(f"{named} and --status {status} exclude each other")
    if after is not None:
        raise typer.BadParameter(f"{named} lists the oldest first, so --after an id says nothing")
    return "held_at" if of_the_held else "alive_at"


def _now(opened: Ledger) -> datetime:
    from ledger.application.ledger import edge_of

    return edge_of(opened).now()


def _ago(span: str | None, now: datetime, option: str) -> datetime | None:
    from ledger.adapters.cli.spans import read_span

    if span is None:
        return None
    try:
        return now - read_span(span, option=option)
    except OverflowError:
        raise typer.BadParameter(f"{span!r} is longer ago than any calendar", param_hint=option) from None


def _oldest_first(
    opened: Ledger, query: dict[str, Any], order: Order, among: Sequence[str] | None
) -> tuple[Listing, int]:
    """List all that match, cut to the limit, and tell how many are left out."""
    from ledger.application.listing import Listing, list_all_runs
    from ledger.application.query import Page, RunQuery

    limit = RunQuery(**query).limit
    fields = {key: query[key] for key in query if key != "limit"}
    page, unread = list_all_runs(opened, among=among, **fields)
    found = sorted(page.runs, key=lambda run: (getattr(run, order), run.run))
    return Listing(Page(tuple(found[:limit]), None), unread), max(0, len(found) - limit)


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


def _show(
    screen: Screen,
    page: Page,
    unread: Sequence[Unread],
    now: datetime,
    *,
    filtered: bool,
    order: Order | None,
) -> None:
    from ledger.adapters.cli.runs_view import table

    show_unread(screen, unread)
    if not page.runs and not unread:
        screen.note("no run matches" if filtered else "this tenant has no runs yet")
        if order == "held_at":
            screen.note(
                "what is at work, or was until it died, is not held: intent-ledger runs --quiet-for 15m"
            )
        return
    if page.runs:
        table(screen, page.runs, now, order)
    if page.next is not None:
        screen.note(f"more: intent-ledger runs --after {shlex.quote(page.next)} (with the same filters)")
