"""`contract`: what is in force in a run, now or at an earlier moment."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from ledger.adapters.cli.verbs import Call, verb

HELP = """Show what is in force in a run, now or earlier.

That is its contract: the goal, the constraints with who asserted them and from which source, the plan, what
it owes, may do and waits for, and where it stands.

--at shows it as it stood at a position, or at a time with a zone. --prompt writes the words a resumed agent
must be told; control characters in stored texts appear escaped (exact text: --prompt --json).

\b
Examples:
  intent-ledger contract refund-17
  intent-ledger contract refund-17 --at 12
  intent-ledger contract refund-17 --at 2026-01-31T09:15:00Z
  intent-ledger contract refund-17 --prompt
"""


@verb()
def contract(
    call: Call,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.", show_default=False)],
    at: Annotated[
        str | None,
        typer.Option("--at", metavar="N|TIME", help="At this position or time.", show_default=False),
    ] = None,
    prompt: Annotated[bool, typer.Option("--prompt", help="Write it as words for a model.")] = False,
) -> None:
    """Show the contract of a run."""
    from ledger.adapters.cli.contract_view import contract_facts, show
    from ledger.adapters.cli.ways_out import telling
    from ledger.stores.stamps import system_clock

    asked = None if at is None else moment(at)
    screen = call.screen
    with call.looking() as opened:
        found = opened.contract(run, at=asked)
        opener = next(iter(opened.log(run, upto=1))).actor.id
    where = call.where
    # What only time changes (overdue, lapsed) is judged by the moment that was asked about.
    now = asked if isinstance(asked, datetime) else system_clock() if asked is None else found.at
    if prompt:
        text = found.to_prompt(now)
        if call.as_json:
            screen.document({"run": found.run, "position": found.position, "prompt": text})
        else:
            screen.text(text.removesuffix("\n"))
    elif call.as_json:
        screen.document(contract_facts(found))
    else:
        show(found, now, screen, opener=opener)
        if found.held is not None and found.closed is None and asked is None:
            screen.title("What clears that, and whether it may go on")
            screen.command(telling(run, where), indent=2)


def moment(at: str, option: str = "--at") -> int | datetime:
    """Read a position or a time, as an option takes it."""
    from ledger.values import utc

    if at.isdecimal() and at.isascii():
        return int(at)
    try:
        return utc(datetime.fromisoformat(at))
    except (ValueError, OverflowError):
        raise typer.BadParameter(
            f"{at!r} is neither a position nor a time with a zone, as in 2026-01-31T09:15:00Z",
            param_hint=option,
        ) from None
