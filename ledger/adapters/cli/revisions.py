"""`accept` and `acknowledge`: what a run makes of what its sources say now."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ledger.adapters.cli.saying import DeciderOption, RunArgument, say
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.application.ledger import Ledger
    from ledger.application.runs import Run
    from ledger.application.statements import Stated

HELP_ACCEPT = """Accept what a source says now instead of what it said.

ID is the constraint in the run. Text, rule and revision are those that its source publishes now; --change
says how they differ from what is in force. An id that is not in force is accepted anew, from --source.

\b
Examples:
  intent-ledger accept refund-17 limit-100 --by human:kim
  intent-ledger accept refund-17 limit-100 --change relaxed --by human:kim
  intent-ledger accept refund-17 tell --source policy:refunds \\
      --by human:kim --json
"""

HELP_ACKNOWLEDGE = """State that a source's new revision was read.

The run goes on under what it accepted before. --revision names the revision that was read; if the source has
moved on since, this is refused. What the source withdrew cannot be acknowledged away; what it reworded, by
people only.

\b
Examples:
  intent-ledger acknowledge refund-17 policy:refunds --revision 5 \\
      --by human:kim --reason "changes nothing for this order" --json
"""

SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", help="Its id, KIND:NAME.", show_default=False)
]


@verb(actor=True)
def accept(
    call: Call,
    run: RunArgument,
    id: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the constraint in the run.", show_default=False)
    ],
    by: DeciderOption,
    change: Annotated[
        Literal["reworded", "relaxed", "tightened"],
        typer.Option("--change", help="How it differs from what is in force."),
    ] = "reworded",
    source: Annotated[
        str | None,
        typer.Option(
            "--source",
            metavar="KIND:NAME",
            help="Where it is published; else where it came from before.",
            show_default=False,
        ),
    ] = None,
    asserted_by: Annotated[
        str | None,
        typer.Option(
            "--asserted-by",
            metavar="KIND:NAME",
            help="Who asserts it; else who did before.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Accept what a source says now."""

    def words(opened: Ledger, handle: Run) -> Stated:
        said = _published(opened, handle, id, source)
        old = said.pop("old")
        said["asserted_by"] = asserted_by or (by if old is None else old.asserted_by)
        return handle.accept(id, accepted_by=by, change=None if old is None else change, **said)

    say(call, run, words)


def _published(opened: Ledger, handle: Run, id: str, source: str | None) -> dict[str, Any]:
    """Find what the source of a constraint publishes under its id now."""
    from ledger.errors import NotFound
    from ledger.run.contract import by_id
    from ledger.values import Source

    old = by_id(handle.contract.constraints, id)
    pointer = None if old is None else old.source
    if source is not None:
        pointer = Source(*source.partition(":")[::2])
    if pointer is None:
        raise NotFound(
            f"nothing says where {id!r} comes from: name its source with --source KIND:NAME", id=id
        )
    state = opened.source(pointer.stream).state
    item = state.item(pointer.item or id)
    if item is None:
        published = f"{pointer.stream} does not publish {pointer.item or id!r} now"
        show = f"intent-ledger sources show {shlex.quote(pointer.stream)}"
        raise NotFound(f"{published}: {show}", source=pointer.stream)
    pointer = Source(pointer.kind, pointer.name, item=pointer.item, revision=state.revision)
    return {"old": old, "rule": item.rule, "source": pointer, "text": item.text}


@verb(actor=True)
def acknowledge(
    call: Call,
    run: RunArgument,
    source: SourceArgument,
    by: DeciderOption,
    revision: Annotated[
        str | None,
        typer.Option(
            "--revision", metavar="ID", help="The one that was read; else the present.", show_default=False
        ),
    ] = None,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why it stands.", show_default=False)
    ] = None,
) -> None:
    """Acknowledge a revision."""

    def words(opened: Ledger, handle: Run) -> Stated:
        from ledger.values import Source

        kind, _, name = source.partition(":")
        return handle.acknowledge(Source(kind, name, revision=revision), by=by, reason=reason)

    say(call, run, words)
