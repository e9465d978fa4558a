"""What decisions rested on, and what became of that."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import Recovery, Step, open_ledger
from ledger.errors import EffectNotFound, InvalidInput
from ledger.events import (
    AssumptionMade,
    EffectFailed,
    EffectIntended,
    EffectStarted,
    EffectSucceeded,
    RunOpened,
)
from ledger.values import ErrorSaid
from tests.projections.questions.telling import explained, scans, told
from tests.projections.questions.trip import AGENT, KIM, STORES, Trip, minute, trip_on, written

ASKED = "basis-of-decision"
DATES, FREE, ROOMS, BOOK = "assumption:dates", "assumption:free", "observation:rooms", "plan:book"


@pytest.fixture(scope="module", params=STORES)
def trip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trip]:
    with trip_on(request.param, tmp_path_factory.mktemp("trip")) as trip:
        yield trip


def test_each_decision_is_told_with_all_that_it_rested_on(trip: Trip) -> None:
    """A goal may name an assumption before it is made; an act keeps what stood when it was intended."""
    booked, mailed, late = (f"effect:{key}" for key in (trip.booked, trip.mailed, trip.mailed_late))
    columns = ("position", "what", "on_ref", "on_position", "directly", "refuted_position", "ran_position")
    assert told(trip.ledger, ASKED, *columns, run="trip-1") == [
        (1, "goal", DATES, 2, 1, None, None),
        (5, FREE, ROOMS, 4, 1, None, None),
        (6, BOOK, DATES, 2, 1, None, None),
        (6, BOOK, FREE, 5, 1, 18, None),
        (6, BOOK, ROOMS, 4, 0, None, None),
        (7, booked, DATES, 2, 0, None, 8),
        (7, booked, FREE, 5, 0, 18, 8),
        (7, booked, ROOMS, 4, 0, None, 8),
        (7, booked, BOOK, 6, 1, None, 8),
        (10, "goal", DATES, 2, 1, None, None),
        (14, mailed, DATES, 2, 0, None, 15),
        (14, mailed, FREE, 5, 0, 18, 15),
        (14, mailed, booked, 7, 1, None, 15),
        (14, mailed, ROOMS, 4, 0, None, 15),
        (14, mailed, ROOMS, 13, 1, 17, 15),
        (14, mailed, BOOK, 6, 0, None, 15),
        (19, late, DATES, 2, 0, None, 20),
        (19, late, FREE, 5, 0, 18, 20),
        (19, late, booked, 7, 1, None, 20),
        (19, late, ROOMS, 4, 0, None, 20),
        (19, late, BOOK, 6, 0, None, 20),
        (22, BOOK, DATES, 2, 1, None, None),
        (23, "cursor", ROOMS, 13, 1, 17, None),
        (24, "goal", DATES, 2, 1, None, None),
    ]


def test_what_was_refuted_is_told_with_evidence_and_what_ran_on_it(trip: Trip) -> None:
    assert told(trip.ledger, ASKED, run="trip-1", ref=BOOK, on=FREE) == [
        (
            "trip-1", 6, written(6), BOOK, FREE, 1, 5, written(5), "There is a free room",
            18, written(14), "human:kim", "the hotel is full", None, 3, 1, trip.mailed_late,
        )
    ]  # fmt: skip
    assert told(trip.ledger, ASKED, run="trip-1", ref="cursor") == [
        (
            "trip-1", 23, written(17), "cursor", ROOMS, 1, 13, written(11), '{"free":1}',
            17, written(13), "human:kim", "the page was old", None, 1, 0, None,
        )
    ]  # fmt: skip


def test_how_many_effects_ran_on_each_ground(trip: Trip) -> None:
    columns = ("on_ref", "on_position", "text", "effects_after", "effects_after_refuted")
    found = told(trip.ledger, ASKED, *columns, run="trip-1", ref=f"effect:{trip.mailed[:9]}")
    assert found == [
        (DATES, 2, "She travels in March", 3, None),
        (FREE, 5, "There is a free room", 3, 1),
        (f"effect:{trip.booked}", 7, "book_room", 2, None),
        (ROOMS, 4, '{"free":3}', 3, None),
        (ROOMS, 13, '{"free":1}', 1, 0),
        (BOOK, 6, None, 3, None),
    ]


def test_an_earlier_moment_knows_of_no_refutation(trip: Trip) -> None:
    columns = ("position", "on_ref", "refuted_position", "effects_after")
    early = told(trip.ledger, ASKED, *columns, run="trip-1", as_of=trip.gid(17))
    assert {row[2] for row in early if row[1] == FREE} == {None}
    assert [row for row in early if row[0] in (6, 14) and row[1] == ROOMS] == [
        (6, ROOMS, None, 2), (14, ROOMS, None, 2), (14, ROOMS, 17, 1)
    ]  # fmt: skip
    assert told(trip.ledger, ASKED, *columns, run="trip-1", as_of=trip.gid(1)) == [(1, DATES, None, None)]


def test_another_run_rests_on_nothing_of_this_one(trip: Trip) -> None:
    assert told(trip.ledger, ASKED, run="trip-2") == []
    assert told(trip.ledger, ASKED, run="trip-2", ref=f"effect:{trip.booked}") == []
    assert told(trip.ledger, ASKED, run="trip-1", ref="plan:mail") == []


@pytest.mark.parametrize("ref", ["plan", "plan:", "message:a", "goal:a", "assumption", "effect:zz"])
def test_what_names_no_decision_is_refused(trip: Trip, ref: str) -> None:
    with pytest.raises(InvalidInput):
        told(trip.ledger, ASKED, run="trip-1", ref=ref)
    with pytest.raises(EffectNotFound):
        told(trip.ledger, ASKED, run="trip-1", ref=f"effect:{'0' * 64}")


def test_only_rows_of_the_run_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with trip_on("sqlite", tmp_path) as trip:
        told(trip.ledger, ASKED, run="trip-1")
        plans = explained(monkeypatch)
        told(trip.ledger, ASKED, run="trip-1")
    assert not scans(plans)
    assert len([plan for plan in plans if plan.endswith("(tenant=? AND run=?)")]) == 8
    assert len([plan for plan in plans if plan.endswith("(tenant=? AND run=? AND position=?)")]) == 1
    assert not [plan for plan in plans if "ORDER BY" in plan]


def test_an_assumption_that_is_refuted_and_made_again_is_another_one() -> None:
    with open_ledger(":memory:", clock=lambda: minute(1)) as ledger:
        run = ledger.open_run("run", "go")
        run.assume("a", "first")  # 2
        run.move("one", needs=("assumption:a",))  # 3
        run.refute("a", evidence="no", by="human:kim")  # 4
        run.move("two")  # 5
        run.assume("a", "second")  # 6
        run.move("three", needs=("assumption:a",))  # 7
        found = told(ledger, ASKED, "position", "on_position", "text", "refuted_position", run="run")
    assert found == [(3, 2, "first", 4), (7, 6, "second", None)]


def test_grounds_that_rest_on_each_other_come_to_an_end() -> None:
    with open_ledger(":memory:", clock=lambda: minute(1)) as ledger:
        run = ledger.open_run("run", "go", rests_on=["assumption:a"])
        run.assume("a", "one", rests_on=["assumption:b", "run:other"])  # 2
        run.assume("b", "two", rests_on=["assumption:a"])  # 3
        columns = ("position", "what", "on_ref", "on_position", "directly")
        found = told(ledger, ASKED, *columns, run="run")
    assert found == [
        (1, "goal", "assumption:a", 2, 1),
        (1, "goal", "assumption:b", 3, 0),
        (1, "goal", "run:other", None, 0),
        (2, "assumption:a", "assumption:a", 2, 0),
        (2, "assumption:a", "assumption:b", 3, 1),
        (2, "assumption:a", "run:other", None, 1),
        (3, "assumption:b", "assumption:a", 2, 1),
        (3, "assumption:b", "assumption:b", 3, 0),
        (3, "assumption:b", "run:other", None, 0),
    ]


def test_an_act_of_a_step_rests_on_the_plan_of_then() -> None:
    with open_ledger(":memory:", clock=lambda: minute(1)) as ledger:
        run = ledger.open_run("run", "go")
        run.assume("a", "one")  # 2
        run.commit_plan([Step(name="s", rests_on=("assumption:a",))])  # 3
        run.perform("pay", {"n": 1}, lambda n: n, step="s")  # 4
        run.revise_plan(["s"], reason="sure by now")  # 7
        run.perform("pay", {"n": 2}, lambda n: n, step="s")  # 8
        found = told(ledger, ASKED, "position", "on_ref", "on_position", "directly", run="run")
    assert found == [
        (3, "assumption:a", 2, 1), (4, "assumption:a", 2, 0), (4, "plan:s", 3, 1)
    ]  # fmt: skip


def test_of_observations_the_one_seen_last_counts_until_a_clock_was_set_back() -> None:
    now = minute(30)
    with open_ledger(":memory:", clock=lambda: now) as ledger:
        run = ledger.open_run("run", "go")

        def look(at: int) -> None:
            run.observe("k", at, tool="look", observed_at=minute(at))

        look(10)  # 2
        look(5)  # 3: told late
        run.move("one", needs=("observation:k",))  # 4
        look(50)  # 5: not yet
        run.move("two", needs=("observation:k",))  # 6
        look(8)  # 7 and 8: the one from the future gives way
        run.move("three", needs=("observation:k",))  # 9
        ledger.run("run", actor=KIM).invalidate("k", reason="old", by="human:kim")  # 10
        columns = ("position", "on_position", "refuted_position")
        found = told(ledger, ASKED, *columns, run="run")
        for position, stood, _ in found:
            (held,) = ledger.contract("run", at=position).observations
            assert held.position == stood
    assert found == [(4, 2, None), (6, 5, 7), (9, 8, 10)]


def test_an_observation_seen_at_the_same_time_takes_the_place_of_the_one_before() -> None:
    with open_ledger(":memory:", clock=lambda: minute(30)) as ledger:
        run = ledger.open_run("run", "go")
        for value in (1, 2):
            run.observe("k", value, tool="look", observed_at=minute(10))  # 2 and 4
            run.move(f"node-{value}", needs=("observation:k",))  # 3 and 5
        run.invalidate("k", reason="old")  # 6
        found = told(ledger, ASKED, "position", "on_position", "refuted_position", run="run")
    assert found == [(3, 2, None), (5, 4, 6)]


def test_an_attempt_ran_where_it_began_or_where_the_ledger_was_not_there_where_something_came_of_it() -> None:
    def intended(key: str) -> EffectIntended:
        return EffectIntended(
            act=key, args="{}", key=key, key_scheme="v1", recovery=Recovery.IDEMPOTENT,
            rests_on=("assumption:a",), tool="pay",
        )  # fmt: skip

    first, foreign, failed = ("a" * 64, "b" * 64, "c" * 64)
    error = ErrorSaid(message="no", type="No")
    events = [
        RunOpened(goal="go"),
        AssumptionMade(id="a", text="so"),  # 2
        intended(first),  # 3: never begun
        intended(first),  # 4
        EffectStarted(attempt=1, key=first, lease_until=minute(1), root="run", worker="w"),  # 5
        intended(foreign),  # 6
        EffectSucceeded(attempt=1, key=foreign),  # 7
        intended(failed),  # 8
        EffectFailed(attempt=1, error=error, key=failed),  # 9
    ]
    with open_ledger(":memory:") as ledger:
        ledger.import_events("run", events, expected=0, actor=AGENT)
        found = told(ledger, ASKED, "position", "ran_position", "effects_after", run="run")
    assert found == [(3, None, 2), (4, 5, 2), (6, 7, 2), (8, None, 2)]
