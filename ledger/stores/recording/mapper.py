"""From stored events to what they mean, through closed registries: no topic makes a program import anything.

A topic is data that was read from a disk. eventsourcing's own mapper takes it for the path of any object and
imports what it names; these look it up among what there is and refuse the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Never

from eventsourcing.domain import (
    BaseAggregate,
    CanInitAggregate,
    CanSnapshotAggregate,
    DomainEvent,
    DomainEventProtocol,
    HasOriginatorIDVersion,
    TAggregateID,
)
from eventsourcing.persistence import (
    InterfaceError,
    JSONTranscoder,
    Mapper,
    NotSupportedError,
    StoredEvent,
)
from eventsourcing.utils import TopicError, construct_topic

from ledger.codec import decode
from ledger.record import Record
from ledger.stores.recording.errors import translated
from ledger.stores.recording.runs import RecordedEvent, RecordedNotification, topic_of


class RunEvent(Record):
    """A record, with the two names that eventsourcing knows its place by."""

    __slots__ = ()

    @property
    def originator_id(self) -> str:
        """The stream: a run, or a source `$source:…`."""
        return self.run

    @property
    def originator_version(self) -> int:
        """The position in it."""
        return self.position


class RunMapper(Mapper[str]):
    """Decodes what a RunRecorder selects, verifying the hash first."""

    def __init__(self) -> None:
        # Asked for by the base class, used by nothing here: the registry of events decodes.
        super().__init__(JSONTranscoder())

    def to_stored_event(self, domain_event: DomainEventProtocol[str]) -> Never:
        """Refuse; a run is written through the ledger's commands.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("this mapper only reads: runs are written through the ledger")

    def to_domain_event(self, stored_event: StoredEvent) -> RunEvent:
        """Decode a record.

        Raises:
            TopicError: the topic is not the name of the event in the record.
            InternalError: the bytes are not what was written, or not the event they name.
            NotSupportedError: a newer program wrote them.
            InterfaceError: the hash does not come along, as it does from a RunRecorder.
        """
        if not isinstance(stored_event, RecordedEvent | RecordedNotification):
            raise InterfaceError("only what a RunRecorder selects can be verified, and so decoded")
        with translated():
            record = decode(
                stored_event.state,
                stored_event.hash,
                run=str(stored_event.originator_id),
                position=stored_event.originator_version,
            )
        if stored_event.topic != topic_of(record.name, record.version):
            raise TopicError(f"{stored_event.topic!r} is not the name of what {record.run!r} holds there")
        if isinstance(stored_event, RecordedNotification):
            record = record._replace(global_position=stored_event.id)
        return RunEvent(*record)


class ClosedMapper(Mapper[TAggregateID]):
    """eventsourcing's mapper, for topics that name an event class which this program has loaded.

    Event classes are those that derive from the library's, which covers everything that is declared within
    aggregates.
    """

    def to_domain_event(self, stored_event: StoredEvent) -> DomainEventProtocol[TAggregateID]:
        """Decode an event of an application.

        Raises:
            TopicError: the topic names no event class, or the event no aggregate class, that is loaded.
            MapperDeserialisationError: the bytes do not decode.
        """
        _require(stored_event.topic, (HasOriginatorIDVersion, DomainEvent))
        event = super().to_domain_event(stored_event)
        # These two hold the topic of their aggregate's class, which they resolve when they are applied.
        if isinstance(event, CanInitAggregate):
            _require(event.originator_topic, (BaseAggregate,))
        if isinstance(event, CanSnapshotAggregate):
            _require(event.topic, (BaseAggregate,))
        return event


_loaded: dict[type, frozenset[str]] = {}


def _require(topic: object, roots: tuple[type, ...]) -> None:
    if any(topic in _loaded.get(root, ()) for root in roots):
        return
    # Classes may have been declared since the last look.
    _loaded.update({root: frozenset(map(construct_topic, _family(root))) for root in roots})
    if not any(topic in _loaded[root] for root in roots):
        names = " or ".join(root.__name__ for root in roots)
        raise TopicError(
            f"{topic!r} is no {names} this program has loaded: import the module that declares it"
        )


def _family(root: type) -> Iterator[type]:
    yield root
    children: list[type] = type.__subclasses__(root)
    for child in children:
        yield from _family(child)
