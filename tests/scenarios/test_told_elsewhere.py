"""What one run of a lineage heard of an act, another one that holds it as unsettled is told."""

from __future__ import annotations

from ledger import Actor, Ledger, Verdict, open_ledger
from ledger.commands import ReportSuccess
from ledger.testing import Clock

PERSON = Actor("human:kim")
AGENT = Actor("agent:refunds", session="s-1")


def act_whose_worker_went_silent(ledger: Ledger) -> str:
    """Begin an act in a run, restart the run meanwhile, and let the first worker report late."""
    run = ledger.open_run("first", goal="Refund order 17", actor=AGENT)
    block = run.effect("refund", {"order": 17}, step="refund", recovery="at_most_once")
    effect = block.__enter__()
    ledger.restart("first", as_="second", reason="no answer", by="human:kim", actor=PERSON)
    run.do(ReportSuccess(attempt=1, key=effect.key))
    return effect.key


def test_a_successor_is_told_what_its_predecessor_heard_late() -> None:
    clock = Clock()
    with open_ledger(":memory:", clock=clock) as ledger:
        key = act_whose_worker_went_silent(ledger)
        assert [effect.key for effect in ledger.contract("second").effects] == [key]
        clock.tick(3600)
        held = ledger.resume("second", actor=AGENT)
        assert [one.kind for one in held.reasons] == ["effect_unknown"]
        (told,) = ledger.reconcile("second")
        assert (told.run, told.found) == ("second", "happened")
        assert "of 'first'" in (told.because or "")
        assert ledger.contract("second").effects == ()
        assert ledger.resume("second", actor=AGENT).verdict is Verdict.CONTINUE
        assert list(ledger.reconcile("second")) == []
