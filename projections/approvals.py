"""The projection `approvals`: which acts a person was asked about, and every answer."""

from __future__ import annotations

from collections.abc import Iterable

from ledger.events import ApprovalAnswered, ApprovalRequested
from ledger.record import Record
from ledger.values.times import write_time
from projections.base import Column
from projections.facts import Fact, Facts, fact_table
from projections.words import storable

REQUESTS, ANSWERS = "requests", "answers"


class Approvals(Facts):
    """One row for each request and one for each answer, also for those that count for nothing."""

    name = "approvals"
    version = 1
    tables = (
        fact_table(
            REQUESTS,
            Column("id"),
            Column("key"),
            Column("question", optional=True),
            Column("expires_at", optional=True),
            Column("tool_schema", optional=True),
            Column("runtime_digest", optional=True),
            Column("terms_position", "integer", optional=True),
            Column("terms_digest", optional=True),
            indexes=(("run", "id", "position"), ("at",), ("expires_at",), ("key",)),
        ),
        fact_table(
            ANSWERS,
            Column("id"),
            Column("answer"),
            Column("by"),
            Column("reason", optional=True),
            Column("occurred_at", optional=True),
            indexes=(("run", "id", "position"), ("at",)),
        ),
    )
    wants = frozenset({ApprovalAnswered, ApprovalRequested})

    def facts(self, record: Record) -> Iterable[Fact]:
        event, terms = record.event, record.terms
        if isinstance(event, ApprovalRequested):
            asked = {
                "id": event.id,
                "key": event.key,
                "question": storable(event.question),
                "expires_at": None if event.expires_at is None else write_time(event.expires_at),
                "tool_schema": event.tool_schema,
                "runtime_digest": event.runtime_digest,
                "terms_position": None if terms is None else terms.position,
                "terms_digest": None if terms is None else terms.digest,
            }
            yield Fact(REQUESTS, asked)
        elif isinstance(event, ApprovalAnswered):
            answered = {
                "id": event.id,
                "answer": event.answer,
                "by": event.by,
                "reason": storable(event.reason),
                "occurred_at": None if event.occurred_at is None else write_time(event.occurred_at),
            }
            yield Fact(ANSWERS, answered)
