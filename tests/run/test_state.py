"""The one fold: total over all events, pure, and the same with and without a snapshot at any place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given as draws
from hypothesis import strategies as st

from ledger import events as e
from ledger.errors import ChainBroken, UndecodableRecord
from ledger.run.contract import WINDOW, Contract
from ledger.run.release import released
from ledger.run.state import FOLD, FOLDS, evolve, replay
from ledger.testing import History, given, seal
from ledger.values import Actor
from tests.run import examples as x
from tests.run.histories import INSIDE, decided, histories
from tests.strategies import ANY, FEW, NOON

GOLDEN = Path(__file__).parent / "golden" / f"contracts_{FOLD}.json"
Run = History[Contract | None]
OPENED = given(x.opened())
MOVED = e.CursorMoved(node="a")


# --- totality ----------------------------------------------------------------------------------


def test_every_event_of_a_run_is_folded_and_no_other() -> None:
    assert set(FOLDS) == set(INSIDE)
    elsewhere = {
        e.RunOpened,
        e.SourceOpened,
        e.SourceRevised,
        e.ConstraintWithdrawnAtSource,
        e.ForeignRecorded,
        e.RunRefused,
        e.ContentExpired,
    }
    assert set(e.EVENT_CLASSES) - set(FOLDS) == elsewhere


def test_the_examples_hold_every_event_of_a_run() -> None:
    shown = {type(event) for event in (*x.EVENTS, *x.SUCCESSOR_EVENTS, *x.FORK_EVENTS)}
    assert shown == {e.RunOpened, *INSIDE}


def saved(contract: Contract) -> str:
    return contract.model_dump_json(exclude_none=True)


BESIDE = (
    given(x.opened(), MOVED, x.state(rests=True), actor=Actor("agent:refunds", session="s-1"))
    .by(Actor("agent:mail", session="s-7"))
    .also(x.intended(), x.started(), e.CursorMoved(node="b"), x.message(role="assistant"), x.SUSPENDED)
)
"""What another agent says and does in a run, and that it stops it."""


def test_the_same_events_yield_the_same_contracts_in_every_release_of_this_fold() -> None:
    """A contract that comes out otherwise needs another `FOLD`, so that old snapshots are passed over."""
    shown = [("run", x.EVENTS), ("successor", x.SUCCESSOR_EVENTS), ("fork", x.FORK_EVENTS)]
    runs = {name: given(*events) for name, events in shown} | {"beside": BESIDE}
    found = {name: json.loads(saved(run.contract)) for name, run in runs.items()}
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8"))


# --- what has no meaning -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "event", [event for event in x.EVENTS if not isinstance(event, e.RunOpened)], ids=lambda event: event.name
)
def test_a_run_begins_with_its_opening_only(event: e.Event) -> None:
    with pytest.raises(UndecodableRecord):
        given(event)


@pytest.mark.parametrize(
    "event",
    [
        x.opened(),
        e.SourceOpened(source="policy:refunds"),
        e.SourceRevised(revision="4"),
        e.ConstraintWithdrawnAtSource(by="human:kim", id="a", reason="r"),
        e.ForeignRecorded(originator_version=1, state="", topic="t"),
        e.RunRefused(code="chain_broken", run="run-1", what="it was altered"),
        e.ContentExpired(by="human:kim", cutoff=NOON, digests=("0" * 64,), prefix="0", reason="r"),
    ],
    ids=lambda event: event.name,
)
def test_what_has_no_place_inside_a_run_is_refused_there(event: e.Event) -> None:
    with pytest.raises(UndecodableRecord) as refused:
        OPENED.also(event)
    assert refused.value.data == {"run": "run-1", "position": 2}


def test_a_record_that_does_not_stand_right_after_the_contract_is_refused() -> None:
    opened, second, third = seal(x.opened(), MOVED, MOVED)
    contract = evolve(None, opened)
    with pytest.raises(ChainBroken):
        evolve(contract, third)
    with pytest.raises(ChainBroken):
        evolve(evolve(contract, second), second)
    other_past = seal(x.opened(goal="else"), MOVED)[1]
    with pytest.raises(ChainBroken):
        evolve(contract, other_past)
    for elsewhere in (second._replace(run="run-2"), second._replace(tenant="other")):
        with pytest.raises(ChainBroken):
            evolve(contract, elsewhere)


# --- laws --------------------------------------------------------------------------------------


def load(text: str) -> Contract:
    return Contract.model_validate_json(text)


def any_run() -> st.SearchStrategy[Run]:
    return st.one_of(histories(ANY, longest=8), histories(FEW), decided())


@draws(run=any_run())
def test_snapshot_and_tail_are_the_whole_fold_at_any_cut(run: Run) -> None:
    whole = replay(run.records)
    assert whole == run.contract
    for cut in range(1, run.position + 1):
        contract = replay(run.records[:cut])
        assert contract is not None
        again = load(saved(contract))
        assert again == contract
        tail = replay(run.records[cut:], again)
        assert again == contract
        assert tail == whole
        assert tail is not None
        assert saved(tail) == saved(run.contract)


@draws(run=any_run())
def test_folding_changes_nothing_that_was_there_before(run: Run) -> None:
    contract: Contract | None = None
    for record in run.records:
        before = None if contract is None else saved(contract)
        after = evolve(contract, record)
        assert (None if contract is None else saved(contract)) == before
        assert evolve(contract, record) == after
        contract = after


@draws(run=any_run())
def test_a_contract_stands_at_its_last_record_and_is_bounded_by_what_is_open(run: Run) -> None:
    last, contract = run.records[-1], run.contract
    assert (contract.position, contract.hash, contract.at) == (last.position, last.hash.hex(), last.at)
    assert (contract.run, contract.tenant) == ("run-1", "default")
    assert_named_once(contract)
    assert released(contract) == contract
    assert len(contract.messages) <= WINDOW
    behind = {item.source.stream for item in contract.constraints if item.source is not None}
    assert {seen.source for seen in contract.sources} == behind


def assert_named_once(contract: Contract) -> None:
    """Assert that no two open things of a kind have one name."""
    for kind in (
        [item.id for item in contract.constraints],
        [item.id for item in contract.assumptions],
        [item.id for item in contract.obligations],
        [item.id for item in contract.grants],
        [item.id for item in contract.approvals],
        [item.key for item in contract.effects],
        [item.key for item in contract.observations],
        [item.source for item in contract.sources],
    ):
        assert len(kind) == len(set(kind))
