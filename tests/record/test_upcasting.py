"""Old versions are read as the newest one; what they lack is stated, and nothing is granted by that."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.codec import decode, encode, reencode
from ledger.errors import InvalidInput, UndecodableRecord, UnknownEventName
from ledger.events import EVENT_CLASSES, EVENTS, Event, ObservationRecorded
from ledger.record import Envelope, Record, Row, digest, write
from ledger.upcasting import NEWEST, READERS, UPCASTS, ObservationRecordedV1, Upcast, as_stored
from ledger.values import Payload
from tests.record.records import ENVELOPE, fields_of, rewritten
from tests.strategies import ANY, COMPLETE, NOON, Vocabulary, event

OLD = ObservationRecordedV1(key="stock", observed_at=NOON, tool="count", value=Payload(json_text="3"))
NEW = ObservationRecorded(key="stock", observed_at=NOON, tool="count", value=Payload(json_text="3"))

EACH = pytest.mark.parametrize("step", UPCASTS, ids=lambda step: f"{step.old.name} {step.old.version}")
WORDS = pytest.mark.parametrize("words", [ANY, COMPLETE], ids=["any", "complete"])

REVIEWED: dict[tuple[str, int, str], tuple[Any, str]] = {
    ("observation.recorded", 1, "args"): (
        None,
        """The old program kept a digest of the arguments and not the arguments. None says that they are not
        known, so nothing can be asked again from the record: no answer is fresh for longer, and no act is
        allowed by it.""",
    ),
}
"""Every field that a step adds: its value, and why it neither grants, extends nor relaxes anything.

A line is added here by whoever reviewed the step for exactly that.
"""


def stored(event: Event, around: Envelope) -> Row:
    """Store an event of an old shape, as the program did that wrote it."""
    data = type(event).__pydantic_serializer__.to_json(event, exclude_none=True)
    record = write(around, event.name, event.version, data)
    return Row(around.position, around.id, digest(record), None, None, None, record)


def read(row: Row) -> Record:
    return decode(row.record, row.hash, run=ENVELOPE.run, position=ENVELOPE.position)


# --- the rule over the whole table ---------------------------------------------------------------


def test_every_value_that_is_added_was_reviewed() -> None:
    added = {
        (step.old.name, step.old.version, name): value
        for step in UPCASTS
        for name, value in step.added.items()
    }
    assert added == {place: value for place, (value, _) in REVIEWED.items()}
    assert all(len(why.split()) > 10 for _, why in REVIEWED.values())


@EACH
def test_a_step_adds_exactly_the_fields_the_old_shape_lacks_and_drops_none(step: Upcast) -> None:
    old, new = list(step.old.model_fields), list(step.new.model_fields)
    assert sorted([*old, *step.added]) == new
    assert old == sorted(old)
    for name in old:
        assert step.old.model_fields[name].annotation == step.new.model_fields[name].annotation
        assert step.old.model_fields[name].default == step.new.model_fields[name].default


@EACH
def test_a_step_leads_from_an_older_version_of_the_same_event_to_the_one_that_is_written(
    step: Upcast,
) -> None:
    assert step.old.name == step.new.name
    assert step.old.version < step.new.version == NEWEST[step.new.name]
    assert step.old.keyed_by == step.new.keyed_by == step.keyed_by
    assert step.old.binds_terms == step.new.binds_terms
    assert step.old not in EVENT_CLASSES


def test_every_version_from_the_first_on_is_read() -> None:
    assert set(READERS) == {(name, n) for name, newest in NEWEST.items() for n in range(1, newest + 1)}
    assert {place: READERS[place] for place in EVENTS} == EVENTS


# --- what is read --------------------------------------------------------------------------------


@EACH
@WORDS
@settings(max_examples=max(10, settings().max_examples // 5))
@given(data=st.data())
def test_what_was_written_comes_through_unchanged_and_goes_back_to_the_same_bytes(
    step: Upcast, words: Vocabulary, data: st.DataObject
) -> None:
    old = data.draw(event(step.old, words))
    row = stored(old, ENVELOPE)
    found = read(row)
    assert type(found.event) is step.new
    assert (found.name, found.version) == (step.old.name, step.old.version)
    assert dict(found.event) == {**dict(old), **step.added}
    assert list(dict(found.event)) == list(step.new.model_fields)
    again = reencode(found)
    assert (again.record, again.hash) == (row.record, row.hash)
    assert again.key == encode(found.event, ENVELOPE).key


@EACH
@given(data=st.data())
def test_it_is_read_alike_however_it_is_spelt(step: Upcast, data: st.DataObject) -> None:
    row = stored(data.draw(event(step.old)), ENVELOPE)
    spaced = row.record.replace(b'"tenant":', b'"tenant": ')
    assert (
        decode(spaced, digest(spaced), run=ENVELOPE.run, position=ENVELOPE.position).event == read(row).event
    )


def test_a_field_of_the_new_version_does_not_stand_in_an_old_record() -> None:
    fields = fields_of(stored(OLD, ENVELOPE))
    fields["data"]["args"] = "{}"
    with pytest.raises(UndecodableRecord, match=r"data\.args"):
        decode(*rewritten(fields), run=ENVELOPE.run, position=ENVELOPE.position)


# --- what is written -----------------------------------------------------------------------------


def test_an_old_shape_is_never_written_as_something_new() -> None:
    with pytest.raises(InvalidInput, match="not an event of the ledger"):
        encode(OLD, ENVELOPE)


def test_what_an_old_version_cannot_say_is_not_written_in_it() -> None:
    asked = NEW.with_fields({"args": "{}"})
    assert as_stored(asked, 2) is asked
    assert as_stored(NEW, 1) == OLD
    with pytest.raises(InvalidInput, match="args"):
        as_stored(asked, 1)
    with pytest.raises(InvalidInput, match="version"):
        as_stored(asked, 3)


# --- what is not known ---------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "supported"), [(3, 2), (0, 2), (9_007_199_254_740_991, 2)])
def test_a_version_that_is_not_known_names_both_numbers_and_what_to_do(version: int, supported: int) -> None:
    fields = {**fields_of(encode(NEW, ENVELOPE)), "version": version}
    with pytest.raises(UnknownEventName, match="upgrade intent-ledger") as caught:
        decode(*rewritten(fields), run=ENVELOPE.run, position=ENVELOPE.position)
    assert caught.value.data == {
        "run": ENVELOPE.run,
        "position": ENVELOPE.position,
        "name": "observation.recorded",
        "version": version,
        "found": version,
        "supported": supported,
    }
    assert f"version {version}" in str(caught.value)
    assert f"version {supported}" in str(caught.value)
