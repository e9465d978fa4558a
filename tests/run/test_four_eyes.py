"""Four eyes: nobody who asked for an act answers for it, or words as an agent what others are asked."""

from __future__ import annotations

import pytest

from ledger import commands as c
from ledger.run.approvals import asked_about
from ledger.run.contract import WINDOW
from ledger.run.decide import told
from ledger.run.decision import Refusal
from ledger.testing import given
from ledger.values import Actor
from tests.run import examples as x
from tests.run.approving import (
    AGENT,
    ASKING,
    KIM,
    LEE,
    anew,
    answer,
    approval,
    approved,
    asked,
    begins,
    denied,
)
from tests.run.claiming import KEY, Run, begun, not_know, succeed

BY_KIM = asked(ASKING.by(KIM)).by(AGENT)
QUESTION = approval(BY_KIM).question
FOR_AGENT = Actor("service:ui", on_behalf_of=(AGENT,))


def answers(run: Run, by: str) -> str | None:
    """Answer, and return by which rule it does not count."""
    after = answer(run, "approved", by)
    command = c.AnswerApproval(answer="approved", by=by, id=approval(run).id)
    refusal = told(after.contract, command, after.records[-1:])
    assert (approval(after).answered is None) == (refusal is not None)
    return None if refusal is None else refusal.rule


def test_who_asked_first_cannot_answer_because_an_agent_asked_anew() -> None:
    run = anew(BY_KIM.later(days=1), by=AGENT, expires_at=BY_KIM.now.replace(year=2030))
    assert (approval(run).requested_by, approval(run).requesters) == (AGENT, (KIM,))
    assert answers(run, KIM) == "not_by_requester"
    assert answers(run, LEE) is None


def test_none_of_several_who_asked_can_answer() -> None:
    run = anew(anew(BY_KIM, by=LEE, question="May it?"), by=AGENT, expires_at=BY_KIM.now.replace(year=2030))
    assert approval(run).requesters == (KIM, LEE)
    assert [answers(run, who) for who in (KIM, LEE, "human:max")] == [
        "not_by_requester",
        "not_by_requester",
        None,
    ]


def test_who_asked_is_remembered_when_it_was_answered_and_asked_anew() -> None:
    for said in (approved, denied):
        run = anew(said(BY_KIM, LEE), by=LEE, question="Once more?")
        assert answers(run, KIM) == "not_by_requester"


def test_it_is_forgotten_who_asked_once_the_act_was_done() -> None:
    done = begun(approved(BY_KIM, LEE)).when(succeed()).after
    assert asked_about(done.contract, KEY) is None


def test_as_many_are_remembered_as_of_all_that_is_bounded() -> None:
    run = BY_KIM
    for number in range(WINDOW + 1):
        run = anew(run, by=f"human:{number}", question=f"{number}?")
    assert len(approval(run).requesters) == WINDOW
    assert approval(run).requesters[-1] == f"human:{WINDOW - 1}"


def test_an_approval_by_somebody_else_lets_it_begin() -> None:
    run = anew(BY_KIM, by=AGENT, expires_at=BY_KIM.now.replace(year=2030))
    begins(approved(run, LEE))


# --- the question --------------------------------------------------------------------------------


@pytest.mark.parametrize("who", [AGENT, FOR_AGENT, Actor(AGENT, on_behalf_of=(KIM,))])
def test_an_agent_does_not_word_what_a_person_is_asked(who: str | Actor) -> None:
    command = c.RequestApproval(key=KEY, question="Routine refund of 1 EUR")
    refusal = BY_KIM.by(who).when(command).decision
    assert isinstance(refusal, Refusal)
    assert (refusal.rule, refusal.events) == ("not_for_agents", ())
    assert "leave out the question" in refusal.message


def test_an_agent_asks_anew_as_it_was_asked() -> None:
    """Saying the same words is no choice of words."""
    later = BY_KIM.now.replace(year=2030)
    for question in (None, QUESTION):
        assert approval(anew(BY_KIM, by=AGENT, question=question, expires_at=later)).question == QUESTION


def test_nor_does_it_where_nobody_was_asked_before() -> None:
    """What was begun without an approval may be asked about, too."""
    free = begun(given(x.opened(), actor=AGENT)).when(not_know()).after
    free.when(c.RequestApproval(key=KEY, question="Routine")).then_refused("not_for_agents")
    assert approval(anew(free, by=AGENT)).question is None


def test_a_person_words_it() -> None:
    assert approval(anew(BY_KIM, by=LEE, question="Really?")).question == "Really?"
