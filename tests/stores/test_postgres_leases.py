"""Leases on PostgreSQL: its clock, its locks, who may do what, and ledgers that are older than they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ledger.errors import StoreUnavailable
from ledger.stores.base import Lease
from ledger.stores.postgres import clock, leases
from ledger.stores.postgres.clock import KEPT_SECONDS, measure
from ledger.stores.postgres.inspection import inspect
from ledger.stores.postgres.schema import supported_version
from ledger.stores.postgres.session import Session
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.postgres.template import DEFAULT_SCHEMA
from ledger.stores.stamps import system_clock
from tests.servers.cluster import Cluster
from tests.servers.waiting import until
from tests.stores.builder import NOON, TENANT
from tests.stores.place import address, administer
from tests.stores.secured import Secured, secured

KEY = b"k" * 16
PAST, FUTURE = datetime(2001, 1, 1, tzinfo=UTC), datetime(2199, 1, 1, tzinfo=UTC)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return address("postgres", tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url, busy_seconds=30)) as store:
        yield store


def renew(
    store: PostgresStore, first_until: datetime, worker: str = "w-1", tenant: str = TENANT
) -> datetime | None:
    """Renew by the server's clock."""
    return store.renew(tenant, KEY, 1, worker=worker, first_until=first_until, until_seconds=60)


# --- the clock ---------------------------------------------------------------------------------------


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the statements that are run, as it happens."""
    names: list[str] = []
    fetch = Session.fetch

    def spy(session: Session, name: str, *values: object) -> list[Any]:
        names.append(name)
        return fetch(session, name, *values)

    monkeypatch.setattr(Session, "fetch", spy)
    return names


class Clocks:
    """This machine's clocks, which only a test moves: the one that is set, and the one that never is."""

    def __init__(self) -> None:
        self.wall_ahead = self.ahead = 0.0

    def wall(self) -> datetime:
        return NOON + timedelta(seconds=self.wall_ahead)

    def monotonic(self) -> float:
        return self.ahead

    def pass_by(self, seconds: float) -> None:
        self.wall_ahead += seconds
        self.ahead += seconds


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    found = Clocks()
    monkeypatch.setattr(clock, "system_clock", found.wall)
    monkeypatch.setattr(clock, "monotonic", found.monotonic)
    return found


def test_the_clock_of_the_server_is_measured_against_this_machines(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "system_clock", lambda: system_clock() - timedelta(hours=1))
    assert round(store.lease_offset() / timedelta(hours=1)) == 1


def test_a_clock_is_measured_once_and_again_after_a_while_or_when_it_was_set(
    store: PostgresStore, clocks: Clocks, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = Session.fetch

    def standing(session: Session, name: str, *values: object) -> list[Any]:
        """Let the server's clock stand still."""
        found = fetch(session, name, *values)
        return [(NOON,)] if name == "clock" else found

    def measured() -> tuple[float, int]:
        """Return by how many seconds the server is ahead, and how often it was asked for that."""
        asked.clear()
        return store.lease_offset().total_seconds(), asked.count("clock")

    monkeypatch.setattr(Session, "fetch", standing)
    assert measured() == (0, 3)
    assert measured() == (0, 0)
    clocks.pass_by(KEPT_SECONDS - 60)
    assert measured() == (0, 0)
    clocks.pass_by(61)
    assert measured() == (-KEPT_SECONDS - 1, 3)
    clocks.wall_ahead = 0
    assert measured() == (0, 3)
    clocks.wall_ahead = 3600
    assert measured() == (-3600, 3)
    # The machine slept: no time has passed by the clock that is never set.
    clocks.wall_ahead = 3601
    assert measured() == (-3601, 3)
    assert measured() == (-3601, 0)


def test_of_several_answers_the_quickest_tells_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The slow ones say less: the time they tell is any within their round trip."""
    trips = iter([(9.0, 8.5), (0.5, 0.25), (4.0, 0.0)])
    now = 0.0
    ahead = 1000.0

    def ask() -> datetime:
        nonlocal now
        trip, until_it_looked = next(trips)
        looked = NOON + timedelta(seconds=now + until_it_looked + ahead)
        now += trip
        return looked

    monkeypatch.setattr(clock, "monotonic", lambda: now)
    monkeypatch.setattr(clock, "system_clock", lambda: NOON + timedelta(seconds=now))
    assert measure(ask).ahead == timedelta(seconds=ahead)


def test_a_lease_that_lapsed_while_it_was_renewed_is_lost(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who read the end before the renewal was committed has seen it lapse."""
    ((now,),) = server_time(store)
    monkeypatch.setattr(leases, "monotonic", iter([0.0, 100.0]).__next__)
    assert renew(store, now + timedelta(seconds=90)) is None
    monkeypatch.setattr(leases, "monotonic", iter([0.0, 1.0]).__next__)
    assert renew(store, now + timedelta(seconds=90)) is not None


def server_time(store: PostgresStore) -> Any:
    return store._readers.use(lambda session: session.fetch("clock"))


# --- locks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "first_until", "kept"),
    [
        ("UPDATE {s}.leases SET until = clock_timestamp() - interval '1 second'", FUTURE, False),
        ("UPDATE {s}.leases SET worker = 'w-2'", FUTURE, False),
        ("UPDATE {s}.leases SET until = '2199-01-01Z'", PAST, True),
        ("DELETE FROM {s}.leases", PAST, False),
        ("DELETE FROM {s}.leases", FUTURE, True),
    ],
)
def test_who_waits_for_another_change_is_judged_by_what_became_of_it(
    url: str, store: PostgresStore, change: str, first_until: datetime, kept: bool
) -> None:
    assert renew(store, FUTURE) == FUTURE
    with closing(store._server.writer()) as rival, ThreadPoolExecutor(1) as pool:
        rival.command(b"BEGIN")
        rival.command(change.replace("{s}", store._server.schema).encode())
        renewing = pool.submit(renew, store, first_until)
        pid = rival.connection.info.backend_pid
        blocked = f"SELECT 1 FROM pg_locks WHERE NOT granted AND {pid} = ANY (pg_blocking_pids(pid))"
        until(lambda: administer(url, blocked), "the renewal waits")
        rival.command(b"COMMIT")
        assert renewing.result(60) == (FUTURE if kept else None)


