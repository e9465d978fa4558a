"""The projection `observations`: what was seen, by which model, prompt and tools, and what was said."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.events import (
    MessageRecorded,
    MessagesSummarised,
    ObservationInvalidated,
    ObservationRecorded,
    RunOpened,
    RunResumed,
    RuntimeAdopted,
)
from ledger.record import Record
from ledger.stores.read_models import Cell
from ledger.values import Payload, Runtime
from ledger.values.times import write_time
from projections.base import Column
from projections.facts import Fact, Facts, fact_table, text_or_none
from projections.words import storable

OBSERVATIONS, INVALIDATIONS, MESSAGES = "observations", "invalidations", "messages"
RUNTIMES, VERSIONS = "runtimes", "versions"

RUNTIME_FIELDS = tuple(Runtime.model_fields)
"""What a runtime is told by, in alphabetical order."""

_HOW = {
    RunOpened: "opened",
    RunResumed: "resumed",
    RuntimeAdopted: "adopted",
    ObservationRecorded: "observed",
}


class Observations(Facts):
    """One row for each observation, invalidation, message or summary, and for each runtime that is named.

    A runtime stands once as a whole, and once for each of its fields that is set, to be found by it. How it
    was named: the run was `opened` or `resumed` with it, it was `adopted`, or it is the model that was asked
    (`observed`).
    """

    name = "observations"
    version = 1
    wants = frozenset(
        {
            MessageRecorded,
            MessagesSummarised,
            ObservationInvalidated,
            ObservationRecorded,
            RunOpened,
            RunResumed,
            RuntimeAdopted,
        }
    )
    tables = (
        fact_table(
            OBSERVATIONS,
            Column("key"),
            Column("tool"),
            Column("step", optional=True),
            Column("occurrence", optional=True),
            Column("args", optional=True),
            Column("args_digest", optional=True),
            Column("value", optional=True),
            Column("value_digest", optional=True),
            Column("value_type", optional=True),
            Column("observed_at", optional=True),
            Column("fresh_for", "integer", optional=True),
            Column("cost", optional=True),
            Column("witnessed", "integer"),
            indexes=(("run", "key", "observed_at", "position"),),
        ),
        fact_table(
            INVALIDATIONS,
            Column("key"),
            Column("by", optional=True),
            Column("reason"),
            indexes=(("run", "key", "position"),),
        ),
        fact_table(
            MESSAGES,
            Column("id"),
            Column("role", optional=True),
            Column("content", optional=True),
            Column("digest", optional=True),
            Column("size", "integer", optional=True),
            Column("tokens", "integer", optional=True),
            Column("stands_for", "integer", optional=True),
        ),
        fact_table(
            RUNTIMES,
            Column("how"),
            *(Column(name, optional=True) for name in RUNTIME_FIELDS),
            indexes=(("run", "how", "position"),),
        ),
        fact_table(
            VERSIONS,
            Column("how"),
            Column("field"),
            Column("value"),
            more_key=("field",),
            indexes=(("value", "field", "at"),),
        ),
    )

    def facts(self, record: Record) -> Iterable[Fact]:
        event = record.event
        match event:
            case ObservationRecorded():
                yield Fact(OBSERVATIONS, _observation(event))
            case ObservationInvalidated():
                yield Fact(
                    INVALIDATIONS, {"key": event.key, "by": event.by, "reason": storable(event.reason)}
                )
            case MessageRecorded():
                told = {"id": event.id, "role": event.role, "tokens": event.tokens}
                yield Fact(MESSAGES, {**told, **_content(event.content)})
            case MessagesSummarised():
                # It has no role: it stands for all messages up to the one it names.
                yield Fact(
                    MESSAGES, {"id": event.through, "stands_for": event.count, **_content(event.content)}
                )
        if isinstance(event, RunOpened | RunResumed | RuntimeAdopted | ObservationRecorded):
            yield from _runtime(_HOW[type(event)], event.runtime)


def _observation(event: ObservationRecorded) -> dict[str, Cell]:
    value, seen = event.value, event.observed_at
    cost = None if event.cost is None else {unit: f"{amount:f}" for unit, amount in event.cost.items()}
    return {
        "key": event.key,
        "tool": event.tool,
        "step": event.step,
        "occurrence": event.occurrence,
        "args": event.args,
        "args_digest": event.args_digest,
        "value": value.json_text,
        "value_digest": value.digest,
        "value_type": value.type,
        "observed_at": None if seen is None else write_time(seen),
        "fresh_for": event.fresh_for,
        "cost": text_or_none(cost),
        "witnessed": int(event.witnessed),
    }


def _content(payload: Payload) -> dict[str, Cell]:
    return {"content": payload.json_text, "digest": payload.digest, "size": payload.size}


def _runtime(how: str, runtime: Runtime | None) -> Iterable[Fact]:
    if runtime is None:
        return
    fields = {name: value for name in RUNTIME_FIELDS if (value := getattr(runtime, name)) is not None}
    yield Fact(RUNTIMES, {"how": how, **fields})
    for name, value in fields.items():
        yield Fact(VERSIONS, {"how": how, "field": name, "value": value})
