"""Acts are performed under an event loop as in a thread, by coroutine functions and plain ones."""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.from_thread
import pytest

from ledger import AsyncLedger, Happened, Ledger, NotHappened, Outcome, Retry, Tool, open_async_ledger
from ledger.application.heartbeats import Beat
from ledger.errors import (
    AlreadyDone,
    EffectFailed,
    EffectInFlight,
    EffectNotFound,
    InvalidInput,
    LeaseLost,
    OutcomeUnknown,
    PossibleRepeat,
    ResultNotKept,
    StoreUnavailable,
)
from ledger.events import EffectSucceeded
from ledger.gateway.current import CurrentEffect, current_effect
from ledger.gateway.tools import declare
from tests.aio.conftest import Held, edge_on
from tests.aio.stopping import names

pytestmark = pytest.mark.anyio


class Outside:
    """What was done, by whom; its tools are what a test takes for the outside."""

    def __init__(self) -> None:
        self.done: list[tuple[int, int, str]] = []
        self.lost = False
        self.error: Exception = ConnectionError("the answer was lost")

    async def awaited(self, order: int, *, effect: CurrentEffect) -> dict[str, int]:
        await anyio.lowlevel.checkpoint()
        assert current_effect() is effect
        return self._do(order)

    def plain(self, order: int) -> dict[str, int]:
        return self._do(order)

    def wrapped(self, order: int) -> Any:
        return self.awaited(order, effect=current_effect())

    async def find(self, key: str, args: Any) -> Happened | NotHappened:
        return self.look(key, args)

    def look(self, key: str, args: Any) -> Happened | NotHappened:
        found = [one for one in self.done if one[0] == args["order"]]
        return Happened({"order": found[0][0]}) if found else NotHappened()

    def _do(self, order: int) -> dict[str, int]:
        self.done.append((order, current_effect().attempt, threading.current_thread().name))
        if self.lost:
            raise self.error
        return {"order": order}


@pytest.fixture
def outside() -> Outside:
    return Outside()


KINDS_OF_TOOLS = ["awaited", "plain", "wrapped"]
each_kind = pytest.mark.parametrize("kind", KINDS_OF_TOOLS)


def tick(ledger: AsyncLedger, seconds: float) -> None:
    ledger._edge.clock.tick(seconds)  # type: ignore[attr-defined]


@each_kind
async def test_an_act_is_done_once_and_its_result_is_told_again(
    ledger: AsyncLedger, outside: Outside, kind: str
) -> None:
    run = await ledger.open_run("r", "goal")
    here = threading.current_thread().name
    for _ in range(3):
        assert await run.perform("pay", {"order": 7}, getattr(outside, kind)) == {"order": 7}
    (done,) = outside.done
    assert done[:2] == (7, 1)
    assert (done[2] == here) == (kind != "plain")
    assert await names(ledger, run) == ["effect.intended", "effect.started", "effect.succeeded"]
    assert (await run.contract).effects == ()


@each_kind
async def test_the_same_act_in_another_step_is_a_repeat_that_is_asked_for(
    ledger: AsyncLedger, outside: Outside, kind: str
) -> None:
    run = await ledger.open_run("r", "goal")
    pay = getattr(outside, kind)
    await run.perform("pay", {"order": 7}, pay, step="first")
    with pytest.raises(PossibleRepeat):
        await run.perform("pay", {"order": 7}, pay, step="second")
    await run.perform("pay", {"order": 7}, pay, step="second", repeat=True, reason="kim said so")
    await run.perform("pay", {"order": 7}, pay, occurrence="third")
    assert [one[1] for one in outside.done] == [1, 1, 1]


@each_kind
@pytest.mark.parametrize("probe", ["find", "look"])
async def test_a_lost_answer_is_asked_for_and_nothing_is_done_twice(
    ledger: AsyncLedger, outside: Outside, kind: str, probe: str
) -> None:
    run = await ledger.open_run("r", "goal")
    outside.lost = True
    probing = getattr(outside, probe)
    pay = declare(getattr(outside, kind), name="pay", recovery="queryable", probe=probing)
    assert await run.perform(pay, {"order": 7}) == {"order": 7}
    assert len(outside.done) == 1
    assert await names(ledger, run) == [
        "effect.intended",
        "effect.started",
        "effect.unknown",
        "effect.reconciled",
    ]


