"""The exact terms of an effect, folded from the records, and whether their digest is the recorded one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.canonical import canonical_text
from ledger.events import EffectIntended
from projections.asking import ask
from projections.questions.constraints_in_force import ConstraintsAtEffect
from projections.questions.terms_at_effect import TermsAtEffect
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
)
from tests.stores.builder import shown

ASKED = TermsAtEffect()
WHERE = ("effect_position", "what", "id", "position")


@pytest.fixture(scope="module", params=STORES)
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    yield from desk_on(request.param, tmp_path_factory.mktemp("desk"))


def digest_of(rows: list[dict[str, Any]]) -> str:
    """Compute the digest of terms from what an answer says they are, and from nothing else."""
    parts: dict[str, list[Any]] = {"goal": [], "constraint": [], "grant": []}
    for row in rows:
        parts[row["what"]].append(json.loads(row["terms"]))
    (goal,) = parts["goal"]
    text = canonical_text({"constraints": parts["constraint"], "goal": goal, "grants": parts["grant"]})
    return "v1:" + hashlib.sha256(b"intent-ledger.terms.v1\n" + text.encode()).hexdigest()


def key_of(ledger: Ledger, run: str, since: int = 1) -> str:
    """Return the key of the effect that a run intended first, from a position on."""
    for record in ledger.log(run, after=since - 1):
        if isinstance(record.event, EffectIntended):
            return record.event.key
    raise LookupError(run)


def test_goal_and_constraints_are_told_with_their_records(desk: Desk) -> None:
    rows = answered(desk.ledger, ASKED, key=desk.keys["D"])
    assert only(rows, *WHERE, "text", "hash") == [
        (17, "goal", None, 1, "Refund order 17", desk.hash("refund-17", 1)),
        (17, "constraint", "limit", 12, "At most 200 EUR", desk.hash("refund-17", 12)),
        (17, "constraint", "night", 11, "Not at night", desk.hash("refund-17", 11)),
    ]
    assert {row["run"] for row in rows} == {"refund-17"}
    assert json.loads(rows[1]["terms"]) == {
        "accepted_by": "human:kim",
        "asserted_by": "human:lee",
        "id": "limit",
        "source": {"kind": "policy", "name": "refunds", "revision": "1"},
        "text": "At most 200 EUR",
    }


@pytest.mark.parametrize(("step", "position"), [("A", 3), ("B", 7), ("C", 12), ("D", 12)])
def test_the_recorded_digest_is_that_of_what_is_told(desk: Desk, step: str, position: int) -> None:
    rows = answered(desk.ledger, ASKED, key=desk.keys[step])
    ((terms_position, digest, agrees),) = set(only(rows, "terms_position", "digest", "agrees"))
    assert (terms_position, digest, agrees) == (position, digest_of(rows), 1)


def test_each_attempt_is_answered_for_by_itself(desk: Desk) -> None:
    rows = answered(desk.ledger, ASKED, key=desk.keys["E"])
    assert only(rows, *WHERE, "terms_position") == [
        (21, "goal", None, 1, 20),
        (21, "constraint", "night", 11, 20),
        (25, "goal", None, 1, 24),
        (25, "constraint", "ask", 24, 24),
        (25, "constraint", "night", 11, 24),
    ]
    first, second = rows[:2], rows[2:]
    assert [row["digest"] for row in (first[0], second[0])] == [digest_of(first), digest_of(second)]
    before = answered(desk.ledger, ASKED, key=desk.keys["E"], as_of=desk.gid("refund-17", 21))
    assert before == first


def test_a_grant_is_told_with_what_renewed_it_and_a_goal_as_it_was_revised(tmp_path: Path) -> None:
    clock = SetClock()
    with ledger_on("sqlite", tmp_path, clock) as ledger:
        run = ledger.open_run("refund", "Refund", actor=AGENT)  # 1
        kim = ledger.run("refund", actor=KIM)
        budget, more = {"EUR": Decimal("5.00")}, {"EUR": Decimal("2.50")}
        kim.grant(  # 2
            "g", principal="agent:refunds", scopes=["refund", "mail"], granted_by="human:kim",
            budget=budget, expires_at=minute(40), session="s-1",
        )  # fmt: skip
        kim.renew("g", by="human:kim", add_budget=more)  # 3
        kim.renew("g", by="human:kim", expires_at=minute(50))  # 4
        kim.revise_goal("Refund it twice", reason="asked", by="human:kim")  # 5
        run.perform("refund", {}, lambda: None, cost={"EUR": Decimal(1)})  # 6
        kim.revoke("g", reason="enough", by="human:kim")  # 9
        kim.grant("g", principal="agent:refunds", scopes=["refund"], granted_by="human:lee")  # 10
        run.perform("refund", {}, lambda: None, step="again", occurrence="second")  # 11
        goal, grant = rows = answered(ledger, ASKED, key=key_of(ledger, "refund"))
        later = answered(ledger, ASKED, key=key_of(ledger, "refund", 11))
        hashes = [None, *(record.hash.hex() for record in ledger.log("refund"))]
    assert (goal["position"], goal["hash"], goal["text"]) == (5, hashes[5], "Refund it twice")
    assert grant["text"] == (
        "agent:refunds may refund, mail in session s-1 for at most 7.50 EUR until 2026-01-31T09:50:00Z"
    )
    assert (grant["id"], grant["position"], grant["hash"]) == ("g", 2, hashes[2])
    assert json.loads(grant["renewals"]) == [[3, hashes[3]], [4, hashes[4]]]
    assert (grant["agrees"], grant["digest"]) == (1, digest_of(rows))
    # A grant of this id that was given anew has not been renewed.
    assert only(later, "id", "position", "text", "renewals", "agrees") == [
        (None, 5, "Refund it twice", None, 1),
        ("g", 10, "agent:refunds may refund", None, 1),
    ]


def test_a_successor_and_a_child_are_bound_by_acceptances_of_their_own(tmp_path: Path) -> None:
    clock = SetClock()
    with ledger_on("memory", tmp_path, clock) as ledger:
        source = ledger.source("policy:refunds", actor=KIM)
        source.publish("1", {"limit": "At most 100 EUR", "old": "Old"}, by="human:kim")
        parent = ledger.open_run("first", "Refund", actor=AGENT)  # 1
        parent.accept("limit", "At most 100 EUR", source=policy("1"), asserted_by="human:lee")  # 2
        parent.accept("old", "Old", source=policy("1"), asserted_by="human:lee")  # 3
        parent.open_child("child", "Do a part")  # 4, and 1 to 3 of the child
        child = ledger.run("child", actor=AGENT)
        child.perform("refund", {"part": 1}, lambda part: None)
        source.withdraw("old", reason="gone", by="human:kim")
        after = ledger.restart("first", as_="second", reason="a rule fell", by="human:kim", actor=KIM)
        clock.tick(60)
        after.perform("refund", {"part": 2}, lambda part: None)
        keys = {run: key_of(ledger, run) for run in ("child", "second")}
        found = {
            run: only(answered(ledger, ASKED, key=key), "run", "what", "id", "agrees")
            for run, key in keys.items()
        }
        held = {run: answered(ledger, ConstraintsAtEffect(), key=key) for run, key in keys.items()}
    assert found == {
        "child": [
            ("child", "goal", None, 1),
            ("child", "constraint", "limit", 1),
            ("child", "constraint", "old", 1),
        ],
        "second": [("second", "goal", None, 1), ("second", "constraint", "limit", 1)],
    }
    assert only(held["child"], "id", "position", "effect_run", "author", "accepted_by") == [
        ("limit", 2, "child", "human:lee", "agent:refunds"),
        ("old", 3, "child", "human:lee", "agent:refunds"),
    ]
    # 2 is run.restarted; what was withdrawn at its source was not taken over.
    assert only(held["second"], "id", "position", "effect_run") == [("limit", 3, "second")]


def test_terms_that_were_recorded_otherwise_do_not_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that computed them wrongly: every record is whole, and only the fold tells."""
    import ledger.run.terms as module

    with ledger_on("sqlite", tmp_path, SetClock()) as ledger:
        run = ledger.open_run("refund", "Refund", actor=Actor("agent:a"))
        with monkeypatch.context() as patch:
            patch.setattr(module, "_DOMAIN", b"other terms\n")
            run.accept("limit", "At most 100 EUR", asserted_by="human:kim")
            run.perform("refund", {}, lambda: None)
        shown(ledger.store)
        answer = ask(ledger, ASKED, key=key_of(ledger, "refund"))
    assert [row[10] for row in answer.rows] == [0, 0]
    assert answer.notes == (
        "terms from the records are not those recorded with the effect at position 3 of refund",
    )
