"""What people thought of runs, and what came since."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.events import ReviewSigned, RunOpened
from projections.reviews import Reviews
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.questions.telling import answered, explained, told, unbounded, written
from tests.projections.samples import catch_up, kept, naive

AGENT, KIM, LEE = Actor("agent:desk"), Actor("human:kim"), Actor("human:lee")
START = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)


@pytest.fixture
def desk(ledger: Ledger, clock: SetClock) -> Ledger:
    """Return a ledger of three runs: one that two people reviewed, one that is as it was, one nobody saw."""
    run = ledger.open_run("run-1", "Make good for customer 28", actor=AGENT)
    run.promise("mail", "Mail the customer", owed_to="customer:28")
    clock.tick(60)
    ledger.run("run-1", actor=KIM).sign_review("reviewed", by="human:kim")
    run.promise("call", "Call the customer", owed_to="customer:28")
    clock.tick(60)
    # Lee's words come through a service, and hold what PostgreSQL keeps in no text.
    ledger.run("run-1").sign_review("objection", by="human:lee", note="not\0told")
    clock.tick(60)
    person = ledger.run("run-1", actor=KIM)
    person.waive("call", reason="a mail is enough", by="customer:28")
    run.discharge("mail", evidence="mail 28 was sent")
    ledger.open_run("run-2", "Count", actor=AGENT)
    clock.tick(60)
    ledger.run("run-2", actor=KIM).sign_review("approved", by="human:kim")
    ledger.open_run("run-3", "Look", actor=AGENT)
    return ledger


REVIEWS = [
    ("run-1", 3, 2, "reviewed", "human:kim", "human:kim", None, 4),
    ("run-1", 5, 4, "objection", "human:lee", "service:tests", "not␀told", 2),
    ("run-2", 2, 1, "approved", "human:kim", "human:kim", None, 0),
]
COLUMNS = ("run", "position", "head", "meaning", "by", "actor", "note", "changed_after")


def test_each_review_is_told_with_how_much_came_since(desk: Ledger) -> None:
    assert told(desk, "reviews", *COLUMNS) == REVIEWS
    second = next(desk.log("run-1", after=1, limit=1))
    assert told(desk, "reviews", "head_hash", "at", run="run-1")[0] == (
        second.hash.hex(),
        written(START + timedelta(seconds=60)),
    )
    assert told(desk, "reviews", *COLUMNS, run="run-2") == REVIEWS[2:]
    assert told(desk, "reviews", *COLUMNS, meaning="objection") == REVIEWS[1:2]
    assert told(desk, "reviews", *COLUMNS, run="run-1", meaning="approved") == []
    period = {"since": START + timedelta(seconds=60), "before": START + timedelta(seconds=120)}
    assert told(desk, "reviews", *COLUMNS, **period) == REVIEWS[:1]


def test_reviews_are_counted_as_of_an_earlier_moment(desk: Ledger) -> None:
    fifth = next(desk.log("run-1", after=4, limit=1))
    then = [(*REVIEWS[0][:-1], 2), (*REVIEWS[1][:-1], 0)]
    assert told(desk, "reviews", *COLUMNS, as_of=fifth.global_position) == then
    assert told(desk, "reviews", *COLUMNS, as_of=fifth.at) == then


def test_the_list_of_runs_says_the_same_of_the_last_review(desk: Ledger) -> None:
    listed = {run.run: run for run in desk.runs().runs}
    last = {row[0]: row for row in told(desk, "reviews", "run", "meaning", "head", "changed_after")}
    assert {run: one.changed_since_review for run, one in listed.items()} == {
        "run-1": 2,
        "run-2": 0,
        "run-3": None,
    }
    for run, (_, meaning, head, changed) in last.items():
        review = listed[run].review
        assert review is not None
        assert (review.meaning, review.head, listed[run].changed_since_review) == (meaning, head, changed)


CHANGED = ("review_position", "reviewed_by", "head", "position", "name", "thing", "by", "actor")


def test_what_changed_since_the_last_review_is_told(desk: Ledger) -> None:
    answer = answered(desk, "changed-since-review", run="run-1")
    assert told(desk, "changed-since-review", *CHANGED, run="run-1") == [
        (5, "human:lee", 4, 6, "obligation.waived", "obligation:call", "customer:28", "human:kim"),
        (5, "human:lee", 4, 7, "obligation.discharged", "obligation:mail", None, "agent:desk"),
    ]
    assert answer.notes == ("position 4 holds the record that the review at position 5 was signed for",)
    assert told(desk, "changed-since-review", run="run-2") == []


def test_what_changed_since_somebody_looked_is_told(desk: Ledger) -> None:
    since_kim = told(desk, "changed-since-review", *CHANGED[:5], run="run-1", by="human:kim")
    assert since_kim == [
        (3, "human:kim", 2, 4, "obligation.opened"),
        (3, "human:kim", 2, 5, "review.signed"),
        (3, "human:kim", 2, 6, "obligation.waived"),
        (3, "human:kim", 2, 7, "obligation.discharged"),
    ]
    assert told(desk, "changed-since-review", *CHANGED[:5], run="run-1", meaning="reviewed") == since_kim
    fifth = next(desk.log("run-1", after=4, limit=1)).global_position
    given = {"run": "run-1", "by": "human:kim", "as_of": fifth}
    assert told(desk, "changed-since-review", *CHANGED[:5], **given) == since_kim[:2]
    assert told(desk, "changed-since-review", run="run-1", as_of=fifth) == []


def test_of_a_run_that_nobody_reviewed_all_is_told(desk: Ledger) -> None:
    answer = answered(desk, "changed-since-review", run="run-3")
    assert [row[:7] for row in answer.rows] == [(None, None, None, None, 1, answer.rows[0][5], "run.opened")]
    assert answer.notes == ("the run has never had a review: all its events are listed",)
    other = answered(desk, "changed-since-review", run="run-1", by="human:sam")
    assert [row[4] for row in other.rows] == [1, 2, 3, 4, 5, 6, 7]
    assert other.notes == ("the run has never had such a review: all its events are listed",)


@pytest.mark.parametrize("head", [1, 9])
def test_a_review_of_another_record_covers_nothing(ledger: Ledger, head: int) -> None:
    opened = RunOpened(goal="Look")
    review = ReviewSigned(by="human:kim", hash="0" * 64, head=head, meaning="reviewed")
    ledger.import_events("copied", [opened, review], expected=0)
    answer = answered(ledger, "changed-since-review", run="copied")
    assert [row[:5] for row in answer.rows] == [(2, "human:kim", "reviewed", 0, 1)]
    note = (
        f"the review at position 2 was signed for another record than the one at position {head}: it covers "
        "nothing of this run, and all events are listed"
    )
    assert answer.notes == (note,)


@pytest.mark.parametrize("page", [1, 500])
def test_reviews_are_what_a_naive_fold_comes_to(desk: Ledger, open_on: OpenLedger, page: int) -> None:
    other = open_on("other")
    other.open_run("run-1", "Theirs").sign_review("noted", by="human:kim")
    for ledger, many in ((desk, 3), (other, 1)):
        catch_up(ledger, Reviews(), page=page)
        rows = kept(ledger, Reviews())
        assert rows == naive(ledger, Reviews())
        assert len(rows["reviews"]) == many


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("question", "given"),
    [
        ("reviews", {"run": "run-1"}),
        ("reviews", {"run": "run-1", "meaning": "objection", "since": START}),
        ("reviews", {"meaning": "objection"}),
        ("reviews", {"since": START, "before": START + timedelta(hours=1)}),
        ("changed-since-review", {"run": "run-1"}),
        ("changed-since-review", {"run": "run-1", "by": "human:kim", "meaning": "reviewed"}),
    ],
)
def test_what_is_asked_about_is_looked_up(
    desk: Ledger, monkeypatch: pytest.MonkeyPatch, question: str, given: dict[str, Any]
) -> None:
    answered(desk, "reviews")
    plans = explained(monkeypatch)
    assert answered(desk, question, **given).rows
    assert plans
    # Of a run that is asked about nothing but the run is read, however long the period.
    assert unbounded(plans, *(() if "run" in given else ("at>?", "meaning=?"))) == []
