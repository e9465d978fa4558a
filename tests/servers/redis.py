"""A real redis-server, which a test may kill, freeze, empty and start again: it keeps nothing."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.servers.keeper import free_port
from tests.servers.waiting import until

SETTINGS = ("--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--loglevel", "warning")


class RedisServer:
    """A server on a port of its own, in this process's name: it ends with it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = _program()
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        # It ends with the thread that started it, so that is one that lives as long as this.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="redis")
        folder.mkdir(parents=True, exist_ok=True)
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def start(self) -> None:
        """Start it, empty, and wait until it answers."""
        if self._process is not None:
            return
        process = self._process = self._starter.submit(self._started).result()

        def answers() -> bool:
            assert process.poll() is None, (self._folder / "log").read_text()
            try:
                with self.client() as client:
                    return bool(client.ping())
            except redis.ConnectionError:
                return False

        until(answers, "Redis answers")

    def _started(self) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", self._program, "--port", str(self.port), *SETTINGS],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def client(self) -> redis.Redis:
        """Return a client of its own, to look and to meddle."""
        return redis.Redis(port=self.port, retry=Retry(NoBackoff(), 0), protocol=2)

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Let it take connections and answer nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def flush(self) -> None:
        """Forget everything."""
        with self.client() as client:
            client.flushall()

    def close(self) -> None:
        self.kill()
        self._starter.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)


def _program() -> str:
    """Return where redis-server is; skip the test for want of it, or fail in continuous integration."""
    found = shutil.which("redis-server")
    if found is None:
        reason = "no redis-server on this machine (Debian's package of that name)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found
