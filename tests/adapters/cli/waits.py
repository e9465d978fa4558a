"""A ledger of acts that waited for a person: one waits, one was approved, one denied, one binds no more."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ledger import Actor, Ledger, Run, Source, open_ledger
from ledger.errors import ApprovalRequired
from ledger.values import Rule
from tests.adapters.cli.ledgers import AGENT, ticking

SHOP = '''
"""The tools of a shop: one that a person must approve, one that looks."""

from ledger import tool


@tool(recovery="idempotent", dedupes_for=60, needs_approval=True)
def pay(order: int, amount: str = "10.00"):
    """Pay out."""
    return {"paid": order}


@tool
def mail(to: str):
    """Send a mail."""
'''


class Waits(NamedTuple):
    """A ledger, and the requests in it by what became of them."""

    path: Path
    waiting: str
    approved: str
    denied: str
    void: str


def pay(order: int, amount: str = "10.00") -> dict[str, int]:
    return {"paid": order}


def ask(run: Run, order: int, seconds: int | None = None) -> str:
    """Let a run ask for the approval of a payment; return the id of the request."""
    try:
        run.perform(
            "pay",
            {"order": order},
            pay,
            recovery="idempotent",
            dedupes_for=60,
            needs_approval=True,
            approval_seconds=seconds,
        )
    except ApprovalRequired as error:
        return str(error.data.get("id") or error.id)
    raise AssertionError("it waits for nobody")


def make(path: Path | str) -> Waits:
    """Make it: run `shop` pays four orders, the last of which was asked under other terms."""
    with open_ledger(path, clock=ticking(), actor=AGENT) as ledger:
        void = _void(ledger)
        run = ledger.open_run("shop", "Pay what is due", owner="human:kim")
        source = Source("policy", "payments", revision="4")
        run.accept(
            "limit",
            "A person approves what is paid",
            asserted_by="human:lee",
            source=source,
            rule=Rule(tools=("pay",), needs_approval=True),
        )
        approved, denied, waiting = (ask(run, order) for order in (1, 2, 3))
        ledger.approve(approved, by="human:kim", actor=Actor("human:kim"))
        ledger.deny(denied, by="human:kim", reason="paid before", actor=Actor("human:kim"))
    return Waits(Path(path), waiting, approved, denied, void)


def _void(ledger: Ledger) -> str:
    run = ledger.open_run("moved", "Pay order 4")
    id = ask(run, 4)
    run.revise_goal("Pay order 4, slowly", reason="no hurry", by="human:kim")
    return id
