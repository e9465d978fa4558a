"""Saved states: which is the newest of its line, who may go on from it, and what was given up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as draws
from hypothesis import strategies as st

from ledger import events as e
from ledger.commands import DropStates, SaveState, SaveStatePart
from ledger.errors import InvalidInput
from ledger.run.contract import Contract
from ledger.run.decision import Admitted
from ledger.run.given_up import Drops
from ledger.run.state import replay
from ledger.run.states import LINES
from ledger.testing import History, given
from ledger.values import Actor, Ending, Kept, Payload, SavedName
from tests.run import examples as x

Run = History[Contract | None]

OPENED = given(x.opened())
ONE, TWO = x.state("s-1"), x.state("s-2", parent="s-1")
SAVED = OPENED.also(ONE)
OTHER = Payload(digest="9" * 64, size=1)
KIM = "human:kim"


def save(id: str, parent: str | None = None, **more: Any) -> SaveState:
    return SaveState(id=id, parent=parent, **{"content": Payload(**x.BLOB.model_dump()), **more})


def drop(*states: str, **more: Any) -> DropStates:
    names = tuple(SavedName(id=id) for id in states)
    return DropStates(**{"by": KIM, "reason": "old", "states": names, **more})


def dropped(*states: str, **more: Any) -> e.StatesDropped:
    names = tuple(SavedName(id=id) for id in states)
    return e.StatesDropped(**{"by": KIM, "reason": "old", "states": names, **more})


def newest(history: Run) -> dict[str | None, str]:
    known = history.contract.saved
    return {} if known is None else {one.line: one.id for one in known.lines}


# --- one after another ---------------------------------------------------------------------------


def test_a_state_goes_on_from_the_newest_of_its_line() -> None:
    history = OPENED.when(save("s-1")).then(ONE)
    assert newest(history.when(save("s-2", "s-1")).then(TWO)) == {None: "s-2"}


def test_who_goes_on_from_an_older_state_is_told_to_read_again() -> None:
    for parent in ("s-1", None, "s-9"):
        refused = SAVED.also(TWO).when(save("s-3", parent, seen=2))
        refused.then_refused("state_moved", position=3)
        evidence = refused.decision.evidence  # type: ignore[union-attr]
        assert evidence == {"run": "run-1", "expected": 2, "actual": 3, "dropped": None}


def test_a_branch_goes_on_from_any_state_and_is_the_newest_then() -> None:
    branched = SAVED.also(TWO).when(save("s-3", "s-1", branch=True))
    history = branched.then(x.state("s-3", parent="s-1", branch=True))
    assert newest(history) == {None: "s-3"}
    history.when(save("s-4", "s-2")).then_refused("state_moved", position=4)


def test_lines_stand_side_by_side() -> None:
    history = SAVED.when(save("s-1", line="sub")).then(x.state("s-1", line="sub"))
    assert newest(history) == {None: "s-1", "sub": "s-1"}
    history.when(save("s-2", "s-1", line="sub")).then(x.state("s-2", line="sub", parent="s-1"))
    history.when(save("s-2", "s-1")).then(TWO)


def test_the_same_state_again_right_after_is_a_repeat_however_it_is_said() -> None:
    SAVED.when(save("s-1")).then_stands_at(2)
    SAVED.when(save("s-1", "s-0", seen=1, dropped=7)).then_stands_at(2)
    SAVED.when(save("s-1", "s-1", content=OTHER)).then(
        x.state("s-1", parent="s-1", content=Kept(digest="9" * 64, size=1))
    )


def test_a_state_that_was_followed_by_another_is_no_repeat() -> None:
    SAVED.also(TWO).when(save("s-1")).then_refused("state_moved", position=3)
    SAVED.also(TWO).when(save("s-1", branch=True)).then(x.state("s-1", branch=True))


def test_a_part_is_kept_again_whenever_it_is_said() -> None:
    command = SaveStatePart(content=x.SAID, state="s-1", task="t-1")
    part = e.StatePartSaved(content={"digest": "c" * 64, "size": 12}, state="s-1", task="t-1")  # type: ignore[arg-type]
    history = SAVED.when(command).then(part).when(command).then(part)
    assert history.contract.saved == SAVED.contract.saved


@pytest.mark.parametrize(
    "content", [Payload(json_text="{}"), Payload(digest="1" * 64), Payload(digest="1" * 64, size=1, type="T")]
)
def test_what_is_no_content_that_is_kept_is_no_state(content: Payload) -> None:
    SAVED.when(save("s-2", "s-1", content=content)).then_refused("not_supported")
    SAVED.when(SaveStatePart(content=content, state="s-1", task="t")).then_refused("not_supported")


# --- what is given up ----------------------------------------------------------------------------


def test_what_is_dropped_is_the_newest_of_no_line() -> None:
    history = SAVED.also(x.state("sub", line="sub")).when(drop("s-1")).then(dropped("s-1"))
    assert newest(history) == {"sub": "sub"}
    assert history.contract.saved.dropped == 4  # type: ignore[union-attr]
    assert newest(history.when(drop(all=True)).then(dropped(all=True))) == {}


def test_of_all_those_that_are_kept_stay_and_lines_tell_names_apart() -> None:
    both = SAVED.also(x.state("s-1", line="sub"))
    kept = (SavedName(id="s-1", line="sub"),)
    assert newest(both.when(drop(all=True, kept=kept)).then(dropped(all=True, kept=kept))) == {"sub": "s-1"}
    assert newest(both.when(drop("s-1")).then(dropped("s-1"))) == {"sub": "s-1"}


def test_what_was_saved_after_it_was_decided_what_stays_stays_too() -> None:
    """Who prunes looks first; a state that another program saves meanwhile must not go unseen."""
    raced = SAVED.also(TWO)
    assert newest(raced.when(drop(all=True, upto=2)).then(dropped(all=True, upto=2))) == {None: "s-2"}
    assert newest(raced.when(drop("s-2", upto=2)).then(dropped("s-2", upto=2))) == {None: "s-2"}
    assert newest(raced.when(drop(all=True, upto=3)).then(dropped(all=True, upto=3))) == {}


def test_nothing_is_given_up_before_it_was_saved() -> None:
    history = SAVED.also(dropped("s-2", all=True, upto=9), TWO)
    assert newest(history) == {None: "s-2"}
    gone = Drops(history.records[2:3])
    assert gone.dropped(None, "s-1", 2)
    assert not gone.dropped(None, "s-2", 4)
    assert gone.everything == 2


def test_where_nothing_is_named_nothing_is_dropped() -> None:
    SAVED.when(drop()).then_stands_at(2)


def test_what_was_kept_after_a_state_of_another_run_goes_where_no_state_was_saved() -> None:
    history = OPENED.also(e.StatePartSaved(content=x.BLOB, state="s-1", task="t-1"))
    history.when(drop("s-1")).then(dropped("s-1"))


def test_a_later_run_that_may_go_on_from_what_is_dropped_is_told_in_the_same_append() -> None:
    closed = SAVED.also(e.RunClosed(outcome=Ending.COMPLETED))
    both = closed.among(given(x.opened(), run="run-2"))
    told = {"run-2": (e.StatesDropped(by=KIM, reason="old"),)}
    found = both.when(drop("s-1", also_in="run-2"))
    assert found.decision == Admitted((dropped("s-1"),), beside=told)
    assert found.after.other("run-2").contract.saved.dropped == 2  # type: ignore[union-attr]
    # Where nothing is given up now it is told all the same: that may have been done before.
    assert both.when(drop(also_in="run-2")).decision == Admitted((), beside=told)
    # In one that is not there nobody saves, and a run does not tell itself.
    for other in (both.when(drop("s-1", also_in="run-3")), both.when(drop("s-1", also_in="run-1"))):
        other.then(dropped("s-1"))


def test_a_run_that_is_told_has_given_up_nothing_and_refuses_who_does_not_know() -> None:
    history = SAVED.also(dropped())
    assert newest(history) == {None: "s-1"}
    assert not Drops(history.records[2:3]).dropped(None, "s-1", 2)
    history.when(save("s-2", "s-1")).then_refused("state_moved", position=3)
    history.when(save("s-2", "s-1", dropped=3)).then(TWO)


def test_a_drop_of_all_has_whoever_is_about_to_save_look_again() -> None:
    """Also in a run without states: what they go on from may lie in an earlier one."""
    OPENED.when(drop(all=True)).then(dropped(all=True))
    OPENED.also(dropped(all=True)).when(save("s-1")).then_refused("state_moved")
    OPENED.also(dropped(all=True)).when(save("s-1", dropped=2)).then(ONE)


def test_who_does_not_know_of_the_last_drop_reads_again_branch_or_not() -> None:
    history = SAVED.also(TWO, dropped("s-1"))
    for command in (save("s-3", "s-2"), save("s-3", "s-2", branch=True), save("s-3", "s-2", dropped=3)):
        history.when(command).then_refused("state_moved", position=4)
    history.when(save("s-3", "s-2", dropped=4)).then(x.state("s-3", parent="s-2"))


def test_nobody_goes_on_from_what_was_given_up_since_they_saw_it() -> None:
    history = SAVED.also(dropped("s-1"))
    history.when(save("s-2", "s-1", seen=2, dropped=3)).then_refused("state_moved", position=3)
    history.when(save("s-2", "s-1", dropped=3)).then_refused("state_moved", position=3)
    # A line may begin anew, and go on from a state that another run keeps.
    history.when(save("s-2", dropped=3)).then(x.state("s-2"))
    history.when(save("s-2", "s-0", seen=3, dropped=3)).then(x.state("s-2", parent="s-0"))


def test_no_more_names_than_an_event_takes() -> None:
    names = tuple(SavedName(id=f"s-{number}") for number in range(501))
    SAVED.when(drop(states=names[:500])).then(dropped(states=names[:500]))
    for field in ("states", "kept"):
        with pytest.raises(InvalidInput):
            drop(**{field: names})


def test_agents_may_save_and_may_not_drop() -> None:
    agent = SAVED.by("agent:refunds")
    agent.when(drop("s-1")).then_refused("not_for_agents")
    SAVED.when(drop("s-1", by="agent:refunds")).then_refused("not_for_agents")
    SAVED.by(Actor("service:api", on_behalf_of=("agent:refunds",))).when(drop("s-1")).then_refused(
        "not_for_agents"
    )
    agent.when(save("s-2", "s-1")).then(TWO)


# --- more lines than a contract names ------------------------------------------------------------


def many(lines: int) -> Run:
    return OPENED.also(*(x.state("s-1", line=f"line-{number}") for number in range(lines)))


def test_a_contract_names_the_lines_that_moved_last() -> None:
    history = many(LINES + 2).also(x.state("s-2", line="line-2", parent="s-1"))
    known = history.contract.saved
    assert known is not None
    assert [one.line for one in known.lines][-2:] == [f"line-{LINES + 1}", "line-2"]
    assert len(known.lines) == LINES
    assert known.let_go == 3, "where line-1 moved last"


def test_what_moved_last_on_a_line_that_is_not_named_is_looked_up() -> None:
    history = many(LINES + 1)
    state, there = x.state("s-2", line="line-0", parent="s-1"), history.records[1:2]
    for seen in (None, 1, 2):
        history.when(save("s-2", "s-1", line="line-0", seen=seen), prior=there).then(state)
    history.when(save("s-2", "s-9", line="line-0"), prior=there).then_refused("state_moved", position=2)
    history.when(save("s-1", line="line-0"), prior=there).then_stands_at(2)
    history.when(save("s-2", "s-1", line="line-0", branch=True)).then(state.with_fields({"branch": True}))
    # Nothing was ever saved on a line that begins.
    history.when(save("s-1", line="new")).then(x.state("s-1", line="new"))


def test_the_main_line_may_have_moved_where_it_is_not_named_unless_it_was_looked_at_since() -> None:
    lines = many(LINES + 1).records[1:]
    history = SAVED.also(*(record.event for record in lines))
    history.when(save("s-2", "s-1", seen=2)).then_refused("state_moved", position=3)
    history.when(save("s-2", "s-1", seen=3)).then(TWO)


def test_whether_what_moved_last_was_given_up_since_is_not_known() -> None:
    history = many(LINES + 1).also(dropped("s-9"))
    command = save("s-2", "s-1", line="line-0", seen=1, dropped=LINES + 3)
    history.when(command, prior=history.records[1:2]).then_refused("state_moved", position=2)
    # What goes on from an earlier run has to be looked for after the last drop.
    command = save("s-2", "s-1", line="new", seen=1, dropped=LINES + 3)
    history.when(command).then_refused("state_moved", position=LINES + 3)


def test_a_drop_of_many_lines_leaves_what_was_let_go_in_doubt() -> None:
    history = many(LINES + 1).also(dropped(all=True))
    assert newest(history) == {}
    history.when(save("s-2", "s-1", line="line-0", seen=2, dropped=LINES + 3)).then_refused(
        "state_moved", position=LINES + 3
    )


# --- how the run stands --------------------------------------------------------------------------


@pytest.mark.parametrize("stopped", [x.SUSPENDED, x.HELD], ids=["suspended", "held"])
def test_a_stopped_run_keeps_what_its_program_finished_and_stays_stopped(stopped: e.Event) -> None:
    """It is nothing that acts; whoever goes on with it passes the gate."""
    history = SAVED.also(stopped)
    before = history.contract
    saved = history.when(save("s-2", "s-1")).then(TWO).contract
    assert (saved.held, saved.suspended, saved.stopped) == (before.held, before.suspended, before.stopped)
    assert saved.alive == before.alive
    part = SaveStatePart(content=x.SAID, state="s-1", task="t")
    assert history.when(part).after.contract.status == before.status


def test_a_closed_run_saves_nothing_and_gives_up_what_it_had() -> None:
    closed = SAVED.also(x.CLOSED)
    closed.when(save("s-2", "s-1")).then_refused("run_is_closed", position=3)
    closed.when(SaveStatePart(content=x.SAID, state="s-1", task="t")).then_refused("run_is_closed")
    assert newest(closed.when(drop(all=True)).then(dropped(all=True))) == {}


def test_an_older_incarnation_saves_nothing() -> None:
    resumed = SAVED.also(x.SUSPENDED, x.RESUMED)
    for command in (save("s-2", "s-1"), SaveStatePart(content=x.SAID, state="s-1", task="t"), drop("s-1")):
        resumed.when(command, incarnation=1).then_refused("superseded")
        assert isinstance(resumed.when(command, incarnation=2).decision, Admitted)


def test_a_program_that_saves_is_alive_and_a_person_who_does_is_none() -> None:
    later = SAVED.later(hours=1)
    for event in (TWO, e.StatePartSaved(content=x.BLOB, state="s-1", task="t")):
        assert later.also(event).contract.alive.position == 3
    assert later.by(KIM).also(TWO).contract.alive.by == KIM  # nobody else is at work on it
    edited = TWO.with_fields({"branch": True})
    by_hand = later.by(KIM).also(edited).contract
    assert by_hand.alive == SAVED.contract.alive
    assert [one.what for one in by_hand.meanwhile] == ["state s-2 was saved by hand"]
    cleared = later.also(dropped("s-1")).contract
    assert (cleared.alive, cleared.meanwhile) == (SAVED.contract.alive, ())


@pytest.mark.parametrize("events", [x.FORK_EVENTS, x.SUCCESSOR_EVENTS], ids=["fork", "successor"])
def test_no_run_begins_with_the_states_of_another(events: tuple[e.Event, ...]) -> None:
    assert given(*events).contract.saved is None


def test_saving_changes_no_terms() -> None:
    before = x.RICH.contract
    after = x.RICH.also(TWO, e.StatePartSaved(content=x.BLOB, state="s-1", task="t"), dropped("s-1")).contract
    assert after.terms == before.terms


# --- laws ----------------------------------------------------------------------------------------

LINE = st.sampled_from([None, *(f"line-{number}" for number in range(LINES + 3))])
FEW_LINES = st.sampled_from([None, "a"])
ID = st.sampled_from(["s-1", "s-2", "s-3"])
NAMES = st.lists(st.builds(SavedName, id=ID, line=FEW_LINES), max_size=2).map(tuple)


def steps(lines: st.SearchStrategy[str | None]) -> st.SearchStrategy[list[e.Event]]:
    state = st.builds(x.state, ID, line=lines)
    given_up = st.builds(
        dropped, all=st.booleans(), states=NAMES, kept=NAMES, upto=st.none() | st.integers(1, 80)
    )
    return st.lists(st.one_of(state, state, state, given_up), max_size=12)


def kept_of(history: Run) -> dict[str | None, tuple[str, int]]:
    """Find out of the whole record, as a reader does, which states were the newest and are kept."""
    gone = Drops(record for record in history.records if isinstance(record.event, e.StatesDropped))
    newest: dict[str | None, tuple[str, int]] = {}
    for record in history.records:
        if isinstance(record.event, e.StateSaved):
            newest[record.event.line] = record.event.id, record.position
    return {
        line: (id, position)
        for line, (id, position) in newest.items()
        if not gone.dropped(line, id, position)
    }


@draws(events=steps(FEW_LINES))
def test_a_contract_names_the_newest_states_that_are_left(events: list[e.Event]) -> None:
    history = OPENED.also(*events)
    known = history.contract.saved
    found = {} if known is None else {one.line: (one.id, one.position) for one in known.lines}
    assert found == kept_of(history)


@draws(head=st.integers(0, LINES + 3), events=steps(LINE), cut=st.integers(1, LINES + 16))
def test_a_snapshot_and_its_tail_are_the_whole_fold_however_many_lines(
    head: int, events: list[e.Event], cut: int
) -> None:
    history = many(head).also(*events)
    snapshot = replay(history.records[:cut])
    assert snapshot is not None
    again = Contract.model_validate_json(snapshot.model_dump_json(exclude_none=True))
    assert replay(history.records[cut:], again) == history.contract
    known = history.contract.saved
    if known is not None:
        positions = [one.position for one in known.lines]
        assert positions == sorted(positions)
        assert len(positions) <= LINES
        named = {one.line for one in known.lines}
        others = [at for line, (_, at) in kept_of(history).items() if line not in named]
        assert all(at <= known.let_go for at in others), "what is not named was let go of"
