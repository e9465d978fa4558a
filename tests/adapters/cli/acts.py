"""A ledger of acts on the outside, some of which nobody knows whether they happened, and their tools."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ledger import Recovery, Run, open_ledger
from ledger.errors import EffectFailed, OutcomeUnknown
from ledger.run.keys import effect_key
from tests.adapters.cli.ledgers import AGENT, ticking

BEGIN = datetime(2020, 1, 31, 9, 0, tzinfo=UTC)
"""So long ago that every lease has ended."""

SHOP = '''
"""The tools of a shop, and an outside that knows of the first refund alone."""

from ledger import Happened, NotHappened, tool

print("shop is imported")


def find_refund(key, args):
    print("shop is asked")
    if args["order"] == 1:
        return Happened({"id": "ch_1"}, external_ref="ch_1", evidence="charge ch_1 has the key")
    if args["order"] == 2:
        return NotHappened("no charge has the key")
    raise ConnectionError("refused sk_live_abcdefghijklmnopqrstuvwx")


@tool(recovery="queryable", probe=find_refund, settle_seconds=0)
def refund(order: int):
    raise AssertionError("a probe is asked, and nothing is done")


@tool
def mail(to: str):
    """Send a mail."""
'''

LEAK = "sk_live_abcdefghijklmnopqrstuvwx"
"""What looks like the key of a payment service."""


class Killed(BaseException):
    """Stands for the end of a process in the middle of a call."""


def killed(**args: Any) -> None:
    raise Killed


def refused(**args: Any) -> None:
    raise ValueError("card expired")


def leave_open(run: Run, tool: str, args: dict[str, Any], **options: Any) -> str:
    """Begin an act and die in the call; return its key."""
    with suppress(Killed):
        run.perform(tool, args, killed, **options)
    return run.contract.effects[-1].key


def key_of(run: str, tool: str, args: str, step: str | None = None) -> str:
    return effect_key("default", run, step, tool, None, args)


MAIL = key_of("refund-17", "mail", '{"to":"kim"}')
REFUNDS = [key_of("refund-17", "refund", f'{{"order":{n}}}', "pay") for n in (1, 2, 3)]
BOOKED = key_of("refund-17", "index", '{"page":1}')
FAILED = key_of("refund-17", "charge", '{"order":9}')
ORDER = key_of("desk", "order", '{"room":"b"}')


def make_acts(url: str | Path) -> None:
    """Make a ledger with three refunds, a mail and an order in doubt, and two acts that are settled."""
    with open_ledger(url, clock=ticking(BEGIN), actor=AGENT) as ledger:
        run = ledger.open_run("refund-17", "Refund orders")
        for number in (1, 2, 3):
            leave_open(
                run,
                "refund",
                {"order": number},
                step="pay",
                recovery=Recovery.QUERYABLE,
                probe=lambda key, args: None,
                settle_seconds=0,
            )
        with suppress(OutcomeUnknown):
            run.perform("mail", {"to": "kim"}, refused)
        run.perform("index", {"page": 1}, lambda page: {"entry": page}, recovery="idempotent", dedupes_for=60)
        with suppress(EffectFailed):
            run.perform("charge", {"order": 9}, refused, definite_errors=(ValueError,))
        leave_open(ledger.open_run("desk", "Order a room"), "order", {"room": "b"})


def begin_now(url: str | Path, run: str = "busy") -> str:
    """Let a worker hold the lease of an act for an hour from now; return its key."""
    with open_ledger(url, actor=AGENT) as ledger:
        return leave_open(ledger.open_run(run, "Ship"), "ship", {"parcel": 1}, lease_seconds=3600)
