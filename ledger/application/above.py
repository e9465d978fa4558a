"""Reading what stands above a run: those that it is a part of, and who succeeds them."""

from __future__ import annotations

from collections.abc import Callable

from ledger.application.edge import Edge
from ledger.application.kind import Found
from ledger.application.rows import chained
from ledger.commands import ClaimEffect, Command, RestartRun
from ledger.run.contract import Contract
from ledger.run.state import replay
from ledger.values import Recovery

Load = Callable[[Edge, str], Found[Contract | None]]


def is_bound_above(contract: Contract | None, command: Command) -> bool:
    """Tell whether a command is decided on what stands above its run: what acts, or gives it a successor."""
    if contract is None or contract.parent is None or contract.parent.relation == "fork":
        return False
    if isinstance(command, ClaimEffect):
        return command.recovery is not Recovery.READ_ONLY
    return isinstance(command, RestartRun)


def read_above(edge: Edge, contract: Contract, load: Load) -> dict[str, Contract | None]:
    """Read the runs that a run comes from, up to the first of all, and who succeeds what it is part of.

    What is not there binds nobody.
    """
    found: dict[str, Contract | None] = {}
    one: Contract | None = contract
    while one is not None and one.parent is not None and one.parent.relation != "fork":
        relation, above = one.parent.relation, one.parent.run
        if above in found or above == contract.run:
            break
        one = _as_it_is(edge, above, load)
        if one is not None:
            found[above] = one
            if relation == "child":
                _add_successors(edge, one, load, found)
    return found


def _add_successors(edge: Edge, one: Contract, load: Load, found: dict[str, Contract | None]) -> None:
    while one.closed is not None and one.closed.successor is not None and one.closed.successor not in found:
        heir = _as_it_is(edge, one.closed.successor, load)
        if heir is None:
            return
        found[heir.run] = one = heir


def _as_it_is(edge: Edge, run: str, load: Load) -> Contract | None:
    """Return the contract of a run as it is stored; of one that was read before only what is new is read."""
    seen = edge.above.get(run)
    contract = None if seen is None else _caught_up(edge, seen)
    if contract is None:
        contract = load(edge, run).state
    if contract is not None and contract is not seen:
        if len(edge.above) >= _KEPT:
            edge.above.clear()
        edge.above[run] = contract
    return contract


def _caught_up(edge: Edge, seen: Contract) -> Contract | None:
    """Go on from a contract to what is stored now; None where that does not stand on it, or is far ahead."""
    rows = edge.store.read(edge.tenant, seen.run, after=seen.position - 1, limit=_PAGE)
    if not rows or len(rows) == _PAGE or rows[0].hash.hex() != seen.hash:
        return None
    if len(rows) == 1:
        return seen
    return replay(chained(edge, rows[1:], seen.run, seen.position, rows[0].hash), seen)


_KEPT = 64
"""Runs that are remembered."""

_PAGE = 200
"""Records that are read on top of what is remembered."""
