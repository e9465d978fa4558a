"""Events that are appended together: each stands on what the ones before it leave."""

from __future__ import annotations

import pytest

from ledger import Ledger
from ledger.errors import RunNotFound, UndecodableRecord
from ledger.run import terms
from ledger.run.contract import Contract
from tests.run import examples as x


def test_each_record_carries_the_terms_before_itself_however_many_come_together(ledger: Ledger) -> None:
    together = [
        x.opened(),
        x.accepted("a"),
        x.intended(),
        x.intended(x.TWO),
        x.accepted("b"),
        x.intended(x.THREE),
    ]
    ledger.import_events("r", together, expected=0)
    for record in ledger.log("r"):
        before = ledger.contract("r", record.position - 1).terms if record.event.binds_terms else None
        assert record.terms == before
    one_by_one = ledger.import_events("s", together[:1], expected=0).position
    for event in together[1:]:
        one_by_one = ledger.import_events("s", [event], expected=one_by_one).position
    assert [record.terms for record in ledger.log("s")] == [record.terms for record in ledger.log("r")]


def test_terms_are_worked_out_only_where_they_are_recorded_and_at_the_end(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    at: list[int] = []
    text = terms.terms_text

    def watched(contract: Contract) -> bytes:
        at.append(contract.position)
        return text(contract)

    monkeypatch.setattr(terms, "terms_text", watched)
    before, after = ([x.accepted(f"{name}-{number}") for number in range(20)] for name in "ab")
    ledger.import_events("r", [x.opened(), *before, x.intended(), *after], expected=0)
    assert at == [21, 42]


def test_events_that_make_no_run_are_refused_together(ledger: Ledger) -> None:
    with pytest.raises(UndecodableRecord):
        ledger.import_events("r", [x.accepted(), x.opened()], expected=0)
    with pytest.raises(UndecodableRecord):
        ledger.import_events("r", [x.opened(), x.accepted(), x.opened()], expected=0)
    with pytest.raises(RunNotFound):
        ledger.contract("r")
