"""What recorders must answer, as a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from eventsourcing.persistence import Notification, StoredEvent
from hypothesis import strategies as st


def selected(
    events: Iterable[StoredEvent], gt: int | None, lte: int | None, desc: bool, limit: int | None
) -> list[StoredEvent]:
    """Select events of one aggregate."""
    found = sorted(
        (
            event
            for event in events
            if (gt is None or event.originator_version > gt)
            and (lte is None or event.originator_version <= lte)
        ),
        key=lambda event: event.originator_version,
        reverse=desc,
    )
    return found[:limit]


def notified(
    all_of_them: Sequence[Notification],
    start: int | None,
    limit: int,
    stop: int | None,
    topics: Sequence[str],
    inclusive: bool,
) -> list[Notification]:
    """Select notifications of one application."""
    found = [
        notification
        for notification in all_of_them
        if (start is None or notification.id > start or (inclusive and notification.id == start))
        and (stop is None or notification.id <= stop)
        and (not topics or notification.topic in topics)
    ]
    return found[:limit]


def bounds(highest: int) -> st.SearchStrategy[int | None]:
    """Draw a version or id near those that exist, one far beyond them, or none."""
    return st.none() | st.integers(-2, highest + 2) | st.sampled_from([2**53 - 1, 2**60, -(2**60)])
