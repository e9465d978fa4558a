"""Which runs have something from a source, and whether it has changed it since they looked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ledger.application.source_listing import affected
from projections.asking import ask
from projections.questions.affected import AffectedRuns
from tests.projections.conftest import SetClock
from tests.projections.questions.refund_desk import (
    AGENT,
    KIM,
    STORES,
    Desk,
    answered,
    desk_on,
    ledger_on,
    minute,
    only,
    policy,
    written,
)

ASKED = AffectedRuns()
SOURCE = "policy:refunds"


@pytest.fixture(scope="module", params=STORES)
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    yield from desk_on(request.param, tmp_path_factory.mktemp("desk"))


def test_every_acceptance_is_told_with_what_became_of_it(desk: Desk) -> None:
    rows = answered(desk.ledger, ASKED, source=SOURCE)
    assert only(rows, "run", "position", "id", "item", "revision", "source_position", "published") == [
        ("refund-17", 2, "limit", "limit", "1", 2, 1),
        ("refund-17", 12, "limit", "limit", "1", 2, 0),
        ("refund-17", 24, "ask", "polite", "2", 4, 0),
        ("refund-18", 2, "polite", "polite", "2", 4, 1),
        ("refund-19", 2, "polite", "polite", "2", 4, 1),
    ]
    assert only(rows, "status", "closed", "behind", "now", "changed_position", "changed_at") == [
        ("ended", 0, None, "withdrawn", 4, written(14)),
        ("ended", 0, None, "withdrawn", 4, written(14)),
        ("in_force", 0, 1, "reworded", 5, written(21)),
        ("in_force", 1, 1, "reworded", 5, written(21)),
        ("in_force", 0, 1, "reworded", 5, written(21)),
    ]
    assert only(rows, "accepted_by", "accepted_at")[1] == ("human:kim", written(9))


def test_asked_as_of_a_moment_it_says_what_was_known_then(desk: Desk) -> None:
    """At 9:12 revision 2 was acknowledged: what stands at 12 was behind at 9:11, and is no more."""
    rows = answered(desk.ledger, ASKED, source=SOURCE, as_of=minute(11))
    assert only(rows, "position", "status", "looked_position", "behind", "now") == [
        (2, "ended", None, None, "reworded"),
        (12, "in_force", None, 1, "reworded"),
    ]
    rows = answered(desk.ledger, ASKED, source=SOURCE, as_of=desk.gid("refund-17", 16))
    assert only(rows, "position", "status", "looked_position", "behind", "now")[1:] == [
        (12, "in_force", 3, 0, "reworded")
    ]
    rows = answered(desk.ledger, ASKED, source=SOURCE, as_of=desk.gid("refund-17", 2))
    assert only(rows, "position", "status", "behind", "now") == [(2, "in_force", 0, "unchanged")]


def test_the_last_look_counts(tmp_path: Path) -> None:
    with ledger_on("memory", tmp_path, SetClock()) as ledger:
        source = ledger.source(SOURCE, actor=KIM)
        source.publish("1", {"a": "A"})
        run = ledger.open_run("run", "goal", actor=KIM)
        run.accept("a", "A", source=policy("1"), asserted_by="human:kim")
        told = []
        for revision in ("2", "3"):
            source.publish(revision, {"a": f"A{revision}"})
            told += answered(ledger, ASKED, source=SOURCE)
            run.acknowledge(policy(revision), by="human:kim")
            told += answered(ledger, ASKED, source=SOURCE)
    assert only(told, "source_position", "changed_position", "looked_position", "behind") == [
        (2, 3, None, 1),
        (2, 3, 3, 0),
        (2, 4, 3, 1),
        (2, 4, 4, 0),
    ]


def test_one_item_may_be_asked_for(desk: Desk) -> None:
    rows = answered(desk.ledger, ASKED, source=SOURCE, item="polite")
    assert only(rows, "run", "id") == [("refund-17", "ask"), ("refund-18", "polite"), ("refund-19", "polite")]
    assert answered(desk.ledger, ASKED, source=SOURCE, item="none") == []


def test_what_is_in_force_is_what_contracts_say(desk: Desk) -> None:
    """The listing that reads every contract is the other way to the same answer."""
    rows = answered(desk.ledger, ASKED, source=SOURCE)
    told = [row for row in rows if row["status"] == "in_force"]
    found = affected(desk.ledger, SOURCE).runs
    assert sorted(
        (one.run, one.constraint.position, one.constraint.id, one.now, int(not one.looked)) for one in found
    ) == only(told, "run", "position", "id", "now", "behind")
    assert {one.run for one in found if one.status == "closed"} == {"refund-18"}


def test_an_unknown_source_is_said_to_be_unknown(desk: Desk) -> None:
    answered(desk.ledger, ASKED, source=SOURCE)
    answer = ask(desk.ledger, ASKED, source="policy:none")
    assert (answer.rows, answer.notes) == (
        [],
        ("no such source was opened, and no run has anything from it",),
    )
    answer = ask(desk.ledger, ASKED, source=SOURCE, item="none")
    assert (answer.rows, answer.notes) == ([], ())


def test_a_claim_about_a_source_that_publishes_nothing_is_told(tmp_path: Path) -> None:
    with ledger_on("memory", tmp_path, SetClock()) as ledger:
        run = ledger.open_run("run", "goal", actor=AGENT)
        run.accept("own", "Be quick", source=policy("1"), asserted_by="human:kim")
        rows = answered(ledger, ASKED, source=SOURCE)
        source = ledger.source(SOURCE, actor=KIM)
        source.publish("1", {"own": "Be slow"})
        later = answered(ledger, ASKED, source=SOURCE)
    names = ("status", "behind", "now", "published", "changed_position")
    assert only(rows, *names) == [("in_force", 0, "unpublished", 0, None)]
    assert only(later, *names) == [("in_force", 1, "reworded", 0, 2)]
