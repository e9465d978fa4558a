"""An act that a person has to approve, and how a test lets somebody ask and answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ledger import Actor, Ledger, Tool
from ledger.application.edge import Edge
from ledger.errors import ApprovalRequired
from ledger.gateway.tools import declare
from tests.application.conftest import SetClock
from tests.application.performing import Outside

PROGRAM = Actor("agent:refunds", session="s-1")
KIM, LEE = "human:kim", "human:lee"
ARGS = {"order": 17}

WAITS = ["effect.intended", "approval.requested"]
"""What is recorded of an act that waits."""
ACTS = ["effect.intended", "effect.started", "effect.succeeded"]
"""What is recorded of it once it was approved."""


def paying(outside: Callable[..., Any], **declared: Any) -> Tool:
    """Declare a tool whose acts a person has to approve."""

    def pay(order: int, note: str = "") -> Any:
        return outside(order=order)

    return declare(pay, name="pay", **{"needs_approval": True, **declared})


def opened(store: Any, clock: SetClock, tools: Sequence[Tool] = (), **edge: Any) -> Ledger:
    """Open a ledger on a store, as a process of its own would: it remembers nothing of others."""
    options: dict[str, Any] = {"pause": lambda attempt: None, **edge}
    return Ledger(Edge(store, "default", Actor("service:tests"), clock, **options), tools=tools)


def asks(ledger: Ledger, run: str = "r", args: Any = None, **options: Any) -> ApprovalRequired:
    """Let the program perform the act; return how it is told that a person has to approve it."""
    with pytest.raises(ApprovalRequired) as asked:
        ledger.run(run, actor=PROGRAM).perform("pay", ARGS if args is None else args, **options)
    return asked.value


def performs(ledger: Ledger, run: str = "r", args: Any = None, **options: Any) -> Any:
    return ledger.run(run, actor=PROGRAM).perform("pay", ARGS if args is None else args, **options)


def begin(ledger: Ledger, run: str = "r") -> None:
    ledger.open_run(run, "Refund order 17", actor=PROGRAM)


__all__ = ["ACTS", "ARGS", "KIM", "LEE", "PROGRAM", "WAITS", "Outside"]
