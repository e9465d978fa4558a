"""Appending events to a run whose position is known: what an import does once it has looked where the run is.

Effects have no commands yet that are decided, so theirs and guarded appends are measured from the event on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ledger import Ledger
from ledger.application.kind import Found
from ledger.application.kinds import RUN
from ledger.application.ledger import edge_of
from ledger.application.statements import Context, Stated
from ledger.application.steps import blocking
from ledger.application.tip import Tip
from ledger.events import Event, RunOpened
from ledger.run.contract import Contract


class Held:
    """A run that one writer appends events to, as they are."""

    def __init__(self, ledger: Ledger, run: str) -> None:
        self._store = ledger.store
        self._context = Context(ledger.actor)
        self._tip: Tip[Contract | None] = Tip(edge_of(ledger), run, RUN, Found(None))
        self.append([RunOpened(goal="goal")])

    def append(self, events: Sequence[Event], guards: Mapping[str, int] | None = None) -> Stated:
        """Append events together, relying on source streams to stand at these positions."""
        return blocking(self._store, self._tip.import_events(events, self._context, guards or {}))
