"""Many speak at once of acts that a person has to approve: each is told what is so, and one act is done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import Barrier
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.application.kinds import RUN, load_contract
from ledger.application.naming import Asked as How
from ledger.application.naming import doing
from ledger.application.statements import Stated, Statement
from ledger.application.steps import blocking
from ledger.application.stream import Stream
from ledger.commands import AnswerApproval, Command, MoveCursor, RequestApproval
from ledger.errors import ApprovalDenied, ApprovalNotFound, ApprovalRequired, AuthorityExceeded, NotOpen
from ledger.events import ApprovalAnswered
from ledger.run.contract import Contract
from ledger.stores.base import Append
from tests.application.approving import (
    ACTS,
    ARGS,
    KIM,
    LEE,
    PROGRAM,
    WAITS,
    asks,
    begin,
    opened,
    paying,
    performs,
)
from tests.application.conftest import SetClock, get_through
from tests.application.performing import Outside, names
from tests.stores.builder import together

THREADS = 16
DESK = Actor("service:desk")


@pytest.fixture
def outside() -> Outside:
    return Outside()


@pytest.fixture
def ledger(store: Any, clock: SetClock, outside: Outside) -> Ledger:
    one = opened(store, clock, [paying(outside)], tries=10_000)
    begin(one)
    return one


@pytest.fixture
def another(store: Any, clock: SetClock, outside: Outside) -> Callable[[], Ledger]:
    """Return a function that opens a ledger as another process would."""
    return lambda: opened(store, clock, [paying(outside)], tries=10_000)


def answers(ledger: Ledger) -> list[tuple[str, str]]:
    events = [record.event for record in ledger.log("r")]
    return [(one.answer, one.by) for one in events if isinstance(one, ApprovalAnswered)]


def told(call: Callable[[], object]) -> Any:
    """Return what a call comes to, its error too."""
    try:
        return call()
    except (ApprovalRequired, ApprovalDenied, NotOpen) as error:
        return error


# --- threads -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False], ids=["one handle", "ledgers of their own"])
def test_all_who_ask_at_once_are_told_of_one_request(
    ledger: Ledger, another: Callable[[], Ledger], outside: Outside, shared: bool
) -> None:
    run = ledger.run("r", actor=PROGRAM)
    others = [run if shared else another().run("r", actor=PROGRAM) for _ in range(THREADS)]
    found = together(*(partial(told, partial(one.perform, "pay", ARGS)) for one in others))
    assert {type(one) for one in found} == {ApprovalRequired}
    assert len({one.id for one in found}) == 1
    assert names(ledger) == WAITS
    ledger.approve(found[0].id, by=KIM)
    done = together(*(partial(one.perform, "pay", ARGS, wait_seconds=60.0) for one in others))
    assert done == [{"done": 1}] * THREADS
    assert names(ledger) == [*WAITS, "approval.answered", *ACTS]


@pytest.mark.parametrize(("first", "second"), [("approve", "approve"), ("approve", "deny")])
def test_of_two_who_answer_at_once_the_first_counts_and_both_are_recorded(
    ledger: Ledger, another: Callable[[], Ledger], outside: Outside, first: str, second: str
) -> None:
    id = asks(ledger).id
    one, other = another(), another()
    found = together(
        partial(told, lambda: getattr(one, first)(id, by=KIM)),
        partial(told, lambda: getattr(other, second)(id, by=LEE)),
    )
    said = answers(ledger)
    assert sorted(said) == sorted(
        [(f"{first}d", KIM), ("approved" if second == "approve" else "denied", LEE)]
    )
    assert [isinstance(each, NotOpen) for each in found].count(True) == (first != second)
    came_to = told(partial(performs, ledger))
    if said[0][0] == "approved":
        assert came_to == performs(another()) == {"done": 1}
        assert outside.calls == 1
    else:
        assert isinstance(came_to, ApprovalDenied)
        assert outside.calls == 0


def test_who_calls_again_and_again_performs_once_it_is_approved(
    ledger: Ledger, another: Callable[[], Ledger], outside: Outside
) -> None:
    id = asks(ledger).id
    begun = Barrier(2)

    def calls() -> int:
        mine, refused = another(), 0
        begun.wait()
        while isinstance(found := told(partial(performs, mine)), ApprovalRequired):
            assert found.id == id
            refused += 1
        assert found == {"done": 1}
        return refused

    def answer() -> int:
        begun.wait()
        another().approve(id, by=KIM)
        return 0

    together(calls, answer)
    assert outside.calls == 1
    assert names(ledger) == [*WAITS, "approval.answered", *ACTS]


def test_an_answer_and_the_revocation_of_the_grant_at_once_leave_no_act_without_authority(
    store: Any, clock: SetClock
) -> None:
    """Whichever comes first, the claim sees both: it is refused, and says what is missing."""
    outside = Outside()
    tool = paying(outside)
    ledger = opened(store, clock, [tool], tries=10_000)
    ledger.open_run("r", "Refund order 17", actor=PROGRAM)
    desk = ledger.run("r", actor=DESK)
    desk.grant("g", principal="agent:refunds", scopes=("pay",), granted_by=KIM)
    id = asks(ledger).id
    one, other = (opened(store, clock, [tool], tries=10_000) for _ in range(2))
    together(
        lambda: one.approve(id, by=KIM),
        lambda: other.run("r", actor=DESK).revoke("g", reason="no longer trusted", by=LEE),
    )
    with pytest.raises(AuthorityExceeded):
        performs(ledger)
    assert outside.calls == 0
    # A new grant is other terms: what was approved under the old one is asked anew.
    desk.grant("h", principal="agent:refunds", scopes=("pay",), granted_by=KIM)
    again = asks(ledger)
    assert again.id != id
    ledger.approve(again.id, by=KIM)
    assert performs(ledger) == {"done": 1}


def test_a_revocation_between_the_answer_and_the_claim_is_seen_by_who_decided_before_it(
    wrapped: Any, clock: SetClock
) -> None:
    """The claim was admitted on what its program had seen, and the store refuses it."""
    outside = Outside()
    tool = paying(outside)
    ledger = opened(wrapped, clock, [tool])
    begin(ledger)
    desk = opened(wrapped._store, clock, [tool]).run("r", actor=DESK)
    desk.grant("g", principal="agent:refunds", scopes=("pay",), granted_by=KIM)
    id = asks(ledger).id
    desk.approve(id, by=KIM)
    kept = ledger.run("r", actor=PROGRAM)
    kept.contract  # noqa: B018  it has seen the answer

    def revoke(append: Append) -> None:
        wrapped.before = lambda append: None
        desk.revoke("g", reason="no longer trusted", by=LEE)

    wrapped.before = revoke
    with pytest.raises(AuthorityExceeded):
        kept.perform("pay", ARGS)
    assert outside.calls == 0


def test_runs_of_one_lineage_ask_each_for_itself_and_act_once(
    ledger: Ledger, another: Callable[[], Ledger], outside: Outside
) -> None:
    ledger.run("r", actor=PROGRAM).open_child("c", "Pay it back")
    ids = [asks(another(), run).id for run in ("r", "c")]
    assert len(set(ids)) == 2
    for id in ids:
        another().approve(id, by=KIM)
    found = together(*(partial(performs, another(), run, wait_seconds=60.0) for run in ("r", "c", "r", "c")))
    assert found == [{"done": 1}] * 4
    started = [record.name for run in ("r", "c") for record in ledger.log(run)].count("effect.started")
    assert (started, outside.calls) == (1, 1)


# --- statements that wait together ---------------------------------------------------------------


class Waiting:
    """Statements that wait for one run, each of somebody else."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        edge: Edge = ledger._edge
        self.stream: Stream[Contract | None] = Stream(edge, "r", RUN, load_contract(edge, "r"))

    def claim(self, order: int) -> Command:
        shared = self.ledger._shared
        context = shared.context(PROGRAM, 1)
        contract = self.ledger.contract("r")
        tool = shared.workshop.known["pay"]
        return doing(shared.workshop, contract, context, tool, {"order": order}, How()).act.claim

    def settle(self, commands: Sequence[tuple[Command, Actor]]) -> list[Any]:
        context = self.ledger._shared.context
        said = [
            Statement(command, context(actor, 1), caller=number)
            for number, (command, actor) in enumerate(commands)
        ]
        blocking(self.ledger.store, self.stream.settle(said))
        return [one.outcome for one in said]


