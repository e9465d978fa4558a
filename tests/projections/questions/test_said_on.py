"""What a run's record said on a date, beside what it says now."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import Actor, Ledger, Recovery, Step
from ledger.errors import InvalidInput, RunNotFound
from ledger.run.compared import SECTIONS, members_of
from ledger.run.contract import Contract
from ledger.run.diff import diff
from ledger.run.state import replay
from ledger.testing import History
from ledger.values.times import write_time
from projections.questions.base import Asked
from projections.questions.said_on import SaidOn
from tests.projections.conftest import SetClock
from tests.projections.questions.telling import answered, on_memory, told
from tests.run.histories import histories
from tests.strategies import FEW

AGENT, KIM = Actor("agent:desk"), Actor("human:kim")
START = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
TOLD = ("goal", "step", "constraint", "assumption", "obligation", "grant", "approval", "effect", "status")
COLUMNS = ("section", "id", "then", "now", "changed", "then_position", "now_position")


def minute(number: float) -> datetime:
    return START + timedelta(minutes=number)


@pytest.fixture
def desk(ledger: Ledger, clock: SetClock) -> Ledger:
    """Return a ledger of a run that something happens to in each of four minutes."""
    run = ledger.open_run("run", "Refund order 17", actor=AGENT)
    run.accept("limit", "At most 100 EUR", asserted_by="human:kim")
    run.commit_plan([Step(name="look"), Step(name="refund")])
    run.promise("mail", "Mail the customer", owed_to="customer:17")
    clock.tick(60)
    run.assume("in-stock", "There is one left")
    run.perform(
        "refund", {"order": 17}, lambda order: {"ok": order}, step="refund", recovery=Recovery.AT_MOST_ONCE
    )
    clock.tick(60)
    person = ledger.run("run", actor=KIM)
    person.withdraw("limit", reason="the contract ended", by="human:kim")
    person.revise_goal("Send another one", reason="customer asked", by="human:kim")
    run.discharge("mail", evidence="sent")
    clock.tick(60)
    person.suspend(reason="wait", by="human:kim")
    return ledger


LIMIT = {
    "accepted_by": "agent:desk",
    "asserted_by": "human:kim",
    "enforced": False,
    "text": "At most 100 EUR",
}


def test_each_thing_is_told_as_it_was_said_then_and_is_now(desk: Ledger) -> None:
    rows = told(desk, "said-on", *COLUMNS, run="run", date=minute(1))
    read = [(*row[:2], *(cell and json.loads(cell) for cell in row[2:4]), *row[4:]) for row in rows]
    owed = {"owed_to": "customer:17", "text": "Mail the customer"}
    stock = {"text": "There is one left"}
    assert read == [
        ("goal", None, {"text": "Refund order 17"}, {"text": "Send another one"}, 1, 1, 10),
        ("step", "look", {}, {}, 0, 3, 3),
        ("step", "refund", {}, {}, 0, 3, 3),
        ("constraint", "limit", LIMIT, None, 1, 2, None),
        ("assumption", "in-stock", stock, stock, 0, 5, 5),
        ("obligation", "mail", owed, None, 1, 4, None),
        ("status", None, {"status": "open"}, {"cause": "asked", "status": "suspended"}, 1, 1, 12),
    ]


def test_now_is_the_moment_that_is_asked_as_of(desk: Ledger) -> None:
    seventh = next(desk.log("run", after=6, limit=1))
    asked = {"run": "run", "date": minute(0)}
    by_position = told(desk, "said-on", *COLUMNS, **asked, as_of=seventh.global_position)
    changed = [(row[:2], row[2], json.loads(row[3]), row[6]) for row in by_position if row[4]]
    # The act was claimed at position 6 and had not come back.
    assert [(row[0], row[3]) for row in changed] == [(("assumption", "in-stock"), 5), (changed[1][0], 6)]
    assert changed[1][0][0] == "effect"
    assert changed[1][1:3] == (
        None,
        {"attempt": 1, "recovery": "at_most_once", "status": "executing", "tool": "refund"},
    )
    by_time = told(desk, "said-on", *COLUMNS, **asked, as_of=minute(1))
    assert [row[:2] for row in by_time if row[4]] == [("assumption", "in-stock")]


def test_what_was_not_there_or_has_not_changed_is_noted(desk: Ledger) -> None:
    early = answered(desk, "said-on", run="run", date=minute(-1))
    assert early.notes == ("the run was opened on 2026-01-31T09:00:00.000000Z, after that date",)
    assert {row[2] for row in early.rows} == {None}
    late = answered(desk, "said-on", run="run", date=minute(3))
    assert late.notes == ("nothing was recorded in this run after that date",)
    assert all(row[2] == row[3] for row in late.rows)
    before = answered(desk, "said-on", run="run", date=minute(3), as_of=minute(-1))
    expected = ("the run had not been opened yet", "nothing had been recorded by then")
    assert (before.rows, before.notes) == ([], expected)


@on_memory
def test_a_date_that_has_not_come_says_nothing_yet(desk: Ledger, clock: SetClock) -> None:
    with pytest.raises(InvalidInput, match=r"date= .* has not come"):
        answered(desk, "said-on", run="run", date=clock.now + timedelta(seconds=1))
    answered(desk, "said-on", run="run", date=clock.now)


def test_it_needs_a_run_and_a_date(desk: Ledger) -> None:
    with pytest.raises(InvalidInput, match="date"):
        answered(desk, "said-on", run="run")
    with pytest.raises(RunNotFound):
        answered(desk, "said-on", run="other", date=minute(0))


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=25)
@given(history=histories(FEW, longest=20), number=st.integers(0, 50))
def test_what_changed_is_what_two_contracts_differ_in(history: History[Contract], number: int) -> None:
    """Whatever an import brings, in whatever order."""
    records = history.records
    place = number % len(records)
    earlier = [record for record in records if record.at <= records[place].at]
    old, new = replay(earlier), history.contract
    assert old is not None
    given = {"run": new.run, "date": write_time(records[place].at)}
    rows = list(SaidOn().rows(Asked(given, "default", new.at, _nothing, _nothing, lambda run: iter(records))))
    changed = [(*row[:2], _read(row[2]), _read(row[3])) for row in rows if row[4]]
    expected = [
        (one.what, one.id, _unplaced(one.old), _unplaced(one.new))
        for one in diff(old, new)
        if one.what in TOLD and one.change != "moved"
    ]
    assert sorted(map(str, changed)) == sorted(map(str, expected))
    told_now = {what: sum(row[0] == what and row[3] is not None for row in rows) for what in TOLD}
    members = {one.what: len(members_of(one, new)) for one in SECTIONS if one.what in TOLD}
    assert told_now == members


def _nothing(*_: Any, **__: Any) -> Any:
    raise AssertionError("it reads records only")


def _read(cell: object) -> Any:
    return None if cell is None else _sorted(json.loads(str(cell)))


def _unplaced(member: Any) -> Any:
    """Take away the place of a step, which a diff adds to those that came or went."""
    if isinstance(member, dict):
        return _sorted({name: value for name, value in member.items() if name != "place"})
    return member


def _sorted(value: Any) -> Any:
    return json.loads(json.dumps(value, sort_keys=True))
