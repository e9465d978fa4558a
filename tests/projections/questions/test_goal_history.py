"""Goals and plans of a run as diffs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import Ledger, Step, open_ledger
from projections.questions.goal_history import difference, goal_lines, plan_lines
from tests.projections.questions.telling import explained, scans, told
from tests.projections.questions.trip import STORES, Trip, trip_on, written

ASKED = "goal-history"


@pytest.fixture(scope="module", params=STORES)
def trip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trip]:
    with trip_on(request.param, tmp_path_factory.mktemp("trip")) as trip:
        yield trip


GOAL_1 = """\
--- nothing
+++ goal 1
@@ -0,0 +1,2 @@
+Book a hotel in Bern
+(rests on assumption:dates)"""

PLAN_1 = """\
--- nothing
+++ plan 1
@@ -0,0 +1,3 @@
+- book with book_room
+  (rests on assumption:free, assumption:dates)
+- mail with send_mail"""

GOAL_2 = """\
--- goal 1
+++ goal 2
@@ -1,2 +1,3 @@
 Book a hotel in Bern
+near the station
 (rests on assumption:dates)"""

PLAN_2 = """\
--- plan 1
+++ plan 2
@@ -1,3 +1,4 @@
 - book with book_room
-  (rests on assumption:free, assumption:dates)
+  by telephone
+  (rests on assumption:dates)
 - mail with send_mail"""

HISTORY = [
    ("trip-1", 1, written(1), "goal", 1, None, "agent:travel", None, GOAL_1),
    ("trip-1", 6, written(6), "plan", 1, None, "agent:travel", "as asked", PLAN_1),
    ("trip-1", 10, written(8), "goal", 2, "customer:9", "human:kim", "she wrote again", GOAL_2),
    ("trip-1", 22, written(16), "plan", 2, None, "human:kim", "the hotel is full", PLAN_2),
    ("trip-1", 24, written(18), "goal", 3, "customer:9", "human:kim", "said again", ""),
]


def test_each_goal_and_plan_is_a_diff_to_the_one_before(trip: Trip) -> None:
    assert told(trip.ledger, ASKED, run="trip-1") == HISTORY
    assert told(trip.ledger, ASKED, "position", run="trip-2") == [(1,)]


def test_an_earlier_moment_knows_nothing_of_later_ones(trip: Trip) -> None:
    assert told(trip.ledger, ASKED, run="trip-1", as_of=trip.gid(10)) == HISTORY[:3]
    assert told(trip.ledger, ASKED, run="trip-1", as_of=trip.gid(9)) == HISTORY[:2]


def test_only_rows_of_the_run_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with trip_on("sqlite", tmp_path) as trip:
        told(trip.ledger, ASKED, run="trip-1")
        plans = explained(monkeypatch)
        told(trip.ledger, ASKED, run="trip-1")
    assert [plan for plan in plans if "(tenant=? AND run=?)" in plan]
    assert not scans(plans)


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ([], ["a"], ["--- nothing", "+++ goal 1", "@@ -0,0 +1 @@", "+a"]),
        (["a"], ["a", ""], ["--- goal 1", "+++ goal 2", "@@ -1 +1,2 @@", " a", "+"]),
        (["a"], ["a"], [""]),
    ],
)
def test_a_line_that_ends_differs_from_one_that_does_not(
    old: list[str], new: list[str], lines: list[str]
) -> None:
    assert difference("goal", 1 if old else 0, old, new).split("\n") == lines


def test_a_line_is_what_a_line_feed_ends() -> None:
    assert goal_lines("a\u2028b\rc\nd", None) == ["a\u2028b\rc", "d"]
    assert plan_lines('[{"description":"a\\nb","name":"x"}]') == ["- x", "  a", "  b"]


GOALS = st.lists(
    st.tuples(
        st.sampled_from(["one", "one\ntwo", "two\n\u2028three\n", "\x00", "(rests on effect:a)"]),
        st.sampled_from([(), ("assumption:a",), ("assumption:a", "observation:b")]),
        st.sampled_from(["r", "s"]),
    ),
    max_size=6,
)


@given(GOALS)
@settings(max_examples=25)
def test_diffs_put_together_are_the_goals_of_the_contracts(
    goals: list[tuple[str, tuple[str, ...], str]],
) -> None:
    with open_ledger(":memory:") as ledger:
        run = ledger.open_run("run", "first")
        for text, on, reason in goals:
            run.revise_goal(text, reason=reason, by="human:kim", rests_on=on)
            run.promise("p", "do", owed_to="human:kim")
        _compare(ledger, run.position)


def _compare(ledger: Ledger, last: int) -> None:
    contracts = [ledger.contract("run", at=position) for position in range(1, last + 1)]
    stated = {one.goal.position: one.goal for one in contracts}
    rows = told(ledger, ASKED, "position", "revision", "reason", "diff", run="run")
    assert [row[:3] for row in rows] == [(one.position, one.revision, one.reason) for one in stated.values()]
    lines: list[str] = []
    for (*_, diff), goal in zip(rows, stated.values(), strict=True):
        lines = _patched(lines, diff)
        rests_on = f"(rests on {', '.join(goal.rests_on)})"
        shown = goal.text.replace("\x00", "\N{SYMBOL FOR NULL}").split("\n")
        assert lines == [*shown, *([rests_on] if goal.rests_on else [])]


def _patched(lines: list[str], diff: str) -> list[str]:
    """Apply a unified diff, whose texts are so short that all of them stand in it."""
    if not diff:
        return lines
    told = diff.split("\n")[3:]
    assert [line[1:] for line in told if line[0] in " -"] == lines
    return [line[1:] for line in told if line[0] in " +"]


def test_a_step_says_what_it_rests_on_where_it_says_no_more() -> None:
    with open_ledger(":memory:") as ledger:
        ledger.open_run("run", "go").commit_plan([Step(name="a", rests_on=("run:b",)), "b"])
        _, (diff,) = told(ledger, ASKED, "diff", run="run")
    assert diff.split("\n")[3:] == ["+- a", "+  (rests on run:b)", "+- b"]
