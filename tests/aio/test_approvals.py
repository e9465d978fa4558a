"""Acts that a person has to approve, under an event loop: told, answered, cancelled, performed."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from ledger import Actor, AsyncLedger, AsyncRun, Happened, Rule, Step
from ledger.errors import (
    AlreadyDone,
    ApprovalDenied,
    ApprovalNotFound,
    ApprovalRequired,
    ConstraintViolated,
    NotOpen,
    OutcomeUnknown,
)
from ledger.events import EffectRefused
from ledger.gateway.tools import declare
from ledger.run.keys import observation_key
from tests.aio.conftest import Held, until
from tests.aio.stopping import Stop, each_way, names, some_turns, stopped

pytestmark = pytest.mark.anyio

KIM, LEE = "human:kim", "human:lee"
PROGRAM, DESK = Actor("agent:refunds"), Actor("service:desk")
WAITS = ["effect.intended", "approval.requested"]
ACTS = ["effect.intended", "effect.started", "effect.succeeded"]
TASKS = 16
ARGS = {"order": 7}


class Deed:
    """An act that a person has to approve, by a coroutine function or a plain one."""

    def __init__(self, ledger: AsyncLedger, run: AsyncRun) -> None:
        self.ledger, self.run = ledger, run
        self.done: list[int] = []

    async def coroutine(self, order: int) -> int:
        await anyio.lowlevel.checkpoint()
        return self.plain(order)

    def plain(self, order: int) -> int:
        self.done.append(order)
        return order

    async def perform(self, kind: str = "coroutine", **options: Any) -> Any:
        options = {"needs_approval": True, **options}
        return await self.run.perform("pay", ARGS, getattr(self, kind), **options)

    async def asks(self, kind: str = "coroutine", **options: Any) -> ApprovalRequired:
        with pytest.raises(ApprovalRequired) as asked:
            await self.perform(kind, **options)
        return asked.value

    async def names(self) -> list[str]:
        return await names(self.ledger, self.run)


@pytest.fixture
async def deed(ledger: AsyncLedger) -> Deed:
    return Deed(ledger, await ledger.open_run("r", "Refund order 17", actor=PROGRAM))


def in_memory(test: Any) -> Any:
    """Mark what no store decides."""
    return pytest.mark.parametrize("store", ["memory"], indirect=True)(test)


each_kind = pytest.mark.parametrize("kind", ["coroutine", "plain"])


@each_kind
async def test_an_act_waits_for_a_person_and_is_done_once_it_was_approved(
    ledger: AsyncLedger, deed: Deed, kind: str
) -> None:
    id = (await deed.asks(kind)).id
    assert (await deed.asks(kind)).id == id
    assert deed.done == []
    await ledger.approve(id, by=KIM)
    assert [await deed.perform(kind), await deed.perform(kind)] == [7, 7]
    assert deed.done == [7]
    assert await deed.names() == [*WAITS, "approval.answered", *ACTS]
    with pytest.raises(ApprovalNotFound):
        await ledger.approve(id, by=LEE)


@in_memory
async def test_a_denial_leaves_the_act_refused_and_other_answers_are_told_that_they_do_not_count(
    ledger: AsyncLedger, deed: Deed
) -> None:
    id = (await deed.asks()).id
    await ledger.deny(id, by=KIM, reason="too much")
    with pytest.raises(ApprovalDenied):
        await deed.perform()
    with pytest.raises(NotOpen):
        await ledger.approve(id, by=LEE)
    assert (await ledger.deny(id, by=LEE)).position
    with pytest.raises(ApprovalNotFound):
        await ledger.approve("f" * 64 + "-00000000", by=KIM)
    with pytest.raises(ApprovalNotFound):
        await ledger.approve("nothing", by=KIM)
    assert deed.done == []


@in_memory
async def test_asking_before_says_what_the_call_would_be_told_and_records_nothing(
    ledger: AsyncLedger, deed: Deed
) -> None:
    ledger.register(declare(deed.coroutine, name="pay", needs_approval=True))

    async def rules() -> list[str]:
        before = await deed.names()
        found = await deed.run.may("pay", ARGS)
        assert await deed.names() == before
        return [one.rule for one in found.objections]

    assert await rules() == ["approval_required"]
    asked = await deed.asks()
    assert (await deed.run.may("pay", ARGS)).objections[0].evidence["id"] == asked.id
    assert await rules() == ["approval_required"]
    await ledger.approve(asked.id, by=KIM)
    assert await rules() == []
    assert await deed.run.perform("pay", ARGS) == 7
    found = await deed.run.may("pay", ARGS)
    assert found.done
    assert found.key == asked.key


async def test_a_block_whose_act_waits_is_not_entered(ledger: AsyncLedger, deed: Deed) -> None:
    entered = 0
    for expected in (0, 1):
        try:
            async with deed.run.effect("pay", ARGS, needs_approval=True) as effect:
                entered += 1
                effect.succeed({"id": "re_1"})
        except ApprovalRequired as asked:
            await ledger.approve(asked.id, by=KIM)
        assert entered == expected
    with pytest.raises(AlreadyDone):
        async with deed.run.effect("pay", ARGS, needs_approval=True):
            entered += 1
    assert entered == 1
    assert await deed.names() == [*WAITS, "approval.answered", *ACTS]


@pytest.mark.parametrize("shared", [True, False], ids=["one handle", "handles of their own"])
async def test_tasks_that_ask_at_once_are_told_of_one_request_and_act_once(
    ledger: AsyncLedger, deed: Deed, shared: bool
) -> None:
    found: list[Any] = []

    async def perform() -> None:
        run = deed.run if shared else await ledger.run("r", actor=PROGRAM)
        mine = Deed(ledger, run)
        mine.done = deed.done
        try:
            found.append(await mine.perform(wait_seconds=60.0))
        except ApprovalRequired as asked:
            found.append(asked.id)

    async with anyio.create_task_group() as tasks:
        for _ in range(TASKS):
            tasks.start_soon(perform)
    assert len(found) == TASKS
    (id,) = set(found)
    assert await deed.names() == WAITS
    await ledger.approve(id, by=KIM)
    found.clear()
    async with anyio.create_task_group() as tasks:
        for _ in range(TASKS):
            tasks.start_soon(perform)
    assert found == [7] * TASKS
    assert deed.done == [7]


on_two = pytest.mark.parametrize("store", ["memory", "postgres"], indirect=True)
"""Where the moments differ; how each store keeps what it has taken is shown elsewhere."""


# --- cancelled -----------------------------------------------------------------------------------


@each_way
@on_two
async def test_a_question_that_waits_for_its_turn_is_taken_back(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str
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
            assert await stopped(way, deed.perform, moment) == []
    assert await deed.names() == ["cursor.moved"]


@each_way
@on_two
async def test_a_question_that_is_being_stored_is_whole_and_whoever_comes_next_is_told_of_it(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str
) -> None:
    async def moment(stop: Stop) -> None:
        await until(held.begun.is_set)
        stop()
        await some_turns()
        held.let_go()

    with held.held():
        assert await stopped(way, deed.perform, moment) == []
    assert await deed.names() == WAITS
    (asked,) = (await deed.run.contract).approvals
    assert (await deed.asks()).id == asked.id
    assert await deed.names() == WAITS
    await ledger.approve(asked.id, by=KIM)
    assert await deed.perform() == 7


@each_way
@on_two
async def test_an_answer_that_is_being_stored_counts_once(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str
) -> None:
    id = (await deed.asks()).id
    desk = await ledger.run("r", actor=DESK)

    async def moment(stop: Stop) -> None:
        await until(held.begun.is_set)
        stop()
        await some_turns()
        held.let_go()

    with held.held():
        await stopped(way, lambda: desk.approve(id, by=KIM), moment)
    assert await deed.names() == [*WAITS, "approval.answered"]
    assert (await desk.approve(id, by=KIM)).repeated
    assert await deed.perform() == 7
    assert deed.done == [7]


@each_way
@on_two
async def test_an_approved_act_that_is_cancelled_as_it_is_claimed_is_approved_still(
    ledger: AsyncLedger, held: Held, deed: Deed, way: str
) -> None:
    """It is given back as not begun, and the next attempt needs nobody."""
    await ledger.approve((await deed.asks()).id, by=KIM)

    async def moment(stop: Stop) -> None:
        await until(held.begun.is_set)
        stop()
        await some_turns()
        held.let_go()

    with held.held():
        assert await stopped(way, deed.perform, moment) == []
    assert deed.done == []
    assert await deed.perform() == 7
    said = await deed.names()
    assert said == [*WAITS, "approval.answered", *ACTS[:2], "effect.failed", *ACTS]


# --- looks, and what is known -----------------------------------------------------------------------


@each_kind
@in_memory
async def test_looks_are_bound_by_rules_that_name_their_tool_also_when_a_held_run_looks_again(
    ledger: AsyncLedger, deed: Deed, kind: str
) -> None:
    async def awaited(of: str, most: int = 10) -> int:
        return plain(of, most)

    def plain(of: str, most: int = 10) -> int:
        seen.append(of)
        return len(seen)

    seen: list[str] = []
    look = {"coroutine": awaited, "plain": plain}[kind]
    for name in ("search", "other"):
        ledger.register(declare(look, name=name, recovery="read_only", fresh_for=60))
    refs = []
    for name in ("search", "other"):
        await deed.run.perform(name, {"of": "tea"})
        refs.append("observation:" + observation_key(name, '{"of":"tea"}'))
    await deed.run.commit_plan([Step(name="pay", rests_on=tuple(refs))])
    desk = await ledger.run("r", actor=DESK)
    await desk.accept("rule", "No searching", asserted_by=KIM, rule=Rule(deny=("search",)))
    await desk.accept("all", "Ask about all", asserted_by=KIM, rule=Rule(needs_approval=True))
    ledger._edge.clock.tick(60)  # type: ignore[attr-defined]
    with pytest.raises(ConstraintViolated):
        await deed.run.perform("search", {"of": "tea"})
    assert not await deed.run.may("search", {"of": "tea"})
    assert not await ledger.resume("r", actor=PROGRAM)
    ruled, other = await deed.run.refresh()
    assert (ruled.found, ruled.is_fresh, other.found, other.is_fresh) == (
        "not_refreshed",
        False,
        "changed",
        True,
    )
    assert seen == ["tea"] * 3
    refused = [r.event async for r in ledger.log("r") if isinstance(r.event, EffectRefused)]
    assert {event.tool for event in refused} == {"search"}


@each_kind
@in_memory
async def test_what_nobody_knows_is_found_out_although_its_approval_has_lapsed(
    ledger: AsyncLedger, deed: Deed, kind: str
) -> None:
    """To find out, and to tell what was done, begins nothing, so that nobody has to approve it."""

    def find(key: str, args: Any) -> Happened:
        return Happened(args["order"])

    def lost(order: int) -> int:
        deed.plain(order)
        raise ConnectionError("the answer was lost")

    async def lost_too(order: int) -> int:
        return lost(order)

    options: Any = {"needs_approval": True, "approval_seconds": 60}
    function = {"coroutine": lost_too, "plain": lost}[kind]
    asked: Any = None
    try:
        await deed.run.perform("pay", ARGS, function, **options)
    except ApprovalRequired as error:
        asked = error
    await ledger.approve(asked.id, by=KIM)
    with pytest.raises(OutcomeUnknown):
        await deed.run.perform("pay", ARGS, function, **options)
    ledger._edge.clock.tick(100_000)  # type: ignore[attr-defined]
    declared = declare(function, name="pay", recovery="queryable", probe=find, settle_seconds=0, **options)
    ledger.register(declared)
    assert [one.found async for one in ledger.reconcile("r")] == ["happened"]
    assert await deed.run.perform("pay", ARGS) == 7
    assert deed.done == [7]
    assert (await deed.names()).count("approval.requested") == 1
