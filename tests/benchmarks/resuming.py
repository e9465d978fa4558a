"""Resuming a long run, against what it cannot do without: its contract, a look at each source, one append."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path

from ledger import Actor, Ledger, Source, open_ledger
from ledger.application.ledger import edge_of
from ledger.events import RunOpened
from tests.benchmarks.loading import mixed
from tests.benchmarks.measure import Result, compare, seconds
from tests.benchmarks.workload import ACTOR, moves

_EVENTS, _IMPORTED = 10_000, 2_000
_TIMES = 20
_ROUNDS = 15
_GOAL = "<= 1.3"


def measure(folder: Path) -> list[Result]:
    """Measure it on SQLite."""
    with open_ledger(folder / "resuming.db", actor=ACTOR) as ledger:
        return list(_measured(ledger))


def measure_postgres(url: str) -> list[Result]:
    """Measure it on PostgreSQL."""
    with open_ledger(url, actor=ACTOR) as ledger:
        return list(_measured(ledger))


def _measured(ledger: Ledger) -> list[Result]:
    for name in ("bare", "bound", "yard"):
        _lived(ledger, name)
    ledger.source("policy:refunds", actor=Actor("human:kim")).publish("1", {"a": "Refund once"})
    run = ledger.run("bound")
    source = Source("policy", "refunds", item="a")
    run.accept("a", "Refund once", source=source, asserted_by="human:kim")
    step = moves(ledger.run("yard"), count())
    return [
        _result(ledger, "bare", "a process that has read nothing", _cold(ledger, "bare"), step),
        _result(ledger, "bound", "the same, bound to a source", _cold(ledger, "bound"), step),
        _result(ledger, "bare", "a ledger that has it in memory", _warm(ledger, "bare"), step),
    ]


def _result(
    ledger: Ledger, run: str, what: str, ours: Callable[[], None], step: Callable[[], object]
) -> Result:
    """Compare with loading the contract of the same run, which has the resumes of all rounds, too."""

    def both() -> None:
        for _ in range(_TIMES):
            other = _elsewhere(ledger)
            for constraint in other.contract(run).constraints:
                assert constraint.source is not None
                list(other.log_source(constraint.source.stream))
            step()

    return compare(
        f"resume at {_EVENTS:,} events, {what}",
        lambda: seconds(ours),
        lambda: seconds(both),
        rounds=_ROUNDS,
        goal=_GOAL,
        note="time, against its contract, its sources and an append",
    )


def _cold(ledger: Ledger, run: str) -> Callable[[], None]:
    def resume() -> None:
        for _ in range(_TIMES):
            assert _elsewhere(ledger).resume(run)

    return resume


def _warm(ledger: Ledger, run: str) -> Callable[[], None]:
    kept = ledger.run(run)

    def resume() -> None:
        for _ in range(_TIMES):
            assert ledger.resume(kept.id)

    return resume


def _elsewhere(ledger: Ledger) -> Ledger:
    """Return a ledger on the same store that knows as little as that of another process."""
    return Ledger(edge_of(ledger))


def _lived(ledger: Ledger, name: str) -> None:
    """Write a run of so many events by who resumes it, so that it may always go on."""
    ledger.import_events(name, [RunOpened(goal="goal 0")], expected=0)
    at = 1
    while at < _EVENTS:
        page = min(_IMPORTED, _EVENTS - at)
        ledger.import_events(name, [mixed(at + n) for n in range(page)], expected=at)
        at += page
    ledger.run(name).suspend(reason="night")
    assert ledger.resume(name)
