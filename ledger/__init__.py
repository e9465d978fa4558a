"""An event-sourced ledger of agent runs: what a run means, not only where it stands.

    from ledger import open_ledger, Actor

    with open_ledger("runs.db") as ledger:
        run = ledger.open_run("refund-17", goal="Refund order 17", actor=Actor("agent:refunds"))
        run.accept("limit-100", "Never refund more than 100 EUR", asserted_by="human:kim")
        run.contract.constraints

What `__all__` lists is public; the rest may move.
"""

# Layers, from the bottom: errors, canonical, values, events and commands, record, codec, run (the pure core:
# decide and evolve), integrity, stores, application, aio, adapters.

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ledger.aio import AsyncLedger, AsyncRun, AsyncSourceHandle, open_async_ledger
    from ledger.application.ledger import Ledger
    from ledger.application.loaded import Loaded
    from ledger.application.opening import open_ledger
    from ledger.application.query import Page, RunQuery, RunSummary
    from ledger.application.readers import Reading
    from ledger.application.refreshing import Refreshed
    from ledger.application.resuming import Resumption
    from ledger.application.runs import Run
    from ledger.application.sources import SourceHandle
    from ledger.application.statements import Stated
    from ledger.commands import Carve
    from ledger.errors import LedgerError
    from ledger.events import Reason
    from ledger.gateway.answers import Happened, NotHappened, Outcome
    from ledger.gateway.current import CurrentEffect, current_effect
    from ledger.gateway.tools import Retry, Tool, tool
    from ledger.record import Record
    from ledger.run.brief import Brief
    from ledger.run.contract import Contract
    from ledger.run.diff import Diff, Difference
    from ledger.run.history import EffectHistory
    from ledger.run.permission import Permission
    from ledger.secrets import Secrets
    from ledger.values import (
        Actor,
        Change,
        Ending,
        Limits,
        Published,
        Recovery,
        Rule,
        Runtime,
        SecretRef,
        Source,
        Step,
        Verdict,
    )

__all__ = [
    "Actor",
    "AsyncLedger",
    "AsyncRun",
    "AsyncSourceHandle",
    "Brief",
    "Carve",
    "Change",
    "Contract",
    "CurrentEffect",
    "Diff",
    "Difference",
    "EffectHistory",
    "Ending",
    "Happened",
    "Ledger",
    "LedgerError",
    "Limits",
    "Loaded",
    "NotHappened",
    "Outcome",
    "Page",
    "Permission",
    "Published",
    "Reading",
    "Reason",
    "Record",
    "Recovery",
    "Refreshed",
    "Resumption",
    "Retry",
    "Rule",
    "Run",
    "RunQuery",
    "RunSummary",
    "Runtime",
    "SecretRef",
    "Secrets",
    "Source",
    "SourceHandle",
    "Stated",
    "Step",
    "Tool",
    "Verdict",
    "current_effect",
    "open_async_ledger",
    "open_ledger",
    "tool",
]

# Where each public name lives. A name is imported when it is first asked for, so that a program which only
# shows its help, or catches our errors, does not wait for what it does not use.
_HOMES = {
    "ledger.aio": ("AsyncLedger", "AsyncRun", "AsyncSourceHandle", "open_async_ledger"),
    "ledger.application.ledger": ("Ledger",),
    "ledger.application.opening": ("open_ledger",),
    "ledger.application.query": ("Page", "RunQuery", "RunSummary"),
    "ledger.application.loaded": ("Loaded",),
    "ledger.application.readers": ("Reading",),
    "ledger.application.refreshing": ("Refreshed",),
    "ledger.application.resuming": ("Resumption",),
    "ledger.application.runs": ("Run",),
    "ledger.application.sources": ("SourceHandle",),
    "ledger.application.statements": ("Stated",),
    "ledger.commands": ("Carve",),
    "ledger.errors": ("LedgerError",),
    "ledger.events": ("Reason",),
    "ledger.gateway.answers": ("Happened", "NotHappened", "Outcome"),
    "ledger.gateway.current": ("CurrentEffect", "current_effect"),
    "ledger.gateway.tools": ("Retry", "Tool", "tool"),
    "ledger.record": ("Record",),
    "ledger.run.brief": ("Brief",),
    "ledger.run.contract": ("Contract",),
    "ledger.run.diff": ("Diff", "Difference"),
    "ledger.run.history": ("EffectHistory",),
    "ledger.run.permission": ("Permission",),
    "ledger.secrets": ("Secrets",),
    "ledger.values": (
        "Actor",
        "Change",
        "Limits",
        "Ending",
        "Published",
        "Recovery",
        "Rule",
        "Runtime",
        "SecretRef",
        "Source",
        "Step",
        "Verdict",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # a type checker sees the imports above, and no name that is not there

    def __getattr__(name: str) -> Any:
        home = _HOME_OF.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(import_module(home), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted(__all__)
