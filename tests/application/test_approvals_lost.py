"""The acknowledgement of what asks, or answers, is lost: said again it is told what it came to first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ledger import Ledger
from ledger.commands import AnswerApproval
from ledger.errors import ApprovalNotFound, NotOpen, StoreUnavailable
from tests.application.approving import ACTS, KIM, LEE, WAITS, asks, begin, opened, paying, performs
from tests.application.conftest import SetClock, Wrapped
from tests.application.performing import Outside, names


class Scene:
    """A program whose store lets go of acknowledgements, and others beside it."""

    def __init__(self, wrapped: Wrapped, clock: SetClock) -> None:
        self.outside = Outside()
        self.wrapped, self.clock = wrapped, clock
        self.mine = self.ledger(wrapped)
        begin(self.mine)

    def ledger(self, store: Any) -> Ledger:
        return opened(store, self.clock, [paying(self.outside)])

    def other(self) -> Ledger:
        return self.ledger(self.wrapped._store)

    def lose(self, *, stored: bool) -> None:
        """Lose the next append, or its answer."""

        def cut(append: object) -> None:
            self.wrapped.before = self.wrapped.after = lambda append: None
            raise StoreUnavailable("the connection was lost at COMMIT")

        if stored:
            self.wrapped.after = cut
        else:
            self.wrapped.before = cut


@pytest.fixture
def scene(wrapped: Wrapped, clock: SetClock) -> Scene:
    return Scene(wrapped, clock)


stored_or_not = pytest.mark.parametrize("stored", [True, False])


@stored_or_not
def test_a_request_whose_acknowledgement_was_lost_is_one_request(scene: Scene, stored: bool) -> None:
    kept = scene.mine.run("r")  # the doubt is kept with the run
    scene.lose(stored=stored)
    with pytest.raises(StoreUnavailable):
        performs(scene.mine)
    first = asks(scene.mine)
    assert names(scene.mine) == WAITS
    assert [one.id for one in kept.contract.approvals] == [first.id]
    assert [asks(one).id for one in (scene.mine, scene.other())] == [first.id] * 2
    assert names(scene.mine) == WAITS
    assert scene.outside.calls == 0


def test_who_asks_again_is_told_of_the_request_that_is_there_although_another_process_was_first(
    scene: Scene,
) -> None:
    scene.lose(stored=False)
    with pytest.raises(StoreUnavailable):
        performs(scene.mine)
    first = asks(scene.other())
    assert asks(scene.mine).id == first.id
    assert names(scene.mine) == WAITS


def test_who_asks_again_performs_where_the_request_was_stored_and_has_been_approved_since(
    scene: Scene,
) -> None:
    """It is told what its first call came to, which asked; calling once more is what performs."""
    kept = scene.mine.run("r")
    scene.lose(stored=True)
    with pytest.raises(StoreUnavailable):
        performs(scene.mine)
    [asked] = scene.other().contract("r").approvals
    scene.other().approve(asked.id, by=KIM)
    assert asks(scene.mine).id == asked.id
    assert performs(scene.mine) == {"done": 1}
    assert kept.contract.approvals == ()
    assert names(scene.mine) == [*WAITS, "approval.answered", *ACTS]


@stored_or_not
@pytest.mark.parametrize("verb", ["approve", "deny"])
def test_an_answer_whose_acknowledgement_was_lost_is_one_answer(
    scene: Scene, stored: bool, verb: str
) -> None:
    kept = scene.mine.run("r")
    id = asks(scene.mine).id
    scene.lose(stored=stored)
    with pytest.raises(StoreUnavailable):
        getattr(scene.mine, verb)(id, by=KIM)
    assert getattr(scene.mine, verb)(id, by=KIM).position == 4
    assert names(scene.mine) == [*WAITS, "approval.answered"]
    assert kept.contract.position == 4


def _performed(ledger: Ledger, id: str) -> None:
    assert performs(ledger) == {"done": 1}


def _asked_anew(ledger: Ledger, id: str) -> None:
    ledger.run("r").accept("new", "Refund nothing", asserted_by=KIM)
    asks(ledger)


@pytest.mark.parametrize("meanwhile", [_performed, _asked_anew])
def test_an_answer_that_counted_is_told_so_whatever_happened_before_it_is_said_again(
    scene: Scene, meanwhile: Callable[[Ledger, str], None]
) -> None:
    """The request is not in the contract any more, and the answer was counted all the same."""
    id = asks(scene.mine).id
    kept = scene.mine.run("r")
    scene.lose(stored=True)
    with pytest.raises(StoreUnavailable):
        kept.approve(id, by=KIM)
    meanwhile(scene.other(), id)
    assert kept.approve(id, by=KIM).position == 4
    assert names(scene.mine).count("approval.answered") == 1


def test_an_answer_that_did_not_count_is_told_so_whatever_happened_before_it_is_said_again(
    scene: Scene,
) -> None:
    id = asks(scene.mine).id
    kept = scene.mine.run("r")
    scene.other().approve(id, by=LEE)
    scene.lose(stored=True)
    with pytest.raises(StoreUnavailable):
        kept.deny(id, by=KIM)
    _performed(scene.other(), id)
    with pytest.raises(NotOpen):
        kept.deny(id, by=KIM)
    assert names(scene.mine).count("approval.answered") == 2
    with pytest.raises(ApprovalNotFound):
        kept.deny(id, by=KIM)


def test_an_error_that_is_handed_in_finds_what_its_try_stored(scene: Scene) -> None:
    id = asks(scene.mine).id
    kept = scene.mine.run("r")
    scene.lose(stored=True)
    with pytest.raises(StoreUnavailable) as lost:
        kept.approve(id, by=KIM)
    said = AnswerApproval(answer="approved", by=KIM, id=id)
    assert scene.other().run("r").do(said, again=lost.value).position == 4
    assert names(scene.mine).count("approval.answered") == 1


@stored_or_not
def test_a_person_who_is_asked_anew_is_asked_once_though_the_acknowledgement_was_lost(
    scene: Scene, stored: bool
) -> None:
    """What the request leaves out is taken from the one before it, and the same words find it again."""
    asked = asks(scene.mine)
    desk = scene.mine.run("r")
    desk.deny(asked.id, by=KIM)
    scene.lose(stored=stored)
    with pytest.raises(StoreUnavailable):
        desk.request_approval(asked.key)
    assert desk.request_approval(asked.key).position == 5
    assert names(scene.mine) == [*WAITS, "approval.answered", "approval.requested"]
    (anew,) = desk.contract.approvals
    assert anew.id != asked.id


@stored_or_not
def test_a_request_about_what_costs_something_is_found_again_too(
    wrapped: Wrapped, clock: SetClock, stored: bool
) -> None:
    """Nothing is set aside for an act that waits, and it is the same act all the same."""
    scene = Scene(wrapped, clock)
    scene.mine.register(paying(scene.outside, cost={"EUR": "10.00"}))
    kept = scene.mine.run("r")
    scene.lose(stored=stored)
    with pytest.raises(StoreUnavailable):
        performs(scene.mine)
    first = asks(scene.mine)
    assert [one.id for one in kept.contract.approvals] == [first.id]
    assert names(scene.mine) == WAITS
