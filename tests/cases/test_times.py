"""When something was valid, when it was recorded, and that neither puts events in order."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from uuid import UUID

import pytest

from ledger import Actor, Ledger
from ledger.application.verifying import verify
from ledger.stores import stamps
from ledger.testing import START, Clock
from tests.stores.builder import shown

DAY = timedelta(days=1)
MONDAY, TUESDAY, WEDNESDAY, THURSDAY = (START + n * DAY for n in range(4))


def test_what_was_in_force_and_what_was_known_are_two_questions(ledger: Ledger, clock: Clock) -> None:
    """Case-171: recorded on Wednesday, valid from Monday, withdrawn on Thursday."""
    run = ledger.open_run("r", "goal")
    clock.now = TUESDAY
    run.move("n")
    clock.now = WEDNESDAY
    run.accept(
        "limit", "No more than 100 EUR", asserted_by="human:kim", asserted_at=MONDAY, valid_from=MONDAY
    )
    run.accept("later", "Ask twice", asserted_by="human:kim", valid_from=THURSDAY)

    known_on_tuesday, known_on_wednesday = (
        ledger.contract("r", at=TUESDAY),
        ledger.contract("r", at=WEDNESDAY),
    )
    assert known_on_tuesday.constraints == ()
    assert [item.id for item in known_on_wednesday.in_force(MONDAY)] == ["limit"]
    assert known_on_wednesday.in_force(MONDAY - DAY) == ()
    assert [item.id for item in known_on_wednesday.in_force(THURSDAY)] == ["limit", "later"]

    clock.now = THURSDAY
    run.withdraw("limit", reason="obsolete", by="human:kim")
    assert ledger.contract("r", at=WEDNESDAY) == known_on_wednesday
    assert [item.id for item in ledger.contract("r", at=THURSDAY).constraints] == ["later"]
    accepted = next(record for record in ledger.log("r") if record.name == "constraint.accepted")
    assert accepted.at == WEDNESDAY
    assert accepted.event.model_dump()["asserted_at"] == MONDAY


def test_any_number_of_events_fit_into_one_moment(ledger: Ledger) -> None:
    """Case-101, case-110: the clock stands still, two handles take turns, and nobody calls the other old."""
    first = ledger.open_run("r", "goal")
    second = ledger.run("r")
    for number in range(30):
        (first if number % 2 else second).assume(f"a{number}", "in stock")
    records = list(ledger.log("r"))
    assert {record.at for record in records} == {START}
    assert [record.position for record in records] == list(range(1, 32))
    assert [item.id for item in ledger.contract("r").assumptions] == [f"a{number}" for number in range(30)]
    assert ledger.contract("r", at=START).position == 31
    assert verify(ledger, "r").findings == ()


def test_a_clock_that_goes_back_changes_no_order(ledger: Ledger, clock: Clock) -> None:
    """Case-104: neither along a run nor across runs, and a moment still names a beginning of the run."""
    run, other = ledger.open_run("r", "goal"), ledger.open_run("other", "goal")
    clock.tick(60)
    run.move("a")
    clock.tick(-3600)
    other.move("b")
    run.move("c")
    shown(ledger.store)
    assert [(record.run, record.position) for record in ledger.follow()] == [
        ("r", 1),
        ("other", 1),
        ("r", 2),
        ("other", 2),
        ("r", 3),
    ]
    assert ledger.contract("r", at=START).position == 1
    assert ledger.contract("r", at=START + timedelta(seconds=60)).position == 3
    assert verify(ledger).findings == ()


def test_ids_of_events_rise_with_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Case-149: whoever indexes them appends at the end of the index."""
    millisecond = 1_000_000
    moments = iter(range(0, 2**40 * millisecond, 2**40 * millisecond // 1000))
    monkeypatch.setattr(stamps, "time", SimpleNamespace(time_ns=lambda: next(moments)))
    drawn = [stamps.new_id() for _ in range(1000)]
    assert drawn == sorted(set(drawn))
    assert {UUID(id).version for id in drawn} == {7}
    assert {UUID(id).variant for id in drawn} == {"specified in RFC 4122"}


def test_a_ledger_draws_ids_that_rise_with_time(ledger: Ledger) -> None:
    """Case-149: unless its caller draws them otherwise."""
    run = ledger.open_run("r", "goal", actor=Actor("agent:refunds"))
    run.move("n")
    assert {UUID(record.id).version for record in ledger.log("r")} == {7}
