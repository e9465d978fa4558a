"""A task that is refused at once and says it again and again keeps nobody from going on."""

from __future__ import annotations

import anyio
import pytest

from ledger import AsyncLedger
from ledger.errors import StoreBusy
from ledger.stores.base import Append
from tests.aio.conftest import Held

pytestmark = pytest.mark.anyio


async def test_whoever_repeats_what_a_busy_store_refuses_lets_other_tasks_go_on(
    ledger: AsyncLedger, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await ledger.open_run("run", "goal")
    admit, refused = held.admit, 0

    def busy(append: Append) -> object:
        nonlocal refused
        refused += 1
        # Without others the end would come from here, and be seen.
        if refused > 1_000:
            raise RuntimeError("nobody else was let go on")
        raise StoreBusy("too many wait", waiting=1)

    async def make_room() -> None:
        monkeypatch.setattr(held, "admit", admit)

    monkeypatch.setattr(held, "admit", busy)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(make_room)
        position = 0
        while not position:
            try:
                position = (await run.move("next")).position
            except StoreBusy:
                continue
    assert position == 2
    assert refused > 0
