"""Redis in front of what lasts: killed, frozen, emptied, lying or stale at any time, it costs only speed."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ledger.adapters.checkpointer import Checkpointer, RedisCache
from ledger.adapters.checkpointer.redis_cache import LARGEST, PREFIX
from ledger.errors import InvalidInput, StateMoved
from tests.adapters.checkpointer.conftest import Place
from tests.adapters.checkpointer.damage import damage, gone
from tests.adapters.checkpointer.liars import MANNERS, Manner, serving, trickles
from tests.servers.redis import RedisServer

BACKENDS = ("sqlite", "postgres", "files")
PATIENT = 30.0
"""Seconds that no sound server takes."""


class Watch:
    """A clock of seconds that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(params=BACKENDS)
def place(request: pytest.FixtureRequest, places: Callable[[str], Place]) -> Place:
    """Return a place without a cache."""
    return places(request.param)


@pytest.fixture
def server(redis_server: RedisServer) -> Iterator[RedisServer]:
    """Return a Redis that runs and is empty."""
    redis_server.start()
    redis_server.flush()
    yield redis_server
    redis_server.start()


@pytest.fixture
def cache(server: RedisServer) -> RedisCache:
    return RedisCache(server.url, patience_seconds=PATIENT)


def state(turn: int) -> dict[str, Any]:
    return {"said": [f"{n:0100}" for n in range(turn)], "turn": turn}


def test_what_was_saved_is_read_out_of_it_without_the_place_that_lasts(
    place: Place, thread: str, cache: RedisCache
) -> None:
    writer = place(cache=cache)
    for turn in range(1, 5):
        writer.save(thread, state(turn), at="loop_tail")
    for one in writer.list_checkpoints(thread):
        if place.kind != "postgres":  # it is not ours to damage: others share it
            damage_content(place, one)
    before = cache.counts.found
    assert place(cache=cache).load(thread).state == state(4)  # type: ignore[union-attr]
    assert cache.counts.found > before
    assert (cache.counts.failed, cache.counts.lied) == (0, 0)


def damage_content(place: Place, checkpoint: Any) -> None:
    """Take the content away; of a file all but the front, which says what it is."""
    damage(place, checkpoint, gone if place.ledger is not None else lambda content: content[:-20] + b"!" * 20)


def test_what_it_lost_is_read_from_the_place_that_lasts_and_put_there_again(
    place: Place, thread: str, cache: RedisCache, server: RedisServer
) -> None:
    place(cache=cache).save(thread, state(3), at="loop_tail")
    server.flush()
    assert place(cache=cache).load(thread).state == state(3)  # type: ignore[union-attr]
    found = cache.counts.found
    assert place(cache=cache).load(thread).state == state(3)  # type: ignore[union-attr]
    assert cache.counts.found > found


def test_what_has_gone_stale_or_was_poisoned_is_not_believed(
    place: Place, thread: str, cache: RedisCache, server: RedisServer
) -> None:
    """Case-111: a row of the cache that holds another state, an older one, garbage, or a pickle."""
    saves = place(cache=cache)
    for turn in range(1, 4):
        saves.save(thread, state(turn), at="loop_tail")
    old, newest = (saves.list_checkpoints(thread)[at] for at in (2, 0))
    with server.client() as client:
        older = client.get(PREFIX + old.digest)
        assert isinstance(older, bytes)
        poison = pickle.dumps({"turn": 99})
        for value in (older, b"", b"\0" * 100, poison, b"ILP1", older + b"x"):
            client.set(PREFIX + newest.digest, value)
            lied = cache.counts.lied
            assert place(cache=cache).load(thread).state == state(3)  # type: ignore[union-attr]
            assert cache.counts.lied == lied + 1
        assert client.get(PREFIX + newest.digest) not in (older, poison), "it is put right"
        client.delete(PREFIX + newest.digest)
        client.lpush(PREFIX + newest.digest, b"of another type")
        assert place(cache=cache).load(thread).state == state(3)  # type: ignore[union-attr]


def test_which_is_the_newest_it_is_never_asked(place: Place, thread: str, cache: RedisCache) -> None:
    cached, plain = place(cache=cache), place()
    cached.save(thread, state(1), at="loop_tail")
    plain.load(thread)
    plain.save(thread, state(2), at="loop_tail")
    with pytest.raises(StateMoved):
        cached.save(thread, state(9), at="loop_tail")
    assert cached.load(thread).state == state(2)  # type: ignore[union-attr]


