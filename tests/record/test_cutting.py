"""A record that is cut along the writer's bytes says what it says when it is read field by field."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import codec
from ledger.canonical import canonical_text
from ledger.codec import decode
from ledger.cutting import LONGEST_PIECE, cut
from ledger.errors import ChainBroken, LedgerError, SchemaMismatch, UndecodableRecord, UnknownEventName
from ledger.events import EVENT_CLASSES, CursorMoved, Event
from ledger.record import Envelope, Record, TermsMark, digest
from tests.record.records import ENVELOPE, GOAL, KIM, ROW, envelopes, fields_of, row_of
from tests.strategies import ANY, COMPLETE, Vocabulary, event, events

RUN, POSITION = ENVELOPE.run, ENVELOPE.position
EACH = settings(max_examples=max(10, settings().max_examples // 5))


def whole(record: bytes, run: str = RUN, position: int = POSITION) -> Record:
    """Read a record field by field, as `decode` does where it cannot be cut."""
    with patch.object(codec, "cut", return_value=None):
        return decode(record, digest(record), run=run, position=position)


def cut_up(record: bytes, run: str = RUN, position: int = POSITION) -> Record | None:
    return cut(record, digest(record), run, position)


def told(read: Callable[[], Record]) -> tuple[Any, ...]:
    """Return everything a reader says of a record, or its refusal: class, fields and words."""
    try:
        found = read()
    except LedgerError as refusal:
        return type(refusal), refusal.data, str(refusal)
    said = found.event
    return (
        found,
        tuple(map(type, found)),
        said.model_dump(),
        said.model_fields_set,
        list(said.__dict__),
        said.model_dump_json(),
    )


def agree(record: bytes) -> Record | None:
    """Check that both ways tell the same of a record; return what it says if it can be cut."""
    assert told(lambda: decode(record, digest(record), run=RUN, position=POSITION)) == told(
        lambda: whole(record)
    )
    found = cut_up(record)
    if found is not None:
        assert told(lambda: found) == told(lambda: whole(record))
    return found


# --- what the writer wrote -----------------------------------------------------------------------


@pytest.mark.parametrize("words", [ANY, COMPLETE], ids=["any", "complete"])
@pytest.mark.parametrize("kind", EVENT_CLASSES, ids=lambda kind: kind.name)
@EACH
@given(data=st.data())
def test_every_record_is_cut_into_what_it_says(
    kind: type[Event], words: Vocabulary, data: st.DataObject
) -> None:
    said, around = data.draw(event(kind, words)), data.draw(envelopes())
    row = row_of(said, **around._asdict())
    found = cut_up(row.record, around.run, around.position)
    read = whole(row.record, around.run, around.position)
    stated = fields_of(row)["data"]
    # Short surroundings are always cut: the quick way is not a matter of luck.
    if found is None:
        assert len(row.record) - len(canonical_text(stated).encode()) > LONGEST_PIECE
        return
    assert told(lambda: found) == told(lambda: read)
    assert found.event == kind.model_validate(stated) == said


TRAPS = [
    '"at":"',
    ',"data":{',
    ',"id":"',
    f',"position":{POSITION},"prev":"',
    ROW.record.decode(),
    '\\"at\\":\\"',
    "\\",
    '"},"id":"x","name":"cursor.moved"',
]


@pytest.mark.parametrize("trap", TRAPS, ids=range(len(TRAPS)))
@pytest.mark.parametrize("field", ["id", "causation", "correlation", "tenant", "about", "session", "data"])
def test_words_that_look_like_the_writers_bytes_are_words(field: str, trap: str) -> None:
    word = trap[:200]
    if field == "data":
        row = row_of(GOAL.model_copy(update={"text": trap, "reason": trap}))
    elif field == "session":
        row = row_of(GOAL, actor=KIM.model_copy(update={"session": word}))
    else:
        row = row_of(GOAL, **{field: (word,) if field == "about" else word})
    found = agree(row.record)
    assert found is not None
    assert codec.reencode(found) == row


def test_records_that_differ_in_one_piece_only_are_told_apart() -> None:
    """What a piece says is kept for the next record that has the same bytes there."""
    changes: list[dict[str, Any]] = [
        {},
        {"actor": KIM},
        {"about": ()},
        {"about": ("subject:18",)},
        {"causation": None},
        {"correlation": None, "causation": None},
        {"correlation": "e-2", "causation": "c-1"},
        {"terms": None},
        {"tenant": "other"},
        {"terms": ENVELOPE.terms and ENVELOPE.terms.with_fields({"position": 1})},
    ]
    for change in [*changes, *reversed(changes)]:
        around = ENVELOPE._replace(**change)
        found = agree(row_of(GOAL, **change).record)
        assert found is not None
        assert Envelope(**{name: getattr(found, name) for name in Envelope._fields}) == around


@pytest.mark.parametrize("position", [b"true", b"1.0"])
def test_terms_that_were_read_do_not_stand_for_others_that_python_calls_equal(position: bytes) -> None:
    record = row_of(GOAL, terms=TermsMark(digest="v1:" + "ab" * 32, position=1)).record
    for read in (whole, cut_up):
        assert read(record) is not None
    other = record.replace(b'"position":1}', b'"position":%b}' % position)
    assert other != record
    assert agree(other) is None
    with pytest.raises(UndecodableRecord):
        whole(other)


def test_pieces_too_long_to_be_kept_are_read_as_a_whole() -> None:
    about = tuple(f"subject:{number:0150}" for number in range(20))
    row = row_of(GOAL, about=about)
    assert cut_up(row.record) is None
    assert decode(row.record, row.hash, run=RUN, position=POSITION).about == about


# --- what somebody else wrote, and hashed anew -----------------------------------------------------


@given(events(COMPLETE), st.data())
def test_meddling_with_any_bytes_is_told_alike(said: Event, data: st.DataObject) -> None:
    record = bytearray(row_of(said).record)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(record) - 1))
        end = data.draw(st.integers(place, min(len(record), place + 40)))
        piece = bytes(record[place:end])
        put = data.draw(
            st.sampled_from(
                [b"", b'"', b"\\", b",", b"{", b"}", b"null", b"1", b"1.0", b"NaN", b" ", piece * 2]
            )
            | st.binary(max_size=4)
        )
        record[place:end] = put
    agree(bytes(record))


def test_every_flipped_bit_is_told_alike() -> None:
    for place in range(len(ROW.record)):
        for bit in range(8):
            changed = bytearray(ROW.record)
            changed[place] ^= 1 << bit
            agree(bytes(changed))


TOKENS = re.findall(rb'"(?:[^"\\]|\\.)*"|[0-9]+|[][{}:,]', ROW.record)


@given(st.data())
def test_tokens_put_elsewhere_are_told_alike(data: st.DataObject) -> None:
    """What is cut and read piece by piece is whole only if the pieces are."""
    assert b"".join(TOKENS) == ROW.record
    tokens = list(TOKENS)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(tokens) - 1))
        end = data.draw(st.integers(place, min(len(tokens), place + 8)))
        moved = tokens[place:end]
        if data.draw(st.booleans()):
            del tokens[place:end]
        to = data.draw(st.integers(0, len(tokens)))
        tokens[to:to] = moved
    agree(b"".join(tokens))


VALUES = st.sampled_from(
    [None, True, 0, 1, 2, POSITION, 1.5, "", "x", RUN, "goal.revised", "0" * 64, [], ["x"], {}, {"x": 1}]
)
NAMES = st.sampled_from([*fields_of(ROW), *fields_of(ROW)["data"], "sealed", "x", "node", "self", "kind"])


@given(st.data())
def test_members_added_replaced_repeated_or_put_in_another_order_are_told_alike(data: st.DataObject) -> None:
    """Written by hand, so that a name can stand twice."""

    def written(members: list[tuple[str, Any]]) -> bytes:
        return b"{" + b",".join(b'"%b":%b' % (name.encode(), text) for name, text in members) + b"}"

    def meddled(fields: dict[str, Any]) -> list[tuple[str, Any]]:
        members = [
            (name, inner if isinstance(inner, bytes) else canonical_text(inner).encode())
            for name, inner in fields.items()
        ]
        for _ in range(data.draw(st.integers(0, 2))):
            place = data.draw(st.integers(0, len(members) - 1))
            name, text = members[place]
            if data.draw(st.booleans()):
                text = canonical_text(data.draw(VALUES)).encode()
            if data.draw(st.booleans()):
                name = data.draw(NAMES)
            members[place : place + data.draw(st.integers(0, 1))] = [(name, text)]
        return data.draw(st.permutations(members)) if data.draw(st.booleans()) else members

    fields = fields_of(ROW)
    fields["data"] = written(meddled(fields["data"]))
    fields["actor"] = written(meddled(fields["actor"]))
    agree(written(meddled(fields)))


def test_a_name_that_stands_twice_counts_once_and_alike() -> None:
    by, other = b'"by":"human:kim",', b'"by":"human:lee",'
    for record in (ROW.record.replace(by, other + by), ROW.record.replace(by, by + other)):
        assert agree(record) is not None
    for piece in (b'"name":"cursor.moved",', b'"id":"e-4",', b'"position":3,', b'"run":"other",'):
        for place in (b'"name":', b'"run":', b'"at":', b'"data":', b'"v":'):
            agree(ROW.record.replace(place, piece + place))


@pytest.mark.parametrize(
    "record",
    [
        json.dumps(fields_of(ROW)).encode(),
        json.dumps(fields_of(ROW), indent=1).encode(),
        ROW.record.replace(b'"name":', b'"\\u006eame":'),
        ROW.record.replace(b'"at":', b'"a\\u0074":'),
        ROW.record.replace(b"0102030405060708090a", b"0102030405060708090A"),
        ROW.record.replace(b'"prev":"00', b'"prev":" 0'),
    ],
    ids=range(6),
)
def test_other_spellings_are_told_alike(record: bytes) -> None:
    assert record != ROW.record
    agree(record)


@pytest.mark.parametrize(
    ("old", "new", "refusal"),
    [
        (b'"v":1', b'"v":2', SchemaMismatch),
        (b'"v":1', b'"v":true', UndecodableRecord),
        (b'"version":1', b'"version":2', UnknownEventName),
        (b'"version":1', b'"version":true', UndecodableRecord),
        (b"goal.revised", b"goal.revise", UnknownEventName),
        (b'"goal.revised"', b"[]", UndecodableRecord),
        (b'"run":"refund-17"', b'"run":"refund-18"', ChainBroken),
        (b'"position":3', b'"position":4', ChainBroken),
        (b'"position":3', b'"position":03', UndecodableRecord),
        (b'"position":3', b'"position":3.0', UndecodableRecord),
        (b'"id":"e-3"', b'"id":3', UndecodableRecord),
        (b'"id":"e-3"', b'"id":"e-3","id":3', UndecodableRecord),
        (b'"id":"e-3"', b'"id":"e-3","x":3', UndecodableRecord),
        (b'00.000000Z"', b'00.000000Z "', UndecodableRecord),
        (b'1e1f","run"', b'1e1f20","run"', UndecodableRecord),
        (b'"text":"Refund order 17"', b'"text":" "', UndecodableRecord),
        (b'"text":"Refund order 17"', b'"text":"x","x":1', UndecodableRecord),
    ],
)
def test_what_cannot_be_cut_is_refused_as_ever(old: bytes, new: bytes, refusal: type[LedgerError]) -> None:
    record = ROW.record.replace(old, new)
    assert record != ROW.record
    assert agree(record) is None
    with pytest.raises(refusal):
        decode(record, digest(record), run=RUN, position=POSITION)


@pytest.mark.parametrize("position", ["3", b"3", None, 3.5])
def test_a_place_that_is_no_number_is_not_that_of_a_record(position: Any) -> None:
    with pytest.raises(ChainBroken):
        decode(ROW.record, ROW.hash, run=RUN, position=position)


def test_a_refusal_of_data_names_the_place() -> None:
    row = row_of(CursorMoved(node="n"))
    record = row.record.replace(b'"round":0', b'"round":-1')
    with pytest.raises(UndecodableRecord, match=r"data\.round"):
        decode(record, digest(record), run=RUN, position=POSITION)
