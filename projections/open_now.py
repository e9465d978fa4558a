"""What is open in runs: members of the contract as rows, which come and go with them.

Each table holds what the contracts of all runs hold under one name, closed runs and those that were restarted
included. `position` is that of the member in its contract, where it became open; `gid` is that of the record
which changed the row last. The fold is watched record by record, so that both are the same whatever the size
of pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from operator import is_
from typing import Any, NamedTuple

from ledger.canonical import canonical_text
from ledger.record import Record
from ledger.run.authority import is_used_up
from ledger.run.contract import Approval, Assumption, Constraint, Contract, Effect, Grant, Obligation
from ledger.stores.read_models import Cell, Column, Table
from ledger.values.times import write_time
from projections.constraints import rule_text
from projections.facts import text_or_none
from projections.rows import Rows
from projections.words import storable

Cells = dict[str, Cell]


class Kind(NamedTuple):
    """A list of the contract whose members are rows."""

    table: Table
    field: str
    """Of the contract."""
    id: str
    """Field that tells its members apart, and column of the table."""
    row: Callable[[Any], Cells]
    """Write a member as cells, its id and run left out."""


class Watch:
    """Watches one run being folded: which members come, change and go, and with which record."""

    def __init__(self, run: str, before: Contract | None) -> None:
        self._run = run
        self._lists = [() if before is None else getattr(before, kind.field) for kind in KINDS]
        self._changes: list[dict[str, tuple[Any, Record]]] = [{} for _ in KINDS]

    def __call__(self, contract: Contract, record: Record) -> None:
        """Look at the contract after a record."""
        held = contract.__dict__
        for number, kind in enumerate(KINDS):
            now, before = held[kind.field], self._lists[number]
            if now is before:
                continue
            self._lists[number] = now
            changes = self._changes[number]
            old, new = _apart(before, now)
            gone = {getattr(member, kind.id): member for member in old}
            for member in new:
                id = getattr(member, kind.id)
                known = gone.pop(id, None)
                if known is not member and (known != member or kind.row(known) != kind.row(member)):
                    # Also what is worth the same and spelt in another way, as an amount of another scale.
                    changes[id] = member, record
            for id in gone:
                changes[id] = None, record

    def put(self, rows: Rows) -> None:
        """Put what has changed."""
        for kind, changes in zip(KINDS, self._changes, strict=True):
            for id, (member, record) in changes.items():
                if member is None:
                    rows.delete(kind.table.name, (self._run, id))
                else:
                    rows.put(kind.table.name, {"run": self._run, kind.id: id, **kind.row(member)}, record)


def _apart(before: tuple[Any, ...], now: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Cut off what two lists begin and end with alike: most often one member is all that differs."""
    if len(before) <= len(now) and all(map(is_, before, now)):
        return (), now[len(before) :]
    most = min(len(before), len(now))
    first = next((place for place, (a, b) in enumerate(zip(before, now, strict=False)) if a is not b), most)
    last = 0
    while last < most - first and before[-1 - last] is now[-1 - last]:
        last += 1
    return before[first : len(before) - last], now[first : len(now) - last]


def open_rows(contract: Contract) -> Iterator[tuple[str, Cells]]:
    """Yield every row that the contract of a run stands for, by table."""
    for kind in KINDS:
        for member in getattr(contract, kind.field):
            own = {"run": contract.run, kind.id: getattr(member, kind.id)}
            yield kind.table.name, {**own, **kind.row(member)}


# --- members as cells ------------------------------------------------------------------------------


def _obligation(one: Obligation) -> Cells:
    return {
        "position": one.position,
        "at": write_time(one.at),
        "text": storable(one.text),
        "owed_to": one.owed_to,
        "due": _time(one.due),
        "because": one.because,
        "by": one.by,
    }


def _effect(one: Effect) -> Cells:
    return {
        "position": one.position,
        "at": write_time(one.at),
        "tool": one.tool,
        "act": one.act,
        "step": one.step,
        "occurrence": one.occurrence,
        "status": one.status,
        "attempt": one.attempt,
        "max_attempts": one.max_attempts,
        "recovery": one.recovery.value,
        "resource": one.resource,
        "worker": one.worker,
        "lease_until": _time(one.lease_until),
        "grants": text_or_none(list(one.authority)),
        "reserved": _amounts(one.reserved),
        "inherited_from": one.inherited_from,
        "witnessed": int(one.witnessed),
    }


def _grant(one: Grant) -> Cells:
    return {
        "position": one.position,
        "at": write_time(one.at),
        "principal": one.principal,
        "session": one.session,
        "scopes": canonical_text(list(one.scopes)),
        "budget": _amounts(one.budget),
        "spent": _amounts(one.spent),
        "reserved": _amounts(one.reserved),
        "used_up": int(is_used_up(one)),
        "expires_at": _time(one.expires_at),
        "granted_by": one.granted_by,
        "on_resume": one.on_resume,
        "renewed_position": one.renewed_at,
    }


