"""What was stopped above a run: nothing that acts on the outside begins in a part of what was stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ledger.events import Dropped
from ledger.run.contract import Contract
from ledger.run.decision import Refusal
from ledger.run.markdown import quoted, shortened
from ledger.values import Ending

_ENDED = frozenset({Ending.ABANDONED, Ending.CANCELLED, Ending.FAILED})
"""How a run ends whose parts have nobody left to work for. What is completed has no part that is owed."""


def stopped_above(contract: Contract, others: Mapping[str, Contract]) -> Refusal | None:
    """Refuse what would begin in a part of a run that was stopped, or that ended without its parts.

    Args:
        contract: of the run in which something would begin.
        others: among them the runs that it comes from, and those that succeed them; what is not there binds
            nobody.
    """
    one = next(stops_above(contract, others), None)
    if one is None:
        return None
    ended, stop = one.closed, one.suspended
    if ended is not None:
        position, why = ended.position, {"outcome": ended.outcome.value}
        what = f"{stop_told(one)}: close {contract.run!r}, or have a person restart it"
    else:
        assert stop is not None
        position, why = stop.position, {"cause": stop.cause}
        what = f"{stop_told(one)}; it has to go on first"
    # The position is one of another run, and so no place that the refusal rests on in this one.
    return Refusal("run_is_held", what, evidence={"run": one.run, "run_position": position, **why})


def stops_above(contract: Contract, others: Mapping[str, Contract]) -> Iterator[Contract]:
    """Yield the runs that stop what would begin in a part of them, the nearest first.

    Those are suspended in a way that reaches their children, or ended without them. An end binds no more what
    a person has given a successor since, nor the parts of that.
    """
    freed = set(contract.freed_from)
    one, seen = contract, {contract.run}
    while one.parent is not None and one.parent.relation != "fork":
        relation, above = one.parent.relation, others.get(one.parent.run)
        if above is None or above.run in seen:
            return
        seen.add(above.run)
        freed.update(above.freed_from)
        one = above
        if relation == "child":
            last = above
            while (heir := _heir(last, others)) is not None and heir.run not in seen:
                seen.add(heir.run)
                freed.update(heir.freed_from)
                last = heir
            if _stops(last) and last.run not in freed:
                yield last


def _heir(one: Contract, others: Mapping[str, Contract]) -> Contract | None:
    successor = None if one.closed is None else one.closed.successor
    return None if successor is None else others.get(successor)


def _stops(one: Contract) -> bool:
    """Tell whether nothing may begin in the parts of a run."""
    if one.closed is not None:
        return one.closed.successor is None and one.closed.outcome in _ENDED
    return one.suspended is not None and one.suspended.reaches_children


def stop_told(one: Contract) -> str:
    """Say of a run that stops its parts how it was stopped."""
    name = f"{one.run!r}, of which this run is a part,"
    if one.closed is not None:
        return f"{name} was closed as {one.closed.outcome.value} at its position {one.closed.position}"
    assert one.suspended is not None
    why = quoted(shortened(one.suspended.reason))
    return f"{name} is suspended since its position {one.suspended.position}: {why}"


def freed(contract: Contract, others: Mapping[str, Contract], by: str) -> Iterator[Dropped]:
    """Name the ends that bind a run and its successor no more: those before a person gave it one.

    That they came before is a fact of the record: who restarts the run has read them. Clocks say nothing of
    it. A service that does so in nobody's name may be the program, which is not to set itself free.
    """
    if by.startswith(("agent:", "service:")):
        return
    for one in stops_above(contract, others):
        if one.closed is not None:
            reason = f"{stop_told(one)}, before a person gave it a successor: it binds that no more"
            yield Dropped(reason=reason, ref=f"run:{one.run}")
