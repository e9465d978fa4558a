"""`sources withdraw`: a constraint that its source no longer says."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.application.ledger import Ledger
    from ledger.application.statements import Stated

HELP = """Withdraw one constraint at its source.

It is one event. From then on no run accepts it, no act is begun that relies on it, and a run that holds it is
not resumed but restarted without it. `sources affected` lists those runs. Saying it twice is fine. For people
and services: an agent may not, and where the source has owners, only they.

\b
Example:
  intent-ledger sources withdraw policy:refunds limit-100 --by human:kim \\
      --reason "replaced by limit-50"
"""


@verb(actor=True)
def withdraw(
    call: Call,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Its id, KIND:NAME.", show_default=False)],
    id: Annotated[
        str, typer.Argument(metavar="ID", help="Of the constraint, as the source has it.", show_default=False)
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)],
    by: Annotated[str, typer.Option("--by", metavar="KIND:NAME", help="Who decided it.", show_default=False)],
) -> None:
    """Withdraw a constraint at its source."""
    from ledger.adapters.cli.words import quoted
    from ledger.application.source_listing import find_source

    screen = call.screen
    with call.reading() as opened:
        item = find_source(opened, source).item(id)
        stated = _withdraw(opened, source, id, reason, by)
    came = "repeat" if stated.repeated else "withdrawn"
    if call.as_json:
        screen.document({"came_to": came, "source": source, "id": id, "position": stated.position})
        return
    if stated.repeated:
        screen.line(f"Nothing new: {quoted(source)} withdrew {quoted(id)} so already", style="bold")
    else:
        words = "" if item is None else f": {quoted(item.text)}"
        screen.entry(f"Withdrawn from {quoted(source)}: {quoted(id)}{words}", hang=2, style="bold")
    screen.note(f"who relies on it: intent-ledger sources affected {shlex.quote(source)} {shlex.quote(id)}")


def _withdraw(opened: Ledger, source: str, id: str, reason: str, by: str) -> Stated:
    from ledger.adapters.cli.sources_view import refused
    from ledger.errors import NotOpen, Refused

    try:
        return opened.source(source).withdraw(id, reason=reason, by=by)
    except NotOpen as error:
        message = f"{source} does not say {id!r}: see intent-ledger sources show {shlex.quote(source)}"
        raise NotOpen(message, **error.data) from None
    except Refused as error:
        raise refused(error) from None
