"""Threads and their states as text and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from ledger.adapters.cli.screen import Column, Screen
from ledger.adapters.cli.words import counted, quoted, shortened, when
from ledger.adapters.threads.listing import ThreadSummary, Unreadable
from ledger.adapters.threads.located import Located
from ledger.application.expiring import Tally
from ledger.application.freeing import Freed
from ledger.run.contract import Contract, Effect
from ledger.values import write_time


class Shown(NamedTuple):
    """What is shown of a thread."""

    thread: str
    runs: Sequence[tuple[Contract, Tally]]
    """Its runs, the newest first, and what is stored of each."""
    states: Sequence[Located]
    unreadable: Sequence[Unreadable] | None
    """States that cannot be read; None: nobody looked."""


def show_list(screen: Screen, found: Sequence[ThreadSummary], *, more: bool, limit: int) -> None:
    """Show threads."""
    if screen.as_json:
        screen.document({"threads": [_listed(one) for one in found], "more": more})
        return
    if not found:
        screen.line("no threads")
        return
    columns = (
        Column("THREAD", whole=True),
        Column("RUN", whole=True),
        Column("STATUS"),
        Column("LAST EVENT"),
    )
    screen.table(
        [*columns, *(Column(name, right=True) for name in ("RUNS", "EVENTS", "UNSETTLED"))],
        [
            (
                quoted(one.thread),
                quoted(one.newest.run),
                one.newest.status,
                when(one.newest.at),
                f"{one.runs:,}",
                f"{one.newest.position:,}",
                f"{one.newest.unsettled:,}",
            )
            for one in found
        ],
    )
    if more:
        screen.note(f"there are more: --limit {limit * 2}")


def _listed(one: ThreadSummary) -> dict[str, Any]:
    return {
        "thread": one.thread,
        "runs": one.runs,
        "run": one.newest.run,
        "status": one.newest.status,
        "at": write_time(one.newest.at),
        "position": one.newest.position,
        "unsettled": one.newest.unsettled,
    }


def show_thread(screen: Screen, shown: Shown, *, limit: int) -> None:
    """Show the states of a thread, and what is stored of its runs."""
    states = shown.states[:limit]
    if screen.as_json:
        screen.document(_document(shown, states))
        return
    screen.title(f"thread {quoted(shown.thread)}: {counted(len(shown.states), 'state')}")
    screen.table(
        [
            Column("RUN", whole=True),
            Column("STATUS"),
            Column("CONTENTS", right=True),
            Column("BYTES", right=True),
        ],
        [
            (quoted(contract.run), contract.status, f"{tally.contents:,}", f"{tally.bytes:,}")
            for contract, tally in shown.runs
        ],
        indent=2,
    )
    if states:
        screen.table(
            [
                *(Column(title, whole=True) for title in ("STATE", "LINE", "FROM")),
                Column("SAVED"),
                Column("PLACE", right=True),
            ],
            [
                (
                    quoted(one.state.id),
                    "-" if one.state.line is None else quoted(one.state.line),
                    "-" if one.state.parent is None else quoted(one.state.parent),
                    when(one.state.at),
                    f"{one.state.position:,}",
                )
                for one in states
            ],
            indent=2,
        )
    if len(shown.states) > limit:
        screen.note(f"{len(shown.states) - limit:,} more: --limit {len(shown.states)}")
    for one in shown.unreadable or ():
        screen.line(f"state {quoted(one.found.state.id)} cannot be read: {quoted(str(one.error))}")
    if shown.unreadable is not None and not shown.unreadable:
        screen.line("each state can be read")


def _document(shown: Shown, states: Sequence[Located]) -> dict[str, Any]:
    return {
        "thread": shown.thread,
        "runs": [
            {"run": contract.run, "status": contract.status, **tally._asdict()}
            for contract, tally in shown.runs
        ],
        "count": len(shown.states),
        "states": [
            {
                "run": one.state.run,
                "id": one.state.id,
                "line": one.state.line,
                "parent": one.state.parent,
                "at": write_time(one.state.at),
                "position": one.state.position,
                "bytes": one.state.size,
            }
            for one in states
        ],
        "unreadable": None
        if shown.unreadable is None
        else [
            {"run": one.found.state.run, "id": one.found.state.id, "error": str(one.error)}
            for one in shown.unreadable
        ],
    }


def show_freed(screen: Screen, thread: str, freed: Freed, stands: Sequence[Effect] = ()) -> None:
    """Show what was let go of, or would be but for the effects that stand in the way."""
    if screen.as_json:
        screen.document(
            {
                "thread": thread,
                "dry_run": freed.dry_run,
                "states": freed.states,
                "contents": freed.contents,
                "bytes": freed.bytes,
                "events": freed.events,
                "unsettled": [
                    {"tool": effect.tool, "key": effect.key, "status": effect.status} for effect in stands
                ],
            }
        )
        return
    states, contents = counted(freed.states, "state"), counted(freed.contents, "content")
    what = "would go" if freed.dry_run else "gone"
    screen.line(f"{states} of thread {quoted(thread)} {what}, and {contents} with {freed.bytes:,} bytes")
    if stands:
        named = ", ".join(f"{quoted(effect.tool)} {shortened(effect.key, True)}" for effect in stands)
        screen.line(f"but it would be refused: {counted(len(stands), 'effect')} unsettled: {named}")
        screen.line("settle or reconcile them, or say --force")
    if freed.events:
        screen.line(f"recorded: {counted(freed.events, 'event')}")


def show_where(screen: Screen, runs: Sequence[str]) -> None:
    """Show which commands tell what was let go of in the runs of a thread, the newest first."""
    for run in runs[:3]:
        screen.command(f"intent-ledger log {shlex.quote(run)} --only state.dropped", indent=2)