@pytest.mark.parametrize("worker", ["w-1", "w-2"])
def test_who_begins_at_the_same_time_extends_the_same_row_or_has_none(
    url: str, store: PostgresStore, worker: str
) -> None:
    insert = (
        "INSERT INTO {s}.leases (tenant, key, attempt, worker, until) VALUES "
        f"('{TENANT}', '{KEY.decode()}', 1, '{worker}', '2199-01-01Z')"
    )
    with closing(store._server.writer()) as rival, ThreadPoolExecutor(1) as pool:
        rival.command(b"BEGIN")
        rival.command(insert.replace("{s}", store._server.schema).encode())
        renewing = pool.submit(renew, store, FUTURE - timedelta(days=1))
        pid = rival.connection.info.backend_pid
        blocked = f"SELECT 1 FROM pg_locks WHERE NOT granted AND {pid} = ANY (pg_blocking_pids(pid))"
        until(lambda: administer(url, blocked), "the renewal waits")
        rival.command(b"COMMIT")
        assert renewing.result(60) == (FUTURE if worker == "w-1" else None)
    assert store.lease(TENANT, KEY, 1) == Lease(worker, FUTURE, None)


def test_leases_are_found_by_index_also_where_there_are_none_yet(store: PostgresStore) -> None:
    looked_at = []
    with closing(store._server.writer()) as session:
        for name, text in store._server.statements.items():
            if ".leases" not in text:
                continue
            session.command(f"PREPARE {name} AS {text}".encode())
            values = ", ".join(["NULL"] * max(map(int, re.findall(r"\$(\d+)", text))))
            explained = session.connection.execute(
                f"EXPLAIN EXECUTE {name}({values})".encode(), prepare=False
            )
            plan = "\n".join(line for (line,) in explained)
            assert "using leases_place on leases" in plan, name
            assert not re.search(r"(Seq|Bitmap Heap) Scan on leases", plan), name
            looked_at.append(name)
    assert sorted(looked_at) == ["lease", "release_leases", "renew_lease"]


# --- who may do what ---------------------------------------------------------------------------------


@pytest.fixture
def place(postgres: Cluster) -> Secured:
    """Return a ledger with roles, and leases of two tenants in it."""
    found = secured(postgres)
    with closing(PostgresStore(found.writer())) as store:
        for tenant in (TENANT, "other"):
            assert renew(store, FUTURE, tenant=tenant) == FUTURE
    return found


def attempt(url: str, statement: str) -> int | str | None:
    """Try a statement; return how many rows it changed, or the SQLSTATE it ends with."""
    with psycopg.connect(url) as connection:
        try:
            return connection.execute(statement.replace("{s}", DEFAULT_SCHEMA).encode()).rowcount
        except psycopg.Error as error:
            return error.sqlstate


DENIED = "42501"
INSERT = "INSERT INTO {s}.leases (tenant, key, attempt, worker, until) VALUES "


