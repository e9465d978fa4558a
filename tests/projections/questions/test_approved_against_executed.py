"""What was approved, against what then began on it."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Ledger
from ledger.events import EffectFailed, EffectSucceeded, GoalRevised, RunResumed, RuntimeAdopted
from ledger.values import ErrorSaid, Runtime
from projections.approvals import Approvals
from projections.questions.approvals_executed import ApprovedAgainstExecuted
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.questions.asking_desk import NEW, OLD, START, Desk, args_of, at, key_of
from tests.projections.questions.telling import explained, on_memory, told, unbounded
from tests.projections.samples import catch_up, kept, naive
from tests.run import examples as x

QUESTION = ApprovedAgainstExecuted()
SAME = ("executed", "same", "terms_same", "tool_same", "runtime_same")
ACTS = ("position", "approval", "executed_position", "executed_args", "cited", "same")
MODEL = Runtime(model=OLD.model)
NEWS = GoalRevised(by="human:kim", reason="news", text="Pay less")


def resumed(runtime: Runtime) -> RunResumed:
    return RunResumed(gap_seconds=1, incarnation=2, prompt_digest="d" * 64, runtime=runtime)


@pytest.fixture
def desk(ledger: Ledger, clock: SetClock) -> Desk:
    return Desk(ledger, clock)


def test_a_row_holds_what_was_asked_answered_and_done(desk: Desk) -> None:
    desk.open("r")
    desk.ask("r")
    desk.answer("r")
    desk.act("r")
    assert told(desk.ledger, QUESTION) == [
        (
            *("r", 3, at(60), "ok", key_of("r"), "pay", "approved", "human:kim", at(120)),
            *(1, args_of(120), 1, args_of(120), 1, "pay", key_of("r"), 5, at(180), 1, 1, 1, 1),
        )
    ]


@on_memory
def test_what_was_not_executed_has_a_row_that_says_so(desk: Desk) -> None:
    desk.open("r")
    desk.ask("r")
    desk.answer("r", answer="denied")
    row = told(
        desk.ledger, QUESTION, "position", "answer", "approved_args", "executed", "executed_args", "same"
    )
    assert row == [(3, "denied", args_of(120), 0, None, None)]


@on_memory
def test_other_arguments_or_another_tool_are_not_what_was_approved(desk: Desk) -> None:
    for run in ("r-1", "r-2"):
        desk.open(run)
        desk.ask(run)
        desk.answer(run)
    desk.act("r-1", amount=210)
    desk.act("r-2", tool="wire")
    columns = ("run", "executed_key", "approved_args", "executed_args", "executed_tool", "same", "terms_same")
    assert told(desk.ledger, QUESTION, *columns) == [
        ("r-1", key_of("r-1", 210), args_of(120), args_of(210), "pay", 0, 1),
        ("r-2", key_of("r-2", tool="wire"), args_of(120), args_of(120), "wire", 0, 1),
    ]


def test_terms_tool_and_runtime_are_compared_with_those_it_was_asked_under(desk: Desk) -> None:
    changes = {
        "adopted": (RuntimeAdopted(by="human:kim", reason="upgrade", runtime=OLD),),
        "adopted, saying less": (RuntimeAdopted(by="human:kim", reason="upgrade", runtime=MODEL),),
        "resumed, saying less": (resumed(MODEL),),
        "resumed, with another": (resumed(NEW),),
        "terms": (NEWS,),
        "there and back": (
            RuntimeAdopted(by="human:kim", reason="upgrade", runtime=NEW),
            resumed(Runtime(prompt="p-2")),
            resumed(OLD),
        ),
        "tool": (),
    }
    for run, events in changes.items():
        desk.open(run)
        desk.ask(run)
        desk.answer(run)
        if events:
            desk.say(run, *events)
        desk.act(run, tool_schema="6" * 64 if run == "tool" else "5" * 64)
    assert told(desk.ledger, QUESTION, "run", *SAME) == [
        ("adopted", 1, 1, 1, 1, 1),
        ("adopted, saying less", 1, 1, 1, 1, 0),
        ("resumed, saying less", 1, 1, 1, 1, 1),
        ("resumed, with another", 1, 1, 1, 1, 0),
        ("terms", 1, 1, 0, 1, 1),
        ("there and back", 1, 1, 1, 1, 1),
        ("tool", 1, 1, 1, 0, 1),
    ]


@on_memory
def test_what_was_not_asked_under_is_not_compared(desk: Desk) -> None:
    desk.open("r")
    desk.ask("r", runtime_digest=None, tool_schema=None)
    desk.act("r")
    assert told(desk.ledger, QUESTION, "answer", *SAME) == [(None, 1, 1, 1, None, None)]


@on_memory
def test_arguments_that_nobody_had_intended_before_asking_are_not_known(desk: Desk) -> None:
    desk.open("r")
    desk.say("r", x.started(x.ONE))
    desk.ask("r", key=x.THREE)
    desk.act("r")
    assert told(desk.ledger, QUESTION, "tool", "approved_args", "same", "executed_args") == [
        (None, None, None, args_of(120))
    ]


def test_each_attempt_under_an_approval_has_a_row(desk: Desk) -> None:
    """The act that had been intended begins, fails, and is tried again; a plain repeat cites nothing."""
    desk.open("r")
    desk.ask("r")
    desk.answer("r")
    failed = EffectFailed(attempt=1, key=key_of("r"), error=ErrorSaid(message="no", type="No"))
    desk.say("r", desk.start(key_of("r")), failed)
    desk.act("r")
    desk.act("r", approval=None)
    desk.act("r", amount=5, approval="other")
    desk.act("r", amount=6, approval=None)
    assert told(desk.ledger, QUESTION, *ACTS) == [
        (3, "ok", 2, args_of(120), 0, 1),
        (3, "ok", 7, args_of(120), 1, 1),
        (3, "ok", 9, args_of(120), 0, 1),
    ]


@on_memory
def test_what_was_intended_and_not_begun_was_not_executed(desk: Desk) -> None:
    desk.open("r")
    desk.ask("r")
    desk.say("r", desk.intend("r", approval="ok"))
    assert told(desk.ledger, QUESTION, *ACTS) == [(3, "ok", None, None, None, None)]
    # What begins now is the last intent; the one before never began.
    desk.act("r")
    assert told(desk.ledger, QUESTION, *ACTS) == [(3, "ok", 5, args_of(120), 1, 1)]


@on_memory
def test_what_an_import_tells_as_done_only_was_executed(desk: Desk) -> None:
    desk.open("r")
    desk.ask("r")
    desk.say("r", desk.intend("r", approval="ok"), EffectSucceeded(attempt=1, key=key_of("r")))
    assert told(desk.ledger, QUESTION, *ACTS) == [(3, "ok", 4, args_of(120), 1, 1)]


@on_memory
def test_a_request_that_is_made_again_takes_the_place_of_the_first(desk: Desk) -> None:
    desk.open("r")
    desk.act("r")
    desk.ask("r")
    desk.answer("r", answer="denied")
    desk.ask("r", amount=90)
    desk.answer("r")
    desk.act("r", amount=90)
    columns = (*ACTS, "answer")
    assert told(desk.ledger, QUESTION, *columns) == [
        (5, "ok", None, None, None, None, "denied"),
        (8, "ok", 10, args_of(90), 1, 1, "approved"),
    ]


@on_memory
def test_the_answer_that_counts_is_told(desk: Desk, clock: SetClock) -> None:
    desk.open("r")
    desk.ask("r", expires_at=START.replace(minute=3))
    desk.answer("r", id="another")
    desk.answer("r")
    assert told(desk.ledger, QUESTION, "answer", "answered_at") == [(None, None)]
    desk.ask("r", id="ok-2")
    desk.answer("r", id="ok-2", answer="denied", writer=desk.actor)
    desk.answer("r", id="ok-2")
    # What the agent that asked has written down is no answer.
    assert told(desk.ledger, QUESTION, "answer", "answered_at") == [(None, None), ("approved", at(360))]


@on_memory
def test_equal_ids_in_other_runs_are_other_approvals(desk: Desk) -> None:
    for run in ("r-1", "r-2"):
        desk.open(run)
        desk.ask(run)
    desk.answer("r-2")
    desk.act("r-2")
    assert told(desk.ledger, QUESTION, "run", "answer", "executed") == [
        ("r-1", None, 0),
        ("r-2", "approved", 1),
    ]
    assert told(desk.ledger, QUESTION, "run", run="r-2") == [("r-2",)]


def test_it_is_asked_by_the_time_of_the_request_and_as_of_an_earlier_moment(desk: Desk) -> None:
    desk.open("r")
    desk.ask("r")
    place = desk.gid
    desk.answer("r")
    desk.act("r")
    desk.ask("r", id="two")
    columns = ("approval", "answer", "executed")
    assert told(desk.ledger, QUESTION, *columns, as_of=place) == [("ok", None, 0)]
    assert told(desk.ledger, QUESTION, *columns, as_of=START.replace(minute=2)) == [("ok", "approved", 0)]
    assert told(desk.ledger, QUESTION, *columns, as_of=START) == []
    assert told(desk.ledger, QUESTION, *columns, since=START.replace(minute=4)) == [("two", None, 0)]
    assert told(desk.ledger, QUESTION, *columns, before=START.replace(minute=4)) == [("ok", "approved", 1)]
    assert told(desk.ledger, QUESTION, *columns, run="r", before=START) == []


def test_tenants_do_not_see_approvals_of_others(open_on: OpenLedger, clock: SetClock) -> None:
    for tenant in ("acme", "Acme"):
        desk = Desk(open_on(tenant), clock).open("r")
        desk.ask("r", id=tenant)
    assert told(open_on("acme"), QUESTION, "approval") == [("acme",)]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_it_reads_no_whole_table(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.open("r")
    desk.ask("r")
    desk.act("r")
    plans = explained(monkeypatch)
    run, since, before = {"run": "r"}, {"since": START}, {"before": START.replace(hour=10)}
    asked: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        (run, ()),
        (run | since | before, ()),
        (since, ("at>?",)),
        (since | before, ("at>? AND at<?",)),
    ]
    for how, bounds in asked:
        assert told(desk.ledger, QUESTION, **how)
        assert plans
        assert unbounded(plans, *bounds) == [], how
        plans.clear()


def test_rows_are_those_of_one_fold_whatever_the_size_of_pages(ledger: Ledger) -> None:
    ledger.import_events("r", x.EVENTS, expected=0)
    for page in (1, 7):
        catch_up(ledger, Approvals(), page=page)
        assert kept(ledger, Approvals()) == naive(ledger, Approvals())
    assert {name: len(rows) for name, rows in kept(ledger, Approvals()).items()} == {
        "requests": 1,
        "answers": 1,
    }
