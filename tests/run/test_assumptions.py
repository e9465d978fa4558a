"""Assumptions are made once, refuted with evidence, and kept refuted while something open rests on them."""

from __future__ import annotations

import pytest

from ledger import events as e
from ledger.commands import MakeAssumption, RefuteAssumption
from ledger.run.assumptions import to_look_up
from ledger.testing import given
from ledger.values import ErrorSaid, Step
from tests.run import examples as x

MADE = e.AssumptionMade(id="in-stock", text="The goods came back", by="human:kim")
MAKE = MakeAssumption(id="in-stock", text="The goods came back", by="human:kim")
REFUTED = e.AssumptionRefuted(id="in-stock", evidence="an empty shelf", by="human:lee")
RESTS = ("assumption:in-stock",)


def test_an_assumption_is_made_once() -> None:
    history = given(x.opened()).when(MAKE).then(MADE)
    assert [item.id for item in history.contract.assumptions] == ["in-stock"]
    history.when(MAKE).then_stands_at(2)


@pytest.mark.parametrize("change", [{"text": "other"}, {"by": "human:lee"}])
def test_its_id_with_other_content_is_refused(change: dict[str, object]) -> None:
    given(x.opened(), MADE).when(MAKE.model_copy(update=change)).then_refused("id_in_use", position=2)


def test_a_refutation_names_evidence_and_who() -> None:
    history = given(x.opened(rests_on=RESTS), MADE)
    command = RefuteAssumption(id="in-stock", evidence="an empty shelf", by="human:lee")
    (item,) = history.when(command).then(REFUTED).contract.assumptions
    assert item.refuted is not None
    assert (item.refuted.evidence, item.refuted.by, item.refuted.position) == (
        "an empty shelf",
        "human:lee",
        3,
    )


def test_what_was_never_assumed_cannot_be_refuted() -> None:
    given(x.opened()).when(RefuteAssumption(id="in-stock", evidence="an empty shelf")).then_refused(
        "not_open"
    )


def refute(evidence: str, by: str | None = None) -> RefuteAssumption:
    return RefuteAssumption(id="in-stock", evidence=evidence, by=by)


def test_evidence_is_heard_after_the_contract_let_go_and_told_again_a_repeat() -> None:
    gone = given(x.opened(), MADE, REFUTED)
    assert gone.contract.assumptions == ()
    gone.when(refute("an empty shelf", "human:lee"), prior=gone.records[1:]).then_stands_at(3)
    new = e.AssumptionRefuted(id="in-stock", evidence="the camera")
    more = gone.when(refute("the camera"), prior=gone.records[1:]).then(new)
    assert more.contract.assumptions == ()
    more.when(refute("the camera"), prior=more.records[1:]).then_stands_at(4)
    more.when(refute("an empty shelf", "human:lee"), prior=more.records[1:]).then_stands_at(3)


@pytest.mark.parametrize("stopped", [x.SUSPENDED, x.HELD, x.CLOSED, x.RESUMED], ids=lambda one: one.name)
def test_late_evidence_is_heard_whatever_became_of_the_run_and_of_its_writer(stopped: e.Event) -> None:
    gone = given(x.opened(), MADE, REFUTED, stopped)
    for writer in ("agent:refunds", "human:kim"):
        gone.by(writer).when(refute("the camera"), incarnation=1, prior=gone.records[1:3]).then(
            e.AssumptionRefuted(id="in-stock", evidence="the camera")
        )


def test_evidence_of_before_says_nothing_of_what_is_assumed_once_more() -> None:
    again = given(x.opened(), MADE, REFUTED, MADE)
    assert to_look_up(given(x.opened(), MADE, REFUTED).contract, refute("the camera"))
    assert not to_look_up(again.contract, refute("the camera"))
    again.when(refute("an empty shelf", "human:lee"), prior=again.records[1:]).then(REFUTED)


def test_evidence_between_the_first_and_the_last_is_looked_up() -> None:
    history = given(x.opened(rests_on=RESTS), MADE, REFUTED)
    assert not to_look_up(history.contract, refute("a"))
    for evidence in ("a", "b", "c"):
        history = history.also(e.AssumptionRefuted(id="in-stock", evidence=evidence))
    assert to_look_up(history.contract, refute("b"))
    history.when(refute("b"), prior=history.records[1:]).then_stands_at(5)


def test_what_else_the_store_holds_is_no_sign_of_an_assumption() -> None:
    history = given(x.opened(), x.observed("in-stock"))
    history.when(refute("the camera"), prior=history.records[1:]).then_refused("not_open")