def _approval(one: Approval) -> Cells:
    answer, terms = one.answered, one.terms
    return {
        "position": one.position,
        "at": write_time(one.at),
        "key": one.key,
        "question": storable(one.question),
        "requested_by": one.requested_by,
        "expires_at": _time(one.expires_at),
        "tool_schema": one.tool_schema,
        "runtime_digest": one.runtime_digest,
        "terms_position": None if terms is None else terms.position,
        "terms_digest": None if terms is None else terms.digest,
        "answer": None if answer is None else answer.answer,
        "answered_by": None if answer is None else answer.by,
        "answered_at": None if answer is None else write_time(answer.at),
        "answered_position": None if answer is None else answer.position,
        "reason": None if answer is None else storable(answer.reason),
    }


def _constraint(one: Constraint) -> Cells:
    source = one.source
    return {
        "position": one.position,
        "at": write_time(one.accepted_at),
        "text": storable(one.text),
        "rule": rule_text(one.rule),
        "source": None if source is None else source.stream,
        "item": None if source is None else source.item or one.id,
        "revision": None if source is None else source.revision,
        "source_position": one.source_position,
        "published": None if one.published is None else int(one.published),
        "asserted_by": one.asserted_by,
        "accepted_by": one.accepted_by,
        "valid_from": _time(one.valid_from),
        "valid_until": _time(one.valid_until),
    }


def _assumption(one: Assumption) -> Cells:
    refuted = one.refuted
    return {
        "position": one.position,
        "at": write_time(one.at),
        "text": storable(one.text),
        "by": one.by,
        "rests_on": text_or_none(list(one.rests_on)),
        "refuted_at": None if refuted is None else write_time(refuted.at),
        "refuted_by": None if refuted is None else refuted.by,
        "refuted_position": None if refuted is None else refuted.position,
        "evidence": None if refuted is None else storable(refuted.evidence),
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else write_time(moment)


def _amounts(amounts: Mapping[str, Decimal] | None) -> str | None:
    """Write amounts as a JSON object of exact numbers as text; an empty budget is one of nothing."""
    return None if amounts is None else canonical_text({unit: f"{each:f}" for unit, each in amounts.items()})


# --- tables ----------------------------------------------------------------------------------------


def _table(name: str, id: str, *columns: Column, indexes: tuple[tuple[str, ...], ...] = ()) -> Table:
    own = (Column("run"), Column(id), Column("position", "integer"), Column("at"))
    return Table(name, (*own, *columns), key=("run", id), indexes=indexes)


OBLIGATIONS = _table(
    "obligations",
    "id",
    Column("text"),
    Column("owed_to"),
    Column("due", optional=True),
    Column("because", optional=True),
    Column("by", optional=True),
    indexes=(("due",), ("owed_to",)),
)
UNSETTLED = _table(
    "unsettled",
    "key",
    Column("tool"),
    Column("act"),
    Column("step", optional=True),
    Column("occurrence", optional=True),
    Column("status"),
    Column("attempt", "integer"),
    Column("max_attempts", "integer"),
    Column("recovery"),
    Column("resource", optional=True),
    Column("worker", optional=True),
    Column("lease_until", optional=True),
    Column("grants", optional=True),
    Column("reserved", optional=True),
    Column("inherited_from", optional=True),
    Column("witnessed", "integer"),
    indexes=(("status",), ("tool",)),
)
GRANTS = _table(
    "grants",
    "id",
    Column("principal"),
    Column("session", optional=True),
    Column("scopes"),
    Column("budget", optional=True),
    Column("spent", optional=True),
    Column("reserved", optional=True),
    Column("used_up", "integer"),
    Column("expires_at", optional=True),
    Column("granted_by"),
    Column("on_resume", optional=True),
    Column("renewed_position", "integer", optional=True),
    indexes=(("principal", "run", "position"),),
)
APPROVALS = _table(
    "approvals",
    "id",
    Column("key"),
    Column("question", optional=True),
    Column("requested_by", optional=True),
    Column("expires_at", optional=True),
    Column("tool_schema", optional=True),
    Column("runtime_digest", optional=True),
    Column("terms_position", "integer", optional=True),
    Column("terms_digest", optional=True),
    Column("answer", optional=True),
    Column("answered_by", optional=True),
    Column("answered_at", optional=True),
    Column("answered_position", "integer", optional=True),
    Column("reason", optional=True),
)
CONSTRAINTS = _table(
    "constraints",
    "id",
    Column("text"),
    Column("rule", optional=True),
    Column("source", optional=True),
    Column("item", optional=True),
    Column("revision", optional=True),
    Column("source_position", "integer", optional=True),
    Column("published", "integer", optional=True),
    Column("asserted_by"),
    Column("accepted_by"),
    Column("valid_from", optional=True),
    Column("valid_until", optional=True),
    indexes=(("source", "run", "position"),),
)
ASSUMPTIONS = _table(
    "assumptions",
    "id",
    Column("text"),
    Column("by", optional=True),
    Column("rests_on", optional=True),
    Column("refuted_at", optional=True),
    Column("refuted_by", optional=True),
    Column("refuted_position", "integer", optional=True),
    Column("evidence", optional=True),
)

KINDS: tuple[Kind, ...] = (
    Kind(OBLIGATIONS, "obligations", "id", _obligation),
    Kind(UNSETTLED, "effects", "key", _effect),
    Kind(GRANTS, "grants", "id", _grant),
    Kind(APPROVALS, "approvals", "id", _approval),
    Kind(CONSTRAINTS, "constraints", "id", _constraint),
    Kind(ASSUMPTIONS, "assumptions", "id", _assumption),
)
"""In the order in which a run's rows are put."""
