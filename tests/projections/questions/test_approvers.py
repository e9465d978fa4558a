"""Who answered: a person, entitled, other than who asked."""

from __future__ import annotations

from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.events import (
    AuthorityRenewed,
    AuthorityRevoked,
    ConstraintWithdrawn,
    Event,
    GoalRevised,
    PlanCommitted,
    RuntimeAdopted,
)
from ledger.values import Rule, Source, Step
from projections.questions.approvals_approvers import Approvers
from projections.questions.approvals_executed import ApprovedAgainstExecuted
from projections.questions.approvals_void import VoidApprovals
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.questions.asking_desk import AGENT, GATEWAY, KIM, NEW, RELAY, START, Desk, at, key_of
from tests.projections.questions.telling import on_memory, told
from tests.run import examples as x

QUESTION = Approvers()
ENTITLED = ("run", "entitled", "entitled_by")
WHO = ("run", "counts", "is_person", "answered_self", "is_requester", "asked_for")


@pytest.fixture
def desk(ledger: Ledger, clock: SetClock) -> Desk:
    return Desk(ledger, clock)


def grant(id: str = "g", principal: str = "human:kim", scope: str = "approve", **more: Any) -> Event:
    return x.granted(id, principal=principal, scopes=(scope,), **more)


def test_a_row_holds_what_is_known_of_an_answer(desk: Desk) -> None:
    desk.open("r")
    desk.ask("r")
    desk.answer("r", answer="denied", reason="too much")
    desk.answer("r", writer=RELAY)
    desk.answer("r", id="never")
    told_of = ("human:kim", "human:kim", "human", "oidc", "lead", None)
    assert told(desk.ledger, QUESTION) == [
        (
            *("r", 4, at(120), "ok", 3, key_of("r"), "pay", "denied", 1, 1, "too much"),
            *(*told_of, 1, 1, 0, 0, "unknown", None),
        ),
        (
            *("r", 5, at(180), "ok", 3, key_of("r"), "pay", "approved", 0, None, None),
            *("human:kim", "service:relay", "service", "token", None, '["human:kim"]', 1, 1, 0, 0),
            *("unknown", None),
        ),
        (
            *("r", 6, at(240), "never", None, None, None, "approved", 0, None, None),
            *(*told_of, 1, 1, None, None, "unknown", None),
        ),
    ]


@on_memory
def test_an_answer_to_what_had_changed_counts_and_does_not_bind(desk: Desk) -> None:
    """By terms, plan or runtime; terms that are again what they were bind."""
    news = GoalRevised(by="human:kim", reason="news", text="Pay less")
    changes: dict[str, tuple[tuple[Event, ...], int]] = {
        "nothing": ((), 1),
        "goal": ((news,), 0),
        "goal, and back": ((news, GoalRevised(by="human:kim", reason="no", text="Pay")), 1),
        "grant": ((grant(),), 0),
        "plan": ((PlanCommitted(steps=(Step(name="pay"),)),), 0),
        "runtime": ((RuntimeAdopted(by="human:kim", reason="new", runtime=NEW),), 0),
        "what was said": ((x.message(),), 1),
    }
    for run, (events, _) in changes.items():
        desk.open(run)
        desk.ask(run)
        for event in events:
            desk.say(run, event)
        desk.answer(run)
    columns = ("run", "counts", "bound")
    expected = [(run, 1, changes[run][1]) for run in sorted(changes)]
    assert told(desk.ledger, QUESTION, *columns) == expected
    unbound = [(run, "not_bound") for run in sorted(changes) if changes[run][1] == 0]
    assert told(desk.ledger, VoidApprovals(), "run", "why") == unbound
    executed = told(desk.ledger, ApprovedAgainstExecuted(), "run", "bound")
    assert executed == [(run, bound) for run, _, bound in expected]


