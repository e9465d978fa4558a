"""The command as a process of its own that need not load everything again.

An interpreter that has loaded the command waits, and forks whenever one is wanted: the process is new, with
streams, a folder and an environment of its own, and ends as any other, but begins with everything loaded.
"""

from __future__ import annotations

import atexit
import fcntl
import functools
import gc
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn, TextIO, cast

STATUS = struct.Struct("=i")
TIMEOUT = 120
"""Seconds after which a command is killed, and its test fails."""
AT_THE_BEGINNING = ("PYTHON", "LANG", "LC_", "TZ", "FORCE_COLOR", "NO_COLOR", "COLUMNS")
"""What is read when an interpreter or a module is loaded: with other values a process begins from nothing."""


# --- for tests ---------------------------------------------------------------------------------------


def is_as_loaded(environment: Mapping[str, str]) -> bool:
    """Whether a process with this environment may come from the one that waits."""
    return _read_early(environment) == _server()[1]


def begin(
    program: Path,
    arguments: Sequence[str],
    streams: tuple[int, int, int],
    environment: Mapping[str, str],
    folder: Path | None = None,
) -> Running:
    """Begin the command with these standard streams; one that reads from a terminal is led by it."""
    line, _ = _server()
    reading, writing = os.pipe()
    asked = {
        "arguments": [os.fspath(program), *arguments],
        "environment": dict(environment),
        "folder": os.fspath(folder or Path.cwd()),
    }
    socket.send_fds(line, [json.dumps(asked).encode()], [*streams, writing])
    os.close(writing)
    return Running(reading)


class Running:
    """A command that was begun."""

    def __init__(self, answers: int) -> None:
        self._answers = answers
        self._process = self._answer()

    def wait(self) -> int:
        """Return the exit code, as `subprocess` has it; raise TimeoutError after having killed it."""
        try:
            if not select.select([self._answers], [], [], TIMEOUT)[0]:
                os.kill(self._process, signal.SIGKILL)
                raise TimeoutError("the command did not end")
            return os.waitstatus_to_exitcode(self._answer())
        finally:
            os.close(self._answers)

    def _answer(self) -> int:
        said: int = STATUS.unpack(os.read(self._answers, STATUS.size))[0]
        return said


def _read_early(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(AT_THE_BEGINNING)}


@functools.cache
def _server() -> tuple[socket.socket, dict[str, str]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    early = ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "PYTHONIOENCODING", "PYTHONUTF8", "INTENT_LEDGER_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(early)}
    with theirs:
        process = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            env=environment,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )

    owner = os.getpid()

    def end() -> None:
        # Others that were forked from this one hold the line as well, and end without ending it for us.
        if os.getpid() == owner:
            ours.shutdown(socket.SHUT_RDWR)
            ours.close()
            process.wait()

    atexit.register(end)
    return ours, _read_early(environment)


# --- the process that waits --------------------------------------------------------------------------


def serve(line: socket.socket) -> None:
    """Fork a command for each request, until nobody can ask any more; return in each command."""
    _load()
    # Nobody waits for those that wait for commands.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        said, descriptors, _, _ = socket.recv_fds(line, 1 << 20, 4)
        if not said:
            sys.exit()
        if os.fork() == 0:
            line.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _fork_one(json.loads(said), descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)


def _load() -> None:
    """Load what a command might load, so that none has to."""
    import projections
    from ledger.adapters import cli
    from ledger.adapters.cli.app import command

    command()
    for package in (cli, projections):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):  # which would run it
                importlib.import_module(module.name)
    for name in (
        "psycopg_pool",
        "rich.progress",
        "rich.table",
        "ledger.stores.sqlite",
        "ledger.stores.postgres",
    ):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def _fork_one(asked: dict[str, object], descriptors: list[int]) -> None:
    """Return in the command, wait for it in the process that is its parent."""
    *streams, answers = descriptors
    process = os.fork()
    if process != 0:
        for descriptor in streams:
            os.close(descriptor)
        os.write(answers, STATUS.pack(process))
        os.write(answers, STATUS.pack(os.waitpid(process, 0)[1]))
        os._exit(0)
    os.close(answers)
    _become(asked, streams)


def _become(asked: dict[str, object], streams: list[int]) -> None:
    if os.isatty(streams[0]):
        os.setsid()
        fcntl.ioctl(streams[0], termios.TIOCSCTTY, 0)
    for ours, given in enumerate(streams):
        os.dup2(given, ours)
        os.close(given)
    # Those that there are would go on as the files that they were opened on.
    sys.stdin = _stream(sys.stdin, "r")
    sys.stdout = _stream(sys.stdout, "w")
    sys.stderr = _stream(sys.stderr, "w")
    arguments, environment, folder = asked["arguments"], asked["environment"], asked["folder"]
    assert isinstance(arguments, list)
    assert isinstance(environment, dict)
    assert isinstance(folder, str)
    sys.argv = arguments
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)


def _stream(former: TextIO, mode: str) -> TextIO:
    number, encoding, errors = former.fileno(), former.encoding, former.errors
    return cast("TextIO", open(number, mode, encoding=encoding, errors=errors, closefd=False))


def _main() -> NoReturn:
    # The folder of this file is no place that the command finds modules in, that of the program is.
    sys.path[0] = os.fspath(Path(sys.executable).parent)
    serve(socket.socket(fileno=int(sys.argv[1])))
    from ledger.adapters.cli import main

    sys.exit(main())


if __name__ == "__main__":
    _main()
