"""Nobody who writes to a ledger on PostgreSQL can change what it says, nor can its owner by accident."""

from __future__ import annotations

from contextlib import closing
from urllib.parse import urlsplit

import psycopg
import pytest

from ledger import open_ledger
from ledger.errors import PositionConflict, StoreUnavailable
from ledger.stores.base import Blob, Guard, SnapshotRow
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.postgres.template import DEFAULT_SCHEMA
from tests.servers.cluster import Cluster, kinds, shared
from tests.stores.builder import TENANT, Spec, assert_whole, ids, one, part
from tests.stores.secured import Secured, secured

SOURCE = "$source:policy:refunds"
TABLES = ("events", "heads", "blobs", "epoch", "ledger_migrations", "members")

# The place in the global order that an append of this transaction takes.
NOW = "(((SELECT epoch FROM {s}.epoch) + pg_current_xact_id()::text::bigint) << 20)"
INSERT = "INSERT INTO {s}.events (gid, position, tenant, run, hash, record) "

DENIED = "42501"
HISTORY = {
    "update": "UPDATE {s}.events SET record = ''",
    "update that would change nothing": "UPDATE {s}.events SET record = record WHERE false",
    "delete": "DELETE FROM {s}.events",
    "truncate": "TRUNCATE {s}.events",
    "truncate all": "TRUNCATE {s}.events, {s}.heads, {s}.epoch CASCADE",
}
ATTEMPTS = HISTORY | {
    "upsert": INSERT + f"VALUES ({NOW}, 1, 'acme', 'run', '', '') "
    "ON CONFLICT (tenant, run, position) DO UPDATE SET record = excluded.record",
    "lower place in the global order": INSERT + "VALUES (5, 3, 'acme', 'run', '', '')",
    "place of the transaction before": INSERT + f"VALUES ({NOW} - 1, 3, 'acme', 'run', '', '')",
    "higher place in the global order": INSERT + f"VALUES ({NOW} + 1048576, 3, 'acme', 'run', '', '')",
    "no place in the global order": INSERT + "VALUES (DEFAULT, 3, 'acme', 'run', '', '')",
    "lock": "SELECT 1 FROM {s}.events FOR UPDATE",
    "lock the table": "LOCK TABLE {s}.events IN ACCESS EXCLUSIVE MODE",
    "disabled triggers": "ALTER TABLE {s}.events DISABLE TRIGGER ALL",
    "dropped trigger": "DROP TRIGGER events_refuse_change ON {s}.events",
    "own trigger": "CREATE TRIGGER mine BEFORE INSERT ON {s}.events EXECUTE FUNCTION {s}.refuse()",
    "own rule": "CREATE RULE mine AS ON INSERT TO {s}.events DO INSTEAD NOTHING",
    "other function": "CREATE OR REPLACE FUNCTION {s}.refuse() RETURNS trigger LANGUAGE sql AS 'SELECT 1'",
    "dropped function": "DROP FUNCTION {s}.refuse CASCADE",
    "dropped policy": "DROP POLICY events_order ON {s}.events",
    "own policy": "CREATE POLICY mine ON {s}.events USING (true)",
    "no policies": "ALTER TABLE {s}.events DISABLE ROW LEVEL SECURITY",
    "policies not for the owner": "ALTER TABLE {s}.events NO FORCE ROW LEVEL SECURITY",
    "other type": "ALTER TABLE {s}.events ALTER record TYPE text USING ''",
    "no longer logged": "ALTER TABLE {s}.events SET UNLOGGED",
    "dropped constraint": "ALTER TABLE {s}.events DROP CONSTRAINT events_place",
    "dropped index": "DROP INDEX {s}.events_claim",
    "dropped table": "DROP TABLE {s}.events",
    "dropped schema": "DROP SCHEMA {s} CASCADE",
    "own table in the schema": "CREATE TABLE {s}.mine ()",
    "passing off as replication": "SET session_replication_role = replica",
    "policies off": "SET row_security = off; SELECT count(*) FROM {s}.events",
    "becoming the owner": "SET ROLE {owner}",
    "becoming somebody else": "SET SESSION AUTHORIZATION {owner}",
    "joining the owner": "GRANT {owner} TO CURRENT_USER",
    "head back": "UPDATE {s}.heads SET position = 1",
    "head of another stream": "UPDATE {s}.heads SET stream = 'other'",
    "no head": "DELETE FROM {s}.heads",
    "head ahead": "UPDATE {s}.heads SET position = 3",
    "head far ahead": "UPDATE {s}.heads SET position = 9000000000000000000",
    "head from nowhere": "INSERT INTO {s}.heads VALUES ('acme', '$source:policy:other', 7)",
    "head before what is stored": "INSERT INTO {s}.heads VALUES ('acme', 'run', 0)",
    "head in the middle": "INSERT INTO {s}.heads VALUES ('acme', 'run', 1)",
    "head by the end of another tenant": "INSERT INTO {s}.heads VALUES ('other', 'run', 2)",
    "head replaced": "INSERT INTO {s}.heads VALUES ('acme', '$source:policy:refunds', 0) "
    "ON CONFLICT (tenant, stream) DO UPDATE SET position = excluded.position",
    "other content": "UPDATE {s}.blobs SET content = ''",
    "no content": "DELETE FROM {s}.blobs",
    "content that may go": "UPDATE {s}.blobs SET expires_at = '2000-01-01T00:00:00.000000Z'",
    "lower epoch": "UPDATE {s}.epoch SET epoch = -1",
    "no epoch": "DELETE FROM {s}.epoch",
    "other schema version": "UPDATE {s}.ledger_migrations SET version = 99",
    "opening every tenant": "INSERT INTO {s}.members VALUES (current_user::regrole, NULL)",
    "opening another tenant": "UPDATE {s}.members SET tenant = NULL",
}


