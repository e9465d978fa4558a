"""Nothing that was said at length keeps a run from being held, or from being led out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ledger import Actor, Ledger, Source, Verdict, open_ledger
from ledger.application.verifying import verify
from ledger.events import RunRestarted
from ledger.testing import Clock

AGENT = Actor("agent:refunds", session="s-1")
KIM = Actor("human:kim")
CLOCK = Clock()


@pytest.fixture
def ledger() -> Iterator[Ledger]:
    with open_ledger(":memory:", clock=CLOCK) as opened:
        yield opened


def test_a_run_is_held_however_long_its_reasons_are(ledger: Ledger) -> None:
    run = ledger.open_run("r", goal="Refund orders", actor=AGENT)
    keys = [f"{number}-{'x' * 190}" for number in range(220)]
    refs = tuple(f"observation:{key}" for key in keys)
    for number in range(8):
        run.assume(f"{number}-{'ü' * 190}", "They stay so", rests_on=refs)
    for key in keys:
        run.observe(key, 1, tool="count", observed_at=CLOCK(), fresh_for=10)
    run.suspend(reason="closed", by=KIM.id)
    CLOCK.tick(3600)
    decision = ledger.resume("r", actor=AGENT)
    assert (decision.verdict, len(decision.reasons)) == (Verdict.REPLAN, 220)
    held = ledger.contract("r").held
    assert held is not None
    assert held.reasons[:-1] == decision.reasons[: len(held.reasons) - 1]
    assert f"{221 - len(held.reasons)} further" in held.reasons[-1].what
    assert ledger.resume("r", actor=AGENT).position == held.position


@pytest.mark.parametrize(("rules", "id"), [(150, "{}"), (600, "{:ü<200}")])
def test_a_run_is_restarted_however_much_was_withdrawn_and_with_how_many_words(
    ledger: Ledger, rules: int, id: str
) -> None:
    run = ledger.open_run("r", goal="Refund orders", actor=AGENT)
    ids = [id.format(number) for number in range(rules)]
    policy = ledger.source("policy:refunds")
    policy.publish("1", dict.fromkeys(ids, "Be kind"), by=KIM.id)
    for one in ids:
        run.accept(one, "Be kind", source=Source("policy", "refunds"), asserted_by=KIM.id)
    for one in ids:
        policy.withdraw(one, reason="x" * 4000, by=KIM.id)
    assert ledger.resume("r", actor=AGENT).verdict is Verdict.RESTART
    successor = ledger.restart("r", as_="r-2", reason="withdrawn", by=KIM.id, actor=KIM)
    assert successor.contract.constraints == ()
    (event,) = [one.event for one in ledger.log("r-2") if isinstance(one.event, RunRestarted)]
    if rules == 150:
        assert [one.ref for one in event.dropped] == [f"constraint:{one}" for one in ids]
    else:
        assert f"and {rules - len(event.dropped)} further" in event.dropped[-1].reason
    assert verify(ledger).findings == ()
