"""Projections that cannot handle some records until they are mended, and stores whose process ends."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ledger.record import Record
from ledger.stores.base import FullStore
from projections.base import Handler, Projection, Rows
from tests.projections.samples import Place


class Frail(Projection):
    """A projection as it is, until a record at one of some places comes."""

    def __init__(self, whole: Projection, poison: Collection[Place]) -> None:
        self.whole = whole
        self.poison = poison
        for name in ("name", "version", "wants", "tables", "by_run", "on_poison"):
            setattr(self, name, getattr(whole, name))

    def handle(self, record: Record, rows: Rows) -> None:
        self.begin().handle(record, rows)

    def begin(self) -> Handler:
        return _Frail(self.whole.begin(), self.poison)


class _Frail:
    def __init__(self, whole: Handler, poison: Collection[Place]) -> None:
        self._whole = whole
        self._poison = poison

    def handle(self, record: Record, rows: Rows) -> None:
        if (record.run, record.position) in self._poison:
            raise ValueError("it cannot be read")
        self._whole.handle(record, rows)

    def finish(self, rows: Rows) -> None:
        self._whole.finish(rows)


class Crash(BaseException):
    """The process ends here: nothing is cleaned up."""


_WRITES = frozenset({"create", "take", "plan", "advance", "serve", "forget"})


class Crashing:
    """A store that ends the process before or after the n-th time that it writes something of read models."""

    def __init__(self, store: FullStore, left: int, *, stored: bool) -> None:
        self._store = store
        self.left = left
        self.stored = stored

    def read_models(self) -> Any:
        return _CrashingModels(self, self._store.read_models())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


class _CrashingModels:
    def __init__(self, store: Crashing, models: Any) -> None:
        self._store = store
        self._models = models

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._models, name)
        if name == "release":
            return self._unless_dead(found)
        return self._counted(found) if name in _WRITES else found

    def _unless_dead(self, call: Any) -> Any:
        return lambda *args, **options: call(*args, **options) if self._store.left > 0 else None

    def _counted(self, call: Any) -> Any:
        def counted(*args: Any, **options: Any) -> Any:
            self._store.left -= 1
            dies = self._store.left <= 0
            found = call(*args, **options) if not dies or self._store.stored else None
            if dies:
                raise Crash
            return found

        return counted
