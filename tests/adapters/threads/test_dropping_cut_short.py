"""Giving up states, cut short or met by a save at any call to the store: what is listed is always read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import Run
from ledger.adapters.packs import refers_to
from ledger.adapters.threads import ThreadStates
from ledger.adapters.threads.dropping import delete, drop, prune
from ledger.errors import StateMoved, StoreBusy
from ledger.integrity.findings import Standing
from ledger.stores.base import FullStore
from ledger.stores.memory import MemoryStore
from tests.adapters.threads.plain import BY, chat, ids, kept, opened, save, states_of, values, verified
from tests.stores.conftest import KINDS

Face = ThreadStates
STEPS = 60
"""No deletion here takes as many calls."""


class Killed(BaseException):
    """The process ended."""


class Stepped:
    """A store that does something before one of the calls that are made to it, and counts them."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self.calls = 0
        self._at = 0
        self._deed: Callable[[], None] = lambda: None

    def arm(self, at: int, deed: Callable[[], None]) -> None:
        self.calls, self._at, self._deed = 0, at, deed

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found) or name == "close":
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls == self._at:
                self._deed()
            return found(*args, **kwargs)

        return call


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
    """A branch goes on from whatever it likes, and rests on none of what is gone."""
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
        # What was saved before a deletion took hold goes with the rest.
        assert ("5" in listed) == (admitted == [True]) or (deed == "delete" and listed == [])
        assert admitted == [True] or not branch
        assert [id for id in listed if id != "5"] == [id for id in LEFT[deed] if id in listed]
        deeds(thread)["prune"](states_of(opened(store)))
        whole(store, thread, saved)
        nothing_else(store, thread)
    else:
        pytest.fail("it takes more calls than were met by a save")


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
