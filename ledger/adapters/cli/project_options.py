"""What the commands of `project` take, and how a long one is ended."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from threading import Event

NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Which; all without.", show_default=False)
]
NeededNames = Annotated[list[str], typer.Argument(metavar="NAME...", help="Which.", show_default=False)]
ParkOption = Annotated[
    bool, typer.Option("--park", help="Set a run aside where an event of it cannot be handled.")
]


@contextmanager
def told_to_end(stop: Event) -> Iterator[None]:
    """Let SIGTERM end the run as it should be ended: with what was handled stored, and the lease returned."""
    before = signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
