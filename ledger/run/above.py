"""What was stopped above a run: nothing that acts on the outside begins in a part of what was stopped."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from ledger.run.contract import Contract
from ledger.run.decision import Refusal
from ledger.run.lineage import going_on_from
from ledger.run.markdown import quoted, shortened
from ledger.values import Ending

_ENDED = frozenset({Ending.ABANDONED, Ending.CANCELLED, Ending.FAILED})
"""How a run ends whose parts have nobody left to work for. What is completed has no part that is owed."""


def stopped_above(contract: Contract, others: Mapping[str, Contract]) -> Refusal | None:
    """Refuse what would begin in a part of a run that was stopped, or that ended without its parts.

    A run that was suspended by its own program may be waiting for its children, and stops none of them. What
    was opened after an end, as the successor that a person gave to a part, is bound by that end no more.

    Args:
        contract: of the run in which something would begin.
        others: among them the runs that it comes from, and those that succeed them; what is not there binds
            nobody.
    """
    since, one, seen = contract.opened_at, contract, {contract.run}
    while one.parent is not None and one.parent.relation != "fork":
        relation, above = one.parent.relation, others.get(one.parent.run)
        if above is None or above.run in seen:
            break
        seen.add(above.run)
        one = above
        if relation == "child":
            last = going_on_from(above, others)
            since = max(since, last.opened_at)
            refusal = _stopped_by(last, since)
            if refusal is not None:
                return refusal
    return None


def _stopped_by(one: Contract, since: datetime) -> Refusal | None:
    """Say in what way a run stops the parts of it, the newest of which was opened then."""
    ended, stop = one.closed, one.suspended
    if ended is not None:
        if ended.successor is not None or ended.outcome not in _ENDED or since > ended.at:
            return None
        what = f"was closed as {ended.outcome.value}: close this run, or have a person restart it"
        return _refusal(one, ended.position, what, outcome=ended.outcome.value)
    if stop is None or not stop.reaches_children:
        return None
    why = quoted(shortened(stop.reason))
    what = f"is suspended since its position {stop.position}: {why}; it has to go on first"
    return _refusal(one, stop.position, what, cause=stop.cause)


def _refusal(one: Contract, position: int, what: str, **evidence: str) -> Refusal:
    # The position is one of another run, and so no place that the refusal rests on in this one.
    found = {"run": one.run, "run_position": position, **evidence}
    return Refusal("run_is_held", f"{one.run!r}, of which this run is a part, {what}", evidence=found)
