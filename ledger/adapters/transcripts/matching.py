"""What a file says against what was imported before: how far a run has come, and what is still to be added.

Pure: records are folded into a `Standing` one after another; what to do next follows from it. Beside what the
file tells, a run holds marks that an import leaves: that it is suspended as imported, and which calls had no
answer. They are no part of the comparison, and neither is what the file does not say by itself (who imports,
how the tools are declared, where a source stands).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ledger.adapters.transcripts.facts import Fact, Facts
from ledger.events import (
    ConstraintAccepted,
    EffectFailed,
    EffectIntended,
    EffectSucceeded,
    EffectUnknown,
    Event,
    MessageRecorded,
    ObservationRecorded,
    ResumeRefused,
    ReviewSigned,
    RunOpened,
    RunSuspended,
)
from ledger.record import Record
from ledger.run.contract import states

LABEL = "imported-from"
"""Label of imported runs: base name of the file they were first read from."""

_NOT_OF_THE_FILE: dict[type[Event], frozenset[str]] = {
    RunOpened: frozenset({"labels"}),
    ConstraintAccepted: frozenset({"accepted_by", "published", "source_position"}),
    EffectIntended: frozenset({"dedupes_for", "recovery", "settle_seconds"}),
    ObservationRecorded: frozenset({"fresh_for"}),
}

# A review or a refused resume is about the run and takes it nowhere.
_BESIDE = (ResumeRefused, ReviewSigned, RunSuspended)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a run stands to a file, up to a position."""

    position: int = 0
    matched: int = 0
    """How many of the file's facts the run holds."""
    unknown: frozenset[str] = frozenset()
    """Keys of effects that an import marked as unanswered."""
    beyond: bool = False
    """The run holds what a longer version of the file told."""
    foreign: Record | None = None
    """The first event that no import wrote."""
    different: Record | None = None
    """The first imported event that is not what the file says in its place."""

    @property
    def compared(self) -> bool:
        """Nothing that follows could change how the two stand to each other."""
        return self.beyond or self.foreign is not None or self.different is not None


def follow(standing: Standing, records: Iterable[Record], told: Sequence[Fact]) -> Standing:
    """Take further records of the run into account."""
    position, matched, unknown = standing.position, standing.matched, set(standing.unknown)
    ended = standing
    for record in records:
        position, event = record.position, record.event
        if ended.compared or isinstance(event, _BESIDE):
            continue
        if isinstance(event, EffectUnknown) and event.because == "imported":
            unknown.add(event.key)
        elif not _could_be_imported(event):
            ended = replace(ended, foreign=record)
        elif matched == len(told):
            ended = replace(ended, beyond=True)
        elif same(event, told[matched].event):
            matched += 1
        else:
            ended = replace(ended, different=record)
    return replace(ended, position=position, matched=matched, unknown=frozenset(unknown))


def same(stored: Event, told: Event) -> bool:
    """Tell whether a stored event says what the file says."""
    but = _NOT_OF_THE_FILE.get(type(told), frozenset())
    return type(stored) is type(told) and states(stored, told, but=but)


def _could_be_imported(event: Event) -> bool:
    if isinstance(event, RunOpened):
        return LABEL in (event.labels or {})
    if isinstance(event, EffectIntended | ObservationRecorded):
        return not event.witnessed
    return isinstance(event, ConstraintAccepted | EffectFailed | EffectSucceeded | MessageRecorded)


def next_facts(standing: Standing, facts: Facts, *, most: int, most_bytes: int) -> tuple[Fact, ...]:
    """Choose what to append next; nothing where the run holds all that the file says.

    At most about `most` events and `most_bytes`, so that a long transcript is stored in several appends. Each
    ends with the run suspended, so that it cannot go on where an import was cut short.
    """
    told, start = facts.told, standing.matched
    chosen: list[Fact] = []
    size = 0
    for fact in told[start:]:
        if chosen and (len(chosen) >= most or size + fact.size > most_bytes):
            break
        chosen.append(fact)
        size += fact.size
    end = start + len(chosen)
    if end == len(told):
        chosen.extend(_unanswered(standing, facts))
    if not chosen:
        return ()
    at = next((f.message for f in reversed(told[:end]) if isinstance(f.event, MessageRecorded)), 0)
    reason = f"imported up to message {at} of {facts.messages}"
    return (*chosen, Fact(at, RunSuspended(cause="imported", reason=reason), 0))


def _unanswered(standing: Standing, facts: Facts) -> list[Fact]:
    if standing.compared:
        return []  # an answer stands in the run, or somebody else has taken care of it
    return [
        Fact(facts.messages, EffectUnknown(attempt=1, because="imported", key=key), 0)
        for key in facts.unanswered
        if key not in standing.unknown
    ]
