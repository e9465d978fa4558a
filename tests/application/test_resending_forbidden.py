"""What was forbidden since an act began is not sent again: it may be that nothing was sent before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ledger import Actor, Happened, Rule, tool
from ledger.application.acting import Doing
from ledger.errors import ApprovalRequired
from ledger.run.approvals import asked_about
from tests.application.conftest import SetClock
from tests.application.performing import Waiting
from tests.stores.conftest import KINDS

AGENT = Actor("agent:refunds", session="s-1")
KIM, LEE = "human:kim", "human:lee"
PERSON = "a person has to find out, and settle it"


class Crashed(BaseException):
    """The process ends before it has sent anything."""


class Crash:
    """A ledger on which an act was claimed, and whose process ended before it sent anything."""

    def __init__(self, tmp_path: Any, **declared: Any) -> None:
        self.clock = SetClock()
        self.sent: list[tuple[int, int]] = []
        crashes = [Crashed()]

        def refund(order: int, amount: int = 500) -> str:
            if crashes:
                raise crashes.pop()
            self.sent.append((order, amount))
            return "ok"

        one = tool(recovery="idempotent", dedupes_for=None, lease_seconds=10, **declared)(refund)
        self.ledger = Waiting(KINDS["memory"](tmp_path), self.clock)(tools=[one])
        self.ledger.open_run("r", "Refund order 17", actor=AGENT)
        self.kim = self.ledger.run("r", actor=Actor(KIM))
        end = self.clock.now + timedelta(hours=2)
        self.kim.grant(
            "g", principal=AGENT.id, scopes=["refund"], granted_by=KIM, budget={"EUR": 10}, expires_at=end
        )
        with pytest.raises(Crashed):
            self._perform()
        [held] = self.ledger.contract("r").effects
        self.key = held.key
        self.clock.tick(3600)

    def _perform(self) -> None:
        run = self.ledger.run("r", actor=AGENT)
        try:
            run.perform("refund", {"order": 17}, cost={"EUR": 10}, step="pay")
        except ApprovalRequired as asked:
            self.ledger.approve(asked.data["id"], by=LEE)
            run.perform("refund", {"order": 17}, cost={"EUR": 10}, step="pay")

    def denies(self) -> None:
        self.kim.request_approval(self.key)
        request = asked_about(self.ledger.contract("r"), self.key)
        assert request is not None
        self.ledger.deny(request.id, by=LEE, reason="not any more")

    def found(self) -> Any:
        [told] = self.ledger.reconcile()
        return told


def revoked(one: Crash) -> None:
    one.kim.revoke("g", reason="stop", by=KIM)


def narrowed(one: Crash) -> None:
    one.kim.narrow("g", as_="less", reason="read only", by=KIM, budget={"EUR": 0})
    one.kim.revoke("less", reason="stop", by=KIM)
    one.kim.grant("mail", principal=AGENT.id, scopes=["mail.*"], granted_by=KIM)


def somebody_elses(one: Crash) -> None:
    one.kim.revoke("g", reason="stop", by=KIM)
    one.kim.grant("g", principal="agent:other", scopes=["*"], granted_by=KIM)


def over(one: Crash) -> None:
    one.clock.tick(7200)


def forbidden(one: Crash) -> None:
    one.kim.accept("never", "No refunds", asserted_by=LEE, rule=Rule(deny=("refund",)))


def limited(one: Crash) -> None:
    """Speak of an argument that the tool declares by default."""
    limit = {"tools": ["refund"], "require": [{"path": "/amount", "operator": "le", "value": 100}]}
    one.kim.accept("limit", "100 at most", asserted_by=LEE, rule=limit)


def denied(one: Crash) -> None:
    one.denies()


def denied_before_the_goal_changed(one: Crash) -> None:
    one.denies()
    one.ledger.run("r", actor=AGENT).revise_goal("Refund it all the same", reason="x", by=AGENT.id)


NOT_COVERED = "no grant in force covers 'refund' for agent:refunds, who began it"


@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        (revoked, NOT_COVERED),
        (narrowed, NOT_COVERED),
        (somebody_elses, NOT_COVERED),
        (over, NOT_COVERED),
        (forbidden, "constraint 'never', asserted by human:lee, allows it only where the tool is none of"),
        (limited, "constraint 'limit', asserted by human:lee, allows it only where /amount is at most 100"),
        (denied, "human:lee denied it at position "),
        (denied_before_the_goal_changed, "human:lee denied it at position "),
    ],
)
def test_what_was_forbidden_meanwhile_is_for_a_person(
    tmp_path: Any, meanwhile: Callable[[Crash], None], why: str
) -> None:
    one = Crash(tmp_path, needs_approval=meanwhile is denied)
    meanwhile(one)
    recorded = one.ledger.contract("r").position
    told = one.found()
    assert told.found == "not_asked"
    assert told.because.startswith(why)
    assert told.because.endswith(f": {PERSON}")
    assert (one.sent, one.ledger.contract("r").position) == ([], recorded)


def held(one: Crash) -> None:
    one.kim.suspend(reason="lunch")


def closed(one: Crash) -> None:
    one.kim.close("cancelled", reason="x")


def allowed_again(one: Crash) -> None:
    forbidden(one)
    one.kim.withdraw("never", reason="it was a mistake", by=KIM)


def asked(one: Crash) -> None:
    one.kim.request_approval(one.key)


def granted_anew(one: Crash) -> None:
    one.kim.revoke("g", reason="x", by=KIM)
    one.kim.grant("h", principal=AGENT.id, scopes=["*"], granted_by=KIM, session="s-2")


@pytest.mark.parametrize("meanwhile", [lambda one: None, held, closed, allowed_again, asked, granted_anew])
def test_what_nothing_forbids_is_sent(tmp_path: Any, meanwhile: Callable[[Crash], None]) -> None:
    """Its budget is used up by the act itself, which has set it aside."""
    one = Crash(tmp_path)
    meanwhile(one)
    assert (one.found().found, one.sent) == ("happened", [(17, 500)])


def test_a_no_that_comes_while_the_sending_is_recorded_is_heard(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Crash(tmp_path)
    weigh, meanwhile = Doing.weigh, [lambda: revoked(one), lambda: None]

    def slow(self: Doing) -> Any:
        meanwhile.pop()()
        return weigh(self)

    monkeypatch.setattr(Doing, "weigh", slow)
    told = one.found()
    assert (told.found, told.because, one.sent) == ("not_asked", f"{NOT_COVERED}: {PERSON}", [])
    assert meanwhile == []


def test_a_probe_is_asked_about_what_was_forbidden(tmp_path: Any) -> None:
    one = Crash(tmp_path, probe=lambda key, args: Happened())
    revoked(one)
    assert (one.found().found, one.sent) == ("happened", [])
