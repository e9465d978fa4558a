"""Many programs that write at once, in processes of their own, and one that follows until it is killed.

The last argument of each is a pipe for reports.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

from ledger import Actor, Ledger, Recovery, open_ledger
from ledger.errors import EffectFailed, OutcomeUnknown, PositionConflict
from projections.built_in import BUILT_IN
from projections.runner import Runner
from tests.projections.samples import Counts
from tests.stores.builder import together

FOLLOWED = (Counts(), BUILT_IN["runs"], BUILT_IN["effects"])
LEASE_SECONDS = 0.5


class Declined(Exception):
    """The outside did nothing."""


def opened(place: Path | str) -> Ledger:
    """Open the ledger of a place."""
    return open_ledger(place, actor=Actor("service:tests"), busy_seconds=120)


def write(place: Path | str, name: str, threads: int, rounds: int, reports: Connection) -> None:
    """Let some threads live at once, each in a run of its own and in one that all share; report the end."""
    with opened(place) as ledger:
        together(*(partial(live, ledger, f"{name}-{number}", rounds) for number in range(threads)))
    reports.send("done")


def live(ledger: Ledger, run: str, rounds: int) -> None:
    """Promise, pay and keep promises in a run of one's own, then say something in the one that all share."""
    own = ledger.open_run(run, "goal", about=[f"case:{run}"])
    shared = ledger.run("shared")
    for number in range(rounds):
        own.accept("limit", f"Never more than {number}", asserted_by="human:kim")
        own.promise(f"p-{number}", "Mail", owed_to="customer:17")

        def pay(number: int) -> dict[str, int]:
            if number % 3 == 1:
                raise Declined("not today")
            if number % 3 == 2:
                raise OutcomeUnknown("the line was cut")
            return {"paid": number}

        with suppress(EffectFailed, OutcomeUnknown):
            own.perform(
                "pay", {"number": number}, pay, recovery=Recovery.AT_MOST_ONCE, definite_errors=Declined
            )
        own.discharge(f"p-{number}", evidence="sent")
        own.withdraw("limit", reason="it was wrong", by="human:kim")
    while True:
        # So many say something at once that some lose every race for a while.
        with suppress(PositionConflict):
            shared.assume(run, "It is so")
            return


def follow(place: Path | str, reports: Connection) -> None:
    """Follow until this process is killed; report whenever something was handled."""
    with opened(place) as ledger:
        runner = Runner(ledger, FOLLOWED, page=7, lease_seconds=LEASE_SECONDS)

        def told(_: object) -> None:
            with suppress(OSError):
                reports.send("works")

        runner.run(progress=told)
