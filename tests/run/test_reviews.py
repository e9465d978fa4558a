"""A review binds to the head it was made at."""

from __future__ import annotations

from ledger import events as e
from ledger.commands import SignReview
from ledger.testing import given
from tests.run import examples as x


def test_a_review_binds_to_position_and_hash_of_the_head() -> None:
    before = given(x.opened(), e.CursorMoved(node="a"))
    command = SignReview(by="human:kim", meaning="objection", note="too fast")
    event = e.ReviewSigned(
        by="human:kim", hash=before.contract.hash, head=2, meaning="objection", note="too fast"
    )
    signed = before.when(command).then(event)
    review = signed.contract.review
    assert review is not None
    assert (review.meaning, review.head, review.position) == ("objection", 2, 3)
    signed.when(command).then_stands_at(3)


def test_who_read_up_to_the_head_of_the_last_review_may_bind_to_it() -> None:
    first = given(x.opened()).when(SignReview(by="human:kim", meaning="noted")).after
    seen = first.contract.review
    assert seen is not None
    command = SignReview(by="human:lee", meaning="noted", read_hash=seen.hash, read_upto=seen.head)
    second = first.when(command).after
    review = second.contract.review
    assert review is not None
    assert (review.by, review.head, review.hash, review.position) == ("human:lee", 1, seen.hash, 3)
    second.when(command).then_stands_at(3)
    # Who has read the reviews as well says another thing.
    contract = second.contract
    again = SignReview(by="human:lee", meaning="noted", read_hash=contract.hash, read_upto=contract.position)
    assert second.when(again).after.contract.review.head == 3  # type: ignore[union-attr]
    moved = second.also(e.CursorMoved(node="a"))
    moved.when(command).then_refused("not_open")
    first.when(command.with_fields({"read_hash": "f" * 64})).then_refused("not_open")
    first.when(command.with_fields({"read_hash": None})).then_refused("not_open")
    first.when(command.with_fields({"read_upto": None})).then_refused("not_open")


def test_another_word_or_another_head_is_another_review() -> None:
    command = SignReview(by="human:kim", meaning="noted")
    signed = given(x.opened()).when(command).after
    assert signed.when(SignReview(by="human:lee", meaning="noted")).after.position == 3
    moved = signed.also(e.CursorMoved(node="a"))
    assert moved.when(command).after.contract.review.head == 3  # type: ignore[union-attr]