def test_what_is_deleted_is_deleted_there_too(
    place: Place, thread: str, cache: RedisCache, server: RedisServer
) -> None:
    saves = place(cache=cache)
    saves.save(thread, state(2), at="loop_tail")
    saves.save(thread, state(3), at="loop_tail")
    with server.client() as client:
        assert client.keys(f"{PREFIX}*")
        saves.delete(thread)
        assert client.keys(f"{PREFIX}*") == []


def test_what_is_put_there_is_forgotten_one_day_and_large_things_are_not_put(
    server: RedisServer, cache: RedisCache
) -> None:
    large = bytes(LARGEST + 1)
    cache.put({sha256(b"x").digest(): b"x", sha256(large).digest(): large})
    with server.client() as client:
        (key,) = client.keys(f"{PREFIX}*")
        assert 0 < client.ttl(key) <= 7 * 86_400
    cache.drop([])
    assert cache.get([]) == {}


@pytest.mark.parametrize("manner", MANNERS, ids=lambda manner: manner.__name__)
def test_a_server_that_does_not_behave_costs_only_time(
    places: Callable[[str], Place], thread: str, manner: Manner
) -> None:
    """It goes on behaving so: that the calls end at all shows that nobody waits for it to stop."""
    watch = Watch()
    with serving(manner) as url:
        cache = RedisCache(url, patience_seconds=0.1, monotonic=watch)
        saves = places("sqlite")(cache=cache)
        saves.save(thread, state(1), at="loop_tail")
        watch.now += 1000
        saves.save(thread, state(2), at="loop_tail")
        watch.now += 1000
        assert saves.load(thread).state == state(2)  # type: ignore[union-attr]
        watch.now += 1000
        saves.delete(thread)
        assert saves.load(thread) is None
        cache.close()
    assert cache.counts.found == 0


def test_after_a_failure_it_is_left_alone_for_longer_each_time(server: RedisServer) -> None:
    watch = Watch()
    cache = RedisCache(server.url, patience_seconds=PATIENT, monotonic=watch)
    digest = sha256(b"x").digest()
    server.kill()
    for failed, pause in enumerate((1, 2, 4, 8, 16, 32, 60, 60), 1):
        assert cache.get([digest]) == {}
        watch.now += pause - 0.5
        assert cache.get([digest]) == {}
        assert (cache.counts.failed, cache.counts.spared) == (failed, failed)
        watch.now += 0.5
    server.start()
    cache.put({digest: b"x"})
    assert cache.get([digest]) == {digest: b"x"}
    server.kill()
    failed = cache.counts.failed
    cache.get([digest])
    watch.now += 1.5
    cache.get([digest])
    assert cache.counts.failed == failed + 2, "it begins with a second again"


def test_a_frozen_server_is_not_waited_for_and_serves_again_when_it_thaws(
    places: Callable[[str], Place], thread: str, server: RedisServer
) -> None:
    watch = Watch()
    cache = RedisCache(server.url, patience_seconds=0.2, monotonic=watch)
    saves = places("files")(cache=cache)
    server.freeze()
    saves.save(thread, state(1), at="loop_tail")
    assert cache.counts.failed == 1
    assert saves.load(thread).state == state(1)  # type: ignore[union-attr]
    assert (cache.counts.failed, cache.counts.spared) == (1, 2)
    server.thaw()
    watch.now += 10
    patient = RedisCache(server.url, patience_seconds=PATIENT)
    assert places("files")(cache=patient).load(thread).state == state(1)  # type: ignore[union-attr]
    assert patient.counts.failed == 0


# The thread that started the server does nothing meanwhile.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_process_that_was_forked_off_has_connections_of_its_own(cache: RedisCache) -> None:
    digest = sha256(b"x").digest()
    cache.put({digest: b"x"})
    child = os.fork()
    if child == 0:
        os._exit(0 if all(cache.get([digest]) == {digest: b"x"} for _ in range(20)) else 1)
    assert all(cache.get([digest]) == {digest: b"x"} for _ in range(20))
    assert os.waitpid(child, 0)[1] == 0


def test_an_address_that_is_none_is_refused_and_want_of_the_client_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(InvalidInput) as told:
        Checkpointer.open(":memory:", cache="http://here")
    assert told.value.path == "cache"
    monkeypatch.setitem(__import__("sys").modules, "redis", None)
    with pytest.raises(InvalidInput, match=r"\[redis\]"):
        Checkpointer.open(":memory:", cache="redis://here")


def test_no_password_is_logged(caplog: pytest.LogCaptureFixture, thread: str) -> None:
    with serving(trickles) as url:
        cache = RedisCache(url.replace("//", "//user:hidden-word@"), patience_seconds=0.05)
        cache.get([sha256(b"x").digest()])
    assert cache.counts.failed == 1
    assert "left alone" in caplog.text
    assert "hidden-word" not in caplog.text


