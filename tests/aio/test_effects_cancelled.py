"""Whatever moment an act is cancelled at: the record says what became of it, and nothing is done twice."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from ledger import AsyncLedger, AsyncRun, Happened, Ledger, NotHappened, Retry
from ledger.aio import workers
from ledger.application.acting import Doing
from ledger.application.heartbeats import Beat
from ledger.errors import EffectInFlight, LeaseLost, LedgerError, OutcomeUnknown, StoreUnavailable
from ledger.events import EffectFailed
from ledger.gateway.current import CurrentEffect
from ledger.stores.memory import MemoryStore
from tests.aio.conftest import Held, edge_on, until
from tests.aio.stopping import Stop, each_way, names, some_turns, stopped

pytestmark = pytest.mark.anyio

BEGUN = ["effect.intended", "effect.started"]
DONE = [*BEGUN, "effect.succeeded"]
GIVEN_BACK = [*BEGUN, "effect.failed"]


class Deed:
    """An act on an outside that remembers it, by a coroutine function or a plain one that a test holds."""

    def __init__(self, run: AsyncRun) -> None:
        self.run = run
        self.entered = threading.Event()
        self.free = threading.Event()
        self.done: list[int] = []
        self.error: Exception | None = None

    async def coroutine(self, order: int) -> int:
        self.entered.set()
        await until(self.free.is_set)
        return self._do(order)

    def plain(self, order: int) -> int:
        self.entered.set()
        assert self.free.wait(30)
        return self._do(order)

    def find(self, key: str, args: Any) -> Happened | NotHappened:
        return Happened(args["order"]) if self.done else NotHappened()

    def _do(self, order: int) -> int:
        if self.error is not None:
            raise self.error
        self.done.append(order)
        return order

    async def perform(self, kind: str, **options: Any) -> Any:
        options = {"recovery": "queryable", "probe": self.find, **options}
        return await self.run.perform("pay", {"order": 7}, getattr(self, kind), **options)


@pytest.fixture
async def deed(ledger: AsyncLedger) -> Deed:
    return Deed(await ledger.open_run("r", "goal"))


each_kind = pytest.mark.parametrize("kind", ["coroutine", "plain"])


# --- before the call ---------------------------------------------------------------------------------


@each_way
@each_kind
async def test_a_claim_that_waits_for_its_turn_is_taken_back(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str, kind: str
) -> None:
    async def moment(stop: Stop) -> None:
        await until(lambda: len(deed.run._turns._waiting) == 1)
        stop()
        await some_turns()
        held.let_go()

    with held.held():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deed.run.move, "elsewhere")
            await until(held.begun.is_set)
            assert await stopped(way, lambda: deed.perform(kind), moment) == []
    assert await names(ledger, deed.run) == ["cursor.moved"]
    deed.free.set()
    assert await deed.perform(kind) == 7


@each_way
@each_kind
async def test_a_claim_that_is_being_stored_is_given_back(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str, kind: str
) -> None:
    async def moment(stop: Stop) -> None:
        await until(held.begun.is_set)
        stop()
        await some_turns()
        held.let_go()

    with held.held():
        assert await stopped(way, lambda: deed.perform(kind), moment) == []
    assert await names(ledger, deed.run) == GIVEN_BACK
    assert not deed.entered.is_set()
    (failed,) = [r.event async for r in ledger.log("r") if isinstance(r.event, EffectFailed)]
    assert failed.error.type == "NotCalled"
    # Nobody waits for a lease to end, and the next attempt is another one.
    deed.free.set()
    assert await deed.perform(kind) == 7
    assert await names(ledger, deed.run) == [*GIVEN_BACK, *DONE]


@each_way
async def test_the_same_task_goes_on_with_an_attempt_of_its_own(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str
) -> None:
    attempts: list[int] = []

    async def pay(order: int, *, effect: CurrentEffect) -> int:
        attempts.append(effect.attempt)
        return order

    async def twice() -> Any:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await deed.run.perform("pay", {"order": 7}, pay)
        return await deed.run.perform("pay", {"order": 7}, pay)

    scopes: list[anyio.CancelScope] = []

    async def moment(stop: Stop) -> None:
        await until(held.begun.is_set)
        scopes[0].cancel()
        await some_turns()
        held.let_go()

    with held.held():
        assert await stopped(way, twice, moment) == [7]
    assert attempts == [2]
    assert await names(ledger, deed.run) == [*GIVEN_BACK, *DONE]


@each_way
async def test_a_claim_refused_meanwhile_leaves_nothing(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str
) -> None:
    deed.free.set()
    assert await deed.perform("coroutine") == 7
    before = await names(ledger, deed.run)

    async def moment(stop: Stop) -> None:
        await until(held.begun.is_set)
        stop()
        await some_turns()
        held.let_go()

    with held.held():
        call = lambda: deed.perform("coroutine", step="another")  # noqa: E731
        assert await stopped(way, call, moment) == []
    assert [name for name in await names(ledger, deed.run) if name != "effect.refused"] == before
    assert deed.done == [7]


@each_way
@pytest.mark.parametrize("step", [None, "another"])
async def test_a_block_whose_act_was_done_is_cancelled_all_the_same(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str, step: str | None
) -> None:
    async with deed.run.effect("mail", {"to": "kim"}) as effect:
        effect.succeed("sent")
    went_on: list[str] = []

    async def block() -> None:
        try:
            async with deed.run.effect("mail", {"to": "kim"}, step=step):
                raise AssertionError("it was done before")
        except LedgerError as error:
            went_on.append(type(error).__name__)

    async def moment(stop: Stop) -> None:
        await until(held.begun.is_set)
        stop()
        await some_turns()
        held.let_go()

    with held.held():
        assert await stopped(way, block, moment) == []
    assert went_on == []


@each_way
async def test_a_claim_whose_answer_is_lost_meanwhile_begins_nothing(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str
) -> None:
    def cut(append: Any) -> Exception:
        held.fail = lambda append: None
        held._store.append(append)
        return StoreUnavailable("the connection was lost at COMMIT")

    async def moment(stop: Stop) -> None:
        await until(held.begun.is_set)
        stop()
        await some_turns()
        held.let_go()

    held.fail = cut
    with held.held():
        assert await stopped(way, lambda: deed.perform("coroutine"), moment) == []
    assert not deed.entered.is_set()
    # Nobody heard that it was stored, so it is as after a crash.
    assert await names(ledger, deed.run) == BEGUN
    tick(ledger, 61)
    deed.free.set()
    assert await deed.perform("coroutine") == 7
    assert deed.done == [7]


@each_kind
async def test_an_act_that_is_cancelled_just_before_the_call_is_given_back(
    ledger: AsyncLedger, deed: Deed, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Doing.begin

    def cancelled(doing: Doing, attempt: Any) -> Any:
        scope.cancel()
        return begin(doing, attempt)

    deed.free.set()
    with monkeypatch.context() as patched, anyio.CancelScope() as scope:
        patched.setattr(Doing, "begin", cancelled)
        await deed.perform(kind)
    assert not deed.entered.is_set()
    assert ledger._shared.workshop.heartbeats._beats == set()
    assert await names(ledger, deed.run) == GIVEN_BACK
    assert await deed.perform(kind) == 7


@each_way
async def test_an_act_that_waits_for_a_thread_is_given_back(
    held: Held, anyio_backend: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "CALLS_AT_ONCE", 1)
    async with AsyncLedger(Ledger(edge_on(held))) as ledger:
        first = Deed(await ledger.open_run("first", "goal"))
        second = Deed(await ledger.open_run("second", "goal"))

        async def moment(stop: Stop) -> None:
            await until(lambda: second.run.position == 3)
            await some_turns()
            stop()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first.perform, "plain")
            await until(first.entered.is_set)
            assert await stopped(way, lambda: second.perform("plain"), moment) == []
            first.free.set()
        assert await names(ledger, second.run) == GIVEN_BACK
        assert await names(ledger, first.run) == DONE
        second.free.set()
        assert await second.perform("plain") == 7
        assert second.done == [7]


async def test_an_act_that_waited_too_long_for_a_thread_is_not_begun(
    held: Held, anyio_backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "CALLS_AT_ONCE", 1)
    async with AsyncLedger(Ledger(edge_on(held))) as ledger:
        first = Deed(await ledger.open_run("first", "goal"))
        second = Deed(await ledger.open_run("second", "goal"))
        refused: list[LeaseLost] = []

        async def waits() -> None:
            with pytest.raises(LeaseLost) as lost:
                await second.perform("plain")
            refused.append(lost.value)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first.perform, "plain")
            await until(first.entered.is_set)
            tasks.start_soon(waits)
            await until(lambda: second.run.position == 3)
            await some_turns()
            with monkeypatch.context() as patched:
                patched.setattr(Beat, "is_over", property(lambda beat: True))
                tick(ledger, 31)
                first.free.set()
                await until(lambda: bool(refused))
        assert not second.entered.is_set()
        assert await names(ledger, second.run) == GIVEN_BACK


# --- during the call ---------------------------------------------------------------------------------


@each_way
async def test_a_coroutine_function_that_is_cancelled_leaves_its_effect_executing(
    ledger: AsyncLedger, deed: Deed, way: str
) -> None:
    async def moment(stop: Stop) -> None:
        await until(deed.entered.is_set)
        stop()

    assert await stopped(way, lambda: deed.perform("coroutine"), moment) == []
    assert await names(ledger, deed.run) == BEGUN
    with pytest.raises(EffectInFlight):
        await deed.perform("coroutine")
    tick(ledger, 31)
    with pytest.raises(OutcomeUnknown):
        await deed.perform("coroutine")
    tick(ledger, 30)
    deed.free.set()
    assert await deed.perform("coroutine") == 7


@each_way
async def test_a_block_that_is_cancelled_leaves_its_effect_executing(
    ledger: AsyncLedger, deed: Deed, way: str
) -> None:
    async def block() -> None:
        async with deed.run.effect("mail", {"to": "kim"}) as effect:
            deed.entered.set()
            await until(deed.free.is_set)
            effect.succeed("sent")

    async def moment(stop: Stop) -> None:
        await until(deed.entered.is_set)
        stop()

    assert await stopped(way, block, moment) == []
    assert await names(ledger, deed.run) == BEGUN
    assert ledger._shared.workshop.heartbeats._beats == set()


@each_way
async def test_a_block_that_is_cancelled_once_it_said_what_it_came_to_is_recorded(
    ledger: AsyncLedger, deed: Deed, way: str
) -> None:
    async def block() -> None:
        async with deed.run.effect("mail", {"to": "kim"}) as effect:
            effect.succeed("sent")
            deed.entered.set()
            await until(deed.free.is_set)

    async def moment(stop: Stop) -> None:
        await until(deed.entered.is_set)
        stop()

    assert await stopped(way, block, moment) == []
    assert await names(ledger, deed.run) == DONE
    assert ledger._shared.workshop.heartbeats._beats == set()


@each_way
async def test_a_plain_function_is_heard_out_and_its_outcome_recorded(
    ledger: AsyncLedger, deed: Deed, way: str
) -> None:
    ended: list[bool] = []

    async def perform() -> None:
        try:
            await deed.perform("plain")
        finally:
            ended.append(True)

    async def moment(stop: Stop) -> None:
        await until(deed.entered.is_set)
        for _ in range(3):
            stop()
            await some_turns()
        assert not ended
        deed.free.set()

    assert await stopped(way, perform, moment) == []
    assert await names(ledger, deed.run) == DONE
    assert await deed.perform("plain") == 7
    assert deed.done == [7]


@each_way
@pytest.mark.parametrize(
    ("definite", "recorded"), [((ConnectionRefusedError,), "effect.failed"), ((KeyError,), "effect.unknown")]
)
async def test_a_plain_function_that_fails_then_is_neither_asked_about_nor_tried_again(
    ledger: AsyncLedger, deed: Deed, way: str, definite: tuple[type[Exception], ...], recorded: str
) -> None:
    deed.error = ConnectionRefusedError("nobody is there")

    async def moment(stop: Stop) -> None:
        await until(deed.entered.is_set)
        stop()
        await some_turns()
        deed.free.set()

    call = lambda: deed.perform("plain", definite_errors=definite, retry=Retry(3, backoff=0))  # noqa: E731
    assert await stopped(way, call, moment) == []
    assert await names(ledger, deed.run) == [*BEGUN, recorded]


@each_way
async def test_what_a_plain_function_read_is_recorded(ledger: AsyncLedger, deed: Deed, way: str) -> None:
    async def moment(stop: Stop) -> None:
        await until(deed.entered.is_set)
        stop()
        await some_turns()
        deed.free.set()

    call = lambda: deed.run.perform("stock", {"order": 7}, deed.plain, recovery="read_only")  # noqa: E731
    assert await stopped(way, call, moment) == []
    assert await names(ledger, deed.run) == ["observation.recorded"]
    assert await deed.run.perform("stock", {"order": 7}, deed.plain, recovery="read_only") == 7
    assert deed.done == [7]


@each_way
async def test_a_coroutine_that_a_plain_function_returned_after_the_cancelling_does_not_run(
    ledger: AsyncLedger, deed: Deed, way: str
) -> None:
    def wrapped(order: int) -> Awaitable[int]:
        deed.plain(order)
        return deed.coroutine(order)

    async def moment(stop: Stop) -> None:
        await until(deed.entered.is_set)
        stop()
        await some_turns()
        deed.free.set()

    assert await stopped(way, lambda: deed.run.perform("pay", {"order": 7}, wrapped), moment) == []
    assert deed.done == [7]
    assert await names(ledger, deed.run) == BEGUN


@each_way
@pytest.mark.parametrize("probe", ["coroutine", "plain"])
async def test_an_asked_outside_is_heard_where_it_cannot_be_stopped(
    ledger: AsyncLedger, deed: Deed, way: str, probe: str
) -> None:
    asked, free = threading.Event(), threading.Event()

    async def find(key: str, args: Any) -> Happened:
        asked.set()
        await until(free.is_set)
        return Happened(7)

    def look(key: str, args: Any) -> Happened:
        asked.set()
        assert free.wait(30)
        return Happened(7)

    deed.error = ConnectionError("the answer was lost")
    deed.free.set()

    async def moment(stop: Stop) -> None:
        await until(asked.is_set)
        stop()
        await some_turns()
        free.set()

    call = lambda: deed.perform("coroutine", probe=find if probe == "coroutine" else look)  # noqa: E731
    assert await stopped(way, call, moment) == []
    heard = ["effect.reconciled"] if probe == "plain" else []
    assert await names(ledger, deed.run) == [*BEGUN, "effect.unknown", *heard]


# --- after the call ----------------------------------------------------------------------------------


@each_way
@each_kind
async def test_an_outcome_that_is_being_stored_is_stored(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str, kind: str
) -> None:
    ended: list[bool] = []

    async def perform() -> None:
        try:
            await deed.perform(kind)
        finally:
            ended.append(True)

    async def moment(stop: Stop) -> None:
        await until(deed.entered.is_set)
        with held.held():
            deed.free.set()
            await until(held.begun.is_set)
            for _ in range(3):
                stop()
                await some_turns()
            assert not ended

    assert await stopped(way, perform, moment) == []
    assert await names(ledger, deed.run) == DONE
    assert await deed.perform(kind) == 7
    assert deed.done == [7]


@each_way
async def test_an_outcome_that_waits_for_its_turn_is_said_all_the_same(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str
) -> None:
    async def moment(stop: Stop) -> None:
        await until(deed.entered.is_set)
        async with anyio.create_task_group() as tasks:
            with held.held():
                tasks.start_soon(deed.run.move, "elsewhere")
                await until(held.begun.is_set)
                deed.free.set()
                await until(lambda: len(deed.run._turns._waiting) == 1)
                stop()
                await some_turns()

    assert await stopped(way, lambda: deed.perform("coroutine"), moment) == []
    assert await names(ledger, deed.run) == [*BEGUN, "cursor.moved", "effect.succeeded"]


@each_way
async def test_an_outcome_that_is_said_again_is_said_until_it_is_stored(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str
) -> None:
    stops: list[Stop] = []
    refused: list[int] = []

    def cut(append: Any) -> Exception | None:
        if not deed.done or len(refused) == 3:
            return None
        refused.append(1)
        ledger._hands.loop.soon(stops[0])
        return StoreUnavailable("the connection was lost")

    async def moment(stop: Stop) -> None:
        stops.append(stop)
        await until(deed.entered.is_set)
        deed.free.set()

    held.fail = cut
    assert await stopped(way, lambda: deed.perform("coroutine"), moment) == []
    assert len(refused) == 3
    assert await names(ledger, deed.run) == DONE


@each_way
async def test_a_pause_between_attempts_is_cut_short(ledger: AsyncLedger, deed: Deed, way: str) -> None:
    deed.error = ConnectionRefusedError("refused")
    deed.free.set()

    async def moment(stop: Stop) -> None:
        await until(lambda: deed.run.position == 4)
        await some_turns()
        stop()

    options: Any = {
        "definite_errors": (ConnectionRefusedError,),
        "retry": Retry(2, backoff=3600, longest=3600),
    }
    assert await stopped(way, lambda: deed.perform("coroutine", **options), moment) == []
    assert await names(ledger, deed.run) == GIVEN_BACK


# --- at any moment -----------------------------------------------------------------------------------


class Brief:
    """An act that takes a few turns of the loop, on an outside that remembers it."""

    def __init__(self) -> None:
        self.entered: list[int] = []
        self.done: list[int] = []

    async def coroutine(self, order: int) -> int:
        self.entered.append(order)
        await some_turns(5)
        self.done.append(order)
        return order

    def plain(self, order: int) -> int:
        self.entered.append(order)
        self.done.append(order)
        return order

    def find(self, key: str, args: Any) -> Happened | NotHappened:
        return Happened(args["order"]) if self.done else NotHappened()


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@each_kind
@pytest.mark.parametrize("times", [1, 2])
async def test_an_act_cancelled_after_any_number_of_turns_is_done_once(
    ledger: AsyncLedger, kind: str, times: int
) -> None:
    run = await ledger.open_run("r", "goal")
    for turns in range(40):
        brief = Brief()

        async def perform(turns: int = turns, brief: Brief = brief) -> Any:
            options: Any = {"recovery": "queryable", "probe": brief.find}
            return await run.perform("pay", {"order": turns}, getattr(brief, kind), **options)

        before = (await run.contract).position
        task = asyncio.ensure_future(perform())
        for _ in range(turns):
            await asyncio.sleep(0)
        for _ in range(times):
            task.cancel()
        was_cancelled = False
        try:
            await task
        except asyncio.CancelledError:
            was_cancelled = True
        recorded = [record.name async for record in ledger.log("r", after=before)]
        if not was_cancelled:
            assert recorded == DONE
        elif not brief.entered:
            assert recorded in ([], GIVEN_BACK)
        elif not brief.done:
            assert recorded == BEGUN
        else:
            # Cancelled in the very step in which it returned, the coroutine had done it, and was not heard.
            assert recorded in (DONE, BEGUN)
            assert kind == "coroutine" or recorded == DONE
        tick(ledger, 61)
        assert await perform() == turns
        assert len(brief.done) == 1


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@each_kind
async def test_a_time_out_of_asyncio_is_told_when_the_outcome_is_known(
    ledger: AsyncLedger, deed: Deed, kind: str
) -> None:
    told: list[list[str]] = []

    async def impatient() -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None) as timeout:
                task = asyncio.ensure_future(until(deed.entered.is_set))
                task.add_done_callback(lambda _: timeout.reschedule(loop.time()))
                await deed.perform(kind)
        except TimeoutError:
            told.append(await names(ledger, deed.run))
        assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]

    task = asyncio.create_task(impatient())
    if kind == "plain":
        await until(deed.entered.is_set)
        await some_turns()
        assert told == []
        deed.free.set()
    await task
    assert told == [DONE if kind == "plain" else BEGUN]


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_a_task_group_of_asyncio_is_left_when_all_outcomes_are_known(
    ledger: AsyncLedger, deed: Deed
) -> None:
    async def fail() -> None:
        await until(deed.entered.is_set)
        asyncio.get_running_loop().call_soon(deed.free.set)
        raise LookupError("a sibling")

    with pytest.raises(ExceptionGroup):  # noqa: PT012
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(deed.perform("plain"))
            tasks.create_task(fail())
    assert await names(ledger, deed.run) == DONE


# --- interrupts --------------------------------------------------------------------------------------


@pytest.fixture
def interruptible() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt() -> None:
    signal.raise_signal(signal.SIGINT)


Main = Callable[[AsyncLedger, AsyncRun, Held], Awaitable[Any]]


def _interrupted(backend: str, main: Main) -> tuple[Ledger, list[str]]:
    """Run a program that is interrupted; return its ledger and what it recorded of the run."""
    held = Held(MemoryStore())

    async def program() -> None:
        ledger = AsyncLedger(Ledger(edge_on(held)))
        await main(ledger, await ledger.open_run("r", "goal"), held)

    with pytest.raises(KeyboardInterrupt):
        anyio.run(program, backend=backend)
    ledger = Ledger(edge_on(held))
    return ledger, [record.name for record in ledger.log("r", after=1)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_interrupted_coroutine_function_leaves_its_effect_executing(
    backend: str, interruptible: None
) -> None:
    async def pay(order: int) -> int:
        interrupt()
        await some_turns()
        return order

    async def main(ledger: AsyncLedger, run: AsyncRun, held: Held) -> None:
        await run.perform("pay", {"order": 7}, pay)

    assert _interrupted(backend, main)[1] == BEGUN


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_plain_function_that_is_under_way_at_an_interrupt_is_heard_out(
    backend: str, interruptible: None
) -> None:
    def pay(order: int) -> int:
        interrupt()
        return order

    async def main(ledger: AsyncLedger, run: AsyncRun, held: Held) -> None:
        await run.perform("pay", {"order": 7}, pay)
        await anyio.sleep_forever()

    assert _interrupted(backend, main)[1] == DONE


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_claim_that_is_being_stored_at_an_interrupt_is_given_back(
    backend: str, interruptible: None
) -> None:
    called: list[int] = []

    async def pay(order: int) -> None:
        called.append(order)

    async def main(ledger: AsyncLedger, run: AsyncRun, held: Held) -> None:
        def while_committing(append: Any) -> None:
            held.fail = lambda append: None
            interrupt()

        held.fail = while_committing
        await run.perform("pay", {"order": 7}, pay)
        await anyio.sleep_forever()

    recorded = _interrupted(backend, main)[1]
    assert recorded == (GIVEN_BACK if not called else DONE)


def tick(ledger: AsyncLedger, seconds: float) -> None:
    ledger._edge.clock.tick(seconds)  # type: ignore[attr-defined]
