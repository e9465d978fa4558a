"""Starting the processes of the demonstration, and reading what they say."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any


@contextmanager
def started(module: Any, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process of the demonstration; it has ended afterwards."""
    # -P: a folder `ledger` where the command was typed must not stand in for this package.
    command = [sys.executable, "-P", "-m", module.__name__, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def output(process: subprocess.Popen[bytes]) -> IO[bytes]:
    """Return what a process writes."""
    assert process.stdout is not None
    return process.stdout


def told(stream: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Read what a process said in whole lines, up to its end; half a line was never said."""
    for line in stream:
        if line.endswith(b"\n"):
            yield json.loads(line)
