"""Processes of the tests of approvals: each is one program that acts, and reports through a pipe."""

from __future__ import annotations

import threading
from datetime import timedelta
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import NoReturn

from ledger import Tool
from ledger.errors import ApprovalRequired, LedgerError
from ledger.gateway.tools import declare
from ledger.testing import START, Clock
from tests.effects.deeds import DEEDS, before_each_call
from tests.effects.hooked import CLAIM, OUTCOME, hooked
from tests.effects.worker import BEFORE, CLAIMED, STORED

REQUEST = frozenset({"approval.requested"})

ASKS = "about to ask"
ASKED = "asked, not heard"


def approved(tool: Tool, seconds: int | None = None) -> Tool:
    """Declare the same tool anew, whose acts a person has to approve."""
    assert tool.function is not None
    return declare(
        tool.function,
        name=tool.name,
        recovery=tool.recovery,
        probe=tool.probe,
        settle_seconds=tool.settle_seconds,
        dedupes_for=tool.dedupes_for,
        definite_errors=tool.definite_errors,
        lease_seconds=tool.lease_seconds,
        needs_approval=True,
        approval_seconds=seconds,
    )


def perform_and_stop(
    place: Path | str, run: str, recovery: str, port: int, moment: str, seconds: int, reports: Connection
) -> None:
    """Perform the act of a recovery, which a person approves, and stop for ever at a moment.

    `seconds` is what its clock shows. Where an outside holds it, it stops by itself; who is to be asked is
    reported.
    """

    def stop() -> NoReturn:
        reports.send(moment)
        while True:
            threading.Event().wait()

    deed = DEEDS[recovery]
    tool = approved(deed.tool(port))
    ledger, store = hooked(place, Clock(START + timedelta(seconds=seconds)))
    if moment == ASKS:
        store.before(REQUEST, stop)
    if moment == ASKED:
        store.after(REQUEST, stop)
    if moment == BEFORE:
        store.before(CLAIM, stop)
    if moment == CLAIMED:
        store.after(CLAIM, stop)
    if moment == STORED:
        store.after(OUTCOME, stop)
    try:
        reports.send(ledger.run(run).perform(tool, deed.args))
    except ApprovalRequired as asked:
        reports.send(asked.id)


def perform_at_once(
    place: Path | str, run: str, recovery: str, port: int, threads: int, begin: Barrier, reports: Connection
) -> None:
    """Let threads perform one act at the same time, each with the run to itself, twice.

    First all are told that a person has to approve it, and report that; when `begin` opens again they call
    once more.
    """
    deed, sending = DEEDS[recovery], threading.Lock()

    def tell(report: object) -> None:
        with sending:
            reports.send(report)

    def perform() -> None:
        tool = approved(before_each_call(deed.tool(port), lambda: tell("calls")))
        handle = hooked(place)[0].run(run)
        for _ in range(2):
            begin.wait()
            try:
                tell(handle.perform(tool, deed.args, wait_seconds=300.0))
            except LedgerError as error:
                tell(error)

    workers = [threading.Thread(target=perform) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