@pytest.fixture(params=kinds(), scope="module")
def place(request: pytest.FixtureRequest) -> Secured:
    """Return a ledger with roles that holds a run, a revised source and content; no test changes it."""
    found = secured(shared(request.param))
    with closing(PostgresStore(found.writer())) as store:
        content = Blob(b"d" * 32, "message", b"content")
        store.append(one(part("run", "a", Spec("b", claim=b"c" * 32)), blobs=[content]))
        store.append(one(part("run", "o1", tenant="other"), tenant="other"))
        store.append(one(part(SOURCE, "s1", "s2")))
        store.append(one(part(SOURCE, "t1", tenant="other"), tenant="other"))
    return found


def contents(place: Secured) -> list[list[tuple[object, ...]]]:
    with psycopg.connect(place.url) as connection:
        return [
            connection.execute(f"SELECT * FROM {DEFAULT_SCHEMA}.{table} ORDER BY 1, 2").fetchall()
            for table in TABLES
        ]


def attempt(url: str, statement: str, place: Secured) -> str | None:
    """Try a statement and return the SQLSTATE it ends with."""
    text = statement.format(s=DEFAULT_SCHEMA, owner=place.roles.owner)
    with psycopg.connect(url) as connection:
        try:
            connection.execute(text)
            connection.commit()
        except psycopg.Error as error:
            return error.sqlstate
    return None


def test_every_attempt_of_a_writer_to_alter_history_is_refused(place: Secured) -> None:
    writer, before = place.writer(), contents(place)
    answers = {name: attempt(writer, statement, place) for name, statement in ATTEMPTS.items()}
    assert {name: answer for name, answer in answers.items() if answer != DENIED} == {}
    assert contents(place) == before
    with closing(PostgresStore(writer)) as store:
        assert ids(assert_whole(store)) == ["a", "b", "o1", "s1", "s2", "t1"]


@pytest.mark.parametrize(
    ("statement", "answer"),
    [
        # Places and claims are unique, and rows are not loaded past the policies.
        (INSERT + f"VALUES ({NOW}, 2, 'acme', 'run', '', '')", "23505"),
        (
            INSERT.replace("record", "record, claim")
            + f"VALUES ({NOW}, 3, 'acme', 'run', '', '', '{'c' * 32}')",
            "23505",
        ),
        ("COPY {s}.events FROM STDIN", "0A000"),
    ],
)
def test_a_writer_cannot_take_what_is_taken_or_load_rows(place: Secured, statement: str, answer: str) -> None:
    assert attempt(place.writer(), statement, place) == answer


