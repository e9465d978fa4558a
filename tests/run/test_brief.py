"""The takeover brief: all that is open is rebuilt from its JSON, and each entry says what time made of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given as draws
from hypothesis import strategies as st

from ledger import events as e
from ledger.run import brief_effects
from ledger.run.amounts import take
from ledger.run.brief import Brief, Kin, build
from ledger.run.contract import Contract
from ledger.testing import START, History, given
from ledger.values import Ending, ErrorSaid, Recovery, write_time
from tests.run import examples as x
from tests.run.briefed import FULL, LATER, as_json, brief_of, told
from tests.run.histories import decided, histories
from tests.strategies import ANY

# --- all that is open stands in the JSON --------------------------------------------------------


def rebuilt(document: Any, now: str) -> dict[str, Any]:
    """Say what is open, from the JSON of a brief and nothing else."""

    def in_time(item: dict[str, str]) -> bool:
        return item.get("valid_from", "") <= now < item.get("valid_until", "a")

    return {
        "obligations": {(o["id"], o["owed_to"], o["text"], o.get("due")) for o in document["obligations"]},
        "constraints": {
            (c["id"], c["text"], c["asserted_by"], c["accepted_by"], c["position"])
            for c in document["constraints"]
            if in_time(c)
        },
        "unsettled": {(u["key"], u["tool"], u["attempt"], u["recovery"]) for u in document["unsettled"]},
        "assumptions": {(a["id"], a["text"]) for a in document["assumptions"] if "refuted" not in a},
        "approvals": {(a["id"], a["key"]) for a in document["approvals"] if "answered" not in a},
        "grants": {
            (g["id"], g["principal"], *g["scopes"])
            for g in document["grants"]
            if now < g.get("expires_at", "a")
            and all(Decimal(amount) > 0 for amount in g.get("left", {}).values())
        },
        "steps": [
            (s["name"], s.get("tool"), *s["rests_on"]) for s in document.get("plan", {"steps": []})["steps"]
        ],
        "cursor": {
            name: document.get("cursor", {}).get(name)
            for name in ("node", "next", "round", "waits_for", "needs")
        },
        "goal": document["goal"]["text"],
    }


def is_open(contract: Contract, now: datetime) -> dict[str, Any]:
    """Say what is open, from the contract."""
    cursor = contract.cursor
    return {
        "obligations": {
            (o.id, o.owed_to, o.text, None if o.due is None else write_time(o.due))
            for o in contract.obligations
        },
        "constraints": {
            (c.id, c.text, c.asserted_by, c.accepted_by, c.position) for c in contract.in_force(now)
        },
        "unsettled": {(u.key, u.tool, u.attempt, u.recovery.value) for u in contract.effects},
        "assumptions": {(a.id, a.text) for a in contract.assumptions if a.refuted is None},
        "approvals": {(a.id, a.key) for a in contract.approvals if a.answered is None},
        "grants": {
            (g.id, g.principal, *g.scopes)
            for g in contract.grants
            if (g.expires_at is None or now < g.expires_at)
            and all(
                take(
                    take(amount, (g.spent or {}).get(unit, Decimal(0))),
                    (g.reserved or {}).get(unit, Decimal(0)),
                )
                > 0
                for unit, amount in (g.budget or {}).items()
            )
        },
        "steps": [(s.name, s.tool, *s.rests_on) for s in (contract.plan.steps if contract.plan else ())],
        "cursor": {
            "node": cursor and cursor.node,
            "next": cursor and list(cursor.next),
            "round": cursor and cursor.round,
            "waits_for": cursor and list(cursor.waits_for),
            "needs": cursor and list(cursor.needs),
        },
        "goal": contract.goal.text,
    }


@draws(
    history=st.one_of(histories(), histories(ANY, longest=8), decided()),
    later=st.sampled_from([0, 1, 3600, 10**7]),
)
def test_all_that_is_open_is_rebuilt_from_the_json_alone(
    history: History[Contract | None], later: int
) -> None:
    now = history.now + timedelta(seconds=later)
    brief = brief_of(history, now)
    assert rebuilt(as_json(brief), write_time(now)) == is_open(history.contract, now)
    assert Brief.model_validate_json(brief.model_dump_json()) == brief
    assert brief_of(history, now).model_dump_json() == brief.model_dump_json()


@draws(history=st.one_of(histories(), decided()))
def test_every_act_is_done_or_failed_or_open_and_only_one_of_them(history: History[Contract | None]) -> None:
    brief = brief_of(history)
    settled = [*(one.key for one in brief.done), *(one.key for one in brief.failed)]
    open_ = [*(one.key for one in brief.unsettled), *(one.key for one in brief.elsewhere)]
    intended = {r.event.key for r in history.records if isinstance(r.event, e.EffectIntended)}
    assert intended <= {*settled, *open_}
    assert {one.key for one in brief.unsettled} == {one.key for one in history.contract.effects}
    assert len(settled) == len(set(settled))


# --- what is said of each ------------------------------------------------------------------------


def test_it_says_how_the_goal_came_to_be_what_it_is() -> None:
    first, second = brief_of(FULL).goals
    assert (first.text, first.by, first.reason, first.position) == ("Refund order 17", "human:kim", None, 1)
    assert (second.text, second.reason, second.position) == (
        "Refund order 17 and say so",
        "customer asked",
        2,
    )
    assert second.model_dump(exclude={"opened_by", "run"}) == FULL.contract.goal.model_dump()
    assert (first.opened_by, second.opened_by) == ("service:test", None), "its owner put no word of it"


def test_a_run_that_has_ended_waits_for_nobody_and_names_its_children_that_go_on() -> None:
    ended = e.RunClosed(outcome=Ending.CANCELLED, obligations=("child", "tell"), reason="no")
    history = given(*(record.event for record in FULL.records if record.name != "run.closed"), ended)
    lineage = (
        *told(history).lineage,
        _kin("child", "child", "run-1", ended=Ending.FAILED, successor="again"),
        _kin("again", "successor", "child"),
        _kin("again/deep", "child", "again"),
        _kin("done", "child", "run-1", ended=Ending.COMPLETED),
        _kin("what-if", "fork", "run-1"),
    )
    brief = build(history.contract, told(history)._replace(lineage=lineage), history.now)
    assert brief.waiting == ()
    assert [(way.command, way.run) for way in brief.next if way.command == "run.close"] == [
        ("run.close", "again"),
        ("run.close", "again/deep"),
    ]
    assert "\n- again, successor of child from its position 1, has not ended\n" in brief.to_markdown()
    assert "\n- run-1 (this run), ended as cancelled\n" in brief.to_markdown()


def _kin(run: str, relation: str, of: str, **more: Any) -> Kin:
    parent = e.Parent.model_validate({"position": 1, "relation": relation, "root": "run-1", "run": of})
    return Kin(opened_at=START, parent=parent, run=run, **more)


def test_it_marks_claims_and_what_is_not_in_force() -> None:
    found = {one.id: (one.claimed, one.validity) for one in brief_of(FULL).constraints}
    assert found == {
        "limit-100": (False, "in_force"),
        "kind": (True, "in_force"),
        "later": (False, "not_yet"),
        "before": (False, "expired"),
    }


def test_it_names_what_falls_with_an_assumption_and_with_a_stale_observation() -> None:
    brief = brief_of(FULL, LATER)
    stock, weather = brief.unreliable
    assert stock.stale_since == START + timedelta(seconds=60)
    assert stock.resting == FULL.contract.resting_on("observation:stock")
    assert {"step:pay", "cursor", "assumption:kept"} <= set(stock.resting)
    assert (weather.stale_since, weather.invalidated) == (None, "broken sensor")
    assert {one.id: one.resting for one in brief.assumptions} == {
        "in-stock": ("step:pay", "assumption:kept"),
        "kept": ("step:pay",),
    }


def test_nothing_is_stale_before_its_time_but_what_was_seen_in_the_future() -> None:
    assert [one.key for one in brief_of(FULL, START).unreliable] == ["weather"]
    before = brief_of(FULL, START - x.HOUR).unreliable
    assert [(one.key, one.stale_since) for one in before] == [("stock", START - x.HOUR), ("weather", None)]


def test_it_says_what_is_left_of_each_grant() -> None:
    refunds, old = brief_of(FULL).grants
    assert refunds.left == {"EUR": Decimal("0.00"), "tokens": Decimal(5)}
    assert (refunds.usable, refunds.lapsed, refunds.session) == (False, False, "s-1")
    assert (old.left, old.lapsed, old.usable) == (None, True, False)


def test_it_says_what_is_owed_and_whose_answer_it_waits_for() -> None:
    brief = brief_of(FULL, LATER)
    assert {one.id: one.overdue for one in brief.obligations} == {"tell": True, "child": False}
    assert [(one.id, one.pending, one.expired) for one in brief.approvals] == [
        ("ok-1", False, True),
        ("ok-2", False, False),
    ]
    asked, child = brief.waiting
    assert (asked.ref, asked.what, asked.needed_by_cursor, asked.overdue) == (
        "approval:ok-1",
        "Pay 10 EUR?",
        True,
        True,
    )
    assert (child.ref, child.who, child.needed_by_cursor) == ("obligation:child", "child", False)


def test_it_says_what_was_done_and_what_was_not() -> None:
    brief = brief_of(FULL)
    (did,) = brief.done
    assert (did.key, did.external_ref, did.run, did.args.json_text) == (x.TWO, "ch_1", "run-1", "{}")
    assert FULL.records[did.position - 1].event == e.EffectSucceeded(
        key=x.TWO, attempt=1, result=x.ANSWER, external_ref="ch_1"
    )
    (not_done,) = brief.failed
    assert (not_done.key, not_done.exhausted, not_done.outcome) == (x.THREE, True, "failed")
    assert not_done.error == ErrorSaid(message="no such order", type="NotFound")


def test_a_failure_that_may_be_tried_again_is_not_exhausted() -> None:
    history = given(
        x.opened(),
        x.intended(max_attempts=2),
        x.started(),
        e.EffectFailed(key=x.ONE, attempt=1, error=ErrorSaid(message="busy", type="Busy")),
    )
    assert [one.exhausted for one in brief_of(history).failed] == [False]


# --- how one finds out ---------------------------------------------------------------------------

UNDER_WAY = START + x.HOUR / 2


@pytest.mark.parametrize(
    ("declared", "now", "way"),
    [
        ({}, UNDER_WAY, "worker"),
        ({"recovery": Recovery.QUERYABLE}, LATER, "probe"),
        ({"recovery": Recovery.AT_MOST_ONCE}, LATER, "person"),
        ({"recovery": Recovery.READ_ONLY}, LATER, "read"),
        ({"recovery": Recovery.OUTBOX}, LATER, "relay"),
        ({"recovery": Recovery.TRANSACTIONAL}, LATER, "database"),
        ({"recovery": Recovery.IDEMPOTENT}, LATER, "send_again"),
        ({"recovery": Recovery.IDEMPOTENT, "dedupes_for": 9_000}, LATER, "send_again"),
        ({"recovery": Recovery.IDEMPOTENT, "dedupes_for": 60}, LATER, "person"),
    ],
)
def test_how_one_finds_out(declared: dict[str, Any], now: datetime, way: str) -> None:
    (found,) = brief_of(given(x.opened(), x.intended(**declared), x.started()), now).unsettled
    assert found.way == way
    assert found.since == (START if way == "worker" else START + x.HOUR)
    if "dedupes_for" in declared:
        assert found.remembered_until == START + timedelta(seconds=declared["dedupes_for"])


def test_a_probe_that_is_known_here_asks_about_any_tool() -> None:
    history = given(x.opened(), x.intended(recovery=Recovery.AT_MOST_ONCE), x.started())
    assert [one.way for one in brief_of(history, LATER, probes={"refund"}).unsettled] == ["probe"]


def test_a_lease_that_was_renewed_still_holds() -> None:
    history = given(x.opened(), x.intended(), x.started())
    (found,) = brief_of(history, LATER, leases={x.ONE: LATER + x.HOUR}).unsettled
    assert (found.status_now, found.way, found.lease_until) == ("executing", "worker", LATER + x.HOUR)


def test_what_was_never_sent_waits_for_the_run_and_what_is_disputed_for_a_person() -> None:
    assert [one.way for one in brief_of(given(x.opened(), x.intended())).unsettled] == ["perform"]
    disputed = e.EffectDisputed(
        key=x.ONE, act="a" * 64, attempt=1, recovery=Recovery.QUERYABLE, reported="succeeded", tool="refund"
    )
    (found,) = brief_of(given(x.opened(), disputed), probes={"refund"}).unsettled
    assert (found.status_now, found.way, found.args) == ("disputed", "person", None)


def test_of_what_was_imported_nobody_knows_whether_it_was_sent() -> None:
    assert [one.way for one in brief_of(given(x.opened(), x.intended(witnessed=False))).unsettled] == [
        "probe"
    ]


def test_of_an_inherited_effect_whose_lease_is_not_here_nobody_knows() -> None:
    opened, restarted = x.SUCCESSOR_EVENTS
    assert isinstance(restarted, e.RunRestarted)
    (effect,) = restarted.unsettled
    under_way = restarted.with_fields({"unsettled": (effect.with_fields({"status": "executing"}),)})
    (found,) = brief_of(given(opened, under_way)).unsettled
    assert (found.status_now, found.way, found.since) == ("unknown", "person", START)


def test_every_way_of_finding_out_has_words() -> None:
    assert set(brief_effects.HOW) == set(_ways())


def _ways() -> tuple[str, ...]:
    from typing import get_args

    from ledger.run.outside import Way

    return get_args(Way)
