"""The PostgreSQL that is measured: one of its own, as durable as in production, on the repository's disk."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg

from tests.servers.cluster import Cluster, Server
from tests.servers.installations import installations, missing

HERE = Path(__file__).resolve().parent


class NoServer(Exception):
    """There is no PostgreSQL to measure; its text says why."""


@contextmanager
def postgres() -> Iterator[Cluster]:
    """Start a server, and end it afterwards.

    Raises:
        NoServer: none is installed, or it does not start here.
    """
    found = installations()
    if not found:
        raise NoServer(missing())
    with tempfile.TemporaryDirectory(dir=_disk(), prefix=".bench-") as folder:
        # The server's user has to get through; what is in there has rights of its own.
        Path(folder).chmod(0o711)
        try:
            server = Server(Path(folder) / "pg", found[0])
        except RuntimeError as error:
            raise NoServer(str(error)) from error
        with closing(server):
            _check(server.cluster)
            yield server.cluster


def _disk() -> Path:
    """Return a folder on the disk the repository lies on, where the server's user gets to.

    The temporary folder of the system is none: it is often memory, where syncing is free.
    """
    reached = os.geteuid() or all(folder.stat().st_mode & 0o001 for folder in (HERE, *HERE.parents))
    return HERE if reached else Path("/var/tmp")


def _check(cluster: Cluster) -> None:
    with psycopg.connect(cluster.url()) as connection:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            found = connection.execute("SELECT current_setting(%s)", [setting]).fetchone()
            if found != ("on",):
                raise NoServer(f"the server has {setting} = {found}, what is measured there means nothing")
