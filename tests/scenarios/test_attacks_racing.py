"""Who lets a run go on holds a handle on what they began, however quickly somebody else goes on from it."""

from __future__ import annotations

import hashlib
from functools import partial

import pytest

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.errors import Superseded
from ledger.events import RunResumed
from ledger.testing import Clock
from tests.application.faulty import FaultyStore

AGENT = Actor("agent:refunds", session="s-1")
KIM = Actor("human:kim")


def test_who_was_overtaken_while_the_answer_came_has_no_handle_on_what_the_other_one_began() -> None:
    store, clock = FaultyStore(), Clock()
    mine, theirs = (Ledger(Edge(store, "default", actor, clock)) for actor in (AGENT, KIM))
    mine.open_run("r", goal="Refund orders").suspend(reason="closed", by=KIM.id)
    store.rivals = [partial(theirs.resume, "r", take_over=True)]
    store.faults = ["twice_overtaken"]
    decision = mine.resume("r")
    assert decision.run is not None
    assert decision.contract is not None
    assert decision.contract.incarnation == 2
    assert mine.contract("r").incarnation == 3
    with pytest.raises(Superseded):
        decision.run.move("pay")
    told = [one.event for one in mine.log("r") if isinstance(one.event, RunResumed)]
    assert decision.prompt is not None
    assert hashlib.sha256(decision.prompt.encode()).hexdigest() == told[0].prompt_digest
