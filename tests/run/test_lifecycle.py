"""Runs are opened once, stopped, closed with what is left open, and fenced by a resume."""

from __future__ import annotations

from decimal import Decimal

import pytest

from ledger import events as e
from ledger.commands import CloseRun, Command, OpenRun, SuspendRun
from ledger.testing import given
from ledger.values import Ending, Labels, Limits, Runtime
from tests.run import examples as x

LEFT_OPEN = (
    x.opened(),
    e.ObligationOpened(id="tell", owed_to="customer:17", text="Mail the customer"),
    x.intended(),
    x.started(),
)


# --- opening -----------------------------------------------------------------------------------


def test_a_run_is_opened_with_all_it_was_given() -> None:
    command = OpenRun(
        goal="Refund order 17",
        labels={"team": "care"},
        limits=Limits(steps=3),
        owner="human:kim",
        rests_on=("assumption:in-stock",),
        runtime=Runtime(model="m-1"),
        thread="t-1",
    )
    fields = {name: getattr(command, name) for name in OpenRun.model_fields if name != "about"}
    contract = given().when(command).then(e.RunOpened(**fields)).contract
    assert (contract.status, contract.position, contract.incarnation) == ("open", 1, 1)
    assert (contract.goal.text, contract.goal.revision, contract.goal.position) == ("Refund order 17", 1, 1)
    assert (contract.labels, contract.limits) == ({"team": "care"}, Limits(steps=3))
    assert (contract.owner, contract.thread, contract.runtime) == ("human:kim", "t-1", Runtime(model="m-1"))
    assert contract.root == "run-1"


def test_opening_again_with_equal_content_stands_while_nothing_followed() -> None:
    fresh = given(x.opened(owner="human:kim"))
    fresh.when(OpenRun(goal="Refund order 17", owner="human:kim")).then_stands_at(1)
    moved = fresh.also(e.CursorMoved(node="look"))
    moved.when(OpenRun(goal="Refund order 17", owner="human:kim")).then_refused("run_exists", position=1)


@pytest.mark.parametrize(
    "other",
    [
        OpenRun(goal="Refund order 18"),
        OpenRun(goal="Refund order 17", owner="human:lee"),
        OpenRun(goal="Refund order 17", labels={"a": "b"}),
        OpenRun(goal="Refund order 17", limits=Limits(steps=1)),
        OpenRun(goal="Refund order 17", rests_on=("assumption:a",)),
        OpenRun(goal="Refund order 17", runtime=Runtime(model="m")),
        OpenRun(goal="Refund order 17", thread="t"),
    ],
)
def test_opening_again_with_other_content_is_refused(other: OpenRun) -> None:
    given(x.opened()).when(other).then_refused("run_exists", position=1)


@pytest.mark.parametrize("stopped", [x.SUSPENDED, x.HELD, x.CLOSED], ids=lambda event: event.name)
def test_a_run_that_stopped_exists_all_the_same(stopped: e.Event) -> None:
    history = given(x.opened(), stopped)
    decided = history.when(OpenRun(goal="Refund order 17"), incarnation=1)
    decided.then_refused("run_exists", position=1)
    assert decided.decision.evidence == {"run": "run-1", "status": history.contract.status}  # type: ignore[union-attr]


def test_a_run_that_succeeds_another_is_not_reopened_by_its_goal() -> None:
    successor = given(x.SUCCESSOR_EVENTS[0])
    successor.when(OpenRun(goal="Refund order 17")).then_refused("run_exists", position=1)


# --- suspending --------------------------------------------------------------------------------


def test_a_run_is_suspended_once_in_the_same_words() -> None:
    suspended = (
        given(x.opened())
        .when(SuspendRun(by="human:kim", reason="lunch"))
        .then(e.RunSuspended(by="human:kim", cause="asked", reason="lunch"))
    )
    assert suspended.contract.status == "suspended"
    assert suspended.contract.suspended is not None
    assert suspended.contract.suspended.reason == "lunch"
    suspended.when(SuspendRun(by="human:kim", reason="lunch")).then_stands_at(2)
    again = suspended.when(SuspendRun(reason="dinner")).then(e.RunSuspended(cause="asked", reason="dinner"))
    assert again.contract.suspended is not None
    assert again.contract.suspended.reason == "dinner"


