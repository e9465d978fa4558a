"""The example: an agent whose process dies pays once on a ledger, and twice on LangGraph's own saver."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger import open_ledger
from tests.adapters.langgraph.acting.forking import Forking, loaded
from tests.conftest import ROOT
from tests.outside.outside import Outside
from tests.outside.payments import charges

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def example() -> Iterator[Forking]:
    with loaded(ROOT / "docs/examples/pay_once.py") as forking:
        yield forking


def test_an_agent_that_dies_after_it_has_paid_pays_once_on_a_ledger(
    example: Forking, payment_server: Outside, tmp_path: Path
) -> None:
    died = example.run(tmp_path, "ledger", payment_server.url, "--die")
    assert died.code == -signal.SIGKILL, died.written
    (paid,) = charges(payment_server.url)
    done = example.run(tmp_path, "ledger", payment_server.url)
    assert done == (0, f"Order 17 is paid: {paid.id}\n")
    assert charges(payment_server.url) == [paid]
    with open_ledger(tmp_path / "pay-ledger.db") as ledger:
        told = [one.name for one in ledger.log("order-17#1") if not one.name.startswith("state.")]
        assert ledger.effect(paid.key).status == "succeeded"
    assert told == [
        "run.opened",
        "effect.intended",
        "effect.started",
        "effect.reconciled",
        "run.resumed",
        "message.recorded",
    ]


def test_the_same_agent_pays_twice_on_langgraphs_own_saver(
    example: Forking, payment_server: Outside, tmp_path: Path
) -> None:
    died = example.run(tmp_path, "langgraph", payment_server.url, "--die")
    assert died.code == -signal.SIGKILL, died.written
    assert len(charges(payment_server.url)) == 1
    done = example.run(tmp_path, "langgraph", payment_server.url)
    assert done.code == 0, done.written
    assert done.written.startswith("Order 17 is paid: ch_")
    assert len(charges(payment_server.url)) == 2
