"""The takeover brief: all that is open is rebuilt from its JSON, and no text passes for a line of ours."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given as draws
from hypothesis import strategies as st

from ledger import events as e
from ledger.gate.reasons import KINDS
from ledger.run import brief_effects, ways_out
from ledger.run.amounts import take
from ledger.run.brief import Brief, Told, build
from ledger.run.contract import Contract
from ledger.run.descent import descent_of, goals_of
from ledger.run.known import EffectHistory
from ledger.run.looking import histories as histories_of
from ledger.testing import START, History, given
from ledger.values import Ending, ErrorSaid, Recovery, Step, Verdict, write_time
from tests.run import examples as x
from tests.run.histories import decided, histories
from tests.strategies import ANY

FAR = timedelta(days=365)


def told(history: History[Contract | None], **more: Any) -> Told:
    """Read what a brief holds beside the contract from a run that has no kin."""
    descent = descent_of(history.records)
    assert descent is not None
    keys = dict.fromkeys((*(effect.key for effect in history.contract.effects), *descent.keys))
    return Told(
        goals=goals_of({descent.kin.run: descent}, descent.kin.run),
        lineage=(descent.kin,),
        dropped=descent.dropped,
        effects=histories_of(keys, history.records),
        **more,
    )


def brief_of(history: History[Contract | None], now: datetime | None = None, **more: Any) -> Brief:
    return build(history.contract, told(history, **more), now or history.now)


def as_json(brief: Brief) -> Any:
    return json.loads(json.dumps(brief.model_dump(mode="json", exclude_none=True)))


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

FULL = given(
    x.opened(owner="human:kim", thread="t-1"),
    e.GoalRevised(by="human:kim", reason="customer asked", text="Refund order 17 and say so"),
    x.accepted(source=x.POLICY, source_position=1, published=True),
    x.accepted("kind", text="Be kind", source=x.POLICY, source_position=0, published=False),
    x.accepted("later", text="Be quick", valid_from=START + x.HOUR),
    x.accepted("before", text="Be slow", valid_until=START),
    x.observed(fresh_for=60),
    x.observed("weather"),
    e.ObservationInvalidated(key="weather", reason="broken sensor"),
    e.AssumptionMade(id="in-stock", text="The goods came back", rests_on=("observation:stock",)),
    e.AssumptionMade(id="kept", text="Nobody took them", rests_on=("assumption:in-stock",)),
    e.PlanCommitted(steps=(Step(name="pay", tool="refund", rests_on=("assumption:kept",)),)),
    e.ObligationOpened(id="tell", owed_to="customer:17", text="Mail the customer", due=START + x.HOUR),
    e.ObligationOpened(id="child", owed_to="human:kim", text="Find the box", because="run:child"),
    x.granted(budget=x.EUR_10 | {"tokens": Decimal(5)}, session="s-1", on_resume="reapprove"),
    x.granted("old", expires_at=START),
    e.ApprovalRequested(id="ok-1", key=x.ONE, question="Pay 10 EUR?", expires_at=START + x.HOUR),
    e.ApprovalRequested(id="ok-2", key="5" * 64),
    e.ApprovalAnswered(id="ok-2", answer="denied", by="human:kim"),
    e.CursorMoved(node="pay", next=("mail",), waits_for=("approval:ok-1",), needs=("observation:stock",)),
    x.intended(x.ONE, step="pay", authority=("refunds",), reserved=x.EUR_10),
    x.started(x.ONE),
    x.intended(x.TWO, act="b" * 64),
    x.started(x.TWO),
    e.EffectSucceeded(key=x.TWO, attempt=1, result=x.ANSWER, external_ref="ch_1"),
    x.intended(x.THREE, act="c" * 64),
    x.started(x.THREE),
    e.EffectFailed(key=x.THREE, attempt=1, error=ErrorSaid(message="no such order", type="NotFound")),
)
LATER = START + 2 * x.HOUR


def test_it_says_how_the_goal_came_to_be_what_it_is() -> None:
    first, second = brief_of(FULL).goals
    assert (first.text, first.by, first.reason, first.position) == ("Refund order 17", "human:kim", None, 1)
    assert (second.text, second.reason, second.position) == (
        "Refund order 17 and say so",
        "customer asked",
        2,
    )
    assert second.model_dump(exclude={"run"}) == FULL.contract.goal.model_dump()


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


# --- what leads on -------------------------------------------------------------------------------


def test_the_next_steps_of_a_run_that_is_open() -> None:
    brief = brief_of(FULL, LATER)
    assert [way.command for way in brief.next] == [
        "intent-ledger reconcile --run=run-1 --tools MODULE",
        "intent-ledger resume run-1",
    ]


def test_a_person_settles_what_nobody_can_ask_about() -> None:
    history = given(x.opened(), x.intended(recovery=Recovery.AT_MOST_ONCE), x.started())
    first = brief_of(history, LATER).next[0]
    assert first.command == f"intent-ledger settle --happened --evidence TEXT --by human:NAME {x.ONE}"


def held_by(*kinds: str, verdict: Verdict = Verdict.REFUSE) -> History[Contract | None]:
    reasons = tuple(
        e.Reason(cleared_by=KINDS[kind].cleared_by, kind=kind, what=f"because of {kind}") for kind in kinds
    )
    return given(x.opened(), e.ResumeRefused(reasons=reasons, verdict=verdict))


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_is_held_shows_every_reason_and_what_clears_it(kind: str) -> None:
    brief = brief_of(held_by(kind))
    assert brief.held is not None
    (reason,) = brief.held.reasons
    assert reason.cleared_by == KINDS[kind].cleared_by
    assert f"- {kind}: because of {kind}\n  (cleared by " in brief.to_markdown()
    named = [way for way in brief.next if way.why == reason.what]
    assert bool(named) is (reason.cleared_by in ways_out.REMEDIES)


def test_every_reason_has_a_way_out_or_is_one_that_no_command_clears() -> None:
    named = {kind.cleared_by for kind in KINDS.values()}
    by_settling = {"effect.reconciled", "effect.succeeded", "run.resumed"}
    by_others = {"approval.requested", "run.opened", "upgrade", "a person"}
    assert named == set(ways_out.REMEDIES) | by_settling | by_others


def test_a_remedy_names_what_the_reason_speaks_of() -> None:
    reason = e.Reason(cleared_by="authority.renewed", kind="authority_expired", position=2, what="it ended")
    other = reason.with_fields({"position": 9})
    held = e.ResumeRefused(reasons=(reason, other), verdict=Verdict.REAPPROVE)
    commands = [way.command for way in brief_of(given(x.opened(), x.granted("till noon"), held)).next]
    assert commands == [
        "intent-ledger renew --by human:NAME run-1 'till noon'",
        "intent-ledger renew --by human:NAME run-1 ID",
        "intent-ledger resume run-1",
    ]


def test_ids_cannot_break_out_of_a_command() -> None:
    contract = given(x.opened(), x.intended(), x.started()).contract
    named = contract.with_fields({"run": "-x; rm -rf '$HOME'", "tenant": "a b"})
    commands = [way.command for way in build(named, Told(), LATER).next]
    assert commands == [
        """intent-ledger --tenant='a b' reconcile --run='-x; rm -rf '"'"'$HOME'"'"'' --tools MODULE""",
        """intent-ledger --tenant='a b' resume -- '-x; rm -rf '"'"'$HOME'"'"''""",
    ]


def test_a_run_that_was_restarted_leads_to_its_successor_and_one_that_ended_nowhere() -> None:
    restarted = given(x.opened(), e.RunClosed(outcome=Ending.RESTARTED, successor="run-2"))
    assert [way.command for way in brief_of(restarted).next] == ["intent-ledger brief run-2"]
    assert brief_of(given(x.opened(), x.CLOSED)).next == ()
    fork = given(*x.FORK_EVENTS)
    assert [way.command for way in brief_of(fork).next] == ["intent-ledger brief run-0"]


# --- as Markdown ---------------------------------------------------------------------------------


def test_a_run_with_nothing_is_short() -> None:
    text = brief_of(given(x.opened())).to_markdown()
    digest = given(x.opened()).contract.hash
    assert text == (
        "# Takeover brief of run run-1 at position 1\n"
        f"Judged at 2026-01-01T00:00:00.000000Z. The event at that position has the hash {digest}.\n"
        "\n## Where it stands\n"
        "- open, incarnation 1 since 2026-01-01T00:00:00.000000Z\n"
        "- last sign of life by service:test\n  (2026-01-01T00:00:00.000000Z, position 1)\n"
        "\n## Goal\n- Refund order 17\n  (revision 1, 2026-01-01T00:00:00.000000Z, position 1)\n"
        "\n## Next\n- intent-ledger resume run-1\n"
        "  (asks whether it may go on; while its program is alive, only to take it over (--take-over))\n"
    )


def test_all_that_the_json_names_stands_in_the_text() -> None:
    text = brief_of(FULL, LATER).to_markdown()
    for word in (
        "[limit-100] Never refund more than 100 EUR",
        "[before] EXPIRED: Be slow",
        "[tell] OVERDUE: Mail the customer",
        "[stock] stale",
        "[weather] invalid",
        "USED UP: agent:refunds may refund",
        "refund in step pay: unknown",
        "the outside calls it ch_1",
        "refund: EXHAUSTED",
        "NotFound: no such order",
        "on it rest step:pay",
        "approval:ok-1: Pay 10 EUR?",
    ):
        assert word in text, word


@pytest.mark.parametrize(("count", "hidden"), [(50, 0), (51, 1), (120, 70)])
def test_of_many_acts_the_last_are_shown_and_all_are_in_the_json(count: int, hidden: int) -> None:
    keys = [f"{number:064x}" for number in range(count)]
    acts = [
        event
        for key in keys
        for event in (
            x.intended(key),
            x.started(key),
            e.EffectSucceeded(key=key, attempt=1, external_ref=f"ref-{int(key, 16)}"),
        )
    ]
    brief = brief_of(given(x.opened(), *acts))
    assert [one["key"] for one in as_json(brief)["done"]] == keys
    text = brief.to_markdown()
    assert text.count("the outside calls it") == 50
    assert f"calls it ref-{count - 1}," in text
    assert (f"- {hidden} more before these" in text) is bool(hidden)


BREAKS = ["\n", "\r", "\r\n", "\v", "\f", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\n\n"]
FORGED = ["# Takeover brief of run run-1 at position 1", "## Next", "- [forged] entry", "(asserted by x)"]


def everywhere(text: str) -> History[Contract | None]:
    """Put a text wherever a text can stand in a brief."""
    error = ErrorSaid(message=text, type="Broken")
    found: dict[str, Any] = {"attempt": 1, "evidence": text, "method": "person"}
    return given(
        x.opened(goal=text),
        e.GoalRevised(by="human:kim", reason=text, text=text),
        x.accepted(text=text, source=x.POLICY, published=True, source_position=1),
        x.accepted("old", text=text, valid_until=START),
        e.PlanCommitted(steps=(Step(name="a", description=text),), reason=text),
        e.ObligationOpened(id="o", owed_to="human:kim", text=text, because="run:child"),
        e.AssumptionMade(id="a", text=text),
        e.CursorMoved(node="a", needs=("assumption:b",)),
        e.AssumptionMade(id="b", text=text),
        e.AssumptionRefuted(id="b", evidence=text),
        x.observed(),
        e.ObservationInvalidated(key="stock", reason=text),
        e.ApprovalRequested(id="p", key=x.ONE, question=text),
        x.granted(),
        e.AuthorityRevoked(by="human:kim", id="refunds", reason=text),
        x.intended(x.ONE),
        x.started(x.ONE),
        e.EffectUnknown(key=x.ONE, attempt=1, because="raised", error=error),
        e.EffectReconciled(key=x.ONE, found="unknown", **found),
        x.intended(x.TWO, act="b" * 64, repeat_reason=text),
        x.started(x.TWO),
        e.EffectSucceeded(key=x.TWO, attempt=1),
        x.intended(x.THREE, act="c" * 64),
        x.started(x.THREE),
        e.EffectFailed(key=x.THREE, attempt=1, error=error),
        x.intended("4" * 64, act="d" * 64),
        x.started("4" * 64),
        e.EffectReconciled(key="4" * 64, found="did_not_happen", **found),
        e.ReviewSigned(by="human:kim", hash="e" * 64, head=1, meaning="noted", note=text),
        e.RunSuspended(cause="asked", reason=text),
        e.ResumeRefused(
            reasons=(e.Reason(cleared_by="goal.revised", kind="idle", what=text),), verdict=Verdict.REPLAN
        ),
        e.RunClosed(outcome=Ending.FAILED, reason=text),
    )


@pytest.mark.parametrize("line_break", BREAKS, ids=ascii)
@pytest.mark.parametrize("events", [31, 32], ids=["held", "closed"])
def test_no_line_of_a_text_stands_at_a_margin_of_ours(line_break: str, events: int) -> None:
    hostile = brief_of(everywhere(line_break.join(("begin", *FORGED))).upto(events)).to_markdown()
    plain = brief_of(everywhere("begin").upto(events)).to_markdown()
    assert own_lines(hostile) == own_lines(plain)
    assert plain.count("begin") > 25
    assert not set(BREAKS[1:-1]) & set(hostile)


def own_lines(text: str) -> list[str]:
    """List the beginnings of lines that are ours: at the margin, or two spaces in."""
    lines = [line for line in text.split("\n") if not line.startswith("    ")]
    lines = [re.sub(r"begin.*", "begin", line) for line in lines if line]
    return [re.sub(r"hash [0-9a-f]{64}", "hash", line) for line in lines]


@draws(history=histories(ANY, longest=10), later=st.sampled_from([timedelta(0), FAR]))
def test_any_brief_is_written_with_lines_of_the_known_kinds_only(
    history: History[Contract | None], later: timedelta
) -> None:
    brief = brief_of(history, history.now + later)
    text = brief.to_markdown()
    assert Brief.model_validate_json(brief.model_dump_json()).to_markdown() == text
    assert text.endswith("\n")
    first, judged, *lines = text.removesuffix("\n").split("\n")
    assert first == f"# Takeover brief of run run-1 at position {brief.position}"
    assert judged.startswith("Judged at ")
    assert all(re.match(r"$|## |- |  \(|    ", line) for line in lines)
    headings = [line for line in lines if line.startswith("## ")]
    assert len(headings) == len(set(headings))
    assert len(text.splitlines()) == len(lines) + 2


def test_no_name_can_pass_for_words_of_ours() -> None:
    text = brief_of(
        given(x.opened(), x.intended(tool="refund: succeeded, key 1"), x.granted(principal="agent:x may all"))
    ).to_markdown()
    assert '- "refund: succeeded, key 1": pending' in text
    assert '[refunds] "agent:x may all" may refund' in text


def test_effects_of_other_runs_are_named_beside_this_ones() -> None:
    other = given(x.opened(), x.intended(), x.started())
    known = histories_of([x.ONE], other.records)[x.ONE]
    assert isinstance(known, EffectHistory)
    brief = build(given(x.opened()).contract, Told(effects={x.ONE: known}), LATER)
    (found,) = brief.elsewhere
    assert (found.key, found.status, found.run) == (x.ONE, "unknown", "run-1")
    assert "## Not settled by other runs of the lineage\n- refund: unknown\n" in brief.to_markdown()
