"""`effects`: what a ledger's runs did to the outside, and what nobody knows of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.options import KeptOption
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from datetime import datetime

    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.application.listing import Unread
    from ledger.application.settling import Unsettled
    from projections.views import Listed, View

HELP = """List acts on the outside whose outcome is open.

Oldest first, with what is known of each and how one would find out; in RUN, or in all runs. `executing` means
that a worker holds its lease; once that has ended nobody knows whether it happened, and it is `unknown`.
`disputed`: reports contradict each other. What waits for a person was not sent to anybody; in JSON it is
`pending`, with its `approval`; once its run has ended it was never begun. --unknown leaves out what is still
executing or pending.

--all lists what RUN has settled, too, where it was intended first, a page at a time; the next page begins
--after the position that this one names (with --json: `next`).

Without RUN every run is read. With --kept the read model `runs` is kept instead, and first catches up with
all that is stored; then only runs with open acts are read. Another that was altered since is not named then.

At a terminal a key is cut to what tells it apart; `effect`, `settle` take that, too. A run that cannot be
read is named and the others are listed; the exit code is then 1, or 3 where it is newer than this program.

\b
Examples:
  intent-ledger effects
  intent-ledger effects --unknown --json
  intent-ledger effects refund-17 --all --limit 1000
"""


@verb()
def effects(
    call: Call,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Id of one run.", show_default=False)
    ] = None,
    unknown: Annotated[bool, typer.Option("--unknown", help="Only unknown and disputed ones.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Settled ones of RUN, too.")] = False,
    after: Annotated[
        int | None,
        typer.Option(
            "--after",
            metavar="N",
            min=0,
            help="With --all: begin after this position.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            metavar="N",
            min=1,
            max=10_000,
            help="With --all: most to list; else 100.",
            show_default=False,
        ),
    ] = None,
    kept: KeptOption = False,
) -> None:
    """List effects."""
    from ledger.adapters.cli.opening import note_unknown_tenant
    from ledger.adapters.cli.view_rows import among_of, show_as_of
    from ledger.application.effect_listing import lease_now, list_all, list_unsettled

    if everything and (run is None or unknown):
        raise typer.BadParameter("--all lists every effect of one run: name it, without --unknown")
    if not everything and (after is not None or limit is not None):
        raise typer.BadParameter("--after and --limit go with --all")
    if kept and run is not None:
        raise typer.BadParameter("--kept finds runs: name none")
    screen = call.screen
    found: Sequence[Unsettled]
    following: int | None = None
    unread: Sequence[Unread] = ()
    view: View[Listed] | None = None
    with call.looking(writes=kept) as opened:
        note_unknown_tenant(opened, screen)
        if everything:
            assert run is not None
            found, following = list_all(opened, run, after=after or 0, limit=limit or 100)
        else:
            view = _kept(opened, screen) if kept else None
            among = None if view is None else among_of(view)
            found, unread = list_unsettled(opened, run, unknown=unknown, among=among)
        now = lease_now(opened)
    if call.as_json:
        document = _document(found, now, unread, following)
        screen.document(document if view is None else {**document, "as_of": str(view.as_of)})
    else:
        _show(screen, found, now, unread)
        if view is not None:
            show_as_of(screen, view)
        if following is not None:
            more = f"intent-ledger effects {shlex.quote(str(run))} --all --after {following}"
            screen.note(f"more: {more}" + ("" if limit is None else f" --limit {limit}"))
    if unread:
        from ledger.adapters.cli.runs import exit_of

        raise typer.Exit(exit_of(unread))


def _kept(opened: Ledger, screen: Screen) -> View[Listed]:
    """Find the runs with open acts by the read model."""
    from ledger.adapters.cli.catching_up import bar
    from projections import views

    with bar(screen) as progress:
        return views.runs(opened, unsettled=True, progress=progress)


def _document(
    found: Iterable[Unsettled], now: datetime, unread: Iterable[Unread], following: int | None
) -> dict[str, Any]:
    from ledger.adapters.cli.effect_view import facts
    from ledger.adapters.cli.runs import fault

    return {
        "effects": [facts(one, now) for one in found],
        "unread": [fault(one) for one in unread],
        "next": following,
    }


def _show(screen: Screen, found: Sequence[Unsettled], now: datetime, unread: Sequence[Unread]) -> None:
    from ledger.adapters.cli.effect_view import show_list
    from ledger.adapters.cli.runs import show_unread

    show_unread(screen, unread)
    if found:
        show_list(screen, found, now)
    elif not unread:
        screen.note("no effect matches: nothing is open")
        return
    if any(one.waits and not one.ended for one in found):
        screen.note("what waits for a person, and how that is answered: intent-ledger approvals")
    if any(one.status in ("unknown", "disputed", "pending") and not one.waits for one in found):
        screen.note(
            "ask the outside: intent-ledger reconcile --tools MODULE; by hand: intent-ledger settle KEY"
        )