def test_an_assumption_that_holds_on_other_grounds_is_stated_on_them() -> None:
    ground = e.AssumptionMade(id="count", text="The count is right")
    resting = MADE.with_fields({"rests_on": ("assumption:count",)})
    doubted = given(x.opened(), ground, resting, e.AssumptionRefuted(id="count", evidence="a recount"))
    assert [item.id for item in doubted.contract.assumptions] == ["count", "in-stock"]
    again = MAKE.model_copy(update={"rests_on": ("observation:shelf",)})
    held = doubted.also(x.HELD).when(again).then(MADE.with_fields({"rests_on": ("observation:shelf",)}))
    (item,) = held.contract.assumptions
    assert (item.id, item.rests_on, item.position) == ("in-stock", ("observation:shelf",), 6)
    held.when(again).then_stands_at(6)


def test_a_refutation_told_again_is_a_repeat_and_more_evidence_is_recorded() -> None:
    history = given(x.opened(rests_on=RESTS), MADE, REFUTED)
    history.when(RefuteAssumption(id="in-stock", evidence="an empty shelf", by="human:lee")).then_stands_at(3)
    more = history.when(RefuteAssumption(id="in-stock", evidence="the camera")).then(
        e.AssumptionRefuted(id="in-stock", evidence="the camera")
    )
    (item,) = more.contract.assumptions
    assert item.refuted is not None
    assert item.refuted.evidence == "an empty shelf"


def test_what_was_refuted_cannot_be_assumed_again_while_it_is_held() -> None:
    given(x.opened(rests_on=RESTS), MADE, REFUTED).when(MAKE).then_refused("id_in_use", position=2)


def test_a_refuted_assumption_that_nothing_rests_on_leaves_at_once_and_its_id_is_free() -> None:
    history = given(x.opened(), MADE, REFUTED)
    assert history.contract.assumptions == ()
    history.when(MAKE).then(MADE)


@pytest.mark.parametrize(
    ("resting", "letting_go"),
    [
        ((), (e.GoalRevised(by="human:kim", reason="r", text="else"),)),
        (
            (e.PlanCommitted(steps=(Step(name="a", rests_on=RESTS),)),),
            (e.PlanRevised(reason="r", steps=(Step(name="b"),)),),
        ),
        ((x.intended(rests_on=RESTS), x.started()), (e.EffectSucceeded(key=x.ONE, attempt=1),)),
        (
            (x.intended(rests_on=RESTS), x.started()),
            (e.EffectFailed(key=x.ONE, attempt=1, error=ErrorSaid(message="no", type="No")),),
        ),
        (
            (x.intended(rests_on=RESTS), x.started()),
            (e.EffectReconciled(key=x.ONE, attempt=1, evidence="e", found="did_not_happen", method="probe"),),
        ),
        ((x.intended(rests_on=RESTS),), (x.intended(),)),
        ((e.CursorMoved(node="a", needs=RESTS),), (e.CursorMoved(node="b"),)),
        (
            (e.AssumptionMade(id="sold-out", text="else", rests_on=RESTS),),
            (e.AssumptionRefuted(id="sold-out", evidence="seen"),),
        ),
    ],
)
def test_it_stays_while_something_open_rests_on_it_and_leaves_after(
    resting: tuple[e.Event, ...], letting_go: tuple[e.Event, ...]
) -> None:
    first = x.opened(rests_on=() if resting else RESTS)
    history = given(first, MADE, *resting, REFUTED)
    assert "in-stock" in [item.id for item in history.contract.assumptions]
    assert history.also(*letting_go).contract.assumptions == ()


def test_what_a_refuted_assumption_rested_on_is_not_kept_by_it() -> None:
    history = given(
        x.opened(rests_on=("assumption:upper",)),
        e.AssumptionMade(id="lower", text="one"),
        e.AssumptionMade(id="upper", text="two", rests_on=("assumption:lower",)),
        e.AssumptionRefuted(id="lower", evidence="seen"),
    )
    assert [item.id for item in history.contract.assumptions] == ["lower", "upper"]
    kept = history.also(e.AssumptionRefuted(id="upper", evidence="seen")).contract.assumptions
    assert [item.id for item in kept] == ["upper"]


def test_each_evidence_is_heard_once_however_often_it_is_told() -> None:
    history = given(
        x.opened(),
        e.AssumptionMade(id="a", text="x"),
        e.AssumptionMade(id="b", text="y", rests_on=("assumption:a",)),
    )
    one, two = RefuteAssumption(evidence="one", id="a"), RefuteAssumption(evidence="two", id="a")
    history = history.when(one).then(e.AssumptionRefuted(evidence="one", id="a"))
    history.when(one).then_stands_at(4)
    history = history.when(two).then(e.AssumptionRefuted(evidence="two", id="a"))
    history.when(two).then_stands_at(5)
    history.when(one).then_stands_at(4)
