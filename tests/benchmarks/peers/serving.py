"""A peer's process: it takes its steps when it is told to, and answers how long they took.

One line of JSON each way. The first order says where the database is; the answer names the peer's version and
its *sides*, the ways it can be used. Each later order names a side and how many steps to take. It ends when
there are no more orders.

Nothing is imported here but the standard library: a peer's environment does not hold the ledger's.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from importlib.metadata import version
from typing import Any

Side = Callable[[int], float]
"""Take so many steps, and return the seconds that the steps themselves took."""
Opened = Callable[[str], AbstractContextManager[Mapping[str, Side]]]
"""Open the peer on the database of a URL, and close it afterwards."""

_WORDS = "a courier brings it between nine and noon, rings twice, and leaves it with nobody else; "


def serve(opened: Opened, *, distribution: str) -> None:
    """Open a peer, and follow the orders that come on standard input."""
    answers = _answers()

    def answer(said: Mapping[str, Any]) -> None:
        answers.write(json.dumps(said) + "\n")
        answers.flush()

    with opened(json.loads(sys.stdin.readline())["url"]) as sides:
        answer({"version": version(distribution), "sides": list(sides)})
        for line in sys.stdin:
            order = json.loads(line)
            answer({"seconds": sides[order["side"]](order["times"])})


def payload(number: int) -> dict[str, Any]:
    """Return what a step stores: about 600 bytes of JSON."""
    return {"order": number, "amount": "10.00", "currency": "EUR", "status": "done", "note": _WORDS * 6}


def _answers() -> Any:
    """Keep the standard output for answers, whatever the peer prints."""
    kept = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return kept
