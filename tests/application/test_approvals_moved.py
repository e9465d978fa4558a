"""Acts that wait go where their run goes, and answers written elsewhere count as the record says."""

from __future__ import annotations

import io
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.application.exporting import export
from ledger.application.importing_runs import import_runs
from ledger.application.verifying import verify
from ledger.canonical import canonical_text
from ledger.errors import ApprovalDenied, ApprovalRequired, EffectsDisabled, OutcomeUnknown
from ledger.events import (
    ApprovalAnswered,
    ApprovalRequested,
    EffectIntended,
    EffectStarted,
    EffectSucceeded,
    Event,
    RunOpened,
)
from ledger.gateway.tools import Tool
from ledger.integrity.findings import Standing
from ledger.run.keys import act_key, effect_key
from ledger.stores.memory import MemoryStore
from ledger.values import Payload, Recovery
from projections.built_in import BUILT_IN
from projections.checking import check
from projections.runner import Runner
from tests.application.approving import ACTS, ARGS, KIM, PROGRAM, WAITS, asks, begin, opened, paying, performs
from tests.application.conftest import SetClock
from tests.application.performing import Outside, names
from tests.stores.builder import assert_whole, shown

DESK = Actor("service:desk")


@pytest.fixture
def outside() -> Outside:
    return Outside()


@pytest.fixture
def tool(outside: Outside) -> Tool:
    return paying(outside)


@pytest.fixture
def ledger(store: Any, clock: SetClock, tool: Tool) -> Ledger:
    return opened(store, clock, [tool])


# --- exported and imported -----------------------------------------------------------------------


def moved(origin: Ledger, target: Ledger) -> bytes:
    """Export everything of one ledger into another, and return the file."""
    out = io.BytesIO()
    export(origin, out.write)
    import_runs(target, io.BytesIO(out.getvalue()))
    return out.getvalue()


def test_acts_that_wait_are_answered_and_performed_where_their_run_was_moved_to(
    ledger: Ledger, clock: SetClock, outside: Outside
) -> None:
    """One waits, one was approved, one denied; none is asked about anew."""
    origin = opened(MemoryStore(), clock, [paying(Outside())])
    begin(origin)
    waits, approved, denied = (asks(origin, args={"order": order}).id for order in (1, 2, 3))
    origin.approve(approved, by=KIM)
    origin.deny(denied, by=KIM, reason="too much")
    moved(origin, ledger)
    assert ledger.contract("r") == origin.contract("r")
    assert verify(ledger).standing is Standing.SOUND
    assert asks(ledger, args={"order": 1}).id == waits
    assert performs(ledger, args={"order": 2}) == {"done": 1}
    with pytest.raises(ApprovalDenied):
        performs(ledger, args={"order": 3})
    ledger.approve(waits, by=KIM)
    assert performs(ledger, args={"order": 1}) == {"done": 2}
    assert outside.calls == 2
    assert_whole(ledger.store)


def test_a_ledger_with_acts_that_wait_is_sound_and_so_are_its_read_models(
    ledger: Ledger, clock: SetClock
) -> None:
    begin(ledger)
    ids = [asks(ledger, args={"order": order}).id for order in range(5)]
    ledger.approve(ids[1], by=KIM)
    performs(ledger, args={"order": 1})
    ledger.deny(ids[2], by=KIM)
    ledger.approve(ids[3], by=KIM)
    ledger.run("r", actor=DESK).accept("new", "Refund nothing", asserted_by=KIM)
    assert asks(ledger, args={"order": 3}).id != ids[3]
    report = verify(ledger)
    assert (report.standing, report.findings) == (Standing.SOUND, ())
    shown(ledger.store)
    Runner(ledger, BUILT_IN.values()).run(until_current=True)
    assert {one.state for one in check(ledger, BUILT_IN.values())} == {"same"}


in_memory = pytest.mark.parametrize("store", ["memory"], indirect=True)
"""What is decided on an import is the same on every store."""


# --- imported as events --------------------------------------------------------------------------


def key_of(order: int) -> tuple[str, str, str]:
    args = canonical_text({"order": order})
    act = act_key("default", "r", "pay", args)
    return effect_key("default", "r", None, "pay", None, args), act, args


def intention(order: int, tool: Tool, *, witnessed: bool = True) -> EffectIntended:
    key, act, args = key_of(order)
    assert tool.signature is not None
    return EffectIntended(
        act=act,
        args=args,
        key=key,
        key_scheme="v1",
        recovery=Recovery.AT_MOST_ONCE,
        tool="pay",
        tool_schema=tool.signature.digest,
        witnessed=witnessed,
    )


def request(order: int, tool: Tool, **fields: Any) -> ApprovalRequested:
    assert tool.signature is not None
    key = key_of(order)[0]
    return ApprovalRequested(**{"id": "ok-1", "key": key, "tool_schema": tool.signature.digest, **fields})


def imported(ledger: Ledger, *events: Event, actor: Actor = DESK) -> None:
    before = len(ledger.store.read("default", "r"))
    opening = () if before else (RunOpened(goal="Refund order 17"),)
    ledger.import_events("r", [*opening, *events], expected=before, actor=actor)


