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
import termios
from pathlib import Path
from typing import Any, NamedTuple

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


def at_terminal(*arguments: str | Path, columns: int = 80, watched: bool = True, **variables: str) -> Answer:
    """Run the command at a terminal of its own.

    `out` holds what it writes there, without colours; standard error goes there, too, if it is `watched`.
    """
    child, master = pty.fork()
    if child == 0:
        try:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
            if not watched:
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            command = [str(PROGRAM), *map(str, arguments)]
            os.execve(PROGRAM, command, environment(TERM="xterm", **variables))
        finally:
            os._exit(127)
    written = b""
    try:
        while part := os.read(master, 65536):
            written += part
    except OSError:  # how Linux says that the other end was closed
        pass
    finally:
        os.close(master)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Answer(code, unstyled(written.decode().replace("\r\n", "\n")), "")
