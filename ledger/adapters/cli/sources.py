"""`sources`: what people publish, and which runs rely on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli import sources_affected, sources_publish, sources_withdraw
from ledger.adapters.cli.verbs import Call, group_of, verb

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.source_listing import Line, SourceListing
    from ledger.run.sources import SourceState

ABOUT = """Publish and withdraw constraints; see who uses them.

A source is what a constraint comes from, KIND:NAME: policy:refunds, contract:acme. What it says is published
a revision at a time; a withdrawal is one event, which every run that relies on it meets at its next act or
when it is resumed. Each command takes --json.

\b
Examples:
  intent-ledger sources publish policy.md --source policy:refunds --dry-run
  intent-ledger sources list --json
"""

HELP_LIST = """List sources, and how many runs follow them.

ENFORCED counts the items with a rule that a machine holds acts to; the others are words for model and
reviewer. RUNS counts those that hold a constraint from the source and have not ended. It loads the contract
of every run. A run that cannot be read is named and not counted; the exit code is then 1, or 3 where it is
newer than this program. A source in which nothing was published (revision -) is one that a run named.

\b
Examples:
  intent-ledger sources list
  intent-ledger sources list --json
"""

HELP_SHOW = """Show what a source says now, and what it withdrew.

Of each item it says what a machine enforces of it, or that none does: then it is words for model and
reviewer. A withdrawal is shown with who made it, when and why.

\b
Examples:
  intent-ledger sources show policy:refunds
  intent-ledger sources show policy:refunds --json
"""

SourceArgument = Annotated[
    str, typer.Argument(metavar="SOURCE", help="Its id, KIND:NAME.", show_default=False)
]


def add_to(app: typer.Typer) -> None:
    """Put the commands under `sources`."""
    group = group_of(ABOUT)
    group.command("publish", help=sources_publish.HELP)(sources_publish.publish)
    group.command("withdraw", help=sources_withdraw.HELP)(sources_withdraw.withdraw)
    group.command("list", help=HELP_LIST)(list_sources)
    group.command("show", help=HELP_SHOW)(show)
    group.command("affected", help=sources_affected.HELP)(sources_affected.affected)
    app.add_typer(group, name="sources")


# --- list ----------------------------------------------------------------------------------------


@verb()
def list_sources(
    call: Call,
) -> None:
    """List sources."""
    from ledger.adapters.cli.runs import exit_of, fault
    from ledger.application import source_listing

    screen = call.screen
    with call.looking() as opened:
        listing = source_listing.list_sources(opened)
    if call.as_json:
        screen.document(
            {
                "sources": [_facts(line) for line in listing.sources],
                "unread": [fault(one) for one in listing.unread],
            }
        )
    else:
        _show_list(screen, listing)
    if listing.unread:
        raise typer.Exit(exit_of(listing.unread))


def _facts(line: Line) -> dict[str, Any]:
    state = line.state
    return {
        "source": state.source,
        "revision": state.revision,
        "position": state.position,
        "items": len(state.items),
        "enforced": _enforced(state),
        "withdrawn": len(state.withdrawn),
        "owners": list(state.owners),
        "runs": line.runs,
        "closed_runs": line.closed_runs,
    }


def _enforced(state: SourceState) -> int:
    """Count what a machine holds acts to; the rest is words for model and reviewer."""
    from ledger.run.rule_words import is_enforced

    return sum(is_enforced(item.rule) for item in state.items)


def _show_list(screen: Screen, listing: SourceListing) -> None:
    from ledger.adapters.cli.runs import show_unread
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.words import quoted

    show_unread(screen, listing.unread)
    if not listing.sources:
        if not listing.unread:
            screen.note(
                "this tenant has no sources yet: intent-ledger sources publish FILE --source KIND:NAME"
            )
        return

    def entries() -> None:
        for line in listing.sources:
            screen.entry(quoted(line.state.source), style="bold")
            screen.entry(", ".join(f"{name} {value}" for name, value in _cells(line)[1:]), indent=2, hang=2)

    titles = [name for name, _ in _cells(listing.sources[0])]
    columns = [
        Column(name.upper(), right=name in {"items", "enforced", "withdrawn", "runs"}, whole=name == "source")
        for name in titles
    ]
    rows = [[value for _, value in _cells(line)] for line in listing.sources]
    screen.table(columns, rows, instead=entries)


def _cells(line: Line) -> list[tuple[str, str]]:
    from ledger.adapters.cli.words import quoted

    state = line.state
    return [
        ("source", quoted(state.source)),
        ("revision", "-" if state.revision is None else quoted(state.revision)),
        ("items", f"{len(state.items):,}"),
        ("enforced", f"{_enforced(state):,}"),
        ("withdrawn", f"{len(state.withdrawn):,}"),
        ("runs", f"{line.runs:,}"),
        ("owners", " ".join(map(quoted, state.owners)) or "-"),
    ]


# --- show ----------------------------------------------------------------------------------------


@verb()
def show(
    call: Call,
    source: SourceArgument,
) -> None:
    """Show what a source says."""
    from ledger.application.source_listing import find_source

    screen = call.screen
    with call.looking() as opened:
        state = find_source(opened, source)
    if call.as_json:
        screen.document(_document(state))
    else:
        _show_source(screen, state)


def _document(state: SourceState) -> dict[str, Any]:
    from ledger.adapters.cli.sources_view import gone_facts, published_facts

    return {
        "source": state.source,
        "revision": state.revision,
        "position": state.position,
        "owners": list(state.owners),
        "items": [
            {**published_facts(item.published), "revision": item.revision, "position": item.position}
            for item in state.items
        ],
        "withdrawn": [gone_facts(gone) for gone in state.withdrawn],
    }


def _show_source(screen: Screen, state: SourceState) -> None:
    from ledger.adapters.cli.sources_view import enforced, gone_words
    from ledger.adapters.cli.words import quoted, when

    revision = "nothing published" if state.revision is None else f"revision {quoted(state.revision)}"
    moment = "" if state.at is None else f", last event {when(state.at)}"
    screen.line(f"{quoted(state.source)}: {revision}{moment}", style="bold")
    screen.line(
        f"owners: {', '.join(map(quoted, state.owners)) or 'none, so anybody but an agent publishes'}"
    )
    screen.title(f"Says now ({len(state.items):,})")
    for item in state.items:
        screen.entry(f"{quoted(item.id)}, since revision {quoted(item.revision)}", indent=2)
        screen.quote(item.text, indent=4)
        screen.entry(enforced(item.rule), indent=4, hang=2, style="dim")
    if state.withdrawn:
        screen.title(f"Withdrawn ({len(state.withdrawn):,})")
        for gone in state.withdrawn:
            screen.entry(f"{quoted(gone.id)} {gone_words(gone)}", indent=2, hang=2)
