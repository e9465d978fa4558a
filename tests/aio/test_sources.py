"""Sources from an event loop: readers run in a thread, and what they say is published and noted."""

from __future__ import annotations

import threading

import pytest

from ledger import AsyncLedger, Source
from ledger.application.readers import Reading
from ledger.errors import InvalidInput
from ledger.run.checks import last_check

pytestmark = pytest.mark.anyio
POLICY = "policy:refunds"


async def test_a_source_is_read_in_a_thread_and_the_run_notes_it(ledger: AsyncLedger) -> None:
    threads: list[str] = []

    def read(source: str) -> Reading:
        threads.append(threading.current_thread().name)
        return Reading("4", {"limit": "At most 100 EUR"})

    ledger.sources.register("policy", read, check_every=60)
    (first,) = await ledger.sources.check(POLICY)
    assert (first.ok, first.changed) == (True, True)
    run = await ledger.open_run("r", goal="Refund")
    await run.accept("limit", "At most 100 EUR", source=Source("policy", "refunds"), asserted_by="human:kim")
    (noted,) = await ledger.sources.check(run=run)
    assert (noted.ok, noted.changed) == (True, False)
    assert last_check(await run.contract, POLICY) is not None
    assert await ledger.sources.check(run="r") == []
    assert len(await ledger.sources.check(run="r", force=True)) == 1
    assert threading.current_thread().name not in threads
    assert list(await ledger.sources()) == [POLICY]


async def test_either_a_source_or_a_run_is_named(ledger: AsyncLedger) -> None:
    with pytest.raises(InvalidInput, match="name a source, or a run"):
        await ledger.sources.check()
