"""Events and archives of an application, as tests of the recorders make them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, cast
from uuid import UUID

from eventsourcing.persistence import StoredEvent

from ledger.stores.base import FullStore
from ledger.stores.recording import Archive
from ledger.values import Actor
from tests.stores.builder import shown

APPLICATION = "bank"
NOON = datetime(2031, 5, 6, 12, tzinfo=UTC)
FIRST, SECOND, THIRD = (UUID(int=number) for number in (1, 2, 3))


def stored(
    originator_id: UUID | str = FIRST, version: int = 1, topic: str = "topic", state: bytes = b"state"
) -> StoredEvent:
    """Make an event as an application's mapper does."""
    return StoredEvent(originator_id, version, topic, state)


def archive(store: FullStore, tenant: str = APPLICATION, **fields: Any) -> Archive:
    """Make an archive whose clock ticks by seconds, and whose ids are numbered."""
    settings: dict[str, Any] = {
        "actor": Actor("service:bank"),
        "clock": ticking(NOON),
        "ids": numbered(tenant),
        **fields,
    }
    return Archive(store, tenant, **settings)


def ticking(start: datetime, step: timedelta = timedelta(seconds=1)) -> Callable[[], datetime]:
    """Return a clock that moves on by a step each time it is read."""
    ticks: Iterator[int] = count()
    return lambda: start + step * next(ticks)


def numbered(name: str) -> Callable[[], str]:
    """Return a source of ids."""
    numbers: Iterator[int] = count(1)
    return lambda: f"{name}-{next(numbers)}"


class Wrapped:
    """A store that answers as another one does, but for the verbs that a test gives."""

    def __init__(self, store: FullStore, **verbs: Callable[..., Any]) -> None:
        self._store = store
        self._verbs = verbs

    def __getattr__(self, name: str) -> Any:
        return self._verbs.get(name) or getattr(self._store, name)


def settled(store: FullStore) -> FullStore:
    """Return a store that shows all it holds whenever it is asked.

    What is read is tested on it, not when: on a server that others use, what was just appended may be shown a
    moment later.
    """
    return cast(
        FullStore,
        Wrapped(
            store,
            tail=lambda **page: shown(store).tail(**page),
            end=lambda **which: shown(store).end(**which),
        ),
    )
