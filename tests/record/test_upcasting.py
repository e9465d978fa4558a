"""Old versions are read as the newest one; what they lack is stated, and nothing is granted by that."""

from collections.abc import Callable
from typing import Any, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.codec import decode, encode, reencode
from ledger.errors import InvalidInput, UndecodableRecord, UnknownEventName
from ledger.events import (
    EVENT_CLASSES,
    EVENTS,
    ConstraintAccepted,
    Event,
    ObservationRecorded,
    SourceRevised,
)
from ledger.record import Envelope, Record, Row, digest, write
from ledger.upcasting import (
    NEWEST,
    PARTS,
    READERS,
    UPCASTS,
    ConstraintAcceptedV1,
    ObservationRecordedV1,
    Part,
    PublishedV1,
    RuleV1,
    SourceRevisedV1,
    Upcast,
    as_stored,
)
from ledger.values import Operator, Payload, Predicate, Published, Rule, Value
from tests.record.records import ENVELOPE, fields_of, rewritten
from tests.strategies import ANY, COMPLETE, NOON, Vocabulary, event
from tests.vocabulary.models import STORED

OLD = ObservationRecordedV1(key="stock", observed_at=NOON, tool="count", value=Payload(json_text="3"))
NEW = ObservationRecorded(key="stock", observed_at=NOON, tool="count", value=Payload(json_text="3"))

CHF = Predicate(operator=Operator.EQUAL, path="/currency", value='"CHF"')
WHEN = Rule(deny=("delete",), when=(CHF,))
PLAIN, PLAIN_V1 = Rule(deny=("delete",)), RuleV1(deny=("delete",))


def accepted(rule: Rule) -> ConstraintAccepted:
    return ConstraintAccepted(accepted_by="agent:a", asserted_by="human:kim", id="c", rule=rule, text="x")


EACH = pytest.mark.parametrize("step", UPCASTS, ids=lambda step: f"{step.old.name} {step.old.version}")
WORDS = pytest.mark.parametrize("words", [ANY, COMPLETE], ids=["any", "complete"])

EACH_PART = pytest.mark.parametrize("part", PARTS, ids=lambda part: part.old.__name__)

REVIEWED: dict[tuple[str, int, str], tuple[Any, str]] = {
    ("effect.intended", 1, "args_in_full"): (
        None,
        """The old program did not keep the arguments that its tool declares by default, and held no act
        against a rule. None says that they are not known: what is recorded is not completed from what a tool
        declares today, and no act has kept to a rule for having been written before.""",
    ),
    ("observation.recorded", 1, "args"): (
        None,
        """The old program kept a digest of the arguments and not the arguments. None says that they are not
        known, so nothing can be asked again from the record: no answer is fresh for longer, and no act is
        allowed by it.""",
    ),
    ("run.opened", 1, "require_authority"): (
        False,
        """The old program could not be told so, and let a run without any grant act, recorded as under none.
        False says just that. Nothing is relaxed: a run that was given a grant needs one as before, and no run
        was promised that it would.""",
    ),
}
"""Every field that a step adds: its value, and why it neither grants, extends nor relaxes anything.

A line is added here by whoever reviewed the step for exactly that.
"""

REVIEWED_PARTS: dict[tuple[type[Value], str], tuple[Any, str]] = {
    (RuleV1, "when"): (
        (),
        """The old rule spoke of every act with its tools, whatever the arguments. No condition says the same:
        it binds each act that it bound, none is left out of it, and whom it asks to approve is asked.""",
    ),
}
"""Every field that a part gets, likewise."""


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


def test_every_value_that_is_added_to_a_part_was_reviewed() -> None:
    added = {(part.old, name): value for part in PARTS for name, value in part.added.items()}
    assert added == {place: value for place, (value, _) in REVIEWED_PARTS.items()}
    assert all(len(why.split()) > 10 for _, why in REVIEWED_PARTS.values())


@EACH
def test_a_step_adds_exactly_the_fields_the_old_shape_lacks_and_drops_none(step: Upcast) -> None:
    only_adds(step.old, step.new, step.added)


@EACH_PART
def test_a_part_adds_exactly_the_fields_the_old_shape_lacks_and_drops_none(part: Part) -> None:
    only_adds(part.old, part.new, part.added)
    assert part.old is not part.new
    assert part.old not in STORED
    assert part.new in STORED


