"""The act of the demonstration in which a payment waits for a person, and no process waits with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from ledger import Actor, Contract, Source
from ledger.adapters.demo import payer, spender
from ledger.adapters.demo.processes import output, started, told
from ledger.application.ledger import Ledger
from ledger.errors import StoreError
from ledger.events import EffectIntended
from ledger.run.contract import Approval

RUN = "refund-18"
POLICY = "policy:payments"
REVISION = "1"
BY = "human:kim"
APPROVER = "human:lee"
AMOUNT = "480.00"
TOO_MUCH = "1200.00"
RULES: dict[str, dict[str, Any]] = {
    "ask-above-100": {
        "text": "Above 100 EUR a person approves each payment.",
        "rule": {
            "tools": [spender.TOOL],
            "when": [{"path": "/amount", "operator": "gt", "value": 100}],
            "needs_approval": True,
        },
    },
    "never-above-1000": {
        "text": "Never pay more than 1000 EUR at once.",
        "rule": {
            "tools": [spender.TOOL],
            "require": [{"path": "/amount", "operator": "le", "value": 1000}],
        },
    },
}


class Consent(NamedTuple):
    """What happened around a payment that a person had to approve."""

    asked: int
    """Process that would have paid, and ended."""
    refused: dict[str, Any]
    """What it was told of a payment that breaks a rule."""
    told: tuple[str, ...]
    """The approval that it was told of, each time it called."""
    left: Contract
    """The contract as it ended: with what waits."""
    request: Approval
    """What the person was asked."""
    paid: int
    """Process that paid."""
    receipts: tuple[dict[str, Any], ...]
    """What it was told of the payment, each time it called."""
    intended: int
    """Position of the intention that names the approval."""
    charges: list[dict[str, Any]]
    """The payment server's own record of this order, in the end."""


def play(ledger: Ledger, path: Path, url: str) -> Consent:
    """Let one process ask for a payment and end, a person approve it, and another process make it.

    Raises:
        StoreError: a process of the demonstration ended by itself, or paid what it must not.
    """
    _open(ledger)
    first = _spend(path, url, TOO_MUCH, AMOUNT, AMOUNT)
    left = ledger.contract(RUN)
    if [*map(_outcome, first)] != ["refused", "waits", "waits"] or _charged(url):
        raise StoreError("the demonstration paid what its rules do not allow")
    (request,) = left.approvals
    ledger.approve(request.id, by=APPROVER, actor=Actor(APPROVER))
    second = _spend(path, url, AMOUNT, AMOUNT)
    if {*map(_outcome, second)} != {"receipt"}:
        raise StoreError("the demonstration did not pay what a person approved")
    (intended,) = (
        record.position
        for record in ledger.log(RUN)
        if isinstance(record.event, EffectIntended) and record.event.approval == request.id
    )
    return Consent(
        asked=first[0]["pid"],
        refused=first[0]["refused"],
        told=tuple(said["waits"]["id"] for said in first[1:]),
        left=left,
        request=request,
        paid=second[0]["pid"],
        receipts=tuple(said["receipt"] for said in second),
        intended=intended,
        charges=_charged(url),
    )


def _open(ledger: Ledger) -> None:
    ledger.source(POLICY).publish(REVISION, RULES, by=BY)
    run = ledger.open_run(RUN, goal="Refund order 18", owner=BY, actor=spender.AGENT)
    kind, _, name = POLICY.partition(":")
    for id, said in RULES.items():  # the rule comes with the words of its source
        run.accept(id, said["text"], source=Source(kind, name, revision=REVISION), asserted_by=BY)


def _spend(path: Path, url: str, *amounts: str) -> list[dict[str, Any]]:
    with started(spender, str(path), url, RUN, *amounts) as process:
        said = list(told(output(process)))
        if process.wait() or len(said) != len(amounts):
            raise StoreError("a payer of the demonstration failed", exit_code=process.returncode)
    return said


def _outcome(said: dict[str, Any]) -> str:
    return next(name for name in ("refused", "waits", "receipt") if name in said)


def _charged(url: str) -> list[dict[str, Any]]:
    return [charge for charge in payer.charges(url) if charge["order"] == spender.ORDER]
