"""Saved states, through a ledger: kept, found again, given up, beside all else that is done to a run."""

from __future__ import annotations

import io
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger, Run, open_ledger
from ledger import commands as c
from ledger.application.expiring import expire
from ledger.application.exporting import export
from ledger.application.importing_runs import import_runs
from ledger.application.saved_states import PAGE, PARTS_AT_ONCE, SavedState
from ledger.application.verifying import verify
from ledger.errors import (
    IntegrityError,
    InvalidInput,
    NotForAgents,
    PositionConflict,
    RunIsClosed,
    StateMoved,
    StoreUnavailable,
    Superseded,
)
from ledger.integrity.findings import Check, Standing
from ledger.run.states import LINES
from ledger.stores.memory import MemoryStore
from ledger.testing import Clock
from ledger.values import Ending, Payload, SavedName
from tests.application.conftest import OpenLedger, SetClock
from tests.application.faulty import FaultyStore
from tests.application.test_lost_acknowledgements import lose

KIM: dict[str, Any] = {"by": "human:kim", "reason": "old"}


@pytest.fixture
def run(ledger: Ledger) -> Run:
    return ledger.open_run("r", "Go")


def names(run: Run) -> list[tuple[str | None, str]]:
    return [(state.line, state.id) for state in run.states.all()]


def content(run: Run, state: SavedState | None) -> bytes:
    assert state is not None
    return run.states.contents([state.digest])[state.digest]


def newest(run: Run, line: str | None = None) -> str | None:
    found = run.states.newest(line).state
    return None if found is None else found.id


# --- keeping and finding -------------------------------------------------------------------------


def test_what_is_looked_up_is_what_is_found_with_its_parts(run: Run) -> None:
    assert run.states.look_up() == ((None, 1, None), False, None)
    run.save_state("s-1", b"x")
    run.save_state("s-1", b"y", line="side")
    for number in range(PARTS_AT_ONCE):
        for task in (f"t-{number}",) * 2:
            run.save_state_part("s-1", task, b"x", line="side")
    run.save_state("s-2", b"z", parent="s-1", seen=2)
    run.save_state_part("s-2", "t", b"part")
    for id, line in ((None, None), ("s-2", None), ("s-1", None), ("s-1", "side"), (None, "side")):
        found = run.states.newest(line) if id is None else run.states.find(id, line)
        looked = run.states.look_up(id, line)
        assert looked.found == found
        assert looked.found.state is not None
        parts = run.states.parts(looked.found.state)
        assert looked.parts == (None if line else parts)
        assert len(parts) == (2 * PARTS_AT_ONCE if line else 1 if looked.found.state.id == "s-2" else 0)
    run.drop_states(states=[SavedName(id="s-2")], **KIM)
    assert run.states.look_up("s-2") == (run.states.find("s-2"), False, None)
    assert run.states.look_up() == (run.states.newest(), False, None)
    run.close(Ending.ABANDONED, by="human:kim", reason="old")
    assert run.states.look_up("s-1").closed


def test_a_state_is_kept_and_found_by_its_name_and_as_the_newest(run: Run, open_on: OpenLedger) -> None:
    run.save_state("s-1", b"one\n\x00")
    stated = run.save_state("s-2", b"two", parent="s-1", whole=False)
    run.save_state("s-1", b"sub", line="sub", parent="s-0", branch=True)
    other = open_on().run("r")
    found = other.states.newest()
    assert (found.seen, found.dropped) == (4, None)
    state = found.state
    assert state is not None
    assert (state.id, state.line, state.parent, state.position) == ("s-2", None, "s-1", stated.position)
    assert (state.branch, state.whole) == (False, False)
    assert content(other, state) == b"two"
    assert content(other, other.states.find("s-1").state) == b"one\n\x00"
    assert content(other, other.states.find("s-1", "sub").state) == b"sub"
    assert other.states.find("s-2", "sub").state is None
    assert names(other) == [("sub", "s-1"), (None, "s-2"), (None, "s-1")]
    assert [one.id for one in other.states.all(before=3)] == ["s-1"]


