"""What is open in runs stands in tables of its own: the members of their contracts, as naively folded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Ledger, Outcome, Recovery, Source
from ledger.errors import OutcomeUnknown
from ledger.record import Record
from ledger.run.contract import Contract
from ledger.run.state import replay
from ledger.stores.read_models import Key, Row
from ledger.testing import History
from projections.open_now import KINDS, Kind
from projections.rows import Rows
from projections.runs import Runs
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.open_tables import TABLES, cells_of, kept, naive
from tests.projections.samples import catch_up
from tests.run.histories import decided, histories


def folded(records: Sequence[Record], cuts: Iterable[int]) -> dict[str, dict[Key, Row]]:
    """Let the projection handle records in pages that end at the cuts, every other one by a new handler."""
    model = Runs().model
    kept: dict[str, dict[Key, Row]] = {table.name: {} for table in model.tables}

    def read(table: str, keys: Iterable[Key]) -> Mapping[Key, Row]:
        return {key: kept[table][key] for key in keys if key in kept[table]}

    handler = Runs().begin()
    begin = 0
    for number, end in enumerate(sorted({*cuts, len(records)})):
        if number % 2:
            handler = Runs().begin()
        rows = Rows(model, read)
        for record in records[begin:end]:
            handler.handle(record, rows)
        handler.finish(rows)
        for table, changes in rows.changes.items():
            for key, row in changes.items():
                kept[table].pop(key, None)
                if row is not None:
                    kept[table][key] = row
        begin = end
    return kept


# --- laws ------------------------------------------------------------------------------------------


@given(st.one_of(histories(), decided()), st.lists(st.integers(0, 40), max_size=6))
def test_the_open_tables_are_what_the_contract_holds_whatever_the_pages(
    history: History[Contract | None], cuts: list[int]
) -> None:
    records = [one._replace(global_position=10 * one.position) for one in history.records]
    paged = folded(records, (cut for cut in cuts if cut < len(records)))
    assert paged == folded(records, ())
    assert paged == folded(records, range(len(records)))
    assert cells_of({name: rows.values() for name, rows in paged.items()}) == naive([history.contract])
    assert {
        (table.name, key): row[-1] for table in TABLES for key, row in paged[table.name].items()
    } == changed_last(records)


def changed_last(records: Iterable[Record]) -> dict[tuple[str, Key], int]:
    """Tell of each member by which record it came or was changed last, by comparing contracts."""
    contract: Contract | None = None
    last: dict[tuple[str, Key], tuple[object, int]] = {}
    for record in records:
        contract = replay([record], contract)
        assert contract is not None
        there = {(kind.table.name, key): one for kind in KINDS for key, one in members(contract, kind)}
        last = {
            place: last[place]
            if place in last and last[place][0] == one
            else (one, record.global_position or 0)
            for place, one in there.items()
        }
    return {place: gid for place, (_, gid) in last.items()}


def members(contract: Contract, kind: Kind) -> Iterable[tuple[Key, object]]:
    return (((contract.run, getattr(one, kind.id)), one) for one in getattr(contract, kind.field))


# --- on stores -------------------------------------------------------------------------------------


def lived(ledger: Ledger, clock: SetClock) -> None:
    """Let runs open, change and end one of everything."""
    ledger.source("policy:refunds").publish("4", {"limit": "At most 100 EUR"}, by="human:kim")
    run = ledger.open_run("refund-17", "Refund order 17")
    run.accept("limit", "At most 100 EUR", source=Source("policy", "refunds"), asserted_by="human:kim")
    run.accept("mine", "Be kind", asserted_by="human:kim")
    run.assume("stock", "It is in stock")
    run.assume("wrong", "It is blue")
    run.refute("wrong", evidence="it is red", by="human:kim")
    run.promise("mail", "Mail the customer", owed_to="customer:17", due=clock.now)
    run.promise("done", "Call", owed_to="customer:17")
    run.discharge("done", evidence="called", by="human:kim")
    run.grant(
        "g",
        principal="service:tests",
        scopes=["refund", "book"],
        granted_by="human:kim",
        budget={"EUR": Decimal("100.00")},
    )

    def lost(**args: Any) -> None:
        raise OutcomeUnknown("the line was cut")

    def book(**args: Any) -> dict[str, bool]:
        return {"ok": True}

    run.perform("book", {"n": 1}, book, recovery=Recovery.AT_MOST_ONCE, cost={"EUR": Decimal("25.50")})
    with pytest.raises(OutcomeUnknown):
        run.perform("refund", {"n": 2}, lost, recovery=Recovery.AT_MOST_ONCE, cost={"EUR": Decimal(10)})
    ledger.open_run("next", "goal").promise("mail", "Mail", owed_to="customer:18")
    ledger.restart("next", as_="after", reason="begin anew", by="human:kim")


@pytest.mark.parametrize("page", [1, 4, 500])
def test_all_that_is_open_can_be_queried(ledger: Ledger, clock: SetClock, page: int) -> None:
    lived(ledger, clock)
    catch_up(ledger, Runs(), page=page)
    found = kept(ledger)
    assert found == naive(ledger.contract(run) for run in ("refund-17", "next", "after"))
    (owed,) = (one for one in found["obligations"].values() if one["run"] == "refund-17")
    assert (owed["id"], owed["owed_to"], owed["position"]) == ("mail", "customer:17", 7)
    (effect,) = found["unsettled"].values()
    assert (effect["run"], effect["tool"], effect["status"], effect["grants"]) == (
        "refund-17",
        "refund",
        "unknown",
        '["g"]',
    )
    (grant,) = found["grants"].values()
    assert (grant["budget"], grant["spent"], grant["reserved"], grant["used_up"]) == (
        '{"EUR":"100.00"}',
        '{"EUR":"25.50"}',
        '{"EUR":"10"}',
        0,
    )
    assert {key for key, one in found["constraints"].items() if one["source"] == "policy:refunds"} == {
        ("refund-17", "limit")
    }
    assert {key[1] for key in found["assumptions"]} == {"stock"}


def test_what_changes_later_changes_its_row(ledger: Ledger, clock: SetClock) -> None:
    lived(ledger, clock)
    catch_up(ledger, Runs())
    (effect,) = ledger.effects("refund-17")
    ledger.settle(effect.effect.key, happened=True, evidence="seen", by="human:kim")
    ledger.run("refund-17").withdraw("limit", by="human:kim", reason="gone")
    ledger.run("refund-17").promise("call", "Call back", owed_to="customer:17")
    catch_up(ledger, Runs())
    found = kept(ledger)
    assert found == naive(ledger.contract(run) for run in ("refund-17", "next", "after"))
    assert not found["unsettled"]
    assert {one["spent"] for one in found["grants"].values()} == {'{"EUR":"35.50"}'}


@pytest.mark.parametrize("page", [1, 500])
def test_an_amount_is_spelt_as_in_the_contract_though_it_is_worth_the_same(
    open_on: OpenLedger, page: int
) -> None:
    ledger = open_on()
    run = ledger.open_run("run", "goal")
    run.grant("g", principal="service:tests", scopes=["pay"], granted_by="human:kim", budget={"EUR": "9"})
    for number, cost in enumerate(("2.5", "0.00")):
        run.perform("pay", {"n": number}, lambda n, cost=cost: Outcome(cost={"EUR": cost}))
    catch_up(ledger, Runs(), page=page)
    assert kept(ledger) == naive([ledger.contract("run")])
    (grant,) = kept(ledger)["grants"].values()
    assert grant["spent"] == '{"EUR":"2.50"}'


def test_words_that_no_text_column_keeps_stop_nothing(open_on: OpenLedger) -> None:
    ledger = open_on()
    run = ledger.open_run("run", "go\0al")
    run.promise("p", "d\0o", owed_to="human:kim")
    run.accept("c", "be\0kind", asserted_by="human:kim")
    run.assume("a", "so\0it is")
    catch_up(ledger, Runs())
    found = kept(ledger)
    assert found == naive([ledger.contract("run")])
    assert {
        one["text"]
        for table in ("obligations", "constraints", "assumptions")
        for one in found[table].values()
    } == {
        "d\u2400o",
        "be\u2400kind",
        "so\u2400it is",
    }
