"""A run as its program, the people about it and the outside see it, on each kind of store.

The program works through the library. What people do, and asking the gate, goes through a *desk*: the library
again, or the command line.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ledger import Actor, Ledger, Run, Source, Tool, open_ledger
from ledger.application.edge import Edge
from ledger.application.verifying import verify
from ledger.record import Record
from ledger.stores.base import FullStore
from ledger.stores.opening import open_store
from ledger.testing import Clock
from tests.effects.hooked import Hooked
from tests.scenarios.till import Till

PROGRAM = Actor("agent:refunds", session="s-1")
OTHER = Actor("agent:refunds", session="s-2")
KIM = Actor("human:kim")
POLICY = "policy:refunds"
RUN = "refund-17"
DAY = 86_400
LIMIT = "Never refund more than 100 EUR"


class Behind(Clock):
    """A clock that goes with the machine's, some seconds behind it: commands have only the machine's."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.offset = timedelta(seconds=-seconds)

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.offset

    def tick(self, seconds: float = 1) -> datetime:
        self.offset += timedelta(seconds=seconds)
        return self()


@dataclass
class Scene:
    """Where it plays."""

    place: Path | str
    """The address of the ledger."""
    folder: Path
    clock: Clock
    till: Till
    store: FullStore | None = None
    """The store itself where it is lost with its ledger: programs share it then."""
    _opened: ExitStack = field(default_factory=ExitStack)

    def program(self, actor: Actor = PROGRAM, *tools: Tool) -> Ledger:
        """Start another program: a ledger that remembers nothing of what the others did."""
        if self.store is not None:
            return Ledger(Edge(self.store, "default", actor, self.clock), tools=tools)
        opened = open_ledger(self.place, clock=self.clock, actor=actor, busy_seconds=60, tools=tools)
        return self._opened.enter_context(opened)

    def hooked(self) -> tuple[Ledger, Hooked]:
        """Start a program whose store a test steps into, and return that."""
        store: Any = Hooked(self.store or self._opened.enter_context(closing(open_store(self.place))))
        return Ledger(Edge(store, "default", PROGRAM, self.clock, pause=lambda lost: None)), store

    def begin(self, goal: str = "Refund order 17", **options: Any) -> Run:
        """Let the program open the run."""
        return self.program().open_run(RUN, goal, **options)

    def publish(self, revision: str, constraints: Mapping[str, str]) -> None:
        """Let a person publish the policy."""
        self.program(KIM).source(POLICY).publish(revision, constraints, by="human:kim")

    def withdraw(self, id: str = "limit-100") -> None:
        """Let a person withdraw a rule of the policy."""
        self.program(KIM).source(POLICY).withdraw(id, reason="replaced", by="human:kim")

    def records(self, run: str = RUN) -> list[Record]:
        return list(self.program(KIM).log(run))

    def names(self, run: str = RUN) -> list[str]:
        return [record.name for record in self.records(run)]

    def is_sound(self) -> bool:
        """Verify all that is recorded."""
        return verify(self.program(KIM)).findings == ()

    def backup(self, path: Path) -> Path:
        """Copy a ledger that is a file."""
        self.close()
        with closing(sqlite3.connect(self.place)) as old, closing(sqlite3.connect(path)) as new:
            old.backup(new)
        return path

    def restore(self, backup: Path) -> None:
        """Put a copy in the place of the ledger."""
        self.close()
        with closing(sqlite3.connect(backup)) as old, closing(sqlite3.connect(self.place)) as new:
            old.backup(new)

    def catch_up(self) -> None:
        """Let a clock that is behind the machine's be so no more: commands have recorded its time."""
        if isinstance(self.clock, Behind):
            self.clock.offset = max(self.clock.offset, timedelta(0))

    def close(self) -> None:
        self._opened.close()


def accept(run: Run, id: str = "limit-100", text: str = LIMIT, revision: str = "4") -> None:
    """Accept a rule of the policy."""
    run.accept(id, text, source=Source("policy", "refunds", revision=revision), asserted_by="human:kim")


def asked_for(run: Run) -> Source:
    """Return the policy as a run follows it, for `acknowledge`."""
    seen = next(one for one in run.contract.sources if one.source == POLICY)
    return Source("policy", "refunds", revision=seen.revision)
