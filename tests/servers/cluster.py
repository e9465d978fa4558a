"""PostgreSQL for the tests: one cluster that the session's workers share, and others of a test's own."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import socket
import subprocess
import sys
import uuid
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from tests.servers.installations import Installation, installations, missing
from tests.servers.keeper import PATIENCE_SECONDS, Order
from tests.servers.session import current

ROOT = Path(__file__).resolve().parents[2]
USER = "postgres"
SCHEMAS_IN_A_DATABASE = 50


@dataclass(frozen=True)
class Cluster:
    """A running server: where it listens, as whom to connect, which programs belong to it."""

    installation: Installation
    folder: Path
    port: int
    password: str = field(repr=False)
    user: str = USER
    host: str = "127.0.0.1"

    @property
    def major(self) -> int:
        return self.installation.major

    @property
    def bin(self) -> Path:
        return self.installation.bin

    @property
    def socket_dir(self) -> Path:
        return self.folder

    def url(
        self,
        database: str = "postgres",
        *,
        user: str | None = None,
        password: str | None = None,
        port: int | None = None,
    ) -> str:
        """Return a URL over TCP; `port` names a proxy or pooler in front of the server."""
        secret = quote(self.password if password is None else password, safe="")
        return f"postgresql://{user or self.user}:{secret}@{self.host}:{port or self.port}/{database}"

    def fresh_database(self) -> str:
        """Create an empty database and return its URL."""
        name = f"test_{uuid.uuid4().hex}"
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def roomy_database(self) -> str:
        """Return the URL of a database that has room for the schema of one more test.

        The more tables a database has the longer it takes to make some and to connect.
        """
        name, schemas = _roomy.get(self, ("postgres", 0))
        if schemas == SCHEMAS_IN_A_DATABASE:
            name, schemas = self.fresh_database().rpartition("/")[2], 0
        _roomy[self] = name, schemas + 1
        return self.url(name)

    def log_text(self) -> str:
        return (self.folder / "log").read_text(errors="replace")


_roomy: dict[Cluster, tuple[str, int]] = {}
"""The database of each cluster that this process makes schemas in, and how many it has made there."""


class Server:
    """A cluster that one test has for itself and may stop, kill and start again."""

    def __init__(
        self,
        folder: Path,
        installation: Installation,
        settings: dict[str, str] | None = None,
        copy_of: Cluster | None = None,
    ) -> None:
        self._lifeline, other_end = socket.socketpair()
        password = copy_of.password if copy_of is not None else secrets.token_urlsafe()
        source = copy_of.url() if copy_of is not None else ""
        order = Order(str(installation.bin), USER, password, settings or {}, source)
        with other_end:
            self._keeper = _spawn(folder, order, other_end)
        try:
            answer = self._answer()
        except BaseException:
            self.close()
            raise
        self.cluster = Cluster(installation, folder, answer["port"], password)

    def stop(self) -> None:
        """Shut the server down in order, and wait."""
        self._ask("stop")

    def kill(self) -> None:
        """Kill the server as a power cut would, and wait until it is gone."""
        self._ask("kill")

    def start(self) -> None:
        """Start the server again on its port, and wait until it takes connections."""
        self._ask("start")

    def close(self) -> None:
        """End the server and remove the cluster."""
        self._lifeline.close()
        self._keeper.communicate(timeout=PATIENCE_SECONDS)

    def _ask(self, command: str) -> dict[str, Any]:
        self._lifeline.sendall(f"{command}\n".encode())
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        return _read_answer(self._keeper)


def shared(kind: str = "postgres") -> Cluster:
    """Return the session's cluster of a kind in `kinds()`, started by the first worker that asks.

    Skips the test where the machine has no PostgreSQL, and fails it there in continuous integration.
    """
    folder = current() / kind
    folder.mkdir(exist_ok=True)
    handle = folder / "handle.json"
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not handle.exists():
            _start_shared(kinds_installed(kind), folder, handle)
    finally:
        os.close(lock)
    known = json.loads(handle.read_text())
    installation = Installation(Path(known["bin"]), known["major"])
    return Cluster(installation, folder, known["port"], known["password"])


def kinds() -> tuple[str, ...]:
    """Name the kinds of cluster to test on: `postgres`, and another major version where there is one."""
    return ("postgres", *(f"postgres-{other.major}" for other in installations()[1:2]))


def kinds_installed(kind: str) -> Installation:
    """Return the installation of a kind, or skip or fail the test for want of one."""
    for name, installation in zip(kinds(), installations(), strict=False):
        if name == kind:
            return installation
    if os.environ.get("CI"):
        pytest.fail(missing())
    pytest.skip(missing())


def _start_shared(installation: Installation, folder: Path, handle: Path) -> None:
    """Start a server whose lifeline leads to the process that holds the session, not to this one."""
    password = secrets.token_urlsafe()
    order = Order(str(installation.bin), USER, password, {})
    with socket.socket(socket.AF_UNIX) as lifeline:
        lifeline.connect(str(current() / "lifeline"))
        keeper = _spawn(folder, order, lifeline)
    answer = _read_answer(keeper)
    if keeper.stdout is not None:
        keeper.stdout.close()
    # The keeper may outlive this process, so nobody waits for it here; Popen would warn of that.
    keeper.returncode = 0
    told = asdict(installation) | {"bin": str(installation.bin), "password": password, "port": answer["port"]}
    handle.touch(mode=0o600)
    handle.write_text(json.dumps(told))


def _spawn(folder: Path, order: Order, lifeline: socket.socket) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    order.put(folder)
    return subprocess.Popen(
        [sys.executable, "-m", "tests.servers.keeper", str(folder)],
        stdin=lifeline.fileno(),
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        start_new_session=True,
    )


def _read_answer(keeper: subprocess.Popen[str]) -> dict[str, Any]:
    if keeper.stdout is None:
        raise RuntimeError("the keeper was started without a pipe to answer through")
    line = keeper.stdout.readline()
    answer: dict[str, Any] = json.loads(line) if line else {"error": "the keeper of the server died"}
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer
