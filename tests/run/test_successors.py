"""Successors: what they take over from the run that was restarted, what is dropped and why."""

from __future__ import annotations

from datetime import timedelta

from ledger import events as e
from ledger.run.decision import Admitted
from ledger.testing import START, given
from ledger.values import Ending, Limits, Runtime, Source, Step
from tests.run import examples as x
from tests.run.lineages import (
    DAY,
    KIM,
    PROGRAM,
    REFUNDS,
    WITHDRAWN,
    child,
    eur,
    fork,
    published,
    restart,
)

BUSY = given(
    x.opened(
        labels={"team": "care"},
        limits=Limits(steps=9),
        owner="human:kim",
        rests_on=("observation:stock",),
        runtime=Runtime(model="m-1"),
        thread="t-1",
    ),
    published("limit-100", x.LIMIT),
    published("kind", "Be kind"),
    x.accepted("noon", text="Before noon", valid_until=START + timedelta(hours=1)),
    e.AssumptionMade(id="so", text="It is so"),
    e.AssumptionMade(id="hence", text="Hence that", rests_on=("assumption:so",)),
    e.AssumptionMade(id="firm", text="That holds", rests_on=("observation:price",)),
    e.ObligationOpened(id="tell", owed_to="customer:17", text="Mail the customer", due=START + DAY),
    x.granted(budget=eur("100"), expires_at=START + DAY, session="s-1"),
    x.observed(),
    x.observed("price", fresh_for=60),
    x.observed("rain"),
    e.ObservationInvalidated(key="price", reason="an old list"),
    e.PlanCommitted(steps=(Step(name="pay", tool="refund", rests_on=("assumption:so",)),)),
    x.message(),
    x.intended(authority=("refunds",), reserved=eur("10"), step="pay"),
    x.started(),
    e.EffectSucceeded(key=x.ONE, attempt=1, cost=eur("10")),
    x.intended(x.TWO, act="b" * 64, authority=("refunds",), reserved=eur("30"), step="pay"),
    x.started(x.TWO),
    e.CursorMoved(node="pay"),
    e.AssumptionRefuted(id="so", evidence="It is not"),
    actor=PROGRAM,
    sources=[WITHDRAWN],
)
LATER = BUSY.later(hours=2).by(KIM)


def test_a_restart_closes_the_run_and_opens_its_successor_with_what_holds_and_what_is_open() -> None:
    contract = BUSY.contract
    after = LATER.when(restart()).then(
        e.RunClosed(
            by="human:kim",
            obligations=("tell",),
            outcome=Ending.RESTARTED,
            reason="it cannot go on",
            successor="run-2",
            unsettled=(x.TWO,),
        ),
        beside={
            "run-2": (
                x.opened(
                    require_authority=True,
                    labels={"team": "care"},
                    limits=Limits(steps=9),
                    owner="human:kim",
                    parent=e.Parent(position=22, relation="successor", root="run-1", run="run-1"),
                    rests_on=("observation:stock",),
                    runtime=Runtime(model="m-1"),
                    thread="t-1",
                ),
                e.RunRestarted(
                    by="human:kim",
                    dropped=(
                        e.Dropped(
                            reason="policy:refunds withdrew it at its position 2 by human:kim: replaced",
                            ref="constraint:limit-100",
                        ),
                        e.Dropped(
                            reason="it was valid until 2026-01-01T01:00:00+00:00", ref="constraint:noon"
                        ),
                        e.Dropped(reason="it was refuted: It is not", ref="assumption:so"),
                        e.Dropped(reason="it rests on a refuted assumption", ref="assumption:hence"),
                    ),
                    effects_done=1,
                    predecessor="run-1",
                    predecessor_hash=contract.hash,
                    predecessor_position=22,
                    reason="it cannot go on",
                    unsettled=(
                        e.InheritedEffect(
                            act="b" * 64,
                            attempt=1,
                            key=x.TWO,
                            position=19,
                            recovery=x.intended().recovery,
                            run="run-1",
                            status="executing",
                            tool="refund",
                        ),
                    ),
                ),
                e.AssumptionMade(id="firm", text="That holds", rests_on=("observation:price",)),
                published("kind", "Be kind"),
                x.observed(),
                x.observed("price", fresh_for=60),
                e.ObservationInvalidated(key="price", reason="an old list"),
                e.ObligationOpened(
                    id="tell", owed_to="customer:17", text="Mail the customer", due=START + DAY
                ),
                x.granted(
                    budget=eur("60.00"),
                    carved_from=e.GrantOrigin(id="refunds", position=9, run="run-1"),
                    expires_at=START + DAY,
                    session="s-1",
                ),
            )
        },
    )
    successor = after.other("run-2").contract
    assert (successor.predecessor, successor.root, successor.plan) == ("run-1", "run-1", None)
    assert [(one.key, one.inherited_from) for one in successor.effects] == [(x.TWO, "run-1")]
    assert successor.tally.effects_done == 1
    closed = after.contract.closed
    assert closed is not None
    assert (closed.successor, closed.outcome) == ("run-2", "restarted")


