"""The act of the demonstration in which a payment's answer is lost, and nothing is paid twice."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

from ledger import EffectHistory
from ledger.adapters.demo import payer, payments
from ledger.application.ledger import Ledger
from ledger.errors import StoreError

PATIENCE_SECONDS = 30.0
_PAUSE_SECONDS = 0.01


class Payment(NamedTuple):
    """What happened around one payment."""

    killed: int
    """Process that sent it and was killed before it heard the answer."""
    resumed: int
    """Process that went on."""
    receipt: dict[str, Any]
    """What the second one was told of the payment."""
    charges: list[dict[str, Any]]
    """The payment server's own record, in the end."""
    effect: EffectHistory
    """What the ledger knows of it."""


def play(ledger: Ledger, path: Path) -> Payment:
    """Let one process pay and be killed before it hears the answer, and another one go on.

    Raises:
        StoreError: a process of the demonstration ended by itself.
    """
    with _server() as url:
        killed = _kill_after_paying(path, url)
        with _started(payer, str(path), url) as second:
            said = [json.loads(line) for line in _output(second)]
            if second.wait() or not said or "receipt" not in said[-1]:
                raise StoreError("the second payer of the demonstration failed", exit_code=second.returncode)
        charges = payer.charges(url)
    (key,) = {charge["key"] for charge in charges}
    return Payment(killed, said[-1]["pid"], said[-1]["receipt"], charges, ledger.effect(key))


def _kill_after_paying(path: Path, url: str) -> int:
    with _started(payer, str(path), url) as first:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not payer.charges(url):
            if first.poll() is not None or time.monotonic() > deadline:
                raise StoreError(
                    "the first payer of the demonstration paid nothing", exit_code=first.returncode
                )
            time.sleep(_PAUSE_SECONDS)
        first.kill()
        first.wait()
        return first.pid


@contextmanager
def _server() -> Iterator[str]:
    with _started(payments) as server:
        line = _output(server).readline()
        if not line:
            raise StoreError("the payment server of the demonstration did not start")
        yield f"http://127.0.0.1:{json.loads(line)['port']}"


@contextmanager
def _started(module: Any, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process of the demonstration; it has ended afterwards."""
    # -P: a folder `ledger` where the command was typed must not stand in for this package.
    command = [sys.executable, "-P", "-m", module.__name__, *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def _output(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout
