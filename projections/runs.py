"""The projection `runs`: every run with its contract in force, and what lists ask about it.

It reuses the one fold: the contract of a row is the one that `Ledger.contract` returns at that position, as
the bytes of a snapshot. So a run goes on from its own row, however long ago it was last heard of. What is
open in runs stands in tables of its own, so that all runs are searched at once.

These tables say what is so now. Only facts can be asked as of an earlier moment.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from ledger.application.query import RunSummary
from ledger.canonical import canonical_text
from ledger.record import Record, broken
from ledger.run.contract import Contract
from ledger.run.saving import restore, save
from ledger.run.state import FOLD, replay
from ledger.stores.read_models import Cell, Column, Table
from ledger.values.times import write_time
from projections.base import Handler, Projection, Rows
from projections.open_now import KINDS, Watch
from projections.words import storable

RUNS = "runs"

_FORM = 3
"""Rises when columns change; the fold has a version of its own."""

_KEPT_BYTES = 2 * 1024 * 1024
"""Bytes of snapshots whose contracts are kept in memory; as objects they take several times that."""


class Runs(Projection):
    """One row for each run, and one for each thing that is open in it."""

    name = "runs"
    version = 100 * int(FOLD) + _FORM
    by_run = True
    # Who looks for what is open is not to find nothing at all because of one run that cannot be read.
    on_poison = "park"
    tables = (
        Table(
            RUNS,
            (
                Column("run"),
                Column("position", "integer"),
                Column("at"),
                Column("opened_at"),
                Column("alive_at"),
                Column("status"),
                Column("suspended_cause", optional=True),
                Column("verdict", optional=True),
                Column("held_at", optional=True),
                Column("reasons", "integer"),
                Column("owner", optional=True),
                Column("thread", optional=True),
                Column("labels", optional=True),
                Column("goal"),
                Column("incarnation", "integer"),
                Column("constraints", "integer"),
                Column("obligations", "integer"),
                Column("unsettled", "integer"),
                Column("successor", optional=True),
                Column("contract", "bytes"),
            ),
            key=("run",),
            indexes=(("status", "run"), ("owner", "run"), ("thread", "run")),
        ),
        *(kind.table for kind in KINDS),
    )

    def handle(self, record: Record, rows: Rows) -> None:
        """Fold one record by itself; what `begin` returns folds those of a page at once."""
        folding = _Folding()
        folding.handle(record, rows)
        folding.finish(rows)

    def begin(self) -> Handler:
        return _Folding()


class _Folding:
    """Folds the records of a page run by run, on top of the contract that each run's row holds."""

    def __init__(self) -> None:
        self._records: dict[str, list[Record]] = {}
        self._kept = _Contracts()

    def handle(self, record: Record, rows: Rows) -> None:
        # Sources and the ledger's own streams are no runs.
        if not record.run.startswith("$"):
            self._records.setdefault(record.run, []).append(record)

    def finish(self, rows: Rows) -> None:
        records, self._records = self._records, {}
        known = self._known(records, rows)
        for run, new in records.items():
            before = known.get(run)
            watch = Watch(run, before)
            contract = replay(new, before, watch)
            assert contract is not None, "there is at least one record"
            state = save(contract)
            self._kept.keep(contract, len(state))
            rows.put(RUNS, {**_summary(contract), "contract": state}, new[-1])
            watch.put(rows)

    def _known(self, runs: Iterable[str], rows: Rows) -> dict[str, Contract]:
        found: dict[str, Contract] = {}
        stored: list[tuple[str]] = []
        for run in runs:
            contract = self._kept.take(run)
            if contract is None:
                stored.append((run,))
            else:
                found[run] = contract
        for row in rows.get_all(RUNS, stored).values():
            contract = restore(row["contract"])
            if contract is None:
                raise broken(row["run"], row["position"], "the contract in its row is not what was saved")
            found[row["run"]] = contract
        return found


class _Contracts:
    """The contracts that were folded last, as many as fit."""

    def __init__(self) -> None:
        self._contracts: OrderedDict[str, tuple[Contract, int]] = OrderedDict()
        self._bytes = 0

    def take(self, run: str) -> Contract | None:
        contract, size = self._contracts.pop(run, (None, 0))
        self._bytes -= size
        return contract

    def keep(self, contract: Contract, size: int) -> None:
        self._contracts[contract.run] = contract, size
        self._bytes += size
        while self._bytes > _KEPT_BYTES:
            _, (_, dropped) = self._contracts.popitem(last=False)
            self._bytes -= dropped


def _summary(contract: Contract) -> dict[str, Cell]:
    summary = RunSummary.of(contract)
    return {
        "run": summary.run,
        "position": summary.position,
        "at": write_time(summary.at),
        "opened_at": write_time(summary.opened_at),
        "alive_at": write_time(summary.alive_at),
        "status": str(summary.status),
        "suspended_cause": summary.suspended_cause,
        "verdict": None if summary.verdict is None else summary.verdict.value,
        "held_at": None if summary.held_at is None else write_time(summary.held_at),
        "reasons": summary.reasons,
        "owner": summary.owner,
        "thread": summary.thread,
        "labels": None if not summary.labels else canonical_text(dict(summary.labels)),
        "goal": storable(summary.goal),
        "incarnation": summary.incarnation,
        "constraints": summary.constraints,
        "obligations": summary.obligations,
        "unsettled": summary.unsettled,
        "successor": summary.successor,
    }
