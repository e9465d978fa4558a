"""Reading verifies before it decodes, and refuses what is not exactly known."""

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.canonical import canonical_text
from ledger.codec import decode, reencode
from ledger.errors import ChainBroken, LedgerError, SchemaMismatch, UndecodableRecord, UnknownEventName
from ledger.events import CursorMoved, Event
from ledger.record import Record, digest, event_id, parse
from ledger.values import Actor
from tests.record.records import ENVELOPE, ROW, fields_of, rewritten, row_of
from tests.strategies import COMPLETE, events

RUN, POSITION = ENVELOPE.run, ENVELOPE.position


def read(record: bytes, hash: bytes | None = None) -> Record:
    return decode(record, digest(record) if hash is None else hash, run=RUN, position=POSITION)


def read_fields(**changes: Any) -> Record:
    """Read the sample record with some fields changed, None: left out, and hashed anew."""
    fields = {**fields_of(ROW), **changes}
    record, hash = rewritten({name: value for name, value in fields.items() if value is not None})
    return read(record, hash)


def read_data(**changes: Any) -> Record:
    data = {**fields_of(ROW)["data"], **changes}
    return read_fields(data={name: value for name, value in data.items() if value is not None})


# --- the hash covers every byte -----------------------------------------------------------------


def test_every_changed_byte_breaks_the_chain() -> None:
    for place in range(len(ROW.record)):
        for flip in (0x01, 0x80, 0xFF):
            changed = bytearray(ROW.record)
            changed[place] ^= flip
            with pytest.raises(ChainBroken):
                read(bytes(changed), ROW.hash)


@pytest.mark.parametrize(
    "change", [lambda b: b + b" ", lambda b: b[:-1], lambda b: b"", lambda b: b[::-1], lambda b: b + b"\n{}"]
)
def test_a_record_cut_or_grown_breaks_the_chain(change: Callable[[bytes], bytes]) -> None:
    with pytest.raises(ChainBroken) as caught:
        read(change(ROW.record), ROW.hash)
    assert (caught.value.run, caught.value.position) == (RUN, POSITION)


@pytest.mark.parametrize("hash", [bytes(32), ROW.hash[:31], ROW.hash + b"\0", b"", ROW.hash.hex().encode()])
def test_another_hash_breaks_the_chain(hash: bytes) -> None:
    with pytest.raises(ChainBroken):
        read(ROW.record, hash)


def pointers(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from pointers(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from pointers(inner, (*path, index))


def changed_at(value: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    copied = json.loads(json.dumps(value))
    inner = copied
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = change(inner[path[-1]])
    return copied


CHANGES: list[Callable[[Any], Any]] = [
    lambda value: None,
    lambda value: [value],
    lambda value: {"value": value},
    lambda value: "x" if value != "x" else "y",
    lambda value: (value - 1 if value > 0 else value + 1) if type(value) is int else 1,
    lambda value: True,
    lambda value: -0.5,
    json.dumps,
    lambda value: value + "x" if type(value) is str else "",
]


@given(events(COMPLETE), st.sampled_from(CHANGES))
def test_a_change_anywhere_is_noticed_even_when_hashed_anew(
    event: Event, change: Callable[[Any], Any]
) -> None:
    """Whoever can hash anew can lie; but what is read then is what stands there, never something else."""
    fields = fields_of(row_of(event))
    for path in pointers(fields):
        other = changed_at(fields, path, change)
        if other == fields:
            continue
        record = canonical_text(other).encode()
        with pytest.raises(ChainBroken):
            read(record, digest(canonical_text(fields).encode()))
        try:
            found = read(record)
        except (ChainBroken, UndecodableRecord, SchemaMismatch, UnknownEventName):
            continue
        if reencode(found).record != record:
            # Read in spite of a spelling that is not the canonical one; verify reports it.
            assert path[0] in ("data", "actor", "about", "at", "prev", "sealed"), path


@given(events(COMPLETE))
def test_a_field_taken_away_is_noticed_even_when_hashed_anew(event: Event) -> None:
    row = row_of(event)
    fields = fields_of(row)
    for path in pointers(fields):
        copied = json.loads(json.dumps(fields))
        inner = copied
        for part in path[:-1]:
            inner = inner[part]
        del inner[path[-1]]
        record, hash = rewritten(copied)
        try:
            found = read(record, hash)
        except (ChainBroken, UndecodableRecord, UnknownEventName):
            continue
        # What still reads as the same statement is told by its bytes.
        assert reencode(found).record != row.record or reencode(found).record != record


# --- what is not known ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("goal.revise", 1),
        ("goal.revised", 2),
        ("goal.revised", 0),
        ("Goal.Revised", 1),
        ("", 1),
        ("os:system", 1),
    ],
)
def test_an_unknown_event_is_refused_by_name(name: str, version: int) -> None:
    with pytest.raises(UnknownEventName) as caught:
        read_fields(name=name, version=version)
    assert (caught.value.name, caught.value.version) == (name, version)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 1.5},
        {"version": True},
        {"version": "1"},
        {"version": [1]},
        {"name": 1},
        {"name": ["goal.revised"]},
    ],
)
def test_a_name_or_version_of_another_type_is_not_looked_up(changes: dict[str, Any]) -> None:
    with pytest.raises(UndecodableRecord):
        read_fields(**changes)