@each_kind
async def test_what_nobody_knows_is_never_done_again_by_itself(
    ledger: AsyncLedger, outside: Outside, kind: str
) -> None:
    run = await ledger.open_run("r", "goal")
    outside.lost = True
    for _ in range(3):
        with pytest.raises(OutcomeUnknown):
            await run.perform("pay", {"order": 7}, getattr(outside, kind))
    assert len(outside.done) == 1


@each_kind
async def test_a_definite_failure_is_tried_again_as_it_was_declared(
    ledger: AsyncLedger, outside: Outside, kind: str
) -> None:
    run = await ledger.open_run("r", "goal")
    outside.lost = True
    outside.error = ConnectionRefusedError("nobody is there")
    options: Any = {"definite_errors": (ConnectionRefusedError,), "retry": Retry(3, backoff=0)}
    with pytest.raises(EffectFailed) as failed:
        await run.perform("pay", {"order": 7}, getattr(outside, kind), **options)
    assert isinstance(failed.value.__cause__, ConnectionError)
    assert [one[1] for one in outside.done] == [1, 2, 3]
    assert [obligation.id[:7] for obligation in (await run.contract).obligations] == ["failed:"]


@pytest.mark.parametrize("kind", ["coroutine", "plain"])
async def test_a_read_is_recorded_once_while_it_is_fresh(ledger: AsyncLedger, kind: str) -> None:
    run = await ledger.open_run("r", "goal")
    asked: list[str] = []

    async def look(of: str) -> list[str]:
        asked.append(of)
        return list(asked)

    def see(of: str) -> list[str]:
        asked.append(of)
        return list(asked)

    function: Callable[..., Any] = look if kind == "coroutine" else see
    for seconds, told in ((0, ["tea"]), (9, ["tea"]), (2, ["tea", "tea"])):
        tick(ledger, seconds)
        read = await run.perform("stock", {"of": "tea"}, function, recovery="read_only", fresh_for=10)
        assert read == told
    assert await names(ledger, run) == ["observation.recorded"] * 2


