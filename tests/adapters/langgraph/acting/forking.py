"""Processes that run an example: forked from an interpreter that has loaded it, since loading takes seconds.

Each is a process of its own, with its own folder and output, and dies as any other.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.conftest import ROOT


class Ended(NamedTuple):
    """How a process ended, and what it wrote."""

    code: int
    written: str


class Forking:
    """Starts processes that run the `main` of an example."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, folder: Path, *words: str) -> Ended:
        """Run the example in a folder, to its end."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([str(folder), *words]) + "\n")
        self._process.stdin.flush()
        return Ended(*json.loads(self._process.stdout.readline()))


@contextmanager
def loaded(example: Path) -> Iterator[Forking]:
    """Load an example in an interpreter of its own, which ends with the block."""
    command = [sys.executable, "-W", "error", "-m", "tests.adapters.langgraph.acting.forking", str(example)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Forking(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def _serve(example: str) -> None:
    spec = importlib.util.spec_from_file_location("example", example)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for line in sys.stdin:
        folder, *words = json.loads(line)
        written = Path(folder) / "written"
        process = os.fork()
        if process == 0:
            _run(module, folder, words, written)
        code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        sys.stdout.write(json.dumps([code, written.read_text()]) + "\n")
        sys.stdout.flush()


def _run(module: Any, folder: str, words: list[str], written: Path) -> None:
    code = 1
    try:
        os.chdir(folder)
        out = os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(out, 1)
        os.dup2(out, 2)
        module.main(*words)
        code = 0
    except BaseException:  # noqa: BLE001  it is told by what it wrote
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    _serve(sys.argv[1])
