"""What a question is given is checked before it is asked: what can only be a slip finds no `none`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ledger import Actor, Ledger, events
from ledger.adapters.cli.entry import exit_of
from ledger.errors import ChainBroken, InvalidInput
from projections.asking import ask
from projections.built_in import BUILT_IN
from projections.questions.base import Parameter
from projections.questions.catalogue import QUESTIONS
from projections.questions.reviews import MEANINGS
from projections.ways_on import is_altered, when_stopped
from tests.projections.conftest import SetClock
from tests.projections.questions.telling import answered, on_memory

KNOWN = [
    (name, one)
    for name, question in QUESTIONS.items()
    for one in question.parameters
    if one.known is not None
]


@pytest.fixture
def run_1(ledger: Ledger) -> Ledger:
    run = ledger.open_run("run-1", "Make good", actor=Actor("agent:desk"))
    run.promise("mail", "Mail them", owed_to="customer:28")
    return ledger


@on_memory
@pytest.mark.parametrize(
    ("question", "given", "words"),
    [
        ("reviews", {"meaning": "aproved"}, "not 'aproved'; did you mean approved"),
        ("changed-since-review", {"run": "run-1", "meaning": "aproved"}, "meaning= is one of reviewed"),
        ("changed-since-review", {"run": "run-1", "by": "kim"}, "by= takes a reference as kind:name"),
        ("resumes", {"verdict": "repla"}, "did you mean replan"),
        ("effects", {"status": "suceeded"}, "did you mean succeeded"),
        ("effects", {"tool": 17}, "tool= takes a text"),
        ("obligations", {"state": "opened"}, "did you mean open"),
        (
            "obligations",
            {"owed_to": "customer28"},
            "owed_to= takes a reference as kind:name, not 'customer28'",
        ),
        ("about-subject", {"subject": "customer17"}, "subject= takes a reference"),
        ("basis-of-decision", {"run": "run-1", "on": "foo"}, "on= takes a reference"),
        ("basis-of-decision", {"run": "run-1", "ref": "foo"}, "ref= 'foo' is none of"),
        ("affected-runs", {"source": "refunds"}, "source= takes a reference"),
        ("same-runtime", {}, "model= or digest= or source= with revision= is needed"),
        ("sample-of-effects", {"seed": "s", "size": "5"}, "size= takes a whole number"),
        ("writers", {}, "run= is needed"),
        ("writers", {"who": "run-1"}, "who= is no parameter of writers, which takes run=…"),
    ],
)
def test_a_slip_is_refused(run_1: Ledger, question: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        answered(run_1, question, **given)
    assert words in str(refused.value)


@on_memory
def test_a_period_ends_after_it_begins(run_1: Ledger, clock: SetClock) -> None:
    for length in (0, -1):
        with pytest.raises(InvalidInput, match=r"since= .* is not before the end of the period"):
            answered(run_1, "effects", since=clock.now, before=clock.now + timedelta(seconds=length))
    answered(run_1, "effects", since=clock.now, before=clock.now + timedelta(days=1))


def test_a_value_that_nothing_has_is_told(run_1: Ledger) -> None:
    typo = answered(run_1, "effects", tool="pya")
    assert (typo.rows, typo.notes) == ([], ("no effect of tool 'pya' is recorded",))
    assert answered(run_1, "obligations", owed_to="customer:82").notes == (
        "no obligation to 'customer:82' is recorded",
    )
    # There are such, and none of them is so.
    there = answered(run_1, "obligations", owed_to="customer:28", state="waived")
    assert (there.rows, there.notes) == ([], ())


@pytest.mark.parametrize(("question", "parameter"), KNOWN, ids=[f"{name}-{one.name}" for name, one in KNOWN])
def test_what_is_looked_up_has_an_index(question: str, parameter: Parameter) -> None:
    assert parameter.known is not None
    projection, name, column = parameter.known.column.split(".")
    assert projection in QUESTIONS[question].uses
    (table,) = (one for one in BUILT_IN[projection].tables if one.name == name)
    assert column in {index[0] for index in table.indexes}


def test_the_meanings_of_a_review_are_those_it_can_have() -> None:
    told = events.ReviewSigned.model_fields["meaning"].annotation
    assert set(MEANINGS) == set(told.__args__)  # type: ignore[union-attr]


# --- moments -----------------------------------------------------------------------------------------


@on_memory
def test_a_moment_that_has_not_come_cannot_be_asked_about(run_1: Ledger, clock: SetClock) -> None:
    with pytest.raises(InvalidInput, match="has not come, by the clock of the ledger it is 2026-01-31T09:00"):
        answered(run_1, "writers", run="run-1", as_of=clock.now + timedelta(seconds=1))
    assert answered(run_1, "writers", run="run-1", as_of=clock.now).notes == ()
    due = answered(run_1, "obligations", now=clock.now + timedelta(days=1))
    assert due.notes == (
        "judged by a time that has not come: by the clock of the ledger it is 2026-01-31T09:00:00.000000Z",
    )


def test_before_anything_was_recorded_that_is_said(run_1: Ledger, clock: SetClock) -> None:
    before = ("nothing had been recorded by then",)
    assert answered(run_1, "obligations", as_of=clock.now - timedelta(days=1)).notes == before
    assert answered(run_1, "obligations", as_of=0).notes == before
    assert answered(run_1, "obligations", as_of=run_1.store.end()).notes == ()


def test_as_it_is_an_answer_says_what_it_has_not_seen(run_1: Ledger) -> None:
    answered(run_1, "obligations")
    run_1.run("run-1").promise("call", "Call them", owed_to="customer:28")
    behind = answered(run_1, "obligations", catch_up=False)
    assert behind.notes == ("the projection obligations has not handled the last event",)
    # Of an earlier place everything is known.
    assert answered(run_1, "obligations", catch_up=False, as_of=behind.as_of).notes == ()
    assert ask(run_1, "obligations").notes == ()


# --- ways out ----------------------------------------------------------------------------------------


def test_an_altered_record_is_brought_back_and_another_one_is_mended() -> None:
    assert is_altered("ChainBroken: the record at position 2 does not match its hash")
    assert is_altered("IntegrityError: it does not")
    assert not is_altered("ValueError: ChainBroken")
    assert when_stopped("runs", "ValueError: x") == "mend it, then: intent-ledger project run runs"
    said = when_stopped("runs", "ChainBroken: x")
    assert said.startswith("bring it back from a backup or an export")
    assert said.endswith("or set its run aside: intent-ledger project run runs --park")
    assert exit_of(ChainBroken("x")) == 1