def test_a_run_that_saved_nothing_has_no_state(run: Run) -> None:
    assert run.states.newest() == run.states.find("s-1") == (None, 1, None)
    assert names(run) == []
    assert run.states.contents([bytes(32)]) == {}


def test_what_was_kept_of_the_work_after_a_state_is_read_in_its_order(run: Run) -> None:
    run.save_state("s-1", b"one")
    for task in ("t-2", "t-1", "t-2"):
        run.save_state_part("s-1", task, task.encode() * 2)
    run.save_state_part("s-1", "t-3", b"elsewhere", line="sub")
    state = run.states.newest().state
    assert state is not None
    parts = run.states.parts(state)
    assert [(part.task, part.position) for part in parts] == [("t-2", 3), ("t-1", 4), ("t-2", 5)]
    assert run.states.contents([parts[1].digest]) == {parts[1].digest: b"t-1t-1"}


def test_a_state_that_was_saved_again_is_read_as_it_was_saved_last(run: Run) -> None:
    run.save_state("s-1", b"one")
    run.save_state("s-1", b"other", parent="s-1")
    assert content(run, run.states.find("s-1").state) == b"other"
    assert names(run) == [(None, "s-1")]


def test_two_states_with_one_content_share_none(run: Run, ledger: Ledger) -> None:
    """Each is freed with its run and what rests on it there; nobody else may rest on it."""
    elsewhere = ledger.open_run("other", "Go")
    run.save_state("s-1", b"same")
    run.save_state("s-2", b"same", parent="s-1")
    run.save_state("s-1", b"same", line="sub")
    elsewhere.save_state("s-1", b"same")
    digests = {state.digest for one in (run, elsewhere) for state in one.states.all()}
    assert len(digests) == 4
    theirs = elsewhere.states.newest().state
    assert theirs is not None
    with pytest.raises(IntegrityError, match="content of something else"):
        run.states.contents([theirs.digest])


def test_a_state_that_is_said_as_a_command_is_kept_as_its_json(run: Run) -> None:
    run.do(c.SaveState(content=Payload(json_text='{"a":1}'), id="s-1"))
    run.do(c.SaveStatePart(content=Payload(json_text="[2]"), state="s-1", task="t"))
    state = run.states.newest().state
    assert content(run, state) == b'{"a":1}'
    assert state is not None
    (part,) = run.states.parts(state)
    assert run.states.contents([part.digest]) == {part.digest: b"[2]"}
    assert run.do(c.SaveState(content=Payload(json_text='{"a":1}'), id="s-1")).repeated
    for command in (
        c.SaveState(content=Payload(digest=part.digest.hex(), size=part.size), id="s-2", parent="s-1"),
        c.SaveStatePart(content=Payload(digest="1" * 64, size=1), state="s-1", task="t"),
    ):
        with pytest.raises(InvalidInput) as refused:
            run.do(command)
        assert refused.value.data["path"] == "content"


@pytest.mark.parametrize("content", ["text", bytearray(b"x"), None])
def test_what_is_no_bytes_is_no_state(run: Run, content: Any) -> None:
    with pytest.raises(InvalidInput):
        run.save_state("s-1", content)
    with pytest.raises(InvalidInput):
        run.save_state_part("s-1", "t", content)


# --- giving up -----------------------------------------------------------------------------------


def test_what_was_given_up_is_not_read_and_what_was_saved_since_is(run: Run, open_on: OpenLedger) -> None:
    for number in range(1, 5):
        run.save_state(f"s-{number}", b"x", parent=f"s-{number - 1}" if number > 1 else None)
    run.save_state_part("s-4", "t", b"x")
    run.drop_states(states=[SavedName(id="s-4"), SavedName(id="s-2")], **KIM)
    assert names(run) == [(None, "s-3"), (None, "s-1")]
    assert newest(run) == "s-3"
    dropped = run.states.newest().dropped
    run.save_state("s-4", b"again", parent="s-3", seen=run.position, dropped=dropped)
    for one in (run, open_on().run("r")):
        found = one.states.newest().state
        assert found is not None
        assert content(one, found) == b"again"
        assert one.states.parts(found) == [], "what was kept after the older one is of that"
    run.drop_states(all=True, kept=[SavedName(id="s-3")], **KIM)
    assert names(run) == [(None, "s-3")]
    run.drop_states(all=True, **KIM)
    assert (names(run), newest(run)) == ([], None)


