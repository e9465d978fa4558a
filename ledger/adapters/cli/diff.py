"""`diff`: what changed in a run between two moments, or what differs between two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.run.diff import Diff, Difference, Origin, Side

HELP = """Show what differs between a run earlier and later, or between two runs.

Goal, plan, constraints and all else that is in force are compared by their ids, steps by name: where and when
something was said is no difference. Within one run each difference names the event that made it, also of what
is gone.

Without OTHER the run as it was opened is compared with the run now; --at and --to say otherwise. With OTHER,
e.g. a successor, --at is a position or time of RUN and --to one of OTHER, now if they are left out.

The exit code is 0 whether they differ or not; with --exit-code it is 1 where they do.

\b
Examples:
  intent-ledger diff refund-17
  intent-ledger diff refund-17 --at 4 --to 12
  intent-ledger diff refund-17 --at 2026-01-31T09:15:00Z
  intent-ledger diff refund-17 refund-17-again
"""


@verb()
def diff(
    call: Call,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.", show_default=False)],
    other: Annotated[
        str | None,
        typer.Argument(metavar="OTHER", help="Id of the run to compare it with.", show_default=False),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="N|TIME", help="From this position or time.", show_default=False),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="N|TIME", help="To this position or time.", show_default=False),
    ] = None,
    exit_code: Annotated[bool, typer.Option("--exit-code", help="End with 1 where they differ.")] = False,
) -> int:
    """Show what differs between two contracts."""
    from ledger.adapters.cli.contract import moment

    screen = call.screen
    begin = None if at is None else moment(at, "--at")
    end = None if to is None else moment(to, "--to")
    with call.looking() as opened:
        found = opened.diff(run, other, at=begin, to=end)
    if call.as_json:
        document = found.model_dump(mode="json", exclude_defaults=True)
        screen.document({"same_terms": found.same_terms, **document})
    else:
        _show(found, screen)
    return Exit.BAD_NEWS if exit_code and found.differences else Exit.FINE


def _show(found: Diff, screen: Screen) -> None:
    from itertools import groupby

    screen.line(f"From {_side(found.old, screen)}", style="bold")
    screen.line(f"To   {_side(found.new, screen)}", style="bold")
    screen.line(f"The terms {'are the same' if found.same_terms else 'DIFFER'}.")
    if not found.differences:
        screen.line("Nothing differs.")
    for what, some in groupby(found.differences, lambda one: one.what):
        screen.title(_TITLES[what])
        for one in some:
            _entry(one, screen)


_TITLES = {
    "approval": "Approvals",
    "assumption": "Taken for granted",
    "authority_needed": "Whether each act needs authority",
    "constraint": "Constraints",
    "cursor": "Where the program stands",
    "effect": "Effects whose outcome is open",
    "goal": "Goal",
    "grant": "Authority",
    "incarnation": "Incarnation",
    "label": "Labels",
    "limit": "Limits",
    "obligation": "Owed",
    "observation": "Latest observations",
    "owner": "Owner",
    "runtime": "Runtime",
    "source": "Sources, as far as the run followed them",
    "status": "Status",
    "step": "Plan",
    "thread": "Thread",
}


def _side(side: Side, screen: Screen) -> str:
    from ledger.adapters.cli.words import quoted, when

    digest = side.terms.digest[:15] + ".." if screen.is_terminal else side.terms.digest
    return (
        f"run {quoted(side.run)} at position {side.position}: {side.status}, {when(side.at)}, terms {digest}"
    )


def _entry(one: Difference, screen: Screen) -> None:
    """Write what it was above what it is, field by field, with long texts whole."""
    from ledger.adapters.cli.words import quoted, shortened

    name = "" if one.id is None else quoted(shortened(one.id, screen.is_terminal))
    nth = f" (number {one.nth} of this name)" if one.nth > 1 else ""
    screen.entry(f"{one.change} {name}{nth}".rstrip(), indent=2, hang=2)
    if isinstance(one.old, dict | None) and isinstance(one.new, dict | None):
        old, new = one.old or {}, one.new or {}
        for field in one.fields:
            for mark, side in (("-", old), ("+", new)):
                if field in side:
                    _line(f"{mark} {field.replace('_', ' ')}: ", side[field], screen)
    else:
        for mark, value in (("-", one.old), ("+", one.new)):
            if value is not None:
                _line(f"{mark} ", value, screen)
    if one.origin is not None:
        screen.entry(_origin(one.origin), indent=4, hang=2, style="dim")


def _line(lead: str, value: object, screen: Screen) -> None:
    from ledger.adapters.cli.words import value_words

    # A text of several lines keeps them, as in `contract`; anything else is one line.
    words = (
        value
        if isinstance(value, str) and "\n" in value
        else value_words(value, brief_time=screen.is_terminal)
    )
    screen.quote(f"{lead}{words}", indent=4)


def _origin(origin: Origin) -> str:
    from ledger.adapters.cli.words import quoted, when

    parts = [
        words
        for words in (
            f"by {quoted(origin.by)}" if origin.by is not None else "",
            f"written by {quoted(origin.actor or '')}" if origin.actor not in (None, origin.by) else "",
            when(origin.at) if origin.at is not None else "",
            f"position {origin.position}" if origin.position is not None else "",
        )
        if words
    ]
    event = f"{origin.event} " if origin.event is not None else ""
    why = f": {origin.reason}" if origin.reason is not None else ""
    return f"{event}{', '.join(parts)}{why}"
