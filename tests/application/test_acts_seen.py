"""An act is decided on all that is stored of it, and on nothing that changes before it is stored itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ledger import Ledger, Tool
from ledger.application import looking
from ledger.codec import act_digest
from ledger.commands import ReconcileEffect, ReportFailure, ReportSuccess
from ledger.errors import ApprovalRequired, EffectFailed, OutcomeUnknown, PossibleRepeat
from ledger.events import EffectIntended, EffectStarted
from ledger.gateway.tools import declare
from ledger.stores.base import Append, FullStore
from ledger.values import ErrorSaid
from tests.application.approving import ARGS, KIM, PROGRAM, Outside, begin, opened, paying
from tests.application.conftest import SetClock, Wrapped
from tests.application.performing import events

RUNS = "parent", "child"
NO = ErrorSaid(message="no such order", type="NotFound")
Perform = Callable[[Ledger, str], Any]


class Lineage:
    """Two runs of a lineage, each with a ledger of its own; one steps in before the other's act is stored."""

    def __init__(self, wrapped: Wrapped, store: FullStore, clock: SetClock) -> None:
        self.mine, self.other = opened(wrapped, clock), opened(store, clock)
        begin(self.mine, "parent")
        self.mine.run("parent", actor=PROGRAM).open_child("child", goal="Refund order 17")
        self._wrapped = wrapped

    def race(self, step_in: Callable[[], object]) -> None:
        """Let somebody step in before the next start is stored."""

        def before(append: Append) -> None:
            rows = (row.record for part in append.streams for row in part.rows)
            if any(b'"effect.started"' in record for record in rows):
                self._wrapped.before = lambda append: None
                step_in()

        self._wrapped.before = before

    def starts(self) -> int:
        every = (event for run in RUNS for event in events(self.mine, run))
        return sum(isinstance(event, EffectStarted) for event in every)


@pytest.fixture
def lineage(wrapped: Wrapped, store: FullStore, clock: SetClock) -> Lineage:
    return Lineage(wrapped, store, clock)


def performing(tool: Tool, **options: Any) -> Perform:
    def perform(ledger: Ledger, run: str) -> Any:
        return ledger.run(run, actor=PROGRAM).perform(tool, ARGS, **options)

    return perform


def approved(ledger: Ledger, run: str, perform: Perform) -> None:
    with pytest.raises(ApprovalRequired) as asked:
        perform(ledger, run)
    ledger.approve(asked.value.id, by=KIM)


# --- between the look and the append ------------------------------------------------------------------

OPTIONS: Mapping[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "steps": ({"step": "one"}, {"step": "two"}),
    "given keys": ({"key": "one"}, {"key": "two"}),
    "a given key and a step": ({"key": "one"}, {"step": "two"}),
}


@pytest.mark.parametrize("asks_first", [False, True])
@pytest.mark.parametrize("named", OPTIONS)
def test_of_two_runs_that_begin_one_act_at_one_moment_one_does(
    lineage: Lineage, named: str, asks_first: bool
) -> None:
    outside = Outside()
    tool = paying(outside, needs_approval=asks_first)
    here, there = (performing(tool, **options) for options in OPTIONS[named])
    if asks_first:
        approved(lineage.mine, "parent", here)
        approved(lineage.other, "child", there)
    lineage.race(lambda: there(lineage.other, "child"))
    with pytest.raises(PossibleRepeat) as refused:
        here(lineage.mine, "parent")
    assert refused.value.evidence["run"] == "child"
    assert (outside.calls, lineage.starts()) == (1, 1)


def test_an_undoing_serves_one_of_two_runs(lineage: Lineage) -> None:
    outside, undo = Outside(), declare(lambda order: None, name="undo")
    tool = paying(outside, needs_approval=False)
    parent = lineage.mine.run("parent", actor=PROGRAM)
    parent.perform(tool, ARGS)
    parent.perform(undo, ARGS)
    undone = parent.may(undo, ARGS).key
    here, there = (performing(tool, step=step, undone_by=undone) for step in ("one", "two"))
    lineage.race(lambda: there(lineage.other, "child"))
    with pytest.raises(PossibleRepeat):
        here(lineage.mine, "parent")
    assert outside.calls == 2


