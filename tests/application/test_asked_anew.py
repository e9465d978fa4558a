"""What the edge says of asking: a time that is over is none to answer by, and a fork looks at nothing."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from ledger import Actor, Ledger, Rule
from ledger.errors import EffectsDisabled, InvalidInput, NotForAgents
from ledger.gateway.tools import declare
from tests.application.approving import KIM, LEE, PROGRAM, Outside, asks, begin, opened, paying
from tests.application.conftest import SetClock
from tests.stores.conftest import KINDS


@pytest.fixture
def ledger(tmp_path: Any, clock: SetClock) -> Ledger:
    return opened(KINDS["memory"](tmp_path), clock, [paying(Outside())])


@pytest.mark.parametrize("seconds", [0, -1])
def test_nobody_is_asked_for_an_answer_by_a_time_that_is_over(
    ledger: Ledger, clock: SetClock, seconds: int
) -> None:
    begin(ledger)
    key = asks(ledger).data["key"]
    before = ledger.contract("r")
    with pytest.raises(InvalidInput) as refused:
        ledger.run("r", actor=Actor(KIM)).request_approval(
            key, expires_at=clock.now + timedelta(seconds=seconds)
        )
    assert refused.value.path == "expires_at"
    assert ledger.contract("r") == before
    ledger.run("r", actor=Actor(KIM)).request_approval(key, expires_at=clock.now + timedelta(seconds=1))
    assert ledger.contract("r").approvals[0].requested_by == KIM


def test_a_time_without_a_zone_is_refused_as_everywhere(ledger: Ledger) -> None:
    begin(ledger)
    key = asks(ledger).data["key"]
    for time in (datetime(2020, 1, 1), "soon"):  # noqa: DTZ001
        with pytest.raises(InvalidInput) as refused:
            ledger.run("r", actor=Actor(KIM)).request_approval(key, expires_at=time)  # type: ignore[arg-type]
        assert refused.value.path == "expires_at"


def test_an_agent_is_told_that_it_does_not_word_the_question(ledger: Ledger) -> None:
    begin(ledger)
    key = asks(ledger).data["key"]
    with pytest.raises(NotForAgents, match="leave out the question"):
        ledger.run("r", actor=PROGRAM).request_approval(key, question="Routine")
    assert ledger.run("r", actor=PROGRAM).request_approval(key).repeated
    ledger.run("r", actor=Actor(LEE)).request_approval(key, question="Really?")


def test_a_fork_is_told_of_a_forbidden_look_in_the_order_of_the_call(ledger: Ledger) -> None:
    look = declare(lambda of: of, name="search", recovery="read_only")
    begin(ledger)
    run = ledger.run("r", actor=Actor(KIM))
    run.accept("never", "Look at nothing", asserted_by=KIM, rule=Rule(deny=("search",)))
    ledger.fork("r", as_="f", at=2, actor=Actor(KIM))
    fork = ledger.run("f", actor=PROGRAM)
    found = fork.may(look, {"of": "tea"})
    assert [one.rule for one in found.objections] == ["effects_disabled", "constraint_violated"]
    with pytest.raises(EffectsDisabled):
        fork.perform(look, {"of": "tea"})
    ledger.run("f", actor=Actor(KIM)).close("cancelled", reason="x")
    found = fork.may(look, {"of": "tea"})
    assert [one.rule for one in found.objections][:2] == ["run_is_closed", "effects_disabled"]
