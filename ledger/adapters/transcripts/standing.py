"""What a run holds of a replay that was begun before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ledger.adapters.transcripts.replays import Repeat
from ledger.events import ConstraintAccepted, EffectIntended, MessageRecorded, RunOpened
from ledger.record import Record

REPLAY_LABEL = "replayed-from"
"""Label of replayed runs: base name of the file they were first read from."""


@dataclass
class Replayed:
    """What is there already; nothing, where the run is new."""

    opened: RunOpened | None = None
    accepted: set[str] = field(default_factory=set)
    """Ids of constraints."""
    messages: dict[str, str | None] = field(default_factory=dict)
    """Digests of contents, by message id."""
    intended: dict[str, Repeat | None] = field(default_factory=dict)
    """Keys of effects, each with what was said of a repeat."""

    @property
    def is_ours(self) -> bool:
        """Tell whether the run was opened by a replay."""
        return self.opened is not None and REPLAY_LABEL in (self.opened.labels or {})


def replayed(records: Iterable[Record]) -> Replayed:
    """Find what a run holds of a replay."""
    found = Replayed()
    for record in records:
        event = record.event
        if isinstance(event, RunOpened):
            found.opened = event
        elif isinstance(event, ConstraintAccepted):
            found.accepted.add(event.id)
        elif isinstance(event, MessageRecorded):
            found.messages[event.id] = event.content.digest
        elif isinstance(event, EffectIntended):
            said = Repeat(event.repeat_reason, event.undone_by)
            found.intended[event.key] = said if any(said) else None
    return found
