"""A store in memory whose next verbs fail as a test says, and a driver that performs steps one by one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from ledger.application.steps import Send
from ledger.errors import StoreBusy, StoreUnavailable
from ledger.stores.base import Append, Appended
from ledger.stores.memory import MemoryStore


class Interrupt(BaseException):
    """What a signal handler may raise, anywhere."""


class FaultyStore:
    """Keeps in memory; `faults` name what becomes of the next appends, `reads` which reads fail."""

    def __init__(self) -> None:
        self._store = MemoryStore()
        self.faults: list[str] = []
        self.rivals: list[Callable[[], object]] = []
        self.failing_reads = 0
        self.late: list[Append] = []
        self.sent: list[Append] = []

    def append(self, append: Append) -> Appended:
        fault = self.faults.pop(0) if self.faults else "none"
        if fault == "rival" and self.rivals:
            self.rivals.pop(0)()
        self.sent.append(append)
        return getattr(self, f"_{fault}", self._none)(append)

    def land(self) -> None:
        """Let arrive what was under way when its caller was told that nobody knows."""
        late, self.late = self.late, []
        for append in late:
            self._settle(append)

    def _settle(self, append: Append) -> Appended | None:
        try:
            return self._store.append(append)
        except Exception:  # noqa: BLE001  whoever sent it has long been told
            return None

    def _none(self, append: Append) -> Appended:
        return self._store.append(append)

    def _twice(self, append: Append) -> Appended:
        """As a store does that repeats an append by itself after its connection was lost."""
        self._store.append(append)
        return self._store.append(append)

    def _twice_overtaken(self, append: Append) -> Appended:
        self._store.append(append)
        if self.rivals:
            self.rivals.pop(0)()
        return self._store.append(append)

    def _lost(self, append: Append) -> Appended:
        raise StoreUnavailable("the connection was lost at COMMIT")

    def _lost_stored(self, append: Append) -> Appended:
        self._store.append(append)
        raise StoreUnavailable("the connection was lost at COMMIT")

    def _lost_late(self, append: Append) -> Appended:
        self.late.append(append)
        raise StoreUnavailable("the connection was lost at COMMIT")

    def _late_first(self, append: Append) -> Appended:
        """Let land first what was under way, and somebody go on from it."""
        self.land()
        if self.rivals:
            self.rivals.pop(0)()
        return self._store.append(append)

    def _busy(self, append: Append) -> Appended:
        raise StoreBusy("too many wait")

    def _interrupted(self, append: Append) -> Appended:
        raise Interrupt

    def _interrupted_stored(self, append: Append) -> Appended:
        self._store.append(append)
        raise Interrupt

    def _broken(self, append: Append) -> Appended:
        raise RuntimeError("a fault of the program")

    def _broken_stored(self, append: Append) -> Appended:
        self._store.append(append)
        raise RuntimeError("a fault of the program")

    def _read(self) -> None:
        if self.failing_reads:
            self.failing_reads -= 1
            raise StoreUnavailable("the connection was lost")

    def read(self, *args: Any, **options: Any) -> Any:
        self._read()
        return self._store.read(*args, **options)

    def load(self, *args: Any, **options: Any) -> Any:
        self._read()
        return self._store.load(*args, **options)

    def find(self, *args: Any, **options: Any) -> Any:
        self._read()
        return self._store.find(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


FAULTS = [
    "none",
    "rival",
    "twice",
    "twice_overtaken",
    "lost",
    "lost_stored",
    "lost_late",
    "late_first",
    "busy",
    "interrupted",
    "interrupted_stored",
    "broken",
    "broken_stored",
]


class Driver:
    """Performs the steps of one generator, one each time it is asked to."""

    def __init__(self, store: Any, steps: Generator[Any, Any, Any]) -> None:
        self._store = store
        self._steps = steps
        self._outcome: Any = None
        self.done = False
        self.interrupted = False

    def step(self) -> None:
        """Perform one step; `done` where that was the last, also by an interrupt."""
        try:
            if isinstance(self._outcome, BaseException):
                step = self._steps.throw(self._outcome)
            else:
                step = self._steps.send(self._outcome)
        except StopIteration:
            self.done = True
            return
        except Interrupt:
            self.done = self.interrupted = True
            return
        try:
            self._outcome = self._store.append(step.append) if isinstance(step, Send) else step.function()
        except BaseException as error:  # noqa: BLE001
            self._outcome = error
