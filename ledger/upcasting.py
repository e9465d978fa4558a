"""Reading events of older versions as the newest one: what is stored stays, what it lacks is stated.

When an event gets a new version, the shape that was written before is frozen here, beside the values by which
an old record is read as the new class. It is validated by its old shape first. What a step may add is
narrow, and its form admits nothing else: fields that the old shape did not have, each with one value, the
same for every record. The value must state what the runtime that wrote the record did or knew; where it did
not say, the value says that nobody knows. It never grants, extends or relaxes anything: no time is longer, no
amount larger, no rule weaker, no doubt settled for having been written by an older program. No step changes,
renames or drops a field that was there; a change of that kind is an event of another name.

The table is closed, like the registry of events. The stored version stays in `Record.version`, and
`ledger.codec.reencode` writes the old bytes again.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic_core import SchemaValidator, core_schema

from ledger.canonical import invalid
from ledger.events import EVENT_CLASSES, EVENTS, Event, ObservationRecorded
from ledger.values import Amounts, Flag, Id, Instant, Payload, Ref, Runtime, Seconds, Sha256


class ObservationRecordedV1(Event):
    """As it was written before it could hold the arguments."""

    name = "observation.recorded"
    keyed_by = ("observation", "key")

    args_digest: Sha256 | None = None
    cost: Amounts | None = None
    fresh_for: Seconds | None = None
    key: Id
    observed_at: Instant | None = None
    occurrence: Id | None = None
    rests_on: tuple[Ref, ...] = ()
    runtime: Runtime | None = None
    step: Id | None = None
    tool: Id
    value: Payload
    witnessed: Flag = True


class Upcast:
    """One step: a frozen old shape, the class it is read as, and what that has in addition.

    It stands in `READERS` where a class stands for a current version, and is read through like one.
    """

    def __init__(self, old: type[Event], new: type[Event], added: Mapping[str, Any]) -> None:
        self.old = old
        self.new = new
        self.added = dict(added)
        """The value of each field that the old shape does not have."""

    @property
    def keyed_by(self) -> tuple[str, str] | None:
        """Kind and field by which the store finds the event again; no version changes that."""
        return self.new.keyed_by

    @cached_property
    def __pydantic_validator__(self) -> SchemaValidator:
        """What validates data by the old shape and returns the new class; built when it is first used."""
        self.old.model_rebuild()
        return SchemaValidator(
            core_schema.no_info_after_validator_function(self.up, self.old.__pydantic_core_schema__)
        )

    def up(self, event: Event) -> Event:
        """Read an event of the old shape as the new class."""
        fields = self._lacking.copy()
        fields.update(event.__dict__)
        return self.new.unchecked(fields)

    @cached_property
    def _lacking(self) -> dict[str, Any]:
        """All fields of the new class in their order: to be filled where they stand in the old shape."""
        return {name: self.added.get(name) for name in self.new.__pydantic_fields__}

    def down(self, event: Event) -> Event:
        """Write an event of the new class as the old shape.

        Raises:
            InvalidInput: it holds what the old shape cannot say.
        """
        fields = dict(event.__dict__)
        for name, value in self.added.items():
            if fields.pop(name) != value:
                raise invalid(f"data.{name}", f"{self.old.name} version {self.old.version} has no such field")
        return self.old.unchecked(fields)


UPCASTS: tuple[Upcast, ...] = (Upcast(ObservationRecordedV1, ObservationRecorded, {"args": None}),)
"""All steps, each from a shape that was written before straight to the current class."""

READERS: dict[tuple[str, int], type[Event] | Upcast] = {
    **{(step.old.name, step.old.version): step for step in UPCASTS},
    **EVENTS,
}
"""What reads each stored name and version: the class of the current one, or the step from an older one."""

NEWEST: dict[str, int] = {kind.name: kind.version for kind in EVENT_CLASSES}
"""The newest version of each event that this program reads, which is the one it writes."""


def as_stored(event: Event, version: int) -> Event:
    """Return an event in the shape of the version it was stored in.

    Raises:
        InvalidInput: there is no such version, or the event holds what that cannot say.
    """
    reader = READERS.get((event.name, version))
    if isinstance(reader, Upcast):
        return reader.down(event)
    if reader is not type(event):
        raise invalid("version", f"{event.name} has no version {version}")
    return event
