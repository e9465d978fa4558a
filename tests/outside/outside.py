"""The test's side of an outside: it starts the process, orders manners, and ends it."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import uuid
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx

from tests.outside.manners import Manner
from tests.servers.session import current
from tests.servers.waiting import until

ROOT = Path(__file__).resolve().parents[2]


def client(base_url: str) -> httpx.Client:
    """Return a client that reads no proxy from the environment and loads no certificates."""
    return httpx.Client(base_url=base_url, trust_env=False, verify=False)


class Outside:
    """A running outside of a kind: `payments`, `orders` or `mails`.

    It ends with `close`, or with the session of tests, however that ends; no worker's death ends it.
    """

    def __init__(self, kind: str) -> None:
        self._folder = current() / f"{kind}-{uuid.uuid4().hex[:12]}"
        self._folder.mkdir()
        with socket.socket(socket.AF_UNIX) as lifeline, self._log.open("wb") as log:
            lifeline.connect(str(current() / "lifeline"))
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"tests.outside.{kind}_server", str(self._folder)],
                stdin=lifeline.fileno(),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=ROOT,
                start_new_session=True,
            )
        try:
            ports = self._answer()
        except BaseException:
            self.close()
            raise
        self.port = ports["port"]
        self.pid = self._process.pid
        self._control = client(f"http://127.0.0.1:{ports['control']}")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def expect(self, *manners: Manner) -> None:
        """Order how the next requests are treated, one manner for each; those after them are plain."""
        self._order("/expect", [asdict(manner) for manner in manners])

    def until_held(self, requests: int = 1) -> None:
        """Wait until this many requests are held."""
        until(lambda: self.told("/held") == requests, f"{requests} requests are held")

    def release(self) -> None:
        """Let go on what is held."""
        self._order("/release")

    def forget(self) -> None:
        """Empty the record, drop manners not yet used, and drop what is held without doing it."""
        self._order("/forget")

    def told(self, path: str) -> Any:
        """Return what the control port answers."""
        return self._control.get(path).raise_for_status().json()

    def close(self) -> None:
        """End the outside, and its record with it."""
        self._process.kill()
        self._process.communicate()
        if hasattr(self, "_control"):
            self._control.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _answer(self) -> dict[str, int]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the outside did not start: {self._log.read_text(errors='replace')}")
        ports: dict[str, int] = json.loads(line)
        return ports

    def _order(self, path: str, body: object = None) -> None:
        self._control.post(path, json=body).raise_for_status()