def test_nothing_is_dropped_without_a_reason_and_nothing_withdrawn_is_passed_on() -> None:
    named = [one.id for one in LATER.when(restart()).after.other("run-2").contract.constraints]
    assert named == ["kind"]
    still = LATER.beside(REFUNDS).when(restart()).after.other("run-2").contract
    assert [one.id for one in still.constraints] == ["limit-100", "kind"]


def test_the_goal_is_not_passed_on_where_it_rests_on_what_was_refuted() -> None:
    wrong = given(
        x.opened(rests_on=("assumption:hence",)),
        e.AssumptionMade(id="so", text="It is so"),
        e.AssumptionMade(id="hence", text="Hence that", rests_on=("assumption:so",)),
        e.AssumptionRefuted(id="so", evidence="It is not"),
    )
    wrong.when(restart()).then_refused("contract_changed", position=1)
    after = wrong.when(restart(goal="Ask first", rests_on=("assumption:asked",))).after.other("run-2")
    assert (after.contract.goal.text, after.contract.goal.rests_on) == ("Ask first", ("assumption:asked",))


def test_a_restart_said_again_is_a_repeat_and_any_other_meets_a_closed_run() -> None:
    after = LATER.when(restart()).after
    closed = after.position
    after.when(restart()).then_stands_at(closed)
    for other in (restart(reason="else"), restart(by="human:lee"), restart(as_run="run-3")):
        after.when(other).then_refused("run_is_closed", position=closed)
    BUSY.also(x.CLOSED).by(KIM).when(restart()).then_refused("run_is_closed")


def test_a_successor_takes_no_name_that_is_taken() -> None:
    LATER.among(given(x.opened(), run="run-2")).when(restart()).then_refused("run_exists", position=1)


def test_a_successor_needs_a_grant_for_each_act_where_its_ancestor_did_and_none_is_left() -> None:
    revoked = given(
        x.opened(), x.granted(), e.AuthorityRevoked(by="human:kim", id="refunds", reason="enough")
    )
    successor = revoked.when(restart()).after.other("run-2")
    assert successor.records[-1].event == e.AuthorityRevoked(by="human:kim", id="refunds", reason="enough")
    assert successor.contract.authority_needed
    going_on = revoked.also(x.SUSPENDED, x.RESUMED).when(restart()).after.other("run-2")
    assert going_on.contract.authority_needed
    never = given(x.opened(require_authority=True)).when(restart()).after.other("run-2")
    assert never.contract.authority_needed
    assert not given(x.opened()).when(restart()).after.other("run-2").contract.authority_needed


def test_a_successor_of_a_successor_is_of_the_same_lineage() -> None:
    second = LATER.when(restart()).after.other("run-2").by(KIM)
    third = second.when(restart(as_run="run-3")).after.other("run-3").contract
    assert (third.root, third.predecessor, third.tally.effects_done) == ("run-1", "run-2", 1)
    assert [(one.key, one.inherited_from, one.position) for one in third.effects] == [(x.TWO, "run-1", 19)]


def test_how_far_the_sources_were_read_is_passed_on() -> None:
    source = x.POLICY.with_fields({"revision": "2"})
    read = e.RevisionAcknowledged(by="human:kim", source=source, source_position=2)
    history = given(x.opened(), published("kind", "Be kind"), read, actor=PROGRAM, sources=[REFUNDS])
    again = e.RevisionAcknowledged(
        by="human:kim", reason="as 'run-1' states at its position 3", source=source, source_position=2
    )
    for asked in (restart(), child(by="human:kim"), fork(3, by="human:kim")):
        decision = history.by(KIM).when(asked).decision
        assert isinstance(decision, Admitted)
        assert again in decision.beside[asked.as_run]


def test_no_run_that_performs_succeeds_a_fork() -> None:
    given(*x.FORK_EVENTS).by(KIM).when(restart()).then_refused("effects_disabled")


def test_a_successor_knows_how_far_its_ancestor_has_read_the_sources() -> None:
    read = e.RevisionAcknowledged(
        by="human:kim", source=Source("policy", "refunds", revision="5"), source_position=2
    )
    heir = given(x.opened(), published("kind", "Be kind"), read, sources=[REFUNDS]).when(restart()).after
    assert [(one.position, one.revision) for one in heir.other("run-2").contract.sources] == [(2, "5")]
    never = given(x.opened(), published("kind", "Be kind"), sources=[REFUNDS]).when(restart()).after
    assert [(one.position, one.revision) for one in never.other("run-2").contract.sources] == [(1, "4")]
