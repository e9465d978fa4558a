"""The projection `authority`: which grants were given, and what became of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from ledger.canonical import canonical_text
from ledger.events import (
    AuthorityCarved,
    AuthorityGranted,
    AuthorityRenewed,
    AuthorityReturned,
    AuthorityRevoked,
)
from ledger.record import Record
from ledger.stores.read_models import Cell
from ledger.values.times import write_time
from projections.base import Column
from projections.facts import Fact, Facts, fact_table, text_or_none
from projections.words import storable

GRANTS, CHANGES = "grants", "changes"

Cells = dict[str, Cell]


class Authority(Facts):
    """One row for each grant, and one for each renewal, revocation, carving and return."""

    name = "authority"
    version = 1
    tables = (
        fact_table(
            GRANTS,
            Column("id"),
            Column("principal"),
            Column("session", optional=True),
            Column("scopes"),
            Column("budget", optional=True),
            Column("expires_at", optional=True),
            Column("granted_by"),
            Column("on_resume", optional=True),
            Column("carved_run", optional=True),
            Column("carved_id", optional=True),
            Column("carved_position", "integer", optional=True),
            indexes=(("id", "run"), ("principal", "at")),
        ),
        fact_table(
            CHANGES,
            Column("id"),
            Column("what"),
            Column("by"),
            Column("reason", optional=True),
            Column("expires_at", optional=True),
            Column("session", optional=True),
            Column("budget", optional=True),
            Column("other_run", optional=True),
            indexes=(("id", "run"),),
        ),
    )
    wants = frozenset(
        {AuthorityCarved, AuthorityGranted, AuthorityRenewed, AuthorityReturned, AuthorityRevoked}
    )

    def facts(self, record: Record) -> Iterable[Fact]:
        event = record.event
        if isinstance(event, AuthorityGranted):
            yield Fact(GRANTS, _grant(event))
        elif isinstance(event, AuthorityRenewed):
            end = event.expires_at
            renewed: Cells = {
                "reason": storable(event.reason),
                "expires_at": None if end is None else write_time(end),
                "session": event.session,
                "budget": _amounts(event.add_budget),
            }
            yield Fact(CHANGES, {"id": event.id, "what": "renewed", "by": event.by, **renewed})
        elif isinstance(event, AuthorityRevoked):
            reason = storable(event.reason)
            yield Fact(CHANGES, {"id": event.id, "what": "revoked", "by": event.by, "reason": reason})
        elif isinstance(event, AuthorityCarved | AuthorityReturned):
            what = event.name.removeprefix("authority.")
            passed: Cells = {"budget": _amounts(event.budget), "other_run": event.run}
            yield Fact(CHANGES, {"id": event.id, "what": what, "by": event.by, **passed})


def _grant(event: AuthorityGranted) -> Cells:
    origin = event.carved_from
    return {
        "id": event.id,
        "principal": event.principal,
        "session": event.session,
        "scopes": text_or_none(list(event.scopes)),
        "budget": _amounts(event.budget),
        "expires_at": None if event.expires_at is None else write_time(event.expires_at),
        "granted_by": event.granted_by,
        "on_resume": event.on_resume,
        "carved_run": None if origin is None else origin.run,
        "carved_id": None if origin is None else origin.id,
        "carved_position": None if origin is None else origin.position,
    }


def _amounts(amounts: Mapping[str, Decimal] | None) -> str | None:
    # An empty budget is one, of nothing; none at all is no bound.
    return (
        None if amounts is None else canonical_text({unit: f"{value:f}" for unit, value in amounts.items()})
    )
