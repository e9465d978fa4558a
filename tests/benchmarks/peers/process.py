"""The process of a peer, as it is seen from the benchmark: started, told to take steps, and ended."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
_PATIENCE_SECONDS = 60.0


class PeerFailed(Exception):
    """A peer ended before it had answered; its text is the end of what the peer said."""


class Peer:
    """A running peer, for `with`."""

    def __init__(self, python: Path, module: str, url: str) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = subprocess.Popen(
            [python, "-m", module],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
        )
        try:
            answer = self._ask({"url": url})
        except BaseException:
            self._end()
            raise
        self.version: str = answer["version"]
        self.sides: list[str] = answer["sides"]

    def take(self, side: str, times: int) -> float:
        """Let it take so many steps; return the seconds they took.

        Raises:
            PeerFailed: it ended instead.
        """
        seconds: float = self._ask({"side": side, "times": times})["seconds"]
        return seconds

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process.wait(_PATIENCE_SECONDS)
            self._said.seek(0)
            raise PeerFailed(self._said.read().decode(errors="replace")[-2000:])
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> None:
        """End its orders, and with them the process."""
        try:
            self._process.communicate(timeout=_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._said.close()

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._end()
