"""The roles of a ledger on PostgreSQL outlive migrations, and a backup holds all that its reader may see."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import timedelta
from urllib.parse import urlsplit

import psycopg
import pytest

from ledger.errors import InvalidInput, SchemaMismatch, StoreUnavailable
from ledger.stores import scripts
from ledger.stores.base import Lease
from ledger.stores.postgres import schema as postgres_schema
from ledger.stores.postgres.inspection import server_of
from ledger.stores.postgres.roles import Roles, establish, established
from ledger.stores.postgres.setup import set_up
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.postgres.template import DEFAULT_SCHEMA
from ledger.stores.scripts import Migration
from tests.servers.bouncer import Bouncer
from tests.servers.cluster import Cluster
from tests.stores.builder import NOON, TENANT, Spec, assert_whole, everything, ids, one, part, shown
from tests.stores.secured import Secured, secured

IN_ORDER = ("read", "tail", "tail_of_tenant", "last")
FIRST = part("run", "a", Spec("b", claim=b"c" * 32))
KEY, END = b"k" * 16, NOON + timedelta(hours=1)


@pytest.fixture
def place(postgres: Cluster) -> Secured:
    """Return a ledger with roles and two events."""
    found = secured(postgres)
    with closing(PostgresStore(found.writer())) as store:
        store.append(one(FIRST))
    return found


def test_what_a_later_migration_makes_is_the_owners_and_open_to_readers(
    place: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = scripts.migrations("postgres")
    step = Migration(len(known) + 1, "more", "CREATE TABLE {schema}.more (id bigint);")
    monkeypatch.setattr(postgres_schema, "migrations", lambda dialect: (*known, step))
    reader = place.reader()
    with pytest.raises(SchemaMismatch):
        PostgresStore(place.writer())
    PostgresStore(place.migrator).close()
    with psycopg.connect(reader) as connection:
        owner = "SELECT tableowner FROM pg_tables WHERE schemaname = %s AND tablename = 'more'"
        assert connection.execute(owner, [DEFAULT_SCHEMA]).fetchone() == (place.roles.owner,)
        assert connection.execute(f"SELECT * FROM {DEFAULT_SCHEMA}.more").fetchall() == []


def test_roles_are_found_by_the_owner_of_the_schema(place: Secured, fresh_database: str) -> None:
    with closing(server_of(place.migrator).unchecked()) as session:
        assert established(session, DEFAULT_SCHEMA) == place.roles
        assert establish(session, DEFAULT_SCHEMA, place.roles) == []
    PostgresStore(fresh_database).close()
    with closing(server_of(fresh_database).unchecked()) as session:
        assert established(session, DEFAULT_SCHEMA) is None


def test_a_role_that_logs_in_is_nobodys_owner(postgres: Cluster, fresh_database: str) -> None:
    prefix = f"shop_{secrets.token_hex(6)}"
    with psycopg.connect(fresh_database, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {prefix}_owner LOGIN")
    with pytest.raises(InvalidInput):
        set_up(server_of(fresh_database), Roles.named(prefix))
    with psycopg.connect(fresh_database) as connection:
        found = connection.execute("SELECT rolname FROM pg_roles WHERE starts_with(rolname, %s)", [prefix])
        assert found.fetchall() == [(f"{prefix}_owner",)]


@pytest.mark.parametrize(
    "prefix", ["", "x" * 51, "a\0b", "Bad Name;", "Shop", "my-app", "7up", "pg", "pg_mine"]
)
def test_names_that_postgresql_would_cut_or_that_need_quotes_or_are_its_own_are_refused(prefix: str) -> None:
    with pytest.raises(InvalidInput):
        Roles.named(prefix)
    assert Roles.named("x" * 50).every_tenant == "x" * 50 + "_every_tenant"
    assert Roles.named("pgbouncer").owner == "pgbouncer_owner"


def test_other_roles_than_a_ledger_has_are_refused(place: Secured) -> None:
    prefix = f"other_{secrets.token_hex(6)}"
    with pytest.raises(InvalidInput, match=place.roles.writer):
        set_up(server_of(place.url), Roles.named(prefix))
    with closing(server_of(place.url).unchecked()) as session:
        assert established(session, DEFAULT_SCHEMA) == place.roles
        found = session.connection.execute("SELECT 1 FROM pg_roles WHERE starts_with(rolname, $1)", (prefix,))
        assert found.fetchall() == []
        # Whoever means it gives the schema up first.
        session.command(f"ALTER SCHEMA {DEFAULT_SCHEMA} OWNER TO CURRENT_USER".encode())
        assert establish(session, DEFAULT_SCHEMA, Roles.named(prefix)) == list(Roles.named(prefix))


def test_the_name_of_the_schema_is_quoted(fresh_database: str) -> None:
    odd = f"_0dd_{secrets.token_hex(6)}"
    url = f"{fresh_database}?schema=odd%20%22%27%7Bwriter%7D"
    assert len(set_up(server_of(url), Roles.named(odd)).created) == len(Roles._fields)
    assert set_up(server_of(url), Roles.named(odd)).created == ()
    with closing(PostgresStore(url)) as store:
        store.append(one(FIRST))
        assert ids(assert_whole(store)) == ["a", "b"]


def dump(place: Secured, url: str, *options: str) -> subprocess.CompletedProcess[str]:
    program = place.cluster.installation.program("pg_dump")
    return subprocess.run([program, *options, url], capture_output=True, text=True, check=False)


def restore(place: Secured, text: str) -> str:
    url = place.cluster.fresh_database()
    program = place.cluster.installation.program("psql")
    done = subprocess.run(
        [program, "--quiet", "--set", "ON_ERROR_STOP=1", url],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return url


def test_a_backup_by_a_reader_holds_everything_and_brings_the_guards_back(place: Secured) -> None:
    with closing(PostgresStore(place.writer())) as store:
        store.renew(TENANT, KEY, 1, worker="w", first_until=END, until_seconds=1, now=NOON)
    saved = dump(place, place.reader(), "--enable-row-security")
    assert (saved.returncode, saved.stderr) == (0, "")
    url = restore(place, saved.stdout)
    with psycopg.connect(url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(f"DELETE FROM {DEFAULT_SCHEMA}.events")
    # A reader is not shown who else may see what: that is granted again.
    assert set_up(server_of(url), place.roles).created == ()
    database = url.rpartition("/")[2]
    writer = place.writer().rpartition("/")[0] + f"/{database}"
    with closing(PostgresStore(writer)) as store:
        assert ids(assert_whole(store)) == ["a", "b"]
        store.append(one(part("run", "c", after=FIRST)))
        assert ids(assert_whole(store)) == ["a", "b", "c"]
        assert store.lease(TENANT, KEY, 1) == Lease("w", END, None)
        assert store.renew(TENANT, KEY, 1, worker="w", first_until=NOON, until_seconds=1, now=NOON) == END


def test_a_backup_that_would_hold_less_than_everything_fails(place: Secured) -> None:
    assert dump(place, place.reader()).returncode != 0
    assert dump(place, place.migrator).returncode != 0


def test_a_backup_by_a_superuser_holds_who_may_see_what(place: Secured) -> None:
    tenant_login = place.login(place.roles.writer, tenant=TENANT)
    url = restore(place, dump(place, place.url).stdout)
    database = url.rpartition("/")[2]
    with closing(PostgresStore(tenant_login.rpartition("/")[0] + f"/{database}")) as store:
        assert ids(assert_whole(store)) == ["a", "b"]


def test_statements_find_their_rows_by_index_also_where_tenants_are_kept_apart(place: Secured) -> None:
    login = place.login(place.roles.writer, tenant=TENANT)
    with closing(PostgresStore(place.writer())) as store:
        for number in range(40):
            events = (Spec(f"{number}-{n}", key=b"k" * 31 + bytes([n])) for n in range(100))
            store.append(one(part(f"run-{number:02}", *events)))
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute(f"ANALYZE {DEFAULT_SCHEMA}.events")
    server = server_of(login)
    values: dict[str, tuple[object, ...]] = {
        "read": (TENANT, "run-07", 3, 9, 100),
        "load": (TENANT, "run-07", "fold", 90, 1000),
        "tail": (1, 100),
        "tail_of_tenant": (1, 100, TENANT),
        "find_key": (TENANT, b"k" * 31 + b"\3", 10),
        "find_claim": (TENANT, b"c" * 32, 10),
        "stream_heads": (TENANT, "run-05", "run-", 10),
        "last": (TENANT, "run-07"),
    }
    scans = {}
    with closing(server.unchecked()) as session:
        for name, given in values.items():
            rows = session.connection.execute(f"EXPLAIN {server.statements[name]}", given).fetchall()
            slow = ("Seq Scan on events", "Sort") if name in IN_ORDER else ("Seq Scan on events",)
            scans[name] = [line for (line,) in rows if any(words in line for words in slow)]
    assert {name: found for name, found in scans.items() if found} == {}


def test_a_follower_of_a_small_tenant_walks_over_no_others_events_to_know_where_the_order_ends(
    place: Secured,
) -> None:
    """Else it would look at all that came after its own last event, each time it asks."""
    login = place.login(place.roles.writer, tenant=TENANT)
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute(
            f"INSERT INTO {DEFAULT_SCHEMA}.events (gid, position, tenant, run, hash, record) "
            "SELECT ((epoch + pg_current_xact_id()::text::bigint) << 20) + n, n, 'big', 'bulk', '', '' "
            f"FROM {DEFAULT_SCHEMA}.epoch, generate_series(1, 20000) AS n"
        )
        (newest,) = connection.execute(f"SELECT max(gid) FROM {DEFAULT_SCHEMA}.events").fetchone() or ()
    server = server_of(login)
    with closing(server.unchecked()) as session:

        def pages(statement: str) -> int:
            """Count the pages that a statement looks at, by what its topmost node adds up."""
            explain = f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {statement}"
            # The first time it looks at the catalogue as well.
            for _ in range(2):
                ((found,),) = session.connection.execute(explain).fetchall()
            return int(found[0]["Plan"]["Shared Hit Blocks"] + found[0]["Plan"]["Shared Read Blocks"])

        assert pages(server.statements["progress"]) < 50
        # What is shown to this role alone is found behind all the rest.
        assert pages(f"SELECT max(gid) FROM {DEFAULT_SCHEMA}.events") > 200
    with closing(PostgresStore(login, tenant=TENANT)) as store:
        assert shown(store).end() == store.end(newest=True) == newest
        assert not store.wait(newest, 0)
        assert store.tail(after=newest, tenant=TENANT) == []
        store.append(one(part("run", "c", after=FIRST)))
        assert store.wait(newest, 60)
        assert ids(store.tail(after=newest, tenant=TENANT)) == ["c"]


def test_an_owner_to_whom_the_ledger_seems_empty_raises_no_epoch(place: Secured) -> None:
    # As restored for another owner: what stands highest is not shown to him, so he cannot go on above it.
    with psycopg.connect(place.url, autocommit=True) as connection:
        close = f"DELETE FROM {DEFAULT_SCHEMA}.members WHERE role = %s::regrole"
        connection.execute(close, [place.roles.owner])
        connection.execute(f"UPDATE {DEFAULT_SCHEMA}.epoch SET system_identifier = 1")
    with pytest.raises(StoreUnavailable) as refused:
        PostgresStore(place.writer())
    assert refused.value.data["reason"] == "no_privilege"
    set_up(server_of(place.url), place.roles)
    with closing(PostgresStore(place.writer())) as store:
        store.append(one(part("run", "c", after=FIRST)))
        assert ids(assert_whole(store)) == ["a", "b", "c"]


def test_tenants_are_kept_apart_behind_a_pooler_that_mixes_their_sessions(
    place: Secured, pooler: Callable[..., Bouncer]
) -> None:
    logins = {tenant: place.login(place.roles.writer, tenant=tenant) for tenant in ("one", "two")}
    secrets_of = {urlsplit(url).username: urlsplit(url).password for url in logins.values()}
    through = pooler(place.cluster, secrets_of)
    with ExitStack() as stack:
        stores = {
            tenant: stack.enter_context(closing(PostgresStore(f"{through.url(url)}?prepare_threshold=none")))
            for tenant, url in logins.items()
        }
        for number in range(3):
            for tenant, store in stores.items():
                event = part(f"run-{number}", f"{tenant}-{number}", tenant=tenant)
                store.append(one(event, tenant=tenant))
        for tenant, store in stores.items():
            assert ids(everything(store)) == [f"{tenant}-{number}" for number in range(3)]
