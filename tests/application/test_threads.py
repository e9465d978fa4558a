"""Threads that write to one run, whatever interrupts them, and processes that are forked off meanwhile."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any
from weakref import WeakValueDictionary

import pytest

from ledger import Actor, Ledger, Run, open_ledger
from ledger.application.edge import Edge
from ledger.application.turns import Turns
from ledger.application.verifying import verify
from ledger.commands import MoveCursor
from ledger.errors import LedgerError, StoreUnavailable
from ledger.stores.memory import MemoryStore
from tests.application.conftest import SetClock, get_through
from tests.stores.test_commit import Storm


def in_threads(number: int, call: Callable[[int], object]) -> None:
    """Call something in so many threads at once; the first failure is raised here."""
    failed: list[BaseException] = []
    start = threading.Barrier(number)

    def run(mine: int) -> None:
        try:
            start.wait(30)
            call(mine)
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=run, args=(mine,)) for mine in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread waits for ever"
    if failed:
        raise failed[0]


@pytest.mark.parametrize("how", ["one handle", "handles of one ledger", "two ledgers"])
def test_sixteen_threads_are_all_answered_truly(tmp_path: Path, how: str) -> None:
    ledgers = [open_ledger(tmp_path / "ledger.db") for _ in range(2 if how == "two ledgers" else 1)]
    shared = ledgers[0].open_run("r", "goal")
    places: list[tuple[str, int]] = []

    def write(mine: int) -> None:
        run = shared if how == "one handle" else ledgers[mine % len(ledgers)].run("r")
        for turn in range(12):
            node = f"n-{mine}-{turn}"
            places.append((node, run.move(node).position))

    in_threads(16, write)
    log = {record.position: record for record in ledgers[0].log("r", after=1)}
    assert sorted(position for _, position in places) == list(range(2, 2 + 16 * 12))
    assert all(log[position].event.node == node for node, position in places)  # type: ignore[attr-defined]
    assert shared.contract == ledgers[0].contract("r")
    assert verify(ledgers[0]).findings == ()
    for ledger in ledgers:
        ledger.close()


def test_handles_that_come_and_go_at_once_share_what_is_known(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger.open_run("r", "goal")

        def write(mine: int) -> None:
            for turn in range(10):
                run = ledger.run("r")
                run.assume(f"a-{mine}-{turn}", "in stock")
                del run

        in_threads(8, write)
        assert len(ledger.contract("r").assumptions) == 80


@pytest.mark.slow
def test_interrupts_at_random_moments_store_nothing_twice_and_leave_nobody_waiting() -> None:
    """The main thread leads and follows, is interrupted anywhere, and says the same words again."""
    store = MemoryStore()
    edge = Edge(store, "default", Actor("service:tests"), SetClock(), pause=lambda attempt: None)
    run = Ledger(edge).open_run("r", "goal")
    done = threading.Event()
    failed: list[BaseException] = []
    said: list[str] = []

    def others(mine: int) -> None:
        turn = 0
        try:
            while not done.is_set():
                turn += 1
                _until_told(run, f"other-{mine}-{turn}", said)
        except BaseException as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=others, args=(mine,)) for mine in (1, 2)]
    for thread in threads:
        thread.start()
    interrupted = 0
    try:
        # Behind it the answer is on its way, and nobody could tell that it was not heard.
        assert isinstance(Turns._said, FunctionType)
        with Storm(within=Turns._said) as storm:
            for turn in range(1500):
                interrupted += _interrupted_until_told(storm, run, f"mine-{turn}", said)
    finally:
        done.set()
        for thread in threads:
            thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    assert failed == []
    assert interrupted > 20, "interrupts came in time"
    counted = Counter(record.event.node for record in Ledger(edge).log("r", after=1))  # type: ignore[attr-defined]
    twice = [node for node, times in counted.items() if times > 1]
    assert twice == []
    assert set(said) <= set(counted)
    assert run.contract == Ledger(edge).contract("r")


def _interrupted_until_told(storm: Storm, run: Run, node: str, said: list[str]) -> int:
    """Say something, and again where it was interrupted; return how often it was."""
    for cut in range(3):
        if storm.attempt(partial(run.move, node)):
            said.append(node)
            return cut
    _until_told(run, node, said)
    return 3


def _until_told(run: Run, node: str, said: list[str]) -> None:
    again: StoreUnavailable | None = None
    while True:
        try:
            run.do(MoveCursor(node=node), again=again)
        except StoreUnavailable as lost:
            again = lost
        else:
            said.append(node)
            return


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_while_another_thread_leads_leaves_both_processes_able_to_write(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        run = ledger.open_run("r", "goal")
        done = threading.Event()
        failed: list[LedgerError] = []

        def write() -> None:
            turn = 0
            while not done.is_set():
                turn += 1
                try:
                    run.move(f"n-{turn % 2}")
                    ledger.run("r")
                    ledger.source("policy:refunds")
                except LedgerError as error:
                    failed.append(error)
                    return

        threads = [threading.Thread(target=write) for _ in range(3)]
        for thread in threads:
            thread.start()
        children: list[int] = []
        for number in range(12):
            child = os.fork()
            if child == 0:
                _in_child(lambda number=number: _speak(ledger, run, number))  # type: ignore[misc]
            children.append(child)
        ended = [os.waitpid(child, 0)[1] for child in children]
        done.set()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
        assert failed == []
        assert ended == [0] * len(ended)
        promises = {item.id for item in ledger.contract("r").obligations}
        assert promises == {f"child-{number}" for number in range(12)}
        assert verify(ledger).findings == ()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_fork_waits_for_who_looks_a_run_up(tmp_path: Path) -> None:
    """Else the child would find the registry locked by a thread that it does not have."""
    inside, go = threading.Event(), threading.Event()

    class Slow(WeakValueDictionary[str, Any]):
        def get(self, *names: Any) -> Any:
            if threading.current_thread() is looking:
                inside.set()
                assert go.wait(30)
            return super().get(*names)

    with open_ledger(tmp_path / "ledger.db") as ledger:
        ledger._runs = Slow()
        looking = threading.Thread(target=lambda: ledger.open_run("r", "goal"))
        looking.start()
        assert inside.wait(30)
        _AT_FORK.append(go.set)
        child = os.fork()
        if child == 0:
            _in_child(lambda: ledger.open_run("s", "goal"))
        _AT_FORK.clear()
        looking.join(30)
        assert os.waitpid(child, 0)[1] == 0
        assert ledger.contract("s").goal.text == "goal"


_AT_FORK: list[Callable[[], None]] = []

if hasattr(os, "register_at_fork"):
    # What is registered later is called earlier: before the ledger's own preparations.
    os.register_at_fork(before=lambda: [call() for call in _AT_FORK] and None)


def _speak(ledger: Ledger, run: Run, number: int) -> None:
    get_through(lambda: run.promise(f"child-{number}", "Mail the customer", owed_to="customer:17"))
    get_through(lambda: ledger.run("r").move("child"))
    ledger.source("policy:refunds")


def _in_child(call: Callable[[], object]) -> None:
    """Call something and end the process; one that hangs ends by its alarm."""
    signal.alarm(120)
    code = 1
    try:
        call()
        code = 0
    finally:
        os._exit(code)


def test_a_handle_says_what_it_is(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db", tenant="acme") as ledger:
        run = ledger.open_run("refund-17", "Refund order 17")
        stated = run.move("pay")
        policy = ledger.source("policy:refunds")
        assert repr(ledger) == "<Ledger of tenant 'acme'>"
        assert repr(run) == "<Run 'refund-17' of tenant 'acme' at position 2>"
        assert repr(policy) == "<SourceHandle 'policy:refunds' of tenant 'acme' at position 0>"
        assert repr(stated) == "Stated(position=2, records=[cursor.moved])"
        assert repr(run.move("pay")) == "Stated(position=2, repeated)"