YES = ApprovalAnswered(answer="approved", by=KIM, id="ok-1")
NO = ApprovalAnswered(answer="denied", by=KIM, id="ok-1")


@in_memory
def test_an_approval_that_was_imported_whole_lets_the_act_begin_under_its_id(
    ledger: Ledger, tool: Tool, outside: Outside
) -> None:
    imported(ledger, intention(17, tool), request(17, tool), YES)
    assert performs(ledger) == {"done": 1}
    begun = [record.event for record in ledger.log("r") if isinstance(record.event, EffectIntended)]
    assert [event.approval for event in begun] == [None, "ok-1"]


@in_memory
@pytest.mark.parametrize(
    ("fields", "writer", "answer"),
    [
        ({"tool_schema": None}, DESK, YES),
        ({"tool_schema": "0" * 64}, DESK, YES),
        ({"expires_at": "2020-01-01T00:00:00.000000Z"}, DESK, YES),
        ({}, PROGRAM, YES),
        ({}, DESK, YES.with_fields({"by": "agent:refunds"})),
        ({}, DESK, YES.with_fields({"by": "service:desk"})),
        ({}, DESK, YES.with_fields({"id": "ok-2"})),
    ],
    ids=["no schema", "another schema", "late", "by an agent", "of an agent", "of a service", "unknown id"],
)
def test_what_was_imported_as_an_answer_and_is_none_lets_nothing_begin(
    ledger: Ledger, tool: Tool, outside: Outside, fields: Any, writer: Actor, answer: ApprovalAnswered
) -> None:
    """It is recorded like every fact."""
    imported(ledger, intention(17, tool), request(17, tool, **fields))
    imported(ledger, answer, actor=writer)
    assert names(ledger)[-1] == "approval.answered"
    asks(ledger)
    assert outside.calls == 0


@in_memory
def test_a_denial_that_was_imported_leaves_the_act_refused_and_a_late_yes_changes_nothing(
    ledger: Ledger, tool: Tool, outside: Outside
) -> None:
    imported(ledger, intention(17, tool), request(17, tool), NO, YES)
    for _ in range(2):
        with pytest.raises(ApprovalDenied):
            performs(ledger)
    assert ledger.contract("r").effects == ()
    assert outside.calls == 0


@in_memory
def test_an_act_of_which_only_the_intention_was_imported_is_not_taken_for_one_that_waits(
    ledger: Ledger, tool: Tool, outside: Outside
) -> None:
    """The ledger was not there: it may have been done, approved or not."""
    imported(ledger, intention(17, tool, witnessed=False), request(17, tool), YES)
    with pytest.raises(OutcomeUnknown):
        performs(ledger)
    ledger.settle(key_of(17)[0], happened=False, evidence="no payment", by=KIM)
    assert performs(ledger) == {"done": 1}
    assert outside.calls == 1


@in_memory
def test_what_an_import_says_was_done_is_told_and_nobody_is_asked(
    ledger: Ledger, tool: Tool, outside: Outside
) -> None:
    key = key_of(17)[0]
    started = EffectStarted.model_validate(
        {
            "attempt": 1,
            "key": key,
            "lease_until": "2030-01-01T00:00:00.000000Z",
            "root": "r",
            "worker": "elsewhere",
        }
    )
    done = EffectSucceeded(attempt=1, key=key, result=Payload(json_text='"paid"'))
    imported(ledger, intention(17, tool, witnessed=False), started, done)
    assert performs(ledger) == "paid"
    assert outside.calls == 0


@in_memory
def test_an_answer_on_a_run_that_ended_is_recorded_when_it_is_imported(ledger: Ledger, tool: Tool) -> None:
    begin(ledger)
    id = asks(ledger).id
    ledger.run("r", actor=DESK).close("cancelled", reason="not wanted", by=KIM)
    imported(ledger, YES.with_fields({"id": id}))
    assert names(ledger) == [*WAITS, "run.closed", "approval.answered"]


@in_memory
def test_a_fork_of_a_run_with_acts_that_wait_has_none_and_asks_nobody(
    ledger: Ledger, tool: Tool, outside: Outside
) -> None:
    begin(ledger)
    ledger.approve(asks(ledger).id, by=KIM)
    ledger.fork("r", as_="what-if", at=ledger.contract("r").position)
    assert ledger.contract("what-if").approvals == ()
    with pytest.raises(EffectsDisabled):
        performs(ledger, "what-if")
    assert performs(ledger) == {"done": 1}
    assert names(ledger) == [*WAITS, "approval.answered", *ACTS]


@in_memory
def test_an_approval_is_not_of_the_run_that_follows(ledger: Ledger, tool: Tool, outside: Outside) -> None:
    begin(ledger)
    id = asks(ledger).id
    ledger.approve(id, by=KIM)
    ledger.restart("r", as_="r-2", reason="begin anew", by=KIM, actor=DESK)
    with pytest.raises(ApprovalRequired) as asked:
        performs(ledger, "r-2", ARGS)
    assert asked.value.id != id
    ledger.approve(asked.value.id, by=KIM)
    assert performs(ledger, "r-2", ARGS) == {"done": 1}
