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
from typing import Any, Literal, NamedTuple

from pydantic_core import SchemaValidator, core_schema

from ledger.canonical import invalid
from ledger.events import (
    EVENT_CLASSES,
    EVENTS,
    ConstraintAccepted,
    EffectIntended,
    Event,
    ObservationRecorded,
    Parent,
    RunOpened,
    SourceRevised,
)
from ledger.values import (
    Amounts,
    AtLeastOne,
    CanonicalJson,
    Change,
    Count,
    Counts,
    Flag,
    Id,
    Instant,
    Labels,
    Limits,
    Party,
    Payload,
    Position,
    Predicate,
    Published,
    Recovery,
    Ref,
    Rule,
    Runtime,
    Seconds,
    Sha256,
    Source,
    Text,
    Value,
)

# --- parts of events, as they were ---------------------------------------------------------------


class RuleV1(Value):
    """As it was before a rule could say of which arguments it speaks."""

    allow: tuple[Id, ...] | None = None
    deny: tuple[Id, ...] = ()
    needs_approval: Flag = False
    require: tuple[Predicate, ...] = ()
    resources: tuple[Id, ...] | None = None
    tenants: tuple[Id, ...] | None = None
    tools: tuple[Id, ...] = ()


class PublishedV1(Value):
    """As it was with such a rule."""

    id: Id
    rule: RuleV1 | None = None
    text: Text


class Part(NamedTuple):
    """A part of events in an old shape, what it is read as, and what that has in addition."""

    old: type[Value]
    new: type[Value]
    added: Mapping[str, Any]


PARTS: tuple[Part, ...] = (Part(RuleV1, Rule, {"when": ()}), Part(PublishedV1, Published, {}))
"""All parts that have changed. A part, like a step, only adds fields, each with one value."""

_UP = {part.old: part for part in PARTS}
_DOWN = {part.new: part for part in PARTS}


def _parts_up(value: Any) -> Any:
    """Read the parts in a value as they are now."""
    if isinstance(value, tuple):
        return tuple(map(_parts_up, value))
    part = _UP.get(type(value))
    if part is None:
        return value
    fields = {name: part.added.get(name) for name in part.new.model_fields}
    fields.update((name, _parts_up(inner)) for name, inner in value.__dict__.items())
    return part.new.unchecked(fields)


def _parts_down(value: Any, path: str) -> Any:
    """Write the parts in a value as they were.

    Raises:
        InvalidInput: one holds what the old shape cannot say.
    """
    if isinstance(value, tuple):
        return tuple(_parts_down(inner, path) for inner in value)
    part = _DOWN.get(type(value))
    if part is None:
        return value
    fields = dict(value.__dict__)
    for name, stated in part.added.items():
        if fields.pop(name) != stated:
            raise invalid(f"{path}.{name}", "the version that is asked for has no such field")
    return part.old.unchecked({name: _parts_down(inner, f"{path}.{name}") for name, inner in fields.items()})


# --- events, as they were ------------------------------------------------------------------------


class RunOpenedV1(Event):
    """As it was before a run could need a grant from the beginning."""

    name = "run.opened"

    goal: Text
    labels: Labels | None = None
    limits: Limits | None = None
    owner: Party | None = None
    parent: Parent | None = None
    rests_on: tuple[Ref, ...] = ()
    runtime: Runtime | None = None
    thread: Id | None = None


class ConstraintAcceptedV1(Event):
    """As it was before a rule could say of which arguments it speaks."""

    name = "constraint.accepted"

    accepted_by: Party
    asserted_at: Instant | None = None
    asserted_by: Party
    change: Change | None = None
    id: Id
    published: Flag | None = None
    rule: RuleV1 | None = None
    source: Source | None = None
    source_position: Count | None = None
    supersedes: Position | None = None
    text: Text
    valid_from: Instant | None = None
    valid_until: Instant | None = None


class SourceRevisedV1(Event):
    """As it was before a rule could say of which arguments it speaks."""

    name = "source.revised"

    added: tuple[PublishedV1, ...] = ()
    by: Party | None = None
    reason: Text | None = None
    revision: Id
    reworded: tuple[PublishedV1, ...] = ()
    withdrawn: tuple[Id, ...] = ()


class EffectIntendedV1(Event):
    """As it was before arguments were recorded in full."""

    name = "effect.intended"
    binds_terms = True
    keyed_by = ("effect", "key")

    act: Sha256
    approval: Id | None = None
    args: CanonicalJson
    authority: tuple[Id, ...] = ()
    dedupes_for: Seconds | None = None
    given: Id | None = None
    key: Sha256
    key_scheme: Literal["given", "v1"]
    max_attempts: AtLeastOne = 1
    occurrence: Id | None = None
    recovery: Recovery
    repeat_reason: Text | None = None
    reserved: Amounts | None = None
    resource: Id | None = None
    rests_on: tuple[Ref, ...] = ()
    settle_seconds: Seconds | None = None
    source_positions: Counts | None = None
    step: Id | None = None
    tool: Id
    tool_schema: Sha256 | None = None
    undone_by: Sha256 | None = None
    witnessed: Flag = True


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
    def keyed_by(self) -> tuple[str, ...] | None:
        """Kind and fields by which the store finds the event again; no version changes that."""
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
        for name in self._with_parts:
            fields[name] = _parts_up(fields[name])
        return self.new.unchecked(fields)

    @cached_property
    def _with_parts(self) -> tuple[str, ...]:
        """Fields that hold parts which have changed: their types are others in the two shapes."""
        old, new = self.old.model_fields, self.new.model_fields
        return tuple(name for name in old if old[name].annotation != new[name].annotation)

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
        for name in self._with_parts:
            fields[name] = _parts_down(fields[name], f"data.{name}")
        return self.old.unchecked(fields)


UPCASTS: tuple[Upcast, ...] = (
    Upcast(RunOpenedV1, RunOpened, {"require_authority": False}),
    Upcast(ConstraintAcceptedV1, ConstraintAccepted, {}),
    Upcast(EffectIntendedV1, EffectIntended, {"args_in_full": None}),
    Upcast(ObservationRecordedV1, ObservationRecorded, {"args": None}),
    Upcast(SourceRevisedV1, SourceRevised, {}),
)
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
