"""Processes that save in one conversation at once, one of which is killed in the middle of it.

Each loads, adds one and saves, and begins again where somebody was first; it writes a byte for each save
that was acknowledged. The first one is killed after some of them.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from ledger.adapters.checkpointer import Checkpointer
from ledger.errors import StateMoved

PROCESSES = 3
KILLED_AFTER = 3


def race(where: str, wins: int, told: int) -> None:
    """Add one until that was acknowledged so many times."""
    with Checkpointer.open(where, every=7) as saves:
        while wins:
            loaded = saves.load("chat")
            turns = [] if loaded is None else loaded.state["turns"]
            try:
                saves.save("chat", {"turns": [*turns, os.getpid()]}, at="loop_tail")
            except StateMoved:
                continue
            wins -= 1
            os.write(told, b".")


def begun(where: str, wins: int) -> tuple[int, int]:
    """Begin a process; return its id and where it tells."""
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(heard)
        race(where, wins, told)
        os._exit(0)
    os.close(told)
    return child, heard


def main(places: list[str]) -> None:
    """Let them race in each place, and print what was acknowledged and what is there."""
    for where in places:
        Checkpointer.open(where).close()  # whoever makes it is alone
        children = [begun(where, 1000 if number == 0 else 8) for number in range(PROCESSES)]
        victim, heard = children[0]
        acknowledged = sum(len(os.read(heard, 1)) for _ in range(KILLED_AFTER))
        os.kill(victim, signal.SIGKILL)
        for child, pipe in children:
            while said := os.read(pipe, 100):
                acknowledged += len(said)
            _, status = os.waitpid(child, 0)
            assert status == (signal.SIGKILL if child == victim else 0), status
        with Checkpointer.open(where) as saves:
            loaded = saves.load("chat")
            assert loaded is not None
            listed = saves.list_checkpoints("chat")
            line = {
                "acknowledged": acknowledged,
                "turns": len(loaded.state["turns"]),
                "writers": len(set(loaded.state["turns"])),
                "listed": len(listed),
                "chained": [one.parent for one in listed] == [*(one.id for one in listed[1:]), None],
                "each": all(
                    len(saves.load_checkpoint("chat", one.id).state["turns"]) == len(listed) - at
                    for at, one in enumerate(listed)
                ),
            }
        sys.stdout.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
