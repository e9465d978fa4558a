"""The process of the demonstration that pays what its rules let it pay: the same code before and after a
person was asked.

    python -m ledger.adapters.demo.spender LEDGER URL RUN AMOUNT...

Tries each amount in turn, and writes what each try came to as JSON Lines.
"""

from __future__ import annotations

import json
import os
import sys
import urllib.request
from typing import Any

from ledger import Actor, Happened, NotHappened, Recovery, Run, current_effect, open_ledger
from ledger.adapters.demo.payer import charges
from ledger.errors import ApprovalRequired, ConstraintViolated

ORDER = 18
TOOL = "pay"
AGENT = Actor("agent:refunds", session="session-2")


def spend(path: str, url: str, name: str, *amounts: str) -> None:
    """Try to pay each amount, one after the other."""
    with open_ledger(path, actor=AGENT, create=False) as ledger:
        run = ledger.run(name)
        for amount in amounts:
            sys.stdout.write(json.dumps({"pid": os.getpid(), "amount": amount, **_tried(run, url, amount)}))
            sys.stdout.write("\n")


def _tried(run: Run, url: str, amount: str) -> dict[str, Any]:
    def pay(order: int, amount: str) -> Any:
        asked = {"key": current_effect().key, "order": order, "amount": amount}
        request = urllib.request.Request(f"{url}/charges", json.dumps(asked).encode(), method="POST")
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def find(key: str, args: dict[str, Any]) -> Happened | NotHappened:
        made = next((charge for charge in charges(url) if charge["key"] == key), None)
        return NotHappened() if made is None else Happened(made, external_ref=made["id"])

    args = {"order": ORDER, "amount": amount}
    try:
        receipt = run.perform(TOOL, args, pay, step="pay", recovery=Recovery.QUERYABLE, probe=find)
    except ConstraintViolated as error:
        return {"refused": {"said": str(error), **error.data["evidence"]}}
    except ApprovalRequired as error:
        return {"waits": {"said": str(error), "id": error.id}}
    return {"receipt": receipt}


if __name__ == "__main__":
    spend(*sys.argv[1:])
