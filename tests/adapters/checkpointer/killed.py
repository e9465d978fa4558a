"""A program that saves in files and is killed at each step of the write, in turn: a process for each step.

It prints one line of JSON for each step: what it was about to do, and what was acknowledged before. The last
line has no step: there the program ran to its end.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from ledger.adapters.checkpointer import Checkpointer


class Killer:
    """Ends this process before or after the nth call."""

    def __init__(self, at: int, *, after: bool) -> None:
        self._left = at
        self._after = after

    def around(self, name: str, call: Any) -> Any:
        def counted(*args: Any, **options: Any) -> Any:
            self._left -= 1
            dies = self._left == 0
            if dies:
                os.write(3, json.dumps({"step": name, "after": self._after}).encode())
            if dies and not self._after:
                os.kill(os.getpid(), signal.SIGKILL)
            done = call(*args, **options)
            if dies:
                os.kill(os.getpid(), signal.SIGKILL)
            return done

        return counted


def program(folder: Path) -> None:
    """Save one state on what is there, of several pieces."""
    with Checkpointer.open(f"files:{folder}") as saves:
        loaded = saves.load("chat")
        turn = 0 if loaded is None else loaded.state["turn"]
        saves.save("chat", {"turn": turn + 1, "said": ["x" * 100] * turn}, at="loop_tail")


def watched(killer: Killer) -> None:
    """Let the killer stand beside every call that changes something on the disk."""
    os.fsync = killer.around("fsync", os.fsync)
    os.link = killer.around("link", os.link)
    Path.rename = killer.around("rename", Path.rename)  # type: ignore[method-assign]
    Path.mkdir = killer.around("mkdir", Path.mkdir)  # type: ignore[method-assign]
    fcntl.flock = killer.around("flock", fcntl.flock)


def died(folder: Path, at: int, *, after: bool) -> dict[str, Any] | None:
    """Run the program in a process that dies at a step; None: it did not get that far."""
    told, heard = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(heard, 3)
        watched(Killer(at, after=after))
        program(folder)
        os._exit(0)
    os.close(heard)
    with os.fdopen(told, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
        return None
    assert os.WTERMSIG(status) == signal.SIGKILL, status
    step: dict[str, Any] = json.loads(said)
    return step


def main(root: Path) -> None:
    """Kill it at each step of a first save and of a third one; look at what is there, and go on."""
    for saved in (0, 2):
        for after in (False, True):
            at = 0
            step: dict[str, Any] | None = {}
            while step is not None:
                at += 1
                folder = root / f"{saved}-{after}-{at}"
                for _ in range(saved):
                    program(folder)
                step = died(folder, at, after=after)
                with Checkpointer.open(f"files:{folder}") as saves:
                    loaded = saves.load("chat")
                    found = 0 if loaded is None else loaded.state["turn"]
                    program(folder)
                    then = saves.load("chat")
                    line = {
                        "saved": saved,
                        "step": step,
                        "found": found,
                        "then": None if then is None else then.state["turn"],
                        "listed": len(saves.list_checkpoints("chat")),
                        "left": sorted(path.name for path in folder.glob("new/*")),
                    }
                sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
