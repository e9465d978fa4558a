"""The projection `approvals`: which acts a person was asked about, and every answer.

Which answer counts depends on the others, and is for the query: `projections/questions/approvals_asked.py`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ledger.events import ApprovalAnswered, ApprovalRequested
from ledger.record import Record
from ledger.run.decision import acting
from ledger.stores.read_models import Cell
from ledger.values.times import write_time
from projections.base import Column
from projections.facts import Fact, Facts, fact_table
from projections.words import storable

REQUESTS, ANSWERS = "requests", "answers"


class Approvals(Facts):
    """One row for each request and one for each answer, also for those that count for nothing.

    `requested_by` is who decides where the request was written. `is_person`: a person is said to have
    answered, and no agent wrote so. `decided_by` is who decides there; empty: a service, which passes on what
    it heard.
    """

    name = "approvals"
    version = 2
    tables = (
        fact_table(
            REQUESTS,
            Column("id"),
            Column("key"),
            Column("question", optional=True),
            Column("requested_by"),
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
            Column("is_person", "integer"),
            Column("decided_by", optional=True),
            Column("reason", optional=True),
            Column("occurred_at", optional=True),
            indexes=(("run", "id", "position"), ("at",)),
        ),
    )
    wants = frozenset({ApprovalAnswered, ApprovalRequested})

    def facts(self, record: Record) -> Iterable[Fact]:
        event, terms = record.event, record.terms
        if isinstance(event, ApprovalRequested):
            asked: dict[str, Cell] = {
                "id": event.id,
                "key": event.key,
                "question": storable(event.question),
                "requested_by": acting(record.actor),
                "expires_at": None if event.expires_at is None else write_time(event.expires_at),
                "tool_schema": event.tool_schema,
                "runtime_digest": event.runtime_digest,
                "terms_position": None if terms is None else terms.position,
                "terms_digest": None if terms is None else terms.digest,
            }
            yield Fact(REQUESTS, asked)
        elif isinstance(event, ApprovalAnswered):
            who = acting(record.actor)
            answered: dict[str, Cell] = {
                "id": event.id,
                "answer": event.answer,
                "by": event.by,
                "is_person": int(event.by.startswith("human:") and not who.startswith("agent:")),
                "decided_by": None if who.startswith("service:") else who,
                "reason": storable(event.reason),
                "occurred_at": None if event.occurred_at is None else write_time(event.occurred_at),
            }
            yield Fact(ANSWERS, answered)
