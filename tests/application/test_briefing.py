"""What a brief is read from: the log, the lineage, and the effects of all its runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from ledger import Actor, Ledger, Outcome, Recovery, Run, Source, current_effect
from ledger.errors import EffectFailed, InvalidInput, RunNotFound
from ledger.events import ObligationOpened, Parent, RunOpened
from ledger.run.brief import Brief
from ledger.values import Ending
from tests.application.conftest import OpenLedger, SetClock

KIM = Actor("human:kim", authenticated_by="badge")
AGENT = Actor("agent:refunds", session="s-1")


class Killed(BaseException):
    """Stands for the end of a process in the middle of a call."""


def killed(**args: Any) -> None:
    raise Killed


def refused(**args: Any) -> None:
    raise ValueError("card expired")


def paid(order: int) -> Outcome:
    return Outcome({"paid": order}, external_ref=f"ch_{order}")


def leave_open(run: Run, **more: Any) -> str:
    """Begin an act and die in the call; return its key."""
    with suppress(Killed):
        run.perform("mail", {"to": "kim"}, killed, **more)
    return run.contract.effects[-1].key


def keys(some: Any) -> list[str]:
    return [one.key for one in some]


def refs(brief: Brief) -> list[tuple[str, str | None]]:
    return [(one.run, one.external_ref) for one in brief.done]


@pytest.fixture
def run(ledger: Ledger) -> Run:
    return ledger.open_run("refund-17", "Refund order 17", actor=AGENT, owner="human:kim")


def test_a_brief_of_a_run_with_nothing(ledger: Ledger, run: Run) -> None:
    brief = ledger.brief("refund-17")
    assert (brief.status, brief.position, brief.run, brief.owner) == ("open", 1, "refund-17", "human:kim")
    assert brief.hash == run.contract.hash
    for name in ("done", "failed", "unsettled", "elsewhere", "obligations", "grants", "approvals", "waiting"):
        assert getattr(brief, name) == ()
    assert [kin.run for kin in brief.lineage] == ["refund-17"]
    assert ledger.brief("refund-17") == brief, "nothing was written, and the clock stands"


def test_asking_for_what_is_not_there_creates_nothing(ledger: Ledger, run: Run) -> None:
    with pytest.raises(RunNotFound):
        ledger.brief("nobody")
    with pytest.raises(InvalidInput):
        ledger.brief("refund-17", at=9)
    assert [one.run for one in ledger.runs().runs] == ["refund-17"]


def test_it_reads_how_the_goal_came_to_be_and_each_act(ledger: Ledger, run: Run, clock: SetClock) -> None:
    run.revise_goal("Refund order 17 and say so", reason="customer asked", by="human:kim")
    run.perform("refund", {"order": 17}, paid, step="pay", recovery=Recovery.AT_MOST_ONCE)
    with suppress(EffectFailed):
        run.perform("charge", {"order": 9}, refused, definite_errors=(ValueError,))
    key = leave_open(run, lease_seconds=30)
    brief = ledger.brief("refund-17")
    assert [(goal.text, goal.reason) for goal in brief.goals] == [
        ("Refund order 17", None),
        ("Refund order 17 and say so", "customer asked"),
    ]
    (did,) = brief.done
    assert (did.external_ref, did.step, did.args.json_text) == ("ch_17", "pay", '{"order":17}')
    assert [(one.tool, one.exhausted) for one in brief.failed] == [("charge", True)]
    assert [(one.key, one.way, one.status_now) for one in brief.unsettled] == [(key, "worker", "executing")]
    clock.tick(3600)
    later = ledger.brief("refund-17")
    assert [(one.way, one.status_now) for one in later.unsettled] == [("person", "unknown")]
    assert later.unsettled[0].since == brief.unsettled[0].lease_until


def test_a_long_result_is_named_by_its_digest(ledger: Ledger, run: Run) -> None:
    run.perform("read", {"page": "x" * 5000}, lambda page: page * 2, recovery=Recovery.AT_MOST_ONCE)
    (did,) = ledger.brief("refund-17").done
    assert did.result is not None
    assert (did.args.json_text, did.result.json_text) == (None, None)
    assert ledger.effect(did.key).args == '{"page":"' + "x" * 5000 + '"}', "the whole is found by the key"


def test_it_shows_a_run_as_it_stood(ledger: Ledger, run: Run, clock: SetClock) -> None:
    before = clock.now
    key = leave_open(run, lease_seconds=30, recovery=Recovery.AT_MOST_ONCE)
    there = run.position
    clock.tick(60)
    run.revise_goal("Refund it all", reason="customer asked", by="human:kim")
    ledger.settle(key, happened=True, evidence="seen", by="human:kim", external_ref="m-1", actor=KIM)
    assert keys(ledger.brief("refund-17").done) == [key]
    for at in (there, before):
        brief = ledger.brief("refund-17", at=at)
        assert (keys(brief.done), keys(brief.unsettled)) == ([], [key])
        assert [goal.text for goal in brief.goals] == ["Refund order 17"]
        assert (brief.now, brief.position) == (before, there)
        assert brief.unsettled[0].status_now == "executing"
    assert ledger.brief("refund-17", at=1).unsettled == ()


# --- lineage -------------------------------------------------------------------------------------


def test_a_successor_knows_what_was_done_before_it(ledger: Ledger, run: Run, clock: SetClock) -> None:
    run.perform("refund", {"order": 17}, paid, recovery=Recovery.AT_MOST_ONCE)
    run.revise_goal("Refund orders 17 and 18", reason="customer asked", by="human:kim")
    key = leave_open(run, recovery=Recovery.AT_MOST_ONCE)
    clock.tick(3600)
    run.assume("in-stock", "It came back")
    run.refute("in-stock", evidence="an empty shelf")
    second = ledger.restart("refund-17", as_="refund-17b", reason="begin anew", by="human:kim", actor=KIM)
    second.perform("refund", {"order": 18}, paid, recovery=Recovery.AT_MOST_ONCE)

    brief = ledger.brief("refund-17b")
    assert refs(brief) == [("refund-17", "ch_17"), ("refund-17b", "ch_18")]
    assert [(one.key, one.inherited_from, one.way) for one in brief.unsettled] == [
        (key, "refund-17", "person")
    ]
    assert brief.elsewhere == ()
    assert [(goal.run, goal.text) for goal in brief.goals] == [
        ("refund-17", "Refund order 17"),
        ("refund-17", "Refund orders 17 and 18"),
        ("refund-17b", "Refund orders 17 and 18"),
    ]
    assert [(kin.run, kin.ended, kin.successor) for kin in brief.lineage] == [
        ("refund-17", Ending.RESTARTED, "refund-17b"),
        ("refund-17b", None, None),
    ]
    assert (brief.predecessor, brief.successor) == ("refund-17", None)

    first = ledger.brief("refund-17")
    assert (first.status, first.successor) == ("closed", "refund-17b")
    assert refs(first) == refs(brief), "it is one lineage, whichever run one asks about"
    assert [(way.command, way.run) for way in first.next] == [(None, "refund-17b")]
    text = brief.to_markdown()
    assert "- refund-17, ended as restarted, succeeded by refund-17b\n" in text
    assert "- refund-17b (this run), successor of refund-17 from its position " in text


def test_a_successor_says_what_it_was_not_given(ledger: Ledger, run: Run) -> None:
    policy = ledger.source("policy:refunds", actor=KIM)
    policy.publish("4", {"limit-100": "At most 100 EUR"})
    run.accept(
        "limit-100",
        "At most 100 EUR",
        source=Source("policy", "refunds", revision="4"),
        asserted_by="human:kim",
    )
    policy.withdraw("limit-100", reason="replaced", by="human:kim")
    ledger.restart("refund-17", as_="refund-17b", reason="it was withdrawn", by="human:kim", actor=KIM)
    brief = ledger.brief("refund-17b")
    assert brief.constraints == ()
    assert [one.ref for one in brief.dropped] == ["constraint:limit-100"]
    assert '- not taken over: constraint:limit-100\n  ("policy:refunds withdrew it' in brief.to_markdown()


def test_a_fork_is_told_to_perform_nothing_and_what_its_origin_meant_there(ledger: Ledger, run: Run) -> None:
    run.perform("refund", {"order": 17}, paid, recovery=Recovery.AT_MOST_ONCE)
    there = run.position
    run.revise_goal("Something else", reason="customer asked", by="human:kim")
    ledger.fork("refund-17", as_="what-if", at=there, actor=KIM)
    brief = ledger.brief("what-if")
    assert brief.fork_of == "refund-17"
    assert refs(brief) == [("refund-17", "ch_17")]
    assert [(goal.run, goal.text) for goal in brief.goals] == [
        ("refund-17", "Refund order 17"),
        ("what-if", "Refund order 17"),
    ], "what the origin meant later is no part of it"
    assert [(way.command, way.run) for way in brief.next] == [(None, "refund-17")]


def test_a_parent_and_its_child_know_of_each_other(ledger: Ledger, run: Run) -> None:
    run.open_child("find-box", "Find the box")
    child = ledger.run("find-box", actor=AGENT)
    child.perform("refund", {"order": 1}, paid, recovery=Recovery.AT_MOST_ONCE)
    key = leave_open(child)
    run.perform("refund", {"order": 17}, paid, recovery=Recovery.AT_MOST_ONCE)
    brief = ledger.brief("refund-17")
    assert sorted(refs(brief)) == [("find-box", "ch_1"), ("refund-17", "ch_17")]
    assert [(one.key, one.run) for one in brief.elsewhere] == [(key, "find-box")]
    assert [(one.ref, one.who) for one in brief.waiting] == [("obligation:find-box", "find-box")]
    below = ledger.brief("find-box")
    assert [goal.text for goal in below.goals] == ["Find the box"], "the parent's goal is another one"
    assert sorted(refs(below)) == sorted(refs(brief))
    assert keys(below.unsettled) == [key]


def test_kin_that_is_not_here_is_left_out(ledger: Ledger) -> None:
    opened = RunOpened(goal="Go on", parent=Parent(position=4, relation="successor", root="gone", run="gone"))
    ledger.import_events("alone", [opened], expected=0)
    brief = ledger.brief("alone")
    assert [kin.run for kin in brief.lineage] == ["alone"]
    assert brief.parent == opened.parent
    assert [goal.text for goal in brief.goals] == ["Go on"]


def test_a_run_of_another_lineage_that_is_named_is_no_kin(ledger: Ledger, run: Run) -> None:
    ledger.open_run("stranger", "Anything").perform("refund", {"order": 5}, paid)
    owed = ObligationOpened(because="run:stranger", id="o", owed_to="human:kim", text="Wait for it")
    ledger.import_events("refund-17", [owed], expected=1)
    brief = ledger.brief("refund-17")
    assert (brief.done, [kin.run for kin in brief.lineage]) == ((), ["refund-17"])


def test_a_lease_that_its_worker_renews_holds(
    ledger: Ledger, run: Run, open_on: OpenLedger, clock: SetClock
) -> None:
    seen: list[str] = []

    def slow(**args: Any) -> None:
        clock.tick(20)
        current_effect().progress()
        clock.tick(20)
        seen.extend(one.status_now for one in open_on().brief("refund-17").unsettled)

    run.perform("mail", {"to": "kim"}, slow, lease_seconds=30)
    assert seen == ["executing"]


def test_probes_that_are_known_here_are_asked(ledger: Ledger, run: Run, clock: SetClock) -> None:
    leave_open(run, lease_seconds=30, recovery=Recovery.AT_MOST_ONCE)
    clock.tick(60)
    assert [one.way for one in ledger.brief("refund-17").unsettled] == ["person"]

    def find(key: str, args: Any) -> None: ...

    def mail(to: str) -> None: ...

    declare: Callable[..., Any] = ledger.tool
    declare(recovery="queryable", probe=find)(mail)
    brief = ledger.brief("refund-17")
    assert [one.way for one in brief.unsettled] == ["probe"]
    assert (brief.next[0].command, brief.next[0].fields) == ("effect.reconcile", {})


def test_many_acts_are_all_in_it(ledger: Ledger, run: Run) -> None:
    made = [
        run.perform("refund", {"order": n}, paid, occurrence=str(n), recovery=Recovery.AT_MOST_ONCE)
        for n in range(230)
    ]
    brief = ledger.brief("refund-17")
    assert len(made) == len(brief.done) == 230, "more than are looked up at once"
    assert [one.external_ref for one in brief.done] == [f"ch_{n}" for n in range(230)]
