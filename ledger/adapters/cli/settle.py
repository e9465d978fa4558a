"""`settle`: what a person found out about an act on the outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.options import (
    KeyArgument,
    RunOption,
)
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from datetime import datetime

    from ledger.adapters.cli.screen import Screen
    from ledger.application.settling import Unsettled
    from ledger.errors import NotForAgents

Came = Literal["disputed", "not_yet", "repeat", "settled"]
CODES = {
    "settled": Exit.FINE,
    "repeat": Exit.FINE,
    "not_yet": Exit.CANNOT_TELL,
    "disputed": Exit.BAD_NEWS,
}

HELP = """Record what a person found out about an act.

Look at the outside first: from then on the run goes on as you say. --happened takes what it came to, as JSON,
and what the outside calls it. --did-not lets the act be tried again; it counts once the worker's lease has
ended, and before that it is kept as evidence only: say it again then. Saying it twice is fine. Against what
is recorded already it opens a dispute, which further evidence, in other words, ends.

For people: an agent may not. KEY may be the beginning of a key, as `effect` takes it.

\b
Exit codes: 0 it counts, 1 it contradicts what was recorded, 2 it does not
count yet, 3 could not run, 4 not for agents.
Examples:
  intent-ledger settle 5a3c01d2 --happened --ref ch_1 --by human:kim \\
      --evidence "charge ch_1 is in the bank's list of 31 January"
  intent-ledger settle 5a3c01d2 --did-not --by human:kim \\
      --evidence "asked the shop by telephone: no such order"
"""


@verb(actor=True)
def settle(
    call: Call,
    key: KeyArgument,
    evidence: Annotated[
        str, typer.Option("--evidence", metavar="TEXT", help="What shows it.", show_default=False)
    ],
    by: Annotated[
        str, typer.Option("--by", metavar="human:NAME", help="Who found it out.", show_default=False)
    ],
    happened: Annotated[bool, typer.Option("--happened", help="The outside has done it.")] = False,
    did_not: Annotated[bool, typer.Option("--did-not", help="It has not, and it will not.")] = False,
    result: Annotated[
        str | None,
        typer.Option("--result", metavar="JSON", help="What it came to.", show_default=False),
    ] = None,
    ref: Annotated[
        str | None,
        typer.Option("--ref", metavar="TEXT", help="What the outside calls it.", show_default=False),
    ] = None,
    run: RunOption = None,
) -> None:
    """Settle an effect by hand."""
    from ledger.adapters.cli.effect import look_up
    from ledger.application.effect_listing import as_time_makes_it, lease_now
    from ledger.errors import NotForAgents

    if happened == did_not:
        raise typer.BadParameter("say either --happened or --did-not")
    if did_not and not (result is None and ref is None):
        raise typer.BadParameter("--result and --ref go with --happened")
    said: dict[str, Any] = {"result": _value(result), "external_ref": ref, "evidence": evidence, "by": by}
    screen = call.screen
    with call.reading() as opened:
        before = look_up(opened, key, run)
        try:
            known = opened.settle(before.effect.key, happened=happened, **said)
        except NotForAgents as error:
            raise _not_for(error) from None
        after = as_time_makes_it(opened, known)
        now = lease_now(opened)
    came = what_came_of_it(before, after, happened=happened)
    if call.as_json:
        from ledger.adapters.cli.effect_view import facts

        screen.document({"came_to": came, "effect": facts(after, now)})
    else:
        _show(screen, came, before, after, now)
    raise typer.Exit(CODES[came])


def _not_for(error: NotForAgents) -> NotForAgents:
    """Say it in the words of this command."""
    from ledger.errors import NotForAgents

    agent = (error.data.get("evidence") or {}).get("actor", "an agent")
    message = (
        f"only a person or a service settles an effect, not {agent}: "
        "say with --by who found it out, with --actor who writes"
    )
    return NotForAgents(message, **error.data)


def _value(result: str | None) -> Any:
    """Read a JSON value.

    Raises:
        InvalidInput: it is none.
    """
    from ledger.canonical import load_text

    return None if result is None else load_text(result, path="--result")


def what_came_of_it(before: Unsettled, after: Unsettled, *, happened: bool) -> Came:
    """Tell what a person's word came to: before it was said, and after."""
    if not after.effect.is_settled:
        return "disputed" if after.status == "disputed" else "not_yet"
    if (after.effect.status == "succeeded") != happened:
        return "disputed"
    return "repeat" if before.effect.is_settled else "settled"


def _show(screen: Screen, came: Came, before: Unsettled, after: Unsettled, now: datetime) -> None:
    from ledger.adapters.cli.effect_view import named, show_one

    name = named(after.effect)
    if came == "settled":
        screen.line(f"Settled: {name}", style="bold")
    elif came == "repeat":
        screen.line(f"Nothing new: {name} was settled so already", style="bold")
    elif came == "disputed":
        screen.entry(_disputed(name, before), style="bold")
    else:
        screen.entry(f"RECORDED, AND DOES NOT COUNT YET: {name}: {_not_yet(after, now)}", style="bold")
    show_one(screen, after, now)


def _disputed(name: str, before: Unsettled) -> str:
    from ledger.adapters.cli.words import quoted, when

    old = before.effect
    if old.status == "disputed":
        return f"STILL DISPUTED: {name}: that was said already; further evidence, in other words, ends it"
    place = f"{when(old.at)}, position {old.position} of {quoted(old.run)}"
    return (
        f"DISPUTED: {name} was recorded as {old.status} ({place}), and you say otherwise. Both are kept. "
        "What ends it is further evidence: settle it once more, in other words than these."
    )


def _not_yet(after: Unsettled, now: datetime) -> str:
    from ledger.adapters.cli.words import quoted, when

    until = after.lease_until
    if until is None or until <= now:
        return "its worker's lease has ended meanwhile: say it again"
    worker = quoted(after.effect.worker or "a worker")
    return f"{worker} may still be at it until {when(until)}: say it again then"
