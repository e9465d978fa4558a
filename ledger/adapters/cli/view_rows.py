"""Rows of views as JSON, and as of when they hold."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.words import counted, when
from ledger.values.times import write_time

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from projections.views import View


def document(name: str, found: View[Any]) -> dict[str, Any]:
    """Give what a view has found as a JSON object; what a row does not have is left out of it."""
    return {
        name: [plain_fields(one) for one in found.rows],
        "as_of": str(found.as_of),
        "now": write_time(found.now),
        "events": found.events,
        "notes": list(found.notes),
    }


def among_of(found: View[Any]) -> list[str]:
    """List the runs of rows, and those that were set aside: these are read to see what is wrong with them."""
    return list(dict.fromkeys([*(one.run for one in found.rows), *found.left_out]))


def end(left_out: tuple[str, ...]) -> None:
    """End with bad news where runs were set aside, of which an answer says nothing."""
    if left_out:
        raise typer.Exit(Exit.BAD_NEWS)


def show_as_of(screen: Screen, found: View[Any]) -> None:
    """Say beside the answer as of when it holds, and what it leaves out."""
    for note in found.notes:
        screen.note(f"note: {note}")
    screen.note(as_of_words(found.as_of, found.events, found.now))


def as_of_words(as_of: int, events: int, now: datetime, until: datetime | None = None) -> str:
    """Say as of when something was answered."""
    # A position is given back as it is printed.
    words = f"as of global position {as_of}"
    if until is not None:
        words = f"as of {exact_time(until)}, looked for up to global position {as_of}"
    return f"{words}; {counted(events, 'event')} handled; by the clock at {when(now)}"


def exact_time(moment: datetime) -> str:
    """Write a moment to the second, or as exact as it is where it lies between two."""
    return when(moment) if moment.microsecond == 0 else write_time(moment)


def plain_fields(one: Any) -> dict[str, Any]:
    """Give a row as a JSON object; what it does not have is left out."""
    return {name: _plain(value) for name, value in one._asdict().items() if value is not None}


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return plain_fields(value)
    if isinstance(value, datetime):
        return write_time(value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Mapping):
        return {name: _plain(member) for name, member in value.items()}
    return [_plain(member) for member in value] if isinstance(value, tuple) else value
