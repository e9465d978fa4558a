"""What the tests run in processes of their own. Each function is a process; it reports through a pipe.

`place` is what `open_store` takes: a file, or the URL of a server.
"""

from __future__ import annotations

import itertools
import os
import resource
import sqlite3
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

from ledger.errors import GuardMoved, PositionConflict, StoreUnavailable
from ledger.stores.base import FullStore, Guard, StoredRow, StreamAppend
from ledger.stores.memory import MemoryStore
from ledger.stores.opening import open_store
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.sqlite import SQLiteStore
from tests.stores.builder import TENANT, Spec, everything, ids, one, part, until
from tests.stores.faults import Hooks

CONTEXT = get_context("spawn")


def start(target: Callable[..., None], *arguments: object) -> tuple[BaseProcess, Connection]:
    """Start a function in a new interpreter, with a pipe for its reports as the last argument."""
    reports, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=target, args=(*arguments, sender), daemon=True)
    process.start()
    sender.close()
    return process, reports


def drain(reports: Connection) -> list[Any]:
    """Read all reports until the process ends; a report it was killed in is none."""
    found: list[Any] = []
    try:
        while True:
            found.append(reports.recv())
    except (EOFError, OSError):
        return found


def run(target: Callable[..., None], *arguments: object) -> list[Any]:
    """Run a function in a new interpreter to its end and return its reports."""
    process, reports = start(target, *arguments)
    found = drain(reports)
    process.join()
    assert process.exitcode == 0
    return found


# --- writers -----------------------------------------------------------------------------------------


