"""Which effects broke a rule, by the record of then and by what is known now."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Actor, Ledger
from ledger import events as e
from ledger.application.edge import Edge
from ledger.canonical import canonical_text
from ledger.run.rules import breaches
from ledger.stores.memory import MemoryStore
from ledger.values import ErrorSaid, Rule
from projections.questions.violations import Violations, ViolationsCorrected
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.questions import rule_book
from tests.projections.questions.rule_book import (
    Book,
    accepted,
    at_most,
    key_of,
    minute,
    opened,
    strays,
    written,
)
from tests.projections.questions.telling import answered, explained, scans, told

RECORDED, CORRECTED = Violations(), ViolationsCorrected()
SHORT = ("run", "effect_position", "constraint_position", "verdict", "condition", "value", "view")


@pytest.fixture
def book(ledger: Ledger, clock: SetClock) -> Book:
    return Book(ledger, clock)


def broken(position: int, by: int, limit: str, value: str, view: str = "recorded", run: str = "run-1") -> Any:
    return (run, position, by, "broken", f"/amount is at most {limit}", f'"{value}"', view)


BROKEN = [broken(10, 5, "100", "100.01"), broken(20, 15, "200", "201"), broken(28, 26, "50", "51")]


def test_a_rule_is_broken_by_what_was_begun_while_it_was_in_force(ledger: Ledger, book: Book) -> None:
    rule_book.recorded(book)
    assert told(ledger, RECORDED, *SHORT) == BROKEN
    assert told(ledger, RECORDED, run="run-1")[0] == (
        *("run-1", key_of("run-1", "refund", amount="100.01"), "refund", 10, written(4), written(4)),
        *("limit", 5, "policy:refunds", "1", "human:kim", "broken", "/amount is at most 100"),
        *('"100.01"', "recorded"),
    )
    # No rule names a time of its own, so that both views agree.
    assert told(ledger, CORRECTED, *SHORT) == [(*row[:-1], "both") for row in BROKEN]


def test_it_is_asked_by_run_period_and_moment(ledger: Ledger, book: Book) -> None:
    rule_book.recorded(book)
    rule_book.imported(book)
    assert [row[0] for row in told(ledger, RECORDED, "run")] == ["run-1"] * 3 + ["run-6"] * 2
    assert told(ledger, RECORDED, *SHORT, run="run-1") == BROKEN
    assert told(ledger, RECORDED, *SHORT, since=minute(8), before=minute(12)) == BROKEN[1:2]
    assert told(ledger, RECORDED, *SHORT, as_of=minute(8)) == BROKEN[:2]
    started = next(one for one in ledger.log("run-1") if one.position == 20).global_position
    assert started is not None
    assert told(ledger, RECORDED, *SHORT, as_of=started) == BROKEN[:2]
    assert told(ledger, RECORDED, *SHORT, as_of=started - 1) == BROKEN[:1]


def test_it_says_what_was_held_against_what(ledger: Ledger, book: Book) -> None:
    for question in (RECORDED, CORRECTED):
        assert answered(ledger, question).notes == (
            "no effect was begun in what is asked about: nothing was checked",
        )
    book.at(1).say("run-9", opened(), accepted("polite", None), *rule_book.life("run-9", amount="5"))
    for question in (RECORDED, CORRECTED):
        found = answered(ledger, question)
        (note,) = found.notes
        assert found.rows == []
        assert note.startswith("constraints of these runs that state a rule a machine can check: 0 of 1; ")
        assert note.endswith("effects that were held against one or more: 0 of 1")
    rule_book.recorded(book)
    rule_book.imported(book)
    held, imported = answered(ledger, RECORDED, run="run-6").notes
    assert held.endswith("can check: 1 of 1; effects that were held against one or more: 2 of 2")
    assert imported.startswith(
        "1 of these 2 effects were imported (witnessed 0): their times are those of the"
    )
    listed = answered(ledger, "effects", run="run-6")
    assert listed.notes == (imported,)
    drawn = answered(ledger, "sample-of-effects", seed="s", size=50)
    assert drawn.notes[1].startswith("1 of these ")


def test_what_the_effect_does_not_say_is_undecidable(ledger: Ledger, book: Book) -> None:
    rule_book.undecided(book)
    tenant = ("broken", "the tenant is one of acme", "default")
    assert told(ledger, RECORDED, "tool", "effect_position", "verdict", "condition", "value") == [
        ("delete", 4, "broken", "the tool is none of delete", "delete"),
        ("delete", 4, *tenant),
        ("look", 7, "broken", "the resource is one of order:1, order:2", "order:3"),
        ("look", 7, *tenant),
        ("look", 10, "undecidable", "the resource is one of order:1, order:2", None),
        ("look", 10, *tenant),
    ]


def test_who_wanted_an_approval_got_it_before_the_start(ledger: Ledger, book: Book) -> None:
    rule_book.approved(book)
    want = "a person approves it before it starts"
    keys = {key_of("run-3", "refund", amount=number): number for number in range(1, 12)}
    found = told(ledger, RECORDED, "key", "constraint", "verdict", "condition", "value")
    # The first is approved; the second was denied first; nobody answered the third; the fourth was answered
    # too late, the fifth when it had begun. The seventh did not say on what it began, the eighth began on
    # what was given for another; the last were answered by who may not.
    assert [(keys[key], *rest) for key, *rest in found] == [
        (number, "ask", "broken", want, None) for number in (2, 3, 4, 5, 7, 8, 9, 10, 11)
    ]


def test_an_approval_that_is_asked_for_again_is_waited_for_again(ledger: Ledger, book: Book) -> None:
    rule = Rule(needs_approval=True)
    key = key_of("r", "refund", amount=1)
    asked = e.ApprovalRequested(id="a", key=key)
    answer = e.ApprovalAnswered(id="a", answer="approved", by="human:kim")
    for run, again in (("once", False), ("twice", True), ("under another id", True)):
        book.say(run, opened(), accepted("ask", rule), asked)
        book.say(run, answer, by=rule_book.KIM)
        if again:
            book.say(run, asked if run == "twice" else asked.with_fields({"id": "b"}))
        act = rule_book.life("r", intent={"approval": "a"}, amount=1)
        book.say(run, act[0], act[1].with_fields({"root": run}), act[2])
    assert told(ledger, RECORDED, "run") == [("twice",)]


def test_the_corrected_view_goes_by_the_times_that_rules_and_acts_name(ledger: Ledger, book: Book) -> None:
    rule_book.corrected(book)
    # 83 and 84 were intended when the rule had ended by the time that it names.
    assert told(ledger, RECORDED, *SHORT) == [
        broken(10, 8, "50", "82", run="run-4"),
        broken(14, 12, "90", "91", run="run-4"),
    ]
    assert told(ledger, CORRECTED, *SHORT) == [
        # Asserted a minute before, accepted a minute later.
        broken(6, 8, "50", "81", "corrected", run="run-4"),
        # 82 was fine by the rewording that was valid by then.
        broken(14, 12, "90", "91", "both", run="run-4"),
        # 83 came when the rule had ended; 84 was done before, as was told later.
        broken(7, 2, "10", "84", "corrected", run="run-5"),
    ]
    assert told(ledger, CORRECTED, "effect_position", "at", "happened_at", run="run-5") == [
        (7, written(42), written(40))
    ]
    # As of a moment before the rewording was recorded, 82 broke it in that view, too.
    assert told(ledger, CORRECTED, *SHORT, as_of=minute(35)) == [
        broken(6, 8, "50", "81", "corrected", run="run-4"),
        broken(10, 8, "50", "82", "both", run="run-4"),
    ]


def test_what_was_imported_and_what_failed_was_begun(ledger: Ledger, book: Book) -> None:
    rule_book.imported(book)
    assert told(ledger, RECORDED, *SHORT) == [
        broken(3, 2, "10", "11", run="run-6"),
        broken(6, 2, "10", "12", run="run-6"),
    ]


def test_each_attempt_is_judged_by_the_rules_of_its_own_intent(ledger: Ledger, book: Book) -> None:
    intent, start, _ = rule_book.life("r", amount=20)
    failed = e.EffectFailed(
        attempt=1, key=key_of("r", "refund", amount=20), error=ErrorSaid(message="no", type="No")
    )
    again = [intent, start.with_fields({"attempt": 2}), failed.with_fields({"attempt": 2})]
    book.say("r", opened(), intent, start, failed, accepted("limit", at_most("10")), *again)
    assert told(ledger, RECORDED, "effect_position", "constraint_position") == [(7, 5)]


IDS = st.sampled_from(["a", "b"])
LIMITS = st.none() | st.sampled_from(["10", "20"])
DEEDS = st.one_of(
    st.tuples(st.just("accept"), IDS, LIMITS),
    st.tuples(st.just("withdraw"), IDS, st.none()),
    st.tuples(st.just("act"), st.sampled_from(["5", "15", "25"]), st.none()),
)


@given(st.lists(DEEDS, min_size=4, max_size=14))
def test_a_rule_was_in_force_where_the_contract_held_it(deeds: list[tuple[str, str, str | None]]) -> None:
    clock = SetClock()
    with closing(MemoryStore()) as store:
        ledger = Ledger(Edge(store, "default", Actor("human:kim"), clock, pause=lambda attempt: None))
        book = Book(ledger, clock)
        end = book.say("r", opened())
        expected: list[tuple[Any, ...]] = []
        for number, (what, name, limit) in enumerate(deeds):
            if what == "accept":
                end = book.say("r", accepted(name, None if limit is None else at_most(limit)))
            elif what == "withdraw":
                end = book.say("r", e.ConstraintWithdrawn(by="human:kim", id=name, reason="enough"))
            else:
                held = ledger.contract("r", at=end).constraints
                args: dict[str, Any] = {"amount": name, "number": number}
                book.act("r", **args)
                expected += [
                    (end + 2, one.position, breach.condition, breach.value)
                    for one in sorted(held, key=lambda one: one.position)
                    if one.rule is not None
                    for breach in breaches(one.rule, "refund", canonical_text(args))
                ]
                end += 3
        columns = ("effect_position", "constraint_position", "condition", "value")
        assert told(ledger, RECORDED, *columns) == expected


def test_tenants_do_not_see_what_others_broke(open_on: OpenLedger, clock: SetClock) -> None:
    book = Book(open_on("acme"), clock)
    book.say("r", opened(), accepted("limit", at_most("10")))
    book.act("r", amount=11)
    other = Book(open_on("Acme"), clock)
    other.say("r", opened(), accepted("other", at_most("20")))
    other.act("r", amount=11)
    assert told(open_on("acme"), RECORDED, "constraint") == [("limit",)]
    assert told(open_on("Acme"), RECORDED) == told(open_on("Acme"), CORRECTED) == []


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
@pytest.mark.parametrize("question", [RECORDED, CORRECTED], ids=["recorded", "corrected"])
def test_it_reads_no_whole_table(
    ledger: Ledger, book: Book, question: Violations | ViolationsCorrected, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule_book.recorded(book)
    rule_book.approved(book)
    plans = explained(monkeypatch)
    for asked in ({"since": minute(18)}, {"since": minute(18), "before": minute(22)}):
        assert answered(ledger, question, **asked).rows
        assert plans
        assert scans(plans) == [], asked
        plans.clear()
    for more in ({}, {"since": minute(18)}):
        assert answered(ledger, question, run="run-3", **more).rows
        assert plans
        assert strays(plans) == [], more
        plans.clear()
