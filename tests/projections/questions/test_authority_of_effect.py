"""On what authority an act was done: the grants it drew on, as they stood right before it."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.canonical import canonical_text
from ledger.errors import EffectNotFound, InvalidInput
from ledger.events import (
    AuthorityCarved,
    AuthorityGranted,
    AuthorityRenewed,
    AuthorityReturned,
    AuthorityRevoked,
    Event,
    RunOpened,
)
from ledger.run.contract import Grant
from ledger.stores.memory import MemoryStore
from ledger.values.times import write_time
from projections.asking import ask
from projections.authority import Authority
from projections.questions.authority_of_effect import AuthorityOfEffect
from projections.questions.base import AnswerColumn, Asked, Parameter, Question, Row
from projections.questions.grants_at import Grants
from tests.projections.conftest import OpenLedger, SetClock
from tests.projections.questions.telling import (
    Teller,
    answered,
    explained,
    on_memory,
    told,
    unbounded,
    written,
)
from tests.projections.samples import catch_up, kept, naive
from tests.run import examples as x
from tests.strategies import FEW, event

QUESTION = AuthorityOfEffect()
AGENT = Actor("agent:desk", session="s-1")
GATEWAY = Actor("service:gateway", session="s-1", on_behalf_of=("agent:desk",))
KIM = Actor("human:kim", authenticated_by="oidc")
NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
EVENING = datetime(2026, 1, 31, 18, 0, tzinfo=UTC)
VALID = ("position", "valid_at_act", "covers", "grant", "expires_at", "granted_position", "renewed_position")
EUR = {"EUR": Decimal("40.00")}


def paid(amount: str, run: str = "run-1") -> dict[str, Any]:
    return {"amount": amount, "order": run}


def key_of(ledger: Ledger, run: str, position: int) -> str:
    key = next(record for record in ledger.log(run) if record.position == position).event.key  # type: ignore[attr-defined]
    return str(key)


@pytest.fixture
def desk(ledger: Ledger, clock: SetClock) -> Ledger:
    """Return a ledger in which an agent pays three times: granted, renewed, and before it was revoked."""
    run = ledger.open_run("run-1", "Pay", actor=AGENT)
    person = ledger.run("run-1", actor=KIM)
    run.perform("look", {}, lambda: None)
    person.grant(
        "pay",
        principal="agent:desk",
        scopes=["pay", "mail.*"],
        session="s-1",
        budget=EUR,
        expires_at=NOON,
        granted_by="human:lee",
    )
    clock.tick(60)
    run.perform("pay", paid("1"), lambda amount, order: None)
    person.renew("pay", expires_at=EVENING, add_budget={"EUR": Decimal("2.50")}, by="human:kim")
    clock.now = NOON.replace(hour=13)
    ledger.run("run-1", actor=GATEWAY).perform("pay", paid("2"), lambda amount, order: None)
    clock.tick(60)
    person.revoke("pay", reason="done", by="human:kim")
    return ledger


@on_memory
def test_a_row_holds_all_that_is_known_of_a_grant(desk: Ledger) -> None:
    start = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
    assert told(desk, QUESTION, key=key_of(desk, "run-1", 6)) == [
        (
            *("run-1", 6, written(start.replace(minute=1)), "pay", "agent:desk", "yes", 1),
            *("pay", "agent:desk", "s-1", '["pay","mail.*"]', '{"EUR":"40.00"}', written(NOON)),
            *("human:lee", written(start), 5, "human:kim", None, None, None),
            *(10 + 3, "2026-01-31T13:01:00.000000Z", "human:kim"),
        )
    ]


def test_a_grant_is_told_as_renewals_before_the_act_had_left_it(desk: Ledger) -> None:
    row = told(desk, QUESTION, *VALID, "budget", "actor", key=key_of(desk, "run-1", 10))
    assert row == [(10, "yes", 1, "pay", written(EVENING), 5, 9, '{"EUR":"42.50"}', "agent:desk")]


@on_memory
def test_an_act_that_cites_no_grant_has_one_row_that_says_so(desk: Ledger) -> None:
    answer = answered(desk, QUESTION, key=key_of(desk, "run-1", 2))
    assert [row[1:8] for row in answer.rows] == [
        (2, "2026-01-31T09:00:00.000000Z", "look", "agent:desk", "none", None, None)
    ]
    assert answer.notes == ()


def test_what_came_later_is_not_told_as_of_an_earlier_place_or_time(desk: Ledger, clock: SetClock) -> None:
    key = key_of(desk, "run-1", 6)
    records = {record.position: record for record in desk.log("run-1")}
    columns = ("valid_at_act", "revoked_position")
    assert told(desk, QUESTION, *columns, key=key, as_of=records[12].global_position) == [("yes", None)]
    assert told(desk, QUESTION, *columns, key=key, as_of=records[13].global_position) == [("yes", 13)]
    assert told(desk, QUESTION, *columns, key=key, as_of=records[6].at) == [("yes", None)]
    with pytest.raises(EffectNotFound):
        told(desk, QUESTION, key=key, as_of=records[5].global_position)


@on_memory
def test_a_key_is_told_by_its_beginning(desk: Ledger) -> None:
    key = key_of(desk, "run-1", 6)
    assert told(desk, QUESTION, "position", key=f"{key[:12]}..") == [(6,)]
    with pytest.raises(InvalidInput):
        told(desk, QUESTION, key="pay")


def test_grants_that_did_not_hold_are_named_for_what_they_were(ledger: Ledger, clock: SetClock) -> None:
    """Expired, revoked, given anew, never given, for others, for other tools, of another session, uncited."""
    teller = Teller(ledger, clock, AGENT)
    teller.say(
        "r", RunOpened(goal="g"), x.granted("late", principal="agent:desk", expires_at=clock.now), by=KIM
    )
    other = x.granted("other", principal="agent:other", scopes=("refund",))
    narrow = x.granted("narrow", principal="agent:desk", scopes=("refund.small",))
    bound = x.granted("bound", principal="agent:desk", session="s-2")
    gone = x.granted("gone", principal="agent:desk")
    revoked = AuthorityRevoked(by="human:kim", id="gone", reason="no")
    anew = x.granted("anew", principal="agent:desk", scopes=("other",))
    teller.say("r", other, narrow, bound, gone, revoked, anew, by=KIM)
    teller.say("r", AuthorityRevoked(by="human:kim", id="anew", reason="no"), by=KIM)
    teller.say("r", AuthorityRenewed(by="human:kim", id="gone", expires_at=EVENING), by=KIM)
    teller.say("r", x.granted("anew", principal="agent:desk", scopes=("*",)), by=KIM)
    cites = ("late", "other", "narrow", "bound", "gone", "anew", "never", "future")
    act = teller.say("r", x.intended(x.ONE, authority=cites))
    teller.say("r", x.granted("future", principal="agent:desk"), by=KIM)
    rows = told(ledger, QUESTION, "grant", "valid_at_act", "covers", "granted_position", key=x.ONE)
    assert act == 12
    assert rows == [
        ("late", "expired", 1, 2),
        ("other", "yes", 0, 3),
        ("narrow", "yes", 0, 4),
        ("bound", "yes", 0, 5),
        ("gone", "revoked", 1, 6),
        ("anew", "yes", 1, 11),
        ("never", "missing", None, None),
        ("future", "missing", None, None),
    ]
    assert told(ledger, QUESTION, "grant", "expires_at", "renewed_position", key=x.ONE)[4] == (
        "gone",
        None,
        None,
    )


@on_memory
def test_a_run_that_had_grants_and_cited_none_is_noted(ledger: Ledger, clock: SetClock) -> None:
    teller = Teller(ledger, clock, AGENT)
    teller.say("r", RunOpened(goal="g"), x.intended(x.TWO), x.started(x.TWO), x.granted("a"))
    teller.say("r", x.intended(x.ONE), x.started(x.ONE))
    assert answered(ledger, QUESTION, key=x.TWO).notes == ()
    answer = answered(ledger, QUESTION, key=x.ONE)
    assert [row[5] for row in answer.rows] == ["none"]
    assert answer.notes == ("r had grants when it acted at 5 and cited none of them",)


def test_an_act_that_waited_drew_on_nothing_until_it_began(ledger: Ledger, clock: SetClock) -> None:
    teller = Teller(ledger, clock, AGENT)
    teller.say("r", RunOpened(goal="g"), x.granted("pay", principal="agent:desk"), by=KIM)
    teller.say("r", x.intended(x.ONE))
    waits = answered(ledger, QUESTION, key=x.ONE)
    assert (waits.rows, waits.notes) == (
        [],
        ("what r intended at 3 was not begun then: it drew on nothing",),
    )
    teller.say("r", x.intended(x.ONE, authority=("pay",)), x.started(x.ONE))
    begun = answered(ledger, QUESTION, key=x.ONE)
    assert [(row[1], row[5], row[7]) for row in begun.rows] == [(4, "yes", "pay")]
    assert begun.notes == waits.notes


def test_each_attempt_has_rows_of_its_own_also_in_another_run(ledger: Ledger, clock: SetClock) -> None:
    """The same key in a run and its successor: each on a grant of its own run."""
    teller = Teller(ledger, clock, AGENT)
    for run, until in (("b", NOON), ("a", EVENING)):
        teller.say(
            run, RunOpened(goal="g"), x.granted("pay", principal="agent:desk", expires_at=until), by=KIM
        )
        teller.say(run, x.intended(x.ONE, authority=("pay",)))
    teller.say("b", x.granted("pay", principal="agent:desk", budget={}), by=KIM)
    teller.say("b", x.intended(x.ONE, authority=("pay",)))
    assert told(
        ledger, QUESTION, "run", "position", "granted_position", "expires_at", "budget", key=x.ONE
    ) == [
        ("b", 3, 2, written(NOON), None),
        ("a", 3, 2, written(EVENING), None),
        ("b", 5, 4, None, "{}"),
    ]


def test_tenants_do_not_see_acts_of_others(open_on: OpenLedger, clock: SetClock) -> None:
    acme, other = open_on("acme"), open_on("Acme")
    Teller(acme, clock, AGENT).say("r", RunOpened(goal="g"), x.intended(x.ONE, witnessed=False))
    Teller(other, clock, AGENT).say("r", RunOpened(goal="g"), x.granted("a"), x.intended(x.TWO))
    assert told(acme, QUESTION, "position", key=x.ONE) == [(2,)]
    with pytest.raises(EffectNotFound):
        told(other, QUESTION, key=x.ONE)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_it_reads_no_whole_table(desk: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    key = key_of(desk, "run-1", 6)
    plans = explained(monkeypatch)
    assert told(desk, QUESTION, key=key)
    assert plans
    # The beginning of a key is a range of keys.
    assert unbounded(plans, "key>? AND key<?") == []


def test_rows_are_those_of_one_fold_whatever_the_size_of_pages(ledger: Ledger) -> None:
    ledger.import_events("r", x.EVENTS, expected=0)
    for page in (1, 7):
        catch_up(ledger, Authority(), page=page)
        assert kept(ledger, Authority()) == naive(ledger, Authority())
    assert {name: len(rows) for name, rows in kept(ledger, Authority()).items()} == {
        "grants": 2,
        "changes": 4,
    }


class InForce(Question):
    """Every grant of a run that was not revoked before a position."""

    name = "in-force"
    parameters = (Parameter("run", ""), Parameter("before", "", "integer"))
    columns = (AnswerColumn("grant", ""),)
    uses = ("authority",)

    def rows(self, asked: Asked) -> list[Row]:
        grants = Grants.of(asked, str(asked.given["run"]))
        before = asked.given["before"]
        assert isinstance(before, int)
        found = grants.in_force(before, "0")
        return [
            (one.id, one.position, one.session, one.expires_at, one.budget_text, one.renewed) for one in found
        ]


KINDS: tuple[type[Event], ...] = (
    AuthorityGranted,
    AuthorityGranted,
    AuthorityRenewed,
    AuthorityRenewed,
    AuthorityRevoked,
    AuthorityCarved,
    AuthorityReturned,
)
SAYINGS = st.sampled_from(KINDS).flatmap(lambda kind: event(kind, FEW))


@given(events=st.lists(SAYINGS, max_size=15))
def test_grants_in_force_are_those_of_the_contract_at_every_position(events: list[Event]) -> None:
    """Whatever an import brings, in whatever order."""
    with closing(MemoryStore()) as store:
        ledger = Ledger(Edge(store, "default", KIM, SetClock(), pause=lambda attempt: None))
        ledger.import_events("run-1", [RunOpened(goal="Pay"), *events], expected=0)
        ask(ledger, InForce(), run="run-1", before=1)
        for position in range(1, len(events) + 2):
            contract = ledger.contract("run-1", at=position)
            found = ask(ledger, InForce(), run="run-1", before=position + 1, catch_up=False).rows
            assert sorted(found) == sorted(map(_told, contract.grants))


def _told(grant: Grant) -> tuple[Any, ...]:
    end, budget = grant.expires_at, grant.budget
    return (
        grant.id,
        grant.position,
        grant.session,
        None if end is None else write_time(end),
        None if budget is None else canonical_text({unit: f"{amount:f}" for unit, amount in budget.items()}),
        grant.renewed_at,
    )
