"""A run that cannot be read says where reading failed, and what was found there."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ledger import Ledger, open_ledger
from ledger.canonical import canonical_text
from ledger.codec import decode, encode
from ledger.errors import (
    ChainBroken,
    LedgerError,
    SchemaMismatch,
    StoreError,
    UndecodableRecord,
    UnknownEventName,
)
from ledger.events import GoalRevised, RunOpened, RunRefused
from ledger.record import Envelope, Row, digest
from ledger.stores.base import Append, StreamAppend
from ledger.values import Actor
from tests.record.records import fields_of
from tests.strategies import NOON

KIM = "human:kim"
GOAL = GoalRevised(by=KIM, reason="asked", text="Refund order 17 and say so")


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    """Open a ledger in which a run stands at position 2."""
    with open_ledger(":memory:", unsafe=True, clock=lambda: NOON) as ledger:
        ledger.open_run("r", "Refund order 17")
        ledger.run("r").promise("tell", "Mail the customer", owed_to="customer:17")
        yield ledger


def followed_by(ledger: Ledger, change: Callable[[Row], Row]) -> Row:
    """Let another program append what this one would not write, at position 3."""
    last = list(ledger.log("r"))[-1]
    envelope = Envelope("default", "r", 3, last.hash, "theirs", NOON, Actor("service:other"))
    row = change(encode(GOAL, envelope))
    ledger.store.append(Append("default", (StreamAppend("r", 2, last.hash, (row,)),)))
    return row


def with_fields(**changes: Any) -> Callable[[Row], Row]:
    def change(row: Row) -> Row:
        record = canonical_text({**fields_of(row), **changes}).encode()
        return row._replace(record=record, hash=digest(record))

    return change


UNREADABLE: dict[str, tuple[Callable[[Row], Row], type[LedgerError], dict[str, Any]]] = {
    "a newer format": (with_fields(v=2), SchemaMismatch, {"found": 2, "supported": 1}),
    "an event nobody knows": (
        with_fields(name="weather.changed", version=3),
        UnknownEventName,
        {"name": "weather.changed", "version": 3, "found": 3, "supported": None},
    ),
    "a version to come": (
        with_fields(version=7),
        UnknownEventName,
        {"name": "goal.revised", "version": 7, "found": 7, "supported": 1},
    ),
    "no format at all": (with_fields(v="one"), UndecodableRecord, {}),
    "other data": (with_fields(data={"mood": "good"}), UndecodableRecord, {}),
    "another hash": (lambda row: row._replace(hash=bytes(32)), ChainBroken, {}),
    "another link": (with_fields(prev="ab" * 32), ChainBroken, {}),
    "another tenant": (with_fields(tenant="other"), ChainBroken, {}),
    "another place": (with_fields(position=4), ChainBroken, {}),
}


@pytest.mark.parametrize("why", UNREADABLE)
def test_loading_says_where_it_failed_and_what_was_found(ledger: Ledger, why: str) -> None:
    change, kind, more = UNREADABLE[why]
    followed_by(ledger, change)
    for load in (lambda: ledger.contract("r"), lambda: ledger.run("r"), lambda: list(ledger.log("r"))):
        with pytest.raises(kind) as caught:
            load()
        assert caught.value.data == {"run": "r", "position": 3, **more}
        assert "'r'" in str(caught.value)


def test_folding_says_where_an_event_has_no_place(ledger: Ledger) -> None:
    def opened_again(row: Row) -> Row:
        prev = bytes.fromhex(fields_of(row)["prev"])
        return encode(RunOpened(goal="again"), Envelope("default", "r", 3, prev, "e", NOON, Actor(KIM)))

    followed_by(ledger, opened_again)
    with pytest.raises(UndecodableRecord) as caught:
        ledger.contract("r")
    assert caught.value.data == {"run": "r", "position": 3}


LONG = "x" * 200_000


@pytest.mark.parametrize(
    "changes",
    [
        {"name": LONG},
        {LONG: 1},
        {"run": LONG},
        {"tenant": LONG},
        {"data": {LONG: 1}},
        {"at": LONG},
        {"v": LONG},
    ],
    ids=lambda changes: next(iter(changes))[:10],
)
def test_what_is_said_of_it_fits_into_an_event(ledger: Ledger, changes: dict[str, Any]) -> None:
    """A refusal is recorded elsewhere, so that a hostile record must not make it too long for that."""
    followed_by(ledger, with_fields(**changes))
    with pytest.raises(LedgerError) as caught:
        ledger.contract("r")
    assert RunRefused(code=caught.value.code, run="r", what=str(caught.value))
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("version", [-1, 2**53, -(10**400)])
def test_a_number_that_no_version_has_is_undecodable(ledger: Ledger, version: int) -> None:
    last = encode(GOAL, Envelope("default", "r", 3, bytes(32), "e", NOON, Actor(KIM)))
    record = last.record.replace(b'"version":1}', b'"version":%d}' % version)
    with pytest.raises(UndecodableRecord) as caught:
        decode(record, digest(record), run="r", position=3)
    assert (caught.value.run, caught.value.position) == ("r", 3)


@pytest.mark.parametrize("why", ["a newer format", "a version to come", "an event nobody knows"])
def test_what_is_newer_says_what_to_do(ledger: Ledger, why: str) -> None:
    followed_by(ledger, UNREADABLE[why][0])
    with pytest.raises(StoreError, match="upgrade intent-ledger") as caught:
        ledger.contract("r")
    assert not caught.value.retryable


def test_an_earlier_position_is_read_as_before(ledger: Ledger) -> None:
    followed_by(ledger, with_fields(v=2))
    assert ledger.contract("r", at=2).position == 2


def test_a_repeat_that_meets_a_newer_format_says_where(ledger: Ledger) -> None:
    last = list(ledger.log("r"))[-1]
    followed_by(ledger, with_fields(v=2))
    mine = encode(GOAL, Envelope("default", "r", 3, last.hash, "mine", NOON, Actor(KIM)))
    with pytest.raises(SchemaMismatch) as caught:
        ledger.store.append(Append("default", (StreamAppend("r", 2, last.hash, (mine,)),)))
    assert (caught.value.run, caught.value.position) == ("r", 3)


def test_a_database_of_a_newer_schema_names_no_run() -> None:
    error = SchemaMismatch("schema 9", found=9, supported=2)
    assert (error.run, error.position) == (None, None)
