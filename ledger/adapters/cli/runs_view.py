"""Runs in a list: a table of them, and at a narrow terminal an entry for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Literal

from ledger.adapters.cli.screen import Column, Screen
from ledger.adapters.cli.spans import span_words
from ledger.adapters.cli.visible import one_line
from ledger.adapters.cli.words import counted, quoted, when
from ledger.application.query import RunSummary

Cell = Callable[[RunSummary, datetime], str]


def status_words(run: RunSummary) -> str:
    """Say how a run stands: what holds it, or which limit stopped it."""
    if run.status == "held" and run.verdict is not None:
        return f"held: {run.verdict.value}"
    if run.status == "suspended" and run.suspended_cause not in {None, "asked"}:
        return f"suspended: {run.suspended_cause}"
    return run.status


def kin_words(run: RunSummary) -> list[str]:
    """Say which run it comes from, and which one answers for it now."""
    words = [] if run.parent is None else [f"{run.parent.relation} of {quoted(run.parent.run)}"]
    return words if run.successor is None else [*words, f"restarted as {quoted(run.successor)}"]


def review_words(run: RunSummary) -> str:
    """Say what was thought of it last, and whether it went on since; nothing where nobody reviewed it."""
    if run.review is None:
        return ""
    changed = run.changed_since_review or 0
    return f"{run.review.meaning}, {counted(changed, 'event')} since" if changed else run.review.meaning


def _entry(screen: Screen, run: RunSummary, now: datetime) -> None:
    """Write a run in a few lines."""
    parts = [status_words(run), counted(run.position, "event"), f"last {when(run.at)}"]
    if run.held_at is not None:
        parts.insert(1, f"for {_span(now - run.held_at)}, {counted(run.reasons, 'reason')}")
    elif run.status == "open":
        quiet = _span(now - run.alive_at)
        parts.append(f"quiet for {quiet}" if quiet[0].isdecimal() else f"last sign of life {quiet}")
    if run.obligations and run.successor is None:
        parts.append(f"{run.obligations:,} owed")
    if run.unsettled > run.waiting and run.successor is None:
        parts.append(f"{run.unsettled - run.waiting:,} unsettled")
    if _waiting(run):
        parts.append(f"{run.waiting:,} waiting for a person")
    if run.review is not None:
        parts.append(f"review: {review_words(run)}")
    parts += kin_words(run)
    screen.entry(quoted(run.run), style="bold")
    screen.entry(", ".join(parts), indent=2, hang=2)
    screen.entry(one_line(run.goal, most=150), indent=2, hang=2, style="dim")


def table(
    screen: Screen,
    runs: Sequence[RunSummary],
    now: datetime,
    order: Literal["alive_at", "held_at"] | None,
) -> None:
    """Write runs as a table: of those that are held, or quiet, since when; else an entry for each."""

    def entries() -> None:
        for run in runs:
            _entry(screen, run, now)

    kin = (_KIN,) if any(kin_words(run) for run in runs) else ()
    reviewed = (_REVIEW,) if any(run.review is not None for run in runs) else ()
    waiting = (_WAITING,) if any(_waiting(run) for run in runs) else ()
    columns = [_RUN, *_OF[order], _OWED, _UNSETTLED, *waiting, *reviewed, *kin, _GOAL]
    screen.table(
        [Column(title, right=right, whole=title == "RUN") for title, right, _ in columns],
        [[cell(run, now) for _, _, cell in columns] for run in runs],
        instead=entries,
    )


def _span(span: timedelta) -> str:
    return "AHEAD OF THE CLOCK" if span < timedelta(seconds=-1) else span_words(span)


def _open(number: int, run: RunSummary) -> str:
    """Count what is open; of a run that was restarted its successor counts it."""
    return str(number) if number and run.successor is None else "-"


def _waiting(run: RunSummary) -> int:
    """Count the acts that wait for a person; what waited when its run ended is never begun."""
    return 0 if run.status == "closed" else run.waiting


def _held(run: RunSummary) -> datetime:
    return run.held_at or run.at


_RUN: tuple[str, bool, Cell] = ("RUN", False, lambda run, now: quoted(run.run))
_STATUS: tuple[str, bool, Cell] = ("STATUS", False, lambda run, now: status_words(run))
_EVENTS: tuple[str, bool, Cell] = ("EVENTS", True, lambda run, now: str(run.position))
_LAST: tuple[str, bool, Cell] = ("LAST EVENT", False, lambda run, now: when(run.at))
_OWED: tuple[str, bool, Cell] = ("OWED", True, lambda run, now: _open(run.obligations, run))
_UNSETTLED: tuple[str, bool, Cell] = (
    "UNSETTLED",
    True,
    lambda run, now: _open(run.unsettled - run.waiting, run),
)
_WAITING: tuple[str, bool, Cell] = ("WAITING", True, lambda run, now: str(_waiting(run) or "-"))
_REVIEW: tuple[str, bool, Cell] = ("REVIEW", False, lambda run, now: review_words(run) or "-")
_KIN: tuple[str, bool, Cell] = ("LINEAGE", False, lambda run, now: ", ".join(kin_words(run)) or "-")
_GOAL: tuple[str, bool, Cell] = ("GOAL", False, lambda run, now: one_line(run.goal, most=120))

_OF: dict[str | None, tuple[tuple[str, bool, Cell], ...]] = {
    None: (_STATUS, _EVENTS, _LAST),
    "held_at": (
        _STATUS,
        ("REASONS", True, lambda run, now: str(run.reasons)),
        ("HELD SINCE", False, lambda run, now: when(_held(run))),
        ("FOR", True, lambda run, now: _span(now - _held(run))),
    ),
    "alive_at": (
        _STATUS,
        _EVENTS,
        ("LAST SIGN OF LIFE", False, lambda run, now: when(run.alive_at)),
        ("QUIET FOR", True, lambda run, now: _span(now - run.alive_at)),
        _LAST,
    ),
}
