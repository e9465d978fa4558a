"""Which saved states of a run were given up: what its drops say together."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.events import StatesDropped
from ledger.record import Record
from ledger.values import SavedName


class Drops:
    """What was dropped of the states of a run."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        """Take the drops, in their order."""
        self.last = 0
        """Where states were last dropped; 0: they never were."""
        self._all: list[tuple[int, frozenset[SavedName]]] = []
        self._named: dict[SavedName, int] = {}
        for record in records:
            event = record.event
            assert isinstance(event, StatesDropped)
            self.last = record.position
            before = record.position - 1
            upto = before if event.upto is None else min(event.upto, before)
            if event.all:
                self._all.append((upto, frozenset(event.kept)))
            for name in event.states:
                self._named[name] = max(upto, self._named.get(name, 0))

    @property
    def everything(self) -> int:
        """Return the position up to which nothing is kept; 0: there is none."""
        return max((upto for upto, kept in self._all if not kept), default=0)

    def dropped(self, line: str | None, id: str, position: int) -> bool:
        """Tell whether the state that was saved at a position was dropped since."""
        name = SavedName(id=id, line=line)
        return self._named.get(name, 0) >= position or any(
            upto >= position and name not in kept for upto, kept in reversed(self._all)
        )
