"""Followers on PostgreSQL, where other stores skip events or stop for good."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from threading import Semaphore
from typing import Any

import psycopg
import pytest

from ledger.errors import StoreBusy
from ledger.stores.base import Append, StoredRow
from ledger.stores.postgres import plans
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.store import PostgresStore
from tests.servers.bouncer import Bouncer
from tests.servers.cluster import Server
from tests.stores.builder import TENANT, assert_whole, everything, ids, one, part, together
from tests.stores.uncommitted import LARGE_BYTES, advance, held_open, shapes


@pytest.fixture(scope="module")
def server(module_cluster: Callable[..., Server]) -> Server:
    """Return a server that transactions may be held open in."""
    return module_cluster()


@pytest.fixture
def url(server: Server) -> str:
    return server.cluster.fresh_database()


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url, poll_seconds=0.001)) as store:
        yield store


# --- what is not committed yet -----------------------------------------------------------------------


@pytest.fixture
def small_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "CHUNK_BYTES", LARGE_BYTES)


@pytest.mark.usefixtures("small_statements")
@pytest.mark.parametrize("shape", shapes(""))
def test_whatever_is_not_committed_yet_is_neither_skipped_nor_waited_for(
    store: PostgresStore, shape: str
) -> None:
    """Case-098, case-137, case-142, case-148: every way of writing keeps the order, none keeps others out."""
    held = shapes("held")
    if shape in ("source", "guarded"):
        store.open_head(TENANT, "$source:held")
    if shape == "guarded":
        store.append(held["source"][0])
    before = len(everything(store))
    cursor = store.end()

    def see() -> list[list[str]]:
        """Read on in each way a follower can."""
        return [ids(store.tail(after=cursor)), ids(store.tail(after=cursor, tenant=TENANT))]

    with held_open(store, *held[shape]) as session:
        # A server that is asked to wait for a lock here would say after a while that it is held.
        for batch in shapes("other").values():
            outcomes = store._writer.commit(batch)
            assert not [outcome for outcome in outcomes if isinstance(outcome, Exception)]
        assert see() == [[], []]
        assert (store.end(), store.wait(cursor, 0.0)) == (cursor, False)
        session.command(b"COMMIT")
    found = ids(assert_whole(store)[before:])
    assert see() == [found, found]
    # In one order, in which the transaction that began first stands first.
    own = _events([held[shape]])
    assert found[: len(own)] == own
    assert sorted(found[len(own) :]) == sorted(_events(shapes("other").values()))


def _events(batches: Iterable[list[Append]]) -> list[str]:
    return [row.id for batch in batches for append in batch for part in append.streams for row in part.rows]


def test_commits_between_the_statements_of_a_follower_are_not_skipped(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case-134: what is visible is decided in one statement, whatever is committed before the next one."""
    writers = [store._server.writer() for _ in range(12)]
    for number, session in enumerate(writers):
        session.command(b"BEGIN")
        store._writer._insert(session, [one(part(f"run-{number}", f"e-{number}"))])
    # In pairs, the later one of each first: what began earlier appears behind who has seen too much.
    order = [number for pair in range(0, 12, 2) for number in (pair + 1, pair)]
    waiting = [writers[number] for number in order]
    fetch = Session.fetch
    statements = 0

    def interrupted(session: Session, name: str, *values: object) -> list[Any]:
        nonlocal statements
        found = fetch(session, name, *values)
        statements += 1
        if waiting:
            waiting.pop(0).command(b"COMMIT")
        return found

    seen: list[StoredRow] = []
    cursor = 0
    with monkeypatch.context() as patch:
        patch.setattr(Session, "fetch", interrupted)
        while len(seen) < 12 or waiting:
            end = store.end()
            page = store.tail(after=cursor, limit=3, tenant=TENANT if statements % 4 < 2 else None)
            seen += page
            reached = page[-1].gid if page else cursor
            cursor = reached if len(page) == 3 else max(reached, end)
            assert statements < 100, f"{12 - len(seen)} events were skipped"
    for session in writers:
        session.close()
    assert seen == everything(store)
    assert ids(seen) == [f"e-{number}" for number in range(12)]


def test_nothing_is_given_up_because_its_neighbour_grew_old(url: str, store: PostgresStore) -> None:
    """Case-136: a follower that is kept says so, again and again, and shows both in the end."""
    with (
        closing(PostgresStore(url, poll_seconds=0.001, stall_seconds=0.01)) as follower,
        held_open(store, one(part("run-1", "a"))) as session,
    ):
        store.append(one(part("run-2", "b")))
        for _ in range(5):
            with pytest.raises(StoreBusy) as held:
                follower.wait(0, 60.0)
            assert held.value.data["reason"] == "held_back"
            assert [holder["pid"] for holder in held.value.data["holders"]] == [
                session.connection.info.backend_pid
            ]
            assert (follower.tail(), follower.end()) == ([], 0)
        session.command(b"COMMIT")
        assert follower.wait(0, 60.0)
        assert ids(everything(follower)) == ["a", "b"]


