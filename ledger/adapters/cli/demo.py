"""`demo`: a ledger at work."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ledger.adapters.cli.options import JsonOption

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen

HELP = """Show a ledger at work, in a few seconds.

The processes are real. Recorded chats become runs. An agent opens a run, accepts constraints, gets a new
goal, makes a promise and is killed. Another process loads the same contract, and the record says who asserted
what, when, and what changed. A payment whose answer was lost is not made again, and one above a limit waits
for a person. The ledger is kept, in FOLDER or a new temporary folder, to look around in.

\b
Examples:
  intent-ledger demo
  intent-ledger demo ./demo
"""


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER", help="Where to put demo.db; made where it is not.", show_default=False
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show a ledger at work."""
    import tempfile

    from ledger.adapters.cli.screen import Screen
    from ledger.adapters.demo.story import play
    from ledger.adapters.demo.telling import facts, tell

    screen = Screen(as_json=as_json, width=80)
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="intent-ledger-"))
    else:
        folder.mkdir(parents=True, exist_ok=True)
    with _waiting(screen):
        story = play(folder.absolute() / "demo.db")
    if as_json:
        screen.document(facts(story))
    else:
        tell(story, screen, program=_program())


@contextmanager
def _waiting(screen: Screen) -> Iterator[None]:
    """Say that something goes on, where somebody watches."""
    if screen.as_json or not screen.is_watched:
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status("An agent is at work and will be killed: a few seconds"):
        yield


def _program() -> str:
    """Tell how this command was started, so that the next one can be."""
    import shutil
    import sys

    started = Path(sys.argv[0])
    found = shutil.which("intent-ledger")
    if started.name != "intent-ledger" or (found is not None and Path(found).samefile(started)):
        return "intent-ledger"
    return shlex.quote(str(started))
