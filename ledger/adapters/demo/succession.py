"""The act of the demonstration in which a rule is withdrawn while the run sleeps, and a successor goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ledger import Actor, Contract, Record
from ledger.adapters.demo import payer, worker
from ledger.adapters.demo.processes import output, started, told
from ledger.application.ledger import Ledger
from ledger.application.resuming import Resumption
from ledger.application.runs import Run
from ledger.errors import RunIsHeld, StoreError

SUCCESSOR = "refund-17-b"
WITHDRAWN = "limit-100"
WHY = "replaced by a limit of 50 EUR"
_PERSON = Actor("human:kim")
_AGENT = Actor("agent:refunds", session="session-1")


class Succession(NamedTuple):
    """What happened after the run was put to sleep."""

    refused: Resumption[Run]
    """What the gate said."""
    held: str
    """What an act of the held run came to."""
    begun: Record
    """How the successor began: what it inherits, and what it was not given."""
    contract: Contract
    """The successor's contract after it had done its work."""
    process: int
    """The process that went on."""
    receipt: dict[str, Any]
    """What it was told of the payment."""
    charges: list[dict[str, Any]]
    """The payment server's own record, in the end."""


def play(ledger: Ledger, path: Path, url: str) -> Succession:
    """Put the run to sleep, withdraw a rule it relies on, and let a successor go on.

    Raises:
        StoreError: a process of the demonstration ended by itself, or the gate let the run go on.
    """
    ledger.run(worker.RUN).suspend(reason="the shop is closed over night", by="human:kim")
    ledger.source(worker.POLICY).withdraw(WITHDRAWN, reason=WHY, by="human:kim")
    refused = ledger.resume(worker.RUN, actor=_AGENT)
    if refused:
        raise StoreError("the gate of the demonstration let a run go on whose rule was withdrawn")
    held = _try_anyway(ledger)
    ledger.restart(worker.RUN, as_=SUCCESSOR, reason=WHY, by="human:kim", actor=_PERSON)
    with started(payer, str(path), url, SUCCESSOR) as process:
        said = list(told(output(process)))
        if process.wait() or not said or "receipt" not in said[-1]:
            raise StoreError("the successor of the demonstration failed", exit_code=process.returncode)
    (begun,) = ledger.log(SUCCESSOR, after=1, upto=2)
    return Succession(
        refused=refused,
        held=held,
        begun=begun,
        contract=ledger.contract(SUCCESSOR),
        process=said[-1]["pid"],
        receipt=said[-1]["receipt"],
        charges=payer.charges(url),
    )


def _try_anyway(ledger: Ledger) -> str:
    try:
        ledger.run(worker.RUN, actor=_AGENT).move("refund", round=99)
    except RunIsHeld as error:
        return str(error)
    raise StoreError("a run that the gate of the demonstration held went on")
