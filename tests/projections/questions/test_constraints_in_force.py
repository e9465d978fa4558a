"""Which constraints were in force when an effect was intended: by positions, as of any moment."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ledger.errors import EffectNotFound
from projections.asking import ask
from projections.questions.affected import AffectedRuns
from projections.questions.constraints_in_force import ConstraintsAtEffect
from projections.questions.relaxations import Relaxations
from tests.projections.conftest import OpenLedger
from tests.projections.questions.refund_desk import (
    STORES,
    Desk,
    answered,
    desk_on,
    minute,
    only,
    policy,
    written,
)

ASKED = ConstraintsAtEffect()
WHERE = ("effect_position", "id", "position")


@pytest.fixture(scope="module", params=STORES)
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    yield from desk_on(request.param, tmp_path_factory.mktemp("desk"))


def test_each_is_told_with_author_time_source_and_record(desk: Desk) -> None:
    limit, night = answered(desk.ledger, ASKED, key=desk.keys["A"])
    assert limit == {
        "id": "limit",
        "text": "At most 100 EUR",
        "author": "human:kim",
        "asserted_at": None,
        "accepted_by": "agent:refunds",
        "actor": "agent:refunds",
        "accepted_at": written(3),
        "held_until": written(9),
        "ended_position": 12,
        "valid_from": None,
        "valid_until": None,
        "valid": 1,
        "enforced": 0,
        "source": "policy:refunds",
        "item": "limit",
        "revision": "1",
        "published": 1,
        "position": 2,
        "hash": desk.hash("refund-17", 2),
        "admitted_position": 2,
        "moved": 0,
        "effect_run": "refund-17",
        "effect_position": 4,
    }
    assert night == {
        "id": "night",
        "text": "Not at night",
        "author": "human:lee",
        "asserted_at": written(0, hour=8),
        "accepted_by": "human:kim",
        "actor": "human:kim",
        "accepted_at": written(4),
        "held_until": written(6),
        "ended_position": 7,
        "valid_from": None,
        "valid_until": written(30),
        "valid": 1,
        "enforced": 0,
        "source": None,
        "item": None,
        "revision": None,
        "published": None,
        "position": 3,
        "hash": desk.hash("refund-17", 3),
        "admitted_position": None,
        "moved": None,
        "effect_run": "refund-17",
        "effect_position": 4,
    }


def test_what_was_withdrawn_before_is_not_in_force(desk: Desk) -> None:
    assert only(answered(desk.ledger, ASKED, key=desk.keys["B"]), *WHERE) == [(8, "limit", 2)]


def test_what_was_accepted_again_counts_and_what_was_superseded_does_not(desk: Desk) -> None:
    """It is in force, and says of itself that it was not valid yet: that is told beside."""
    rows = answered(desk.ledger, ASKED, key=desk.keys["C"])
    assert only(rows, *WHERE, "valid", "published", "moved") == [
        (13, "night", 11, 0, None, None),
        (13, "limit", 12, 1, 0, 0),
    ]


def test_what_the_source_changed_by_then_has_moved(desk: Desk) -> None:
    """The rewording at position 3 of the source was acknowledged, and the effect admitted under it."""
    rows = answered(desk.ledger, ASKED, key=desk.keys["D"])
    assert only(rows, *WHERE, "admitted_position", "moved", "held_until") == [
        (17, "night", 11, None, None, None),
        (17, "limit", 12, 3, 1, written(15)),
    ]


def test_each_attempt_is_answered_for_by_itself(desk: Desk) -> None:
    rows = answered(desk.ledger, ASKED, key=desk.keys["E"])
    # The limit was withdrawn at 20, and `ask` accepted between the two attempts.
    assert only(rows, *WHERE) == [(21, "night", 11), (25, "night", 11), (25, "ask", 24)]
    assert only(rows, "item", "published", "admitted_position", "moved")[-1] == ("polite", 0, 4, 0)


def test_the_beginning_of_a_key_is_enough(desk: Desk) -> None:
    assert answered(desk.ledger, ASKED, key=desk.keys["B"][:12].upper()) == answered(
        desk.ledger, ASKED, key=desk.keys["B"]
    )


def test_asked_as_of_a_moment_it_knows_nothing_later(desk: Desk) -> None:
    limit, night = answered(desk.ledger, ASKED, key=desk.keys["A"], as_of=desk.gid("refund-17", 4))
    # Neither the withdrawal at 7 nor what supersedes the limit at 12 is known of.
    assert (limit["held_until"], night["held_until"]) == (None, None)
    (_, night) = answered(desk.ledger, ASKED, key=desk.keys["A"], as_of=minute(7))
    assert night["held_until"] == written(6)
    first = answered(desk.ledger, ASKED, key=desk.keys["E"], as_of=minute(17))
    assert only(first, *WHERE) == [(21, "night", 11)]
    with pytest.raises(EffectNotFound):
        answered(desk.ledger, ASKED, key=desk.keys["A"], as_of=desk.gid("refund-17", 3))


def test_that_nothing_was_in_force_is_said(desk: Desk) -> None:
    run = desk.ledger.open_run("bare", "Act freely")
    run.perform("refund", {"order": 9}, lambda order: None)
    (intent,) = [record for record in desk.ledger.log("bare") if record.name == "effect.intended"]
    key = intent.event.key  # type: ignore[attr-defined]
    answered(desk.ledger, ASKED, key=key)
    answer = ask(desk.ledger, ASKED, key=key)
    assert (answer.rows, answer.notes) == ([], ("no constraint was in force at position 2 of bare",))


def test_tenants_with_equal_names_stay_apart(open_on: OpenLedger) -> None:
    """Also in what other questions of constraints tell."""
    for tenant in ("acme", "Acme"):
        ledger = open_on(tenant)
        ledger.source("policy:refunds").publish("1", {"limit": tenant})
        run = ledger.open_run("run", "goal")
        run.accept("limit", tenant, source=policy("1"), asserted_by="human:kim")
        run.perform("refund", {}, lambda: None, key="given")
        run.withdraw("limit", reason=tenant, by="human:kim")
        run.perform("refund", {"order": 2}, lambda order: None)
    for tenant in ("acme", "Acme"):
        ledger = open_on(tenant)
        (key, *_) = [record.event.key for record in ledger.log("run") if record.name == "effect.intended"]  # type: ignore[attr-defined]
        assert only(answered(ledger, ASKED, key=key), "text") == [(tenant,)]
        assert only(answered(ledger, Relaxations()), "old_text", "reason", "effects_after") == [
            (tenant, tenant, 1)
        ]
        assert only(answered(ledger, AffectedRuns(), source="policy:refunds"), "run", "now") == [
            ("run", "unchanged")
        ]
