"""What the commands of `project` take, and how a long one is ended."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.exits import Exit

if TYPE_CHECKING:
    from threading import Event

    from ledger.adapters.cli.screen import Screen

NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[NAME]...", help="Which; all without.", show_default=False)
]
NeededNames = Annotated[list[str], typer.Argument(metavar="NAME...", help="Which.", show_default=False)]
ParkOption = Annotated[
    bool, typer.Option("--park", help="Set a run aside where an event of it cannot be handled.")
]


INTERRUPTED = "interrupted; the same command goes on"


@contextmanager
def told_to_end(stop: Event, screen: Screen) -> Iterator[None]:
    """Let SIGTERM end the run as it should be ended: with what was handled stored, and the lease returned.

    What Ctrl-C ends is told to be taken up again.
    """
    before = signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        yield
    except KeyboardInterrupt:
        screen.fail("interrupted", INTERRUPTED, {})
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def end(screen: Screen, *, done: bool, bad: bool) -> None:
    """End a command that was to be done, with what came of it as its exit code."""
    if not done:
        screen.fail("terminated", INTERRUPTED, {})
        raise typer.Exit(Exit.TERMINATED)
    if bad:
        raise typer.Exit(Exit.BAD_NEWS)
