"""Saved states in an event loop: the same names, awaited, and nothing else."""

from __future__ import annotations

import inspect

import anyio
import pytest

from ledger import AsyncLedger
from ledger.aio.states import AsyncRunStates
from ledger.application.saved_states import PAGE
from ledger.application.states import RunStates
from ledger.errors import StateMoved
from ledger.values import SavedName

pytestmark = pytest.mark.anyio


async def test_states_are_kept_found_and_given_up(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "Go")
    await run.save_state("s-1", b"one")
    await run.save_state("s-2", b"two", parent="s-1")
    await run.save_state_part("s-2", "t", b"part")
    found = await run.states.newest()
    state = found.state
    assert state is not None
    assert (state.id, found.seen, found.dropped) == ("s-2", 4, None)
    (part,) = await run.states.parts(state)
    contents = await run.states.contents([state.digest, part.digest])
    assert (contents[state.digest], contents[part.digest]) == (b"two", b"part")
    assert (await run.states.find("s-9")).state is None
    await run.drop_states(states=[SavedName(id="s-2")], by="human:kim", reason="old")
    assert [one.id async for one in run.states.all()] == ["s-1"]
    assert (await run.states.find("s-2")).state is None


async def test_all_states_are_read_page_by_page(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "Go")
    async with anyio.create_task_group() as group:
        for number in range(PAGE + 2):
            group.start_soon(
                lambda number: run.save_state(f"s-{number}", b"x", line=f"line-{number}", branch=True), number
            )
    found = [one async for one in run.states.all()]
    assert {one.id for one in found} == {f"s-{number}" for number in range(PAGE + 2)}
    assert [one.position for one in found] == list(range(PAGE + 3, 1, -1))
    assert [one.position async for one in run.states.all(before=4)] == [3, 2]


async def test_of_many_that_go_on_from_one_state_one_wins(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "Go")
    await run.save_state("s-1", b"x")
    moved: list[StateMoved] = []

    async def save(number: int) -> None:
        try:
            await run.save_state(f"s-2-{number}", b"x", parent="s-1")
        except StateMoved as error:
            moved.append(error)

    async with anyio.create_task_group() as group:
        for number in range(10):
            group.start_soon(save, number)
    assert len(moved) == 9
    assert len([one async for one in run.states.all()]) == 2


async def test_parts_of_many_tasks_are_all_kept(ledger: AsyncLedger) -> None:
    run = await ledger.open_run("r", "Go")
    await run.save_state("s-1", b"x")
    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(run.save_state_part, "s-1", f"t-{number}", b"x")
    state = (await run.states.newest()).state
    assert state is not None
    assert {part.task for part in await run.states.parts(state)} == {f"t-{number}" for number in range(30)}


def test_both_faces_have_the_same_names_and_arguments() -> None:
    def public(kind: type) -> dict[str, list[str]]:
        members = {name: value for name, value in vars(kind).items() if not name.startswith("_")}
        return {name: list(inspect.signature(value).parameters) for name, value in members.items()}

    assert public(RunStates) == public(AsyncRunStates)