def test_a_resume_begins_the_next_incarnation_and_ends_suspension_and_hold() -> None:
    before = given(x.opened(runtime=Runtime(model="m-1")), x.SUSPENDED, x.HELD)
    assert before.contract.status == "held"
    kept = before.later(hours=1).also(x.RESUMED).contract
    assert (kept.status, kept.incarnation, kept.suspended, kept.held) == ("open", 2, None, None)
    assert kept.resumed_at > kept.opened_at
    assert (kept.runtime, kept.runtime_position) == (Runtime(model="m-1"), 1)
    told = before.also(x.RESUMED.model_copy(update={"runtime": Runtime(model="m-2")})).contract
    assert (told.runtime, told.runtime_position) == (Runtime(model="m-2"), 4)


def test_a_refused_resume_holds_the_run_with_its_verdict() -> None:
    held = given(x.opened(), x.HELD).contract.held
    assert held is not None
    assert (held.verdict, held.position) == ("replan", 2)


# --- closing -----------------------------------------------------------------------------------


def test_a_run_with_nothing_open_is_completed_with_its_result() -> None:
    command = CloseRun(by="human:kim", outcome=Ending.COMPLETED, reason="done", result=x.ANSWER)
    event = e.RunClosed(by="human:kim", outcome=Ending.COMPLETED, reason="done", result=x.ANSWER)
    closed = given(x.opened()).when(command).then(event).contract
    assert closed.status == "closed"
    assert closed.closed is not None
    assert (closed.closed.outcome, closed.closed.result, closed.closed.position) == ("completed", x.ANSWER, 2)


def test_completing_is_refused_while_anything_is_open_and_says_what() -> None:
    decided = given(*LEFT_OPEN).when(CloseRun(outcome=Ending.COMPLETED))
    decided.then_refused("still_open", position=4)
    assert decided.decision.evidence == {"obligations": ["tell"], "unsettled": [x.ONE]}  # type: ignore[union-attr]
    given(*LEFT_OPEN[:2]).when(CloseRun(outcome=Ending.COMPLETED)).then_refused("still_open")
    given(x.opened(), *LEFT_OPEN[2:]).when(CloseRun(outcome=Ending.COMPLETED)).then_refused("still_open")


@pytest.mark.parametrize("outcome", [Ending.FAILED, Ending.CANCELLED, Ending.ABANDONED])
def test_every_other_outcome_lists_what_is_left_open(outcome: Ending) -> None:
    command: Command = CloseRun.model_validate({"outcome": outcome})
    given(*LEFT_OPEN).when(command).then(
        e.RunClosed(outcome=outcome, obligations=("tell",), unsettled=(x.ONE,))
    )


def test_what_was_open_stays_listed_after_closing_for_whoever_settles_it() -> None:
    closed = given(*LEFT_OPEN, x.CLOSED)
    assert [effect.key for effect in closed.contract.effects] == [x.ONE]
    settled = closed.also(e.EffectSucceeded(key=x.ONE, attempt=1, cost={"EUR": Decimal(1)})).contract
    assert settled.effects == ()
    assert settled.status == "closed"


def test_a_long_result_is_named_by_its_digest_in_the_contract() -> None:
    command = CloseRun(outcome=Ending.COMPLETED, result=x.ANSWER.model_copy(update={"json_text": LONG}))
    closed = given(x.opened()).when(command).after
    assert closed.contract.closed is not None
    assert closed.contract.closed.result is not None
    assert (closed.contract.closed.result.json_text, closed.contract.closed.result.size) == (None, len(LONG))
    closed.when(command).then_stands_at(2)


LONG = '"' + "x" * 2000 + '"'


# --- lineage -----------------------------------------------------------------------------------


def test_a_successor_takes_over_what_its_ancestor_left_unsettled() -> None:
    contract = given(*x.SUCCESSOR_EVENTS).contract
    assert (contract.predecessor, contract.root) == ("run-0", "run-0")
    (effect,) = contract.effects
    assert (effect.key, effect.status, effect.inherited_from, effect.attempt) == (
        x.ONE,
        "unknown",
        "run-0",
        1,
    )
    settled = given(*x.SUCCESSOR_EVENTS).also(
        e.EffectReconciled(key=x.ONE, attempt=1, evidence="bank", found="happened", method="person")
    )
    assert settled.contract.effects == ()


def test_a_fork_knows_its_origin() -> None:
    contract = given(*x.FORK_EVENTS).contract
    assert (contract.fork_of, contract.root) == ("run-0", "run-0")


def test_labels_cannot_be_changed_in_place() -> None:
    labels: Labels | None = given(x.opened(labels={"a": "b"})).contract.labels
    assert labels is not None
    with pytest.raises(TypeError):
        labels["a"] = "c"
