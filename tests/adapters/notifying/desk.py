"""A run that asks for approvals, and a receiver that people could be behind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from threading import Event

from ledger import Ledger, Run
from ledger.adapters.notifying import Notice
from ledger.errors import ApprovalRequired


def pay(order: int, amount: str = "10.00") -> dict[str, int]:
    return {"paid": order}


def opened(ledger: Ledger, name: str = "shop") -> Run:
    return ledger.open_run(name, "Pay what is due")


def ask(run: Run, order: int, seconds: int | None = None) -> str:
    """Let a run ask for the approval of a payment; return the id of the request."""
    with suppress(ApprovalRequired):
        run.perform("pay", {"order": order}, pay, needs_approval=True, approval_seconds=seconds)
    return next(one.id for one in reversed(run.contract.approvals))


class Desk:
    """A receiver that keeps what it is told, and takes only what `takes` says."""

    def __init__(self, takes: Callable[[Notice], bool] = lambda notice: True) -> None:
        self.takes = takes
        self.tried: list[str] = []
        self.told: list[Notice] = []
        self.was_tried = Event()

    def __call__(self, notice: Notice) -> None:
        self.tried.append(notice.approval)
        self.was_tried.set()
        if not self.takes(notice):
            raise ConnectionError("nobody is at the desk")
        self.told.append(notice)

    @property
    def ids(self) -> list[str]:
        """What was told, in order."""
        return [notice.approval for notice in self.told]