def test_a_newer_format_names_both_numbers() -> None:
    with pytest.raises(SchemaMismatch) as caught:
        read_fields(v=2)
    assert (caught.value.found, caught.value.supported) == (2, 1)
    assert "2" in str(caught.value)
    assert "1" in str(caught.value)


def test_a_newer_format_is_told_before_anything_else_is_looked_at() -> None:
    record, hash = rewritten({"v": 7, "whatever": [1]})
    with pytest.raises(SchemaMismatch):
        read(record, hash)


@pytest.mark.parametrize("v", [0, -1, True, False, "1", 1.5, [1], {}, 2.0**60])
def test_a_format_that_is_no_number_of_ours_is_undecodable(v: Any) -> None:
    with pytest.raises(UndecodableRecord):
        read_fields(v=v)


def test_a_format_spelt_as_a_float_is_undecodable() -> None:
    record = ROW.record.replace(b'"v":1,', b'"v":1.0,')
    with pytest.raises(UndecodableRecord):
        read(record)


REQUIRED = ["actor", "at", "data", "id", "name", "position", "prev", "run", "tenant", "v", "version"]


@pytest.mark.parametrize("field", REQUIRED)
def test_a_record_without_one_of_its_fields_is_undecodable(field: str) -> None:
    with pytest.raises(UndecodableRecord):
        read_fields(**{field: None})


@pytest.mark.parametrize("field", ["About", "seal", "x", "", "actor ", "__class__", "type"])
def test_a_field_that_no_record_has_is_refused(field: str) -> None:
    with pytest.raises(UndecodableRecord, match="no record has a field"):
        read_fields(**{field: "x"})


def test_sealed_is_let_stand() -> None:
    sealed = {"data.text": {"subject": "s", "key": "k-1", "digest": "d", "commitment": "c"}}
    assert read_fields(sealed=sealed).event == read_fields().event
    values: list[Any] = ["x", [], 1, True]
    for value in values:
        with pytest.raises(UndecodableRecord):
            read_fields(sealed=value)


@pytest.mark.parametrize("field", ["actor", "at", "data", "id", "name", "prev", "run", "tenant", "position"])
@pytest.mark.parametrize("value", ["", 7, 3.5, True, [], ["x"], {}, {"x": 1}, "x" * 64])
def test_a_field_of_another_type_is_never_taken_for_it(field: str, value: Any) -> None:
    if value == fields_of(ROW)[field]:
        pytest.fail("the sample holds this very value")
    try:
        found = read_fields(**{field: value})
    except (UndecodableRecord, UnknownEventName, ChainBroken):
        return
    # Ids are texts; whether they are good ids is verify's question.
    assert field in ("id", "tenant")
    assert type(value) is str
    assert getattr(found, field) == value


