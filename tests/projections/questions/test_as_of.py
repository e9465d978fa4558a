"""What was answered once is answered again, asked as of then: by place, by time, and while others write."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import Actor, Ledger, open_ledger
from ledger.application.edge import Edge
from ledger.errors import EffectNotFound, InvalidInput, RunNotFound
from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from projections.asking import ask
from projections.questions.base import Answer, Parameter, Question
from projections.questions.catalogue import QUESTIONS
from tests.projections.case_file.answers import ANSWERS
from tests.projections.case_file.pen import TENANT, Pen, Written
from tests.projections.case_file.story import PARTS
from tests.projections.conftest import SetClock
from tests.projections.crowd import live
from tests.projections.living import Deed, Life, deeds
from tests.stores.builder import shown
from tests.stores.conftest import KINDS
from tests.stores.place import address

Given = Mapping[str, Any]
Outcome = list[Any] | None
"""Rows; None: there is no such effect."""


class Asked(NamedTuple):
    """A question, and what it came to when the ledger ended at a place and time."""

    question: str
    given: Given
    place: int
    time: datetime
    outcome: Outcome


def outcome(ledger: Ledger, question: str, given: Given, **when: Any) -> Outcome:
    """Ask; that nothing was intended under a key is an answer as well."""
    try:
        return ask(ledger, question, **when, **given).rows
    except EffectNotFound:
        return None


def asked_now(ledger: Ledger, question: str, given: Given, time: datetime) -> list[Asked]:
    """Ask where the ledger ends; nothing where the run, or the time that is asked about, is not there yet."""
    try:
        found = outcome(ledger, question, given, now=time)
    except (RunNotFound, InvalidInput):
        return []
    return [Asked(question, given, ledger.store.end(), time, found)]


def holds(ledger: Ledger, asked: Sequence[Asked]) -> None:
    """Ask all again as of then, when much has happened since."""
    shown(ledger.store)
    for one in asked:
        assert outcome(ledger, one.question, one.given, as_of=one.place, now=one.time) == one.outcome, one
        assert outcome(ledger, one.question, one.given, as_of=one.time) == one.outcome, one


# --- the case file -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "places"), [("memory", 5), ("postgres", 2)])
def test_the_case_file_is_told_as_it_stood_at_any_moment(tmp_path: Path, kind: str, places: int) -> None:
    """Asked what the golden answers are about, at some places of the story, and once more at its end."""
    with closing(KINDS[kind](tmp_path)) as store:
        told_as_it_stood(store, places)


def told_as_it_stood(store: FullStore, places: int) -> None:
    pen = Pen()
    for part in PARTS:
        part.tell(pen)
    story = pen.story
    clock = SetClock()
    ledger, written = Ledger(Edge(store, TENANT, Actor("service:tests"), clock)), Written(store)
    step = len(story) // places
    asked: list[Asked] = []
    for number, saying in enumerate(story):
        written.add(saying)
        after = story[number + 1].at if number + 1 < len(story) else None
        # What is said at one time is asked about together.
        if number >= step * (1 + len({one.place for one in asked})) - 1 and after != saying.at:
            clock.now = saying.at
            shown(store)
            for golden in ANSWERS:
                asked += asked_now(ledger, golden.question, golden.given, saying.at)
    assert len({one.place for one in asked}) == places
    # Each had something to tell even then.
    assert {one.question for one in asked if one.outcome} == QUESTIONS.keys()
    holds(ledger, asked)


# --- at random ---------------------------------------------------------------------------------------

WORDS: Mapping[str, st.SearchStrategy[Any]] = {
    "act": st.sampled_from(["a" * 64, "b" * 64]),
    "approval": st.sampled_from("abc"),
    "approver": st.just("human:kim"),
    "by": st.just("human:kim"),
    "digest": st.sampled_from("abc"),
    "id": st.sampled_from("abc"),
    "item": st.sampled_from("abc"),
    "key": st.sampled_from(["a" * 64, "b" * 64, "a" * 6]),
    "meaning": st.sampled_from(["approved", "noted", "objection", "reviewed"]),
    "model": st.sampled_from("abc"),
    "on": st.sampled_from(["assumption:a", "observation:b"]),
    "owed_to": st.sampled_from(["human:kim", "customer:17"]),
    "ref": st.sampled_from(["goal", "assumption:a", "effect:" + "a" * 64]),
    "revision": st.sampled_from(["a", "1", "2"]),
    "rule": st.sampled_from(["authority_exceeded", "off_plan"]),
    "run": st.sampled_from(["run-1", "run-2", "old-1", "old-2"]),
    "seed": st.just("s"),
    "size": st.integers(1, 4),
    "source": st.sampled_from(["policy:refunds", "policy:mail"]),
    "state": st.sampled_from(["open", "overdue", "discharged", "waived"]),
    "status": st.sampled_from(["succeeded", "unknown", "failed", "disputed"]),
    "subject": st.sampled_from(["customer:17", "human:kim"]),
    "terms": st.sampled_from(["v1:a", "1"]),
    "tool": st.sampled_from(["pay", "mail", "a"]),
    "verdict": st.sampled_from(["continue", "replan", "ask_a_person"]),
}
TIMES = st.integers(-2, 48).map(lambda hours: SetClock().now + timedelta(hours=hours))


def givens(question: Question) -> st.SearchStrategy[dict[str, Any]]:
    """Draw what a question may be asked about."""

    def values(one: Parameter) -> st.SearchStrategy[Any]:
        return TIMES if one.kind == "time" else WORDS.get(one.name, st.sampled_from("abc"))

    return st.fixed_dictionaries(
        {one.name: values(one) for one in question.parameters if one.required},
        optional={one.name: values(one) for one in question.parameters if not one.required},
    )


EVERY = st.tuples(*(st.tuples(st.just(one.name), givens(one)) for one in QUESTIONS.values()))
CHAPTERS = st.lists(st.tuples(st.lists(deeds(), min_size=12, max_size=24), EVERY), min_size=2, max_size=3)


@given(CHAPTERS)
@settings(max_examples=5)
def test_whatever_happens_later_what_was_answered_stands(
    chapters: list[tuple[list[Deed], Sequence[tuple[str, Given]]]],
) -> None:
    clock = SetClock()
    asked: list[Asked] = []
    with closing(MemoryStore()) as store:
        ledger, life = Ledger(Edge(store, "acme", Actor("service:tests"), clock)), Life(clock)
        for some, every in chapters:
            life.live(ledger, some)
            for question, about in every:
                asked += asked_now(ledger, question, about, clock.now)
            clock.tick(1)
        holds(ledger, asked)


# --- while others write ------------------------------------------------------------------------------

QUESTIONS_OF_ALL = tuple(
    name
    for name, one in QUESTIONS.items()
    if name != "same-runtime" and not any(parameter.required for parameter in one.parameters)
)
"""Those that can be asked about all runs at once."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_answers_hold_for_the_place_they_state_while_others_write(tmp_path: Path, kind: str) -> None:
    place: Any = tmp_path / "ledger.db" if kind == "sqlite" else address(kind, tmp_path)
    actor = Actor("service:tests")
    with ExitStack() as stack:
        ledger = stack.enter_context(open_ledger(place, actor=actor, busy_seconds=120))
        ledger.open_run("shared", "goal")
        stop = threading.Event()

        def write(name: str) -> None:
            for number in count():
                live(ledger, f"{name}-{number}", 2)
                if stop.is_set():
                    return

        answers: list[Answer] = []
        with ThreadPoolExecutor(3) as pool:
            writing = [pool.submit(write, f"w{number}") for number in range(3)]
            try:
                while len({answer.as_of for answer in answers}) < 4:
                    answers += (ask(ledger, name) for name in QUESTIONS_OF_ALL)
                    answers.append(ask(ledger, "timeline", run="shared"))
                    assert not any(future.done() for future in writing), "they write all the time"
            finally:
                stop.set()
        for future in writing:
            future.result()
        shown(ledger.store)
        for answer in answers:
            given = {"run": answer.given["run"]} if answer.given.get("run") else {}
            found = outcome(ledger, answer.question, given, as_of=answer.as_of, now=answer.now)
            assert found == answer.rows, (answer.question, answer.as_of)
