"""What happened in a run, and what is recorded about a subject."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.errors import RunNotFound
from ledger.events import EffectIntended, EffectRefused, EffectSucceeded, Parent, RunOpened
from ledger.values import Recovery
from projections.questions import subjects
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.questions.telling import (
    answered,
    explained,
    on_memory,
    scans,
    told,
    unbounded,
    written,
)

AGENT, KIM = Actor("agent:desk"), Actor("human:kim")
START = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
KEY = "a" * 64


def second(number: float) -> datetime:
    return START + timedelta(seconds=number)


@pytest.fixture
def desk(ledger: Ledger, clock: SetClock) -> Ledger:
    """Return a ledger of three runs in which customer 17 is named in several ways, and customer 18 in one."""
    run = ledger.open_run("run-1", "Make good", actor=AGENT, owner="human:kim", about=["customer:17"])
    clock.tick(10)
    run.promise("mail", "Mail", owed_to="customer:17")
    run.promise("call", "Call", owed_to="customer:18")
    clock.tick(10)
    person = ledger.run("run-1", actor=KIM)
    person.transfer("call", to="customer:17", reason="they call themselves", by="human:kim")
    run.discharge("mail", evidence="sent")
    clock.tick(10)
    intended = EffectIntended(
        act="c" * 64, args="{}", key=KEY, key_scheme="given", recovery=Recovery.AT_MOST_ONCE, tool="refund"
    )
    old = [RunOpened(goal="Refund"), intended]
    ledger.import_events("old", old, expected=0, actor=AGENT, about=["customer:17"])
    # The outcome comes in the successor and names the act only; `mail` of another run is another obligation.
    parent = Parent(position=2, relation="successor", root="old", run="old")
    successor = [RunOpened(goal="Go on", parent=parent), EffectSucceeded(attempt=1, key=KEY)]
    ledger.import_events("new", successor, expected=0, actor=AGENT)
    other = ledger.open_run("other", "Mail somebody else", actor=AGENT)
    other.promise("mail", "Mail", owed_to="customer:18")
    other.discharge("mail", evidence="sent")
    return ledger


TIMELINE = [
    (1, 0, "run.opened", None, None, "agent:desk"),
    (2, 10, "obligation.opened", "obligation:mail", None, "agent:desk"),
    (3, 10, "obligation.opened", "obligation:call", None, "agent:desk"),
    (4, 20, "obligation.transferred", "obligation:call", "human:kim", "human:kim"),
    (5, 20, "obligation.discharged", "obligation:mail", None, "agent:desk"),
]


@on_memory
def test_a_call_that_was_refused_before_it_had_a_key_is_about_the_run(ledger: Ledger) -> None:
    refused = EffectRefused(rule="off_plan", tool="refund")
    named = EffectRefused(key=KEY, rule="off_plan", tool="refund")
    ledger.import_events("run", [RunOpened(goal="Refund"), refused, named], expected=0)
    things = told(ledger, "timeline", "thing", run="run")
    assert things == [(None,), (None,), (f"effect:{KEY}",)]


def test_every_event_of_a_run_is_told_in_order(desk: Ledger) -> None:
    expected = [
        (position, written(second(at)), *rest, record.hash.hex())
        for (position, at, *rest), record in zip(TIMELINE, desk.log("run-1"), strict=True)
    ]
    assert told(desk, "timeline", run="run-1") == expected
    assert told(desk, "timeline", run="run-1", since=second(10), before=second(20)) == expected[1:3]
    assert told(desk, "timeline", run="run-1", before=second(10)) == expected[:1]
    third = next(desk.log("run-1", after=2, limit=1)).global_position
    assert told(desk, "timeline", run="run-1", as_of=third) == expected[:3]
    assert told(desk, "timeline", run="run-1", as_of=second(15)) == expected[:3]
    with pytest.raises(RunNotFound):
        answered(desk, "timeline", run="run")


ABOUT = [
    ("run-1", 1, "run.opened", None, "about"),
    ("run-1", 2, "obligation.opened", "obligation:mail", "owed_to"),
    ("run-1", 4, "obligation.transferred", "obligation:call", "to"),
    ("run-1", 5, "obligation.discharged", "obligation:mail", "thing"),
    ("new", 2, "effect.succeeded", f"effect:{KEY}", "thing"),
    ("old", 1, "run.opened", None, "about"),
    ("old", 2, "effect.intended", f"effect:{KEY}", "about"),
]
NAMES = ("run", "position", "name", "thing", "how")


def test_everything_that_names_a_subject_is_told_and_what_became_of_it(desk: Ledger) -> None:
    assert told(desk, "about-subject", *NAMES, subject="customer:17") == ABOUT
    # The transfer of what was owed to them names somebody else.
    assert told(desk, "about-subject", *NAMES[:2], "how", subject="customer:18") == [
        ("run-1", 3, "owed_to"),
        ("run-1", 4, "thing"),
        ("other", 2, "owed_to"),
        ("other", 3, "thing"),
    ]
    assert told(desk, "about-subject", *NAMES, "actor", subject="human:kim") == [
        ("run-1", 1, "run.opened", None, "owner", "agent:desk")
    ]
    assert told(desk, "about-subject", subject="customer:1") == []


def test_a_subject_is_asked_about_in_a_period_and_as_of_an_earlier_moment(desk: Ledger) -> None:
    period = {"since": second(20), "before": second(30)}
    assert told(desk, "about-subject", *NAMES, subject="customer:17", **period) == ABOUT[2:4]
    fourth = next(desk.log("run-1", after=3, limit=1)).global_position
    assert told(desk, "about-subject", *NAMES, subject="customer:17", as_of=fourth) == ABOUT[:3]
    assert told(desk, "about-subject", *NAMES, subject="customer:17", as_of=second(15)) == ABOUT[:2]


def test_in_a_period_the_same_is_told_whichever_it_begins_with(
    desk: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a subject with a long history the events of a short period are looked at, not those that name it."""
    asked = [
        {"subject": subject, "since": second(since), "before": second(before), "as_of": as_of}
        for subject in ("customer:17", "customer:18", "human:kim", "customer:1")
        for since, before in ((0, 10), (10, 20), (20, 30), (0, 100))
        for as_of in (None, second(20))
    ]
    expected = [told(desk, "about-subject", **given) for given in asked]
    monkeypatch.setattr(subjects, "_MANY", 0)
    assert [told(desk, "about-subject", **given) for given in asked] == expected
    assert sum(map(len, expected)) > 20
    monkeypatch.setattr(subjects, "_SHORT", 0)
    assert [told(desk, "about-subject", **given) for given in asked] == expected


def test_tenants_do_not_see_what_others_record(open_on: OpenLedger) -> None:
    for tenant in ("acme", "Acme"):
        open_on(tenant).open_run(f"run-{tenant}", "goal", about=["customer:17"])
    for tenant in ("acme", "Acme"):
        assert told(open_on(tenant), "about-subject", "run", subject="customer:17") == [(f"run-{tenant}",)]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("timeline", {"run": "run-1"}),
        ("timeline", {"run": "run-1", "since": START, "before": second(60)}),
        ("about-subject", {"subject": "customer:17"}),
        ("about-subject", {"subject": "customer:17", "since": START}),
    ],
)
def test_what_is_asked_about_is_looked_up(
    desk: Ledger, monkeypatch: pytest.MonkeyPatch, question: str, given: dict[str, Any]
) -> None:
    answered(desk, "timeline", run="run-1")
    plans = explained(monkeypatch)
    assert answered(desk, question, **given).rows
    assert plans
    # What is found is put together in tables of its own, which are read whole.
    assert [plan for plan in scans(plans) if "projection_" in plan or "tenant" in plan] == []
    assert any("SEARCH" in plan for plan in plans)
    if "run" in given:
        assert unbounded(plans) == []