def test_many_drops_are_read_at_once(run: Run, open_on: OpenLedger) -> None:
    for number in range(12):
        run.save_state(f"s-{number}", b"x", branch=True, dropped=run.states.newest().dropped)
        run.drop_states(states=[SavedName(id=f"s-{number - 1}")], **KIM)
    other = open_on().run("r")
    assert names(other) == [(None, "s-11")]
    run.drop_states(all=True, **KIM)
    assert names(other) == []


def test_who_prunes_gives_up_nothing_that_another_program_saved_meanwhile(
    run: Run, open_on: OpenLedger
) -> None:
    run.save_state("s-1", b"x")
    found = run.states.newest()
    assert found.state is not None
    rival = open_on().run("r")
    rival.save_state("s-2", b"x", parent="s-1")
    run.drop_states(all=True, upto=found.seen, **KIM)
    assert names(run) == [(None, "s-2")]
    assert newest(rival) == "s-2"


@pytest.mark.parametrize(("upto", "left"), [(2, [(None, "s-2")]), (None, [])])
def test_a_drop_that_lost_a_race_is_decided_again(
    wrapped: Any, open_on: OpenLedger, upto: int | None, left: list[tuple[str | None, str]]
) -> None:
    run = open_on(store=wrapped).open_run("r", "Go")
    run.save_state("s-1", b"x")
    rival = open_on().run("r")

    def first(append: Any) -> None:
        wrapped.before = lambda append: None
        rival.save_state("s-2", b"x", parent="s-1")

    wrapped.before = first
    assert run.drop_states(all=True, upto=upto, **KIM).position == 4
    assert names(run) == names(rival) == left
    with pytest.raises(StateMoved) as moved:
        rival.save_state("s-3", b"x", parent="s-2")
    assert moved.value.dropped == 4


def test_a_save_that_lost_the_race_to_a_drop_is_refused(wrapped: Any, open_on: OpenLedger) -> None:
    """What it rests on may be freed by now."""
    run = open_on(store=wrapped).open_run("r", "Go")
    run.save_state("s-1", b"x")
    rival = open_on().run("r")

    def first(append: Any) -> None:
        wrapped.before = lambda append: None
        rival.drop_states(all=True, **KIM)

    wrapped.before = first
    with pytest.raises(StateMoved) as moved:
        run.save_state("s-2", b"x", parent="s-1", branch=True)
    assert moved.value.dropped == 3
    assert names(run) == []


def test_agents_give_up_nothing(ledger: Ledger, run: Run) -> None:
    run.save_state("s-1", b"x")
    agent = ledger.run("r", actor=Actor("agent:refunds"))
    with pytest.raises(NotForAgents):
        agent.drop_states(all=True, **KIM)
    with pytest.raises(NotForAgents):
        run.drop_states(all=True, by="agent:refunds", reason="mine")
    assert newest(run) == "s-1"


def test_more_names_than_an_event_takes_are_refused(run: Run) -> None:
    with pytest.raises(InvalidInput):
        run.drop_states(states=[SavedName(id=f"s-{number}") for number in range(501)], **KIM)


# --- many ----------------------------------------------------------------------------------------


def test_lines_that_a_contract_does_not_name_are_found_all_the_same() -> None:
    """Programs begin lines all the time: finding one reads no more for all that was saved before."""
    with Ledger_on(MemoryStore()) as ledger:
        run = ledger.open_run("r", "Go")
        run.save_state("main", b"x")
        for number in range(LINES + 5):
            run.save_state("s-1", b"x", line=f"line-{number}", seen=run.position)
        run.save_state("s-2", b"x", line="line-0", parent="s-1", seen=run.position)
        assert newest(run) == "main"
        assert newest(run, "line-1") == "s-1"
        assert newest(run, "line-0") == "s-2"
        assert newest(run, "none") is None
        run.drop_states(
            states=[SavedName(id="s-2", line="line-0"), SavedName(id="s-1", line="line-1")], **KIM
        )
        assert newest(run, "line-0") == "s-1"
        assert newest(run, "line-1") is None
        assert len(names(run)) == LINES + 5


