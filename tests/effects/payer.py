"""A program that pays out of a budget as long as it may."""

from __future__ import annotations

from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

from ledger import Actor, Ledger, open_ledger
from ledger.errors import AuthorityExceeded

AGENT = Actor("agent:payer")
COST = 10


def pay(ledger: Ledger, run: str, number: int) -> str:
    """Try to pay; tell what became of it."""
    try:
        return str(ledger.run(run).perform("pay", {"n": number}, lambda n: "paid", cost={"EUR": COST}))
    except AuthorityExceeded as refused:
        return refused.code


def pay_at_once(place: Path | str, first: int, number: int, begin: Barrier, reports: Connection) -> None:
    """Begin with others, and try to pay so many times, as a process of its own."""
    with open_ledger(place, actor=AGENT, busy_seconds=60) as ledger:
        begin.wait()
        for each in range(first, first + number):
            reports.send(pay(ledger, "pays", each))
    reports.close()
