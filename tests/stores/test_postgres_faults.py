"""PostgreSQL that fails: lines cut at each statement, a server killed, locks that are kept, interrupts."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ledger import Actor, Ledger
from ledger.application.edge import Edge
from ledger.errors import GuardMoved, PositionConflict, StoreBusy, StoreUnavailable
from ledger.stores.base import Append, Appended, Blob, Guard
from ledger.stores.postgres.inspection import server_of
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.store import PostgresStore
from ledger.testing import Clock
from tests.servers.cluster import Server, shared
from tests.servers.proxy import Proxy
from tests.servers.waiting import until
from tests.stores.builder import TENANT, Spec, assert_whole, everything, ids, one, part
from tests.stores.place import address, administer, database, schema_of

POLICY = "$source:policy"
CONTENT = Blob(sha256(b"content").digest(), "result", b"content")


def appends() -> Iterator[Append]:
    """Every shape of an append, each on top of those before it."""
    first = part("run-1", "a")
    yield one(first)
    second = part("run-1", Spec("b", key=b"k" * 16), after=first)
    yield one(second)
    yield one(part(POLICY, "p-1"))
    third = part("run-1", Spec("c", key=b"k" * 16), Spec("d", claim=b"c" * 16), "e", after=second)
    yield one(third, guards=[Guard(POLICY, 1)], blobs=[CONTENT])
    yield one(part("run-2", "f"), part("run-1", "g", after=third))


EXPECTED = ["a", "b", "p-1", "c", "d", "e", "f", "g"]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return address("postgres", tmp_path)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with closing(Proxy(shared().port)) as proxy:
        yield proxy


def through(proxy: Proxy, url: str) -> str:
    return url.replace(f":{shared().port}/", f":{proxy.port}/")


# --- lines that are cut ------------------------------------------------------------------------------

STATEMENTS = [
    "BEGIN",
    "FOR UPDATE",
    "INSERT INTO [^.]+.events",
    "INSERT INTO [^.]+.blobs",
    "UPDATE",
    "COMMIT",
]


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_line_cut_at_any_statement_is_mended_and_nothing_is_stored_twice(
    url: str, proxy: Proxy, moment: str, statement: str
) -> None:
    """Case-115: also where the server has committed and only its answer was lost."""
    with closing(PostgresStore(through(proxy, url))) as store:
        cuts = 0
        for append in appends():
            (proxy.cut_after if moment == "after" else proxy.cut_before)(statement)
            before = proxy.cuts
            outcome = store.append(append)
            cuts += proxy.cuts - before
            found = [row.gid for stream in append.streams for row in _rows(store, append, stream.stream)]
            assert list(outcome.gids) == found
        proxy.cut_after("no statement at all")
        proxy.cut_before("no statement at all")
        assert cuts > 0
        assert ids(assert_whole(store)) == EXPECTED
        assert store.blobs(TENANT, [CONTENT.digest]) == {CONTENT.digest: b"content"}


def _rows(store: PostgresStore, append: Append, stream: str) -> list[Any]:
    (part,) = (part for part in append.streams if part.stream == stream)
    return store.read(append.tenant, stream, after=part.expected, upto=part.expected + len(part.rows))


def test_each_of_a_group_learns_its_own_fate_when_the_answer_to_all_was_lost(url: str, proxy: Proxy) -> None:
    first = part("run-1", "a")
    with closing(PostgresStore(through(proxy, url))) as store:
        store.append(one(first))
        proxy.cut_after("INSERT INTO [^.]+.events")
        batch = [
            one(part("run-1", "b", after=first)),
            one(part("run-1", "late")),
            one(part("run-2", "c", "d")),
            one(part("run-1", "rival", after=first)),
            one(part("run-3", "x"), guards=[Guard("$source:none", 0)]),
        ]
        outcomes = store._writer.commit(batch)
        assert proxy.cuts == 1
        assert [type(outcome) for outcome in outcomes] == [
            Appended,
            PositionConflict,
            Appended,
            PositionConflict,
            GuardMoved,
        ]
        assert ids(assert_whole(store)) == ["a", "b", "c", "d"]


def test_a_server_that_stays_away_is_told_in_time_and_the_append_may_be_repeated(
    url: str, proxy: Proxy
) -> None:
    with closing(PostgresStore(through(proxy, url), busy_seconds=0.3)) as store:
        store.append(one(part("run-1", "a")))
        proxy.cut_after("INSERT INTO [^.]+.events")
        append = one(part("run-2", "b"))
        with proxy.refusing():
            with pytest.raises(StoreUnavailable) as lost:
                store.append(append)
            assert lost.value.data["reason"] == "unreachable"
            with pytest.raises(StoreUnavailable):
                store.read(TENANT, "run-1")
        # It was committed before the line was cut.
        assert store.append(append).repeated
        assert ids(assert_whole(store)) == ["a", "b"]


def test_a_follower_goes_on_over_lines_that_are_cut(url: str, proxy: Proxy) -> None:
    """Case-138: it resumes by itself."""
    with closing(PostgresStore(through(proxy, url))) as follower, closing(PostgresStore(url)) as writer:
        seen: list[int] = []
        last = None
        for number in range(20):
            appended = part("run-1", f"e-{number}", after=last)
            writer.append(one(appended))
            last = appended
            proxy.cut()
            assert follower.wait(seen[-1] if seen else 0, 60.0)
            seen += [row.gid for row in follower.tail(after=seen[-1] if seen else 0)]
        assert seen == [row.gid for row in everything(writer)]


# --- a server that dies ------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_server_killed_under_writers_loses_nothing_it_acknowledged(
    other_cluster: Callable[..., Server],
) -> None:
    """And their appends are stored once it is back, without their doing anything."""
    server = other_cluster()
    acknowledged: dict[str, int] = {}
    stop = threading.Event()
    with closing(PostgresStore(server.cluster.url(), busy_seconds=60)) as store:

        def write(number: int) -> int:
            seen, turn = None, 0
            while not stop.is_set():
                turn += 1
                appended = part(f"run-{number}", f"{number}.{turn}", after=seen)
                (acknowledged[f"{number}.{turn}"],) = store.append(one(appended)).gids
                seen = appended
            return turn

        def more(count: int, what: str) -> None:
            goal = len(acknowledged) + count
            until(lambda: len(acknowledged) > goal, what)

        with ThreadPoolExecutor(4) as pool:
            writing = [pool.submit(write, number) for number in range(4)]
            try:
                for round in range(3):
                    more(40, f"writers write in round {round}")
                    server.kill()
                    server.start()
                more(40, "writers go on after the last start")
            finally:
                stop.set()
            written = sum(each.result(60) for each in writing)
        stored = {ids([row])[0]: row.gid for row in assert_whole(store)}
    assert stored == acknowledged
    assert len(stored) == written


# --- locks -------------------------------------------------------------------------------------------


def _holding(url: str, append: Append) -> Session:
    """Begin an append to a source on a connection of another program, and leave it at that."""
    with closing(PostgresStore(url)) as other:
        session = other._server.writer()
        session.connection.execute("SET application_name = 'forgetful'")
        session.command(b"BEGIN")
        assert other._writer._lock_heads(session, append)
    return session


def test_who_holds_a_lock_for_too_long_is_named(url: str) -> None:
    published = part(POLICY, "p-1")
    with closing(PostgresStore(url, busy_seconds=0.2)) as store:
        store.append(one(published))
        holder = _holding(url, one(part(POLICY, "w", after=published)))
        relies = one(part("run-1", "a"), guards=[Guard(POLICY, 1)])
        with closing(holder):
            for append in (relies, one(part(POLICY, "w", after=published))):
                with pytest.raises(StoreBusy) as busy:
                    store.append(append)
                assert busy.value.data["reason"] == "locked"
                (named,) = busy.value.data["holders"]
                assert (named["pid"], named["application"]) == (
                    holder.connection.info.backend_pid,
                    "forgetful",
                )
            store.append(one(part("run-2", "b")))
        store.append(relies)
        assert ids(assert_whole(store)) == ["p-1", "b", "a"]


def test_who_keeps_a_read_or_a_head_waiting_is_named_too(url: str) -> None:
    schema = schema_of(url)
    with closing(PostgresStore(url, busy_seconds=0.2)) as store:
        store.append(one(part("run-1", "a")))
        store.open_head(TENANT, "$source:first")
        insert = f"INSERT INTO {schema}.heads VALUES ('{TENANT}', '{POLICY}', 0)"
        calls: dict[str, Callable[[], object]] = {
            insert: lambda: store.open_head(TENANT, POLICY),
            f"LOCK TABLE {schema}.events": lambda: store.read(TENANT, "run-1"),
        }
        for statement, call in calls.items():
            with psycopg.connect(database(url), application_name="forgetful") as holder:
                holder.execute(statement)
                with pytest.raises(StoreBusy) as busy:
                    call()
                assert busy.value.data["reason"] == "locked"
                assert [held["pid"] for held in busy.value.data["holders"]] == [holder.info.backend_pid]
                holder.rollback()
            call()


def test_a_statement_that_the_server_ends_is_not_taken_for_one_that_waits_for_a_lock(url: str) -> None:
    server = server_of(url)
    with closing(PostgresStore(url)) as store, closing(server.unchecked()) as holder:
        store.append(one(part("run-1", "a")))
        assert ids(store.read(TENANT, "run-1")) == ["a"]
        holder.command(f"BEGIN; LOCK TABLE {server.schema}.events".encode())

        def cancel(session: Session) -> list[Any]:
            session.command(b"SET statement_timeout = 20")
            return session.fetch("last", TENANT, "run-1")

        with pytest.raises(StoreBusy) as busy:
            store._readers.use(cancel)
        assert (busy.value.data["reason"], busy.value.retryable) == ("cancelled", True)
        assert "holders" not in busy.value.data


def test_a_lock_that_one_of_a_group_waits_for_fails_only_that_one(url: str) -> None:
    published = part(POLICY, "p-1")
    with closing(PostgresStore(url, busy_seconds=0.2)) as store:
        store.append(one(published))
        with closing(_holding(url, one(part(POLICY, "w", after=published)))):
            outcomes = store._writer.commit(
                [
                    one(part("run-1", "a")),
                    one(part("run-2", "b"), guards=[Guard(POLICY, 1)]),
                    one(part("run-3", "c", "d")),
                ]
            )
        assert [type(outcome) for outcome in outcomes] == [Appended, StoreBusy, Appended]
        assert ids(assert_whole(store)) == ["p-1", "a", "c", "d"]


def test_snapshots_that_somebody_keeps_locked_harm_no_append(url: str) -> None:
    """Case-159: each is given up, and its append was stored and is told as stored."""
    edge = Edge(PostgresStore(url, busy_seconds=0.1), TENANT, Actor("service:tests"), Clock())
    with Ledger(edge) as ledger, psycopg.connect(database(url)) as holder:
        run = ledger.open_run("run-1", "goal")
        holder.execute(f"LOCK TABLE {schema_of(url)}.snapshots IN SHARE MODE".encode())
        for turn in range(40):
            assert run.move(f"n-{turn}").position == turn + 2
        assert ledger.store.snapshots(TENANT, "run-1") == []
        holder.rollback()
        for turn in range(40):
            run.move(f"m-{turn}")
        assert ledger.store.snapshots(TENANT, "run-1") != []
        assert ledger.contract("run-1").position == len(assert_whole(ledger.store)) == 81


def test_a_rival_in_flight_that_gives_up_leaves_the_place_to_the_next(url: str) -> None:
    with closing(PostgresStore(url)) as store, closing(store._server.writer()) as rival:
        for end, expected in ((b"ROLLBACK", Appended), (b"COMMIT", PositionConflict)):
            name = f"run-{end.decode()}"
            rival.command(b"BEGIN")
            store._writer._insert(rival, [one(part(name, f"rival of {name}"))])
            with ThreadPoolExecutor(1) as pool:
                batch = [one(part(name, f"mine of {name}")), one(part(f"{name}-other", f"other of {name}"))]
                settling = pool.submit(store._writer.commit, batch)
                until(
                    lambda: administer(
                        url,
                        "SELECT 1 FROM pg_locks WHERE NOT granted "
                        f"AND {rival.connection.info.backend_pid} = ANY (pg_blocking_pids(pid))",
                    ),
                    "the group waits for its rival",
                )
                rival.command(end)
                outcomes = settling.result(60)
            assert [type(outcome) for outcome in outcomes] == [expected, Appended]
        assert len(assert_whole(store)) == 4


def test_of_half_conflicting_groups_of_two_processes_each_append_is_whole(url: str) -> None:
    """Their appends share one run of two, so that of each pair one half is free and the other contested."""
    rounds, winners = 25, 0
    with (
        closing(PostgresStore(url)) as mine,
        closing(PostgresStore(url)) as other,
        ThreadPoolExecutor(2) as pool,
    ):
        for turn in range(rounds):
            start = threading.Barrier(2)

            def settle(store: PostgresStore, who: str, turn: int = turn, start: Any = start) -> list[Any]:
                batch = []
                for pair in range(4) if who == "mine" else reversed(range(4)):
                    event = f"{who}.{turn}.{pair}"
                    own = part(f"{who}-{turn}.{pair}", f"{event}.own")
                    batch.append(one(own, part(f"shared-{turn}.{pair}", event)))
                start.wait()
                return store._writer.commit(batch)

            settled = [pool.submit(settle, mine, "mine"), pool.submit(settle, other, "other")]
            outcomes = [outcome for each in settled for outcome in each.result(60)]
            assert {type(outcome) for outcome in outcomes} == {Appended, PositionConflict}
            winners += sum(isinstance(outcome, Appended) for outcome in outcomes)
        assert winners == rounds * 4
        stored = set(ids(assert_whole(mine)))
        assert len(stored) == 2 * winners
        assert all(f"{id}.own" in stored for id in stored if not id.endswith(".own"))


# --- interrupts --------------------------------------------------------------------------------------


def test_an_interrupted_commit_leaves_a_connection_that_can_be_used(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it was in the middle of is undone, and the same append again is stored."""
    with closing(PostgresStore(url)) as store:
        first = part("run-1", "a")
        store.append(one(first))
        run = Session.run
        both = one(part("run-1", "b", after=first), part("run-2", "c"), blobs=[CONTENT])

        def interrupted(session: Session, name: str, values: Any) -> Any:
            result = run(session, name, values)
            if name == "append_batch":
                raise KeyboardInterrupt
            return result

        with monkeypatch.context() as patch:
            patch.setattr(Session, "run", interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.append(both)
        assert ids(everything(store)) == ["a"]
        assert not store.append(both).repeated
        assert ids(assert_whole(store)) == ["a", "b", "c"]


def test_a_signal_that_interrupts_a_reader_costs_a_connection_and_nothing_else(url: str) -> None:
    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    with closing(PostgresStore(url)) as store:
        store.append(one(part("run-1", "a")))
        before = signal.signal(signal.SIGUSR1, interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):
                store._readers.use(lambda session: signal.raise_signal(signal.SIGUSR1))
        finally:
            signal.signal(signal.SIGUSR1, before)
        assert ids(store.read(TENANT, "run-1")) == ["a"]
