"""What only reads: recorded once after the call, and used again while it is fresh."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from ledger import Outcome, Runtime
from ledger import events as e
from ledger.errors import ResultNotKept
from ledger.run.contract import WINDOW
from ledger.run.keys import observation_key
from tests.application.conftest import SetClock
from tests.application.performing import Outside, Waiting, last, names, opened

ARGS = {"order": 17}
KEY = observation_key("look", '{"order":17}')


@pytest.fixture
def open_on(store: Any, clock: SetClock) -> Waiting:
    return Waiting(store, clock)


@pytest.fixture
def ledger(open_on: Waiting) -> Any:
    return open_on()


def look(run: Any, outside: Any, fresh_for: int | None = None, **more: Any) -> Any:
    return run.perform("look", ARGS, outside, recovery="read_only", fresh_for=fresh_for, **more)


def test_it_is_one_append_after_the_call(ledger: Any) -> None:
    run, outside = opened(ledger), Outside()

    def seen(order: int) -> Any:
        assert names(ledger) == []
        return outside(order=order)

    assert look(run, seen) == {"done": 1}
    assert names(ledger) == ["observation.recorded"]
    assert (last(ledger).key, last(ledger).tool, last(ledger).fresh_for) == (KEY, "look", None)
    assert ledger.effects() == []


# The seconds for which it is fresh, the seconds after which it is asked again, and how often it was asked.
FRESH = [
    (None, 0, 1),
    (None, 10**9, 1),
    (0, 0, 2),
    (0, 1, 2),
    (60, 0, 1),
    (60, 59.999, 1),
    (60, 60, 2),
    (60, -1, 2),
    (None, -1, 2),
]


@pytest.mark.parametrize(("fresh_for", "seconds", "asked"), FRESH)
def test_it_is_used_again_while_it_is_fresh(
    ledger: Any, open_on: Waiting, clock: SetClock, fresh_for: int | None, seconds: float, asked: int
) -> None:
    run, outside = opened(ledger), Outside({"a": 1}, {"a": 2})
    look(run, outside, fresh_for)
    clock.tick(seconds)
    assert look(open_on().run("r"), outside, fresh_for) == {"a": asked}
    assert outside.calls == asked


@pytest.mark.parametrize(("first", "then", "asked"), [(60, None, 2), (None, 60, 2), (10**6, 10**6, 1)])
def test_the_shorter_of_what_was_declared_then_and_now_counts(
    ledger: Any, clock: SetClock, first: int | None, then: int | None, asked: int
) -> None:
    run, outside = opened(ledger), Outside()
    look(run, outside, first)
    clock.tick(61)
    look(run, outside, then)
    assert outside.calls == asked


def test_freshness_is_counted_from_before_the_call(ledger: Any, clock: SetClock) -> None:
    run, outside = opened(ledger), Outside()

    def slow(order: int) -> Any:
        clock.tick(50)
        return outside(order=order)

    look(run, slow, 60)
    clock.tick(10)
    look(run, slow, 60)
    assert outside.calls == 2


def test_what_was_invalidated_is_asked_again(ledger: Any, clock: SetClock) -> None:
    run, outside = opened(ledger), Outside()
    look(run, outside)
    run.invalidate(KEY, reason="the order was changed")
    clock.tick(1)
    assert look(run, outside) == {"done": 2}
    assert look(run, outside) == {"done": 2}


def test_another_occurrence_is_asked_for_itself(ledger: Any) -> None:
    run, outside = opened(ledger), Outside()
    assert look(run, outside) == {"done": 1}
    assert look(run, outside, occurrence="after lunch") == {"done": 2}
    assert look(run, outside, occurrence="after lunch") == look(run, outside, occurrence="after lunch")
    assert look(run, outside, step="elsewhere") == {"done": 1}
    assert outside.calls == 2


@pytest.mark.parametrize("size", [100, 3_000, 100_000])
def test_an_answer_of_any_length_is_used_again(ledger: Any, open_on: Waiting, size: int) -> None:
    run, outside = opened(ledger), Outside({"text": "x" * size})
    first = look(run, outside)
    assert look(run, outside) == look(open_on().run("r"), outside) == first
    assert outside.calls == 1


def test_a_long_answer_is_found_behind_all_that_was_seen_before_it_and_told_later(
    ledger: Any, clock: SetClock
) -> None:
    run, outside = opened(ledger), Outside({"text": "x" * 100_000})
    first = look(run, outside)
    for number in range(70):
        seen_at = clock.now - timedelta(seconds=100 - number)
        run.observe(KEY, f"seen before, no. {number}", tool="look", observed_at=seen_at)
    assert look(run, outside) == first
    assert outside.calls == 1


def test_an_answer_that_the_contract_let_go_of_is_found_in_the_record(ledger: Any, open_on: Waiting) -> None:
    run, outside = opened(ledger), Outside()
    look(run, outside)
    for number in range(WINDOW + 1):
        run.perform("look", {"order": number + 100}, Outside(), recovery="read_only")
    assert all(one.key != KEY for one in run.contract.observations)
    assert look(run, outside) == look(open_on().run("r"), outside) == {"done": 1}
    assert outside.calls == 1


def test_one_that_was_invalidated_before_it_was_let_go_is_asked_again(ledger: Any, clock: SetClock) -> None:
    run, outside = opened(ledger), Outside()
    look(run, outside)
    run.invalidate(KEY, reason="the order was changed")
    for number in range(WINDOW + 1):
        run.perform("look", {"order": number + 100}, Outside(), recovery="read_only")
    clock.tick(1)
    assert look(run, outside) == {"done": 2}


def test_what_an_import_observed_is_used_again(ledger: Any, clock: SetClock) -> None:
    run, outside = opened(ledger), Outside()
    run.observe(KEY, {"imported": True}, tool="look", observed_at=clock.now - timedelta(seconds=30))
    assert look(run, outside) == {"imported": True}
    assert look(run, outside, 30) == {"done": 1}
    assert look(run, outside, 31) == {"done": 1}


def test_what_it_raises_is_raised_and_nothing_is_recorded(ledger: Any) -> None:
    run, outside = opened(ledger), Outside(KeyError("no such order"), ValueError)
    with pytest.raises(KeyError):
        look(run, outside)
    assert names(ledger) == []


def test_an_answer_that_is_no_json_is_told_once(ledger: Any) -> None:
    run, answer = opened(ledger), object()
    outside = Outside(answer)
    assert look(run, outside) is answer
    with pytest.raises(ResultNotKept):
        look(run, outside)
    assert look(run, outside, 0) == {"done": 2}


def test_a_secret_in_an_answer_is_redacted(ledger: Any) -> None:
    run, outside = opened(ledger), Outside({"password": "hunter2-hunter2"})
    assert look(run, outside)["password"] == "hunter2-hunter2"
    assert "hunter2" not in str(last(ledger))
    assert look(run, outside)["password"].startswith("[redacted:")


def test_an_answer_of_a_model_is_bought_once(ledger: Any, open_on: Waiting) -> None:
    runtime = Runtime(model="m-1")
    answer = Outcome("Hello", cost={"EUR": "0.01", "tokens": 12})
    run, outside = opened(ledger), Outside(answer)

    def ask(run: Any, prompt: str) -> Any:
        return run.perform("ask", {"prompt": prompt}, outside, recovery="read_only", runtime=runtime)

    assert ask(run, "Hi") == ask(open_on().run("r"), "Hi") == "Hello"
    assert outside.calls == 1
    seen = last(ledger)
    assert isinstance(seen, e.ObservationRecorded)
    assert (seen.cost, seen.runtime) == ({"EUR": Decimal("0.01"), "tokens": 12}, runtime)


def test_an_answer_of_another_model_is_another_answer(ledger: Any) -> None:
    run, outside = opened(ledger), Outside("from m-1", "from m-2")

    def ask(model: str) -> Any:
        return run.perform(
            "ask", {"prompt": "Hi"}, outside, recovery="read_only", runtime=Runtime(model=model)
        )

    assert [ask("m-1"), ask("m-2"), ask("m-1"), ask("m-2")] == ["from m-1", "from m-2"] * 2


def test_arguments_are_converted_before_they_name_what_is_looked_at(ledger: Any) -> None:
    run, outside = opened(ledger), Outside()

    def look_up(order: int) -> Any:
        return outside(order=order)

    look_up.__annotations__["order"] = int
    for order in ("17", 17):
        assert run.perform("look", {"order": order}, look_up, recovery="read_only") == {"done": 1}
    assert outside.calls == 1


def test_progress_of_a_read_is_taken_and_kept_nowhere(ledger: Any) -> None:
    run = opened(ledger)

    def slow(order: int, *, effect: Any) -> int:
        effect.progress({"page": 1})
        return order

    assert look(run, slow) == 17
