"""A policy that changes, and runs that are bound by it: what happened, minute by minute.

Positions stand behind each line; an effect takes three: intent, start, outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ledger import Actor, Ledger, Source
from ledger.application.edge import Edge
from ledger.application.sources import SourceHandle
from ledger.values import Published, Rule
from projections.asking import ask
from projections.questions.base import Question
from tests.projections.conftest import SetClock
from tests.stores.builder import shown
from tests.stores.conftest import KINDS

KIM, AGENT = Actor("human:kim"), Actor("agent:refunds", session="s-1")
STORES = ("memory", "sqlite", "postgres")


def minute(number: int, hour: int = 9) -> datetime:
    return datetime(2026, 1, 31, hour, number, tzinfo=UTC)


def written(number: int, hour: int = 9) -> str:
    """Write a minute as records do."""
    return f"2026-01-31T{hour:02}:{number:02}:00.000000Z"


def policy(revision: str, item: str | None = None) -> Source:
    return Source("policy", "refunds", revision=revision, item=item)


class Desk(NamedTuple):
    """A ledger in which it happened, and the keys of effects by name."""

    ledger: Ledger
    keys: dict[str, str]

    def hash(self, run: str, position: int) -> str:
        """Return the hash of a record as `log` says it."""
        (record,) = self.ledger.log(run, after=position - 1, limit=1)
        return record.hash.hex()

    def gid(self, stream: str, position: int) -> int:
        """Return the global position of a record."""
        return next(
            record.global_position or 0
            for record in self.ledger.follow()
            if (record.run, record.position) == (stream, position)
        )


@contextmanager
def ledger_on(kind: str, folder: Path, clock: SetClock, tenant: str = "default") -> Iterator[Ledger]:
    """Open a ledger on a new store of a kind."""
    store = KINDS[kind](folder)
    try:
        yield Ledger(Edge(store, tenant, Actor("service:tests"), clock, pause=lambda attempt: None))
    finally:
        store.close()


def desk_on(kind: str, folder: Path) -> Iterator[Desk]:
    """Let it happen on a new store of a kind."""
    clock = SetClock()
    with ledger_on(kind, folder, clock) as ledger:
        yield Desk(ledger, happen(ledger, clock))


def happen(ledger: Ledger, clock: SetClock) -> dict[str, str]:
    """Let it happen; return the keys of the effects by the names of their steps."""

    def at(number: int) -> None:
        clock.now = minute(number)

    source = ledger.source("policy:refunds", actor=KIM)
    at(1)
    # $source:policy:refunds 1 and 2
    source.publish("1", {"limit": "At most 100 EUR", "polite": "Be polite"}, by="human:kim")
    at(2)
    run = ledger.open_run("refund-17", "Refund order 17", actor=AGENT)  # 1
    kim = ledger.run("refund-17", actor=KIM)
    at(3)
    run.accept("limit", "At most 100 EUR", source=policy("1"), asserted_by="human:kim")  # 2
    at(4)
    kim.accept(  # 3
        "night", "Not at night", asserted_by="human:lee", asserted_at=minute(0, hour=8),
        valid_until=minute(30),
    )  # fmt: skip
    at(5)
    run.perform("refund", {"order": 1}, _done, step="A")  # 4
    at(6)
    kim.withdraw("night", reason="day shift", by="human:kim")  # 7
    at(7)
    run.perform("refund", {"order": 2}, _done, step="B")  # 8
    at(8)
    kim.accept(  # 11
        "night", "Not at night", asserted_by="human:lee", asserted_at=minute(0, hour=8), valid_from=minute(50)
    )
    at(9)
    kim.accept(  # 12
        "limit", "At most 200 EUR", source=policy("1"), asserted_by="human:lee", change="relaxed"
    )
    at(10)
    run.perform("refund", {"order": 3}, _done, step="C")  # 13
    _policy_changes(ledger, source, at)
    _others(ledger, source, at)
    shown(ledger.store)
    return {record.event.step: record.event.key for record in ledger.follow()  # type: ignore[attr-defined]
            if record.name == "effect.intended"}  # fmt: skip


def _policy_changes(ledger: Ledger, source: SourceHandle, at: Callable[[int], None]) -> None:
    """Let the source reword the limit, and withdraw it in the end."""
    run, kim = ledger.run("refund-17", actor=AGENT), ledger.run("refund-17", actor=KIM)
    at(11)
    # $source:policy:refunds 3
    source.publish("2", {"limit": "At most 50 EUR", "polite": "Be polite"}, by="human:kim", reason="losses")
    at(12)
    kim.acknowledge(policy("2"), by="human:kim", reason="as agreed")  # 16
    at(13)
    run.perform("refund", {"order": 4}, _done, step="D")  # 17
    at(14)
    source.withdraw("limit", reason="the law changed", by="human:kim")  # $source:policy:refunds 4
    at(15)
    kim.withdraw("limit", reason="gone at its source", by="human:kim")  # 20
    at(16)
    with pytest.raises(Exception, match="refused by the bank"):
        run.perform("refund", {"order": 5}, _refused, step="E", definite_errors=ValueError)  # 21
    at(17)
    run.accept("ask", "Ask before you pay", source=policy("2", item="polite"), asserted_by="human:lee")  # 24
    at(18)
    run.perform("refund", {"order": 5}, _done, step="E")  # 25


def _others(ledger: Ledger, source: SourceHandle, at: Callable[[int], None]) -> None:
    """Two runs that accept what is reworded later: one has ended by then, one has not."""
    at(19)
    for name in ("refund-18", "refund-19"):
        run = ledger.open_run(name, "Refund another", actor=AGENT)  # 1
        run.accept("polite", "Be polite", source=policy("2"), asserted_by="human:kim")  # 2
    at(20)
    ledger.run("refund-18", actor=KIM).close("completed")  # 3
    at(21)
    # $source:policy:refunds 5
    kind = Published(id="polite", text="Be kind", rule=Rule(deny=("insult",)))
    source.publish("3", [kind], by="human:kim")


def _done(order: int) -> str:
    return f"refunded {order}"


def _refused(order: int) -> str:
    raise ValueError("refused by the bank")


def answered(ledger: Ledger, question: Question, **given: Any) -> list[dict[str, Any]]:
    """Ask a question of all that is stored; return its rows by column."""
    shown(ledger.store)
    answer = ask(ledger, question, **given)
    names = [column.name for column in answer.columns]
    assert all(len(row) == len(names) for row in answer.rows)
    return [dict(zip(names, row, strict=True)) for row in answer.rows]


def only(rows: list[dict[str, Any]], *names: str) -> list[tuple[Any, ...]]:
    """Return some columns of rows."""
    return [tuple(row[name] for name in names) for row in rows]
