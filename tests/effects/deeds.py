"""One act for each recovery, the outside that does it, and how that one's own record is counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

from ledger import Happened, NotHappened, Outcome, Recovery, Tool
from ledger.adapters.http_client import DEFINITE_ERRORS, IdempotentClient
from ledger.gateway.current import CurrentEffect
from ledger.gateway.tools import declare
from tests.outside import mails, orders, payments
from tests.outside.outside import Outside

LEASE = 3600
"""Seconds: so long that no worker of a test loses one while it is alive, however busy the machine is."""
SETTLE = 60
DEDUPES = 10 * LEASE
FRESH = 2 * LEASE


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def mail(port: int) -> Tool:
    """Send a mail: who took one cannot be asked for it, and takes it again."""

    def send_mail(to: str, *, effect: CurrentEffect) -> dict[str, str]:
        mails.send(port, effect.key, to, "Your refund")
        return {"to": to}

    return declare(send_mail, recovery=Recovery.AT_MOST_ONCE, lease_seconds=LEASE)


def refund(port: int) -> Tool:
    """Move money through a service that dedupes nothing and can be asked."""

    def pay(order: str, amount: int, *, effect: CurrentEffect) -> dict[str, Any]:
        return told(payments.charge(_url(port), effect.key, amount, order))

    def find(key: str, args: Mapping[str, Any]) -> Happened | NotHappened:
        found = payments.find(_url(port), key)
        return NotHappened() if found is None else Happened(told(found), external_ref=found.id)

    def told(charge: payments.Charge) -> dict[str, Any]:
        return {"id": charge.id, "amount": charge.amount}

    return declare(pay, recovery=Recovery.QUERYABLE, probe=find, settle_seconds=SETTLE, lease_seconds=LEASE)


def order(port: int) -> Tool:
    """Order at a shop that does each key once, as long as it remembers it."""

    def place_order(of: str) -> dict[str, Any]:
        with IdempotentClient(base_url=_url(port), trust_env=False, verify=False) as http:
            return {"id": http.post("/orders", json={"of": of}).json()["id"]}

    return declare(
        place_order,
        recovery=Recovery.IDEMPOTENT,
        dedupes_for=DEDUPES,
        definite_errors=DEFINITE_ERRORS,
        lease_seconds=LEASE,
    )


def model(port: int) -> Tool:
    """Buy an answer of a model, which is sold as often as somebody asks."""

    def ask_model(prompt: str) -> Outcome:
        bought = orders.order(_url(port), "", {"prompt": prompt})
        return Outcome({"answer": bought.id}, cost={"EUR": "0.01", "tokens": 12})

    return declare(ask_model, recovery=Recovery.READ_ONLY, fresh_for=FRESH)


@dataclass(frozen=True)
class Deed:
    """An act as a test performs it."""

    outside: str
    """Name of the fixture."""
    tool: Callable[[int], Tool]
    """Declares the tool that acts on the outside on this port."""
    args: Mapping[str, Any]
    record: Callable[[Outside], list[Any]]
    """Reads what the outside did."""


DEEDS = {
    "at_most_once": Deed("mail_server", mail, {"to": "kim@example.org"}, mails.mails),
    "queryable": Deed(
        "payment_server",
        refund,
        {"order": "17", "amount": 1000},
        lambda server: payments.charges(server.url),
    ),
    "idempotent": Deed("order_server", order, {"of": "tea"}, lambda server: orders.orders(server.url)),
    "read_only": Deed(
        "order_server", model, {"prompt": "How are you?"}, lambda server: orders.orders(server.url)
    ),
}


def before_each_call(tool: Tool, hook: Callable[[], object]) -> Tool:
    """Return the same tool, which calls a hook before its function."""
    function = tool.function
    assert function is not None

    @wraps(function)
    def hooked(**args: Any) -> Any:
        hook()
        return function(**args)

    return replace(tool, function=hooked)
