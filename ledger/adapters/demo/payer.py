"""The process of the demonstration that pays: started three times, with the same code each time.

    python -m ledger.adapters.demo.payer LEDGER URL RUN

Writes JSON Lines: that it begins, and what the payment came to.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any

from ledger import Actor, Happened, NotHappened, Recovery, current_effect, open_ledger

AMOUNT = "64.90"
ORDER = 17
TOOL = "refund"


def pay(path: str, url: str, name: str) -> None:
    """Refund the order, or find out that it was refunded."""

    def refund(order: int, amount: str) -> Any:
        asked = {"key": current_effect().key, "order": order, "amount": amount}
        request = urllib.request.Request(f"{url}/charges", json.dumps(asked).encode(), method="POST")
        return _answer(request)

    def find(key: str, args: dict[str, Any]) -> Happened | NotHappened:
        for charge in charges(url):
            if charge["key"] == key:
                evidence = f"the payment server lists {charge['id']} with this key"
                return Happened(charge, external_ref=charge["id"], evidence=evidence)
        return NotHappened("the payment server lists no charge with this key")

    with open_ledger(path, actor=Actor("agent:refunds", session="session-1"), create=False) as ledger:
        run = ledger.run(name)
        _say(began=True)
        receipt = run.perform(
            TOOL,
            {"order": ORDER, "amount": AMOUNT},
            refund,
            step="refund",
            recovery=Recovery.QUERYABLE,
            probe=find,
            lease_seconds=1,
            wait_seconds=20,
        )
        _say(began=False, receipt=receipt)


def charges(url: str) -> list[dict[str, Any]]:
    """Ask the payment server what it charged."""
    found: list[dict[str, Any]] = _answer(urllib.request.Request(f"{url}/charges"))["charges"]
    return found


def _answer(request: urllib.request.Request) -> Any:
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def _say(**said: Any) -> None:
    sys.stdout.write(json.dumps({"pid": os.getpid(), **said}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    pay(*sys.argv[1:])