async def test_an_error_of_a_read_is_raised_as_it_is(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")

    async def look(of: str) -> None:
        raise LookupError(of)

    with pytest.raises(LookupError, match="tea"):
        await run.perform("stock", {"of": "tea"}, look, recovery="read_only")
    assert await names(ledger, run) == []


async def test_a_block_is_an_act(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")
    async with run.effect("mail", {"to": "kim"}) as effect:
        assert current_effect().key == effect.key
        assert effect.attempt == 1
        effect.progress("written")
        effect.succeed({"id": "m-1"}, external_ref="m-1", cost={"EUR": "0.01"})
    with pytest.raises(LookupError):
        current_effect()
    with pytest.raises(AlreadyDone) as done:
        async with run.effect("mail", {"to": "kim"}):
            raise AssertionError("it was done before")
    assert done.value.data["result"] == {"id": "m-1"}
    succeeded = [r.event async for r in ledger.log("r") if isinstance(r.event, EffectSucceeded)]
    assert [one.external_ref for one in succeeded] == ["m-1"]


async def test_a_block_that_raises_leaves_open_what_happened(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")
    with pytest.raises(OutcomeUnknown) as unknown:
        async with run.effect("mail", {"to": "kim"}):
            raise ConnectionError("the answer was lost")
    assert isinstance(unknown.value.__cause__, ConnectionError)
    with pytest.raises(EffectFailed):
        async with run.effect("mail", {"to": "lee"}, definite_errors=(ConnectionRefusedError,)):
            raise ConnectionRefusedError("no connection was made")
    assert [one.status for one in await ledger.effects()] == ["unknown"]


@pytest.mark.parametrize("error", [ValueError, RuntimeError])
async def test_what_a_block_said_stands_though_it_raises_then(
    ledger: AsyncLedger, error: type[Exception]
) -> None:
    run = await ledger.open_run("r", goal="Mail")

    async def broken() -> None:
        async with run.effect("mail", {"to": "kim"}, definite_errors=ValueError) as effect:
            effect.succeed({"id": 1})
            raise error

    with pytest.raises(error):
        await broken()
    assert await names(ledger, run) == ["effect.intended", "effect.started", "effect.succeeded"]
    with pytest.raises(AlreadyDone) as done:
        async with run.effect("mail", {"to": "kim"}, definite_errors=ValueError):
            pytest.fail("it was entered")
    assert done.value.data["result"] == {"id": 1}


async def test_what_is_unsettled_is_listed_reconciled_and_settled(
    ledger: AsyncLedger, outside: Outside
) -> None:
    run = await ledger.open_run("r", "goal")
    outside.lost = True
    tool = ledger.tool(name="pay")(outside.plain)
    with pytest.raises(OutcomeUnknown):
        await run.perform(tool, {"order": 7})
    (one,) = await ledger.effects("r", unknown=True)
    assert [(each.found, each.because is None) async for each in ledger.reconcile()] == [("not_asked", False)]
    ledger.register(tool.with_declared(recovery="queryable", probe=outside.find))
    found = [each async for each in ledger.reconcile("r")]
    assert [each.found for each in found] == ["happened"]
    assert found[0].effect == await ledger.effect(one.effect.key)
    assert await ledger.effects() == []
    with pytest.raises(EffectNotFound):
        await ledger.effect("0" * 64)

    with pytest.raises(OutcomeUnknown):
        await run.perform("mail", {"order": 8}, outside.awaited)
    (one,) = await ledger.effects()
    assert await run.ask(found[0].effect) == "happened"
    settled = await ledger.settle(
        one.effect.key, happened=True, evidence="the customer has it", by="human:kim", result=[8]
    )
    assert settled.status == "succeeded"
    assert await run.perform("mail", {"order": 8}, outside.awaited) == [8]


async def test_a_function_runs_in_the_context_of_its_caller(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")
    tenant = contextvars.ContextVar("tenant", default="none")
    tenant.set("acme")
    assert await run.perform("plain", {}, lambda: [tenant.get()]) == ["acme"]

    async def of_a_task() -> str:
        return tenant.get()

    assert await run.perform("awaited", {}, of_a_task) == "acme"


async def test_a_plain_function_may_use_the_loop_from_its_thread(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")

    async def inside() -> str:
        await anyio.lowlevel.checkpoint()
        return threading.current_thread().name

    def through() -> str:
        return anyio.from_thread.run(inside)

    def alone() -> str:
        return anyio.run(inside)

    assert await run.perform("through", {}, through) == threading.current_thread().name
    assert await run.perform("alone", {}, alone) != threading.current_thread().name


async def test_the_loop_goes_on_while_a_plain_function_does_not(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")
    free = threading.Event()

    def waits() -> bool:
        return free.wait(30)

    async with anyio.create_task_group() as tasks:

        async def let_go() -> None:
            await run.move("elsewhere")  # the ledger goes on, too
            free.set()

        tasks.start_soon(let_go)
        assert await run.perform("waits", {}, waits) is True


async def test_callables_of_all_kinds_are_awaited(ledger: AsyncLedger) -> None:
    class Caller:
        async def __call__(self, of: str) -> str:
            await anyio.lowlevel.checkpoint()
            return of

    async def both(of: str, more: str) -> str:
        await anyio.lowlevel.checkpoint()
        return of + more

    run = await ledger.open_run("r", "goal")
    assert await run.perform("object", {"of": "tea"}, Caller()) == "tea"
    assert await run.perform("partial", {"of": "tea"}, functools.partial(both, more="!")) == "tea!"
    assert await run.perform("partial of object", {"of": "tea"}, functools.partial(Caller())) == "tea"
    assert await run.perform(Tool("a tool", Caller()), {"of": "tea"}) == "tea"


async def test_outcomes_say_more_and_what_is_no_json_is_not_lost(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")

    async def pay() -> Outcome:
        return Outcome({"paid": True}, external_ref="ch-1")

    async def odd() -> object:
        return object()

    assert await run.perform("pay", {}, pay) == {"paid": True}
    assert isinstance(await run.perform("odd", {}, odd), object)
    with pytest.raises(ResultNotKept):
        await run.perform("odd", {}, odd)


async def test_arguments_are_refused_before_anything_is_said(ledger: AsyncLedger, outside: Outside) -> None:
    run = await ledger.open_run("r", "goal")
    for args, path in (
        ({"order": "seven"}, "args.order"),
        ({}, "args.order"),
        ({"orders": 7}, "args.orders"),
    ):
        with pytest.raises(InvalidInput) as refused:
            await run.perform("pay", args, outside.awaited)
        assert refused.value.path == path
    assert await names(ledger, run) == []
    assert outside.done == []


async def test_what_another_worker_holds_is_in_flight_and_found_out_later(
    ledger: AsyncLedger, held: Held, outside: Outside
) -> None:
    run = await ledger.open_run("r", "goal")
    other = Ledger(edge_on(held)).run("r")

    class Killed(BaseException):
        pass

    def dies(order: int) -> None:
        raise Killed

    with pytest.raises(Killed):
        other.perform("pay", {"order": 7}, dies, recovery="queryable", probe=outside.look)
    pay: Any = functools.partial(
        run.perform, "pay", {"order": 7}, outside.awaited, recovery="queryable", probe=outside.find
    )
    with pytest.raises(EffectInFlight):
        await pay()
    tick(ledger, 31)
    with pytest.raises(OutcomeUnknown) as unknown:
        await pay()
    assert unknown.value.data["retry_after"] > 0
    tick(ledger, 30)
    assert await pay() == {"order": 7}
    assert [one[1] for one in outside.done] == [2]


@each_kind
async def test_an_effect_whose_lease_ended_before_the_call_is_not_begun(
    ledger: AsyncLedger, outside: Outside, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await ledger.open_run("r", "goal")
    with monkeypatch.context() as patched:
        patched.setattr(Beat, "is_over", property(lambda beat: True))
        with pytest.raises(LeaseLost):
            await run.perform("pay", {"order": 7}, getattr(outside, kind))
        with pytest.raises(LeaseLost):
            async with run.effect("mail", {"to": "kim"}):
                outside.done.append((0, 0, "the block"))
    assert outside.done == []
    assert (await run.perform("pay", {"order": 7}, getattr(outside, kind))) == {"order": 7}


async def test_a_probe_is_asked_although_the_lease_ended_during_the_call(
    ledger: AsyncLedger, outside: Outside, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await ledger.open_run("r", "goal")
    outside.lost = True

    def slow(order: int) -> Any:
        monkeypatch.setattr(Beat, "is_over", property(lambda beat: True))
        tick(ledger, 31)
        return outside.plain(order)

    options: Any = {"recovery": "queryable", "probe": outside.look}
    assert await run.perform("pay", {"order": 7}, slow, **options) == {"order": 7}
    assert len(outside.done) == 1


async def test_an_outcome_is_said_until_it_is_stored(
    ledger: AsyncLedger, held: Held, outside: Outside
) -> None:
    run = await ledger.open_run("r", "goal")
    failures = ["stored", "lost"]

    def cut(append: Any) -> Exception | None:
        if not outside.done or not failures:
            return None
        if failures.pop() == "stored":
            held._store.append(append)
        return StoreUnavailable("the connection was lost at COMMIT")

    held.fail = cut
    assert await run.perform("pay", {"order": 7}, outside.awaited) == {"order": 7}
    assert failures == []
    assert await names(ledger, run) == ["effect.intended", "effect.started", "effect.succeeded"]


async def test_the_tools_and_secrets_of_opening_are_those_of_both_faces(outside: Outside) -> None:
    tool = declare(outside.awaited, name="pay")
    async with open_async_ledger(":memory:", tools=[tool]) as ledger:
        assert ledger.tools == (tool,)
        assert ledger._shared is ledger._ledger._shared
        run = await ledger.open_run("r", "goal")
        assert await run.perform("pay", {"order": 7}) == {"order": 7}


async def test_what_a_call_declares_is_of_this_call_alone(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "goal")
    async with run.effect("post", {"n": 1}, recovery="idempotent", dedupes_for=None):
        pass
    with pytest.raises(OutcomeUnknown) as unknown:
        async with run.effect("post", {"n": 2}):
            raise ConnectionError("the answer was lost")
    assert unknown.value.retry_after is None


async def test_no_call_replaces_what_is_registered(ledger: AsyncLedger, outside: Outside) -> None:
    run = await ledger.open_run("r", "goal")
    ledger.tool(name="pay")(outside.awaited)
    with pytest.raises(InvalidInput, match="is registered with another function"):
        await run.perform("pay", {"order": 7}, outside.plain)
    assert await run.perform("pay", {"order": 7}, outside.awaited) == {"order": 7}


@each_kind
async def test_a_tool_changes_its_own_arguments_only(ledger: AsyncLedger, kind: str) -> None:
    run = await ledger.open_run("r", "goal")
    lines: list[int] = [1]

    def plain(lines: list[int], note: str | None = None) -> Any:
        lines.append(2)
        raise ConnectionError

    async def awaited(lines: list[int], note: str | None = None) -> Any:
        plain(lines)

    tools = {"awaited": awaited, "plain": plain, "wrapped": lambda lines, note=None: awaited(lines)}
    with pytest.raises(OutcomeUnknown):
        await run.perform("add", {"lines": lines}, tools[kind])
    with pytest.raises(OutcomeUnknown):
        await run.perform("add", {"lines": lines, "note": None}, tools[kind])
    assert lines == [1]
    assert len(await ledger.effects()) == 1