def test_what_waits_and_answers_and_others_in_one_group_are_each_told_what_is_so(ledger: Ledger) -> None:
    waiting = Waiting(ledger)
    first = waiting.claim(1)
    (asked,) = waiting.settle([(first, PROGRAM)])
    assert isinstance(asked, ApprovalRequired)

    def answer(id: str, said: Any, by: str) -> tuple[Command, Actor]:
        return AnswerApproval(answer=said, by=by, id=id), DESK

    outcomes = waiting.settle(
        [
            (MoveCursor(node="pay"), PROGRAM),
            (waiting.claim(2), PROGRAM),
            answer(asked.id, "approved", KIM),
            (first, PROGRAM),
            answer(asked.id, "denied", LEE),
            answer("nothing", "approved", KIM),
            (waiting.claim(2), PROGRAM),
            (MoveCursor(node="tell"), PROGRAM),
            (RequestApproval(key=asked.key, question="Really?"), DESK),
        ]
    )
    moved, second, approved, begun, denied, unknown, again, told_, anew = outcomes
    for stated in (moved, approved, begun, told_, anew):
        assert isinstance(stated, Stated)
        assert stated.records == tuple(
            record for record in ledger.log("r") if record.position in {r.position for r in stated.records}
        )
    assert [record.name for record in begun.records] == ["effect.intended", "effect.started"]
    assert isinstance(second, ApprovalRequired)
    assert isinstance(again, ApprovalRequired)
    assert (second.id, second.key) == (again.id, again.key)
    assert second.id != asked.id
    assert isinstance(denied, NotOpen)
    assert isinstance(unknown, ApprovalNotFound)
    contract = ledger.contract("r")
    assert contract == waiting.stream.state
    assert [effect.status for effect in contract.effects] == ["executing", "pending"]


def test_claims_that_wait_in_one_group_are_requests_of_their_own(ledger: Ledger) -> None:
    waiting = Waiting(ledger)
    found = waiting.settle([(waiting.claim(order % 3), PROGRAM) for order in range(9)])
    assert {type(one) for one in found} == {ApprovalRequired}
    ids = [one.id for one in found]
    assert ids == ids[:3] * 3
    assert len(set(ids)) == 3
    assert [one.id for one in ledger.contract("r").approvals] == ids[:3]
    assert names(ledger) == WAITS * 3


def test_a_stream_of_others_appends_does_not_keep_an_answer_from_being_recorded(
    ledger: Ledger, another: Callable[[], Ledger]
) -> None:
    id = asks(ledger).id
    busy, over = another().run("r", actor=PROGRAM), Barrier(2)

    def moves() -> None:
        over.wait()
        for number in range(20):
            get_through(lambda number=number: busy.move(f"node-{number}"))  # type: ignore[misc]

    def answer() -> None:
        over.wait()
        get_through(lambda: another().approve(id, by=KIM))

    together(moves, answer)
    assert performs(ledger) == {"done": 1}
