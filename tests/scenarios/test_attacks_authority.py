"""Holds that only more authority than was meant would lead out of, and one that was left too early."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ledger import Actor, Ledger, Verdict, open_ledger
from ledger.errors import RunIsHeld
from ledger.testing import Clock
from ledger.values import Limits

AGENT = Actor("agent:refunds", session="s-1")
KIM = Actor("human:kim")


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(":memory:", clock=Clock()) as opened:
        yield opened


def kinds(ledger: Ledger) -> list[str]:
    return [reason.kind for reason in ledger.resume("r", actor=AGENT).reasons]


def test_a_narrower_grant_in_the_place_of_a_revoked_one_leads_out(ledger: Ledger) -> None:
    ledger.open_run("r", goal="Refund orders", actor=AGENT)
    kim = ledger.run("r", actor=KIM)
    kim.grant("wide", principal=AGENT.id, scopes=["refund.*"], granted_by=KIM.id)
    kim.suspend(reason="closed", by=KIM.id)
    kim.revoke("wide", reason="too wide", by=KIM.id)
    assert kinds(ledger) == ["authority_missing", "authority_revoked"]
    kim.grant("narrow", principal=AGENT.id, scopes=["refund.small"], granted_by=KIM.id)
    assert ledger.resume("r", actor=AGENT).verdict is Verdict.CONTINUE


def test_who_was_revoked_need_not_be_granted_anything_for_another_one_to_go_on(ledger: Ledger) -> None:
    ledger.open_run("r", goal="Refund orders", actor=AGENT)
    kim = ledger.run("r", actor=KIM)
    kim.grant("mine", principal=AGENT.id, scopes=["*"], granted_by=KIM.id)
    kim.grant("theirs", principal="agent:mails", scopes=["*"], granted_by=KIM.id)
    kim.revoke("theirs", reason="it was broken into", by=KIM.id)
    kim.suspend(reason="closed", by=KIM.id)
    assert kinds(ledger) == ["authority_revoked"]
    kim.renew("mine", by=KIM.id)
    assert ledger.resume("r", actor=AGENT).verdict is Verdict.CONTINUE


def test_a_grant_from_before_a_limit_was_reached_lifts_no_limit(ledger: Ledger) -> None:
    run = ledger.open_run("r", goal="Refund orders", actor=AGENT, limits=Limits(effects=1))
    kim = ledger.run("r", actor=KIM)
    kim.grant("pay", principal=AGENT.id, scopes=["pay"], granted_by=KIM.id)
    run.perform("pay", {"order": 1}, lambda order: "paid", step="pay")
    kim.grant("mail", principal=AGENT.id, scopes=["mail"], granted_by=KIM.id)
    with pytest.raises(RunIsHeld):
        run.perform("pay", {"order": 2}, lambda order: "paid", step="pay")
    assert kinds(ledger) == ["limit_reached"]
    kim.renew("mail", by=KIM.id)
    assert ledger.resume("r", actor=AGENT).verdict is Verdict.CONTINUE


def test_a_narrowing_lifts_no_limit_and_its_confirmation_does(ledger: Ledger) -> None:
    run = ledger.open_run("r", goal="Refund orders", actor=AGENT, limits=Limits(effects=1))
    kim = ledger.run("r", actor=KIM)
    kim.grant("pay", principal=AGENT.id, scopes=["*"], granted_by=KIM.id)
    run.perform("pay", {"order": 1}, lambda order: "paid", step="pay")
    with pytest.raises(RunIsHeld):
        run.perform("pay", {"order": 2}, lambda order: "paid", step="pay")
    kim.narrow("pay", as_="less", scopes=["pay"], reason="pay alone", by=KIM.id)
    assert kinds(ledger) == ["limit_reached"]
    kim.renew("less", by=KIM.id)
    assert ledger.resume("r", actor=AGENT).verdict is Verdict.CONTINUE


def test_narrowing_holds_nobody_however_often_it_is_done(ledger: Ledger) -> None:
    run = ledger.open_run("r", goal="Refund orders", actor=AGENT)
    kim = ledger.run("r", actor=KIM)
    kim.grant("g", principal=AGENT.id, scopes=["*"], granted_by=KIM.id)
    for old, new in (("g", "g2"), ("g2", "g3")):
        kim.narrow(old, as_=new, scopes=["pay"], reason="pay alone", by=KIM.id)
        run.move("on")
    kim.suspend(reason="night", by=KIM.id)
    assert ledger.resume("r", actor=AGENT).verdict is Verdict.CONTINUE
