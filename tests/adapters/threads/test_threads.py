"""The runs of threads: found, opened one after another by whoever is first, and kept while they are used."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.adapters.packs import pack
from ledger.adapters.threads import Threads, ThreadStates, run_name
from ledger.adapters.threads import threads as module
from ledger.adapters.threads.dropping import drop, prune
from ledger.adapters.threads.raw import RAW
from ledger.application import freeing
from ledger.application.edge import Edge
from ledger.errors import RunNotFound
from ledger.stores.base import Append, Appended
from ledger.stores.memory import MemoryStore
from ledger.values import Ending
from tests.application.conftest import SetClock


class Stepping(MemoryStore):
    """A store in memory that lets a rival step in before the next append, and counts who looks for a run."""

    def __init__(self) -> None:
        super().__init__()
        self.rivals: list[Any] = []
        self.loads = 0

    def append(self, append: Append) -> Appended:
        if self.rivals:
            self.rivals.pop(0)()
        return super().append(append)

    def load(self, *args: Any, **more: Any) -> Any:
        self.loads += 1
        return super().load(*args, **more)


@pytest.fixture
def store() -> Stepping:
    return Stepping()


def ledger_on(store: Stepping) -> Ledger:
    return Ledger(Edge(store, "default", Actor("service:tests"), SetClock(), pause=lambda attempt: None))


@pytest.fixture
def ledger(store: Stepping) -> Iterator[Ledger]:
    with ledger_on(store) as ledger:
        yield ledger


@pytest.fixture
def threads(ledger: Ledger) -> Threads:
    return Threads(ledger)


def close(threads: Threads, thread: str) -> None:
    entry = threads.current(thread)
    assert entry is not None
    entry.run.close(Ending.CANCELLED)


def grown(threads: Threads, thread: str, generations: int) -> None:
    for number in range(generations):
        if number:
            close(threads, thread)
        threads.open(thread)


def test_a_thread_that_nobody_opened_has_no_run(ledger: Ledger, threads: Threads) -> None:
    assert threads.current("chat") is None
    assert threads.last_seen("chat") is None
    assert ledger.runs().runs == ()


def test_the_first_write_opens_the_first_run_and_the_thread_is_named_in_it(threads: Threads) -> None:
    entry = threads.writing("chat #1")
    assert (entry.run.id, entry.generation) == (run_name("chat #1", 1), 1)
    assert entry.run.contract.thread == "chat #1"
    assert "chat #1" in entry.run.contract.goal.text
    assert threads.writing("chat #1") is entry
    assert threads.current("chat #1") is entry
    assert threads.writing("x" * 500).run.contract.thread != "x" * 500


def test_a_thread_goes_on_in_the_next_run_once_one_was_closed(ledger: Ledger, threads: Threads) -> None:
    first = threads.open("chat")
    close(threads, "chat")
    assert threads.current("chat") is first, "until somebody writes"
    assert threads.open("chat").run.id == "chat#2"
    assert threads.writing("chat").generation == 2
    assert Threads(ledger).open("chat").generation == 2


@pytest.mark.parametrize("generations", [1, 2, 3, 4, 7, 8, 9])
def test_the_newest_run_is_found_in_a_few_steps(
    ledger: Ledger, store: Stepping, threads: Threads, generations: int
) -> None:
    grown(threads, "chat", generations)
    other = Threads(ledger_on(store))
    entry = other.current("chat")
    assert entry is not None
    assert entry.generation == other.generation("chat") == generations
    assert [one.generation for one in other.past(entry)] == list(range(generations, 0, -1))
    assert [one.generation for one in other.generations("chat")] == list(range(generations, 0, -1))


def test_threads_beside_have_runs_of_their_own(threads: Threads) -> None:
    grown(threads, "chat", 2)
    assert threads.current("chat#2") is None
    assert threads.open("chat#2").run.id != "chat#2"
    assert threads.generation("chat") == 2


@pytest.mark.parametrize("generation", [1, 2])
def test_who_comes_second_joins_the_run_that_was_opened_first(
    store: Stepping, threads: Threads, generation: int
) -> None:
    grown(threads, "chat", generation - 1)
    if generation > 1:
        close(threads, "chat")
    rival = Threads(ledger_on(store))
    store.rivals = [lambda: rival.open("chat").run.move("theirs")]
    entry = threads.open("chat")
    assert entry.generation == generation
    cursor = entry.run.contract.cursor
    assert cursor is not None
    assert cursor.node == "theirs"


@pytest.mark.parametrize("generations", [0, 1])
def test_of_many_that_open_at_once_all_come_to_the_same_run(tmp_path: Path, generations: int) -> None:
    """Each with a ledger of its own, as processes have."""
    ledgers = [open_ledger(tmp_path / "ledger.db", actor=Actor(f"agent:a-{number}")) for number in range(6)]
    grown(Threads(ledgers[0]), "chat", generations)
    if generations:
        close(Threads(ledgers[0]), "chat")
    start, found = threading.Barrier(6), []

    def open_it(ledger: Ledger) -> None:
        start.wait(30)
        found.append(Threads(ledger).open("chat").run.id)

    workers = [threading.Thread(target=open_it, args=(ledger,)) for ledger in ledgers]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert found == [run_name("chat", generations + 1)] * 6
    for ledger in ledgers:
        ledger.close()


def test_a_run_that_was_restarted_is_not_what_its_successor_goes_on_from(
    ledger: Ledger, threads: Threads
) -> None:
    threads.open("chat").run.save_state("s-1", b"x")
    ledger.restart("chat#1", as_="chat#2", by="human:kim", reason="the rules changed")
    entry = threads.open("chat")
    assert entry.generation == 2
    assert [one.generation for one in threads.past(entry)] == [2]
    close(threads, "chat")
    assert [one.generation for one in threads.past(threads.open("chat"))] == [3, 2]


def test_what_lies_before_a_run_whose_states_were_given_up_is_not_read(threads: Threads) -> None:
    grown(threads, "chat", 2)
    entry = threads.open("chat")
    entry.run.save_state("s-1", b"x")
    entry.run.drop_states(all=True, by="human:kim", reason="deleted")
    close(threads, "chat")
    after = threads.open("chat")
    assert [one.generation for one in threads.past(after)] == [3]


@pytest.mark.parametrize("many", [False, True])
def test_a_run_whose_states_were_given_up_by_name_hides_none_before_it(
    threads: Threads, many: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that paid in its first run would pay again."""
    monkeypatch.setattr(freeing, "BATCH", 2)
    threads.open("chat").run.save_state("s-1", pack({}, b"", RAW).content)
    close(threads, "chat")
    names = [f"s-{number}" for number in range(2, 6 if many else 4)]
    for name in names:
        threads.open("chat").run.save_state(name, pack({}, b"", RAW).content, branch=True)
    drop(threads, "chat", [("", name) for name in names], by="human:kim")
    for _ in range(2):
        entry = threads.open("chat")
        assert [one.generation for one in threads.past(entry)][-1] == 1
        close(threads, "chat")
    assert prune(threads, "chat", by="human:kim").states == 0
    assert [one.state.id for one in ThreadStates(threads, RAW).all("chat")] == ["s-1"]


