"""The effect that code is performing, as the code itself sees it."""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import Any

import pytest

from ledger import Ledger, current_effect, open_ledger
from ledger.errors import EffectFailed, LeaseLost
from ledger.gateway.current import CurrentEffect, performing


def an_effect(key: str = "a" * 64) -> CurrentEffect:
    return CurrentEffect(key, 1, "refund", None)


def nothing_is_performed() -> bool:
    try:
        current_effect()
    except LookupError:
        return True
    return False


def test_outside_of_a_tool_there_is_none() -> None:
    with pytest.raises(LookupError, match="inside of a tool"):
        current_effect()


def test_the_innermost_is_the_current_one() -> None:
    outer, inner = an_effect(), an_effect("b" * 64)
    with performing(outer):
        with performing(inner):
            assert current_effect() is inner
        assert current_effect() is outer
    assert nothing_is_performed()


def test_one_that_raises_is_current_no_more() -> None:
    with pytest.raises(ValueError, match="no"), performing(an_effect()):
        raise ValueError("no")
    assert nothing_is_performed()


def test_a_thread_sees_it_only_in_a_copy_of_the_context() -> None:
    seen: list[Any] = []
    effect = an_effect()
    with performing(effect):
        for call in (nothing_is_performed, lambda: copy_context().run(nothing_is_performed)):
            thread = threading.Thread(target=lambda call=call: seen.append(call()))
            thread.start()
            thread.join()
        context = copy_context()
        thread = threading.Thread(target=lambda: seen.append(context.run(current_effect)))
        thread.start()
        thread.join()
    assert seen == [True, True, effect]


def test_progress_is_handed_on_and_tells_of_a_lost_lease() -> None:
    effect, told = an_effect(), list[Any]()
    effect.progress(1)
    effect.on_progress(told.append)
    effect.progress({"rows": 2})
    effect.is_lost = True
    with pytest.raises(LeaseLost) as lost:
        effect.progress(3)
    assert told == [{"rows": 2}, 3]
    assert lost.value.data["key"] == effect.key
    with pytest.raises(LeaseLost):
        effect.check()


def test_it_is_shown_without_its_whole_key() -> None:
    assert repr(an_effect()) == "<CurrentEffect refund attempt 1 aaaaaaaaaaaa…>"


# --- as tools see it ---------------------------------------------------------------------------------


@pytest.fixture
def ledger() -> Any:
    with open_ledger(":memory:") as ledger:
        yield ledger


def test_a_tool_sees_its_own_effect_by_either_way(ledger: Ledger) -> None:
    run = ledger.open_run("r", goal="g")

    def refund(order: int, *, effect: CurrentEffect) -> list[Any]:
        assert current_effect() is effect
        return [effect.key, effect.attempt, effect.tool, effect.deadline is not None]

    key, *rest = run.perform("refund", {"order": 1}, refund)
    assert ledger.effect(key).tool == "refund"
    assert rest == [1, "refund", True]
    assert nothing_is_performed()


def test_a_tool_that_performs_another_sees_its_own_again(ledger: Ledger) -> None:
    run = ledger.open_run("r", goal="g")

    def inner() -> str:
        return current_effect().tool

    def outer() -> list[str]:
        return [current_effect().tool, run.perform("inner", {}, inner), current_effect().tool]

    assert run.perform("outer", {}, outer) == ["outer", "inner", "outer"]


def test_a_tool_that_fails_is_current_no_more(ledger: Ledger) -> None:
    run = ledger.open_run("r", goal="g")

    def refuse() -> None:
        raise ValueError

    with pytest.raises(EffectFailed):
        run.perform("refuse", {}, refuse, definite_errors=ValueError)
    assert nothing_is_performed()


def test_what_only_reads_has_no_lease_and_no_attempt(ledger: Ledger) -> None:
    run = ledger.open_run("r", goal="g")

    def look() -> list[Any]:
        effect = current_effect()
        effect.progress({"page": 1})
        effect.check()
        return [effect.attempt, effect.deadline]

    assert run.perform("look", {}, look, recovery="read_only") == [0, None]


def test_a_block_sees_its_effect(ledger: Ledger) -> None:
    run = ledger.open_run("r", goal="g")
    with run.effect("mail", {"to": "kim"}) as effect:
        assert current_effect().key == effect.key
        assert (effect.attempt, effect.deadline is not None) == (1, True)
        with run.effect("copy", {"to": "lee"}) as other:
            assert current_effect().key == other.key != effect.key
        assert current_effect().key == effect.key
    assert nothing_is_performed()
