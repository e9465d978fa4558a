"""Who waits for a lock on PostgreSQL keeps no other waiting, and nobody waits longer than was asked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ledger.errors import StoreBusy
from ledger.stores.base import Append, Guard
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.postgres.writer import Writer
from tests.servers.waiting import until
from tests.stores.builder import TENANT, assert_whole, ids, one, part
from tests.stores.place import address, administer, database, end_sessions, schema_of
from tests.stores.uncommitted import held_open

POLICY, OTHER = "$source:policy", "$source:other"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return address("postgres", tmp_path)


def waits_for(url: str, holder: Session) -> bool:
    """Tell whether somebody waits for a lock that a session holds."""
    pid = holder.connection.info.backend_pid
    query = f"SELECT 1 FROM pg_locks WHERE NOT granted AND {pid} = ANY (pg_blocking_pids(pid))"
    return bool(administer(url, query))


def relying(run: str, source: str) -> Append:
    return one(part(run, run), guards=[Guard(source, 1)])


def test_who_waits_for_a_source_keeps_nobody_waiting_who_does_not_need_it(url: str) -> None:
    """Whether it relies on the source or adds to it; it is stored when the lock is gone."""
    published = part(POLICY, "p-1")
    withdrawn = one(part(POLICY, "w", after=published))
    with closing(PostgresStore(url, busy_seconds=30)) as store, ThreadPoolExecutor(10) as pool:
        for source in (published, part(OTHER, "o-1")):
            store.append(one(source))
        with held_open(store, withdrawn) as holder:
            waiting = [pool.submit(store.append, relying("run-1", POLICY))]
            until(lambda: waits_for(url, holder), "the guarded append waits")
            waiting.append(pool.submit(store.append, one(part(POLICY, "w-2", after=published))))
            plain = [pool.submit(store.append, one(part(f"run-x{i}", f"x{i}"))) for i in range(50)]
            others = [pool.submit(store.append, relying(f"run-y{i}", OTHER)) for i in range(10)]
            for each in (*plain, *others):
                assert not each.result(60).repeated
            assert not any(each.done() for each in waiting)
            holder.command(b"ROLLBACK")
            # One admits the other or makes it too late, in whichever order they come.
            waiting[1].result(60)
            assert waiting[0].exception(60) is None or len(ids(store.read(TENANT, "run-1"))) == 0
        assert len(assert_whole(store)) == 2 + 60 + 1 + len(store.read(TENANT, "run-1"))


def test_what_relies_on_the_same_sources_goes_together_and_is_forgotten_afterwards(url: str) -> None:
    with closing(PostgresStore(url)) as store:
        lanes = store._lanes
        both = [Guard(POLICY, 1), Guard(OTHER, 1)]
        lane = lanes.of(one(part("run-1", "a"), guards=both))
        assert lanes.of(one(part("run-2", "b"), guards=both[::-1])) is lane
        assert lanes.of(one(part(POLICY, "p"), guards=both[1:])) is lane
        others = [
            lanes.of(relying("run-1", POLICY)),
            lanes.of(relying("run-1", OTHER)),
            lanes.of(one(part("run-1", "a"))),
            lanes.of(one(part("run-1", "a", tenant="globex"), tenant="globex", guards=both)),
        ]
        assert len({id(each) for each in (lane, *others)}) == 5
        del lane, others
        assert len(lanes._lanes) == 0


def test_where_all_wait_for_sources_the_next_is_told_so(url: str) -> None:
    with closing(PostgresStore(url, busy_seconds=0.05)) as store:
        store.append(one(part(POLICY, "p-1")))
        lanes = store._lanes
        taken: list[Writer] = []
        assert all(lanes._borrow(taken) for _ in lanes._relying)
        with pytest.raises(StoreBusy) as busy:
            store.append(relying("run-1", POLICY))
        assert busy.value.data["reason"] == "pool"
        store.append(one(part("run-2", "b")))
        lanes._free.extend(taken)
        store.append(relying("run-1", POLICY))
        assert ids(assert_whole(store)) == ["p-1", "b", "run-1"]


def test_a_batch_that_waits_in_vain_waits_once_and_not_for_each_of_its_appends(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    statements: list[str] = []
    run = Session.run

    def spy(session: Session, name: str, values: Any) -> Any:
        statements.append(name)
        return run(session, name, values)

    monkeypatch.setattr(Session, "run", spy)
    with closing(PostgresStore(url, busy_seconds=0.4)) as store:
        with psycopg.connect(database(url), application_name="locker") as locker:
            locker.execute(f"LOCK TABLE {schema_of(url)}.events IN SHARE MODE".encode())
            outcomes = store._writer.commit([one(part(f"run-{i}", f"e-{i}")) for i in range(40)])
        # The slower the machine, the fewer.
        assert 1 < len(statements) < 10
        for outcome in outcomes:
            assert isinstance(outcome, StoreBusy)
            assert outcome.data["reason"] == "locked"
            assert [holder["application"] for holder in outcome.data["holders"]] == ["locker"]
        assert assert_whole(store) == []


def test_a_connection_that_died_idle_fails_nothing_though_nobody_is_to_wait(url: str) -> None:
    first = part("run-1", "a")
    with closing(PostgresStore(url, busy_seconds=0)) as store:
        store.append(one(first))
        assert ids(store.read(TENANT, "run-1")) == ["a"]
        end_sessions(url)
        store.append(one(part("run-1", "b", after=first)))
        assert ids(store.read(TENANT, "run-1")) == ["a", "b"]
        end_sessions(url)
        outcomes = store._writer.commit([one(part("run-2", "c")), one(part("run-3", "d"))])
        assert not any(isinstance(outcome, Exception) for outcome in outcomes)
        assert ids(assert_whole(store)) == ["a", "b", "c", "d"]
