"""What a run had read of its sources, the runs that come from it know."""

from __future__ import annotations

import pytest

from ledger import Actor, Ledger, Source, Verdict, open_ledger
from ledger.testing import Clock

PERSON = Actor("human:kim")
AGENT = Actor("agent:refunds", session="s-1")


def acknowledged(ledger: Ledger) -> None:
    """Let a run accept a rule, and a person read the revision that came after."""
    policy = ledger.source("policy:refunds", actor=PERSON)
    policy.publish("1", {"limit": "At most 100 EUR"}, by="human:kim")
    run = ledger.open_run("first", goal="Refund order 17", actor=AGENT)
    source = Source("policy", "refunds")
    run.accept("limit", "At most 100 EUR", source=source, asserted_by="human:kim")
    policy.publish("2", {"limit": "At most 100 EUR", "card": "To the card that paid"}, by="human:kim")
    ledger.run("first", actor=PERSON).acknowledge(source, by="human:kim")


@pytest.mark.parametrize("relation", ["successor", "fork", "child"])
def test_nobody_has_to_read_again_what_was_read_for_the_run_it_comes_from(relation: str) -> None:
    with open_ledger(":memory:", clock=Clock()) as ledger:
        acknowledged(ledger)
        if relation == "successor":
            ledger.restart("first", as_="second", reason="another try", by="human:kim", actor=PERSON)
        elif relation == "fork":
            ledger.fork("first", as_="second", at=ledger.contract("first").position)
        else:
            ledger.run("first", actor=AGENT).open_child("second", "Mail the customer")
        (seen,) = ledger.contract("second").sources
        assert (seen.revision, seen.position) == ("2", ledger.source("policy:refunds").state.position)
        decision = ledger.resume("second", actor=AGENT)
        assert (decision.verdict, decision.reasons) == (Verdict.CONTINUE, ())
