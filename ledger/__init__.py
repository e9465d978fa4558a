"""An event-sourced ledger of agent runs: what a run means, not only where it stands.

from ledger import open_ledger, Actor

with open_ledger("runs.db") as ledger:
    run = ledger.open_run("refund-17", goal="Refund order 17", actor=Actor("agent:refunds"))
    run.accept("limit-100", "Never refund more than 100 EUR", asserted_by="human:kim")
    run.contract.constraints
"""

# Layers, from the bottom: errors, canonical, values, events and commands, record, codec, run (the pure core:
# decide and evolve), integrity, stores, application. What is listed here is public; the rest may move.

from ledger.application.ledger import Ledger
from ledger.application.opening import open_ledger
from ledger.application.query import Page, RunQuery, RunSummary
from ledger.application.runs import Loaded, Run
from ledger.application.sources import SourceHandle
from ledger.application.stream import Stated
from ledger.errors import LedgerError
from ledger.record import Record
from ledger.run.contract import Contract
from ledger.values import (
    Actor,
    Change,
    Limits,
    Outcome,
    Published,
    Recovery,
    Rule,
    Runtime,
    Source,
    Step,
    Verdict,
)

__all__ = [
    "Actor",
    "Change",
    "Contract",
    "Ledger",
    "LedgerError",
    "Limits",
    "Loaded",
    "Outcome",
    "Page",
    "Published",
    "Record",
    "Recovery",
    "Rule",
    "Run",
    "RunQuery",
    "RunSummary",
    "Runtime",
    "Source",
    "SourceHandle",
    "Stated",
    "Step",
    "Verdict",
    "open_ledger",
]
