"""What may be declared of a tool, and what contradicts itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Recovery, Retry, Tool, tool
from ledger.errors import InvalidInput
from ledger.gateway.tools import declare


def refund(order: int) -> int:
    """Refund an order."""
    return order


async def later(order: int) -> int:
    return order


class Awaited:
    async def __call__(self, order: int) -> int:
        return order


def probe(key: str, args: Any) -> None: ...


def rows() -> Iterator[int]:
    yield 1


async def pages() -> AsyncIterator[int]:
    yield 1


CONTRADICTIONS: list[tuple[str, dict[str, Any]]] = [
    ("probe", {"recovery": "queryable"}),
    ("probe", {"probe": probe}),
    ("probe", {"recovery": "at_most_once", "probe": probe}),
    ("probe", {"recovery": "read_only", "probe": probe}),
    ("probe", {"recovery": "queryable", "probe": "find"}),
    ("dedupes_for", {"recovery": "idempotent"}),
    ("dedupes_for", {"recovery": "queryable", "probe": probe, "dedupes_for": 60}),
    ("dedupes_for", {"dedupes_for": 60}),
    ("dedupes_for", {"recovery": "idempotent", "dedupes_for": -1}),
    ("dedupes_for", {"recovery": "idempotent", "dedupes_for": 1.5}),
    ("dedupes_for", {"recovery": "idempotent", "dedupes_for": True}),
    ("fresh_for", {"fresh_for": 60}),
    ("fresh_for", {"recovery": "idempotent", "dedupes_for": 60, "fresh_for": 60}),
    ("fresh_for", {"recovery": "read_only", "fresh_for": -1}),
    ("fresh_for", {"recovery": "read_only", "fresh_for": "60"}),
    ("settle_seconds", {"settle_seconds": 60}),
    ("settle_seconds", {"recovery": "read_only", "settle_seconds": 60}),
    ("settle_seconds", {"recovery": "queryable", "probe": probe, "settle_seconds": -1}),
    ("lease_seconds", {"lease_seconds": 0}),
    ("lease_seconds", {"lease_seconds": 1.5}),
    ("lease_seconds", {"lease_seconds": True}),
    ("recovery", {"recovery": "sometimes"}),
    ("recovery", {"recovery": 3}),
    ("definite_errors", {"definite_errors": (ValueError, "KeyError")}),
    ("definite_errors", {"definite_errors": ValueError("no")}),
    ("definite_errors", {"definite_errors": KeyboardInterrupt}),
    ("definite_errors", {"recovery": "read_only", "definite_errors": ValueError}),
    ("retry", {"recovery": "read_only", "retry": Retry(2)}),
    ("retry", {"retry": 3}),
    ("cost", {"recovery": "read_only", "cost": {"EUR": 1}}),
    ("cost.EUR", {"cost": {"EUR": 1.5}}),
    ("cost.EUR", {"cost": {"EUR": "-1"}}),
    ("cost", {"cost": "10 EUR"}),
    ("name", {"name": ""}),
    ("name", {"name": 3}),
]


@pytest.mark.parametrize(("path", "declared"), CONTRADICTIONS)
def test_a_declaration_that_contradicts_another_or_has_no_effect_is_refused(
    path: str, declared: dict[str, Any]
) -> None:
    with pytest.raises(InvalidInput) as error:
        declare(refund, **declared)
    assert error.value.path == path


@pytest.mark.parametrize("function", [3, rows, pages])
def test_what_does_nothing_when_it_is_called_is_no_tool(function: Any) -> None:
    with pytest.raises(InvalidInput) as error:
        declare(function, name="rows")
    assert error.value.path == "function"


def test_a_tool_of_which_nothing_is_said_is_never_done_again_and_listed_as_such() -> None:
    bare = declare(refund)
    assert (bare.recovery, bare.classified) == (Recovery.AT_MOST_ONCE, False)
    said = declare(refund, recovery="at_most_once")
    assert (said.recovery, said.classified) == (Recovery.AT_MOST_ONCE, True)


def test_a_tool_is_called_like_its_function_and_is_described_by_it() -> None:
    @tool(recovery="idempotent", dedupes_for=None)
    def order(of: str) -> str:
        """Order it."""
        return of

    @tool
    def plain(of: str) -> str:
        return of

    assert (order("tea"), plain(of="tea")) == ("tea", "tea")
    assert (order.name, order.description, order.dedupes_for) == ("order", "Order it.", None)
    assert (plain.name, plain.description) == ("plain", "")
    with pytest.raises(TypeError):
        Tool("nothing", None)()


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(InvalidInput) as error:
        declare(lambda: 1)
    assert error.value.path == "name"
    assert declare(lambda: 1, name="one").name == "one"


@pytest.mark.parametrize(
    ("function", "asked", "awaited"),
    [(refund, probe, False), (later, probe, True), (Awaited(), probe, True), (refund, later, True)],
)
def test_what_is_awaited_is_known(function: Any, asked: Any, awaited: bool) -> None:
    assert declare(function, name="x", recovery="queryable", probe=asked).is_async is awaited


def test_other_declarations_of_a_tool_are_checked_too() -> None:
    asked = declare(refund, recovery="queryable", probe=probe, definite_errors=KeyError)
    assert asked.with_declared(settle_seconds=5).settle_seconds == 5
    changed = asked.with_declared(recovery="idempotent", definite_errors=[ValueError], dedupes_for=7)
    assert changed.recovery is Recovery.IDEMPOTENT
    assert changed.definite_errors == (ValueError,)
    for path, declared in CONTRADICTIONS:
        if path != "name" and "recovery" in declared:
            with pytest.raises(InvalidInput) as error:
                declare(refund).with_declared(**declared)
            assert error.value.path == path


def test_a_recovery_that_is_said_of_a_tool_later_classifies_it() -> None:
    assert declare(refund).with_declared(recovery="at_most_once").classified
    assert not declare(refund).with_declared(lease_seconds=5).classified


# --- retries -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_attempts": 1},
        {"max_attempts": True},
        {"max_attempts": 2.0},
        {"max_attempts": 2, "backoff": -1},
        {"max_attempts": 2, "factor": 0.5},
        {"max_attempts": 2, "longest": -1},
        {"max_attempts": 2, "backoff": float("nan")},
        {"max_attempts": 2, "factor": float("nan")},
        {"max_attempts": 2, "longest": float("nan")},
        {"max_attempts": 2, "longest": float("inf")},
        {"max_attempts": 2, "backoff": "1"},
        {"max_attempts": 2, "on": (3,)},
    ],
)
def test_a_retry_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Retry(**wrong)


def test_a_retry_takes_one_class_of_errors_or_several() -> None:
    assert Retry(2, on=ValueError).on == (ValueError,)  # type: ignore[arg-type]
    assert Retry(2, on=[ValueError, KeyError]).on == (ValueError, KeyError)  # type: ignore[arg-type]


def test_pauses_grow_up_to_the_longest() -> None:
    retry = Retry(9, backoff=1.0, factor=2.0, longest=5.0)
    assert [retry.pause(attempt) for attempt in range(1, 6)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert Retry(2, backoff=0).pause(1) == 0.0
    assert Retry(2, backoff=9, longest=5).pause(1) == 5.0


seconds = st.floats(min_value=0, max_value=1e9)


@given(st.integers(1, 10**6), seconds, st.floats(min_value=1, max_value=1e9), seconds)
def test_no_pause_is_longer_than_the_longest_nor_shorter_than_the_one_before(
    attempt: int, backoff: float, factor: float, longest: float
) -> None:
    retry = Retry(2, backoff, factor, longest)
    assert 0 <= retry.pause(attempt) <= retry.pause(attempt + 1) <= longest


@pytest.mark.parametrize(
    "error", [Exception, OSError, TimeoutError, ConnectionError, ConnectionResetError, (KeyError, OSError)]
)
def test_what_leaves_open_whether_it_happened_is_no_definite_error(error: Any) -> None:
    with pytest.raises(InvalidInput, match="leave open") as refused:
        declare(refund, definite_errors=error)
    assert refused.value.path == "definite_errors"
    with pytest.raises(InvalidInput):
        declare(refund).with_declared(definite_errors=error)


def test_an_error_that_says_that_no_connection_was_made_is_definite() -> None:
    errors = (ConnectionRefusedError, LookupError)
    assert declare(refund, definite_errors=errors).definite_errors == errors


def test_a_retry_that_nothing_could_lead_to_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no effect") as refused:
        declare(refund, retry=Retry(3))
    assert refused.value.path == "retry"
    asked: Any = {"recovery": "queryable", "probe": lambda key, args: None}
    for more in ({"definite_errors": KeyError}, {"recovery": "idempotent", "dedupes_for": None}, asked):
        assert declare(refund, retry=Retry(3), **more).retry == Retry(3)
