"""Which states of a run go on from those of earlier runs that were deleted."""

from __future__ import annotations

from collections.abc import Sequence

from ledger.adapters.threads.threads import Entry
from ledger.application.edge import Edge
from ledger.application.freeing import name_of
from ledger.application.states import SavedPart, drops_of, ever_saved, was_saved
from ledger.run.contract import Contract
from ledger.values import SavedName


def on_deleted(
    edge: Edge, contract: Contract, deleted: Sequence[Entry]
) -> tuple[tuple[SavedName, ...], tuple[SavedName, ...]]:
    """Tell what of the states of a run goes on from states of others that were deleted, and what does not."""

    def was_there(name: SavedName) -> bool:
        return was_saved(edge, [one.run.id for one in deleted], name.line, name.id)

    drops = drops_of(edge, contract)
    goes: dict[SavedName, None] = {}
    stays: dict[SavedName, None] = {}
    parts: list[SavedName] = []
    for one in ever_saved(edge, contract.run, contract.position):
        name = name_of(one)
        if drops.dropped(name.line, name.id, one.position):
            continue
        if isinstance(one, SavedPart):
            parts.append(name)
        elif one.parent is None or (above := SavedName(id=one.parent, line=one.line)) in stays:
            stays[name] = None
        elif above in goes or was_there(above):
            goes[name] = None
        else:
            stays[name] = None
    for name in parts:
        # They may come before their state.
        if name not in stays and not was_there(name):
            stays[name] = None
    return tuple(goes), tuple(stays)
