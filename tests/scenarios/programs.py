"""The programs of the scenarios. Each function is a process; it reports through a pipe."""

from __future__ import annotations

from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path

from ledger import Actor, open_ledger
from ledger.errors import LedgerError
from ledger.testing import Clock
from tests.effects.hooked import hooked
from tests.scenarios.model import work
from tests.scenarios.scene import KIM, PROGRAM, RUN
from tests.scenarios.till import Till, for_ever

Place = Path | str
PAID = "paid, and not answered"
RECORDED = "recorded, and the next step not begun"


def _nothing() -> None:
    """Go on."""


def work_and_stop(
    place: Place, clock: Clock, path: Path, recovery: str, moment: str, reports: Connection
) -> None:
    """Follow the goal, and stop for ever at the first order, at a moment."""

    def stop() -> None:
        reports.send(moment)
        for_ever()

    with open_ledger(place, clock=clock, actor=PROGRAM) as ledger:
        run = ledger.run(RUN)
        run.move("begun")
        till = Till(path, stop if moment == PAID else _nothing)
        work(run, run.contract.to_prompt(), (), till, recovery, stop if moment == RECORDED else _nothing)


def resume_at_once(
    place: Place, clock: Clock, session: str, rounds: int, begin: Barrier, reports: Connection
) -> None:
    """Ask for each of some runs whether it may go on, at once with another process; then work on it."""
    actor = Actor(PROGRAM.id, session=session)
    with open_ledger(place, clock=clock, actor=actor, busy_seconds=60) as ledger:
        for number in range(rounds):
            name = f"r-{number}"
            begin.wait()
            found = ledger.resume(name)
            begin.wait()
            works: str | None = None
            if found.run is not None:
                try:
                    found.run.move(f"by-{session}")
                    works = "works"
                except LedgerError as error:
                    works = type(error).__name__
            kinds = [one.kind for one in found.reasons]
            reports.send((name, found.verdict.value, kinds, works))
            begin.wait()


def restart_at_once(
    place: Place, clock: Clock, name: str, rounds: int, begin: Barrier, reports: Connection
) -> None:
    """Restart each run of a list at the same time as another process, each under a name of its own."""
    with open_ledger(place, clock=clock, actor=KIM, busy_seconds=60) as ledger:
        for number in range(rounds):
            begin.wait()
            try:
                run = ledger.restart(f"r-{number}", as_=f"r-{number}-{name}", reason="gone", by="human:kim")
                reports.send((number, run.id))
            except LedgerError as error:
                reports.send((number, type(error).__name__))


def stopped_around(
    place: Place, clock: Clock, what: str, names: frozenset[str], before: bool, reports: Connection
) -> None:
    """Resume or restart the run, and stop for ever before or after the append that records it."""

    def stop() -> None:
        reports.send("stopped")
        for_ever()

    ledger, store = hooked(place, clock)
    (store.before if before else store.after)(names, stop)
    if what == "restart":
        ledger.restart(RUN, as_="refund-17b", reason="gone", by="human:kim", actor=KIM)
    else:
        ledger.resume(RUN, actor=PROGRAM)
    reports.send("not stopped")
