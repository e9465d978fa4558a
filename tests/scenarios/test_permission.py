"""What the program may do is spent, partly spent, over, taken back, or of another session."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from ledger import Run
from ledger.commands import GrantAuthority, RenewAuthority
from ledger.errors import AuthorityExceeded, RunIsHeld
from tests.scenarios.conftest import Begin
from tests.scenarios.desk import Desk
from tests.scenarios.scene import DAY, KIM, OTHER, PROGRAM, RUN


def granted(desk: Desk, **more: Any) -> Run:
    """Open a run whose program may pay, for some time or within a budget."""
    scene = desk.scene
    run = scene.begin()
    said = {"principal": PROGRAM.id, "scopes": ["pay"], "granted_by": "human:kim", **more}
    scene.program(KIM).run(RUN).grant("till", **said)
    return run


def pay(desk: Desk, order: int, **declared: Any) -> Any:
    tool = desk.scene.till.tool(**declared)
    return desk.scene.program().run(RUN).perform(tool, {"order": order}, step=f"pay-{order}")


TEN = {"EUR": Decimal(10)}


def test_a_spent_budget_is_added_to_and_what_was_paid_is_not_paid_again(begin: Begin) -> None:
    desk = begin()
    run = granted(desk, budget=TEN)
    pay(desk, 17, cost=TEN)
    with pytest.raises(AuthorityExceeded):
        pay(desk, 18, cost=TEN)
    run.suspend(reason="night")
    said = desk.is_held("reapprove", "authority_exhausted", "authority_on_resume")
    assert set(said.cleared_by) == {"authority.renewed"}
    with pytest.raises(RunIsHeld):
        pay(desk, 18, cost=TEN)
    desk.say(RenewAuthority(id="till", by="human:kim", add_budget=TEN))
    desk.goes_on()
    pay(desk, 17, cost=TEN)
    pay(desk, 18, cost=TEN)
    assert desk.scene.till.orders == [17, 18]
    assert desk.scene.is_sound()


def test_a_partly_spent_budget_is_confirmed_by_a_person(begin: Begin) -> None:
    desk = begin()
    run = granted(desk, budget={"EUR": Decimal(30)})
    pay(desk, 17, cost=TEN)
    run.suspend(reason="night")
    desk.is_held("reapprove", "authority_on_resume")
    desk.say(RenewAuthority(id="till", by="human:kim", add_budget={"EUR": Decimal(0)}))
    desk.goes_on()
    (grant,) = desk.scene.program().run(RUN).contract.grants
    assert grant.budget is not None
    assert (dict(grant.budget), dict(grant.spent or {})) == ({"EUR": Decimal(30)}, TEN)


def test_what_is_over_is_renewed(begin: Begin) -> None:
    desk = begin(2 * DAY)
    scene = desk.scene
    ends = scene.clock() + timedelta(seconds=DAY)
    run = granted(desk, expires_at=ends)
    pay(desk, 17)
    run.suspend(reason="night")
    scene.clock.tick(2 * DAY)
    desk.is_held("reapprove", "authority_expired")
    desk.say(RenewAuthority(id="till", by="human:kim", expires_at=ends + timedelta(days=365)))
    desk.goes_on()
    pay(desk, 17)
    pay(desk, 18)
    assert scene.till.orders == [17, 18]


def test_what_was_taken_back_is_given_anew(begin: Begin) -> None:
    desk = begin()
    run = granted(desk)
    pay(desk, 17)
    desk.scene.program(KIM).run(RUN).revoke("till", reason="left the team", by="human:kim")
    with pytest.raises(AuthorityExceeded):
        pay(desk, 18)
    run.suspend(reason="may not")
    said = desk.is_held("reapprove", "authority_missing", "authority_revoked")
    assert set(said.cleared_by) == {"authority.granted"}
    again = GrantAuthority(id="till-2", principal=PROGRAM.id, scopes=("pay",), granted_by="human:kim")
    desk.say(again)
    desk.goes_on()
    pay(desk, 17)
    pay(desk, 18)
    assert desk.scene.till.orders == [17, 18]


def test_what_another_session_was_allowed_is_passed_on_by_a_person(begin: Begin) -> None:
    desk = begin()
    run = granted(desk, session=PROGRAM.session)
    pay(desk, 17)
    run.suspend(reason="night")
    desk.is_held("reapprove", "authority_of_another_session", "authority_on_resume", actor=OTHER)
    desk.say(RenewAuthority(id="till", by="human:kim", session=OTHER.session))
    desk.goes_on(actor=OTHER)
    run = desk.scene.program(OTHER).run(RUN)
    tool = desk.scene.till.tool()
    run.perform(tool, {"order": 17}, step="pay-17")
    run.perform(tool, {"order": 18}, step="pay-18")
    with pytest.raises(AuthorityExceeded):
        pay(desk, 19)
    assert desk.scene.till.orders == [17, 18]