def test_a_line_with_many_states_that_were_given_up_is_read_in_steps() -> None:
    with Ledger_on(MemoryStore()) as ledger:
        run = ledger.open_run("r", "Go")
        for number in range(40):
            run.save_state(f"s-{number}", b"x", line="sub", branch=True)
        run.drop_states(states=[SavedName(id=f"s-{number}", line="sub") for number in range(2, 40)], **KIM)
        assert newest(run, "sub") == "s-1"


def test_all_states_are_read_page_by_page() -> None:
    with Ledger_on(MemoryStore()) as ledger:
        run = ledger.open_run("r", "Go")
        for number in range(PAGE + 3):
            run.save_state(f"s-{number}", b"x", branch=True)
        assert [id for _, id in names(run)] == [f"s-{number}" for number in reversed(range(PAGE + 3))]
        assert [state.id for state in run.states.all(before=4)] == ["s-1", "s-0"]


def Ledger_on(store: Any) -> Ledger:
    from ledger.application.edge import Edge

    return Ledger(Edge(store, "default", Actor("service:tests"), Clock(), pause=lambda attempt: None))


# --- rivals, and answers that were lost ----------------------------------------------------------


def test_of_two_that_go_on_from_one_state_one_is_told_to_read_again(run: Run, open_on: OpenLedger) -> None:
    run.save_state("s-1", b"x")
    rival = open_on().run("r")
    seen = rival.states.newest().seen
    run.save_state("s-2", b"mine", parent="s-1")
    with pytest.raises(StateMoved) as moved:
        rival.save_state("s-2b", b"theirs", parent="s-1", seen=seen)
    assert isinstance(moved.value, PositionConflict)
    assert (moved.value.expected, moved.value.actual, moved.value.dropped) == (2, 3, None)
    assert (moved.value.code, moved.value.retryable) == ("state_moved", True)
    assert newest(rival) == "s-2"
    rival.save_state("s-2b", b"theirs", parent="s-1", branch=True)
    assert newest(run) == "s-2b"


def test_a_save_that_is_refused_for_a_drop_says_where_that_was(run: Run, open_on: OpenLedger) -> None:
    run.save_state("s-1", b"x")
    run.save_state("s-2", b"x", parent="s-1")
    open_on().run("r").drop_states(states=[SavedName(id="s-1")], **KIM)
    for branch in (False, True):
        with pytest.raises(StateMoved) as moved:
            run.save_state("s-3", b"x", parent="s-2", branch=branch)
        assert moved.value.dropped == 4
    run.save_state("s-3", b"x", parent="s-2", dropped=4)


def test_others_may_say_what_they_like_between_two_states(run: Run, open_on: OpenLedger) -> None:
    run.save_state("s-1", b"x")
    rival = open_on().run("r")
    rival.move("pay")
    rival.save_state_part("s-1", "t", b"x")
    rival.save_state("s-1", b"x", line="sub")
    assert run.save_state("s-2", b"x", parent="s-1").position == 6


@pytest.mark.parametrize("stored", [True, False])
def test_a_save_whose_answer_was_lost_is_said_again(wrapped: Any, open_on: OpenLedger, stored: bool) -> None:
    run = open_on(store=wrapped).open_run("r", "Go")
    run.save_state("s-1", b"x")
    save: Callable[[], Any] = lambda: run.save_state("s-2", b"y", parent="s-1")  # noqa: E731
    lose(wrapped, stored=stored)
    with pytest.raises(StoreUnavailable):
        save()
    assert save().position == 3
    assert names(run) == [(None, "s-2"), (None, "s-1")]
    # Another process that does not know of the first try says the same.
    again = open_on().run("r").save_state("s-2", b"y", parent="s-1")
    assert (again.position, again.repeated) == (3, True)


