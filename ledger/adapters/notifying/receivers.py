"""Who is told: a command that reads JSON, or a server that takes it by HTTP POST."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any, Self, TypeAlias
from urllib.parse import urlsplit

from ledger.adapters.notifying.notice import Notice
from ledger.canonical import invalid

SECONDS = 20.0
"""How long a receiver may take."""


class NotTold(Exception):
    """The receiver did not take it, or nobody knows whether it did: it is told again later."""


Receiver: TypeAlias = Callable[[Notice], object]
"""Takes a notice; whatever it raises means that it is to be told again."""


def written(notice: Notice) -> bytes:
    """Write a notice as one line of JSON."""
    return json.dumps(notice.document(), separators=(",", ":")).encode() + b"\n"


class RunCommand:
    """Runs a command for each notice, with the notice as one line of JSON on its standard input.

    It has taken it when it ends with 0. No shell is between: words are split as a shell would, and that is
    all. What the command writes goes to standard error.

    Args:
        command: the command line.
        seconds: how long it may run; then it is killed, and told again later.

    Raises:
        InvalidInput: there is no such command.
    """

    def __init__(self, command: str, *, seconds: float = SECONDS) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise invalid("command", f"it is not written as a shell reads it: {error}") from None
        if not self._words or shutil.which(self._words[0]) is None:
            raise invalid("command", f"there is no command {command!r:.100} that can be run")
        self._seconds = seconds

    def __call__(self, notice: Notice) -> None:
        try:
            done = subprocess.run(
                self._words,
                input=written(notice),
                stdout=_errors(),
                timeout=self._seconds,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotTold(f"{self._words[0]} was still running after {self._seconds:g} s") from None
        except OSError as error:
            raise NotTold(f"{self._words[0]} cannot be run: {error.strerror}") from error
        if done.returncode:
            raise NotTold(f"{self._words[0]} ended with {done.returncode}")


def _errors() -> int:
    """Return standard error, where the command's own answers do not mix with ours."""
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):  # replaced by something that is no file
        return subprocess.DEVNULL


class Post:
    """Sends each notice by HTTP POST, as one line of JSON; any 2xx means that it was taken.

    `Idempotency-Key` is the id of the approval, the same each time it is told. A redirect is not followed.

    Args:
        url: where to; what follows the host is never written anywhere, for it may hold a secret.
        headers: sent beside; a secret of the receiver belongs here.
        seconds: how long each step of a request may take.

    Raises:
        InvalidInput: it is no address of a server, or httpx is not installed.
    """

    def __init__(
        self, url: str, *, headers: Mapping[str, str] | None = None, seconds: float = SECONDS
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise invalid("post", "give the address of a server: https://…")
        try:
            import httpx
        except ModuleNotFoundError:
            raise invalid("post", "it takes httpx, which is not installed: the extra `http` has it") from None
        self._url = url
        self._host = parts.hostname
        self._client: Any = httpx.Client(timeout=seconds, headers=dict(headers or {}))
        self._failures: Any = (httpx.HTTPError, httpx.InvalidURL)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections; a second call does nothing."""
        self._client.close()

    def __call__(self, notice: Notice) -> None:
        sent = {"Content-Type": "application/json", "Idempotency-Key": notice.approval}
        try:
            answer = self._client.post(self._url, content=written(notice), headers=sent)
        except self._failures as error:
            # Its words may hold the address.
            raise NotTold(f"{self._host} was not reached: {type(error).__name__}") from None
        if not answer.is_success:
            raise NotTold(f"{self._host} answered {answer.status_code}")