@on_memory
def test_who_answered_is_compared_with_who_asked_and_for_whom(desk: Desk) -> None:
    """The agent asks on behalf of Max; a gateway that passes on what others say is neither of them.

    Max may answer what was asked on his behalf, as `asked_for` tells; the agent may not.
    """
    passed_on = Actor("service:gateway", on_behalf_of=("human:kim",))
    for_max = Actor("service:gateway", on_behalf_of=("human:max",))
    web = Actor("service:web")
    # Who writes the answer, who is said to have answered, who asks; then what `WHO` is told.
    answers: dict[str, tuple[Actor, str, Actor, tuple[int, int, int, int, int]]] = {
        "another": (KIM, "human:kim", AGENT, (1, 1, 1, 0, 0)),
        "another's word": (Actor("human:lee"), "human:kim", AGENT, (1, 1, 0, 0, 0)),
        "itself": (AGENT, "agent:desk", AGENT, (0, 0, 1, 1, 1)),
        "in another's name": (AGENT, "human:kim", AGENT, (0, 0, 0, 1, 1)),
        "in the asker's name": (KIM, "human:max", AGENT, (1, 1, 0, 0, 1)),
        "passed on": (passed_on, "human:kim", GATEWAY, (1, 1, 1, 0, 0)),
        "passed on for the asker": (for_max, "human:max", AGENT, (1, 1, 1, 0, 1)),
        "passed on for an agent": (GATEWAY, "agent:desk", GATEWAY, (0, 0, 1, 1, 1)),
        "silent service": (GATEWAY.with_fields({"on_behalf_of": ()}), "human:kim", GATEWAY, (1, 1, 0, 0, 1)),
        "service of its own": (web, "human:kim", AGENT, (1, 1, 0, 0, 0)),
        "whom it is for": (Actor("human:max"), "human:max", AGENT, (1, 1, 1, 0, 1)),
        "herself": (KIM, "human:kim", KIM, (0, 1, 1, 1, 1)),
        "herself for another": (KIM, "human:lee", KIM, (0, 1, 0, 1, 1)),
        "another for herself": (Actor("human:lee"), "human:kim", KIM, (0, 1, 0, 1, 1)),
    }
    for run, (writer, by, asker, _) in answers.items():
        desk.open(run)
        desk.ask(run, writer=asker)
        desk.answer(run, writer=writer, by=by)
    assert told(desk.ledger, QUESTION, *WHO) == [(run, *answers[run][3]) for run in sorted(answers)]


@on_memory
def test_nothing_says_who_may_approve(desk: Desk) -> None:
    """Grants to act, and those that do not hold, are no grants to approve; nor is a scope of every act."""
    grants: dict[str, tuple[Event, ...]] = {
        "none": (),
        "to act": (x.granted("g", principal="human:kim", scopes=("pay",)),),
        "every act": (grant(scope="*"),),
        "another tool": (grant(scope="approve:mail"),),
        "expired": (grant(expires_at=START.replace(minute=1)),),
        "revoked": (grant(), AuthorityRevoked(by="human:lee", id="g", reason="left")),
        "no owner": (x.accepted(rule=Rule(needs_approval=True)),),
    }
    for run, events in grants.items():
        desk.open(run, *events)
        desk.ask(run)
        desk.answer(run)
    assert told(desk.ledger, QUESTION, *ENTITLED) == [(run, "unknown", None) for run in sorted(grants)]


@on_memory
def test_a_grant_of_the_run_says_who_may_approve(desk: Desk) -> None:
    end = START.replace(hour=23)
    renewed = AuthorityRenewed(by="human:lee", id="g", expires_at=end)
    grants: dict[str, tuple[tuple[Event, ...], str, str | None]] = {
        "any": ((grant(),), "yes", "grant:g"),
        "this tool": ((grant(scope="approve:pay"),), "yes", "grant:g"),
        "not this tool": ((grant(scope="approve:*"), grant("h", scope="approve:p.*")), "unknown", None),
        "renewed": ((grant(expires_at=START.replace(minute=1)), renewed), "yes", "grant:g"),
        "session": ((grant(session="web-7"),), "yes", "grant:g"),
        "another session": ((grant(session="web-8"),), "no", None),
        "another": ((grant(principal="human:lee"),), "no", None),
        "two": ((grant(principal="human:lee"), grant("h")), "yes", "grant:h"),
    }
    for run, (events, _, _) in grants.items():
        desk.open(run, *events)
        desk.ask(run)
        desk.answer(run)
        desk.say(run, AuthorityRevoked(by="human:lee", id="g", reason="done"))
    assert told(desk.ledger, QUESTION, *ENTITLED) == [(run, *grants[run][1:]) for run in sorted(grants)]


