"""Tried again by itself: while one waits for its next attempt, whatever else happens is heard by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ledger import Actor, Limits, Retry, Rule
from ledger.errors import (
    ApprovalRequired,
    ConstraintViolated,
    EffectFailed,
    EffectInFlight,
    OutcomeUnknown,
    RunIsHeld,
    Superseded,
)
from tests.application.conftest import SetClock
from tests.application.performing import Outside, Waiting, last, names, opened

ARGS = {"order": 17}
TRY = ["effect.intended", "effect.started"]
FAILED = [*TRY, "effect.failed"]
DECLARED: Any = {"definite_errors": ValueError, "retry": Retry(3, backoff=2.0)}


@pytest.fixture
def open_on(store: Any, clock: SetClock) -> Waiting:
    return Waiting(store, clock)


def once(meanwhile: Callable[[], object]) -> Callable[[], None]:
    """Do something the first time only."""
    left = [meanwhile]

    def act() -> None:
        if left:
            left.pop()()

    return act


def test_who_ends_in_a_pause_leaves_nothing_in_flight_and_the_count_to_who_comes(open_on: Waiting) -> None:
    """The pause is not in the record: who goes on tries at once, and not more often than was declared."""
    run, outside = opened(open_on()), Outside(*map(ValueError, "abc"))
    open_on.meanwhile = once(_interrupt)
    with pytest.raises(KeyboardInterrupt):
        run.perform("refund", ARGS, outside, **DECLARED)
    other = open_on()
    assert names(other) == FAILED
    assert other.contract("r").effects == ()
    open_on.waits.clear()
    with pytest.raises(EffectFailed, match="ValueError: c"):
        other.run("r").perform("refund", ARGS, outside, **DECLARED)
    assert (outside.calls, open_on.waits) == (3, [4.0])
    assert names(other) == [*FAILED, *FAILED, *FAILED, "obligation.opened"]


def _interrupt() -> None:
    raise KeyboardInterrupt


def test_what_another_did_while_one_waited_is_told_and_not_done_again(open_on: Waiting) -> None:
    run, outside = opened(open_on()), Outside(ValueError("a"))
    other = open_on().run("r")
    open_on.meanwhile = once(lambda: other.perform("refund", ARGS, outside, **DECLARED))
    assert run.perform("refund", ARGS, outside, **DECLARED) == {"done": 2}
    assert outside.calls == 2


def test_attempts_that_another_used_up_meanwhile_are_no_more_for_who_waited(open_on: Waiting) -> None:
    run, outside = opened(open_on()), Outside(*map(ValueError, "abc"))
    other = open_on().run("r")

    def use_up() -> None:
        for _ in range(2):
            with pytest.raises(EffectFailed):
                other.perform("refund", ARGS, outside, definite_errors=ValueError)

    open_on.meanwhile = once(use_up)
    with pytest.raises(EffectFailed, match="failed 3 times, and 3 attempts were declared: ValueError: c"):
        run.perform("refund", ARGS, outside, **DECLARED)
    assert outside.calls == 3
    assert [item.id[:7] for item in other.contract.obligations] == ["failed:"]


def test_who_finds_another_at_it_after_its_pause_is_told_so(open_on: Waiting) -> None:
    run, outside = opened(open_on()), Outside(ValueError("a"), KeyboardInterrupt())
    other = open_on().run("r")

    def begin() -> None:
        with pytest.raises(KeyboardInterrupt):
            other.perform("refund", ARGS, outside, **DECLARED)

    open_on.meanwhile = once(begin)
    with pytest.raises(EffectInFlight):
        run.perform("refund", ARGS, outside, **DECLARED)
    assert outside.calls == 2


@pytest.mark.parametrize("what", ["a rule", "a suspension", "a resume", "a limit"])
def test_what_changed_in_the_pause_is_heard_by_the_next_attempt(open_on: Waiting, what: str) -> None:
    ledger, outside = open_on(), Outside(ValueError("a"))
    run = ledger.open_run("r", goal="Refund", limits=Limits(effects=1) if what == "a limit" else None)
    person = open_on().run("r", actor=Actor("human:kim"))

    def resume() -> None:
        person.suspend(reason="wait", by="human:kim")
        assert open_on().resume("r", actor=Actor("human:kim"))

    changes: dict[str, tuple[Callable[[], object], type[Exception]]] = {
        "a rule": (
            lambda: person.accept("none", "None", rule=Rule(deny=("refund",)), asserted_by="human:kim"),
            ConstraintViolated,
        ),
        "a suspension": (lambda: person.suspend(reason="wait", by="human:kim"), RunIsHeld),
        "a resume": (resume, Superseded),
        "a limit": (lambda: None, RunIsHeld),
    }
    open_on.meanwhile, expected = once(changes[what][0]), changes[what][1]
    with pytest.raises(expected):
        run.perform("refund", ARGS, outside, **DECLARED)
    assert outside.calls == 1


def test_an_approval_covers_the_attempts_until_one_succeeds_unless_it_ends_in_a_pause(
    open_on: Waiting,
) -> None:
    ledger, outside = open_on(), Outside(*map(ValueError, "abcde"))
    run = opened(ledger)

    def perform(order: int, seconds: int) -> Any:
        options = {**DECLARED, "needs_approval": True, "approval_seconds": seconds}
        return run.perform("refund", {"order": order}, outside, **options)

    def asked(order: int, seconds: int) -> str:
        with pytest.raises(ApprovalRequired) as required:
            perform(order, seconds)
        return required.value.id

    for order, seconds, ends, calls in ((1, 100, EffectFailed, 3), (2, 3, ApprovalRequired, 2)):
        outside.calls = 0
        before = asked(order, seconds)
        ledger.approve(before, by="human:kim", actor=Actor("human:kim"))
        with pytest.raises(ends):  # of the second the third attempt would be after its pauses of 2 s and 4 s
            perform(order, seconds)
        assert outside.calls == calls
    assert asked(2, 3) != before


def test_only_the_errors_that_are_worth_it_are_sent_again_also_where_nobody_knows(open_on: Waiting) -> None:
    run, outside = opened(open_on()), Outside(TimeoutError(), ConnectionError(), TimeoutError())
    declared: Any = {"recovery": "idempotent", "dedupes_for": None, "retry": Retry(5, on=(TimeoutError,))}
    with pytest.raises(OutcomeUnknown):
        run.perform("refund", ARGS, outside, **declared)
    assert outside.calls == 2
    assert run.perform("refund", ARGS, outside, **declared) == {"done": 4}
    assert last(open_on()).attempt == 4
