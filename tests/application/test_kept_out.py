"""What stays out: secrets in messages, and the outside of a run that waits or has ended."""

from __future__ import annotations

import pytest

from ledger import Ledger
from ledger.errors import RunIsClosed, RunIsHeld

TOKEN = "sk_live_" + "a1B2c3D4e5F6g7H8i9J0k1L2"


def test_a_secret_in_a_message_or_a_summary_is_not_kept(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    run = ledger.open_run("refund-17", "Refund order 17")
    run.record_message("m-1", "user", {"text": f"my key is {TOKEN}", "password": "hunter2"})
    run.record_message("m-2", "assistant", {"text": "thanks"})
    run.summarise({"text": f"the key {TOKEN} was given"}, through="m-1")
    contract = run.contract
    assert contract.summary is not None
    for payload in (contract.summary.content, *(message.content for message in contract.messages)):
        assert payload.digest is not None
        kept = ledger.blob(payload.digest)
        assert TOKEN.encode() not in kept
        assert b"hunter2" not in kept
    assert len([one for one in caplog.records if "redacted" in one.getMessage()]) == 2


def test_a_run_that_waits_or_has_ended_looks_at_nothing_outside(ledger: Ledger) -> None:
    """What is known and fresh it is told; nobody goes on without having been resumed."""
    run = ledger.open_run("refund-17", "Refund order 17")
    asked: list[int] = []

    def stock(order: int) -> int:
        asked.append(order)
        return 3

    run.perform("stock", {"order": 17}, stock, recovery="read_only")
    run.suspend(reason="lunch")
    assert run.perform("stock", {"order": 17}, stock, recovery="read_only") == 3
    with pytest.raises(RunIsHeld):
        run.perform("stock", {"order": 18}, stock, recovery="read_only")
    run.close("abandoned")
    with pytest.raises(RunIsClosed):
        run.perform("stock", {"order": 18}, stock, recovery="read_only")
    assert asked == [17]
