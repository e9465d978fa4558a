"""What the benchmarks write: moves of a cursor, of about 600 bytes each, and a row as the store takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import TypeVar

from ledger import Actor, Ledger
from ledger.application.sayings import RunSayings
from ledger.record import Row

R = TypeVar("R")

ACTOR = Actor("agent:refunds", session="s-1")


def moves(run: RunSayings[R], numbers: Iterator[int]) -> Callable[[], R]:
    """Return a step that moves the cursor of a run; its record has about 600 bytes."""

    def step() -> R:
        number = next(numbers)
        return run.move(
            "refund",
            round=number,
            next=("tell-customer", "file-receipt"),
            budget_left={"EUR": "90.00", "tokens": "120000"},
            state=f"{number:064x}",
        )

    return step


def sample_row(ledger: Ledger) -> Row:
    """Return a row as those appends store it."""
    run = ledger.open_run("sample", "goal", actor=ACTOR)
    moves(run, count())()
    return stored_rows(ledger, "sample", after=1)[0]


def stored_rows(ledger: Ledger, run: str, *, after: int) -> list[Row]:
    """Return what a run holds behind a position, as an append gives it to the store."""
    return [
        Row(row.position, "", row.hash, row.key, row.act, row.claim, row.record)
        for row in ledger.store.read(ledger.tenant, run, after=after)
    ]
