"""An agent makes the gate no milder than it is; who is none may, and may let an agent be asked that way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ledger import Actor, AsyncLedger, open_ledger
from ledger.errors import NotForAgents

AGENT = Actor("agent:payer", session="one")
TWO = Actor("agent:payer", session="two")
MILDER: list[dict[str, Any]] = [{"idle_seconds": None}, {"idle_seconds": 90_000}, {"live_seconds": 599}]
OTHERS = [Actor("human:kim"), Actor("service:chat")]


@pytest.mark.parametrize("how", MILDER, ids=str)
def test_what_makes_the_gate_milder_is_for_who_is_no_agent_or_allowed_by_one_who_is_none(
    how: dict[str, Any],
) -> None:
    with open_ledger(":memory:") as ledger:
        ledger.open_run("r", "Pay", actor=AGENT)
        for allowed_by in (None, AGENT, TWO):
            with pytest.raises(NotForAgents):
                ledger.resume("r", actor=AGENT, allowed_by=allowed_by, dry_run=True, **how)
        for other in OTHERS:
            assert ledger.resume("r", actor=AGENT, allowed_by=other, dry_run=True, **how)
        with pytest.raises(NotForAgents):
            ledger.resume("r", actor=TWO, allowed_by=OTHERS[0], take_over=True)


@pytest.mark.anyio
async def test_so_it_is_in_an_event_loop() -> None:
    clock = [datetime(2026, 1, 30, tzinfo=UTC)]
    with open_ledger(":memory:", clock=lambda: clock[0]) as ledger:
        async with AsyncLedger(ledger) as face:
            await face.open_run("r", "Pay", actor=AGENT)
            clock[0] += timedelta(days=3)
            with pytest.raises(NotForAgents):
                await face.resume("r", actor=AGENT, idle_seconds=None)
            assert not await face.resume("r", actor=AGENT, dry_run=True)
            assert await face.resume("r", actor=AGENT, idle_seconds=None, allowed_by=OTHERS[0])
