"""The act of the demonstration in which a payment's answer is lost, and nothing is paid twice."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ledger import EffectHistory
from ledger.adapters.demo import payer, payments
from ledger.adapters.demo.processes import output, started, told
from ledger.adapters.demo.worker import RUN
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


def play(ledger: Ledger, path: Path, url: str) -> Payment:
    """Let one process pay and be killed before it hears the answer, and another one go on.

    Raises:
        StoreError: a process of the demonstration ended by itself.
    """
    killed = _kill_after_paying(path, url)
    with started(payer, str(path), url, RUN) as second:
        said = list(told(output(second)))
        if second.wait() or not said or "receipt" not in said[-1]:
            raise StoreError("the second payer of the demonstration failed", exit_code=second.returncode)
    charges = payer.charges(url)
    (key,) = {charge["key"] for charge in charges}
    return Payment(killed, said[-1]["pid"], said[-1]["receipt"], charges, ledger.effect(key))


def _kill_after_paying(path: Path, url: str) -> int:
    with started(payer, str(path), url, RUN) as first:
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
def server() -> Iterator[str]:
    """Run the payment server; its address.

    Raises:
        StoreError: it ended by itself.
    """
    with started(payments) as process:
        line = output(process).readline()
        if not line:
            raise StoreError("the payment server of the demonstration did not start")
        yield f"http://127.0.0.1:{json.loads(line)['port']}"