@pytest.mark.parametrize("field", ["about", "causation", "correlation", "terms"])
@pytest.mark.parametrize("value", [7, True, [7], [None], {"x": 1}, {"digest": "v1:", "position": 1, "x": 1}])
def test_what_may_be_absent_is_of_its_type_where_it_stands(field: str, value: Any) -> None:
    with pytest.raises(UndecodableRecord):
        read_fields(**{field: value})


def test_null_stands_nowhere_around_the_data() -> None:
    for field in ("about", "causation", "correlation", "terms", "sealed", *REQUIRED):
        record, hash = rewritten({**fields_of(ROW), field: None})
        with pytest.raises(UndecodableRecord):
            read(record, hash)


@pytest.mark.parametrize("name", ["by", "reason", "text"])
def test_data_without_a_required_field_is_undecodable(name: str) -> None:
    with pytest.raises(UndecodableRecord):
        read_data(**{name: None})


def test_data_with_a_field_too_many_is_undecodable() -> None:
    with pytest.raises(UndecodableRecord, match=r"data\.mood"):
        read_data(mood="good")


@pytest.mark.parametrize(
    "at", ["2026-01-31", "2026-01-31T12:00:00", "2026-01-31T12:00:00Z", "now", "2026-01-31T12:00:00.000000"]
)
def test_a_time_in_another_form_is_undecodable(at: str) -> None:
    with pytest.raises(UndecodableRecord):
        read_fields(at=at)


@pytest.mark.parametrize("prev", ["", "00", "zz" * 32, "0" * 63, "0" * 66, " " * 64])
def test_a_prev_that_is_no_hash_is_undecodable(prev: str) -> None:
    with pytest.raises(UndecodableRecord):
        read_fields(prev=prev)


@pytest.mark.parametrize(
    "actor",
    [
        {},
        {"id": "agent:a"},
        {"id": "agent:a", "on_behalf_of": "human:kim"},
        {"id": "agent:a", "on_behalf_of": [["human:kim"]]},
        {"id": ["agent:a"], "on_behalf_of": []},
        {"id": "agent:a", "on_behalf_of": [], "team": "x"},
        {"id": "agent:a", "on_behalf_of": [], "self": "x"},
        {"id": "customer:17", "on_behalf_of": []},
    ],
)
def test_an_actor_that_is_none_is_undecodable(actor: dict[str, Any]) -> None:
    with pytest.raises(UndecodableRecord):
        read_fields(actor=actor)


# --- another place -------------------------------------------------------------------------------


def test_a_record_of_another_run_position_or_tenant_breaks_the_chain() -> None:
    for changes in ({"run": "other"}, {"position": 4}):
        with pytest.raises(ChainBroken) as caught:
            read_fields(**changes)
        assert (caught.value.run, caught.value.position) == (RUN, POSITION)
    with pytest.raises(ChainBroken, match="tenant"):
        decode(ROW.record, ROW.hash, run=RUN, position=POSITION, tenant="other")
    assert decode(ROW.record, ROW.hash, run=RUN, position=POSITION, tenant="default").tenant == "default"


# --- bytes that are no canonical JSON ----------------------------------------------------------


