"""Which appends of a batch go together, and which of them need no statement to be refused."""

from __future__ import annotations

import pytest

from ledger.errors import PositionConflict, StoreUnavailable
from ledger.stores.base import Append, Appended, Fresh
from ledger.stores.postgres import rounds
from ledger.stores.postgres.rounds import Rounds
from tests.stores.builder import LATER, TENANT, Spec, one, part

FIRST = part("run-1", "a")
STORED = Appended((1,))


def test_appends_that_share_no_stream_go_together() -> None:
    tenant = one(part("run-1", "x", tenant="globex"), tenant="globex")
    batch = Rounds([one(FIRST), one(part("run-2", "b")), one(part("run-1", "c")), tenant])
    assert batch.next() == [0, 1, 3]


def test_an_append_to_several_streams_waits_for_all_of_them() -> None:
    both = one(part("run-2", "b"), part("run-1", "c"))
    batch = Rounds([one(FIRST), both, one(part("run-2", "d"))])
    assert batch.next() == [0, 2]


def test_a_source_is_appended_alone_in_its_turn() -> None:
    source = one(part("$source:policy", "p"))
    batch = Rounds([one(FIRST), source, one(part("run-2", "b"))])
    assert batch.next() == [0, 2]
    for member in (0, 2):
        batch.settle(member, STORED)
    assert batch.next() == [1]
    assert Rounds([source, one(FIRST)]).next() == [0]


def test_a_large_append_is_alone() -> None:
    row = FIRST.rows[0]._replace(record=bytes(9_000_000))
    large = one(FIRST._replace(rows=(row,)))
    assert Rounds([large, one(part("run-2", "b"))]).next() == [0]
    assert Rounds([one(part("run-2", "b")), large]).next() == [0]


def test_no_round_holds_more_events_than_a_transaction_has_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "ORDINALS", 5)
    batch = Rounds([one(part(f"run-{number}", "a", "b")) for number in range(4)])
    assert batch.next() == [0, 1]


def test_who_wanted_the_place_of_another_event_is_refused_by_the_winner() -> None:
    winner = part("run-1", "a", "b")
    batch = Rounds([one(winner), one(part("run-1", "c")), one(part("run-2", "d"))])
    batch.settle(0, Appended((1, 2)))
    assert batch.pending == [2]
    batch.settle(2, STORED)
    conflict = batch.outcomes[1]
    assert isinstance(conflict, PositionConflict)
    assert conflict.data == {"run": "run-1", "expected": 0, "actual": 2}


def test_the_same_event_again_is_left_to_the_store_to_recognise() -> None:
    """Also where it was encoded anew, or says something else: which of them it is shows what is stored."""
    again = part("run-1", "a", at=LATER)
    other = part("run-1", Spec("a", {"text": "other"}))
    batch = Rounds([one(FIRST), one(FIRST), one(again), one(other)])
    batch.settle(0, STORED)
    assert batch.pending == [1, 2, 3]


def test_who_builds_on_the_winner_is_not_refused() -> None:
    batch = Rounds([one(FIRST), one(part("run-1", "b", after=FIRST))])
    batch.settle(0, STORED)
    assert batch.next() == [1]


def test_who_saw_another_event_there_is_left_to_the_store() -> None:
    """Its place is not the one that was taken; what becomes of it is not known here."""
    elsewhere = part("run-1", Spec("a", {"text": "another history"}))
    on_top = part("run-1", "b", after=elsewhere)
    batch = Rounds([one(part("run-1", "c", after=FIRST)), one(on_top)])
    batch.settle(0, STORED)
    assert batch.pending == [1]


def test_a_refused_append_beats_nobody() -> None:
    batch = Rounds([one(FIRST), one(part("run-1", "b"))])
    batch.settle(0, StoreUnavailable("gone", reason="gone"))
    assert batch.next() == [1]


def test_runs_of_the_same_name_in_two_tenants_are_no_rivals() -> None:
    batch = Rounds([one(FIRST), one(part("run-1", "b", tenant="globex"), tenant="globex")])
    batch.settle(0, STORED)
    assert batch.pending == [1]


ACT = b"a" * 16


def intends(stream: str, tenant: str = TENANT) -> Append:
    """Build the intention of an act that has to be fresh."""
    return one(part(stream, Spec("a", act=ACT), tenant=tenant), tenant=tenant, fresh=[ACT])


def test_who_needs_an_act_to_be_fresh_waits_for_who_was_first_with_it() -> None:
    batch = Rounds([intends("run-1"), intends("run-2"), intends("run-3"), intends("run-4", "globex")])
    assert batch.next() == [0, 3]
    batch.settle(0, StoreUnavailable("gone", reason="gone"))
    batch.settle(3, STORED)
    assert batch.next() == [1]
    batch.settle(1, STORED)
    assert batch.pending == [2]


def test_all_who_waited_for_an_act_that_is_stored_go_on_to_be_refused_together() -> None:
    batch = Rounds([intends(f"run-{number}") for number in range(4)])
    assert batch.next() == [0]
    batch.settle(0, STORED)
    assert batch.next() == [1, 2, 3]


def test_who_has_seen_something_of_an_act_waits_again_where_what_is_stored_may_be_what_was_seen() -> None:
    """The first is stored already, as its sender has not heard; both others have seen it."""
    seen = [
        one(part(f"run-{number}", Spec("a", act=ACT)), fresh=[Fresh(ACT, known)])
        for number, known in enumerate((1, 2, 2))
    ]
    batch = Rounds(seen)
    assert batch.next() == [0]
    batch.settle(0, Appended((1,), repeated=True))
    assert batch.next() == [1]
    batch.settle(1, STORED)
    assert batch.next() == [2]


def test_who_needs_no_fresh_act_waits_for_none() -> None:
    known = one(part("run-2", Spec("b", act=ACT)))
    assert Rounds([known, known, one(part("run-3", "c"))]).next() == [0, 2]
    assert Rounds([intends("run-1"), known]).next() == [0, 1]
    assert Rounds([known, intends("run-1")]).next() == [0]


def test_giving_up_answers_each_with_an_error_of_its_own() -> None:
    batch = Rounds([one(FIRST), one(part("run-2", "b"))])
    error = StoreUnavailable("gone", reason="gone")
    batch.fail(error)
    first, second = batch.outcomes
    assert first is not second
    assert isinstance(second, StoreUnavailable)
    assert second.data == {"reason": "gone"}