# --- killed at any time ----------------------------------------------------------------------------


@pytest.mark.slow
def test_a_server_that_is_killed_all_the_time_loses_nothing(
    places: Callable[[str], Place], thread: str, server: RedisServer
) -> None:
    place, over = places("files"), threading.Event()
    killed = count()

    def kill() -> None:
        while not over.is_set():
            server.kill()
            server.start()
            next(killed)

    # A clock that runs, so that it is asked again at once.
    ticks = count()
    cache = RedisCache(server.url, patience_seconds=PATIENT, monotonic=lambda: next(ticks) * 100.0)
    saves = place(cache=cache)
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        turn = 0
        while turn < 40 or cache.counts.failed < 3 or cache.counts.found < 3:
            turn += 1
            saves.save(thread, {"turn": turn}, at="loop_tail")
            assert place(cache=cache).load(thread).state == {"turn": turn}  # type: ignore[union-attr]
    finally:
        over.set()
        killer.join()
    assert next(killed) > 0
    assert len(place().list_checkpoints(thread)) == turn
    assert cache.counts.lied == 0


class Cached(RuleBasedStateMachine):
    """Saves and loads of several programs, with a Redis that anything may happen to in between."""

    place: Place
    server: RedisServer
    threads = count()

    @initialize()
    def begin(self) -> None:
        self.server.start()
        self.thread = f"machine-{next(self.threads)}"
        ticks = count()
        self.cache = RedisCache(
            self.server.url, patience_seconds=PATIENT, monotonic=lambda: next(ticks) * 100.0
        )
        self.programs = [self.place(cache=self.cache, every=3), self.place(cache=self.cache, every=3)]
        self.saved: list[tuple[str, dict[str, Any]]] = []

    @rule(program=st.integers(0, 1), more=st.integers(0, 40))
    def save(self, program: int, more: int) -> None:
        saves = self.programs[program]
        newest = self.saved[-1][0] if self.saved else None
        said = [*(self.saved[-1][1]["said"] if self.saved else []), *(f"{n:080}" for n in range(more))]
        new = {"said": said, "turn": len(self.saved)}
        self.saved.append((saves.save(self.thread, new, at="loop_tail", parent=newest), new))

    @precondition(lambda self: len(self.saved) > 1)
    @rule(program=st.integers(0, 1), data=st.data())
    def save_on_an_old_one(self, program: int, data: st.DataObject) -> None:
        old = data.draw(st.sampled_from(self.saved[:-1]))[0]
        with pytest.raises(StateMoved):
            self.programs[program].save(self.thread, {"said": [], "turn": -1}, at="loop_tail", parent=old)

    @rule(program=st.integers(0, 1))
    def start_again(self, program: int) -> None:
        self.programs[program] = self.place(cache=self.cache, every=3)

    @rule()
    def kill(self) -> None:
        self.server.kill()

    @rule()
    def restart(self) -> None:
        self.server.start()

    @precondition(lambda self: self.server.is_running)
    @rule()
    def flush(self) -> None:
        self.server.flush()

    @precondition(lambda self: self.server.is_running and self.saved)
    @rule(data=st.data())
    def mix_up(self, data: st.DataObject) -> None:
        """Let one name have what belongs to another."""
        with self.server.client() as client:
            keys = sorted(client.keys(f"{PREFIX}*"))
            if keys:
                one, other = data.draw(st.sampled_from(keys)), data.draw(st.sampled_from(keys))
                client.set(one, client.get(other) or b"")

    @precondition(lambda self: self.saved)
    @rule()
    def delete(self) -> None:
        assert self.programs[0].delete(self.thread)
        self.saved = []

    @invariant()
    def everybody_loads_the_newest(self) -> None:
        for saves in self.programs:
            loaded = saves.load(self.thread)
            found = None if loaded is None else (loaded.checkpoint.id, loaded.state)
            assert found == (self.saved[-1] if self.saved else None)
        assert [one.id for one in self.programs[0].list_checkpoints(self.thread)] == [
            id for id, _ in reversed(self.saved)
        ]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["memory", "files"])
def test_whatever_happens_to_it_nothing_is_lost_but_speed(
    places: Callable[[str], Place], server: RedisServer, backend: str
) -> None:
    machine = type("Machine", (Cached,), {"place": places(backend), "server": server})
    few = settings(max_examples=6, stateful_step_count=15, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(machine, settings=few)
