"""The processes of the demonstration: an agent that works until it is killed, and a reader of what it left.

    python -m ledger.adapters.demo.worker work LEDGER
    python -m ledger.adapters.demo.worker read LEDGER POSITION

Both write JSON Lines: the position and the digest of the contract they hold in memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from itertools import count

from ledger import Actor, Runtime, Source, open_ledger
from ledger.run.contract import Contract
from ledger.stores.stamps import system_clock

RUN = "refund-17"
POLICY = "policy:refunds"
REVISION = "4"
RULES = {
    "limit-100": "Never refund more than 100 EUR without asking a person.",
    "original-card": "Refund only to the card that paid.",
}
CLAIM = ("limit-500", "Customers who are upset may get up to 500 EUR.")
"""What somebody says the policy says; it does not."""
GOAL = "Refund order 17"
NEW_GOAL = "Refund order 17 and tell the customer when the money will arrive"


def work(path: str) -> None:
    """Run the agent; it goes on until it is killed, or nobody listens any more."""
    agent = Actor("agent:refunds", session="session-1")
    with open_ledger(path, actor=agent, create=False) as ledger:
        run = ledger.open_run(
            RUN,
            goal=GOAL,
            owner="human:kim",
            labels={"team": "refunds"},
            runtime=Runtime(model="small-model-3", prompt="refund-agent-12"),
        )
        for name, text in RULES.items():
            run.accept(
                name,
                text,
                asserted_by="human:kim",
                source=Source("policy", "refunds", revision=REVISION),
            )
        run.accept(
            CLAIM[0],
            CLAIM[1],
            asserted_by="customer:17",
            source=Source("policy", "refunds", revision=REVISION),
        )
        run.commit_plan(["look-up-order", "refund", "tell-customer"])
        run.move("look-up-order", next=("refund",))
        run.observe(
            "order:17",
            {"amount": "64.90", "currency": "EUR", "paid_with": "card ending 4242"},
            tool="get_order",
            observed_at=system_clock(),
            fresh_for=3600,
        )
        run.revise_goal(NEW_GOAL, reason="the customer asked when to expect it", by="human:kim")
        run.promise("tell-customer", "Mail the customer once the refund is booked.", owed_to="customer:17")
        for round in count(1):
            run.move("refund", round=round, next=("tell-customer",), needs=("observation:order:17",))
            _say(run.contract, round=round)


def read(path: str, position: int) -> None:
    """Load the contract as another process finds it, now and at a position."""
    with open_ledger(path, create=False) as ledger:
        stands_at = ledger.contract(RUN).position
        _say(ledger.contract(RUN, at=position), stands_at=stands_at)


def digest_of(contract: Contract) -> str:
    """Hash everything a contract holds."""
    return hashlib.sha256(contract.model_dump_json().encode()).hexdigest()


def _say(contract: Contract, **more: int) -> None:
    said = {"pid": os.getpid(), "position": contract.position, "digest": digest_of(contract), **more}
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    if sys.argv[1] == "work":
        work(sys.argv[2])
    else:
        read(sys.argv[2], int(sys.argv[3]))
