"""The page of the gate: every kind of reason, its verdict, and what clears it."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.gate import IDLE_SECONDS, KINDS, LIVE_SECONDS, STRICTNESS
from ledger.values import Verdict
from tests.reference.words import oneline, page, table

INTRODUCTION = f"""\
How to use it stands under [go on after a stop](../how-to/resume.md); `Ledger.resume` and what it
answers under [the library](library.md). The verdict of a decision is the strictest that one of its
reasons calls for, from `refuse` to `replan`; without any reason it is `continue`.

A run that nobody suspended or held counts as live for {LIVE_SECONDS} seconds (`live_seconds`) after its
program's last sign of life, and has to be confirmed once it lay still for {IDLE_SECONDS:,}
(`idle_seconds`)."""

CLEARED = """\
*Cleared by* names the event. Who says it, and with which command, is in [commands](commands.md). A
restart is cleared by a successor; a person may instead take the constraint out of the run
(`constraint.withdraw`), or revise a goal so that it no longer rests on what was refuted. `upgrade` and
`a person` are no events: the run cannot be read as it is. `closed` is what the pure gate says of a
run that has ended; `Ledger.resume` raises `RunIsClosed`, which names the successor."""


def gate_page() -> str:
    """Write what the gate may say."""
    return page("The gate", *_parts())


def _parts() -> Iterator[str]:
    yield INTRODUCTION
    yield CLEARED
    for verdict in sorted(STRICTNESS, key=STRICTNESS.__getitem__, reverse=True):
        if verdict is Verdict.CONTINUE:
            continue
        yield f"## `{verdict.value}`"
        yield table(
            ("reason", "when", "cleared by"),
            [
                (
                    f"`{name}`",
                    oneline(kind.meaning),
                    f"`{kind.cleared_by}`" if "." in kind.cleared_by else kind.cleared_by,
                )
                for name, kind in KINDS.items()
                if kind.verdict is verdict
            ],
        )
