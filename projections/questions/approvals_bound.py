"""Whether a request still bound to what it was asked under as it was answered.

Which terms were in force at an answer no row says: they can change and be again what they were. So a run is
folded, where anything was answered in it.
"""

from __future__ import annotations

from ledger.errors import IntegrityError, UndecodableRecord
from ledger.events import ApprovalAnswered
from ledger.record import Record
from ledger.run.approvals import why_unbound
from ledger.run.contract import Contract, by_id
from ledger.run.state import replay
from projections.questions.base import Asked

_AT_ONCE = 500
"""Records that are held before they are folded."""


class Bindings:
    """Tells of answers whether terms, plan and runtime were those that the request was asked under."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._known: dict[str, dict[int, int]] = {}

    def bound(self, run: str, answered: int | None) -> int | None:
        """Return 1 where the request that is answered at a position bound then, else 0; None: not told."""
        if answered is None:
            return None
        if run not in self._known:
            try:
                self._known[run] = self._read(run)
            except (IntegrityError, UndecodableRecord) as error:
                self._known[run] = {}
                self._asked.note(f"whether approvals of {run!r} bound is not told: {error}")
        return self._known[run].get(answered)

    def _read(self, run: str) -> dict[int, int]:
        """Fold a run up to each of its answers, in one pass over its records."""
        found: dict[int, int] = {}
        contract: Contract | None = None
        between: list[Record] = []
        for record in self._asked.records(run):
            event = record.event
            if isinstance(event, ApprovalAnswered) or len(between) >= _AT_ONCE:
                contract, between = replay(between, contract), []
            if isinstance(event, ApprovalAnswered) and contract is not None:
                request = by_id(contract.approvals, event.id)
                if request is not None:
                    found[record.position] = int(why_unbound(contract, request) is None)
            between.append(record)
        return found
