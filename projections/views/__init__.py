"""What is open now across all runs, as values: who owes what, what nobody knows, who may act, who waits.

    from projections.views import obligations

    with open_ledger("ledger.db") as ledger:
        for owed in obligations(ledger, overdue=True).rows:
            print(owed.run, owed.text, owed.due)

A view first lets the projection `runs` catch up, as `projections.asking.ask` does, and says as of which
global position it holds; each row names the position of its run that it comes from. What only time changes is
judged by `now`. A run that was restarted owes and intends nothing any more: its successor does.

Each function takes, beside its own filters:

- `run`: only this run.
- `now`: the time to judge by; None: the ledger's clock.
- `catch_up`: False: take what is handled.
- `progress`: told how far the projection is.

Each raises what `ask` raises: RunNotFound, ProjectionStopped, ProjectionBehind, ProjectionAhead.
"""

from projections.views.approvals import Demand, Requested, approvals
from projections.views.base import Asking, View
from projections.views.constraints import InForce, constraints
from projections.views.effects import OpenEffect, effects
from projections.views.grants import Granted, grants
from projections.views.obligations import Owed, obligations
from projections.views.runs import Listed, runs

__all__ = [
    "Asking",
    "Demand",
    "Granted",
    "InForce",
    "Listed",
    "OpenEffect",
    "Owed",
    "Requested",
    "View",
    "approvals",
    "constraints",
    "effects",
    "grants",
    "obligations",
    "runs",
]
