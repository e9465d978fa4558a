"""How far projections are while a command waits for them, where somebody watches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from projections.runner import Progress


@contextmanager
def bar(screen: Screen) -> Iterator[Callable[[Progress], None] | None]:
    """Show how far they are on standard error; nothing where nobody sees it, or with `--json`."""
    if screen.as_json or not screen.is_watched:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("events"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as shown:
        tasks: dict[str, Any] = {}

        def told(now: Progress) -> None:
            if now.projection not in tasks:
                tasks[now.projection] = shown.add_task(now.projection, total=now.known)
            shown.update(tasks[now.projection], completed=now.events, total=now.known)

        yield told
