"""Threads whose states are JSON, on each kind of store."""

from __future__ import annotations

import json
from typing import Any

from ledger import Actor, Ledger
from ledger.adapters.packs import Split
from ledger.adapters.threads import Threads, ThreadStates
from ledger.application.edge import Edge
from ledger.application.expiring import Tally
from ledger.application.verifying import verify
from ledger.integrity.findings import Report
from ledger.stores.base import FullStore

BY = "human:kim"


class Plain:
    """A codec for JSON."""

    def dumps(self, value: Any, path: str) -> bytes:
        return json.dumps(value).encode()

    def loads(self, content: bytes) -> Any:
        return json.loads(content)

    def split(self, value: Any) -> Split | None:
        return Split("list", value) if isinstance(value, list) else None

    def join(self, tag: str, elements: list[Any]) -> Any:
        return elements


def opened(store: FullStore) -> Ledger:
    return Ledger(Edge(store, "default", Actor("service:tests"), pause=lambda attempt: None))


def states_of(ledger: Ledger) -> ThreadStates:
    """Return a face that knows nothing yet of what is stored, as one of another process."""
    return ThreadStates(Threads(ledger), Plain())


def save(
    states: ThreadStates, thread: str, id: str, *, line: str = "", parent: str | None = None, **values: Any
) -> int:
    """Save a state as a branch, which is admitted whatever was saved before; return where it stands."""
    return states.save(thread, id, values, b"head", line=line, parent=parent)[1]


def chat(states: ThreadStates, thread: str, turns: int, *, line: str = "", size: int = 100) -> None:
    """Save the states `1`, `2`, … of a list that grows by one message each time."""
    messages: list[str] = []
    for turn in range(1, turns + 1):
        messages.append(f"{thread} {line} {turn}".ljust(size, "."))
        save(states, thread, str(turn), line=line, parent=str(turn - 1) if turn > 1 else None, list=messages)


def ids(states: ThreadStates, thread: str) -> list[tuple[str | None, str]]:
    """List the states of a thread, the newest first."""
    return [(one.state.line, one.state.id) for one in states.all(thread)]


def values(states: ThreadStates, thread: str) -> dict[tuple[str | None, str], dict[str, Any]]:
    """Read all states of a thread."""
    return {(one.state.line, one.state.id): states.read(one).values for one in states.all(thread)}


def kept(ledger: Ledger) -> Tally:
    """Count the contents of states that are stored, and their bytes."""
    rows = [row for row in ledger.store.list_blobs(ledger.tenant, limit=100_000) if row.kind == "state"]
    return Tally(len(rows), sum(row.size for row in rows))


def verified(ledger: Ledger) -> Report:
    return verify(ledger)
