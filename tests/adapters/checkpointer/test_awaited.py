"""The same in an event loop: the names of `Checkpointer`, awaited, each task with a memory of its own."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from ledger import open_async_ledger
from ledger.adapters.checkpointer import (
    AsyncCheckpointer,
    Checkpointer,
    CorruptCheckpoint,
    MidStream,
    Summary,
)
from ledger.errors import InvalidInput, RunNotFound, StateMoved
from ledger.testing import Clock
from ledger.values import Verdict


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@asynccontextmanager
async def opened(folder: Path, kind: str = "ledger", **options: object) -> AsyncIterator[AsyncCheckpointer]:
    where = folder / "agent.db" if kind == "ledger" else f"files:{folder}/saves"
    async with await AsyncCheckpointer.open(where, **options) as saves:  # type: ignore[arg-type]
        yield saves


def test_both_faces_have_the_same_names_and_arguments() -> None:
    names = [name for name, found in vars(Checkpointer).items() if not name.startswith("_")]
    assert names == [name for name in vars(AsyncCheckpointer) if not name.startswith("_")]
    for name in names:
        one, other = (inspect.signature(getattr(face, name)) for face in (Checkpointer, AsyncCheckpointer))
        assert [(p.name, p.kind, p.default) for p in one.parameters.values()] == [
            (p.name, p.kind, p.default) for p in other.parameters.values()
        ], name


@pytest.mark.anyio
@pytest.mark.parametrize("kind", ["ledger", "files"])
async def test_states_are_saved_loaded_listed_and_deleted(tmp_path: Path, kind: str) -> None:
    said = [{"id": f"m{n}", "text": "hello"} for n in range(5)]
    async with opened(tmp_path, kind, window=3) as saves:
        assert await saves.load("chat") is None
        first = await saves.save("chat", {"messages": said}, at="after_model")
        second = await saves.summarise("chat", "hello", through="m2", at="loop_head")
        async with opened(tmp_path, kind, window=3) as other:
            loaded = await other.load("chat")
            assert loaded is not None
            assert (loaded.state, loaded.summaries) == ({"messages": said[3:]}, (Summary("hello", "m2"),))
            third = await other.save("chat", {"messages": said[4:]}, at="loop_tail")
        with pytest.raises(StateMoved):
            await saves.save("chat", {}, at="loop_tail")
        assert [one.id for one in await saves.list_checkpoints("chat")] == [third, second, first]
        assert [one.id for one in await saves.list_checkpoints("chat", before=third, limit=1)] == [second]
        assert [page async for page in saves.archive("chat", page=2)] == [said[1:3], said[:1]]
        assert (await saves.load_checkpoint("chat", first)).state == {"messages": said[2:]}
        with pytest.raises(StateMoved):
            await saves.save("chat", {}, at="loop_tail")
        with saves.streaming("chat"):
            async with opened(tmp_path, kind) as other:
                for who in (saves, other):
                    with pytest.raises(MidStream):
                        await who.save("chat", {}, at="loop_tail")
        assert await saves.delete("chat")
        await saves.save("chat", {"anew": True}, at="loop_head")


@pytest.mark.anyio
async def test_tasks_never_take_what_another_saved_for_what_they_have_read(tmp_path: Path) -> None:
    async with opened(tmp_path) as saves:
        await saves.save("chat", {"won": None}, at="loop_head")
        told: list[int] = []
        loaded = [anyio.Event(), anyio.Event()]

        async def rival(number: int) -> None:
            await saves.load("chat")
            loaded[number].set()
            await loaded[1 - number].wait()
            try:
                await saves.save("chat", {"won": number}, at="loop_head")
            except StateMoved:
                told.append(number)

        async with anyio.create_task_group() as group:
            group.start_soon(rival, 0)
            group.start_soon(rival, 1)
        (lost,) = told
        found = await saves.load("chat")
        assert found is not None
        assert found.state == {"won": 1 - lost}


@pytest.mark.anyio
async def test_a_cancelled_save_is_waited_for_and_loading_tells(tmp_path: Path) -> None:
    async with opened(tmp_path, "files") as saves:
        await saves.save("chat", {"n": 1}, at="loop_head")
        with anyio.CancelScope() as scope:
            scope.cancel()
            await saves.save("chat", {"n": 2}, at="loop_head")
        found = await saves.load("chat")
        assert found is not None
        turn = found.state["n"]
        assert turn in {1, 2}
        await saves.save("chat", {"n": turn + 1}, at="loop_head")
        found = await saves.load("chat")
        assert found is not None
        assert found.state == {"n": turn + 1}


@pytest.mark.anyio
async def test_a_damaged_one_is_told_and_fallen_back_from(tmp_path: Path) -> None:
    async with opened(tmp_path, "files") as saves:
        first = await saves.save("chat", {"n": 1}, at="loop_head")
        second = await saves.save("chat", {"n": 2}, at="loop_head")
        (path,) = files_of(tmp_path, second)
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(CorruptCheckpoint) as told:
            await saves.load("chat")
        assert (told.value.id, told.value.good) == (second, first)
        found = await saves.load("chat", fallback=True)
        assert found is not None
        assert (found.state, found.fell_back_from) == ({"n": 1}, second)
        await saves.save("chat", {"n": 3}, at="loop_head")


def files_of(folder: Path, id: str) -> list[Path]:
    return list(folder.glob(f"saves/threads/*/packs/{id}.*"))


@pytest.mark.anyio
async def test_in_an_async_ledger_a_conversation_is_a_run_to_await(tmp_path: Path) -> None:
    clock = Clock()
    async with open_async_ledger(tmp_path / "agent.db", clock=clock) as ledger:
        saves = await AsyncCheckpointer.open(ledger)
        with pytest.raises(RunNotFound):
            await saves.resume("chat")
        run = await saves.run("chat")
        await run.promise("mail", "Mail the customer", owed_to="customer:17")
        await saves.save("chat", {"n": 1}, at="before_wait")
        await run.suspend(reason="night")
        decision = await saves.resume("chat")
        assert decision.verdict is Verdict.CONTINUE
        assert decision.run is not None
        await decision.run.discharge("mail", evidence="mail 42")
        await saves.save("chat", {"n": 2}, at="loop_tail")
        clock.tick(2 * 86_400)
        assert (await saves.resume("chat")).verdict is Verdict.CONTINUE
        clock.tick(2 * 86_400)
        assert [one.kind for one in (await saves.resume("chat", idle_seconds=86_400)).reasons] == ["idle"]
        await saves.close()
        assert (await ledger.contract("chat#1")).incarnation == 3


@pytest.mark.anyio
async def test_elsewhere_there_are_no_runs_to_await(tmp_path: Path) -> None:
    async with opened(tmp_path) as saves, opened(tmp_path, "files") as files:
        for one in (saves, files):
            with pytest.raises(InvalidInput):
                await one.run("chat")
            with pytest.raises(InvalidInput):
                await one.resume("chat")