def test_handles_of_threads_that_were_not_used_are_let_go(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "KEPT", 2)
    one, two = threads.open("one"), threads.open("two")
    assert threads.writing("one") is one
    threads.open("three")
    assert threads.last_seen("two") is None
    assert threads.writing("one") is one
    again = threads.writing("two")
    assert again is not two
    assert again.run.id == two.run.id
    threads.forget("one")
    threads.forget("nothing")
    assert threads.last_seen("one") is None


def test_a_look_that_took_long_does_not_bring_back_the_handle_that_was_replaced(
    store: Stepping, ledger: Ledger, threads: Threads
) -> None:
    """One thread of a program reads while another one has the gate let the run go on."""
    entry = threads.open("chat")
    entry.run.suspend(reason="lunch")
    decision = ledger.resume("chat#1", actor=Actor("service:tests", session="s-2"))
    assert decision.run is not None
    resumed = threads.resumed(entry, decision.run)
    assert resumed.memo is entry.memo
    assert threads._keep(entry) is resumed
    assert threads.writing("chat") is resumed
    resumed.run.save_state("s-1", b"x")
    again = threads.resumed(resumed, ledger.run("chat#1"))
    assert threads.writing("chat") is again


def test_a_look_that_took_long_does_not_bring_back_the_run_before(threads: Threads) -> None:
    first = threads.open("chat")
    close(threads, "chat")
    second = threads.open("chat")
    assert threads._keep(first) is second


def test_reading_joins_and_opens_nothing(ledger: Ledger, threads: Threads) -> None:
    threads.open("chat")
    other = Threads(ledger)
    entry = other.current("chat")
    assert entry is not None
    assert entry.run.contract.incarnation == 1
    with pytest.raises(RunNotFound):
        ledger.run("chat#2")
    assert other.current("other") is None
