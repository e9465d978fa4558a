"""Giving up states, cut short or met by a save at any call to the store: what is listed is always read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import Run
from ledger.adapters.packs import refers_to
from ledger.adapters.threads import Threads, ThreadStates
from ledger.adapters.threads.dropping import delete, drop, prune
from ledger.errors import StateMoved, StoreBusy
from ledger.integrity.findings import Standing
from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from tests.adapters.threads.plain import BY, chat, ids, kept, opened, save, states_of, values, verified
from tests.adapters.threads.stepped import Killed, Stepped
from tests.stores.conftest import KINDS

Face = ThreadStates
STEPS = 60
"""No deletion here takes as many calls."""


@pytest.fixture(scope="module", params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FullStore]:
    store = KINDS[request.param](tmp_path_factory.mktemp("ledger"))
    yield store
    store.close()


def calls_to(store: FullStore) -> range:
    """Say which calls to look at: in memory each, elsewhere each third, since these take longer."""
    return range(1, STEPS, 1 if isinstance(store, MemoryStore) else 3)


def whole(store: FullStore, thread: str, saved: dict[str, Any]) -> None:
    """Check that whatever is listed reads as it was saved, to one who knows nothing."""
    for (_, id), found in values(states_of(opened(store)), thread).items():
        assert found == saved[id]


def nothing_else(store: FullStore, thread: str) -> None:
    """Check that nothing is stored of a thread that its states do not need."""
    states = states_of(opened(store))
    needed: set[bytes] = set()
    for one in states.all(thread):
        fetch = one.entry.run.states.contents
        needed |= refers_to(one.state.digest, fetch([one.state.digest])[one.state.digest], fetch)
    stored: set[bytes] = set()
    for entry in states.threads.generations(thread):
        records = opened(store).log(entry.run.id)
        digests = {bytes.fromhex(r.event.content.digest) for r in records if r.name == "state.saved"}  # type: ignore[attr-defined]
        stored |= {row.digest for row in store.blob_rows("default", digests)}
    assert stored == needed


def begun(store: FullStore, thread: str) -> dict[str, Any]:
    states = states_of(opened(store))
    chat(states, thread, 4)
    return {id: found for (_, id), found in values(states, thread).items()}


def deeds(thread: str) -> dict[str, Callable[[Face], object]]:
    return {
        "prune": lambda face: prune(face.threads, thread, by=BY),
        "drop": lambda face: drop(face.threads, thread, [("", "2"), ("", "4")], by=BY),
        "delete": lambda face: delete(face.threads, thread, by=BY),
    }


@pytest.mark.parametrize("deed", ["prune", "drop", "delete"])
def test_whichever_call_is_the_last_it_is_done_when_asked_again(store: FullStore, deed: str) -> None:
    """Case-056: what is cut short leaves nothing that is read, and nothing that stays."""
    stepped = Stepped(store)

    def die() -> None:
        raise Killed

    for at in calls_to(store):
        thread = f"killed {deed} {at}"
        saved = begun(store, thread)
        face = states_of(opened(cast(FullStore, stepped)))
        stepped.arm(at, die)
        try:
            deeds(thread)[deed](face)
        except Killed:
            ended = False
        else:
            ended = stepped.calls < at
        whole(store, thread, saved)
        again = states_of(opened(store))
        listed = ids(again, thread)
        assert listed in ([(None, id) for id in "4321"], [(None, id) for id in LEFT[deed]])
        deeds(thread)[deed](again)
        assert ids(again, thread) == [(None, id) for id in LEFT[deed]]
        whole(store, thread, saved)
        nothing_else(store, thread)
        if ended:
            break
    else:
        pytest.fail("it takes more calls than were cut short")


LEFT = {"prune": "4", "drop": "31", "delete": ""}


@pytest.mark.parametrize("branch", [True, False], ids=["branch", "newest"])
@pytest.mark.parametrize("deed", ["prune", "drop", "delete"])
def test_what_is_saved_at_any_call_is_read_ever_after(store: FullStore, deed: str, branch: bool) -> None:
    """It rests on none of what is gone, and goes on from nothing that was given up."""
    stepped = Stepped(store)
    for at in calls_to(store):
        thread = f"raced {deed} {branch} {at}"
        saved = begun(store, thread)
        rival = states_of(opened(store))
        found = rival.newest(thread)
        assert found is not None
        known = rival.read(found, learn=True).values
        saved["5"] = {"list": [*known["list"], "more", "x" * 100]}
        seen = None if branch else found.seen
        admitted: list[bool] = []

        def go_on(
            seen: Any = seen,
            rival: Any = rival,
            thread: Any = thread,
            saved: Any = saved,
            said: Any = admitted,
        ) -> None:
            try:
                rival.save(thread, "5", saved["5"], b"head", parent="4", seen=seen)
            except StateMoved:
                said.append(False)
            else:
                said.append(True)

        face = states_of(opened(cast(FullStore, stepped)))
        stepped.arm(at, go_on)
        deeds(thread)[deed](face)
        whole(store, thread, saved)
        listed = [id for _, id in ids(states_of(opened(store)), thread)]
        if not admitted:
            assert stepped.calls < at
            break
        if deed == "delete":  # what was saved before it took hold goes with the rest
            assert listed == []
        else:
            assert ("5" in listed) == (admitted == [True])
        assert admitted == [True] or deed != "prune"
        assert [id for id in listed if id != "5"] == [id for id in LEFT[deed] if id in listed]
        deeds(thread)["prune"](states_of(opened(store)))
        whole(store, thread, saved)
        nothing_else(store, thread)
    else:
        pytest.fail("it takes more calls than were met by a save")


@pytest.mark.parametrize("branch", [True, False], ids=["branch", "newest"])
@pytest.mark.parametrize("meanwhile", ["deleted", "begun anew"])
@pytest.mark.parametrize("runs", [1, 2])
def test_what_goes_on_from_a_deleted_thread_is_refused_or_goes_too_whenever_it_was_deleted(
    runs: int, meanwhile: str, branch: bool
) -> None:
    """Neither a later run nor what begins anew in it lets a state of the old thread in."""
    store = MemoryStore()
    stepped = Stepped(store)
    for at in range(1, STEPS):
        thread = f"deleted {runs} {meanwhile} {branch} {at}"
        begun(store, thread)
        if runs == 2:
            opened(store).run(f"{thread}#1").close("completed")
            Threads(opened(store)).open(thread)
        writer = states_of(opened(cast(FullStore, stepped)))
        found = writer.newest(thread)
        assert found is not None
        stepped.arm(at, lambda thread=thread: _deleted(store, thread, meanwhile))  # type: ignore[misc]
        with suppress(StateMoved):
            seen = None if branch else found.seen
            writer.save(thread, "5", {"list": ["secret"]}, b"head", parent="4", seen=seen)
        if stepped.calls < at:
            break
        expected = [(None, "anew")] if meanwhile == "begun anew" else []
        if ids(states_of(opened(store)), thread) != expected:
            # It was saved before, and the deletion cut in after it.
            pytest.fail(f"at call {at}")
        nothing_else(store, thread)
    else:
        pytest.fail("it takes more calls than were met by a deletion")


def _deleted(store: FullStore, thread: str, meanwhile: str) -> None:
    states = states_of(opened(store))
    delete(states.threads, thread, by=BY)
    if meanwhile == "begun anew":
        states.save(thread, "anew", {"list": ["new"]}, b"head", seen=0)


@pytest.mark.parametrize("branch", [True, False], ids=["branch", "newest"])
def test_who_looked_before_a_deletion_ended_and_saves_after_it_is_told_to_look_again(branch: bool) -> None:
    """It is saved in the next run, which the deletion does not close."""
    store = MemoryStore()
    writing, deleting = Stepped(store), Stepped(store)
    after, refused = _first_call_after_the_close(store, deleting), 0
    for at in range(1, STEPS):
        thread = f"looked {branch} {at}"
        begun(store, thread)
        writer = states_of(opened(cast(FullStore, writing)))
        found = writer.newest(thread)
        assert found is not None
        seen = None if branch else found.seen
        stands, ended = threading.Event(), threading.Event()
        said: list[bool] = []

        def save(thread: Any = thread, writer: Any = writer, seen: Any = seen, said: Any = said) -> None:
            try:
                writer.save(thread, "5", {"list": ["secret"]}, b"head", parent="4", seen=seen)
                said.append(True)
            except StateMoved:
                said.append(False)

        def stop(stands: Any = stands, ended: Any = ended) -> None:
            stands.set()
            assert ended.wait(30)

        with ThreadPoolExecutor(1) as pool:

            def begin(pool: Any = pool, stands: Any = stands, save: Any = save) -> None:
                pool.submit(save).add_done_callback(lambda done: stands.set())
                assert stands.wait(30)

            face = states_of(opened(cast(FullStore, deleting)))
            writing.arm(at, stop)
            deleting.arm(after, begin)
            delete(face.threads, thread, by=BY)
            ended.set()
        assert ids(states_of(opened(store)), thread) == []
        nothing_else(store, thread)
        refused += said == [False]
        if writing.calls < at:
            break
    assert refused > 2


def _first_call_after_the_close(store: FullStore, deleting: Stepped) -> int:
    for at in range(1, STEPS):
        begun(store, thread := f"closed {at}")
        closed: list[bool] = []

        def look(thread: str = thread, closed: list[bool] = closed) -> None:
            closed.append(opened(store).contract(f"{thread}#1").closed is not None)

        face = states_of(opened(cast(FullStore, deleting)))
        deleting.arm(at, look)
        delete(face.threads, thread, by=BY)
        if closed == [True]:
            return at
    raise AssertionError("a deletion closes the run")


@pytest.mark.parametrize("runs", [1, 2])
def test_what_begins_anew_while_a_thread_is_deleted_stays(runs: int) -> None:
    store = MemoryStore()
    stepped = Stepped(store)
    kept = 0
    for at in range(1, STEPS):
        thread = f"anew {runs} {at}"
        begun(store, thread)
        if runs == 2:
            opened(store).run(f"{thread}#1").close("completed")
            Threads(opened(store)).open(thread)
        rival = states_of(opened(store))
        admitted: list[str] = []

        def begin(rival: Any = rival, thread: Any = thread, admitted: Any = admitted) -> None:
            entry = rival.threads.current(thread)
            closed = entry.run.contract.closed is not None
            rival.save(thread, "anew", {"list": ["new"]}, b"head", line="other")
            rival.threads.open(thread).run.save_state_part("later", "task", b"part")
            admitted.append("anew" if closed else "before")

        face = states_of(opened(cast(FullStore, stepped)))
        stepped.arm(at, begin)
        delete(face.threads, thread, by=BY)
        if not admitted:
            break
        # What was saved in the run that was deleted goes with it.
        stays = admitted == ["anew"]
        assert ids(states_of(opened(store)), thread) == ([("other", "anew")] if stays else [])
        if stays:
            kept += 1
            run = states_of(opened(store)).threads.open(thread).run
            state = run.states.find("anew", "other").state
            assert state is not None
            assert [part.task for part in run.states.parts(state._replace(id="later", line=None))] == ["task"]
    assert kept > 2


NAMES = ("a", "b", "c", "d")
STEP = st.one_of(
    st.tuples(st.just("save"), st.integers(0, 1), st.sampled_from(NAMES), st.sampled_from(["", "sub"])),
    st.tuples(st.just("learn"), st.integers(0, 1), st.none(), st.sampled_from(["", "sub"])),
    st.tuples(st.just("prune"), st.integers(0, 1), st.integers(1, 2), st.integers(0, 30)),
    st.tuples(st.just("drop"), st.integers(0, 1), st.sampled_from(NAMES), st.integers(0, 30)),
    st.tuples(st.just("delete"), st.integers(0, 1), st.none(), st.integers(0, 30)),
    st.tuples(st.just("close"), st.integers(0, 1), st.none(), st.none()),
)


def open_run(face: Face) -> Run | None:
    entry = face.threads.current("t")
    return None if entry is None or entry.run.contract.closed is not None else entry.run


@settings(max_examples=60)
@given(st.lists(STEP, max_size=25))
def test_what_two_programs_save_and_give_up_is_read_as_it_was_saved(steps: list[tuple[Any, ...]]) -> None:
    """A program that gives something up may be killed at any call, and is begun anew then."""
    store = MemoryStore()
    stepped = Stepped(store)
    faces = [states_of(opened(cast(FullStore, stepped))) for _ in range(2)]
    saved: dict[tuple[str | None, str], Any] = {}
    messages: list[str] = []

    def die() -> None:
        raise Killed

    for deed, who, what, how in steps:
        face = faces[who]
        stepped.arm(how if isinstance(how, int) else 0, die)
        try:
            if deed == "save":
                messages.append(f"message {len(messages)}".ljust(80, "."))
                value = {"list": messages[-2:], "other": what * 100}
                face.save("t", what, value, b"", line=how)
                saved[how or None, what] = value
            elif deed == "learn" and (found := face.newest("t", how)) is not None:
                face.read(found, learn=True)
            elif deed == "prune":
                prune(face.threads, "t", keep=what, by=BY)
            elif deed == "drop":
                drop(face.threads, "t", [("", what), ("sub", what)], by=BY)
            elif deed == "delete":
                delete(face.threads, "t", by=BY)
            elif deed == "close" and (entry := open_run(face)) is not None:
                entry.close("completed")
        except Killed:
            faces[who] = states_of(opened(cast(FullStore, stepped)))
        listed = values(states_of(opened(store)), "t")
        assert listed == {place: saved[place] for place in listed}
        if deed == "save":
            assert (how or None, what) in listed
    prune(states_of(opened(store)).threads, "t", keep=len(steps) + 1, by=BY)
    report = verified(opened(store))
    assert (report.standing, report.missing_blobs) == (Standing.SOUND, 0)
    delete(states_of(opened(store)).threads, "t", by=BY)
    assert kept(opened(store)).contents == 0


@pytest.mark.parametrize("kind", ["memory", "sqlite", "postgres"])
def test_threads_that_save_while_others_prune_lose_nothing(kind: str, tmp_path: Path) -> None:
    stores = [KINDS[kind](tmp_path)] * 4 if kind == "memory" else [KINDS[kind](tmp_path) for _ in range(4)]
    faces = [states_of(opened(store)) for store in stores]
    saved: dict[tuple[str | None, str], Any] = {}
    done = threading.Event()

    def write(number: int) -> None:
        line = f"line {number}"
        messages: list[str] = []
        for turn in range(25):
            messages.append(f"{line} {turn}".ljust(90, "."))
            value = {"list": list(messages)}
            for _ in range(1000):
                try:
                    save(faces[number], "t", str(turn), line=line, list=value["list"])
                except (StateMoved, StoreBusy):  # it was pruned in between, again
                    continue
                break
            else:
                pytest.fail("it was never admitted")
            saved[line, str(turn)] = value

    def give_up(number: int) -> None:
        while not done.is_set():
            try:
                prune(faces[number].threads, "t", keep=2, by=BY)
            except StoreBusy:
                continue

    with ThreadPoolExecutor(4) as pool:
        pruning = [pool.submit(give_up, number) for number in (2, 3)]
        writing = [pool.submit(write, number) for number in (0, 1)]
        try:
            for one in writing:
                one.result()
        finally:
            done.set()
        for one in pruning:
            one.result()
    face = states_of(opened(stores[0]))
    prune(face.threads, "t", by=BY)
    listed = values(face, "t")
    assert listed == {(f"line {number}", "24"): saved[f"line {number}", "24"] for number in (0, 1)}
    nothing_else(stores[0], "t")
    for store in dict.fromkeys(map(id, stores)):
        next(one for one in stores if id(one) == store).close()
