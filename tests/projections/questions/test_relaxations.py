"""What was withdrawn or relaxed, by whom and why, and which effects ran after."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger.errors import RunNotFound
from ledger.events import ConstraintAccepted, ConstraintWithdrawn, EffectIntended, RunOpened
from ledger.values import Recovery
from projections.asking import ask
from projections.questions import begun, constraint_changes, held, relaxations
from projections.questions.relaxations import EffectsAfterChange, Relaxations
from tests.projections.conftest import SetClock
from tests.projections.questions.refund_desk import (
    AGENT,
    KIM,
    STORES,
    Desk,
    answered,
    desk_on,
    ledger_on,
    minute,
    only,
    policy,
    written,
)

ASKED, AFTER = Relaxations(), EffectsAfterChange()
STREAM = "$source:policy:refunds"
RUN = "refund-17"


@pytest.fixture(scope="module", params=STORES)
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    yield from desk_on(request.param, tmp_path_factory.mktemp("desk"))


def test_changes_of_a_run_are_told_in_their_order(desk: Desk) -> None:
    """Revision 2 rewords what the run held in words of its own by then."""
    rows = answered(desk.ledger, ASKED, run=RUN)
    assert only(rows, "stream", "position", "at", "id", "what", "by", "actor", "reason") == [
        (RUN, 7, written(6), "night", "withdrawn", "human:kim", "human:kim", "day shift"),
        (RUN, 12, written(9), "limit", "relaxed", "human:kim", "human:kim", None),
        (STREAM, 3, written(11), "limit", "reworded_at_source", "human:kim", "human:kim", "losses"),
        (STREAM, 4, written(14), "limit", "withdrawn_at_source", "human:kim", "human:kim", "the law changed"),
        (RUN, 20, written(15), "limit", "withdrawn", "human:kim", "human:kim", "gone at its source"),
        (STREAM, 5, written(21), "ask", "reworded_at_source", "human:kim", "human:kim", None),
    ]
    assert only(rows, "old_text", "new_text", "source") == [
        ("Not at night", None, None),
        ("At most 100 EUR", "At most 200 EUR", "policy:refunds"),
        ("At most 200 EUR", "At most 50 EUR", "policy:refunds"),
        ("At most 200 EUR", None, "policy:refunds"),
        ("At most 200 EUR", None, "policy:refunds"),
        ("Ask before you pay", "Be kind", "policy:refunds"),
    ]
    keys = desk.keys
    assert only(rows, "effects_after", "first_effect_after") == [
        (4, keys["B"]),
        (3, keys["C"]),
        (2, keys["D"]),
        (1, keys["E"]),
        (1, keys["E"]),
        (0, None),
    ]
    assert {row["run"] for row in rows} == {RUN}


def test_a_run_that_had_ended_is_not_changed_by_its_source(desk: Desk) -> None:
    rows = answered(desk.ledger, ASKED, source="policy:refunds", since=minute(20))
    assert only(rows, "run", "id", "stream", "position", "what", "old_text", "new_text", "effects_after") == [
        (RUN, "ask", STREAM, 5, "reworded_at_source", "Ask before you pay", "Be kind", 0),
        ("refund-19", "polite", STREAM, 5, "reworded_at_source", "Be polite", "Be kind", 0),
    ]


def test_a_period_and_a_source_choose_among_them(desk: Desk) -> None:
    rows = answered(desk.ledger, ASKED, since=minute(9), before=minute(14))
    assert only(rows, "run", "at", "what") == [
        (RUN, written(9), "relaxed"),
        (RUN, written(11), "reworded_at_source"),
    ]
    rows = answered(desk.ledger, ASKED, run=RUN, source="policy:refunds", before=minute(10))
    assert only(rows, "id", "what") == [("limit", "relaxed")]
    assert answered(desk.ledger, ASKED, source="policy:none") == []
    with pytest.raises(RunNotFound):
        answered(desk.ledger, ASKED, run="none")


def test_asked_as_of_a_moment_it_counts_what_had_run_by_then(desk: Desk) -> None:
    rows = answered(desk.ledger, ASKED, run=RUN, as_of=desk.gid(RUN, 14))
    assert only(rows, "what", "effects_after") == [("withdrawn", 2), ("relaxed", 1)]
    rows = answered(desk.ledger, ASKED, run=RUN, as_of=minute(9))
    assert only(rows, "what", "effects_after", "first_effect_after") == [
        ("withdrawn", 1, desk.keys["B"]),
        ("relaxed", 0, None),
    ]


def test_effects_after_a_change_are_told_with_the_last_change_before_each(desk: Desk) -> None:
    rows = answered(desk.ledger, AFTER, run=RUN, id="limit")
    keys = desk.keys
    assert only(rows, "key", "tool", "step", "position", "at", "attempt", "outcome") == [
        (keys["C"], "refund", "C", 14, written(10), 1, "succeeded"),
        (keys["D"], "refund", "D", 18, written(13), 1, "succeeded"),
        (keys["E"], "refund", "E", 22, written(16), 1, "failed"),
        (keys["E"], "refund", "E", 26, written(18), 2, "succeeded"),
    ]
    assert only(rows, "change", "change_stream", "change_position", "in_force", "text") == [
        ("relaxed", RUN, 12, 1, "At most 200 EUR"),
        ("reworded_at_source", STREAM, 3, 1, "At most 200 EUR"),
        ("withdrawn", RUN, 20, 0, None),
        ("withdrawn", RUN, 20, 0, None),
    ]
    rows = answered(desk.ledger, AFTER, run=RUN, id="night")
    assert only(rows, "step", "change", "change_position", "changed_at", "by", "in_force") == [
        ("B", "withdrawn", 7, written(6), "human:kim", 0),
        ("C", "withdrawn", 7, written(6), "human:kim", 1),
        ("D", "withdrawn", 7, written(6), "human:kim", 1),
        ("E", "withdrawn", 7, written(6), "human:kim", 1),
        ("E", "withdrawn", 7, written(6), "human:kim", 1),
    ]


def test_effects_after_a_change_are_those_of_the_moment_that_is_asked_about(desk: Desk) -> None:
    # The first attempt at E has begun, and its outcome is not known yet.
    rows = answered(desk.ledger, AFTER, run=RUN, id="limit", as_of=desk.gid(RUN, 22))
    assert only(rows, "step", "outcome") == [("C", "succeeded"), ("D", "succeeded"), ("E", "started")]
    assert answered(desk.ledger, AFTER, run=RUN, id="limit", as_of=minute(8)) == []


def test_what_was_never_changed_or_accepted_has_no_effects_after(desk: Desk) -> None:
    answered(desk.ledger, AFTER, run="refund-19", id="polite")
    answer = ask(desk.ledger, AFTER, run="refund-18", id="polite")
    assert (answer.rows, answer.notes) == ([], ())
    answer = ask(desk.ledger, AFTER, run=RUN, id="other")
    assert (answer.rows, answer.notes) == ([], (f"no constraint 'other' was ever accepted in {RUN}",))


def test_many_runs_are_read_in_parts(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> list[list[dict[str, Any]]]:
        given: list[dict[str, Any]] = [{}, {"run": RUN}, {"source": "policy:refunds"}]
        after = answered(desk.ledger, AFTER, run=RUN, id="limit")
        return [*(answered(desk.ledger, ASKED, **one) for one in given), after]

    at_once = told()
    assert len({row["run"] for row in at_once[0]}) == 2
    for module, name in (
        (held, "_RUNS"),
        (begun, "_RUNS"),
        (constraint_changes, "_SOME"),
        (relaxations, "_KEYS"),
    ):
        monkeypatch.setattr(module, name, 1)
    assert told() == at_once


def test_a_tightening_is_a_change_and_no_relaxation(tmp_path: Path) -> None:
    with ledger_on("memory", tmp_path, SetClock()) as ledger:
        run = ledger.open_run("run", "goal", actor=KIM)  # 1
        run.accept("limit", "At most 100", asserted_by="human:kim")  # 2
        run.accept("limit", "At most 200", asserted_by="human:kim", change="relaxed")  # 3
        run.accept("limit", "At most 150", asserted_by="human:kim", change="tightened")  # 4
        run.perform("refund", {}, lambda: None)  # 5
        rows = answered(ledger, ASKED)
        after = answered(ledger, AFTER, run="run", id="limit")
    assert only(rows, "position", "what", "effects_after") == [(3, "relaxed", 1), (4, "tightened", 1)]
    assert only(after, "position", "change", "change_position", "text") == [(6, "relaxed", 3, "At most 150")]


def test_what_the_run_accepted_from_the_new_revision_is_no_change_at_its_source(tmp_path: Path) -> None:
    """Other words of another constraint, or of one that was withdrawn before, are none either."""
    with ledger_on("memory", tmp_path, SetClock()) as ledger:
        source = ledger.source("policy:refunds", actor=KIM)
        source.publish("1", {"a": "A", "b": "B"})
        run = ledger.open_run("run", "goal", actor=AGENT)
        run.accept("a", "A", source=policy("1"), asserted_by="human:kim")
        run.accept("other", "B", source=policy("1", item="b"), asserted_by="human:kim")
        ledger.run("run", actor=KIM).withdraw("other", reason="not for us", by="human:kim")
        source.publish("2", {"a": "A2", "b": "B2"})
        run.accept("a", "A2", source=policy("2"), asserted_by="human:kim", change="reworded")
        rows = answered(ledger, ASKED)
    assert only(rows, "stream", "id", "what", "new_text") == [
        ("run", "other", "withdrawn", None),
        (STREAM, "a", "reworded_at_source", "A2"),
        ("run", "a", "reworded", "A2"),
    ]


def test_an_imported_acceptance_is_changed_by_what_comes_after_it(tmp_path: Path) -> None:
    """It may name no position of its source, or one that was passed when it was imported."""

    def accepted(id: str, position: int | None) -> ConstraintAccepted:
        return ConstraintAccepted(
            accepted_by="agent:a",
            asserted_by="human:kim",
            id=id,
            source=policy("1", item="a"),
            source_position=position,
            text="A",
        )

    with ledger_on("memory", tmp_path, SetClock()) as ledger:
        source = ledger.source("policy:refunds", actor=KIM)
        source.publish("1", {"a": "A"})  # 2
        source.publish("2", {"a": "A2"})  # 3
        events = [RunOpened(goal="g"), accepted("unplaced", None), accepted("old", 2)]
        ledger.import_events("run", events, expected=0)
        source.publish("3", {"a": "A3"})  # 4
        rows = answered(ledger, ASKED)
    assert only(rows, "stream", "position", "id", "what") == [
        (STREAM, 4, "old", "reworded_at_source"),
        (STREAM, 4, "unplaced", "reworded_at_source"),
    ]


def test_imported_histories_are_told_as_they_fold(tmp_path: Path) -> None:
    """What was stated once more in the same words is no change; imported acts have no start, and count."""

    def accepted(text: str) -> ConstraintAccepted:
        return ConstraintAccepted(accepted_by="agent:a", asserted_by="human:kim", id="c", text=text)

    key = "ab" * 32
    intended = EffectIntended(
        act="cd" * 32, args="{}", key=key, key_scheme="v1", recovery=Recovery.AT_MOST_ONCE, tool="refund",
        witnessed=False,
    )  # fmt: skip
    gone = ConstraintWithdrawn(by="human:kim", id="c", reason="over")
    with ledger_on("memory", tmp_path, SetClock()) as ledger:
        events = [
            RunOpened(goal="g"),
            gone,
            accepted("A"),
            accepted("A"),
            accepted("B"),
            gone,
            gone,
            intended,
        ]
        ledger.import_events("run", events, expected=0)
        rows = answered(ledger, ASKED)
        after = answered(ledger, AFTER, run="run", id="c")
    assert only(rows, "position", "what", "old_text", "new_text", "effects_after", "first_effect_after") == [
        (5, "replaced", "A", "B", 1, key),
        (6, "withdrawn", "B", None, 1, key),
    ]
    assert only(after, "key", "position", "attempt", "change_position", "in_force") == [(key, 8, 1, 6, 0)]
