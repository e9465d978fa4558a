"""Effects by key, act, tool, status, terms, and who approved them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ledger import Ledger, Recovery
from ledger import events as e
from ledger.errors import EffectFailed, EffectNotFound, InvalidInput, RunNotFound
from ledger.run.keys import act_key
from projections.questions.effect_listing import EffectListing
from projections.questions.open_outcomes import OpenOutcomes
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.questions.rule_book import (
    AGENT,
    KIM,
    Book,
    key_of,
    life,
    minute,
    opened,
    strays,
    written,
)
from tests.projections.questions.telling import answered, explained, scans, told
from tests.run.examples import intended

LISTING, OPEN = EffectListing(), OpenOutcomes()
TEN, TWENTY = (key_of("run-1", "refund", amount=amount) for amount in (10, 20))

ACT = act_key("default", "run-1", "refund", '{"amount":20}')


@pytest.fixture
def desk(ledger: Ledger, clock: SetClock) -> Ledger:
    """Do, repeat, leave open and import acts, of which two cite an approval."""
    book = Book(ledger, clock)
    book.at(0).say("run-1", opened())  # 1
    book.at(1).act("run-1", amount=10)  # 2 to 4
    intent, start, _ = life("run-1", amount=20)
    unknown = e.EffectUnknown(attempt=1, because="raised", key=TWENTY)
    book.at(2).say("run-1", intent, start, unknown)  # 5 to 7
    asked = e.ApprovalRequested(id="a-1", key=TWENTY)
    answers = [e.ApprovalAnswered(id="a-1", answer="approved", by=by) for by in ("human:kim", "human:lee")]
    book.at(3).say("run-1", asked)  # 8
    book.say("run-1", *answers, by=KIM)  # 9, 10
    again = life("run-1", amount=20, intent={"approval": "a-1"})[0]
    book.at(4).say("run-1", again, start.with_fields({"attempt": 2, "lease_until": minute(30)}))  # 11, 12
    book.at(5).say("run-2", opened())  # 1
    book.at(6).act("run-2", "mail", to="lee", intent={"witnessed": False, "approval": "none"})  # 2 to 4
    book.at(7).say("run-2", intended("e" * 64, tool="mail"))  # 5
    return ledger


def test_each_intent_is_told_with_what_became_of_its_effect(desk: Ledger) -> None:
    columns = (
        "run",
        "position",
        "tool",
        "status",
        "since",
        "status_position",
        "approval",
        "approver",
        "witnessed",
    )
    assert told(desk, LISTING, *columns, now=minute(10)) == [
        ("run-1", 2, "refund", "succeeded", written(1), 4, None, None, 1),
        ("run-1", 5, "refund", "executing", written(4), 12, None, None, 1),
        ("run-1", 11, "refund", "executing", written(4), 12, "a-1", "human:kim", 1),
        ("run-2", 2, "mail", "succeeded", written(6), 4, "none", None, 0),
        ("run-2", 5, "mail", "pending", written(7), 5, None, None, 1),
    ]
    contract = desk.contract("run-1", at=1)
    assert told(desk, LISTING, run="run-1")[0] == (
        *(
            "run-1",
            2,
            written(1),
            TEN,
            act_key("default", "run-1", "refund", '{"amount":10}'),
            "refund",
            None,
        ),
        *('{"amount":10}', "succeeded", written(1), "run-1", 4),
        *(contract.terms.position, contract.terms.digest, None, None, 1),
    )


def test_they_are_asked_for_by_what_they_are(desk: Ledger) -> None:
    def places(**given: Any) -> list[tuple[Any, ...]]:
        return told(desk, LISTING, "run", "position", **given)

    one, two, three, four, five = ("run-1", 2), ("run-1", 5), ("run-1", 11), ("run-2", 2), ("run-2", 5)
    terms = desk.contract("run-1", at=1).terms.digest
    assert places() == [one, two, three, four, five]
    assert places(run="run-2") == [four, five]
    assert places(key=TWENTY) == places(key=f"{TWENTY[:8].upper()}..") == places(act=ACT) == [two, three]
    assert places(tool="mail") == [four, five]
    assert places(status="succeeded") == [one, four]
    assert places(status="pending", tool="mail") == [five]
    assert places(terms=terms, run="run-1") == [one, two, three]
    assert places(terms="v1:none") == []
    assert places(approval="a-1") == [three]
    assert places(approver="human:kim") == [three]
    assert places(approver="human:lee") == []
    assert places(since=minute(4)) == [three, four, five]
    assert places(since=minute(4), before=minute(6)) == [three]
    assert places(as_of=minute(2)) == [one, two]


def test_a_status_is_that_of_the_moment_that_is_asked_about(desk: Ledger) -> None:
    def status(**given: Any) -> set[Any]:
        return {status for (status,) in told(desk, LISTING, "status", key=TWENTY, **given)}

    assert status(now=minute(29)) == {"executing"}
    assert status(now=minute(30)) == {"unknown"}
    assert status(as_of=minute(2)) == {"unknown"}
    begun = list(desk.log("run-1"))[5].global_position
    assert status(as_of=begun, now=minute(3)) == {"executing"}


def test_what_is_no_status_no_key_or_no_run_is_refused(desk: Ledger) -> None:
    with pytest.raises(InvalidInput, match=r"status= is one of pending, executing, .*, not 'done'"):
        told(desk, LISTING, status="done")
    with pytest.raises(InvalidInput, match="key= 'abc' is none: a key is 64 hexadecimal digits, or"):
        told(desk, LISTING, key="abc")
    with pytest.raises(EffectNotFound):
        told(desk, LISTING, key="0" * 64)
    with pytest.raises(EffectNotFound):
        told(desk, LISTING, key=TEN[:20], as_of=minute(0))
    with pytest.raises(RunNotFound):
        told(desk, LISTING, run="run-3")


def test_the_beginning_of_several_keys_is_refused_with_what_begins_so(ledger: Ledger) -> None:
    keys = [f"abcdef{number}" + "0" * 57 for number in range(7)]
    ledger.import_events("r", [opened(), *map(intended, keys), intended(keys[0])], expected=0)
    assert told(ledger, LISTING, "position", key="abcdef0") == [(2,), (9,)]
    with pytest.raises(InvalidInput, match="abcdef is the beginning of several keys") as caught:
        told(ledger, LISTING, key="ABCDEF")
    listed = str(caught.value)
    assert ([key in listed for key in keys], listed.endswith("and more")) == ([True] * 5 + [False] * 2, True)


def test_an_approval_is_told_apart_by_its_beginning(ledger: Ledger) -> None:
    ids = [f"{key}-{place}" for key in (TEN, TWENTY) for place in ("11112222", "33334444")]
    acts = [
        intended(f"{number}" * 64, approval=id, authority=(), tool="refund") for number, id in enumerate(ids)
    ]
    ledger.import_events("r", [opened(), *acts[:3]], expected=0)
    assert told(ledger, LISTING, "position", approval=ids[0]) == [(2,)]
    assert told(ledger, LISTING, "position", approval=f"{TWENTY[:8].upper()}..") == [(4,)]
    assert told(ledger, LISTING, "position", approval=f"{TEN}-3333") == [(3,)]
    with pytest.raises(InvalidInput, match=f"{TEN[:8]} is the beginning of several approvals: {ids[0]}"):
        told(ledger, LISTING, approval=TEN[:8])
    nothing = answered(ledger, LISTING, approval="0" * 8)
    assert (nothing.rows, nothing.notes) == (
        [],
        ("no intent that cites the approval '00000000' is recorded",),
    )


def test_open_outcomes_say_since_when_and_why(desk: Ledger) -> None:
    assert told(desk, OPEN, now=minute(10)) == [
        (
            *("run-1", 12, TWENTY, "refund", None, "executing", 2, written(4), None, written(30)),
            *('{"amount":20}', "run-1", 11),
        )
    ]
    columns = ("status", "position", "since", "because", "lease_until")
    assert told(desk, OPEN, *columns, now=minute(30)) == [
        ("unknown", 12, written(30), "lease_lapsed", written(30))
    ]
    assert told(desk, OPEN, *columns, as_of=minute(2)) == [("unknown", 7, written(2), "raised", written(59))]
    assert told(desk, OPEN, run="run-2") == told(desk, OPEN, tool="mail") == []
    assert told(desk, OPEN, before=minute(2)) == []
    assert len(told(desk, OPEN, tool="refund", run="run-1", since=minute(2), before=minute(3))) == 1


def test_open_outcomes_say_why_nobody_knows(ledger: Ledger, clock: SetClock) -> None:
    book = Book(ledger, clock).at(0)
    book.say("r", opened())

    def tell(amount: int, *kinds: tuple[type[e.Event], dict[str, Any]]) -> None:
        intent, start, done = life("r", amount=amount)
        told_of: dict[type[e.Event], e.Event] = {
            e.EffectIntended: intent, e.EffectStarted: start, e.EffectSucceeded: done
        }  # fmt: skip
        key = key_of("r", "refund", amount=amount)
        for kind, fields in kinds:
            known = told_of[kind].with_fields(fields) if kind in told_of else kind(**{"key": key, **fields})
            book.say("r", known)

    began: tuple[Any, ...] = ((e.EffectIntended, {}), (e.EffectStarted, {}))
    error = {"message": "no", "type": "No"}
    tell(1, *began, (e.EffectFailed, {"attempt": 1, "error": error}), (e.EffectSucceeded, {}))
    tell(
        2,
        *began,
        *began[:1],
        (e.EffectStarted, {"attempt": 2}),
        (e.EffectFailed, {"attempt": 2, "error": error}),
    )
    asked = {"attempt": 1, "evidence": "no answer", "found": "unknown", "method": "probe"}
    tell(3, (e.EffectIntended, {"witnessed": False}), (e.EffectReconciled, asked))
    tell(4, *began, (e.EffectReconciled, asked))
    assert told(ledger, OPEN, "args", "status", "because", now=minute(58)) == [
        ('{"amount":1}', "disputed", "contradicted"),
        ('{"amount":2}', "unknown", "earlier_attempt"),
        ('{"amount":3}', "unknown", "inconclusive"),
        ('{"amount":4}', "executing", None),
    ]
    assert told(ledger, OPEN, "because", run="r", now=minute(59))[3] == ("lease_lapsed",)


def test_an_act_that_is_performed_is_followed_to_its_end(ledger: Ledger, clock: SetClock) -> None:
    """Through the ledger's own doors: an attempt whose lease lapsed is open until somebody finds out."""
    run = ledger.open_run("r", "Refund", actor=AGENT)

    def crash(order: int) -> int:
        raise ConnectionError("gone")

    with pytest.raises(Exception, match="gone"):
        run.perform("refund", {"order": 1}, crash, recovery=Recovery.AT_MOST_ONCE)
    [(key, status, because)] = told(ledger, OPEN, "key", "status", "because")
    assert (status, because) == ("unknown", "raised")
    clock.now += timedelta(hours=1)
    ledger.run("r", actor=KIM).settle(key, happened=False, evidence="the bank says so", by="human:kim")
    assert told(ledger, OPEN) == []
    assert told(ledger, LISTING, "status") == [("did_not_happen",)]

    def refuse(order: int) -> int:
        raise ValueError("no such order")

    with pytest.raises(EffectFailed):
        run.perform("refund", {"order": 2}, refuse, definite_errors=ValueError)
    assert told(ledger, LISTING, "status", status="failed") == [("failed",)]


