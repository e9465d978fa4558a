"""`log`: the events of a run, one after another."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.record import Record

HELP = """Show what happened in a run, and who wrote it.

The name on the first line is who wrote the event; "by" and "asserted by" below it are who is said to have
done it. Each record is checked against its hash and the one before it. With --source RUN is the id of a
source, and its stream is shown; '$ledger' is the stream of the ledger itself: which runs could not be read,
which contents were dropped.

--only and --but choose events by name, or by what it begins with up to a dot; each may be given several
times. A conversation whose states are saved here is told without them by --but state.

With --json: JSON Lines, one record a line, with its hash and its global position (a string).

\b
Examples:
  intent-ledger log refund-17
  intent-ledger log refund-17 --after 100 --limit 20
  intent-ledger log 'order-17#1' --but state
  intent-ledger log --source policy:refunds
  intent-ledger log refund-17 --json | jq 'select(.name == "goal.revised")'
"""

_PAGE = 100
OWN = "$ledger"
"""How the tenant's own stream is named here."""


@verb(json=Annotated[bool, typer.Option("--json", help="Write JSON Lines, one record a line.")])
def log(
    call: Call,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.", show_default=False)],
    source: Annotated[bool, typer.Option("--source", help="RUN is the id of a source, kind:name.")] = False,
    after: Annotated[int, typer.Option("--after", metavar="N", min=0, help="Begin after this position.")] = 0,
    upto: Annotated[
        int | None,
        typer.Option("--upto", metavar="N", min=1, help="End with this position.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="Most events to show.", show_default=False),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Only events of this name or kind.", show_default=False),
    ] = None,
    but: Annotated[
        list[str] | None,
        typer.Option("--but", metavar="NAME", help="No events of this name or kind.", show_default=False),
    ] = None,
) -> None:
    """Show the events of a run or a source."""
    wanted = _wanted(only or (), but or ())
    screen = call.screen
    with call.looking() as opened:
        if run == OWN and not source:
            records = _upto(own_records(opened, after), upto)
        elif source:
            records = _upto(opened.log_source(run, after=after), upto)
        else:
            most = None if only or but else limit
            records = opened.log(run, after=after, upto=upto, limit=most)
        records = islice(filter(wanted, records), limit)
        if call.as_json:
            for record in records:
                screen.record(as_json_object(record))
            return
        shown = False
        while page := list(islice(records, _PAGE)):
            contents = contents_of(opened, page)
            for record in page:
                _show(screen, record, contents)
            shown = True
        if not shown:
            screen.note("no event in this range")


def own_records(opened: Ledger, after: int) -> Iterator[Record]:
    """Yield what the ledger had to say where it could not be said in a run."""
    from ledger.application.ledger import edge_of
    from ledger.application.own_stream import STREAM
    from ledger.application.reading import records_of

    return records_of(edge_of(opened), STREAM, after=after)


def _wanted(only: Sequence[str], but: Sequence[str]) -> Callable[[Record], bool]:
    """Tell which events are asked for, each by its name or by the parts that it begins with."""
    from ledger.events import EVENT_CLASSES

    names = [kind.name for kind in EVENT_CLASSES]
    for option, given in (("--only", only), ("--but", but)):
        for one in given:
            if not any(_is(name, one) for name in names):
                kinds = ", ".join(sorted({name.partition(".")[0] for name in names}))
                raise typer.BadParameter(
                    f"no event is named {one!r}; give a name, e.g. state.saved, or a kind: {kinds}",
                    param_hint=option,
                )

    def wanted(record: Record) -> bool:
        named = [one for one in only if _is(record.name, one)]
        return bool(named or not only) and not any(_is(record.name, one) for one in but)

    return wanted


def _is(name: str, asked: str) -> bool:
    return name == asked or name.startswith(f"{asked}.")


def _upto(records: Iterator[Record], upto: int | None) -> Iterator[Record]:
    for record in records:
        if upto is not None and record.position > upto:
            return
        yield record


def as_json_object(record: Record) -> dict[str, Any]:
    """Give a record as a JSON object, with its hash and its place in the ledger."""
    from ledger.codec import reencode

    fields: dict[str, Any] = json.loads(reencode(record).record)
    return {**fields, "hash": record.hash.hex(), "global_position": str(record.global_position)}


def contents_of(opened: Ledger, page: list[Record]) -> dict[str, Any]:
    """Read what the events of a page name by digest; an `ExpiredContent` where it was dropped on purpose."""
    from ledger.application.expired import expired
    from ledger.application.ledger import edge_of
    from ledger.values import Payload

    named = (getattr(record.event, field) for record in page for field in type(record.event).model_fields)
    digests = {value.digest for value in named if isinstance(value, Payload) and value.digest}
    wanted = set(map(bytes.fromhex, digests))
    found = opened.store.blobs(opened.tenant, wanted)
    contents: dict[str, Any] = {digest.hex(): _content(content) for digest, content in found.items()}
    for digest, one in expired(edge_of(opened), wanted - found.keys()).items():
        contents[digest.hex()] = one
    return contents


def _content(content: bytes) -> Any:
    """Read a content as JSON, and what is none as text."""
    text = content.decode("utf-8", "backslashreplace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _show(screen: Screen, record: Record, contents: dict[str, Any]) -> None:
    from ledger.adapters.cli.words import event_words, quoted, when

    words = event_words(record.event, contents, brief=screen.is_terminal)
    actor = quoted(record.actor.id)
    if record.actor.authenticated_by is not None:
        actor += f" (by {quoted(record.actor.authenticated_by)})"
    if not screen.is_terminal:
        screen.line(f"{record.position:>5}  {when(record.at)}  {record.name}  {actor}  {words.line}")
        return
    screen.line(f"{record.position:>5}  {when(record.at)}  {record.name}  {actor}", style="bold")
    for part in (words.headline, words.rest):
        if part:
            screen.entry(part, indent=7, hang=2)
    for reason in words.reasons:
        screen.entry(reason, indent=7, hang=3)
