"""What is open across all runs, as a program reads it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from ledger import Actor, Ledger, Source, open_ledger
from ledger.codec import effect_digest
from ledger.commands import OpenObligation
from ledger.errors import ApprovalRequired, RunNotFound
from ledger.events import ApprovalAnswered, ApprovalRequested, EffectIntended
from ledger.values import Operator, Predicate, Recovery, Rule
from ledger.values.parts import Published
from projections import views
from projections.errors import ProjectionBehind
from projections.runner import Progress
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.questions.telling import explained, scans
from tests.stores.builder import shown

KIM = Actor("human:kim")
KEY = "5" * 64


class Killed(BaseException):
    """The process ends in the middle of a call."""


def dying(**args: Any) -> None:
    raise Killed


def begin(ledger: Ledger, run: str, tool: str) -> str:
    """Let a worker die at an act; return its key."""
    with pytest.raises(Killed):
        ledger.run(run).perform(tool, {"n": 1}, dying, recovery=Recovery.AT_MOST_ONCE)
    return next(one.key for one in ledger.contract(run).effects if one.tool == tool)


@pytest.fixture
def seen(ledger: Ledger) -> Ledger:
    shown(ledger.store)
    return ledger


def test_obligations_are_listed_by_when_they_are_due(ledger: Ledger, clock: SetClock) -> None:
    noon = clock.now
    first, second = ledger.open_run("first", "goal"), ledger.open_run("second", "goal")
    first.promise("late", "Mail", owed_to="customer:1", due=noon)
    first.do(OpenObligation(id="some day", text="Call", owed_to="customer:2", because=f"effect:{KEY}"))
    second.promise("soon", "Pay", owed_to="customer:1", due=noon + timedelta(hours=1))
    second.promise("done", "Pay", owed_to="customer:1")
    second.discharge("done", evidence="paid", by="human:kim")
    first.close("abandoned", reason="enough", by="human:kim")
    ledger.restart("second", as_="third", reason="anew", by="human:kim")
    shown(ledger.store)
    found = views.obligations(ledger)
    assert [(one.run, one.id, one.overdue, one.run_status) for one in found.rows] == [
        ("first", "late", True, "closed"),
        ("third", "soon", False, "open"),
        ("first", "some day", False, "closed"),
    ]
    assert found.rows[0] == views.Owed(
        "first", "late", "Mail", "customer:1", noon, True, None, None, noon, 2, "closed"
    )
    assert (found.as_of, found.now, found.notes) == (ledger.store.end(), noon, ())
    assert [one.id for one in views.obligations(ledger, overdue=True).rows] == ["late"]
    later = noon + timedelta(hours=1)
    assert [one.id for one in views.obligations(ledger, overdue=True, now=later).rows] == ["late", "soon"]
    assert [one.id for one in views.obligations(ledger, owed_to="customer:2").rows] == ["some day"]
    assert [one.id for one in views.obligations(ledger, run="third").rows] == ["soon"]
    with pytest.raises(RunNotFound):
        views.obligations(ledger, run="none")


def test_effects_are_as_time_makes_them(ledger: Ledger, clock: SetClock) -> None:
    ledger.open_run("run", "goal")
    lapsing, renewed = begin(ledger, "run", "mail"), begin(ledger, "run", "pay")
    ledger.import_events(
        "run",
        [
            EffectIntended(
                act="a" * 64, args="{}", key=KEY, key_scheme="v1", recovery=Recovery.AT_MOST_ONCE, tool="book"
            )
        ],
        expected=ledger.contract("run").position,
    )
    (until,) = {one.lease_until for one in ledger.contract("run").effects if one.lease_until}
    shown(ledger.store)
    assert {one.tool: one.status for one in views.effects(ledger).rows} == {
        "mail": "executing",
        "pay": "executing",
        "book": "pending",
    }
    assert not views.effects(ledger, status="unknown").rows
    worker = next(one.worker for one in views.effects(ledger, tool="pay").rows)
    extended = ledger.store.renew(
        ledger.tenant,
        effect_digest(renewed),
        1,
        worker=str(worker),
        first_until=until,
        until_seconds=3600,
        now=clock.now,
    )
    clock.now = until
    found = {one.tool: one for one in views.effects(ledger).rows}
    assert (found["mail"].status, found["mail"].since, found["mail"].key) == ("unknown", until, lapsing)
    assert (found["pay"].status, found["pay"].lease_until) == ("executing", extended)
    assert [one.tool for one in views.effects(ledger, status="unknown").rows] == ["mail"]
    assert [one.tool for one in views.effects(ledger, status="executing").rows] == ["pay"]
    assert [(one.tool, one.position) for one in views.effects(ledger, status="pending").rows] == [
        ("book", ledger.contract("run").position)
    ]
    told = {one.effect.key: (one.status, one.lease_until) for one in ledger.effects()}
    assert {one.key: (one.status, one.lease_until) for one in found.values()} == told


def test_grants_tell_what_is_left_of_them(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("run", "goal")
    end = clock.now + timedelta(hours=1)
    one: dict[str, Any] = {"principal": "service:tests", "granted_by": "human:kim"}
    run.grant("spent", scopes=["pay"], budget={"EUR": Decimal("5.00")}, **one)
    run.grant("ends", scopes=["a", "b"], expires_at=end, session="s-1", **one)
    run.grant("free", principal="agent:x", scopes=["*"], granted_by="human:kim")
    run.grant("gone", principal="agent:x", scopes=["*"], granted_by="human:kim")
    run.revoke("gone", reason="no more", by="human:kim")
    paid = run.perform(
        "pay", {}, lambda: {"ok": True}, cost={"EUR": Decimal("5.00")}, recovery="at_most_once"
    )
    assert paid == {"ok": True}
    ledger.open_run("over", "goal").grant("x", scopes=["*"], **one)
    ledger.run("over").close("completed", reason="enough", by="human:kim")
    shown(ledger.store)
    found = views.grants(ledger).rows
    assert [(grant.id, grant.state, grant.scopes) for grant in found] == [
        ("spent", "used_up", ("pay",)),
        ("ends", "in_force", ("a", "b")),
        ("free", "in_force", ("*",)),
    ]
    spent, ends, free = found
    assert (spent.budget, spent.spent, spent.reserved) == (
        {"EUR": Decimal("5.00")},
        {"EUR": Decimal("5.00")},
        {},
    )
    assert (ends.session, ends.expires_at, ends.position) == ("s-1", end, 3)
    assert free.budget is None
    assert [one.id for one in views.grants(ledger, principal="agent:x").rows] == ["free"]
    assert [one.id for one in views.grants(ledger, state="expired", now=end).rows] == ["ends"]


def test_approvals_wait_are_answered_or_come_too_late(ledger: Ledger, clock: SetClock) -> None:
    ledger.open_run("run", "goal")
    end = clock.now + timedelta(hours=1)
    ledger.import_events(
        "run",
        [
            ApprovalRequested(id="open", key=KEY, question="May it?"),
            ApprovalRequested(id="ends", key="6" * 64, expires_at=end),
            ApprovalRequested(id="yes", key="7" * 64, expires_at=end + timedelta(hours=1)),
            ApprovalRequested(id="no", key="8" * 64),
            ApprovalAnswered(id="yes", answer="approved", by="human:kim"),
            ApprovalAnswered(id="no", answer="denied", by="human:kim"),
            ApprovalAnswered(id="no", answer="approved", by="human:lee"),
        ],
        expected=1,
    )
    shown(ledger.store)
    found = views.approvals(ledger).rows
    assert [(one.id, one.state, one.answered_by, one.answered_position) for one in found] == [
        ("ends", "pending", None, None),
        ("yes", "approved", "human:kim", 6),
        ("open", "pending", None, None),
        ("no", "denied", "human:kim", 7),
    ]
    assert (found[2].question, found[2].key, found[2].position) == ("May it?", KEY, 2)
    assert (found[2].tool, found[2].args, found[2].demanded_by, found[2].goal) == (None, None, (), "goal")
    assert [one.id for one in views.approvals(ledger, pending=True).rows] == ["ends", "open"]
    clock.now = end
    assert [one.id for one in views.approvals(ledger, pending=True).rows] == ["open"]
    assert next(one for one in views.approvals(ledger).rows if one.id == "ends").state == "expired"


LIMIT = Rule(
    needs_approval=True,
    tools=("pay",),
    when=(Predicate(operator=Operator.GREATER, path="/amount", value="100"),),
)


def wait(ledger: Ledger, **args: Any) -> str:
    """Let an agent pay where a person has to approve it; return the id of the request."""
    run = ledger.run("run", actor=Actor("agent:a"))
    with pytest.raises(ApprovalRequired) as told:
        run.perform("pay", args, lambda to, amount=500: None, recovery=Recovery.AT_MOST_ONCE, step="s")
    return str(told.value.id)


def test_an_approver_sees_what_is_asked_and_by_whom_and_which_constraint_demands_it(
    ledger: Ledger, clock: SetClock
) -> None:
    said = Published(id="limit", text="Ask above 100", rule=LIMIT)
    ledger.source("policy:a").publish("7", [said], by="human:kim")
    run = ledger.open_run("run", "Pay them", actor=KIM)
    run.accept(
        "limit",
        "Ask above 100",
        source=Source("policy", "a", revision="7"),
        asserted_by="human:lee",
        rule=LIMIT,
    )
    by_default, named = wait(ledger, to="x"), wait(ledger, to="y", amount=101)
    refused, given = wait(ledger, to="z", amount=200), wait(ledger, to="z", amount=300)
    ledger.deny(refused, by="human:lee", reason="too much")
    ledger.approve(given, by="human:lee", reason="it is owed")
    shown(ledger.store)
    found = {one.id: one for one in views.approvals(ledger).rows}
    one = found[by_default]
    assert (one.tool, one.step, one.args, one.requested_by) == (
        "pay",
        "s",
        '{"amount":500,"to":"x"}',
        "agent:a",
    )
    assert one.demanded_by == (views.Demand("limit", "Ask above 100", "policy:a", "7", "human:lee", 2),)
    assert (one.goal, one.state, one.void, one.key) == ("Pay them", "pending", None, by_default[:64])
    assert found[named].args == '{"amount":101,"to":"y"}'
    # What is denied waits no more in the contract, and who looks sees still what it was.
    assert (found[refused].state, found[refused].answered_by, found[refused].reason) == (
        "denied",
        "human:lee",
        "too much",
    )
    assert (found[refused].tool, found[refused].args) == ("pay", '{"amount":200,"to":"z"}')
    assert (found[given].state, found[given].reason, found[given].void) == ("approved", "it is owed", None)
    assert {one.id for one in views.approvals(ledger, pending=True).rows} == {by_default, named}

    run.revise_goal("Pay half", reason="less is owed", by="human:kim")
    shown(ledger.store)
    why = f"the terms changed at position {ledger.contract('run').position}"
    found = {one.id: one for one in views.approvals(ledger).rows}
    assert {id: (one.state, one.void) for id, one in found.items()} == {
        by_default: ("void", why),
        named: ("void", why),
        refused: ("denied", why),
        given: ("void", why),
    }
    assert views.approvals(ledger, pending=True).rows == []
    again = wait(ledger, to="x")
    shown(ledger.store)
    assert [one.id for one in views.approvals(ledger, pending=True).rows] == [again]
    assert by_default not in {one.id for one in views.approvals(ledger).rows}


def test_constraints_are_found_by_their_source(ledger: Ledger) -> None:
    ledger.source("policy:a").publish("1", {"x": "Be kind", "y": "Be quick"}, by="human:kim")
    first, second = ledger.open_run("first", "goal"), ledger.open_run("second", "goal")
    first.accept("x", "Be kind", source=Source("policy", "a"), asserted_by="human:kim")
    second.accept("mine", "Be quick", source=Source("policy", "a", item="y"), asserted_by="human:kim")
    begins = datetime(2030, 1, 1, tzinfo=UTC)
    second.accept("own", "Be brief", asserted_by="human:lee", rule=LIMIT, valid_from=begins)
    second.close("completed", reason="enough", by="human:kim")
    shown(ledger.store)
    rows = views.constraints(ledger).rows
    assert [(one.run, one.id, one.item, one.published, one.enforced) for one in rows] == [
        ("first", "x", "x", True, False),
        ("second", "mine", "y", True, False),
        ("second", "own", None, None, True),
    ]
    (quick,) = views.constraints(ledger, source="policy:a", item="y").rows
    assert (quick.run, quick.run_status, quick.revision, quick.source_position) == (
        "second",
        "closed",
        "1",
        2,
    )
    assert len(views.constraints(ledger, source="policy:a").rows) == 2


def test_runs_are_found_by_how_they_stand(ledger: Ledger, clock: SetClock) -> None:
    ledger.open_run("open", "goal", owner="human:kim", thread="t-1")
    ledger.open_run("held", "goal", actor=Actor("agent:a", session="s-1"))
    ledger.run("held", actor=KIM).grant(
        "g", principal="agent:a", scopes=["refund"], session="s-1", granted_by="human:kim"
    )
    ledger.run("held").suspend(reason="enough for today")
    clock.tick(60)
    ledger.resume("held", actor=Actor("agent:a", session="s-2"))
    ledger.open_run("over", "goal").close("completed")
    shown(ledger.store)
    assert [(one.run, one.status) for one in views.runs(ledger).rows] == [
        ("held", "held"),
        ("open", "open"),
        ("over", "closed"),
    ]
    (held,) = views.runs(ledger, verdict="reapprove").rows
    assert (held.run, held.held_at, held.position) == ("held", clock.now, ledger.contract("held").position)
    second = timedelta(seconds=1)
    assert not views.runs(ledger, held_before=clock.now - second).rows
    assert [one.run for one in views.runs(ledger, held_before=clock.now).rows] == ["held"]
    assert [one.run for one in views.runs(ledger, alive_before=clock.now - second).rows] == ["held", "open"]
    assert [one.run for one in views.runs(ledger, owner="human:kim", thread="t-1").rows] == ["open"]
    assert not views.runs(ledger, unsettled=True).rows
    begin(ledger, "open", "mail")
    shown(ledger.store)
    assert [one.run for one in views.runs(ledger, unsettled=True).rows] == ["open"]


def test_a_view_catches_up_unless_it_is_told_not_to(open_on: OpenLedger) -> None:
    ledger = open_on()
    ledger.open_run("first", "goal")
    shown(ledger.store)
    with pytest.raises(ProjectionBehind):
        views.runs(ledger, catch_up=False)
    told: list[Progress] = []
    assert len(views.runs(ledger, progress=told.append).rows) == 1
    assert {one.projection for one in told} == {"runs"}
    ledger.open_run("second", "goal")
    shown(ledger.store)
    as_it_is = views.runs(ledger, catch_up=False)
    assert ([one.run for one in as_it_is.rows], as_it_is.events) == (["first"], 1)
    assert [one.run for one in views.runs(ledger).rows] == ["first", "second"]


def test_no_filter_reads_the_rows_of_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_run("run", "goal")
        views.runs(ledger)
        plans = explained(monkeypatch)
        views.obligations(ledger, owed_to="human:kim")
        views.obligations(ledger, overdue=True)
        views.effects(ledger, status="unknown")
        views.effects(ledger, tool="mail")
        views.grants(ledger, principal="agent:a")
        views.constraints(ledger, source="policy:a", item="x")
        views.runs(ledger, status="held")
        views.approvals(ledger, run="run")
        assert plans
        assert scans(plans) == []
