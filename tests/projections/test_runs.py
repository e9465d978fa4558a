"""The projection `runs`: the contract of every run, by the one fold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger, Recovery, open_ledger
from ledger.application.ledger import edge_of
from ledger.application.query import RunQuery
from ledger.codec import encode
from ledger.events import GoalRevised
from ledger.record import ZERO_HASH, Envelope
from ledger.run.saving import restore, save
from ledger.run.state import FOLD
from ledger.stores.base import Append, StreamAppend
from ledger.stores.read_models import Advance, Changes
from ledger.values.times import write_time
from projections import runs as module
from projections import views
from projections.errors import ProjectionStopped
from projections.runs import RUNS, Runs
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.samples import catch_up, fill, kept, standing
from tests.record import golden_ledger
from tests.stores.builder import shown

KIM = Actor("human:kim")


def rows(ledger: Ledger) -> dict[str, dict[str, Any]]:
    models = ledger.store.read_models()
    names = models.columns(Runs().model)[RUNS][1:]
    found = models.page(ledger.tenant, Runs().model, RUNS, limit=10_000)
    return {str(row[0]): dict(zip(names, row, strict=True)) for row in found}


def lived(ledger: Ledger) -> None:
    policy = ledger.source("policy:refunds")
    policy.publish("1", {"a": "Refund once"}, by="human:kim")
    run = ledger.open_run(
        "refund-17", "Refund order 17", owner="human:kim", thread="t-1", labels={"team": "refunds", "b": "c"}
    )
    run.accept("limit", "Never refund more than 100 EUR", asserted_by="human:kim")
    run.promise("mail", "Mail the customer", owed_to="customer:17")
    run.perform("refund", {"order": 17}, lambda order: {"ok": order}, recovery=Recovery.AT_MOST_ONCE)
    ledger.open_run("closed", "End").close("completed")
    suspended = ledger.open_run("suspended", "Wait")
    suspended.suspend(reason="wait for the customer")
    held = ledger.open_run("held", "Be asked", actor=Actor("agent:a", session="s-1"))
    ledger.run("held", actor=KIM).grant(
        "g", principal="agent:a", scopes=["refund"], session="s-1", granted_by="human:kim"
    )
    held.suspend(reason="enough for today")
    ledger.resume("held", actor=Actor("agent:a", session="s-2"))


@pytest.mark.parametrize("page", [1, 3, 500])
def test_each_run_has_a_row_with_its_contract_and_what_lists_ask(ledger: Ledger, page: int) -> None:
    lived(ledger)
    catch_up(ledger, Runs(), page=page)
    found = rows(ledger)
    listed = {one.run: one for one in ledger.runs(RunQuery()).runs}
    assert found.keys() == listed.keys() == {"refund-17", "closed", "suspended", "held"}
    for run, row in found.items():
        contract, summary = ledger.contract(run), listed[run]
        assert row["contract"] == save(contract)
        assert restore(row["contract"]) == contract
        told = summary.model_dump(mode="python")
        for name in row.keys() - {"contract", "gid", "labels", "verdict"}:
            expected = told[name]
            assert row[name] == (write_time(expected) if name.endswith("at") and expected else expected), name
        assert row["verdict"] == (None if summary.verdict is None else summary.verdict.value)
        last = list(ledger.log(run))[-1]
        assert (row["gid"], row["position"]) == (last.global_position, last.position)
    assert found["refund-17"]["labels"] == '{"b":"c","team":"refunds"}'
    assert {run: row["status"] for run, row in found.items()} == {
        "refund-17": "open",
        "closed": "closed",
        "suspended": "suspended",
        "held": "held",
    }


def test_a_run_goes_on_from_its_own_row(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """However few contracts fit into memory, and after each restart."""
    monkeypatch.setattr(module, "_KEPT_BYTES", 1)
    fill(ledger, runs=4, events=3)
    catch_up(ledger, Runs(), page=5)
    for number in range(4):
        ledger.run(f"run-{number}").promise("p", "do", owed_to="human:kim")
    catch_up(ledger, Runs(), page=2)
    assert {run: row["contract"] for run, row in rows(ledger).items()} == {
        run: save(ledger.contract(run)) for run in (f"run-{number}" for number in range(4))
    }
    assert all(row["obligations"] == 1 for row in rows(ledger).values())


def test_one_record_is_folded_by_itself_too(ledger: Ledger) -> None:
    class One(Runs):
        name = "one"

        def begin(self) -> Runs:
            return self

    lived(ledger)
    catch_up(ledger, One(), Runs(), page=3)
    assert kept(ledger, One()) == kept(ledger, Runs())


def test_few_contracts_are_kept_in_memory(ledger: Ledger) -> None:
    kept_ones = module._Contracts()
    contracts = []
    for number in range(5):
        run = ledger.open_run(f"run-{number}", "goal")
        contracts.append(run.contract)
        kept_ones.keep(run.contract, module._KEPT_BYTES // 3)
    assert [kept_ones.take(f"run-{number}") for number in range(5)] == [None, None, *contracts[2:]]
    assert kept_ones.take("run-4") is None


def test_its_version_goes_with_the_fold() -> None:
    assert Runs.version // 100 == int(FOLD)


def test_a_contract_that_was_altered_in_its_row_is_set_aside(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("run", "goal")
    catch_up(ledger, Runs())
    models, model = ledger.store.read_models(), Runs().model
    (row,) = models.page("default", model, RUNS)
    taken = models.take("default", model, holder="x", seconds=30, now=clock.now)
    assert taken is not None
    state = bytes(row[-2] or b"").replace(b"goal", b"gaol")  # type: ignore[arg-type]
    altered: Changes = {RUNS: {("run",): (*row[:-2], state, row[-1])}}
    page = Advance(taken.fence, taken.reached.gid, taken.reached, altered, 30)
    models.advance("default", model, page, now=clock.now)
    models.release("default", model, taken.fence)
    run.promise("p", "do", owed_to="human:kim")
    ledger.open_run("other", "goal")
    catch_up(ledger, Runs())
    one = standing(ledger, Runs())
    (parked,) = one.parked
    assert (one.state, parked.run, parked.position) == ("active", "run", 2)
    assert "is not what was saved" in parked.error
    assert rows(ledger)["other"]["goal"] == "goal"


def test_a_stream_that_does_not_begin_as_a_run_is_set_aside_and_the_others_are_told_of(
    ledger: Ledger,
) -> None:
    """Such as a forgery brings it: it folds to nothing."""
    ledger.open_run("good", "goal").promise("p", "do", owed_to="human:kim")
    edge, first = edge_of(ledger), GoalRevised(text="gone", reason="none", by="human:kim")
    envelope = Envelope(edge.tenant, "bad", 1, ZERO_HASH, edge.ids(), edge.now(), KIM)
    ledger.store.append(Append(edge.tenant, (StreamAppend("bad", 0, ZERO_HASH, (encode(first, envelope),)),)))
    ledger.open_run("later", "goal")
    shown(ledger.store)
    found = views.obligations(ledger)
    assert ([one.run for one in found.rows], found.left_out) == (["good"], ("bad",))
    assert found.notes[0].startswith("the projection runs has set aside bad from position 1")
    assert set(rows(ledger)) == {"good", "later"}
    with pytest.raises(ProjectionStopped):
        views.obligations(ledger, run="bad")
    assert views.obligations(ledger, run="good").rows == found.rows


def test_runs_of_tenants_with_equal_names_stay_apart(open_on: OpenLedger) -> None:
    first, second = open_on("acme"), open_on("Acme")
    first.open_run("run", "mine")
    second.open_run("run", "yours")
    for ledger in (first, second):
        catch_up(ledger, Runs())
    assert [rows(ledger)["run"]["goal"] for ledger in (first, second)] == ["mine", "yours"]
    assert [len(kept(ledger, Runs())[RUNS]) for ledger in (first, second)] == [1, 1]


def test_a_ledger_of_the_first_format_is_projected(tmp_path: Path) -> None:
    golden_ledger.rebuild(golden_ledger.LEDGER, tmp_path / "golden.db")
    with open_ledger(tmp_path / "golden.db") as ledger:
        catch_up(ledger, Runs(), page=7)
        found = rows(ledger)
        assert found
        for run, row in found.items():
            assert row["contract"] == save(ledger.contract(run))
