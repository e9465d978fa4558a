"""The command under test: as a call, as a process, and at a terminal."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from pathlib import Path
from typing import Any, NamedTuple

from tests.adapters.cli.forked import begin, is_as_loaded

PROGRAM = Path(sys.executable).parent / "intent-ledger"


class Answer(NamedTuple):
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on standard output."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error object on standard error, which is one line."""
        assert self.err.count("\n") == 1
        found: dict[str, Any] = json.loads(self.err)
        return found


def unstyled(text: str) -> str:
    """Take away colours and weights; what else is steered stays."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment without settings of ours or of terminals."""
    unwanted = ("INTENT_LEDGER_", "COLUMNS", "FORCE_COLOR", "NO_COLOR", "PYTHONIOENCODING", "PYTHONUTF8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    return {**kept, **more}


def run(*arguments: str | Path, cwd: Path | None = None, **variables: str) -> Answer:
    """Run the command as a process of its own."""
    given = environment(**variables)
    if not is_as_loaded(given):
        return run_anew(*arguments, cwd=cwd, **variables)
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, Path(os.devnull).open() as nothing:
        streams = (nothing.fileno(), out.fileno(), err.fileno())
        code = begin(PROGRAM, [str(word) for word in arguments], streams, given, cwd).wait()
        out.seek(0)
        err.seek(0)
        return Answer(code, out.read().decode(), err.read().decode())


def run_anew(*arguments: str | Path, cwd: Path | None = None, **variables: str) -> Answer:
    """Run the command as a process that begins from nothing, as a shell does."""
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        cwd=cwd,
        env=environment(**variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
        check=False,
    )
    return Answer(done.returncode, done.stdout.decode(), done.stderr.decode())


def at_terminal(*arguments: str | Path, columns: int = 80, watched: bool = True) -> Answer:
    """Run the command at a terminal of its own.

    `out` holds what it writes there, without colours; standard error goes there, too, if it is `watched`.
    """
    master, terminal = pty.openpty()
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        given = environment(TERM="xterm")
        assert is_as_loaded(given)
        with Path(os.devnull).open("w") as nothing:
            streams = (terminal, terminal, terminal if watched else nothing.fileno())
            command = begin(PROGRAM, [str(word) for word in arguments], streams, given)
    finally:
        os.close(terminal)
    written = b""
    try:
        while part := os.read(master, 65536):
            written += part
    except OSError:  # how Linux says that the other end was closed
        pass
    finally:
        os.close(master)
    return Answer(command.wait(), unstyled(written.decode().replace("\r\n", "\n")), "")
