"""Settling by hand where the run of the effect was restarted: its successor answers for it."""

from __future__ import annotations

import pytest

from ledger import Actor, Ending, Ledger
from ledger.events import InheritedEffect, Parent, RunClosed, RunOpened, RunRestarted
from ledger.values import Payload
from tests.application.conftest import OpenLedger

KIM = Actor("human:kim")


class Killed(BaseException):
    """The process ends in the middle of a call."""


def dying(order: int) -> None:
    raise Killed


def left_unsettled(ledger: Ledger) -> str:
    """Let a run begin an effect and end, and a successor inherit it; return its key."""
    run = ledger.open_run("first", "Refund order 17")
    with pytest.raises(Killed):
        run.perform("mail", {"order": 17}, dying)
    (effect,) = run.contract.effects
    closed = RunClosed(outcome=Ending.RESTARTED, successor="second", unsettled=(effect.key,))
    ledger.import_events("first", [closed], expected=run.contract.position)
    contract = ledger.contract("first")
    inherited = InheritedEffect(
        act=effect.act,
        attempt=effect.attempt,
        key=effect.key,
        position=effect.position,
        recovery=effect.recovery,
        run="first",
        status="unknown",
        tool=effect.tool,
    )
    restarted = RunRestarted(
        by="human:kim",
        effects_done=0,
        predecessor="first",
        predecessor_hash=contract.hash,
        predecessor_position=contract.position,
        reason="the policy was withdrawn",
        unsettled=(inherited,),
    )
    parent = Parent(position=contract.position, relation="successor", root="first", run="first")
    ledger.import_events("second", [RunOpened(goal="Refund order 17", parent=parent), restarted], expected=0)
    return effect.key


def test_what_a_successor_inherited_is_settled_where_it_stands_open(open_on: OpenLedger) -> None:
    ledger = open_on()
    key = left_unsettled(ledger)
    assert [one.run for one in ledger.effects()] == ["second"]
    known = ledger.settle(
        key, happened=True, evidence="mail 42", by="human:kim", result={"mail": 42}, actor=KIM
    )
    assert (known.status, known.result) == ("succeeded", Payload(json_text='{"mail":42}'))
    assert ledger.contract("second").effects == ()
    assert ledger.effects() == []
