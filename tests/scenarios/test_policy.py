"""A policy that the run relies on is withdrawn, reworded, or revised elsewhere, while it sleeps or works."""

from __future__ import annotations

import pytest

from ledger import Ledger, Reading, Source, Verdict
from ledger.commands import AcceptConstraint, AcknowledgeRevision
from ledger.errors import ContractChanged, RunIsClosed, RunIsHeld
from ledger.events import Dropped, RunRestarted
from ledger.values import Change
from tests.scenarios.conftest import Begin
from tests.scenarios.desk import Desk
from tests.scenarios.scene import KIM, LIMIT, RUN, Scene, accept

LESS = "Never refund more than 50 EUR"


def under_the_policy(desk: Desk) -> None:
    """Open a run that accepted a rule of the policy, and let it pay."""
    desk.scene.publish("4", {"limit-100": LIMIT})
    accept(desk.scene.begin())
    pay(desk.scene)


def pay(scene: Scene, run: str = RUN, order: int = 17) -> None:
    scene.program().run(run).perform(scene.till.tool(), {"order": order}, step=f"pay-{order}")


def slept(scene: Scene, run: str = RUN) -> None:
    scene.program().run(run).suspend(reason="night")


# --- withdrawn -----------------------------------------------------------------------------------------


def test_a_run_whose_rule_was_withdrawn_is_restarted_and_its_successor_pays_nothing_again(
    begin: Begin,
) -> None:
    desk = begin()
    scene = desk.scene
    under_the_policy(desk)
    slept(scene)
    scene.withdraw()
    said = desk.is_held("restart", "constraint_withdrawn")
    assert said.cleared_by == ["run.restarted"]
    with pytest.raises(RunIsHeld):
        pay(scene)
    desk.restart("refund-17b")
    second = scene.records("refund-17b")[1].event
    assert isinstance(second, RunRestarted)
    (dropped,) = second.dropped
    assert isinstance(dropped, Dropped)
    assert (dropped.ref, "human:kim: replaced" in dropped.reason) == ("constraint:limit-100", True)
    pay(scene, "refund-17b")
    pay(scene, "refund-17b", order=18)
    assert scene.till.orders == [17, 18]
    with pytest.raises(RunIsClosed):
        pay(scene, order=19)
    slept(scene, "refund-17b")
    desk.goes_on("refund-17b")
    assert scene.is_sound()


def test_a_live_run_learns_of_a_withdrawal_at_its_next_claim(scene: Scene) -> None:
    scene.publish("4", {"limit-100": LIMIT})
    run = scene.begin()
    accept(run)
    run.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    scene.withdraw()
    with pytest.raises(ContractChanged):
        run.perform(scene.till.tool(), {"order": 18}, step="pay-18")
    assert scene.till.orders == [17]
    assert run.contract.effects == ()


def test_a_live_run_that_a_withdrawal_does_not_touch_goes_on(scene: Scene) -> None:
    scene.publish("4", {"limit-100": LIMIT, "tell": "Tell the customer"})
    run = scene.begin()
    accept(run)
    scene.withdraw("tell")
    run.perform(scene.till.tool(), {"order": 17}, step="pay-17")
    assert scene.till.orders == [17]


# --- reworded --------------------------------------------------------------------------------------------


