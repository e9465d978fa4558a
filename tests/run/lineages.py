"""What tests of lineages say and ask: a source, and the commands that open other runs."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

from ledger import commands as c
from ledger import events as e
from ledger.run.contract import Contract
from ledger.testing import History, given_source
from ledger.values import Actor, Published
from tests.run import examples as x

Run = History[Contract | None]

PROGRAM = Actor("agent:refunds", session="s-1")
KIM = Actor("human:kim")
EUR = "EUR"
DAY = timedelta(days=1)
REFUNDS = given_source(
    "policy:refunds",
    x.published(Published(id="limit-100", text=x.LIMIT), Published(id="kind", text="Be kind")),
)
WITHDRAWN = REFUNDS.by(KIM).when(c.WithdrawAtSource(by="human:kim", id="limit-100", reason="replaced")).after


def eur(amount: str) -> dict[str, Decimal]:
    return {EUR: Decimal(amount)}


def published(id: str, text: str) -> e.ConstraintAccepted:
    return x.accepted(id, text=text, source=x.POLICY, source_position=1, published=True)


def restart(**more: Any) -> c.RestartRun:
    return c.RestartRun(**{"as_run": "run-2", "by": "human:kim", "reason": "it cannot go on", **more})


def child(**more: Any) -> c.OpenChild:
    return c.OpenChild(**{"as_run": "kid", "goal": "Mail the customer", **more})


def fork(at: int, **more: Any) -> c.ForkRun:
    return c.ForkRun(**{"as_run": "run-2", "at": at, **more})
