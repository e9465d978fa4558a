"""Migrating a ledger on PostgreSQL that is large and in use: what is there is not gone through."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ledger.errors import StoreBusy
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.postgres.template import in_schema
from ledger.stores.scripts import Migration, migrations
from tests.servers.waiting import until
from tests.stores.builder import everything, one, part
from tests.stores.place import address, administer, database, schema_of

INSERT = (
    "INSERT INTO {s}.events (gid, position, tenant, run, hash, record) "
    "VALUES (pg_current_xact_id()::text::bigint << 20, 1, 'acme', 'by an older program', '', '')"
)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return address("postgres", tmp_path)


def apply(url: str, step: Migration) -> None:
    """Bring a ledger from one schema to the next."""
    with psycopg.connect(database(url)) as connection:
        connection.execute(in_schema(step.script, schema_of(url)).encode())
        connection.execute(
            in_schema("INSERT INTO {schema}.ledger_migrations VALUES (%s, %s)", schema_of(url)).encode(),
            (step.version, step.name),
        )


def make(url: str, steps: tuple[Migration, ...]) -> None:
    """Make a ledger as an older program did."""
    administer(url, "CREATE SCHEMA {s}")
    for step in steps:
        apply(url, step)


def storage(url: str) -> dict[str, tuple[object, ...]]:
    """Return each table and index with the file that its rows are in."""
    found = administer(
        url,
        "SELECT coalesce(indexed.relname, pg_class.relname)::text, pg_class.relname::text, "
        "pg_class.relfilenode FROM pg_class LEFT JOIN pg_index ON indexrelid = pg_class.oid "
        "LEFT JOIN pg_class AS indexed ON indexed.oid = indrelid "
        "WHERE pg_class.relnamespace = '{s}'::regnamespace AND pg_class.relkind IN ('r', 'i')",
    )
    return {str(name): (table, file) for table, name, file in found}


@pytest.mark.parametrize("step", migrations("postgres")[1:], ids=lambda step: step.name)
def test_no_migration_rewrites_a_table_that_is_there_or_builds_an_index_on_it(
    url: str, step: Migration
) -> None:
    """Case-124: that keeps writers out for as long as the table is large."""
    make(url, migrations("postgres")[: step.version - 1])
    before = storage(url)
    tables = {table for table, _ in before.values()}
    apply(url, step)
    after = storage(url)
    # Cursors are few whatever a ledger holds: one for each tenant and projection.
    kept = {name for name, (table, _) in before.items() if table != "projections"}
    assert {name: after.get(name) for name in kept} == {name: before[name] for name in kept}
    assert {name for name, (table, _) in after.items() if table in tables} == set(before)


def test_a_migration_that_is_kept_waiting_gives_up_before_writers_do(url: str) -> None:
    """Case-124: who writes waits behind it no longer than for any lock, and nothing is half done."""
    make(url, migrations("postgres")[:1])
    with psycopg.connect(database(url)) as reader, ThreadPoolExecutor(2) as pool:
        reader.execute(f"SELECT count(*) FROM {schema_of(url)}.events".encode())
        migrating = pool.submit(PostgresStore, url, busy_seconds=1)
        # Unless it has given up before anybody could see it.
        until(lambda: migrating.done() or _waiting(url) == 1, "the migration waits for the reader")
        writing = pool.submit(administer, url, INSERT)
        with pytest.raises(StoreBusy) as busy:
            migrating.result(30)
        assert busy.value.data["reason"] == "locked"
        assert writing.result(60) == []
        assert administer(url, "SELECT max(version) FROM {s}.ledger_migrations") == [(1,)]
    with closing(PostgresStore(url)) as store:
        store.append(one(part("run-1", "a")))
        assert len(everything(store)) == 2


def _waiting(url: str) -> Any:
    return administer(
        url,
        "SELECT count(*) FROM pg_locks JOIN pg_class ON pg_class.oid = relation "
        "WHERE NOT granted AND relnamespace = '{s}'::regnamespace",
    )[0][0]
