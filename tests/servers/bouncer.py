"""A pgbouncer in front of a cluster: it pools by transaction, the next one may meet another session."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psycopg
import pytest

from tests.servers.cluster import Cluster
from tests.servers.keeper import PATIENCE_SECONDS, free_port, server_identity
from tests.servers.waiting import until

CONFIGURATION = """
[databases]
* = host={cluster.host} port={cluster.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 500
server_login_retry = 1
"""


class Bouncer:
    """A running pgbouncer; `users` maps who may pass, besides the cluster's own user, to a password."""

    def __init__(
        self, folder: Path, cluster: Cluster, users: dict[str, str] | None = None, size: int = 4
    ) -> None:
        self._cluster = cluster
        self._folder = folder
        self._size = size
        self.port = free_port()
        folder.mkdir()
        passwords = {cluster.user: cluster.password} | (users or {})
        (folder / "users").write_text("".join(f'"{user}" "{word}"\n' for user, word in passwords.items()))
        self._configure(cluster)
        with (folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*_as_server(folder), _program(), str(folder / "pgbouncer.ini")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            self._wait()
        except BaseException:
            self.close()
            raise

    def url(self, of: str) -> str:
        """Return the way through the pooler to what a URL of the cluster names."""
        return of.replace(f":{self._cluster.port}/", f":{self.port}/")

    def lead_to(self, cluster: Cluster, database: str) -> None:
        """Lead to another cluster, which has the same users, and keep the sessions of all clients.

        It returns when they are led there, in this database of the first one.
        """
        self._configure(cluster)
        self._process.send_signal(signal.SIGHUP)
        with psycopg.connect(self.url(database), autocommit=True) as client:

            def arrived() -> bool:
                try:
                    return client.execute("SELECT inet_server_port()").fetchone() == (cluster.port,)
                except psycopg.OperationalError:
                    if client.closed:
                        raise
                    return False

            until(arrived, "the pooler leads to the other cluster")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _configure(self, cluster: Cluster) -> None:
        folder = self._folder
        text = CONFIGURATION.format(cluster=cluster, folder=folder, port=self.port, size=self._size)
        (folder / "pgbouncer.ini").write_text(text)

    def _wait(self) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                psycopg.connect(self.url(self._cluster.url())).close()
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return


def _program() -> str:
    """Return where pgbouncer is; skip the test for want of it, or fail in continuous integration."""
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        reason = "no pgbouncer on this machine (Debian's package of that name)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found


def _as_server(folder: Path) -> list[str]:
    """Return the prefix that ends a program with this process, and drops root's rights, which it refuses."""
    prefix = ["setpriv", "--pdeathsig", "KILL"]
    if os.geteuid():
        return prefix
    identity = server_identity()
    for path in (folder, *folder.iterdir()):
        os.chown(path, identity.uid, identity.gid)
    return [*prefix, "--reuid", str(identity.uid), "--regid", str(identity.gid), "--clear-groups"]