# --- under load --------------------------------------------------------------------------------------


def write(store: PostgresStore, number: int, events: int) -> None:
    seen = None
    for turn in range(events):
        appended = part(f"run-{number}", f"{number}.{turn}", after=seen)
        store.append(one(appended))
        seen = appended


def follow(store: PostgresStore, total: int, began: Semaphore | None = None, limit: int = 7) -> list[int]:
    """Follow from the beginning, moving to the end where nothing else is to be read, as followers do."""
    gids: list[int] = []
    after = 0
    while len(gids) < total:
        end = store.end()
        page = [row.gid for row in store.tail(after=after, limit=limit)]
        gids += page
        reached = page[-1] if page else after
        after = reached if len(page) == limit else max(reached, end)
        if began is not None:
            began.release()
            began = None
        if not page:
            assert store.wait(after, 60.0), f"at {after} nothing more came"
    return gids


def test_a_transaction_that_outlasts_all_others_costs_followers_no_event(
    url: str, store: PostgresStore
) -> None:
    """Case-135: eight writers on connections of their own write, and commit, all that while."""
    writers, events = 8, 25
    total = writers * events + 1
    stores = [PostgresStore(url, poll_seconds=0.001) for _ in range(writers)]
    with ThreadPoolExecutor(3) as pool:
        with held_open(store, one(part("run-long", "long"))) as session:
            began = Semaphore(0)
            following = [
                pool.submit(follow, stores[n], total, began, limit) for n, limit in enumerate((1, 7, 500))
            ]
            for _ in following:
                assert began.acquire(timeout=60)
            together(*(partial(write, each, number, events) for number, each in enumerate(stores)))
            assert not any(future.done() for future in following)
            session.command(b"COMMIT")
        followed = [future.result(60) for future in following]
    rows = assert_whole(store)
    assert followed == [[row.gid for row in rows]] * 3
    assert (len(rows), ids(rows)[0]) == (total, "long")
    for each in stores:
        each.close()


def test_followers_behind_a_pooler_skip_nothing(
    server: Server, url: str, pooler: Callable[..., Bouncer]
) -> None:
    """Case-141: each transaction may meet another session, and commits overtake each other."""
    with psycopg.connect(url, autocommit=True) as connection:
        for setting in ("lock_timeout = '30s'", "statement_timeout = '60s'"):
            connection.execute(f'ALTER DATABASE "{url.rpartition("/")[2]}" SET {setting}'.encode())
    way = pooler(server.cluster).url(url)
    writers, events = 6, 25
    with closing(PostgresStore(url)) as direct:
        stores = [PostgresStore(way, prepare_threshold=None, poll_seconds=0.001) for _ in range(writers)]
        calls: list[Callable[[], Any]] = [partial(write, each, n, events) for n, each in enumerate(stores)]
        calls += [
            partial(follow, each, writers * events, None, n) for n, each in zip((1, 7), stores, strict=False)
        ]
        followed = together(*calls)[writers:]
        # One that began early and is committed last, through the pooler as well.
        with held_open(stores[0], one(part("run-early", "early"))) as session:
            stores[1].append(one(part("run-late", "late")))
            assert stores[1].tail(after=followed[0][-1]) == []
            session.command(b"COMMIT")
        assert ids(stores[1].tail(after=followed[0][-1])) == ["early", "late"]
        gids = [row.gid for row in assert_whole(direct)][:-2]
    assert followed == [gids, gids]
    for each in stores:
        each.close()


# --- a server that goes and comes --------------------------------------------------------------------


@pytest.mark.slow
def test_a_follower_goes_on_over_restarts_and_jumps_of_the_numbers(
    other_cluster: Callable[..., Server],
) -> None:
    """Case-138: whether it is stopped or killed, and though many numbers are never given to an event."""
    server = other_cluster()
    url = server.cluster.url()
    with (
        closing(PostgresStore(url, busy_seconds=60, poll_seconds=0.001)) as follower,
        closing(PostgresStore(url, busy_seconds=60)) as writer,
        ThreadPoolExecutor(1) as pool,
    ):
        following = pool.submit(follow, follower, 7)
        last = None
        for number, end in enumerate([server.stop, server.kill, None, server.kill, server.stop, None, None]):
            appended = part("run-1", f"e-{number}", after=last)
            writer.append(one(appended))
            last = appended
            if end is None:
                advance(url, 500)
            else:
                end()
                server.start()
        assert following.result(60) == [row.gid for row in assert_whole(writer)]
