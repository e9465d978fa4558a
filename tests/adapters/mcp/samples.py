"""For each tool that says something, what makes it possible, and a call that succeeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from ledger import Actor, Ledger, Source, Tool
from ledger.errors import ApprovalRequired

AT = "2026-01-31T09:00:00Z"
KIM = Actor("human:kim")
RUN = "r"


def prepare(ledger: Ledger) -> None:
    """Open a run in which every sample is possible, each by itself."""
    ledger.source("policy:refunds").publish("1", {"limit": "At most 100 EUR"}, by="human:kim")
    run = ledger.open_run(
        RUN, "Refund order 17", owner="human:kim", actor=Actor("agent:refunds", session="s-1")
    )
    run.accept(
        "limit",
        "At most 100 EUR",
        source=Source("policy", "refunds", revision="1"),
        asserted_by="human:kim",
    )
    run.assume("in-stock", "It is in stock")
    run.promise("tell", "Mail the customer", owed_to="customer:17")
    run.observe("stock", 3, tool="count", observed_at=datetime(2026, 1, 31, tzinfo=UTC))
    run.record_message("m1", "user", "Where is my money?")
    ledger.run(RUN, actor=KIM).grant("g", principal="agent:refunds", scopes=["*"], granted_by="human:kim")
    pay = ledger.register(Tool("pay", lambda order: order, needs_approval=True))
    with suppress(ApprovalRequired):
        run.perform(pay, {"order": 17})
    ledger.source("policy:refunds").publish("2", {"limit": "At most 100 EUR"}, by="human:kim")


def _planned(ledger: Ledger) -> None:
    ledger.run(RUN).commit_plan(["look-up"])


def _key(ledger: Ledger) -> dict[str, Any]:
    (waiting,) = ledger.contract(RUN).approvals
    return {"key": waiting.key, "expires_at": "2100-01-01T00:00:00Z"}


FIRST: Mapping[str, Callable[[Ledger], None]] = {"plan_revise": _planned}
"""What has to be said before, by tool."""

FOUND: Mapping[str, Callable[[Ledger], dict[str, Any]]] = {"approval_request": _key}
"""Arguments that only the ledger knows."""

SAMPLES: Mapping[str, dict[str, Any]] = {
    "run_open": {"run": "new", "goal": "Refund order 18", "labels": {"team": "refunds"}},
    "run_suspend": {"reason": "lunch"},
    "run_fork": {"as_run": "fork", "at": 2},
    "run_open_child": {"as_run": "child", "goal": "Look up order 17", "grants": [{"id": "g"}]},
    "run_close": {"outcome": "failed", "reason": "no money", "result": {"refunded": "0.00"}},
    "goal_revise": {"text": "Refund order 17, tell them", "reason": "they asked", "by": "human:kim"},
    "plan_commit": {"steps": [{"name": "look-up", "tool": "count"}, {"name": "refund"}]},
    "plan_revise": {"steps": [{"name": "refund"}], "reason": "it is known"},
    "constraint_accept": {
        "id": "mine",
        "text": "Never on Sundays",
        "asserted_by": "human:kim",
        "rule": {"tools": ["pay"], "require": [{"path": "/order", "operator": "lt", "value": 100}]},
    },
    "constraint_acknowledge_revision": {
        "source": {"kind": "policy", "name": "refunds", "revision": "2"},
        "by": "agent:refunds",
    },
    "assumption_make": {"id": "paid", "text": "They have paid", "rests_on": ["observation:stock"]},
    "assumption_refute": {"id": "in-stock", "evidence": "The shelf is empty"},
    "obligation_open": {"id": "call", "text": "Call them", "owed_to": "customer:17", "due": AT},
    "obligation_discharge": {"id": "tell", "evidence": "mail 4711"},
    "authority_revoke": {"id": "g", "by": "agent:refunds", "reason": "not needed"},
    "observation_record": {
        "key": "price",
        "tool": "look",
        "value": {"EUR": "10.00"},
        "args": {"order": 17},
        "observed_at": AT,
        "fresh_for": 60,
        "cost": {"EUR": "0.01"},
    },
    "observation_invalidate": {"key": "stock", "reason": "counted wrongly"},
    "approval_request": {},
    "cursor_move": {"node": "refund", "round": 2, "next": ["tell"], "visited": {"refund": 1}},
    "message_record": {"id": "m2", "role": "assistant", "content": [{"text": "On its way"}], "tokens": 9},
    "message_summarise": {"through": "m1", "content": "They want their money"},
}
"""By tool; `run` is `RUN` where it is not named."""
