"""What is imported no rule decides: an agent gives itself nothing by it, nor lets go of what binds it."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger import events as e
from ledger.errors import NotForAgents
from ledger.values import Change, Ending
from tests.application.approving import KIM, PROGRAM, opened
from tests.application.conftest import SetClock
from tests.run import examples as x
from tests.stores.conftest import KINDS

FOR_AGENT = Actor("service:ui", on_behalf_of=(PROGRAM.id,))


@pytest.fixture
def ledger(tmp_path: Any, clock: SetClock) -> Ledger:
    ledger = opened(KINDS["memory"](tmp_path), clock)
    ledger.open_run("r", "Refund order 17", actor=PROGRAM)
    ledger.run("r", actor=Actor(KIM)).accept("c", "No refunds", asserted_by=KIM)
    return ledger


NOT_FOR_AGENTS: list[e.Event] = [
    x.granted("mine", principal=PROGRAM.id, scopes=("*",)),
    e.AuthorityRenewed(by=PROGRAM.id, id="mine", add_budget=x.EUR_10),
    e.AuthorityReturned(budget=x.EUR_10, by=PROGRAM.id, id="mine", run="kid"),
    e.ConstraintWithdrawn(by=PROGRAM.id, id="c", reason="mine"),
    x.accepted("c", text="All refunds"),
    x.accepted("new", change=Change.RELAXED),
    e.ObligationWaived(by=PROGRAM.id, id="o", reason="mine"),
    e.ObligationTransferred(by=PROGRAM.id, id="o", reason="mine", to="agent:other"),
    e.EffectReconciled(attempt=1, evidence="I saw it", found="happened", key=x.ONE, method="person"),
]


@pytest.mark.parametrize("who", [PROGRAM, FOR_AGENT], ids=["agent", "service"])
@pytest.mark.parametrize("event", NOT_FOR_AGENTS, ids=lambda event: f"{event.name}")
def test_an_agent_imports_nothing_that_is_not_for_it_to_say(
    ledger: Ledger, event: e.Event, who: Actor
) -> None:
    before = ledger.contract("r")
    with pytest.raises(NotForAgents) as refused:
        ledger.import_events("r", [e.CursorMoved(node="n"), event], expected=before.position, actor=who)
    assert refused.value.evidence == {"actor": PROGRAM.id, "event": event.name}
    assert ledger.contract("r") == before
    ledger.import_events("r", [event], expected=before.position, actor=Actor(KIM))


def test_what_begins_with_it_is_a_run_of_its_own(ledger: Ledger) -> None:
    events = [e.RunOpened(goal="g"), x.accepted("c"), x.accepted("c", text="Some refunds")]
    assert ledger.import_events("mine", events, expected=0, actor=PROGRAM).position == 3
    with pytest.raises(NotForAgents):
        ledger.import_events("mine", events[2:], expected=3, actor=PROGRAM)


def test_it_imports_what_it_did(ledger: Ledger) -> None:
    did = [x.accepted("new"), x.intended(), x.started(), e.EffectSucceeded(attempt=1, key=x.ONE)]
    done = [*did, e.RunClosed(outcome=Ending.COMPLETED)]
    assert ledger.import_events("r", done, expected=2, actor=PROGRAM).position == 2 + len(done)
