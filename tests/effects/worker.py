"""The processes of the tests of effects. Each function is one; it reports through a pipe.

They are forked from a server that has loaded the ledger, so that each begins at once.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any, NoReturn

from ledger import Actor, Ledger, Retry
from ledger.application.edge import Edge
from ledger.errors import EffectFailed, LedgerError
from ledger.stores.opening import open_store
from ledger.testing import START, Clock
from tests.effects.deeds import DEEDS, before_each_call
from tests.effects.hooked import CLAIM, EVIDENCE, OUTCOME, hooked

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(
    ["tests.effects.worker", "ledger.stores.postgres.store", "ledger.stores.sqlite"]
)

BEFORE = "before anything is stored"
ASKED = "asked, the answer is not stored"
CLAIMED = "claimed, not called"
ARRIVED = "called, not done yet"
DONE = "done, not answered"
ANSWERED = "answered, not stored"
STORED = "stored, not heard"


def start(target: Callable[..., None], *arguments: object) -> tuple[BaseProcess, Connection]:
    """Start a function in a process of its own, with a pipe for its reports as the last argument."""
    reports, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=target, args=(*arguments, sender), daemon=True)
    process.start()
    sender.close()
    return process, reports


def perform_and_stop(
    place: Path | str, run: str, recovery: str, port: int, moment: str, seconds: int, reports: Connection
) -> None:
    """Perform the act of a recovery, and stop for ever at a moment; where an outside holds it, by itself.

    `seconds` is what its clock shows.
    """

    def stop() -> NoReturn:
        reports.send(moment)
        while True:
            threading.Event().wait()

    deed = DEEDS[recovery]
    tool = deed.tool(port)
    ledger, store = hooked(place, Clock(START + timedelta(seconds=seconds)))
    if moment == BEFORE:
        store.before(CLAIM, stop)
        if recovery == "read_only":
            tool = before_each_call(tool, stop)
    if moment == ASKED:
        store.before(EVIDENCE, stop)
    if moment == CLAIMED:
        store.after(CLAIM, stop)
    if moment == ANSWERED:
        store.before(OUTCOME, stop)
    if moment == STORED:
        store.after(OUTCOME, stop)
    reports.send(ledger.run(run).perform(tool, deed.args))


def reconcile_and_stop(
    place: Path | str, run: str, port: int, moment: str, seconds: int, reports: Connection
) -> None:
    """Send again what an idempotent act left, and stop for ever at a moment.

    `seconds` is what its clock shows.
    """

    def stop() -> NoReturn:
        reports.send(moment)
        while True:
            threading.Event().wait()

    tool = DEEDS["idempotent"].tool(port)
    if moment == CLAIMED:
        tool = before_each_call(tool, stop)
    ledger, store = hooked(place, Clock(START + timedelta(seconds=seconds)), tool)
    if moment == ANSWERED:
        sent = before_each_call(tool, lambda: store.before(EVIDENCE, stop))
        ledger.register(sent)
    if moment == STORED:
        sent = before_each_call(tool, lambda: store.after(EVIDENCE, stop))
        ledger.register(sent)
    reports.send([one.found for one in ledger.reconcile(run)])


def perform_at_once(
    place: Path | str,
    run: str,
    recovery: str,
    port: int,
    threads: int,
    wait_seconds: float,
    begin: Barrier,
    reports: Connection,
) -> None:
    """Let many threads perform one act at the same time; report before each call, and what each came to.

    Every second one has the run to itself, the others share a handle and so speak together.
    """
    deed = DEEDS[recovery]
    tool = deed.tool(port)
    ledger, _ = hooked(place)
    shared = ledger.run(run)
    sending = threading.Lock()

    def tell(report: object) -> None:
        with sending:
            reports.send(report)

    def perform(number: int) -> None:
        handle = shared if number % 2 else hooked(place)[0].run(run)
        begin.wait()
        tell("begins")
        try:
            tell(handle.perform(tool, deed.args, wait_seconds=wait_seconds))
        except LedgerError as error:
            tell(error)

    workers = [threading.Thread(target=perform, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def be_refused_and_end_in_the_pause(place: Path | str, run: str, reports: Connection) -> None:
    """Perform what the outside refuses, and end without a word where another attempt is waited for."""

    def refuse(order: int, *, effect: Any) -> None:
        reports.send(f"attempt {effect.attempt}")
        raise ValueError("no such order")

    def end(seconds: float) -> NoReturn:
        os._exit(0)

    with Ledger(Edge(open_store(place), "default", Actor("service:tests"), wait=end)) as ledger:
        try:
            ledger.run(run).perform(
                "refund", {"order": 17}, refuse, definite_errors=ValueError, retry=Retry(3, backoff=0)
            )
        except EffectFailed as error:
            reports.send(type(error).__name__)


def drain(reports: Connection) -> list[Any]:
    """Read all reports until the process ends."""
    found: list[Any] = []
    with suppress(EOFError, OSError):
        while True:
            found.append(reports.recv())
    return found
