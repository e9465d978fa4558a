"""What was owed, to whom, and what became of it."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.commands import OpenObligation
from ledger.errors import RunNotFound
from ledger.events import (
    Event,
    ObligationDischarged,
    ObligationOpened,
    ObligationTransferred,
    ObligationWaived,
    RunClosed,
    RunOpened,
)
from ledger.stores.memory import MemoryStore
from ledger.values import Ending
from projections.asking import ask
from projections.obligations import Obligations as Projection
from projections.questions.obligations import Obligations
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.questions.telling import (
    Teller,
    answered,
    explained,
    on_memory,
    told,
    unbounded,
    written,
)
from tests.projections.samples import catch_up, kept, naive
from tests.run.examples import EVENTS
from tests.strategies import FEW, event

QUESTION = Obligations()
AGENT, KIM = Actor("agent:desk"), Actor("human:kim")
DUE = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
STATE = ("id", "position", "state", "ended_position", "ended_by", "evidence", "reason", "owed_by")


@pytest.fixture
def desk(ledger: Ledger, clock: SetClock) -> Ledger:
    """Return a ledger of a desk: five promises of one run, one of another, of four ends."""
    run = ledger.open_run("run-1", "Make good for customer 28", actor=AGENT)
    person = ledger.run("run-1", actor=KIM)
    mail = OpenObligation(
        id="mail",
        text="Mail\0the customer",
        owed_to="customer:28",
        because="run:run-0",
        by="agent:desk",
    )
    run.do(mail)
    run.promise("call", "Call the customer", owed_to="customer:28")
    run.promise("report", "Report to Lee", owed_to="human:lee")
    run.promise("voucher", "Send a voucher", owed_to="customer:28", due=DUE)
    run.promise("file", "File the case", owed_to="human:kim")
    clock.tick(60)
    run.discharge("mail", evidence="mail 28 was sent", refs=("message:m-28",), by="agent:desk")
    clock.tick(60)
    person.waive("call", reason="a mail is enough", by="customer:28")
    person.transfer("report", to="human:sam", reason="Sam knows the case", by="human:kim")
    other = ledger.open_run("run-2", "Count", actor=AGENT)
    other.promise("mail", "Mail the other customer", owed_to="customer:29")
    return ledger


def test_each_obligation_is_told_with_what_became_of_it(desk: Ledger) -> None:
    assert told(desk, QUESTION, *STATE, run="run-1") == [
        ("mail", 2, "discharged", 7, "agent:desk", "mail 28 was sent", None, None),
        ("call", 3, "waived", 8, "customer:28", None, "a mail is enough", None),
        ("report", 4, "transferred", 9, "human:kim", None, "Sam knows the case", "human:sam"),
        ("voucher", 5, "open", None, None, None, None, None),
        ("file", 6, "open", None, None, None, None, None),
    ]


@on_memory
def test_a_row_holds_all_that_was_said(desk: Ledger) -> None:
    start = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
    assert told(desk, QUESTION, run="run-1")[0] == (
        *(
            "run-1",
            2,
            written(start),
            "mail",
            "Mail␀the customer",
            "customer:28",
            None,
            "agent:desk",
            "run:run-0",
        ),
        *("discharged", 7, "2026-01-31T09:01:00.000000Z", "agent:desk"),
        *("mail 28 was sent", '["message:m-28"]', None, None, None, None),
    )


@on_memory
def test_what_is_due_is_overdue_by_the_time_that_is_asked_for(desk: Ledger, clock: SetClock) -> None:
    def state(**given: Any) -> list[tuple[Any, ...]]:
        return [row for row in told(desk, QUESTION, "id", "due", "state", **given) if row[1]]

    assert state(now=DUE.replace(hour=11)) == [("voucher", written(DUE), "open")]
    assert state(now=DUE) == [("voucher", written(DUE), "overdue")]
    assert state() == [("voucher", written(DUE), "open")]
    clock.now = DUE
    assert state() == [("voucher", written(DUE), "overdue")]


@on_memory
def test_it_is_asked_by_whom_it_is_owed_to_and_when_it_was_opened(desk: Ledger) -> None:
    later = datetime(2026, 1, 31, 9, 1, 30, tzinfo=UTC)

    def places(**given: Any) -> list[tuple[Any, ...]]:
        return told(desk, QUESTION, "run", "id", **given)

    assert places(owed_to="customer:29") == [("run-2", "mail")]
    assert places(owed_to="customer:28", run="run-1") == [
        ("run-1", "mail"),
        ("run-1", "call"),
        ("run-1", "voucher"),
    ]
    assert places(since=later) == [("run-2", "mail")]
    assert len(places(before=later)) == 5
    assert len(places()) == 6
    assert places(owed_to="human:kim", since=later) == []
    with pytest.raises(RunNotFound):
        places(run="run-3")


def test_it_is_asked_as_of_an_earlier_place_or_time(desk: Ledger) -> None:
    records = list(desk.log("run-1"))
    before = records[6].global_position
    assert before is not None
    early = told(desk, QUESTION, "id", "state", run="run-1", as_of=before)
    assert early == [
        ("mail", "discharged"),
        ("call", "open"),
        ("report", "open"),
        ("voucher", "open"),
        ("file", "open"),
    ]
    assert told(desk, QUESTION, "id", "state", as_of=records[0].at) == [
        (id, "open") for id in ("mail", "call", "report", "voucher", "file")
    ]
    assert told(desk, QUESTION, as_of=records[0].global_position) == []


def test_an_id_may_be_owed_again_and_what_a_run_left_open_is_told(ledger: Ledger) -> None:
    run = ledger.open_run("run-1", "Make good", actor=AGENT)
    run.promise("mail", "Mail once", owed_to="customer:1")
    run.discharge("mail", evidence="sent")
    run.promise("mail", "Mail twice", owed_to="customer:1")
    run.promise("call", "Call", owed_to="customer:1")
    run.accept("limit", "Never refund", asserted_by="human:kim")
    ledger.restart("run-1", as_="run-2", reason="too much changed", by="human:kim", actor=KIM)
    late = ObligationDischarged(id="call", evidence="called after all", by="human:kim")
    ledger.import_events("run-1", [late], expected=ledger.contract("run-1").position)
    rows = told(ledger, QUESTION, "run", "position", "id", "state", "left_at", "successor")
    at = written(ledger.contract("run-1").at)
    assert rows[:3] == [
        ("run-1", 2, "mail", "discharged", None, None),
        ("run-1", 4, "mail", "passed_on", at, "run-2"),
        ("run-1", 5, "call", "discharged", at, "run-2"),
    ]
    assert [row[2:] for row in rows[3:]] == [("mail", "open", None, None), ("call", "open", None, None)]
    # What is owed once is open once.
    assert told(ledger, QUESTION, "run", "id", state="open") == [("run-2", "mail"), ("run-2", "call")]
    assert told(ledger, QUESTION, "run", "position", "ended_position", "ended_at", state="passed_on") == [
        ("run-1", 4, ledger.contract("run-1").position - 1, at)
    ]


@on_memory
def test_one_that_is_imported_twice_is_replaced(ledger: Ledger) -> None:
    """Commands never do this; an import may."""
    owed = [ObligationOpened(id="a", owed_to="human:kim", text=text) for text in ("one", "two")]
    events = [RunOpened(goal="g"), *owed, RunClosed(outcome=Ending.FAILED, obligations=("a", "a", "b"))]
    ledger.import_events("r", events, expected=0)
    assert told(ledger, QUESTION, "text", "state", "ended_position", "left_at") == [
        ("one", "replaced", 3, None),
        ("two", "open", None, written(ledger.contract("r").at)),
    ]


def test_tenants_do_not_see_what_others_owe(open_on: OpenLedger) -> None:
    for tenant in ("acme", "Acme"):
        open_on(tenant).open_run("run", "goal").promise("p", tenant, owed_to="human:kim")
    for tenant in ("acme", "Acme"):
        assert told(open_on(tenant), QUESTION, "text") == [(tenant,)]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_it_reads_no_whole_table(desk: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = explained(monkeypatch)
    run, party = {"run": "run-1"}, {"owed_to": "customer:28"}
    period = {"since": DUE.replace(hour=8), "before": DUE}
    asked: list[tuple[dict[str, Any], tuple[str, ...]]] = [
        (run, ()),
        (run | party | period, ()),
        (party, ("owed_to=?",)),
        (party | period, ("owed_to=?",)),
        (period, ("at>? AND at<?",)),
        ({"since": DUE}, ("at>?",)),
        # Nothing is found: whether anything is owed to them at all is looked up.
        ({"owed_to": "customer:1"}, ("owed_to=?",)),
    ]
    for how, bounds in asked:
        told(desk, QUESTION, **how)
        assert plans
        assert unbounded(plans, *bounds) == [], how
        plans.clear()


def test_rows_are_those_of_one_fold_whatever_the_size_of_pages(ledger: Ledger) -> None:
    ledger.import_events("r", EVENTS, expected=0)
    for page in (1, 7):
        catch_up(ledger, Projection(), page=page)
        assert kept(ledger, Projection()) == naive(ledger, Projection())
    assert {name: len(rows) for name, rows in kept(ledger, Projection()).items()} == {
        "obligations": 4,
        "ends": 2,
        "transfers": 1,
        "left_open": 1,
    }


KINDS: tuple[type[Event], ...] = (
    ObligationOpened,
    ObligationOpened,
    ObligationDischarged,
    ObligationWaived,
    ObligationTransferred,
    RunClosed,
)
SAYINGS = st.sampled_from(KINDS).flatmap(lambda kind: event(kind, FEW))


@given(events=st.lists(SAYINGS, max_size=15))
def test_what_is_open_is_what_the_contract_holds_open_at_every_moment(events: list[Event]) -> None:
    """Whatever an import brings, in whatever order."""
    clock = SetClock()
    with closing(MemoryStore()) as store:
        ledger = Ledger(Edge(store, "default", KIM, clock, pause=lambda attempt: None))
        teller = Teller(ledger, clock, KIM)
        for one in (RunOpened(goal="Make good"), *events):
            teller.say("run-1", one, after=1)
        answered(ledger, QUESTION)
        for record in ledger.log("run-1"):
            contract = ledger.contract("run-1", at=record.position)
            opened = {item.position: item.id for item in contract.obligations}
            moment = record.global_position if record.position % 2 else record.at
            answer = ask(ledger, QUESTION, as_of=moment, now=clock.now, catch_up=False)
            left = {"open", "overdue", "passed_on"}
            assert {row[1]: row[3] for row in answer.rows if row[9] in left} == opened
