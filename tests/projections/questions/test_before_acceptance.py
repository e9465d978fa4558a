"""What ran between the assertion of a constraint and its acceptance."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from projections.questions.before_acceptance import BeforeAcceptance
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

ASKED = BeforeAcceptance()
WHERE = ("position", "id", "effect_key", "effect_position", "former_text")


@pytest.fixture(scope="module", params=STORES)
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    yield from desk_on(request.param, tmp_path_factory.mktemp("desk"))


def test_what_ran_after_a_stated_time_and_before_the_acceptance(desk: Desk) -> None:
    """`night` was asserted at 8:00 and accepted twice: A ran while the words were in force, B did not."""
    assert answered(desk.ledger, ASKED, run="refund-17") == [
        {
            "run": "refund-17",
            "position": 11,
            "id": "night",
            "text": "Not at night",
            "source": None,
            "asserted_by": "human:lee",
            "asserted_at": written(0, hour=8),
            "known_by": "stated",
            "accepted_by": "human:kim",
            "accepted_at": written(8),
            "effect_key": desk.keys["B"],
            "tool": "refund",
            "effect_position": 9,
            "effect_at": written(7),
            "former_text": None,
        }
    ]


def test_a_period_is_that_of_acceptances(desk: Desk) -> None:
    assert only(answered(desk.ledger, ASKED, since=minute(8), before=minute(9)), *WHERE) == [
        (11, "night", desk.keys["B"], 9, None)
    ]
    assert answered(desk.ledger, ASKED, since=minute(9)) == []
    assert answered(desk.ledger, ASKED, before=minute(8)) == []
    assert answered(desk.ledger, ASKED, source="policy:refunds") == []


def test_asked_as_of_a_moment_before_the_acceptance_nothing_is_known(desk: Desk) -> None:
    assert answered(desk.ledger, ASKED, as_of=desk.gid("refund-17", 10)) == []
    assert len(answered(desk.ledger, ASKED, as_of=desk.gid("refund-17", 11))) == 1


@pytest.mark.parametrize("kind", STORES)
def test_what_ran_between_publication_and_acceptance(kind: str, tmp_path: Path) -> None:
    clock = SetClock()

    def at(number: int) -> None:
        clock.now = minute(number)

    with ledger_on(kind, tmp_path, clock) as ledger:
        source = ledger.source("policy:refunds", actor=KIM)
        at(1)
        run = ledger.open_run("run", "goal", actor=AGENT)  # 1
        at(2)
        run.perform("refund", {"order": 1}, lambda order: None)  # 2, before the publication
        at(3)
        source.publish("1", {"limit": "At most 100 EUR"}, by="human:kim")
        at(4)
        run.perform("refund", {"order": 2}, lambda order: None)  # 5, start at 6
        at(5)
        run.accept("cap", "At most 100 EUR", source=policy("1", item="limit"), asserted_by="human:kim")  # 8
        at(6)
        run.perform("refund", {"order": 3}, lambda order: None)  # 9, start at 10
        at(7)
        source.publish("2", {"limit": "At most 50 EUR"}, by="human:kim")
        at(8)
        kim = ledger.run("run", actor=KIM)
        kim.acknowledge(policy("2"), by="human:kim")  # 12
        run.perform("refund", {"order": 4}, lambda order: None)  # 13, start at 14
        at(9)
        new = policy("2", item="limit")
        run.accept("cap", "At most 50 EUR", source=new, asserted_by="human:kim", change="reworded")  # 16
        # Claimed only: no source ever published these words, and nobody says when they were asserted.
        kim.accept("own", "Be quick", source=policy("2"), asserted_by="human:kim")  # 17
        rows = answered(ledger, ASKED, source="policy:refunds")
        keys = {record.position: record.event.key for record in ledger.log("run")  # type: ignore[attr-defined]
                if record.name == "effect.intended"}  # fmt: skip
        earlier = answered(ledger, ASKED, source="policy:refunds", as_of=minute(8))
    assert only(rows, *WHERE, "known_by", "asserted_at", "accepted_at", "effect_at") == [
        (8, "cap", keys[5], 6, None, "published", written(3), written(5), written(4)),
        (16, "cap", keys[13], 14, "At most 100 EUR", "published", written(7), written(9), written(8)),
    ]
    assert earlier == rows[:1]