def test_each_part_stands_for_one_shape_and_is_held_by_an_old_event() -> None:
    """Written back, a part of today can only become one that was."""
    old, new = [part.old for part in PARTS], [part.new for part in PARTS]
    assert len({*old, *new}) == 2 * len(PARTS)
    held = {kind for step in UPCASTS for field in step.old.model_fields.values() for kind in within(field)}
    assert held & {*old, *new} == set(old)


def only_adds(old: type[Value] | type[Event], new: type[Value] | type[Event], added: Any) -> None:
    """Check that one shape has the fields of another and more, each alike but for parts that have changed."""
    before, now = old.model_fields, new.model_fields
    assert sorted([*before, *added]) == list(now)
    assert list(before) == sorted(before)
    for name in before:
        assert alike(before[name].annotation, now[name].annotation), name
        assert before[name].default == now[name].default
        assert before[name].metadata == now[name].metadata


NOW: dict[Any, type[Value]] = {part.old: part.new for part in PARTS}


def alike(old: Any, new: Any) -> bool:
    """Tell whether two types hold the same, but for parts that have changed."""
    if old == new:
        return old not in NOW
    if old in NOW:
        return NOW[old] is new
    if get_origin(old) is None or get_origin(old) is not get_origin(new):
        return False
    inner = list(zip(get_args(old), get_args(new), strict=False))
    return len(get_args(old)) == len(get_args(new)) and all(alike(one, other) for one, other in inner)


def within(field: Any) -> set[Any]:
    """List all types that a field, or a part that it holds, names."""
    found, waiting = set(), [field.annotation]
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found.add(kind)
            waiting += get_args(kind)
            if isinstance(kind, type) and issubclass(kind, Value):
                waiting += [inner.annotation for inner in kind.model_fields.values()]
    return found


def test_a_part_that_was_forgotten_or_changed_is_noticed() -> None:
    """What compares the shapes is shown to let only parts pass that the table names."""
    assert alike(tuple[RuleV1 | None, ...], tuple[Rule | None, ...])
    for old, new in (
        (Rule, RuleV1),
        (RuleV1, RuleV1),
        (RuleV1, Published),
        (tuple[RuleV1, ...], RuleV1),
        (RuleV1 | None, Rule),
        (tuple[str, ...], tuple[int, ...]),
    ):
        assert not alike(old, new)


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
    assert dict(found.event) == {**{name: today(inner) for name, inner in old}, **step.added}
    assert list(dict(found.event)) == list(step.new.model_fields)
    again = reencode(found)
    assert (again.record, again.hash) == (row.record, row.hash)
    assert again.key == encode(found.event, ENVELOPE).key


def today(value: Any) -> Any:
    """Build the parts of a value as they are now, checked field by field."""
    if isinstance(value, tuple):
        return tuple(map(today, value))
    for part in PARTS:
        if type(value) is part.old:
            return part.new(**{name: today(inner) for name, inner in value}, **part.added)
    return value


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


@pytest.mark.parametrize(
    ("old", "path", "rule_of"),
    [
        (
            ConstraintAcceptedV1(
                accepted_by="agent:a", asserted_by="human:kim", id="c", rule=PLAIN_V1, text="x"
            ),
            r"data\.rule\.when",
            lambda data: data["rule"],
        ),
        (
            SourceRevisedV1(added=(PublishedV1(id="c", rule=PLAIN_V1, text="x"),), revision="1"),
            r"data\.added\[0\]\.rule\.when",
            lambda data: data["added"][0]["rule"],
        ),
    ],
    ids=["rule", "published"],
)
def test_a_field_that_a_part_got_does_not_stand_in_an_old_record(
    old: Event, path: str, rule_of: Callable[[Any], Any]
) -> None:
    fields = fields_of(stored(old, ENVELOPE))
    rule_of(fields["data"])["when"] = []
    with pytest.raises(UndecodableRecord, match=path):
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


def test_what_an_old_part_cannot_say_is_not_written_in_it() -> None:
    assert as_stored(accepted(PLAIN), 1) == ConstraintAcceptedV1(
        accepted_by="agent:a", asserted_by="human:kim", id="c", rule=PLAIN_V1, text="x"
    )
    assert as_stored(accepted(WHEN), 2) == accepted(WHEN)
    with pytest.raises(InvalidInput, match="no such field") as caught:
        as_stored(accepted(WHEN), 1)
    assert caught.value.path == "data.rule.when"
    second = (Published(id="a", text="x"), Published(id="b", rule=WHEN, text="x"))
    with pytest.raises(InvalidInput, match="no such field") as caught:
        as_stored(SourceRevised(revision="1", reworded=second), 1)
    assert caught.value.path == "data.reworded.rule.when"


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
