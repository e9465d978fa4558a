"""`sources affected`: which runs rely on a source, and what became there of what they accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.options import KeptOption
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.application.source_listing import Affected, Reliance
    from projections.views import InForce, View

HELP = """List the runs that rely on a source, open ones first.

Those are the runs that hold a constraint from SOURCE; each with the revision it accepted and what the source
says now: unchanged, reworded or withdrawn, or unpublished where the source never said it under this id.
`reworded, seen` means that somebody has looked at the new words for this run and let its own stand. ID, as
the source has it, asks for one constraint only.

It loads the contract of every run, so in a ledger of many it takes its time. With --kept the read model
`runs` is kept instead, and first catches up with all that is stored; then only the runs that rely on it are
read. A run that cannot be read is named, unless it is not one of these; the exit code is then 1, or 3 where
it is newer than this program, and else 0.

\b
Examples:
  intent-ledger sources affected policy:refunds
  intent-ledger sources affected policy:refunds limit-100 --json
"""


@verb()
def affected(
    call: Call,
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="Its id, KIND:NAME.", show_default=False)],
    id: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="One constraint, as the source has it.", show_default=False),
    ] = None,
    kept: KeptOption = False,
) -> None:
    """List the runs that rely on a source."""
    from ledger.adapters.cli.runs import exit_of, fault
    from ledger.adapters.cli.view_rows import among_of, show_as_of
    from ledger.application import source_listing

    screen = call.screen
    with call.looking(writes=kept) as opened:
        view = _kept(opened, source, id, screen) if kept else None
        among = None if view is None else among_of(view)
        found = source_listing.affected(opened, source, id, among=among)
    if call.as_json:
        document = {
            "source": source,
            "affected": [_facts(one) for one in found.runs],
            "unread": [fault(one) for one in found.unread],
        }
        screen.document(document if view is None else {**document, "as_of": str(view.as_of)})
    else:
        _show(screen, found)
        if view is not None:
            show_as_of(screen, view)
    if found.unread:
        raise typer.Exit(exit_of(found.unread))


def _kept(opened: Ledger, source: str, id: str | None, screen: Screen) -> View[InForce]:
    """Find the constraints that come from it by the read model."""
    from ledger.adapters.cli.catching_up import bar
    from projections import views

    with bar(screen) as progress:
        return views.constraints(opened, source=source, item=id, progress=progress)


def _facts(one: Reliance) -> dict[str, Any]:
    from ledger.adapters.cli.sources_view import gone_facts, published_facts
    from ledger.run.rule_words import is_enforced

    constraint = one.constraint
    assert constraint.source is not None
    facts: dict[str, Any] = {
        "run": one.run,
        "status": one.status,
        "constraint": constraint.id,
        "id": one.published_as,
        "text": constraint.text,
        "accepted_revision": constraint.source.revision,
        "accepted_at": constraint.accepted_at.isoformat().replace("+00:00", "Z"),
        "position": constraint.position,
        "enforced": is_enforced(constraint.rule),
        "now": one.now,
        "seen": one.looked,
    }
    if one.item is not None:
        facts["says"] = {**published_facts(one.item.published), "revision": one.item.revision}
    if one.gone is not None:
        facts["gone"] = gone_facts(one.gone)
    return {name: value for name, value in facts.items() if value is not None}


def _show(screen: Screen, found: Affected) -> None:
    from ledger.adapters.cli.runs import show_unread

    show_unread(screen, found.unread)
    if not found.runs:
        if not found.unread:
            screen.note("no run relies on it")
    else:
        _table(screen, found.runs)


def _entries(screen: Screen, runs: Sequence[Reliance]) -> None:
    from itertools import groupby

    from ledger.adapters.cli.words import quoted

    for (run, status), some in groupby(runs, lambda one: (one.run, one.status)):
        screen.entry(f"{quoted(run)} {status}", style="bold")
        for one in some:
            _entry(screen, one)


def _table(screen: Screen, runs: Sequence[Reliance]) -> None:
    from ledger.adapters.cli.screen import Column
    from ledger.adapters.cli.words import quoted

    titles = ("RUN", "STATUS", "CONSTRAINT", "ACCEPTED", "NOW", "SINCE")
    screen.table(
        [Column(title, whole=title in {"RUN", "CONSTRAINT"}) for title in titles],
        [
            (
                quoted(one.run),
                one.status,
                quoted(one.constraint.id),
                _accepted(one, brief=screen.is_terminal),
                _now(one),
                _since(one, brief=screen.is_terminal),
            )
            for one in runs
        ],
        instead=lambda: _entries(screen, runs),
    )


def _entry(screen: Screen, one: Reliance) -> None:
    from ledger.adapters.cli.words import quoted

    accepted = _accepted(one, brief=True)
    screen.entry(
        f"{quoted(one.constraint.id)}, accepted at revision {accepted}: {_now(one)}", indent=2, hang=2
    )
    since = _since(one, brief=True)
    if since != "-":
        screen.entry(since, indent=4, hang=2)


def _accepted(one: Reliance, *, brief: bool) -> str:
    from ledger.adapters.cli.words import revision_words

    assert one.constraint.source is not None
    revision = one.constraint.source.revision
    return "-" if revision is None else revision_words(revision, brief=brief)


def _now(one: Reliance) -> str:
    return f"{one.now}, seen" if one.now == "reworded" and one.looked else one.now


def _since(one: Reliance, *, brief: bool) -> str:
    """Say what the source says now, or who withdrew it, when and why."""
    from ledger.adapters.cli.sources_view import gone_words
    from ledger.adapters.cli.words import quoted, revision_words

    if one.gone is not None:
        return gone_words(one.gone)
    if one.now == "reworded" and one.item is not None:
        return f"revision {revision_words(one.item.revision, brief=brief)}: {quoted(one.item.text)}"
    return "-"