def test_tenants_do_not_see_the_effects_of_others(open_on: OpenLedger, clock: SetClock) -> None:
    for tenant, amount in (("acme", 1), ("Acme", 2)):
        book = Book(open_on(tenant), clock)
        book.say("r", opened())
        book.act("r", amount=amount)
    assert told(open_on("acme"), LISTING, "args") == [('{"amount":1}',)]
    with pytest.raises(EffectNotFound):
        told(open_on("acme"), LISTING, key=key_of("r", "refund", amount=2))


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("question", "asked"),
    [
        *((LISTING, asked) for asked in ({"run": "run-1"}, {"key": TWENTY}, {"key": TWENTY[:6]})),
        *((LISTING, asked) for asked in ({"tool": "mail"}, {"approval": "a-1"}, {"act": ACT})),
        *((LISTING, {"since": minute(2), **more}) for more in ({}, {"before": minute(5)})),
        *((LISTING, {"run": "run-1", **more}) for more in ({"tool": "refund"}, {"approval": "a-1"})),
        *((OPEN, asked) for asked in ({"run": "run-1"}, {"tool": "refund"}, {"since": minute(2)})),
        (OPEN, {"run": "run-1", "since": minute(2), "tool": "refund"}),
    ],
)  # fmt: skip
def test_no_whole_table_is_read(
    desk: Ledger,
    question: EffectListing | OpenOutcomes,
    asked: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plans = explained(monkeypatch)
    assert answered(desk, question, **asked).rows
    assert plans
    assert [plan for plan in scans(plans) if "projection_" in plan] == []
    if "run" in asked or "key" in asked:
        assert strays([plan for plan in plans if "key>" not in plan]) == []
