"""Waiting on PostgreSQL: no session listens, so none is missed, and being followed costs writers nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Semaphore
from typing import Any

import psycopg
import pytest

from ledger.errors import InvalidInput
from ledger.stores.postgres import plans
from ledger.stores.postgres.store import PostgresStore
from tests.servers.cluster import Server
from tests.stores.builder import TENANT, everything, ids, one, part
from tests.stores.uncommitted import LARGE_BYTES, shapes


@pytest.fixture(scope="module")
def server(module_cluster: Callable[..., Server]) -> Server:
    """Return a server that writes down what it is asked."""
    return module_cluster({"log_statement": "all"})


@pytest.fixture
def url(server: Server) -> str:
    return server.cluster.fresh_database()


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url, poll_seconds=0.001)) as store:
        yield store


# --- what it costs to be followed --------------------------------------------------------------------


def test_no_statement_notifies_listens_or_keeps_other_writers_out(
    server: Server, url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case-125, case-127, case-128: with followers waiting or none, what the server is asked is the same."""
    monkeypatch.setattr(plans, "CHUNK_BYTES", LARGE_BYTES)
    began = len(server.cluster.log_text())
    with closing(PostgresStore(url, poll_seconds=0.001)) as follower, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(follower.wait, 0, 60.0)
        for batch in shapes("a").values():
            store._writer.commit(batch)
        assert waiting.result(60)
        assert store.wait(0, 60.0)
        assert len(ids(store.tail())) == len(everything(follower)) > 8
    asked = server.cluster.log_text()[began:]
    assert len(re.findall(r"execute ledger_\w+: INSERT INTO", asked)) >= len(shapes("a")) - 1
    forbidden = r"\b(notify|pg_notify|listen|lock table|nextval|pg_advisory\w*|serializable)\b"
    assert re.findall(forbidden, asked, re.IGNORECASE) == []


def test_a_long_read_keeps_neither_writers_nor_followers_waiting(url: str, store: PostgresStore) -> None:
    """Case-132: a verifier, or a backup, that reads as of one moment takes no lock they need, nor an id."""
    store.append(one(part("run-1", "a")))
    with psycopg.connect(url) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        count = "SELECT count(*) FROM intent_ledger.events"
        assert reader.execute(count).fetchone() == (1,)
        for batch in shapes("b").values():
            store._writer.commit(batch)
        assert store.end() == store.end(newest=True)
        assert len(store.tail()) == len(everything(store)) > 8
        assert reader.execute(count).fetchone() == (1,)


# --- waiting -----------------------------------------------------------------------------------------


def test_what_is_committed_between_looking_and_waiting_is_found(
    url: str, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case-126: by this process, which wakes it, and by another one, which cannot."""
    monkeypatch.setattr("ledger.stores.wakeup._FIRST_POLL_SECONDS", 3600)
    with closing(PostgresStore(url, poll_seconds=3600)) as other:
        for follower, writer in ((other, other), (store, other)):
            run = part(f"run-{id(follower)}", "a")
            progress = follower._progress
            looks = 0

            def look(
                progress: Callable[[], Any] = progress, writer: PostgresStore = writer, run: Any = run
            ) -> Any:
                nonlocal looks
                looks += 1
                found = progress()
                if looks == 1:
                    writer.append(one(run))
                return found

            after = follower.end()
            with monkeypatch.context() as patch:
                patch.setattr(follower, "_progress", look)
                assert follower.wait(after, 3600.0)
            assert looks > 1


def test_those_who_wait_keep_no_connection_from_those_who_read_and_write(url: str) -> None:
    """Case-146: with a single connection for readers, and many who wait."""
    waiters = 8
    looked = Semaphore(0)
    with (
        ThreadPoolExecutor(waiters) as pool,
        closing(PostgresStore(url, max_readers=1, poll_seconds=3600)) as store,
    ):
        progress = store._progress

        def look() -> Any:
            found = progress()
            looked.release()
            return found

        store._progress = look  # type: ignore[method-assign]
        waiting = [pool.submit(store.wait, 0, 3600.0) for _ in range(waiters)]
        for _ in waiting:
            assert looked.acquire(timeout=60)
        assert store.read(TENANT, "run-1") == []
        assert not any(future.done() for future in waiting)
        store.append(one(part("run-1", "a")))
        assert ids(store.read(TENANT, "run-1")) == ["a"]
        assert all(future.result(60) for future in waiting)


def test_a_store_that_could_not_read_is_refused_when_it_is_opened(url: str) -> None:
    """Case-146: not when somebody has waited for a connection that there is none of."""
    with pytest.raises(InvalidInput) as refused:
        PostgresStore(url, max_readers=0, busy_seconds=0.1)
    assert refused.value.path == "max_readers"