def test_a_reworded_rule_is_accepted_anew(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    under_the_policy(desk)
    slept(scene)
    scene.publish("5", {"limit-100": LESS})
    said = desk.is_held("replan", "constraint_reworded", "source_revised")
    assert set(said.cleared_by) == {"constraint.accepted", "constraint.revision_acknowledged"}
    desk.say(
        AcceptConstraint(
            id="limit-100",
            text=LESS,
            source=Source("policy", "refunds", revision="5"),
            asserted_by="human:kim",
            change=Change.TIGHTENED,
        )
    )
    desk.goes_on()
    pay(scene)
    assert scene.till.orders == [17]
    (bound,) = scene.program().run(RUN).contract.constraints
    assert bound.text == LESS
    assert scene.is_sound()


def test_a_person_may_say_that_the_old_words_still_stand(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    under_the_policy(desk)
    slept(scene)
    scene.publish("5", {"limit-100": LESS})
    desk.is_held("replan", "constraint_reworded", "source_revised")
    revision = Source("policy", "refunds", revision="5")
    desk.say(AcknowledgeRevision(source=revision, by="human:kim", reason="not for this order"))
    desk.goes_on()
    pay(scene)
    (bound,) = scene.program(KIM).contract(RUN).constraints
    assert bound.text == LIMIT
    assert scene.till.orders == [17]


def test_a_revision_that_touches_none_of_its_rules_is_acknowledged(begin: Begin) -> None:
    desk = begin()
    scene = desk.scene
    under_the_policy(desk)
    slept(scene)
    scene.publish("5", {"limit-100": LIMIT, "tell": "Tell the customer"})
    said = desk.is_held("replan", "source_revised")
    assert said.cleared_by == ["constraint.revision_acknowledged"]
    revision = Source("policy", "refunds", revision="5")
    desk.say(AcknowledgeRevision(source=revision, by="human:kim"))
    desk.goes_on()
    pay(scene)
    pay(scene, order=18)
    assert scene.till.orders == [17, 18]


def test_a_revision_of_another_source_says_nothing_to_it(begin: Begin) -> None:
    desk = begin()
    under_the_policy(desk)
    slept(desk.scene)
    desk.scene.program(KIM).source("policy:mails").publish("1", {"a": "Be polite"}, by="human:kim")
    desk.goes_on()


# --- read outside when the run is resumed ------------------------------------------------------------


class Wiki:
    """Where the policy is really written; a reader fetches it from there."""

    def __init__(self) -> None:
        self.revision, self.says = "4", {"limit-100": LIMIT}
        self.read = 0

    def fetch(self, source: str) -> Reading:
        self.read += 1
        return Reading(self.revision, dict(self.says))


def follows_the_wiki(scene: Scene, wiki: Wiki) -> Ledger:
    """Start a program that knows how to read policies."""
    ledger = scene.program()
    ledger.sources.register("policy", wiki.fetch, check_every=3600, by="human:kim")
    return ledger


def test_what_the_policy_says_outside_is_read_before_the_run_goes_on(scene: Scene) -> None:
    wiki = Wiki()
    ledger = follows_the_wiki(scene, wiki)
    scene.publish("4", wiki.says)
    run = ledger.open_run(RUN, "Refund order 17")
    accept(run)
    pay(scene)
    run.suspend(reason="night")
    assert ledger.resume(RUN).verdict is Verdict.CONTINUE
    assert wiki.read == 1

    # Nobody told the ledger: the rule is reworded in the wiki, and later gone from it.
    slept(scene)
    wiki.revision, wiki.says = "5", {"limit-100": LESS}
    scene.clock.tick(2 * 3600)
    said = ledger.resume(RUN)
    assert (said.verdict, wiki.read) == (Verdict.REPLAN, 2)
    assert {one.kind for one in said.reasons} == {"constraint_reworded", "source_revised"}
    source = Source("policy", "refunds", revision="5")
    person = scene.program(KIM).run(RUN)
    person.accept("limit-100", LESS, source=source, asserted_by="human:kim", change="tightened")
    assert ledger.resume(RUN).verdict is Verdict.CONTINUE

    slept(scene)
    wiki.revision, wiki.says = "6", {"tell": "Tell the customer"}
    scene.clock.tick(2 * 3600)
    said = ledger.resume(RUN)
    assert (said.verdict, said.reasons[0].kind) == (Verdict.RESTART, "constraint_withdrawn")
    scene.program(KIM).restart(RUN, as_="refund-17b", reason="gone", by="human:kim")
    assert ledger.resume("refund-17b").verdict is Verdict.CONTINUE
    pay(scene, "refund-17b")
    assert scene.till.orders == [17]
    assert scene.is_sound()


def test_a_policy_that_cannot_be_read_is_told_and_not_taken_for_unchanged(scene: Scene) -> None:
    wiki = Wiki()
    ledger = follows_the_wiki(scene, wiki)
    scene.publish("4", wiki.says)
    run = ledger.open_run(RUN, "Refund order 17")
    accept(run)
    run.suspend(reason="night")
    scene.clock.tick(2 * 3600)

    def down(source: str) -> Reading:
        raise ConnectionError("the wiki is down")

    ledger.sources.register("policy", down, check_every=3600, by="human:kim")
    said = ledger.resume(RUN)
    assert [one.kind for one in said.reasons] == ["source_unchecked"]
    assert [one.ok for one in said.checked] == [False]
    follows = follows_the_wiki(scene, wiki)
    assert follows.resume(RUN).verdict is Verdict.CONTINUE
