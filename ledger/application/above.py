"""Reading what stands above a run: those that it is a part of, and who succeeds them."""

from __future__ import annotations

from collections.abc import Callable

from ledger.application.edge import Edge
from ledger.application.kind import Found
from ledger.commands import ClaimEffect, Command
from ledger.run.contract import Contract
from ledger.values import Recovery

Load = Callable[[Edge, str], Found[Contract | None]]


def is_bound_above(contract: Contract | None, command: Command) -> bool:
    """Tell whether a command is decided on what stands above its run: what acts, in a part of another run."""
    if contract is None or contract.parent is None or contract.parent.relation == "fork":
        return False
    return isinstance(command, ClaimEffect) and command.recovery is not Recovery.READ_ONLY


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
        one = load(edge, above).state
        if one is not None:
            found[above] = one
            if relation == "child":
                _add_successors(edge, one, load, found)
    return found


def _add_successors(edge: Edge, one: Contract, load: Load, found: dict[str, Contract | None]) -> None:
    while one.closed is not None and one.closed.successor is not None and one.closed.successor not in found:
        heir = load(edge, one.closed.successor).state
        if heir is None:
            return
        found[heir.run] = one = heir
