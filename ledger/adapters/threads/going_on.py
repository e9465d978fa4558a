"""What of a run of a thread goes on from states of its earlier runs that were given up."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ledger.adapters.threads.located import Located
from ledger.adapters.threads.threads import Entry
from ledger.application.edge import Edge
from ledger.application.freeing import name_of
from ledger.application.saved_states import PAGE, SavedPart, drops_of, ever_saved, was_saved
from ledger.codec import state_digest
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


class Behind:
    """Tells what was kept in a run of the work after states that were given up in the runs before it."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._runs: list[str] = []
        self._stays: set[SavedName] = set()

    def passed(self, entry: Entry, stays: Iterable[Located]) -> None:
        """Take an earlier run, the oldest first, and the states of it that stay."""
        self._runs.append(entry.run.id)
        self._stays.update(name_of(one.state) for one in stays)

    def of(self, names: Collection[SavedName]) -> set[SavedName]:
        """Tell which of some names are of states that were kept in the runs before, and are not any more."""
        asked = [name for name in names if name not in self._stays]
        keys = {state_digest(run, name.line, name.id): name for run in self._runs for name in asked}
        found: set[SavedName] = set()
        for at in range(0, len(keys), PAGE):
            batch = list(keys)[at : at + PAGE]
            rows = self._edge.store.find_all(self._edge.tenant, keys=batch, each=1)
            found.update(keys[row.key] for row in rows if row.key is not None)
        return found
