"""A ledger of threads runs nothing that has to be awaited, and names the one that awaits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ledger import Happened, Ledger, NotHappened, open_ledger
from ledger.errors import InvalidInput, OutcomeUnknown
from ledger.gateway.tools import Tool, declare

ran: list[str] = []


async def pay(order: int) -> None:
    ran.append("function")


async def find(key: str, args: Any) -> Happened:
    ran.append("probe")
    return Happened()


class Awaited:
    async def __call__(self, order: int) -> None:
        ran.append("object")


class Method:
    async def pay(self, order: int) -> None:
        ran.append("method")

    @staticmethod
    async def static(order: int) -> None:
        ran.append("static")


def plain(order: int) -> int:
    ran.append("plain")
    return order


def look(key: str, args: Any) -> NotHappened:
    return NotHappened()


def returns_payment(order: int) -> Any:
    return pay(order)


def returns_finding(key: str, args: Any) -> Any:
    return find(key, args)


@pytest.fixture(autouse=True)
def _nothing_ran_before() -> None:
    ran.clear()


COROUTINE_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "function": pay,
    "object": Awaited(),
    "method": Method().pay,
    "static method": Method.static,
    "partial": functools.partial(pay),
    "partial of a partial": functools.partial(functools.partial(pay)),
}


@pytest.mark.parametrize("function", COROUTINE_FUNCTIONS.values(), ids=list(COROUTINE_FUNCTIONS))
def test_a_coroutine_function_is_refused_before_anything_is_said(
    ledger: Ledger, function: Callable[..., Any]
) -> None:
    run = ledger.open_run("r", "goal")
    with pytest.raises(InvalidInput, match="AsyncLedger") as refused:
        run.perform("pay", {"order": 7}, function)
    assert refused.value.path == "function"
    with pytest.raises(InvalidInput, match="AsyncLedger"):
        run.perform("pay", {"order": 7}, function, recovery="read_only")
    assert run.contract.position == 1
    assert ran == []


def test_a_probe_that_is_a_coroutine_function_is_refused_before_anything_is_said(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    with pytest.raises(InvalidInput, match="AsyncLedger") as refused:
        run.perform("pay", {"order": 7}, plain, recovery="queryable", probe=find)
    assert refused.value.path == "probe"
    with (
        pytest.raises(InvalidInput, match="AsyncLedger"),
        run.effect("mail", {}, recovery="queryable", probe=find),
    ):
        ran.append("block")
    assert run.contract.position == 1
    assert ran == []


def test_a_probe_to_be_awaited_settles_nothing(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")

    def fail(order: int) -> None:
        raise ConnectionError("the answer was lost")

    with pytest.raises(OutcomeUnknown):
        run.perform("pay", {"order": 7}, fail, recovery="queryable", probe=look)
    ledger._shared.workshop.register(declare(plain, name="pay", recovery="queryable", probe=find))
    (one,) = ledger.effects()
    for ask in (lambda: run.ask(one.effect), lambda: list(ledger.reconcile())):
        with pytest.raises(InvalidInput, match="AsyncLedger"):
            ask()
    # One that cannot be told by looking at it could not tell.
    ledger.tool(name="pay", recovery="queryable", probe=returns_finding)(plain)
    assert [each.found for each in ledger.reconcile()] == ["unknown"]
    assert ran == []


@pytest.mark.parametrize("function", COROUTINE_FUNCTIONS.values(), ids=list(COROUTINE_FUNCTIONS))
def test_no_coroutine_function_is_registered(ledger: Ledger, function: Callable[..., Any]) -> None:
    registers: list[Callable[[], Any]] = [
        lambda: ledger.tool(name="pay")(function),
        lambda: ledger.register(declare(function, name="pay")),
    ]
    for register in registers:
        with pytest.raises(InvalidInput, match="AsyncLedger") as refused:
            register()
        assert refused.value.path == "function"
    with pytest.raises(InvalidInput, match="AsyncLedger") as refused:
        ledger.tool(name="pay", recovery="queryable", probe=find)(plain)
    assert refused.value.path == "probe"
    assert ledger.tools == ()


RETURN_COROUTINES: dict[str, Callable[..., Any]] = {
    "plain function": returns_payment,
    "partial of an object": functools.partial(Awaited()),
}


@pytest.mark.parametrize("function", RETURN_COROUTINES.values(), ids=list(RETURN_COROUTINES))
def test_nothing_runs_of_a_coroutine_that_a_plain_function_returns(
    ledger: Ledger, function: Callable[..., Any]
) -> None:
    run = ledger.open_run("r", "goal")
    with pytest.raises(OutcomeUnknown, match="AsyncLedger"):
        run.perform("pay", {"order": 7}, function)
    assert ran == []
    with pytest.raises(InvalidInput, match="AsyncLedger"):
        run.perform("look", {"order": 7}, function, recovery="read_only")
    assert ran == []


def test_a_function_that_acted_before_it_returned_a_coroutine_is_not_run_again(ledger: Ledger) -> None:
    """That nothing of the coroutine ran says nothing of what the function did itself."""

    def pays_and_returns(order: int) -> Any:
        ran.append("paid")
        return pay(order)

    run = ledger.open_run("r", "goal")
    for _ in range(2):
        with pytest.raises(OutcomeUnknown):
            run.perform("pay", {"order": 7}, pays_and_returns)
    assert ran == ["paid"]
    assert [one.status for one in ledger.effects()] == ["unknown"]


def test_what_a_function_returned_may_be_under_way_unless_nothing_of_it_ran(ledger: Ledger) -> None:
    class Sent:
        def __await__(self) -> Any:
            raise AssertionError("nobody awaits here")

    with pytest.raises(OutcomeUnknown) as unknown:
        ledger.open_run("r", "goal").perform("pay", {}, Sent)
    assert isinstance(unknown.value.__cause__, InvalidInput)


@pytest.mark.parametrize(
    "tool",
    [declare(pay), declare(plain, name="pay", probe=find, recovery="queryable")],
    ids=["tool", "probe"],
)
def test_a_ledger_is_not_opened_with_what_is_awaited(tool: Tool, tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    with pytest.raises(InvalidInput, match="open_async_ledger"):
        open_ledger(place, tools=iter([declare(plain), tool]))
    assert not place.exists()
    with open_ledger(place, tools=iter([declare(plain)])) as ledger:
        assert [one.name for one in ledger.tools] == ["plain"]
    assert ran == []


async def later() -> Any:
    ran.append("clock")


@pytest.mark.parametrize("given", [later, functools.partial(later)])
@pytest.mark.parametrize("name", ["clock", "ids"])
def test_clocks_and_ids_are_not_awaited(name: str, given: Callable[..., Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        open_ledger(":memory:", **{name: given})  # type: ignore[arg-type]
    assert refused.value.path == name
    assert ran == []