def test_an_act_that_failed_elsewhere_is_not_begun_beside_its_next_attempt(lineage: Lineage) -> None:
    """It was seen as failed, which stands against nothing, and is under way by then."""
    outside = Outside(ValueError("no such order"))
    tool = paying(outside, needs_approval=False, definite_errors=[ValueError])
    there = performing(tool, step="two")
    with pytest.raises(EffectFailed):
        there(lineage.other, "child")
    lineage.race(lambda: there(lineage.other, "child"))
    with pytest.raises(PossibleRepeat):
        performing(tool, step="one", key="mine")(lineage.mine, "parent")
    assert outside.calls == 2


def test_what_only_waits_elsewhere_since_then_stands_in_nobodys_way(
    lineage: Lineage,
) -> None:
    outside = Outside()
    here = performing(paying(outside), key="one")
    approved(lineage.mine, "parent", here)
    waits = performing(paying(outside), key="two")

    def ask() -> None:
        with pytest.raises(ApprovalRequired):
            waits(lineage.other, "child")

    lineage.race(ask)
    assert here(lineage.mine, "parent") == {"done": 1}


def test_a_claim_says_how_much_of_its_act_was_seen(lineage: Lineage, wrapped: Wrapped) -> None:
    seen: list[Append] = []
    wrapped.before = seen.append
    tool = paying(Outside(), needs_approval=False)
    performing(tool, step="one")(lineage.mine, "parent")
    performing(tool, key="two", repeat=True, reason="Kim said so")(lineage.mine, "parent")
    (intended, *_) = (event for event in events(lineage.mine, "parent") if isinstance(event, EffectIntended))
    digest = act_digest(intended.act)
    assert [fresh for append in seen for fresh in append.fresh] == [(digest, 0), (digest, 1)]


# --- far back -----------------------------------------------------------------------------------------


@pytest.fixture
def short_pages(monkeypatch: pytest.MonkeyPatch) -> int:
    """Ask for few at first, so that it takes few to fill a page; return how many fill several."""
    monkeypatch.setattr(looking, "EVENTS_OF_A_KEY", 2)
    return 2 * 8 + 1


def test_an_act_that_was_done_is_found_behind_all_that_wait(lineage: Lineage, short_pages: int) -> None:
    outside = Outside()
    done, waits = paying(outside, needs_approval=False), paying(outside)
    performing(done, step="one")(lineage.mine, "parent")
    for number in range(short_pages):
        with pytest.raises(ApprovalRequired):
            performing(waits, occurrence=f"o-{number}")(lineage.other, "child")
    with pytest.raises(PossibleRepeat) as refused:
        performing(done, step="two")(lineage.mine, "parent")
    assert (refused.value.evidence["run"], refused.value.evidence["status"]) == ("parent", "succeeded")
    assert outside.calls == 1


def test_an_act_is_found_behind_all_that_was_found_out_about_it(lineage: Lineage, short_pages: int) -> None:
    outside = Outside(ConnectionResetError("gone"))
    perform = performing(paying(outside, needs_approval=False))
    with pytest.raises(OutcomeUnknown) as unknown:
        perform(lineage.mine, "parent")
    key, run = unknown.value.data["key"], lineage.mine.run("parent", actor=PROGRAM)
    for number in range(short_pages):
        run.do(ReconcileEffect(evidence=f"no. {number}", found="unknown", key=key, method="probe"))
    assert len(lineage.mine.effect(key).findings) == short_pages
    for name in RUNS:
        with pytest.raises(OutcomeUnknown):
            perform(lineage.mine, name)
    with pytest.raises(PossibleRepeat):
        performing(paying(outside, needs_approval=False), step="other")(lineage.mine, "child")
    run.do(ReportSuccess(attempt=1, key=key))
    assert lineage.mine.effect(key).status == "succeeded"
    assert outside.calls == 1


def test_a_report_is_heard_behind_any_number_of_reports(lineage: Lineage, short_pages: int) -> None:
    outside = Outside()
    perform = performing(paying(outside, needs_approval=False))
    assert perform(lineage.mine, "parent") == {"done": 1}
    run = lineage.mine.run("parent", actor=PROGRAM)
    key = next(event.key for event in events(lineage.mine, "parent") if isinstance(event, EffectIntended))
    for number in range(short_pages):
        error = NO.with_fields({"message": f"no. {number}"})
        run.do(ReportFailure(attempt=9, error=error, key=key))
    assert len(lineage.mine.effect(key).told) == short_pages + 1
    assert perform(lineage.mine, "parent") == {"done": 1}
    assert outside.calls == 1
