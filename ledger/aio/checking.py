"""Reading sources from an event loop: the readers in a thread, what a run notes of it awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio.to_thread

from ledger.application.checking import Checked, due, is_news, read_sources
from ledger.application.shared import Shared
from ledger.application.statements import Stated
from ledger.commands import Command
from ledger.run.contract import Contract

Do = Callable[[Command], Awaitable[Stated]]
"""Says a command to a run, as `AsyncRun.do` does."""


async def check_due(shared: Shared, contract: Contract, do: Do, *, force: bool = False) -> list[Checked]:
    """Read the sources of a run's constraints that are due; as `check_sources`, awaited."""
    wanted = None if force else contract
    noted = await read_and_note(shared, due(shared, contract, force=force), do, wanted)
    return [checked for checked, _ in noted]


async def read_and_note(
    shared: Shared, sources: Sequence[str], do: Do, contract: Contract | None = None
) -> list[tuple[Checked, Stated | None]]:
    """Read sources in a thread, and let the run note each; who is cancelled meanwhile waits for it.

    With a contract it is told only what is news to it.
    """
    if not sources:
        return []
    found = await anyio.to_thread.run_sync(read_sources, shared, sources)
    told: list[tuple[Checked, Stated | None]] = []
    for one in found:
        silent = one.report is None or (contract is not None and not is_news(contract, one))
        told.append((one, None if silent or one.report is None else await do(one.report)))
    return told
