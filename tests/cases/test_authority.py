"""Who may say what in whose name: answers, names that are passed on, and what acts were admitted under."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger, Rule, Source, open_ledger
from ledger import commands as c
from ledger.application.edge import Edge
from ledger.errors import ApprovalRequired, IdInUse, InvalidInput, NotAuthenticated, NotForAgents
from ledger.events import ApprovalAnswered, AuthorityCarved, AuthorityGranted, EffectIntended
from ledger.testing import Clock
from tests.cases.conftest import Another

PROGRAM = Actor("agent:refunds", session="s-1")
DESK = Actor("service:desk")
KIM, LEE = "human:kim", "human:lee"


def pay(order: int) -> dict[str, int]:
    return {"paid": order}


def asks(ledger: Ledger, order: int = 17, run: str = "r") -> str:
    """Let the program pay, and return the id under which a person is asked."""
    with pytest.raises(ApprovalRequired) as asked:
        pays(ledger, order, run)
    return asked.value.id


def pays(ledger: Ledger, order: int = 17, run: str = "r") -> Any:
    return ledger.run(run, actor=PROGRAM).perform("pay", {"order": order}, pay, needs_approval=True)


def answers(ledger: Ledger) -> list[Any]:
    return [record for record in ledger.log("r") if isinstance(record.event, ApprovalAnswered)]


# --- who answers ---------------------------------------------------------------------------------


def test_an_answer_names_a_person_and_who_wrote_it_and_how_that_was_proven(
    ledger: Ledger, another: Another
) -> None:
    """Case-001: an answer of nobody, or of no person, cannot be said; the rest is in the record."""
    ledger.open_run("r", "Refund order 17", actor=PROGRAM)
    id = asks(ledger)
    for nobody in (None, "", "kim", "human:", "service:desk"):
        said: Any = nobody
        with pytest.raises(InvalidInput):
            another().approve(id, by=said)
    without: Any = {"answer": "approved", "id": id}
    with pytest.raises(InvalidInput):
        c.AnswerApproval(**without)
    assert answers(ledger) == []
    proven = Actor(KIM, authenticated_by="oidc:example", session="w-7")
    another().approve(id, by=KIM, actor=proven)
    (record,) = answers(ledger)
    assert (record.event.by, record.actor) == (KIM, proven)
    assert pays(another()) == {"paid": 17}


PROVEN_KIM = Actor(KIM, authenticated_by="oidc:example")
PROVEN_DESK = Actor("service:desk", authenticated_by="mtls", on_behalf_of=(KIM,))


@pytest.mark.parametrize(
    ("actor", "by"),
    [
        (None, KIM),
        (Actor(KIM), KIM),
        (Actor("service:desk", on_behalf_of=(KIM,)), KIM),
        (Actor("service:desk", authenticated_by="mtls"), KIM),
        (PROVEN_KIM, LEE),
        (PROVEN_DESK, LEE),
        (Actor("service:desk", authenticated_by="mtls", on_behalf_of=(LEE, KIM)), KIM),
    ],
    ids=["nobody", "unproven", "unproven service", "for nobody", "another", "for another", "not the nearest"],
)
@pytest.mark.parametrize("answer", ["approve", "deny"])
def test_where_only_authenticated_people_are_heard_no_other_answer_is_taken(
    clock: Clock, ledger: Ledger, actor: Actor | None, by: str, answer: str
) -> None:
    """Case-001: it is refused and not recorded, for what is recorded is counted whoever reads it."""
    strict = Ledger(Edge(ledger.store, "default", DESK, clock, authenticated_answers=True))
    ledger.open_run("r", "Refund order 17", actor=PROGRAM)
    id = asks(ledger)
    with pytest.raises(NotAuthenticated) as refused:
        getattr(strict, answer)(id, by=by, actor=actor)
    assert refused.value.evidence == {"by": by, "id": id}
    assert answers(ledger) == []
    assert asks(strict) == id


@pytest.mark.parametrize("actor", [PROVEN_KIM, PROVEN_DESK], ids=["the person", "who passes it on"])
def test_where_only_authenticated_people_are_heard_they_are(tmp_path: Path, actor: Actor) -> None:
    """Case-001."""
    with open_ledger(tmp_path / "ledger.db", authenticated_answers=True) as ledger:
        ledger.open_run("r", "Refund order 17", actor=PROGRAM)
        id = asks(ledger)
        with pytest.raises(NotAuthenticated):
            ledger.approve(id, by=KIM)
        ledger.approve(id, by=KIM, actor=actor)
        assert pays(ledger) == {"paid": 17}
    anything: Any = "yes"
    with pytest.raises(InvalidInput):
        open_ledger(tmp_path / "ledger.db", authenticated_answers=anything)


def test_an_agent_answers_nothing_in_whatever_name(ledger: Ledger, another: Another) -> None:
    """Case-002: by itself, through a service, as a person, naming itself, or by handing in the event."""
    ledger.open_run("r", "Refund order 17", actor=PROGRAM)
    id = asks(ledger)
    through = Actor("service:desk", authenticated_by="mtls", on_behalf_of=("agent:refunds",))
    for actor in (PROGRAM, Actor("agent:helper"), through):
        with pytest.raises(NotForAgents):
            another().approve(id, by=KIM, actor=actor)
    with pytest.raises(NotForAgents):
        another().approve(id, by="agent:refunds", actor=DESK)
    assert answers(ledger) == []
    forged = ApprovalAnswered(answer="approved", by=KIM, id=id)
    for actor in (PROGRAM, through):
        position = ledger.contract("r").position
        another().import_events("r", [forged], expected=position, actor=actor)
    assert asks(another()) == id
    # Nor may it give itself what the act needs, or let go of what demands the approval.
    run = another().run("r", actor=PROGRAM)
    with pytest.raises(NotForAgents):
        run.grant("g", principal="agent:refunds", scopes=("*",), granted_by=KIM)
    with pytest.raises(NotForAgents):
        run.withdraw("ask", reason="in the way", by=KIM)


# --- in whose name -------------------------------------------------------------------------------


def test_each_event_says_who_wrote_it_in_whose_name_and_each_hop_of_a_grant_has_an_id(
    ledger: Ledger, another: Another
) -> None:
    """Case-003: a service passes on what a person decided, and a child acts on what its parent passed on."""
    ledger.open_run("r", "Refund order 17", actor=PROGRAM)
    desk = Actor("service:desk", authenticated_by="mtls", on_behalf_of=("service:gate", KIM))
    another().run("r", actor=desk).grant(
        "g", principal="agent:refunds", scopes=("pay",), granted_by=KIM, budget={"EUR": "100"}
    )
    program = Actor("service:runner", on_behalf_of=("agent:refunds", LEE))
    part = c.Carve(budget={"EUR": Decimal(40)}, id="g")
    ledger.run("r", actor=program).open_child("child", "Pay it back", grants=[part])
    id = asks(ledger, run="child")
    another().approve(id, by=KIM, actor=desk)
    assert pays(another(), run="child") == {"paid": 17}
    granted = next(r for r in ledger.log("r") if isinstance(r.event, AuthorityGranted))
    assert granted.actor == desk
    carved = next(r for r in ledger.log("r") if isinstance(r.event, AuthorityCarved))
    assert (carved.actor, carved.event.id) == (program, "g")  # type: ignore[attr-defined]
    (hop,) = ledger.contract("child").grants
    assert (hop.carved_from.run, hop.carved_from.id) == ("r", "g")  # type: ignore[union-attr]
    answered = next(r for r in ledger.log("child") if isinstance(r.event, ApprovalAnswered))
    assert answered.actor.on_behalf_of == ("service:gate", KIM)
    begun = [r for r in ledger.log("child") if isinstance(r.event, EffectIntended)]
    assert [r.event.authority for r in begun] == [(), (hop.id,)]  # type: ignore[attr-defined]
    assert begun[-1].actor == PROGRAM


# --- under which policy --------------------------------------------------------------------------


def test_an_act_is_bound_to_the_words_it_was_admitted_under_whatever_the_policy_says_later(
    ledger: Ledger, another: Another
) -> None:
    """Case-004: it is not mended under the same revision, and what was in force can still be read."""
    policy = ledger.source("policy:refunds")
    words = "A person approves each refund"
    policy.publish("4", {"ask": words})
    ledger.open_run("r", "Refund order 17", actor=PROGRAM)
    rule = Rule(tools=("pay",), needs_approval=True)
    desk = ledger.run("r", actor=DESK)
    desk.accept("ask", words, source=Source("policy", "refunds", revision="4"), asserted_by=KIM, rule=rule)
    another().approve(asks(ledger), by=KIM)
    pays(another())
    begun = [r for r in ledger.log("r") if isinstance(r.event, EffectIntended)][-1]
    with pytest.raises(IdInUse):
        policy.publish("4", {"ask": "Nobody approves anything"})
    policy.publish("5", {"ask": "Nobody approves anything"})
    desk.withdraw("ask", reason="no longer wanted", by=LEE)
    assert begun.terms is not None
    then = another().contract("r", at=begun.terms.position)
    assert then.terms.digest == begun.terms.digest
    assert [(one.id, one.text, one.source) for one in then.constraints] == [
        ("ask", words, Source("policy", "refunds", revision="4"))
    ]
    assert dict(begun.event.source_positions) == {"policy:refunds": 2}  # type: ignore[attr-defined]
    now = another().contract("r")
    assert now.terms.digest != begun.terms.digest
    assert now.constraints == ()