def test_a_part_whose_answer_was_lost_is_kept_once() -> None:
    store = FaultyStore()
    ledger = Ledger_on(store)
    run = ledger.open_run("r", "Go")
    run.save_state("s-1", b"x")
    store.faults = ["lost_stored"]
    with pytest.raises(StoreUnavailable):
        run.save_state_part("s-1", "t", b"y")
    assert run.save_state_part("s-1", "t", b"y").position == 3
    state = run.states.newest().state
    assert state is not None
    assert len(run.states.parts(state)) == 1


# --- the life of a run ---------------------------------------------------------------------------


def test_a_handle_that_was_replaced_and_a_closed_run_save_nothing(ledger: Ledger, run: Run) -> None:
    run.save_state("s-1", b"x")
    run.suspend(reason="lunch")
    run.save_state("s-2", b"what was finished", parent="s-1")
    decision = ledger.resume("r", actor=Actor("service:runner", session="s-9"))
    assert decision.run is not None
    with pytest.raises(Superseded):
        run.save_state("s-3", b"x", parent="s-2")
    with pytest.raises(Superseded):
        run.save_state_part("s-2", "t", b"x")
    decision.run.save_state("s-3", b"x", parent="s-2")
    decision.run.close(Ending.CANCELLED)
    with pytest.raises(RunIsClosed):
        decision.run.save_state("s-4", b"x", parent="s-3")
    closed = ledger.run("r")
    assert newest(closed) == "s-3", "its states are read as before"
    closed.drop_states(all=True, **KIM)
    assert names(closed) == []


def test_no_other_run_of_a_lineage_has_its_states(ledger: Ledger, run: Run) -> None:
    run.save_state("s-1", b"x")
    fork = ledger.fork("r", as_="fork", at=2)
    run.open_child("child", "Mail the customer")
    successor = ledger.restart("r", as_="next", by="human:kim", reason="begin anew")
    for other in (fork, ledger.run("child"), successor):
        assert (names(other), newest(other)) == ([], None)
    assert newest(ledger.run("r")) == "s-1"


# --- beside everything else ----------------------------------------------------------------------


def test_states_go_with_no_age(ledger: Ledger, run: Run, clock: SetClock) -> None:
    run.save_state("s-1", b"x")
    run.record_message("m-1", "user", "Hello")
    clock.tick(60)
    assert set(expire(ledger, run="r", **KIM).classes) == {"message"}
    assert content(run, run.states.newest().state) == b"x"
    with pytest.raises(InvalidInput):
        expire(ledger, classes=["state"], **KIM)


def test_states_are_exported_and_imported_with_the_rest(ledger: Ledger, run: Run) -> None:
    run.save_state("s-1", b"one")
    run.save_state("s-2", b"two", parent="s-1")
    run.save_state_part("s-2", "t", b"part")
    run.drop_states(states=[SavedName(id="s-1")], **KIM)
    assert verify(ledger).standing is Standing.SOUND
    file = io.BytesIO()
    export(ledger, file.write)
    file.seek(0)
    with Ledger_on(MemoryStore()) as there:
        import_runs(there, file)
        again = there.run("r")
        state = again.states.newest().state
        assert state is not None
        assert (names(again), content(again, state)) == ([(None, "s-2")], b"two")
        (part,) = again.states.parts(state)
        assert again.states.contents([part.digest]) == {part.digest: b"part"}
        assert verify(there).standing is Standing.SOUND
        again.save_state("s-3", b"three", parent="s-2", dropped=5)


@pytest.mark.parametrize("column", ["key", "act"])
@pytest.mark.parametrize("position", [2, 3, 4])
def test_a_column_that_was_altered_is_found(tmp_path: Path, column: str, position: int) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger:
        run = ledger.open_run("r", "Go")
        run.save_state("s-1", b"x", line="sub")
        run.save_state_part("s-1", "t", b"x", line="sub")
        run.drop_states(all=True, **KIM)
        assert verify(ledger).standing is Standing.SOUND
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DROP TRIGGER events_refuse_update")
        values = (bytes(16), position)
        database.execute(f"UPDATE events SET {column} = ? WHERE run = 'r' AND position = ?", values)
    with open_ledger(path) as ledger:
        report = verify(ledger)
    assert report.standing is Standing.ALTERED
    found = [(one.check, one.stream, one.position) for one in report.findings]
    assert (Check.COLUMNS, "r", position) in found