def write(
    place: Path | str, name: int, threads: int, events: int, begin: Barrier, reports: Connection
) -> None:
    """Append to runs of this process's own, and to one that all processes share."""

    def own(thread: int, store: FullStore) -> None:
        seen: StreamAppend | None = None
        for number in range(events):
            appended = part(f"run-{name}.{thread}", f"{name}.{thread}.{number}", after=seen)
            store.append(one(appended))
            seen = appended

    def shared(store: FullStore, seen: list[StoredRow]) -> int:
        conflicts = 0
        for number in range(events):
            while True:
                try:
                    event = f"{name}.shared.{number}"
                    store.append(one(part("shared", event, after=seen[0] if seen else None)))
                    break
                except PositionConflict:
                    conflicts += 1
                finally:
                    seen = store.read(TENANT, "shared")[-1:]
        return conflicts

    with closing(open_store(place, busy_seconds=60)) as store:
        # All have seen the same when they begin, so that all but one of them are late.
        seen = store.read(TENANT, "shared")[-1:]
        begin.wait()
        workers = [threading.Thread(target=own, args=(thread, store)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        conflicts = shared(store, seen)
        for worker in workers:
            worker.join()
    reports.send(conflicts)


def write_until_killed(place: Path | str, threads: int, reports: Connection) -> None:
    """Append for ever, to two runs at once in each thread; report what was acknowledged."""
    sending = threading.Lock()

    def work(thread: int, store: FullStore) -> None:
        names = f"a-{thread}", f"b-{thread}"
        last = [next(reversed(store.read(TENANT, name)), None) for name in names]
        for number in itertools.count(last[0].position + 1 if last[0] else 1):
            # The same number of events goes to both, so that half of an append would show.
            parts = [
                part(name, Spec(f"{name}.{number}", {"text": "x" * (number % 7 * 300)}), after=after)
                for name, after in zip(names, last, strict=True)
            ]
            gids = store.append(one(*parts)).gids
            with sending:
                reports.send([(f"{name}.{number}", gid) for name, gid in zip(names, gids, strict=True)])
            last = [store.read(TENANT, name, after=number - 1)[0] for name in names]

    store = open_store(place, busy_seconds=60)
    workers = [threading.Thread(target=work, args=(thread, store)) for thread in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def accept_and_withdraw(
    place: Path | str, name: int, count: int, begin: Barrier, reports: Connection
) -> None:
    """Relay guarded appends, or, in the process of name 0, move the source they rely on.

    The source stands at version 0, and has moved once when they begin: one refusal of each is sure.
    """
    with closing(open_store(place, busy_seconds=60)) as store:
        refused = _accept(store, name, count, begin) if name else _withdraw(store, count, begin)
    reports.send(refused)


def _withdraw(store: FullStore, count: int, begin: Barrier) -> int:
    seen: StreamAppend | None = None
    for number in range(count):
        if number == 1:
            begin.wait()
        appended = part(_POLICY, f"w-{number}", after=seen)
        store.append(one(appended))
        seen = appended
    return 0


def _accept(store: FullStore, name: int, count: int, begin: Barrier) -> int:
    seen: StreamAppend | None = None
    version, refused = 0, 0
    begin.wait()
    for number in range(count):
        while True:
            appended = part(f"run-{name}", Spec(f"{name}.{number}", {"relied_on": version}), after=seen)
            try:
                store.append(one(appended, guards=[Guard(_POLICY, version)]))
                break
            except GuardMoved:
                refused += 1
            finally:
                version = store.source_heads(TENANT)[_POLICY]
        seen = appended
    return refused


_POLICY = "$source:policy"


# --- forks -------------------------------------------------------------------------------------------


def fork_and_go_on(place: Path | str, forks: int, reports: Connection) -> None:
    """Fork again and again beside a thread that appends and one that reads; the children append as well."""
    store = open_store(place, busy_seconds=60)
    stop = threading.Event()

    def append() -> None:
        seen: StreamAppend | None = None
        number = 0
        while not stop.is_set():
            number += 1
            appended = part("parent", f"parent.{number}", after=seen)
            store.append(one(appended))
            seen = appended

    def read() -> None:
        while not stop.is_set():
            everything(store)

    threads = [threading.Thread(target=append), threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    children: list[int] = []
    for number in range(forks):
        child = os.fork()
        if child == 0:
            _child(store, number)
        children.append(child)
    stop.set()
    for thread in threads:
        thread.join()
    # The children outlive the parent's connections: closing these must not touch what they use.
    store.close()
    reports.send([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])


def _child(store: FullStore, number: int) -> None:
    """Append in a child, also from threads of its own, and end without the parent's clean-up."""
    code = 1
    try:

        def append(thread: int) -> None:
            seen: StreamAppend | None = None
            for turn in range(20):
                appended = part(f"child-{number}.{thread}", f"{number}.{thread}.{turn}", after=seen)
                store.append(one(appended))
                seen = appended

        threads = [threading.Thread(target=append, args=(thread,)) for thread in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        code = 0 if len(store.read(TENANT, f"child-{number}.0")) == 20 else 2
    finally:
        os._exit(code)


def fork_beside_a_call(path: Path, reports: Connection) -> None:
    """Fork while another thread is in the middle of an append that does not end in time."""
    entered, hold = threading.Event(), threading.Event()

    def wait(statement: str) -> None:
        if statement == "COMMIT":
            entered.set()
            assert hold.wait(60)

    hooks = Hooks(before=wait)
    store = SQLiteStore(path, busy_seconds=0.1, connect=hooks.connect())
    thread = threading.Thread(target=lambda: store.append(one(part("run-1", "a", "b"))))
    thread.start()
    assert entered.wait(60)
    child = os.fork()
    if child == 0:
        refused = []
        for call in (lambda: store.append(one(part("run-2", "c"))), store.end):
            try:
                call()
            except StoreUnavailable as error:
                refused.append(error.data["reason"])
        os._exit(0 if refused == ["forked", "forked"] else 1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    hold.set()
    thread.join()
    store.append(one(part("run-3", "d")))
    reports.send((code, ids(everything(store))))


def fork_beside_a_long_call(url: str, reports: Connection) -> None:
    """Fork while another thread appends on PostgreSQL and waits for a lock that a third holds."""
    store = PostgresStore(url, busy_seconds=60)
    first = part("$source:policy", "a")
    store.append(one(first))
    with closing(store._server.writer()) as holder:
        holder.command(b"BEGIN")
        store._writer._lock_heads(holder, one(part("$source:policy", "x", after=first)))
        thread = threading.Thread(target=lambda: store.append(one(part("$source:policy", "b", after=first))))
        thread.start()
        until(lambda: bool(holder.connection.execute(_WAITING).fetchone()))
        # Who forks waits no longer than this for those who are in the middle of something.
        store._server = replace(store._server, busy_seconds=0.05)
        child = os.fork()
        if child == 0:
            refused = []
            for call in (lambda: store.append(one(part("run-2", "c"))), store.end):
                try:
                    call()
                except StoreUnavailable as error:
                    refused.append(error.data["reason"])
            os._exit(0 if refused == ["forked", "forked"] else 1)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        holder.command(b"COMMIT")
        thread.join()
    store.append(one(part("run-2", "c")))
    store.append(one(part("run-3", "d")))
    reports.send((code, ids(everything(store))))


_WAITING = (
    "SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid)) LIMIT 1"
)


def fork_in_memory(reports: Connection) -> None:
    """Fork with a ledger in memory; each side goes on with its own."""
    store = MemoryStore()
    first = part("run-1", "a")
    store.append(one(first))
    child = os.fork()
    side = "parent" if child else "child"
    if child:
        os.waitpid(child, 0)
    store.append(one(part("run-1", side, after=first)))
    reports.send(ids(everything(store)))
    if not child:
        os._exit(0)


# --- permissions and limits ----------------------------------------------------------------------------


def open_as_nobody(path: Path, reports: Connection) -> None:
    """Open a file without being allowed everything, as root is; report the reason of the refusal."""
    # Everything is imported before: this user may not see where the interpreter is installed.
    with tempfile.TemporaryDirectory() as folder:
        SQLiteStore(Path(folder) / "other.db").close()
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    try:
        store = SQLiteStore(path, busy_seconds=0)
        store.append(one(part("run-9", "x")))
    except StoreUnavailable as error:
        reports.send(error.data["reason"])
    else:
        reports.send("opened")


def write_against_a_limit(path: Path, reports: Connection) -> None:
    """Append until no file may grow any more, then raise the limit and go on."""
    store = SQLiteStore(path)
    stored: list[str] = []

    def append() -> None:
        run = f"run-{len(stored)}"
        store.append(one(part(run, Spec(run, {"text": "x" * 3000}))))
        stored.append(run)

    for _ in range(5):
        append()
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    reason = None
    while reason is None:
        try:
            append()
        except StoreUnavailable as error:
            reason = error.data["reason"]
    before = sorted(ids(everything(store))) == sorted(stored)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    append()
    reports.send((reason, before, sorted(ids(everything(store))) == sorted(stored)))


def integrity(path: Path) -> str:
    """Let SQLite check a file."""
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