def test_a_head_that_was_lost_is_opened_where_its_stream_ends(postgres: Cluster) -> None:
    own = secured(postgres)
    writer = own.writer()
    with closing(PostgresStore(writer)) as store:
        first = part(SOURCE, "s1")
        store.append(one(first))
        with psycopg.connect(own.url) as connection:
            connection.execute(f"DELETE FROM {DEFAULT_SCHEMA}.heads")
        for wrong in (0, 2, 9 * 10**18):
            insert = f"INSERT INTO {{s}}.heads VALUES ('{TENANT}', '{SOURCE}', {wrong})"
            assert attempt(writer, insert, own) == DENIED
        assert store.open_head(TENANT, SOURCE) == 1
        store.append(one(part(SOURCE, "s2", after=first)))
        assert store.source_heads(TENANT) == {SOURCE: 2}


def test_a_reader_can_write_nothing(place: Secured) -> None:
    reader, before = place.reader(), contents(place)
    writes = {
        "append": INSERT + f"VALUES ({NOW}, 3, 'acme', 'run', '', '')",
        "head": "INSERT INTO {s}.heads VALUES ('acme', '$source:policy:other', 0)",
        "guard": "SELECT 1 FROM {s}.heads FOR SHARE",
        "snapshot": "INSERT INTO {s}.snapshots VALUES (1, 'acme', 'run', '', '', '')",
        "no snapshots": "DELETE FROM {s}.snapshots",
        "content": "INSERT INTO {s}.blobs VALUES ('acme', '', '', '', NULL)",
        "epoch": "SELECT {s}.raise_epoch()",
    }
    answers = {name: attempt(reader, statement, place) for name, statement in (ATTEMPTS | writes).items()}
    assert {name: answer for name, answer in answers.items() if answer != DENIED} == {}
    assert contents(place) == before


def test_a_writer_of_one_tenant_neither_sees_nor_touches_another(place: Secured) -> None:
    writer, before = place.login(place.roles.writer, tenant=TENANT), contents(place)
    attempts = {
        "append": INSERT + f"VALUES ({NOW}, 2, 'other', 'run', '', '')",
        "new run": INSERT + f"VALUES ({NOW}, 1, 'other', 'new', '', '')",
        "head": "INSERT INTO {s}.heads VALUES ('other', '$source:policy:new', 0)",
        "snapshot": "INSERT INTO {s}.snapshots VALUES (1, 'other', 'run', '', '', '')",
        "content": "INSERT INTO {s}.blobs VALUES ('other', '', '', '', NULL)",
        "content of another": "UPDATE {s}.blobs SET tenant = 'other'",
    }
    answers = {name: attempt(writer, statement, place) for name, statement in attempts.items()}
    assert set(answers.values()) == {DENIED}
    # What it does not see it cannot move or delete, which PostgreSQL answers with nothing done.
    for statement in (
        "UPDATE {s}.heads SET position = 9 WHERE tenant = 'other'",
        "DELETE FROM {s}.snapshots WHERE tenant = 'other'",
        "UPDATE {s}.blobs SET expires_at = '2020' WHERE tenant = 'other'",
    ):
        assert attempt(writer, statement, place) is None
    assert contents(place) == before
    with psycopg.connect(writer) as connection:
        for table in ("events", "heads", "blobs"):
            found = connection.execute(f"SELECT DISTINCT tenant FROM {DEFAULT_SCHEMA}.{table}").fetchall()
            assert found == [(TENANT,)]
        # Nor which other tenants there are.
        assert connection.execute(f"SELECT tenant FROM {DEFAULT_SCHEMA}.members").fetchall() == [(TENANT,)]


