"""Comparing a run with itself and with its successor, on each store."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from ledger import Actor, Ledger, Step
from ledger.errors import InvalidInput, RunNotFound
from ledger.run.diff import Diff
from tests.application.conftest import SetClock

STEPS = [Step(name="look"), Step(name="pay", tool="refund"), Step(name="tell")]
KIM = Actor("human:kim", authenticated_by="badge")


def told(diff: Diff) -> list[tuple[str, str | None, str]]:
    return [(one.what, one.id, one.change) for one in diff.differences]


@pytest.fixture
def run(ledger: Ledger, clock: SetClock) -> str:
    """Return a run whose contract changed at each of its seven positions, one a minute."""
    handle = ledger.open_run("r", "Refund order 17", actor=KIM)
    says: tuple[Callable[[], object], ...] = (
        lambda: handle.accept("kind", "Be kind", asserted_by="human:kim"),
        lambda: handle.commit_plan(STEPS),
        lambda: handle.promise("tell", "Mail the customer", owed_to="customer:17"),
        lambda: handle.withdraw("kind", reason="goes without saying", by="human:kim"),
        lambda: handle.discharge("tell", evidence="mail 42"),
        lambda: handle.revise_goal("Refund it", reason="shorter", by="human:kim"),
    )
    for say in says:
        clock.tick(60)
        say()
    return "r"


def test_within_a_run_the_log_names_who_took_away_what_is_gone(ledger: Ledger, run: str) -> None:
    found = ledger.diff(run, at=4, to=6)
    assert told(found) == [("constraint", "kind", "removed"), ("obligation", "tell", "removed")]
    origins = [one.origin for one in found.differences if one.origin is not None]
    assert [(o.event, o.position, o.by, o.reason, o.actor) for o in origins] == [
        ("constraint.withdrawn", 5, "human:kim", "goes without saying", "human:kim"),
        ("obligation.discharged", 6, None, "mail 42", "human:kim"),
    ]
    assert not found.same_terms
    assert ledger.diff(run, at=5, to=6).same_terms


def test_without_a_place_a_run_is_compared_as_it_was_opened_with_now(ledger: Ledger, run: str) -> None:
    found = ledger.diff(run)
    assert (found.old.position, found.new.position) == (1, 7)
    assert told(found) == [("goal", None, "changed"), *(("step", step.name, "added") for step in STEPS)]
    assert found == ledger.diff(run, run, at=1) == ledger.diff(run, to=7)


def test_a_time_stands_for_the_position_then(ledger: Ledger, clock: SetClock, run: str) -> None:
    assert ledger.diff(run, at=clock.now - timedelta(minutes=2), to=clock.now) == ledger.diff(run, at=5, to=7)


def test_backwards_it_tells_the_same_from_the_other_side(ledger: Ledger, run: str) -> None:
    forth, back = ledger.diff(run, at=2, to=7), ledger.diff(run, at=7, to=2)
    assert [(one.old, one.new) for one in forth.differences] == [
        (one.new, one.old) for one in back.differences
    ]
    assert all(one.origin is None or one.origin.event is None for one in back.differences)


def test_a_plan_made_again_after_a_restart_shows_only_where_it_is_another_plan(ledger: Ledger) -> None:
    handle = ledger.open_run("r", "Refund order 17", actor=KIM)
    handle.accept("kind", "Be kind", asserted_by="human:kim")
    handle.promise("tell", "Mail the customer", owed_to="customer:17")
    handle.commit_plan(STEPS)
    stood = handle.contract.position
    successor = ledger.restart("r", as_="r-2", reason="start over", by="human:kim", actor=KIM)
    assert told(ledger.diff("r", "r-2", at=stood)) == [("step", step.name, "removed") for step in STEPS]
    successor.commit_plan(STEPS)
    same = ledger.diff("r", "r-2", at=stood)
    assert (told(same), same.same_terms) == ([], True)
    successor.revise_plan([STEPS[0], STEPS[2]], reason="it was paid")
    (gone,) = ledger.diff("r", "r-2", at=stood).differences
    assert (gone.what, gone.id, gone.change, gone.origin) == ("step", "pay", "removed", None)
    assert told(ledger.diff("r", "r-2"))[-1] == ("status", None, "changed")


@pytest.mark.parametrize(
    ("places", "path"),
    [
        ({"at": 0}, "at"),
        ({"at": 8}, "at"),
        ({"to": 0}, "to"),
        ({"to": 8}, "to"),
        ({"to": "7"}, "to"),
        ({"to": datetime(2026, 1, 31, 9)}, "to"),  # noqa: DTZ001 - that it has no zone is the point
    ],
)
def test_a_place_that_is_none_is_refused_by_its_name(
    ledger: Ledger, run: str, places: dict[str, Any], path: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        ledger.diff(run, **places)
    assert refused.value.path == path
    assert str(refused.value).startswith(f"{path}: ")


def test_a_run_nobody_opened_is_not_found(ledger: Ledger, run: str) -> None:
    for names in (("nobody",), ("nobody", run), (run, "nobody")):
        with pytest.raises(RunNotFound):
            ledger.diff(*names)
