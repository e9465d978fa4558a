"""Processes that begin with graphs loaded: an interpreter that has loaded them waits, and forks each one."""

from __future__ import annotations

import gc
import importlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

ROOT: Final = Path(__file__).resolve().parents[4]
WORLDS: Final = "tests.adapters.langgraph.crashes.worlds"
"""The module whose functions are run."""
TIMEOUT: Final = 120
"""Seconds after which a test fails that waits for a process."""


class Nursery:
    """Begins processes, and waits for their ends."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno())], cwd=ROOT, pass_fds=[theirs.fileno()]
            )
        self._line = Connection(ours.detach())

    def begin(self, function: str, *arguments: object) -> int:
        """Run a function of `worlds` in a process of its own; return its number."""
        return int(self._ask(("begin", function, arguments)))

    def wait(self, process: int) -> int:
        """Wait for the end of a process; return its exit code, negative where a signal ended it."""
        return os.waitstatus_to_exitcode(int(self._ask(("wait", process, ()))))

    def run(self, function: str, *arguments: object) -> int:
        return self.wait(self.begin(function, *arguments))

    def close(self) -> None:
        self._line.close()
        self._process.wait()

    def _ask(self, question: object) -> Any:
        self._line.send(question)
        if not self._line.poll(TIMEOUT):
            raise TimeoutError(f"no answer to {question!r:.200}")
        return self._line.recv()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    opened = Nursery()
    yield opened
    opened.close()


def serve(line: Connection) -> None:
    """Fork what is asked for, until nobody can ask any more."""
    worlds = importlib.import_module(WORLDS)
    gc.collect()
    gc.freeze()
    with suppress(EOFError):
        while True:
            wanted, what, arguments = line.recv()
            if wanted == "wait":
                line.send(os.waitpid(what, 0)[1])
                continue
            process = os.fork()
            if process == 0:
                line.close()
                live(getattr(worlds, what), arguments)
            line.send(process)


def live(function: Any, arguments: Any) -> NoReturn:
    """Run a function as the whole life of this process."""
    code = 1
    try:
        function(*arguments)
        code = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
        raise
    finally:
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])))
