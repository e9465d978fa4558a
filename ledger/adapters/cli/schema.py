"""`schema`: the events and commands as JSON Schema."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from ledger.adapters.cli.options import JsonOption

HELP = """Print the vocabulary as JSON Schema.

Says of every event, or command, which fields it has and what they mean, for programs in other languages and
for whoever wants to know what a ledger can hold. It needs no ledger. Without WHICH both are printed, as
{"events": ..., "commands": ...}. It is one JSON document either way; --json writes it on one line.

\b
Examples:
  intent-ledger schema events
  intent-ledger schema commands | jq '.oneOf[].title'
"""


class Which(StrEnum):
    """One of the two closed unions."""

    EVENTS = "events"
    COMMANDS = "commands"


def schema(
    which: Annotated[
        Which | None, typer.Argument(metavar="WHICH", help="events or commands.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Print the vocabulary as JSON Schema."""
    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.schemas import command_schemas, event_schemas

    makers = {Which.EVENTS: event_schemas, Which.COMMANDS: command_schemas}
    document = {str(name): make() for name, make in makers.items()} if which is None else makers[which]()
    Screen(as_json=as_json).document(document, pretty=not as_json)
