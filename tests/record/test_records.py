"""A record is canonical JSON of one event and what surrounds it, and reads back as exactly that."""

import hashlib
import json
from datetime import datetime
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger.codec import decode, decode_chain, encode, reencode
from ledger.errors import ChainBroken, InvalidInput
from ledger.events import EVENT_CLASSES, Event, GoalRevised, RunClosed, RunOpened
from ledger.record import (
    MAX_RECORD_BYTES,
    MAX_STREAM_LENGTH,
    ZERO_HASH,
    Envelope,
    Record,
    digest,
    event_id,
    same_content,
)
from ledger.values import Actor, Ending
from tests.record.records import ENVELOPE, GOAL, ROW, envelopes, fields_of, row_of
from tests.strategies import ANY, COMPLETE, NOON, Vocabulary, event, events

# Each class gets its share of what the profile grants one property.
EACH = settings(max_examples=max(10, settings().max_examples // 5))


@pytest.mark.parametrize("words", [ANY, COMPLETE], ids=["any", "complete"])
@pytest.mark.parametrize("kind", EVENT_CLASSES, ids=lambda kind: kind.name)
@EACH
@given(data=st.data())
def test_every_event_reads_back_as_it_was_written_in_the_bytes_of_the_oracle(
    kind: type[Event], words: Vocabulary, data: st.DataObject
) -> None:
    said = data.draw(event(kind, words))
    around = data.draw(envelopes())
    row = encode(said, around)
    assert rfc8785.dumps(json.loads(row.record)) == row.record
    found = decode(row.record, row.hash, run=around.run, position=around.position, tenant=around.tenant)
    assert found.event == said
    assert type(found.event) is kind
    assert found == Record(
        around.tenant,
        around.run,
        around.position,
        row.hash,
        around.prev,
        around.id,
        kind.name,
        kind.version,
        around.at,
        around.actor,
        around.causation,
        around.correlation,
        around.terms,
        around.about,
        said,
    )
    assert reencode(found) == row


def floats(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(floats, value.values()))
    return any(map(floats, value)) if isinstance(value, list) else isinstance(value, float)


@given(events(COMPLETE), envelopes())
def test_a_record_holds_no_float_and_no_null(said: Event, around: Envelope) -> None:
    record = encode(said, around).record
    assert not floats(json.loads(record))

    def check(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert all(value is not None for _, value in pairs)
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    json.loads(record, object_pairs_hook=check)


def test_the_bytes_of_one_record_are_pinned() -> None:
    assert ROW.record == (
        b'{"about":["subject:17"],'
        b'"actor":{"id":"agent:refunds","on_behalf_of":["human:kim"],"session":"s-1"},'
        b'"at":"2026-01-31T12:00:00.000000Z","causation":"e-2","correlation":"c-1",'
        b'"data":{"by":"human:kim","reason":"customer asked","rests_on":["assumption:paid"],'
        b'"text":"Refund order 17"},'
        b'"id":"e-3","name":"goal.revised","position":3,'
        b'"prev":"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",'
        b'"run":"refund-17","tenant":"default",'
        b'"terms":{"digest":"v1:' + b"ab" * 32 + b'","position":2},"v":1,"version":1}'
    )
    assert ROW.hash == hashlib.sha256(b"intent-ledger.event.v1\n" + ROW.record).digest() == digest(ROW.record)


@given(events(), events(), envelopes())
def test_content_is_compared_whoever_wrote_it_when(one: Event, other: Event, around: Envelope) -> None:
    first = encode(one, ENVELOPE._replace(about=around.about)).record
    assert same_content(first, encode(one, around).record)
    same = type(one) is type(other) and one.model_dump_json() == other.model_dump_json()
    assert same_content(first, encode(other, around).record) == same


@given(events(), envelopes())
def test_the_event_id_is_found_in_the_bytes(said: Event, around: Envelope) -> None:
    assert event_id(encode(said, around).record) == around.id


# --- what cannot be written ---------------------------------------------------------------------


@pytest.mark.parametrize("field", ["id", "causation", "correlation", "tenant", "run"])
@pytest.mark.parametrize("id", ["", " ", "a\x00b", "a\nb", "a\ud800", "x" * 251])
def test_what_surrounds_an_event_is_named_by_ids(field: str, id: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        row_of(GOAL, **{field: id})
    assert caught.value.path == field


def test_subjects_are_ids() -> None:
    with pytest.raises(InvalidInput) as caught:
        row_of(GOAL, about=("subject:1", "\ud800"))
    assert caught.value.path == "about"


def test_the_longest_source_has_a_stream() -> None:
    assert len("$source:" + "x" * 200) <= MAX_STREAM_LENGTH
    assert row_of(GOAL, run="$source:" + "x" * 200)


def test_a_time_without_zone_is_not_written() -> None:
    with pytest.raises(InvalidInput) as caught:
        row_of(GOAL, at=datetime(2026, 1, 31))  # noqa: DTZ001
    assert caught.value.path == "at"


def test_a_record_too_large_is_refused_naming_both_sizes() -> None:
    def said(text: str) -> GoalRevised:
        return GoalRevised(by="human:kim", reason="\x01" * 20_000, text=text)

    room = MAX_RECORD_BYTES - len(row_of(said("x")).record)
    fits = "\x01" * (room // 6) + "x" * (room % 6 + 1)
    assert len(row_of(said(fits)).record) == MAX_RECORD_BYTES
    with pytest.raises(InvalidInput) as caught:
        row_of(said(fits + "x"))
    assert "262,145" in caught.value.reason
    assert "262,144" in caught.value.reason
    assert "goal.revised" in caught.value.reason
    assert caught.value.path == "data"


def test_actors_that_differ_only_in_session_are_kept_apart() -> None:
    """The bytes of actors are kept between records."""
    for session in ("s-1", "s-2", None, "s-1"):
        actor = Actor("agent:a", session=session)
        row = row_of(GOAL, actor=actor)
        assert fields_of(row)["actor"].get("session") == session
        assert decode(row.record, row.hash, run=ENVELOPE.run, position=3).actor == actor


# --- chains -------------------------------------------------------------------------------------


def chain(length: int, run: str = "r") -> list[tuple[int, bytes, bytes]]:
    rows: list[tuple[int, bytes, bytes]] = []
    prev = ZERO_HASH
    for position in range(1, length + 1):
        said: Event = (
            RunOpened(goal="x") if position == 1 else RunClosed(outcome=Ending.FAILED, reason=str(position))
        )
        row = encode(
            said, Envelope("default", run, position, prev, f"e-{position}", NOON, Actor("human:kim"))
        )
        rows.append((position, row.hash, row.record))
        prev = row.hash
    return rows


def test_a_chain_reads_as_a_whole_or_from_any_place() -> None:
    rows = chain(5)
    assert [r.position for r in decode_chain(rows, run="r", after=0, prev=ZERO_HASH)] == [1, 2, 3, 4, 5]
    assert [r.position for r in decode_chain(rows[3:], run="r", after=3, prev=rows[2][1])] == [4, 5]
    assert list(decode_chain([], run="r", after=0, prev=ZERO_HASH)) == []


@pytest.mark.parametrize(
    ("keep", "position"), [([1, 2, 3, 4], 1), ([0, 2, 3], 2), ([0, 1, 1], 3), ([0, 2, 1], 2), ([0, 1, 4], 3)]
)
def test_a_chain_with_another_order_names_the_first_break(keep: list[int], position: int) -> None:
    rows = chain(5)
    with pytest.raises(ChainBroken) as caught:
        list(decode_chain([rows[n] for n in keep], run="r", after=0, prev=ZERO_HASH))
    assert caught.value.position == position
    assert caught.value.run == "r"


def test_records_of_two_histories_do_not_chain() -> None:
    mine, other = chain(3), chain(3, run="s")
    with pytest.raises(ChainBroken):
        list(decode_chain([mine[0], other[1]], run="r", after=0, prev=ZERO_HASH))
    with pytest.raises(ChainBroken):
        list(decode_chain(mine[1:], run="r", after=1, prev=other[0][1]))


def test_a_run_copied_to_another_tenant_is_not_that_tenants() -> None:
    with pytest.raises(ChainBroken) as caught:
        list(decode_chain(chain(2), run="r", after=0, prev=ZERO_HASH, tenant="other"))
    assert caught.value.position == 1
