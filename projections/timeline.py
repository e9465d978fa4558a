"""The projection `timeline`: every event of every stream, who wrote it and what it is about."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from ledger.events import EVENT_CLASSES, Event
from ledger.record import Record
from projections.base import Column
from projections.facts import Fact, Facts, fact_table, text_or_none

EVENTS, SUBJECTS = "events", "subjects"

_SAID_BY = ("by", "accepted_by", "granted_by", "reported_by")
_NAMED_IN = ("id", "key")
_PARTIES = ("owed_to", "to", "owner", "principal")


class Timeline(Facts):
    """One row for each event, and one for each subject that it is about."""

    name = "timeline"
    version = 1
    tables = (
        fact_table(
            EVENTS,
            Column("name"),
            Column("id"),
            Column("thing", optional=True),
            Column("by", optional=True),
            Column("actor"),
            Column("session", optional=True),
            Column("authenticated_by", optional=True),
            Column("role", optional=True),
            Column("on_behalf_of", optional=True),
            Column("causation", optional=True),
            Column("correlation", optional=True),
            Column("terms_position", "integer", optional=True),
            Column("terms_digest", optional=True),
            Column("hash", "bytes"),
            indexes=(("at",), ("name", "at"), ("actor", "at"), ("session", "at"), ("thing", "run")),
        ),
        fact_table(
            SUBJECTS,
            Column("subject"),
            Column("how"),
            more_key=("subject", "how"),
            indexes=(("subject", "at"),),
        ),
    )

    def facts(self, record: Record) -> Iterable[Fact]:
        actor, terms, event = record.actor, record.terms, record.event
        yield Fact(
            EVENTS,
            {
                "name": record.name,
                "id": record.id,
                "thing": thing_of(event),
                "by": _first(event, _SAID_BY),
                "actor": actor.id,
                "session": actor.session,
                "authenticated_by": actor.authenticated_by,
                "role": actor.role,
                "on_behalf_of": text_or_none(list(actor.on_behalf_of)),
                "causation": record.causation,
                "correlation": record.correlation,
                "terms_position": None if terms is None else terms.position,
                "terms_digest": None if terms is None else terms.digest,
                "hash": record.hash,
            },
        )
        for subject in dict.fromkeys(record.about):
            yield Fact(SUBJECTS, {"subject": subject, "how": "about"})
        for field in _present(type(event), _PARTIES):
            party = getattr(event, field)
            if party is not None:
                yield Fact(SUBJECTS, {"subject": party, "how": field})


def thing_of(event: Event) -> str | None:
    """Name what an event is about as references do: `effect:KEY`, `constraint:ID`; None: the run itself."""
    name = _first(event, _NAMED_IN)
    return None if name is None else f"{event.name.partition('.')[0]}:{name}"


def _first(event: Event, fields: tuple[str, ...]) -> str | None:
    found = (getattr(event, field) for field in _present(type(event), fields))
    return next((value for value in found if value is not None), None)


@cache
def _present(kind: type[Event], fields: tuple[str, ...]) -> tuple[str, ...]:
    assert kind in EVENT_CLASSES
    return tuple(field for field in fields if field in kind.model_fields)
