"""The projection `effects`: what was intended, what became of it, and which calls were refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from ledger.canonical import canonical_text
from ledger.events import (
    EffectCompensated,
    EffectDisputed,
    EffectFailed,
    EffectIntended,
    EffectReconciled,
    EffectRefused,
    EffectStarted,
    EffectSucceeded,
    EffectUnknown,
    Event,
)
from ledger.record import Record
from ledger.stores.read_models import Cell
from ledger.values.times import write_time
from projections.base import Column
from projections.facts import Fact, Facts, fact_table, text_or_none
from projections.words import storable

INTENTS, STEPS, REFUSALS = "intents", "steps", "refusals"

Cells = dict[str, Cell]


class Effects(Facts):
    """One row for each intent, one for each later step of an effect, and one for each call that was refused.

    An effect of several attempts has several intents under one key, maybe in several runs of its lineage. One
    that had to be approved has an intent of its own for the asking, behind which nothing starts.
    """

    name = "effects"
    version = 2
    tables = (
        fact_table(
            INTENTS,
            Column("key"),
            Column("key_scheme"),
            Column("act"),
            Column("tool"),
            Column("step", optional=True),
            Column("args"),
            Column("args_in_full", optional=True),
            Column("given", optional=True),
            Column("occurrence", optional=True),
            Column("approval", optional=True),
            Column("authority", optional=True),
            Column("recovery"),
            Column("reserved", optional=True),
            Column("resource", optional=True),
            Column("tool_schema", optional=True),
            Column("terms_position", "integer", optional=True),
            Column("terms_digest", optional=True),
            Column("source_positions", optional=True),
            Column("repeat_reason", optional=True),
            Column("undone_by", optional=True),
            Column("witnessed", "integer"),
            Column("max_attempts", "integer"),
            indexes=(("key",), ("act",), ("tool", "at"), ("at",), ("approval", "run")),
        ),
        fact_table(
            STEPS,
            Column("key"),
            Column("what"),
            Column("attempt", "integer", optional=True),
            Column("found", optional=True),
            Column("method", optional=True),
            Column("by", optional=True),
            Column("evidence", optional=True),
            Column("because", optional=True),
            Column("reported", optional=True),
            Column("cost", optional=True),
            Column("external_ref", optional=True),
            Column("result", optional=True),
            Column("result_digest", optional=True),
            Column("error", optional=True),
            Column("worker", optional=True),
            Column("lease_until", optional=True),
            Column("occurred_at", optional=True),
            Column("undone_by", optional=True),
            Column("reason", optional=True),
            indexes=(("key",), ("what", "at")),
        ),
        fact_table(
            REFUSALS,
            Column("tool"),
            Column("step", optional=True),
            Column("key", optional=True),
            Column("act", optional=True),
            Column("rule"),
            Column("refused_by", "integer", optional=True),
            Column("args", optional=True),
            Column("evidence", optional=True),
            Column("constraint_id", optional=True),
            Column("source", optional=True),
            Column("revision", optional=True),
            Column("asserted_by", optional=True),
            Column("approval", optional=True),
            Column("denied_by", optional=True),
            Column("terms_position", "integer", optional=True),
            Column("terms_digest", optional=True),
            indexes=(("rule", "at"), ("at",), ("key",), ("source", "at")),
        ),
    )
    wants = frozenset(
        {
            EffectCompensated,
            EffectDisputed,
            EffectFailed,
            EffectIntended,
            EffectReconciled,
            EffectRefused,
            EffectStarted,
            EffectSucceeded,
            EffectUnknown,
        }
    )

    def facts(self, record: Record) -> Iterable[Fact]:
        event = record.event
        if isinstance(event, EffectIntended):
            yield Fact(INTENTS, _intent(event) | _terms(record))
        elif isinstance(event, EffectRefused):
            yield Fact(REFUSALS, _refusal(event) | _terms(record))
        else:
            yield Fact(STEPS, _step(event))


def _intent(event: EffectIntended) -> Cells:
    return {
        **_same(event, ("key", "key_scheme", "act", "tool", "step", "args", "given", "occurrence")),
        **_same(event, ("approval", "args_in_full", "resource", "tool_schema", "undone_by", "max_attempts")),
        "authority": text_or_none(list(event.authority)),
        "recovery": str(event.recovery),
        "repeat_reason": storable(event.repeat_reason),
        "reserved": _amounts(event.reserved),
        "source_positions": _map(event.source_positions),
        "witnessed": int(event.witnessed),
    }


def _refusal(event: EffectRefused) -> Cells:
    names = ("tool", "step", "key", "act", "rule", "args")
    return {
        **_same(event, names),
        **_named(event),
        "refused_by": event.position,
        "evidence": _map(event.evidence),
    }


def _named(event: EffectRefused) -> Cells:
    """Say which constraint, or whose denial, refused a call, where the rule names it in its evidence."""
    said: Mapping[str, Any] = event.evidence or {}
    if event.rule == "approval_denied":
        return {"approval": _text(said.get("approval")), "denied_by": _text(said.get("by"))}
    # What rests on a refuted assumption is refused by the same rule as what its source changed.
    if event.rule == "constraint_violated" or (event.rule == "contract_changed" and "source" in said):
        names = {"constraint_id": "id", "source": "source", "revision": "revision"}
        found = {column: _text(said.get(name)) for column, name in names.items()}
        return {**found, "asserted_by": _text(said.get("asserted_by"))}
    return {}


def _text(value: Any) -> str | None:
    """Take a word of evidence; what an import put in its place stays in the evidence alone."""
    return storable(value) if isinstance(value, str) else None


def _step(event: Event) -> Cells:
    """Keep what a step says; each event has some of the columns, and an absent one is empty."""
    cells: Cells = {"what": event.name.removeprefix("effect.")}
    for field, write in _writers(type(event)):
        value = getattr(event, field)
        if value is not None:
            cells.update(write(value))
    return cells


@cache
def _writers(kind: type[Event]) -> tuple[tuple[str, Callable[[Any], Cells]], ...]:
    return tuple((field, _WRITTEN[field]) for field in kind.model_fields if field in _WRITTEN)


def _result(payload: Any) -> Cells:
    return {"result": payload.json_text, "result_digest": payload.digest}


def _error(error: Any) -> Cells:
    return {"error": canonical_text({"message": error.message, "type": error.type})}


def _kept(column: str) -> Callable[[Any], Cells]:
    return lambda value: {column: value}


def _time(column: str) -> Callable[[Any], Cells]:
    return lambda value: {column: write_time(value)}


_WRITTEN: Mapping[str, Callable[[Any], Cells]] = {
    **{name: _kept(name) for name in ("key", "attempt", "found", "method", "by", "because")},
    **{name: _kept(name) for name in ("reported", "external_ref", "worker", "undone_by")},
    "reported_by": _kept("by"),
    "cost": lambda amounts: {"cost": _amounts(amounts)},
    "error": _error,
    "evidence": lambda words: {"evidence": storable(words)},
    "lease_until": _time("lease_until"),
    "occurred_at": _time("occurred_at"),
    "reason": lambda words: {"reason": storable(words)},
    "result": _result,
}
"""By field of a step's event, the cells it fills."""


def _terms(record: Record) -> Cells:
    terms = record.terms
    if terms is None:
        return {}
    return {"terms_position": terms.position, "terms_digest": terms.digest}


def _same(event: Event, names: tuple[str, ...]) -> Cells:
    return {name: getattr(event, name) for name in names}


def _amounts(amounts: Mapping[str, Any] | None) -> str | None:
    return None if amounts is None else text_or_none({unit: f"{value:f}" for unit, value in amounts.items()})


def _map(members: Mapping[str, Any] | None) -> str | None:
    return None if members is None else text_or_none(dict(members))