def accepted(id: str, source: str | None, **rule: Any) -> Event:
    more = {} if source is None else {"source": Source("policy", source, revision="4"), "source_position": 2}
    return x.accepted(id, rule=Rule(**{"needs_approval": True, **rule}), **more)


def test_the_owner_of_what_demands_the_approval_may_approve(desk: Desk) -> None:
    """In force when it was asked, for this tool, and from a source that has owners."""
    for source, owners in {"mine": ["human:kim", "human:max"], "theirs": ["human:lee"], "free": []}.items():
        desk.ledger.source(f"policy:{source}", actor=KIM).open(owners=owners)
    gone = ConstraintWithdrawn(by="human:lee", id="a", reason="old")
    demands: dict[str, tuple[tuple[Event, ...], str, str | None]] = {
        "mine": ((accepted("a", "mine"),), "yes", "policy:mine"),
        "mine for this tool": ((accepted("a", "mine", tools=("mail", "pay")),), "yes", "policy:mine"),
        "mine for another tool": ((accepted("a", "mine", tools=("mail",)),), "unknown", None),
        "mine, and none needed": ((accepted("a", "mine", needs_approval=False),), "unknown", None),
        "mine, withdrawn": ((accepted("a", "mine"), gone), "unknown", None),
        "mine, accepted again": ((accepted("a", "mine"), gone, accepted("a", "mine")), "yes", "policy:mine"),
        "mine, superseded": ((accepted("a", "mine"), accepted("a", "theirs", deny=("x",))), "no", None),
        "theirs": ((accepted("a", "theirs"),), "no", None),
        "theirs, and a grant": ((accepted("a", "theirs"), grant()), "yes", "grant:g"),
        "both": ((accepted("a", "theirs"), accepted("b", "mine")), "yes", "policy:mine"),
        "of nobody": ((accepted("a", "free"), accepted("b", None)), "unknown", None),
    }
    for run, (events, _, _) in demands.items():
        desk.open(run, *events)
        desk.ask(run)
        desk.say(run, accepted("later", "mine"))
        desk.answer(run)
    assert told(desk.ledger, QUESTION, *ENTITLED) == [(run, *demands[run][1:]) for run in sorted(demands)]


def test_it_is_asked_by_run_and_time_and_as_of_an_earlier_moment(desk: Desk) -> None:
    desk.open("r")
    desk.ask("r")
    desk.answer("r")
    place = desk.gid
    desk.answer("r")
    desk.say("r", grant())
    desk.open("q").answer("q")
    columns = ("run", "position", "counts")
    first, second, other = ("r", 4, 1), ("r", 5, 0), ("q", 2, 0)
    assert told(desk.ledger, QUESTION, *columns) == [other, first, second]
    assert told(desk.ledger, QUESTION, *columns, run="q") == [other]
    assert told(desk.ledger, QUESTION, *columns, as_of=place) == [first]
    assert told(desk.ledger, QUESTION, *columns, as_of=START.replace(minute=3)) == [first, second]
    assert told(desk.ledger, QUESTION, *columns, since=START.replace(minute=3)) == [other, second]
    assert told(desk.ledger, QUESTION, *columns, before=START.replace(minute=3)) == [first]


def test_tenants_do_not_see_answers_of_others(open_on: OpenLedger, clock: SetClock) -> None:
    Desk(open_on("acme"), clock).open("r").answer("r", id="a")
    Desk(open_on("Acme"), clock).open("r", grant()).answer("r", id="b")
    assert told(open_on("acme"), QUESTION, "approval", "entitled") == [("a", "unknown")]
    assert told(open_on("Acme"), QUESTION, "approval", "entitled") == [("b", "yes")]