def test_a_writer_of_one_tenant_works_as_if_there_were_no_other(postgres: Cluster) -> None:
    place = secured(postgres)
    with closing(PostgresStore(place.writer())) as store:
        store.append(one(part("run", "o1", tenant="other"), tenant="other"))
    with closing(PostgresStore(place.login(place.roles.writer, tenant=TENANT))) as store:
        first = part("run", "a", Spec("b", key=b"k" * 32))
        store.append(one(first))
        assert store.append(one(first)).repeated
        with pytest.raises(PositionConflict):
            store.append(one(part("run", "x")))
        source = part(SOURCE, "s1")
        store.append(one(source))
        store.append(one(part("run", "c", "d", after=first), guards=[Guard(SOURCE, 1)]))
        store.append(one(part(SOURCE, "s2", after=source)))
        store.put_snapshot(TENANT, "run", SnapshotRow(2, first.rows[1].hash, "f", b"state"))
        assert ids(assert_whole(store)) == ["a", "b", "s1", "c", "d", "s2"]
        assert (store.load(TENANT, "run", "f").snapshot or SnapshotRow(0, b"", "", b"")).state == b"state"
        assert store.drop_snapshots() == 1
        assert store.read("other", "run") == []
        with pytest.raises(StoreUnavailable) as refused:
            store.append(one(part("new", "x", tenant="other"), tenant="other"))
    assert refused.value.data["reason"] == "no_privilege"


def test_a_login_for_no_tenant_is_told_so_instead_of_being_shown_an_empty_ledger(place: Secured) -> None:
    with pytest.raises(StoreUnavailable) as refused:
        PostgresStore(place.login(place.roles.writer))
    assert refused.value.data["reason"] == "no_tenant"


def test_a_tenant_that_is_not_open_to_a_login_is_refused_instead_of_seeming_empty(place: Secured) -> None:
    login = place.login(place.roles.writer, tenant="acme-corp")
    open_ledger(login, tenant="acme-corp").close()
    for address in (login, f"{login}?prepare_threshold=none"):
        with pytest.raises(StoreUnavailable) as refused:
            open_ledger(address, tenant="default")
        assert refused.value.data["reason"] == "no_tenant"
        assert not refused.value.retryable
        assert "'default'" in str(refused.value)
        assert f"{DEFAULT_SCHEMA}.members" in str(refused.value)
    open_ledger(place.writer(), tenant="any").close()


def test_a_tenant_that_is_closed_meanwhile_is_refused_on_the_next_connection(place: Secured) -> None:
    login = place.login(place.roles.writer, tenant="acme-corp")
    with closing(PostgresStore(login, tenant="acme-corp")) as store:
        with psycopg.connect(place.url) as connection:
            close = f"UPDATE {DEFAULT_SCHEMA}.members SET tenant = 'other' WHERE role = %s::regrole"
            connection.execute(close, [urlsplit(login).username])
        for use in (store.end, lambda: store.append(one(part("run", "x", tenant="acme-corp")))):
            with pytest.raises(StoreUnavailable) as refused:
                use()
            assert (refused.value.data["reason"], refused.value.retryable) == ("no_tenant", False)


@pytest.mark.parametrize("who", ["superuser", "owner"])
def test_the_owner_is_refused_history_too(place: Secured, who: str) -> None:
    url, before = place.url if who == "superuser" else place.migrator, contents(place)
    attempts = {name: ATTEMPTS[name] for name in (*HISTORY, "upsert", "head back", "no epoch", "lower epoch")}
    if who == "superuser":
        # Not even the setting that switches other triggers off.
        attempts["as replication"] = "SET session_replication_role = replica; DELETE FROM {s}.events"
    answers = {name: attempt(url, statement, place) for name, statement in attempts.items()}
    assert {name: answer for name, answer in answers.items() if answer != DENIED} == {}
    assert contents(place) == before


def test_nobody_logs_in_as_a_role_of_the_ledger(place: Secured) -> None:
    with psycopg.connect(place.url) as connection:
        found = connection.execute(
            "SELECT rolname FROM pg_roles WHERE rolname = ANY (%s) AND NOT rolcanlogin AND NOT rolsuper",
            [list(place.roles)],
        ).fetchall()
    assert {name for (name,) in found} == set(place.roles)


def test_the_migrator_alone_has_the_rights_of_the_owner(place: Secured) -> None:
    with psycopg.connect(place.url) as connection:
        owned = connection.execute(
            "SELECT DISTINCT rolname FROM pg_class JOIN pg_roles ON pg_roles.oid = relowner "
            f"WHERE relnamespace = '{DEFAULT_SCHEMA}'::regnamespace"
        ).fetchall()
    assert owned == [(place.roles.owner,)]
    assert attempt(place.writer(), "SET ROLE {owner}", place) == DENIED
    assert attempt(place.migrator, "SET ROLE {owner}", place) is None
