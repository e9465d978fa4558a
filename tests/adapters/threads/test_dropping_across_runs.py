"""Giving up states of an earlier run of a thread, while others go on from them in a later one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import cast

import pytest

from ledger.adapters.threads import Threads, ThreadStates, run_name
from ledger.adapters.threads.dropping import Freed, drop, prune
from ledger.errors import PositionConflict, StateMoved
from ledger.events import StatesDropped
from ledger.integrity.findings import Standing
from ledger.stores.base import Append, FullStore
from ledger.stores.memory import MemoryStore
from tests.adapters.threads.plain import BY, chat, ids, kept, opened, save, states_of, values, verified
from tests.adapters.threads.stepped import Caught, Killed, Stepped
from tests.stores.conftest import KINDS

STEPS = 80
"""Nothing here takes as many calls."""


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullStore]:
    store = KINDS[request.param](tmp_path_factory.mktemp("ledger"))
    yield store
    store.close()


@pytest.fixture
def states() -> ThreadStates:
    return states_of(opened(MemoryStore()))


def begun(store: FullStore, thread: str, *, next_run: bool = True) -> None:
    """Save four states, and close their run; the next one is opened, or will be by whoever saves."""
    ledger = opened(store)
    chat(states_of(ledger), thread, 4)
    ledger.run(run_name(thread, 1)).close("completed")
    if next_run:
        Threads(ledger).open(thread)


def listed(store: FullStore, thread: str) -> list[str]:
    return [id for _, id in ids(states_of(opened(store)), thread)]


DEEDS: dict[str, Callable[[ThreadStates, str], Freed]] = {
    "prune": lambda face, thread: prune(face.threads, thread, by=BY),
    "drop": lambda face, thread: drop(face.threads, thread, [("", "2"), ("", "4")], by=BY),
}
LEFT = {"prune": ["4"], "drop": ["3", "1"]}


def go_on(face: ThreadStates, thread: str, parent: str) -> None:
    """Save a state on another one: on the newest of the line as such, on an older one as a branch."""
    found = face.newest(thread)
    assert found is not None
    seen = found.seen if found.state.id == parent else None
    face.save(thread, "5", {"list": ["anew"]}, b"head", parent=parent, seen=seen)


def caught(store: FullStore, thread: str, parent: str) -> Append:
    """Return the append of somebody who has looked, and is about to save on a state."""
    slow = Caught(store)
    with suppress(Killed):
        go_on(states_of(opened(cast(FullStore, slow))), thread, parent)
    assert slow.append_caught is not None
    return slow.append_caught


def lands(store: FullStore, append: Append) -> bool:
    try:
        store.append(append)
    except PositionConflict:
        return False
    return True


# --- whenever it is saved ----------------------------------------------------------------------------


@pytest.mark.parametrize("parent", ["4", "2"])
@pytest.mark.parametrize("deed", ["prune", "drop"])
def test_who_saves_on_a_state_of_an_earlier_run_is_refused_once_it_was_given_up(
    deed: str, parent: str
) -> None:
    """It is given up before any call of the save."""
    store = MemoryStore()
    stepped = Stepped(store)
    for at in range(1, STEPS):
        thread = f"{deed} {parent} {at}"
        begun(store, thread)
        given_up: list[Freed] = []

        def give_up(thread: str = thread, given_up: list[Freed] = given_up) -> None:
            given_up.append(DEEDS[deed](states_of(opened(store)), thread))

        face = states_of(opened(cast(FullStore, stepped)))
        stepped.arm(at, give_up)
        with suppress(StateMoved):
            go_on(face, thread, parent)
        if not given_up:
            break
        assert ("5" in listed(store, thread)) == (parent in LEFT[deed])
    assert at > 3


@pytest.mark.parametrize("parent", ["4", "2"])
@pytest.mark.parametrize("deed", ["prune", "drop"])
def test_what_is_on_its_way_lands_only_while_what_it_goes_on_from_is_there(
    store: FullStore, deed: str, parent: str
) -> None:
    """Whoever saves has looked before the drop, and what is saved comes in at any call of it, or after it."""
    stepped = Stepped(store)
    said: set[tuple[bool, bool]] = set()
    for at in range(1, STEPS, 1 if isinstance(store, MemoryStore) else 4):
        thread = f"{deed} {parent} {at}"
        begun(store, thread)
        append = caught(store, thread, parent)

        def land(thread: str = thread, append: Append = append) -> None:
            there = parent in listed(store, thread)
            said.add((there, lands(store, append)))

        face = states_of(opened(cast(FullStore, stepped)))
        stepped.arm(at, land)
        DEEDS[deed](face, thread)
        if stepped.calls < at:
            land()
            break
    assert said <= {(True, True), (True, False), (False, False)}
    # What stays hinders nobody before the drop, and is looked for again after it.
    assert (parent in LEFT[deed], False) in said
    assert (True, True) in said


@pytest.mark.parametrize("runs", [1, 2])
@pytest.mark.parametrize("deed", ["prune", "drop"])
def test_who_opens_the_next_run_while_states_are_given_up_is_told_as_well(deed: str, runs: int) -> None:
    """It is opened, and looked in, at any call of the drop; what is saved comes in when that has ended."""
    store = MemoryStore()
    stepped = Stepped(store)
    for at in range(1, STEPS):
        thread = f"{deed} {at}"
        begun(store, thread, next_run=runs == 2)
        if runs == 2:
            opened(store).run(run_name(thread, 2)).close("completed")
        appends: list[Append] = []

        def look(thread: str = thread, appends: list[Append] = appends) -> None:
            with suppress(StateMoved):
                appends.append(caught(store, thread, "2"))

        face = states_of(opened(cast(FullStore, stepped)))
        stepped.arm(at, look)
        DEEDS[deed](face, thread)
        assert listed(store, thread) == LEFT[deed]
        assert not any(lands(store, append) for append in appends)
        if stepped.calls < at:
            break
    else:
        pytest.fail("it takes more calls than were met by a look")


# --- what is said, and what goes ---------------------------------------------------------------------


def said(states: ThreadStates, thread: str) -> list[list[int]]:
    """Tell of each run how many states each of its drops names."""
    return [
        [
            len(record.event.states)
            for record in states.threads.ledger.log(entry.run.id)
            if isinstance(record.event, StatesDropped)
        ]
        for entry in reversed(list(states.threads.generations(thread)))
    ]


def test_each_drop_in_an_earlier_run_is_told_in_the_newest_and_counted(states: ThreadStates) -> None:
    for run in range(3):
        save(states, "t", str(run), list=[run])
        if run < 2:
            states.threads.open("t").run.close("completed")
    assert prune(states.threads, "t", by=BY).events == 4
    assert said(states, "t") == [[1], [1], [0, 0]]
    assert prune(states.threads, "t", by=BY).events == 0
    assert drop(states.threads, "t", [("", "2")], by=BY).events == 1
    assert said(states, "t") == [[1], [1], [0, 0, 1]]


def kept_after(states: ThreadStates, thread: str, *names: str) -> None:
    run = states.threads.open(thread).run
    for state in names:
        run.save_state_part(state, f"after {state}", b"part of " + state.encode())


def tasks(states: ThreadStates, thread: str, id: str) -> list[str]:
    found = states.find(thread, id)
    assert found is not None
    return [part.task for entry in states.later(found) for part, content in states.parts_in(entry, found)]


def test_what_was_kept_in_later_runs_after_a_state_goes_with_it(states: ThreadStates) -> None:
    begun(states.threads.ledger.store, "t")
    kept_after(states, "t", "1", "4", "unsaved")
    states.threads.open("t").run.close("completed")
    kept_after(states, "t", "1", "2", "4")
    before = kept(states.threads.ledger).contents
    asked = prune(states.threads, "t", by=BY, dry_run=True)
    freed = prune(states.threads, "t", by=BY)
    assert (freed.states, asked.contents, before - kept(states.threads.ledger).contents) == (3, 3, 3)
    assert (freed.contents, tasks(states_of(states.threads.ledger), "t", "4")) == (3, ["after 4"] * 2)
    # What comes before its state stays, for whoever saves it.
    save(states, "t", "unsaved", list=[])
    found = states.find("t", "unsaved")
    assert found is not None
    assert prune(states.threads, "t", by=BY).contents == 4 + 2
    assert kept(states.threads.ledger).contents == 2
    assert verified(states.threads.ledger).standing is Standing.SOUND


def test_what_was_kept_after_a_state_that_was_saved_anew_in_a_later_run_stays(states: ThreadStates) -> None:
    begun(states.threads.ledger.store, "t")
    kept_after(states, "t", "2")
    save(states, "t", "2", parent="4", list=["anew"])
    prune(states.threads, "t", by=BY)
    found = states.newest("t")
    assert found is not None
    assert [part.task for part in states.parts(found)] == ["after 2"]
    assert values(states, "t") == {(None, "2"): {"list": ["anew"]}}


def test_what_a_prune_that_was_cut_short_left_in_later_runs_goes_with_the_next() -> None:
    store = MemoryStore()
    stepped = Stepped(store)

    def die() -> None:
        raise Killed

    for at in range(1, 2 * STEPS, 2):
        ledger = opened(store)
        before = kept(ledger).contents
        begun(store, thread := f"killed {at}")
        kept_after(states_of(ledger), thread, "1", "4")
        ledger.run(run_name(thread, 2)).close("completed")
        kept_after(states_of(ledger), thread, "1", "4")
        stepped.arm(at, die)
        with suppress(Killed):
            prune(states_of(opened(cast(FullStore, stepped))).threads, thread, by=BY)
        again = states_of(opened(store))
        assert tasks(again, thread, "4") == ["after 4"] * 2
        prune(again.threads, thread, by=BY)
        # The newest state rests on the three before it.
        assert (listed(store, thread), kept(ledger).contents - before) == (["4"], 4 + 2)
        if stepped.calls < at:
            break
    else:
        pytest.fail("it takes more calls than were cut short")
    assert verified(opened(store)).standing is Standing.SOUND
