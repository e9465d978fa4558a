"""Many writers at once: everybody's statement is stored, or they are told that it is not."""

from __future__ import annotations

from functools import partial

from ledger import Ledger, Source
from ledger.application.verifying import verify
from ledger.testing import Clock
from tests.cases.conftest import Another
from tests.stores.builder import together


def test_writers_who_expect_nothing_all_begin_one_new_stream(ledger: Ledger, another: Another) -> None:
    """Case-086, case-088: in some order, and the head stands where the last event does."""
    writers = [another() for _ in range(8)]
    sources = [writer.source("policy:refunds") for writer in writers]
    together(*(partial(source.publish, f"r{n}", {"limit": "100 EUR"}) for n, source in enumerate(sources)))
    records = list(ledger.log_source("policy:refunds"))
    revisions = [record.event.model_dump().get("revision") for record in records]
    assert {revision for revision in revisions if revision} == {f"r{n}" for n in range(8)}
    assert [record.position for record in records] == list(range(1, len(records) + 1))
    assert ledger.store.source_heads(ledger.tenant) == {"$source:policy:refunds": len(records)}
    assert verify(ledger).findings == ()


def test_thirty_results_at_once_are_all_in_the_contract(
    ledger: Ledger, another: Another, clock: Clock
) -> None:
    """Case-123: each through a handle that knows of none of the others."""
    ledger.open_run("r", "goal").move("collect", needs=tuple(f"observation:call-{n}" for n in range(30)))
    handles = [another().run("r") for _ in range(30)]
    together(
        *(
            partial(handle.observe, f"call-{n}", n, tool="stock", observed_at=clock.now)
            for n, handle in enumerate(handles)
        )
    )
    loaded = another().run("r").load()
    assert loaded.results == {f"observation:call-{n}": n for n in range(30)}
    assert len(loaded.contract.observations) == 30
    assert loaded.contract.position == 32


def test_the_same_source_read_twice_is_no_conflict(ledger: Ledger) -> None:
    """Case-087: nobody else writes, so nothing is in the way."""
    ledger.source("policy:refunds").publish("4", {"limit": "100 EUR", "kind": "Be kind"})
    run = ledger.open_run("r", "goal")
    for id, text in (("limit", "100 EUR"), ("kind", "Be kind")):
        before = ledger.source("policy:refunds").state
        run.accept(id, text, source=Source("policy", "refunds"), asserted_by="human:kim")
        assert ledger.source("policy:refunds").state == before
    assert [item.source_position for item in run.contract.constraints] == [2, 2]


def test_a_run_is_there_for_everybody_before_its_first_step(ledger: Ledger, another: Another) -> None:
    """Case-120: whoever opened it may be gone; it is listed as one that never went further."""
    ledger.open_run("r", "Refund order 17")
    (listed,) = another().runs(status="open").runs
    assert (listed.run, listed.position, listed.goal) == ("r", 1, "Refund order 17")
    assert another().contract("r").cursor is None