@pytest.mark.parametrize(
    "record",
    [
        b"",
        b"null",
        b"[]",
        b"1",
        b'"x"',
        b"{}",
        b"not json",
        b"\xff\xfe",
        b"\x80",
        ROW.record[:-1],
        ROW.record + b"x",
        ROW.record.replace(b"subject:17", b"subject:\xff"),
        ROW.record.replace(b"subject:17", b"\xed\xa0\x80"),
        ROW.record.replace(b"subject:17", b"\\ud800"),
        ROW.record.replace(b"Refund order 17", b"\\udc00"),
        ROW.record.replace(b'"position":3', b'"position":NaN'),
        ROW.record.replace(b'"position":3', b'"position":Infinity'),
        ROW.record.replace(b'"position":3', b'"position":3.0'),
        ROW.record.replace(b'"position":3', b'"position":' + b"9" * 10_000),
        ROW.record.decode().encode("utf-16"),
        b"\xef\xbb\xbf" + ROW.record,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"v":' * 100_000,
        ROW.record.replace(b'["subject:17"]', b"[" * 100_000 + b"]" * 100_000),
        ROW.record.replace(b'"text":', b'"deep":' + b"[" * 150 + b"]" * 150 + b',"text":'),
    ],
    ids=range(25),
)
def test_whole_bytes_that_are_no_record_are_undecodable(record: bytes) -> None:
    assert record != ROW.record
    with pytest.raises((UndecodableRecord, ChainBroken)) as caught:
        read(record)
    assert type(caught.value) is UndecodableRecord
    assert (caught.value.run, caught.value.position) == (RUN, POSITION)


OTHER_SPELLINGS = [
    ROW.record.replace(b'","', b'", "'),
    ROW.record + b"\n",
    b" " + ROW.record,
    ROW.record.replace(b'"by":"human:kim",', b'"by":"human:kim","by":"human:kim",'),
    ROW.record.replace(b'"name":', b'"\\u006eame":'),
    ROW.record.replace(b"Refund", b"Ref\\u0075nd"),
    ROW.record.replace(b"0102030405060708090a", b"0102030405060708090A"),
    canonical_text(fields_of(ROW))
    .encode()
    .replace(b'"tenant":"default",', b"")
    .replace(b'"v":1', b'"tenant":"default","v":1'),
]


@pytest.mark.parametrize("record", [one for one in OTHER_SPELLINGS if one != ROW.record])
def test_other_spellings_never_pass_for_the_canonical_bytes(record: bytes) -> None:
    """A reader on the hot path takes them; `reencode` shows that they are not what the ledger writes."""
    found = read(record)
    assert reencode(found)._replace(hash=b"") == ROW._replace(hash=b"")
    assert reencode(found).record != record


def test_optional_fields_written_out_are_not_the_canonical_bytes() -> None:
    row = row_of(CursorMoved(node="n"))
    fields = fields_of(row)
    assert "state" not in fields["data"]
    fields["data"]["state"] = None
    record = json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()
    assert reencode(read(record)).record == row.record != record


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_with_an_error_of_ours(record: bytes) -> None:
    for attempt in (lambda: read(record), lambda: parse(record), lambda: event_id(record)):
        with pytest.raises(LedgerError):
            attempt()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*REQUIRED, "about", "terms", "x"]), inner, max_size=12)
        ),
        max_leaves=20,
    )
)
def test_any_json_is_refused_with_an_error_of_ours(value: Any) -> None:
    record, hash = rewritten(value)
    with pytest.raises(LedgerError):
        read(record, hash)


# --- nothing is run or imported ----------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        {"lc": 2, "type": "constructor", "id": ["os", "system"], "kwargs": {"command": "true"}},
        {"_type_": "decimal_as_str", "_data_": "1"},
        {"py/object": "antigravity.Antigravity"},
        {"__reduce__": ["os.system", ["true"]]},
        {"$type": "System.Diagnostics.Process"},
        "antigravity:geohash",
        "!!python/object/apply:os.system [true]",
    ],
)
def test_objects_that_name_code_are_data_or_refused(value: Any) -> None:
    before = set(sys.modules)
    for changes in (
        {"data": value},
        {"actor": value},
        {"about": [value]},
        {"name": value},
        {"sealed": {"x": value}},
    ):
        try:
            found = read_fields(**changes)
        except (UndecodableRecord, UnknownEventName):
            continue
        assert type(found.actor) is Actor
    for field in ("text", "reason", "by", "rests_on", "type", "__class__"):
        try:
            found = read_data(**{field: value})
        except UndecodableRecord:
            continue
        assert getattr(found.event, field) == value
    assert not {
        name for name in set(sys.modules) - before if name.split(".")[0] in ("antigravity", "subprocess")
    }
