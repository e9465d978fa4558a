"""What stands above a run is read as it is stored, whatever is remembered of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ledger import Actor, Ledger, Run
from ledger.application.edge import Edge
from ledger.errors import ChainBroken, RunIsHeld
from ledger.stores.base import Loaded
from ledger.stores.memory import MemoryStore
from ledger.values import Verdict

PROGRAM = Actor("agent:refunds", session="s-1")


@pytest.fixture
def edge() -> Edge:
    return Edge(MemoryStore(), "default", PROGRAM)


@pytest.fixture
def kid(edge: Edge) -> Iterator[Run]:
    with Ledger(edge) as ledger:
        ledger.open_run("top", "Refund all").open_child("kid", "Refund order 17")
        kid = ledger.run("kid")
        pay(kid, 0)
        assert edge.above["top"].position == 2
        yield kid


def pay(run: Run, order: int) -> None:
    run.perform("pay", {"order": order}, lambda order: order, step=f"pay-{order}")


def operator(edge: Edge) -> Run:
    return Ledger(Edge(edge.store, "default", Actor("human:kim"))).run("top")


@pytest.mark.parametrize("moves", [0, 3, 250])
def test_a_stop_is_seen_however_much_was_said_before_it(edge: Edge, kid: Run, moves: int) -> None:
    top = operator(edge)
    for round in range(moves):
        top.move("look", round=round)
    top.suspend(reason="look into it")
    with pytest.raises(RunIsHeld):
        pay(kid, 1)
    assert edge.above["top"].position == moves + 3


def test_a_claim_that_lost_a_race_looks_above_again(edge: Edge, kid: Run) -> None:
    """What it has read before its append, a stop meanwhile does not change; each attempt reads anew."""
    lost: list[int] = []

    def stop(attempt: int) -> None:
        lost.append(attempt)
        operator(edge).suspend(reason="look into it")

    late = Ledger(replace(edge, pause=stop)).run("kid")
    assert late.contract.position == kid.contract.position
    kid.move("elsewhere")
    with pytest.raises(RunIsHeld):
        pay(late, 1)
    assert lost == [0]


def test_the_gate_cannot_say_that_a_part_goes_on_where_what_stands_above_cannot_be_read(
    edge: Edge, kid: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    kid.suspend(reason="night")
    edge.above.clear()
    load = MemoryStore.load

    def damaged(store: MemoryStore, tenant: str, stream: str, *args: Any, **more: Any) -> Loaded:
        found = load(store, tenant, stream, *args, **more)
        return Loaded(None, found.tail[1:]) if stream == "top" else found

    monkeypatch.setattr(MemoryStore, "load", damaged)
    for dry_run in (True, False):
        answer = Ledger(edge).resume("kid", dry_run=dry_run)
        assert (answer.verdict, [one.kind for one in answer.reasons]) == (Verdict.REFUSE, ["chain_broken"])


def test_what_is_remembered_counts_for_nothing_where_another_event_stands_there(edge: Edge, kid: Run) -> None:
    operator(edge).suspend(reason="look into it")
    edge.above["top"] = edge.above["top"].with_fields({"hash": "0" * 64, "position": 3})
    with pytest.raises(RunIsHeld):
        pay(kid, 1)


def test_a_run_above_that_cannot_be_read_keeps_its_parts_from_acting(
    edge: Edge, kid: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = MemoryStore.load

    def damaged(store: MemoryStore, tenant: str, stream: str, *args: Any, **more: Any) -> Loaded:
        found = load(store, tenant, stream, *args, **more)
        return Loaded(None, found.tail[1:]) if stream == "top" else found

    edge.above.clear()
    monkeypatch.setattr(MemoryStore, "load", damaged)
    with pytest.raises(ChainBroken):
        pay(kid, 1)
    kid.move("thinking")


def test_runs_above_are_not_remembered_without_end(edge: Edge, kid: Run) -> None:
    contract = edge.above["top"]
    edge.above.clear()
    edge.above.update({f"run-{number}": contract for number in range(64)})
    pay(kid, 1)
    assert edge.above == {"top": contract}