def test_a_writer_renews_and_releases_and_changes_nothing_else_of_a_lease(place: Secured) -> None:
    writer = place.writer()
    with closing(PostgresStore(writer)) as store:
        assert renew(store, FUTURE) == FUTURE
        store.release(TENANT, KEY)
        assert store.lease(TENANT, KEY, 1) is None
    for change in ("worker = 'mine'", "attempt = 2", "key = ''", "tenant = 'mine'"):
        assert attempt(writer, f"UPDATE {{s}}.leases SET {change}") == DENIED
    assert attempt(writer, INSERT + f"('{TENANT}', 'x', 0, 'w', now())") == "23514"


def test_a_reader_sees_leases_and_changes_none(place: Secured) -> None:
    reader = place.reader()
    for statement in (
        INSERT + f"('{TENANT}', 'x', 1, 'w', now())",
        "UPDATE {s}.leases SET until = now()",
        "DELETE FROM {s}.leases",
        "SELECT 1 FROM {s}.leases FOR UPDATE",
    ):
        assert attempt(reader, statement) == DENIED
    with closing(PostgresStore(reader)) as store:
        assert store.lease(TENANT, KEY, 1) == Lease("w-1", FUTURE, None)
        with pytest.raises(StoreUnavailable) as refused:
            renew(store, FUTURE)
        assert refused.value.data["reason"] == "no_privilege"


def test_a_writer_of_one_tenant_neither_sees_nor_touches_the_leases_of_another(place: Secured) -> None:
    writer = place.login(place.roles.writer, tenant=TENANT)
    with closing(PostgresStore(writer, tenant=TENANT)) as store:
        assert renew(store, FUTURE) == FUTURE
        assert store.lease("other", KEY, 1) is None
        store.release("other", KEY)
        with pytest.raises(StoreUnavailable):
            renew(store, FUTURE, tenant="other")
    assert attempt(writer, INSERT + "('other', 'x', 1, 'w', now())") == DENIED
    assert attempt(writer, "UPDATE {s}.leases SET until = now() WHERE tenant = 'other'") == 0
    assert attempt(writer, "DELETE FROM {s}.leases WHERE tenant = 'other'") == 0
    with closing(PostgresStore(place.writer())) as store:
        assert store.lease("other", KEY, 1) == Lease("w-1", FUTURE, None)


# --- ledgers that are older, or not whole -------------------------------------------------------------


def test_a_ledger_from_before_leases_gets_them_and_its_writers_the_right_to_them(place: Secured) -> None:
    older = (
        "DROP TABLE {s}.leases, {s}.projections, {s}.served, {s}.parked",
        "DELETE FROM {s}.ledger_migrations WHERE version >= 3",
    )
    with psycopg.connect(place.url, autocommit=True) as connection:
        for statement in older:
            connection.execute(statement.replace("{s}", DEFAULT_SCHEMA).encode())
    looked = inspect(place.writer())
    assert (looked.schema, looked.altered, looked.rights.appends) == (2, (), True)
    PostgresStore(place.migrator).close()
    looked = inspect(place.writer())
    assert (looked.schema, looked.altered, looked.rights.appends) == (supported_version(), (), True)
    with closing(PostgresStore(place.writer())) as store:
        assert renew(store, FUTURE) == FUTURE
        assert store.lease("other", KEY, 1) is None


@pytest.mark.parametrize("right", ["INSERT", "UPDATE (until, progress)", "DELETE"])
def test_who_may_not_keep_leases_is_noticed(place: Secured, right: str) -> None:
    writer = place.writer()
    assert inspect(writer).rights.appends
    revoke = f"REVOKE {right} ON {DEFAULT_SCHEMA}.leases FROM {place.roles.writer}"
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute(revoke.encode())
    assert not inspect(writer).rights.appends


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("ALTER TABLE {s}.leases DISABLE ROW LEVEL SECURITY", "table leases: row-level security"),
        ("ALTER TABLE {s}.leases NO FORCE ROW LEVEL SECURITY", "table leases: row-level security"),
        ("DROP POLICY leases_tenant ON {s}.leases", "policy leases_tenant"),
        ("ALTER TABLE {s}.leases DROP CONSTRAINT leases_place", "constraint leases_place"),
        ("ALTER TABLE {s}.leases SET UNLOGGED", "table leases: not logged"),
    ],
)
def test_what_guards_leases_is_missed(place: Secured, damage: str, found: str) -> None:
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute(damage.replace("{s}", DEFAULT_SCHEMA).encode())
    assert found in inspect(place.url).altered
