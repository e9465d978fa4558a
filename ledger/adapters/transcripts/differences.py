"""Why a transcript cannot be added to the run of its id, told by the first difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from ledger.adapters.transcripts.facts import Fact
from ledger.adapters.transcripts.matching import Standing
from ledger.adapters.transcripts.report import shown
from ledger.events import (
    ConstraintAccepted,
    EffectFailed,
    EffectIntended,
    EffectSucceeded,
    Event,
    MessageRecorded,
    ObservationRecorded,
    RunOpened,
)
from ledger.record import Record

_AROUND = 30
_SHOWN = 120

Contents = Callable[[str], str]
"""Reads the text behind a digest."""


class Difference(NamedTuple):
    """How a run and a file are at odds."""

    code: Literal["diverges", "not_imported", "went_on"]
    problem: str
    message: int | None = None
    """Number of the message that it is about."""
    stored: str | None = None
    found: str | None = None


def difference(standing: Standing, told: Sequence[Fact], contents: Contents) -> Difference | None:
    """Find what keeps the file from being added; None: nothing does."""
    foreign = standing.foreign
    if foreign is not None and foreign.position == 1:
        problem = f"a run of this id was opened by {foreign.actor.id} on {foreign.at:%Y-%m-%d}, not imported"
        return Difference("not_imported", shown(problem))
    if standing.different is not None:
        return _diverging(standing.different, standing.matched, told, contents)
    if foreign is not None and standing.matched < len(told):
        number = told[standing.matched].message
        problem = (
            f"the run went on after it was imported (position {foreign.position}: {foreign.name}), so what "
            f"the file holds from message {number} on cannot be added"
        )
        return Difference("went_on", problem, number)
    return None


def _diverging(record: Record, matched: int, told: Sequence[Fact], contents: Contents) -> Difference:
    stored, found = record.event, told[matched].event
    # An event that a message brings about stands behind it, so it belongs to the message matched last.
    about = matched if isinstance(stored, MessageRecorded) or matched == 0 else matched - 1
    number = told[about].message
    if isinstance(stored, MessageRecorded) and isinstance(found, MessageRecorded):
        one, other = _excerpts(_content(stored, contents), told[matched].blobs[0].content.decode())
        problem = f"message {number} differs: {one} was imported, the file says {other}"
    elif isinstance(stored, RunOpened) and isinstance(found, RunOpened):
        one, other = _excerpts(stored.goal, found.goal)
        problem = f"the goal (message {number}) differs: {one} was imported, the file says {other}"
    else:
        one, other = shown(_named(stored)), shown(_named(found))
        problem = (
            f"message {number} was read differently: {one} was imported, now it would be {other}; "
            "were the tools declared differently?"
        )
    return Difference("diverges", problem, number, one, other)


def _content(event: MessageRecorded, contents: Contents) -> str:
    assert event.content.digest is not None, "an imported message is a blob"
    return contents(event.content.digest)


def _named(event: Event) -> str:
    """Name an event by what tells it from its like."""
    if isinstance(event, EffectIntended | ObservationRecorded):
        return f"{event.name} of {event.tool!r}"
    if isinstance(event, EffectFailed | EffectSucceeded):
        return f"{event.name} of effect {event.key[:12]}"
    if isinstance(event, ConstraintAccepted | MessageRecorded):
        return f"{event.name} {event.id!r}"
    return event.name


def _excerpts(one: str, other: str) -> tuple[str, str]:
    """Cut two texts to where they first differ."""
    pairs = zip(one, other, strict=False)
    place = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    start = max(0, place - _AROUND)
    return _excerpt(one, start), _excerpt(other, start)


def _excerpt(text: str, start: int) -> str:
    before, after = "…" if start else "", "…" if start + _SHOWN < len(text) else ""
    return shown(f"{before}{text[start : start + _SHOWN]}{after}")
