"""What is peculiar to the PostgreSQL store: opening it, its sessions, and what it takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Barrier, Thread

import psycopg
import pytest

from ledger.errors import (
    InvalidInput,
    PositionConflict,
    SchemaMismatch,
    StoreBusy,
    StoreUnavailable,
    UnsafeStore,
)
from ledger.record import digest
from ledger.stores.base import Append, Blob, FullStore, StreamAppend
from ledger.stores.opening import open_store
from ledger.stores.postgres.schema import supported_version
from ledger.stores.postgres.store import PostgresStore
from tests.servers.cluster import Server, kinds, shared
from tests.stores.builder import TENANT, assert_whole, everything, ids, one, part, shown, together
from tests.stores.place import address, administer, database, end_sessions, schema_of


@pytest.fixture(params=kinds())
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return an address where no ledger is yet."""
    return address(request.param, tmp_path)


# --- opening -----------------------------------------------------------------------------------------


def test_a_ledger_is_made_where_none_is_and_found_again(url: str) -> None:
    with pytest.raises(StoreUnavailable) as missing:
        open_store(url, create=False)
    assert missing.value.data["reason"] == "missing"
    assert administer(url, "SELECT 1 FROM pg_namespace WHERE nspname = '{s}'") == []
    with closing(open_store(url)) as store:
        store.append(one(part("run-1", "a")))
    with closing(open_store(url, create=False)) as store:
        assert ids(everything(store)) == ["a"]


def test_those_who_open_at_once_all_succeed(url: str) -> None:
    """The tables are made by one of them, and the others wait."""
    stores = together(*[partial(PostgresStore, url)] * 6)
    for number, store in enumerate(stores):
        store.append(one(part(f"run-{number}", "a")))
    assert len(assert_whole(stores[0])) == 6
    for store in stores:
        store.close()
    found = administer(url, "SELECT version FROM {s}.ledger_migrations ORDER BY 1")
    assert found == [(version,) for version in range(1, supported_version() + 1)]


def test_two_schemas_of_a_database_are_two_ledgers(url: str) -> None:
    with closing(open_store(url)) as mine, closing(open_store(f"{url}_other")) as other:
        mine.append(one(part("run-1", "a")))
        other.append(one(part("run-1", "b")))
        assert (ids(everything(mine)), ids(everything(other))) == (["a"], ["b"])


def test_a_newer_schema_is_refused_and_left_as_it_was(url: str) -> None:
    open_store(url).close()
    administer(url, "INSERT INTO {s}.ledger_migrations VALUES (99, 'from the future')")
    with pytest.raises(SchemaMismatch) as refused:
        open_store(url)
    assert (refused.value.found, refused.value.supported) == (99, supported_version())


def test_tables_of_another_program_are_left_alone(url: str) -> None:
    administer(url, "CREATE SCHEMA {s}", "CREATE TABLE {s}.events (name text)")
    with pytest.raises(StoreUnavailable) as refused:
        open_store(url)
    assert refused.value.data["reason"] == "not_a_ledger"
    assert administer(url, "SELECT count(*) FROM pg_class WHERE relnamespace = '{s}'::regnamespace") == [(1,)]


def test_who_may_not_create_is_told_what_is_missing(url: str) -> None:
    name = schema_of(url)
    administer(url, f"CREATE ROLE {name} LOGIN PASSWORD 'x'")
    login = url.replace(url[url.index("://") + 3 : url.index("@")], f"{name}:x")
    with pytest.raises(StoreUnavailable) as refused:
        open_store(login)
    assert refused.value.data["reason"] == "no_privilege"
    open_store(url).close()
    administer(
        url,
        "DELETE FROM {s}.ledger_migrations WHERE version > 1",
        f"GRANT USAGE ON SCHEMA {{s}} TO {name}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {{s}} TO {name}",
    )
    with pytest.raises(SchemaMismatch) as older:
        open_store(login)
    assert (older.value.found, older.value.supported) == (1, supported_version())


def test_a_server_that_cannot_be_reached_is_told_at_once(url: str) -> None:
    """Opening does not wait for it to come back, as calls on an open ledger do."""
    with pytest.raises(StoreUnavailable) as refused:
        open_store("postgresql://localhost:1/d", busy_seconds=3600)
    assert (refused.value.data["reason"], refused.value.retryable) == ("unreachable", True)
    assert not re.search(r"\s\s|[\n\t]", str(refused.value))


def test_what_no_repeat_helps_is_told_with_what_to_do(url: str) -> None:
    who = url[url.index("://") + 3 : url.index("@")]
    plain = database(url)
    refusals = {
        plain + "_that_is_not_there": ("no_database", "create"),
        plain.replace(who, "nobody_of_this_name:x"): ("login_refused", "password"),
        plain.replace(who, f"{who.partition(':')[0]}:wrong"): ("login_refused", "password"),
        plain.replace(who, who.partition(":")[0]): ("login_refused", "password"),
        plain + "?sslmode=require": ("no_ssl", "sslmode"),
    }
    for nowhere, (reason, advice) in refusals.items():
        with pytest.raises(StoreUnavailable) as refused:
            open_store(nowhere, busy_seconds=3600)
        assert (refused.value.data["reason"], refused.value.retryable) == (reason, False)
        assert advice in str(refused.value)
        assert not re.search(r"[\n\t]", str(refused.value))


@pytest.mark.parametrize(
    "wrong",
    [
        "postgresql://h/d?schema=",
        "postgresql://h/d?schema=pg_mine",
        "postgresql://h/d?schema=%24name%24",
        "postgresql://h/d?schema=a%24%24b",
        f"postgresql://h/d?schema={'x' * 64}",
        "postgresql://h/d?prepare_threshold=often",
        "postgresql://h/d?no_such_option=1",
        "postgresql://[h/d",
    ],
)
def test_an_address_that_is_malformed_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidInput):
        open_store(wrong)


def test_no_error_and_no_description_shows_the_password(url: str) -> None:
    password = url[url.index("://") + 3 : url.index("@")].partition(":")[2]
    with closing(open_store(url)) as store:
        assert not any(password in str(value) for value in store.describe().values())
    with pytest.raises(StoreUnavailable) as refused:
        store.end()
    assert password not in str(refused.value) + str(refused.value.data)


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_loses_what_it_acknowledged_is_refused(
    other_cluster: Callable[..., Server], setting: str
) -> None:
    url = other_cluster({setting: "off"}).cluster.url()
    with pytest.raises(UnsafeStore) as refused:
        open_store(url)
    assert refused.value.data["reason"] == setting
    with closing(open_store(url, unsafe=True)) as store:
        store.append(one(part("run-1", "a")))
        assert store.describe()["unsafe"] is True


def test_a_session_that_would_not_wait_for_the_disk_is_made_to(fresh_database: str) -> None:
    name = fresh_database.rpartition("/")[2]
    with psycopg.connect(fresh_database, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off'.encode())
    with closing(PostgresStore(fresh_database)) as store, closing(store._server.writer()) as session:
        assert session.connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
    # Behind a pooler a session's settings are not its own, so this one cannot be mended.
    with pytest.raises(UnsafeStore) as refused:
        PostgresStore(fresh_database, prepare_threshold=None)
    assert refused.value.data["reason"] == "synchronous_commit"
    PostgresStore(fresh_database, prepare_threshold=None, unsafe=True).close()


def test_a_database_that_cannot_hold_every_text_is_refused(postgres_url: str) -> None:
    name = "latin_" + sha256(postgres_url.encode()).hexdigest()[:8]
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0".encode())
    with pytest.raises(StoreUnavailable) as refused:
        open_store(postgres_url.rpartition("/")[0] + f"/{name}")
    assert refused.value.data["reason"] == "encoding"


@pytest.fixture
def postgres_url() -> str:
    return shared().url()


# --- sessions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["", "&prepare_threshold=none"])
def test_a_store_without_settings_of_its_own_works_alike(url: str, option: str) -> None:
    with closing(open_store(url + option)) as store:
        first = part("run-1", "a", "b")
        store.append(one(first))
        store.append(one(part("run-1", "c", after=first), part("run-2", "d")))
        store.append(one(part("$source:policy", "p")))
        with pytest.raises(PositionConflict):
            store.append(one(part("run-1", "x")))
        assert len(assert_whole(store)) == 5
    prepared = administer(url, "SELECT count(*) FROM pg_prepared_statements")
    assert prepared == [(0,)]


def test_connections_that_died_meanwhile_are_replaced(url: str) -> None:
    """Of a writer, of readers and of those beside them; nobody is told."""
    with closing(open_store(url)) as store:
        first = part("run-1", "a")
        store.append(one(first))
        store.open_head(TENANT, "$source:policy")
        end_sessions(url)
        assert ids(store.read(TENANT, "run-1")) == ["a"]
        store.append(one(part("run-1", "b", after=first)))
        assert store.open_head(TENANT, "$source:other") == 0
        assert ids(assert_whole(store)) == ["a", "b"]


def test_the_number_of_connections_stays_small(url: str) -> None:
    """Case-144: many threads that read and write share a few."""
    with closing(PostgresStore(url, max_readers=3)) as store:

        def work(number: int) -> None:
            seen = None
            for turn in range(20):
                appended = part(f"run-{number}", f"{number}.{turn}", after=seen)
                store.append(one(appended))
                store.load(TENANT, f"run-{number}", "f")
                seen = appended

        together(*(partial(work, number) for number in range(12)))
        found = administer(
            url,
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE application_name = 'intent-ledger' AND query LIKE '%{s}%' AND pid <> pg_backend_pid()",
        )
        assert isinstance(found[0][0], int)
        assert 1 <= found[0][0] <= 4


def test_who_finds_no_connection_free_in_time_is_told_so(url: str) -> None:
    with closing(PostgresStore(url, max_readers=1, busy_seconds=0.2)) as store:
        inside, leave = Barrier(2), Barrier(2)

        def keep(session: object) -> None:
            inside.wait()
            leave.wait()

        thread = Thread(target=store._readers.use, args=(keep,))
        thread.start()
        inside.wait()
        with pytest.raises(StoreBusy) as busy:
            store.end()
        assert busy.value.data["reason"] == "pool"
        leave.wait()
        thread.join()
        assert store.end() == 0


def test_what_was_refused_leaves_no_error_in_the_log_of_the_server(url: str) -> None:
    """Those who are behind are found out by looking, not by colliding with an index."""
    with closing(open_store(url)) as store:
        first = part("run-1", "a", "b")
        store.append(one(first))
        for wrong in (part("run-1", "x"), part("run-1", "x", "y"), part("run-2", "x", after=first)):
            with pytest.raises(PositionConflict):
                store.append(one(wrong))
        with pytest.raises(PositionConflict):
            store.append(one(part("run-1", "x"), part("run-3", "y")))
        assert store.append(one(first)).repeated
    logs = [shared(kind).log_text() for kind in kinds()]
    assert not any("ERROR" in line and schema_of(url) in line for log in logs for line in log.splitlines())


PROBES_ACTS = {"append_several": 1, "append_guarded": 1, "append_batch": 1, "intended": 2, "find_act": 1}


def test_every_statement_finds_its_events_by_index_also_in_a_ledger_that_is_still_empty(url: str) -> None:
    """Where reading everything looks cheap: the plan that is made then is kept while the ledger grows."""
    with closing(PostgresStore(url)) as store, closing(store._server.writer()) as session:
        looked_at: list[str] = []
        for name, text in store._server.statements.items():
            if ".events" not in text:
                continue
            session.command(f"PREPARE {name} AS {text}".encode())
            values = ", ".join(["NULL"] * max(map(int, re.findall(r"\$(\d+)", text)), default=0))
            explained = session.connection.execute(
                f"EXPLAIN EXECUTE {name}{f'({values})' if values else ''}".encode(), prepare=False
            )
            plan = "\n".join(line for (line,) in explained)
            assert not re.search(r"(Seq Scan|Bitmap Heap Scan) on events", plan), name
            assert not re.search(r"Hash Join|Semi Join|Merge Join|Filter: \((claim|act) = ", plan), name
            probes = plan.count("using events_act on events")
            assert probes == PROBES_ACTS.get(name, 0), name
            if name.startswith("tail"):
                assert "Sort" not in plan
            looked_at.append(name)
        assert {"append_batch", "append_guarded", "load", "tail_of_tenant", "find_all"} <= set(looked_at)


# --- input -------------------------------------------------------------------------------------------

# Not of one letter: what compresses well fits into an index.
LONG = "".join(sha256(str(number).encode()).hexdigest() for number in range(200))
WRONG = {
    "NUL": one(part("run-1", "x")._replace(stream="run-\0")),
    "a lone surrogate": one(part("run-1", "x")._replace(stream="run-\ud800")),
    "a name longer than an index takes": one(part("run-1", "x")._replace(stream=LONG)),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_cannot_be_stored_fails_only_its_caller(url: str, wrong: Append) -> None:
    with closing(PostgresStore(url)) as store:
        for batch in ([wrong], [one(part("run-a", "a")), wrong, one(part("run-b", "b", "c"))]):
            outcomes = store._writer.commit(batch)
            refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
            assert [type(error) for error in refused] == [InvalidInput]
        assert sorted(ids(assert_whole(store))) == ["a", "b", "c"]


@pytest.mark.parametrize("name", ["run-\0", "run-\ud800"])
def test_what_no_name_can_be_is_refused_when_read(url: str, name: str) -> None:
    with closing(open_store(url)) as store:
        with pytest.raises(InvalidInput):
            store.read(TENANT, name)
        assert store.read(TENANT, "run-1") == []


@pytest.mark.slow
@pytest.mark.parametrize("size", [1_000_000, 100_000_000])
def test_large_contents_are_stored_as_they_are(url: str, size: int) -> None:
    """Case-157: in the same commit as the event that names them, and read back byte for byte."""
    content = sha256(str(size).encode()).digest() * (size // 32)
    blob = Blob(sha256(content).digest(), "result", content)
    with closing(open_store(url)) as store:
        store.append(one(part("run-1", "a"), blobs=[blob]))
        assert store.blobs(TENANT, [blob.digest]) == {blob.digest: content}
        assert len(assert_whole(store)) == 1


@pytest.mark.parametrize("option", ["", "&prepare_threshold=none"])
@pytest.mark.parametrize("size", [1_000_000, 20_000_000])
def test_one_large_value_is_stored_over_a_socket_of_the_machine_too(
    tmp_path: Path, size: int, option: str
) -> None:
    """Case-157: its buffers are smaller than one value, by itself or among others in one statement."""
    cluster = shared()
    url = address("postgres", tmp_path).replace(f"@{cluster.host}:", "@:")
    with closing(open_store(f"{url}&host={cluster.socket_dir}{option}")) as store:
        first = _of_size(part("run-1", "a"), size)
        store.append(one(first))
        second = _of_size(part("run-1", "b", after=first), size)
        store.append(one(second, part("run-2", "c", "d")))
        store.append(one(_of_size(part("run-1", "e", after=second), size)))
        assert [len(row.record) > size for row in assert_whole(store)] == [True, True, False, False, True]


def _of_size(events: StreamAppend, size: int) -> StreamAppend:
    """Return the same event in more bytes than the encoder would allow."""
    (row,) = events.rows
    record = row.record + b" " * size
    return events._replace(rows=(row._replace(record=record, hash=digest(record)),))


def test_a_content_larger_than_the_limit_is_refused_with_the_limit(url: str) -> None:
    content = bytes(256 * 1024 * 1024 + 1)
    with closing(open_store(url)) as store:
        with pytest.raises(InvalidInput) as refused:
            store.append(one(part("run-1", "a"), blobs=[Blob(b"d" * 32, "result", content)]))
        assert "268435456" in refused.value.reason
        assert everything(store) == []


@pytest.mark.slow
def test_an_append_of_many_megabytes_is_whole(url: str) -> None:
    """It takes several statements, in one transaction."""
    events = part("run-1", *(f"e-{number}" for number in range(40)))
    rows = tuple(row._replace(record=row.record + b" " * 500_000) for row in events.rows)
    large = events._replace(rows=rows)
    with closing(open_store(url)) as store:
        stored = store.append(one(large, part("run-2", "x")))
        assert len(set(stored.gids)) == 41
        found = shown(store).tail()
        assert [row.gid for row in found] == sorted(stored.gids)
        assert [row.record for row in store.read(TENANT, "run-1")] == [row.record for row in rows]


def test_a_store_is_used_by_many_readers_at_once(url: str) -> None:
    with closing(open_store(url)) as store:
        store.append(one(part("run-1", *(f"e-{number}" for number in range(50)))))

        def read(store: FullStore) -> int:
            return sum(len(store.read(TENANT, "run-1", limit=7)) for _ in range(20))

        assert together(*[partial(read, store)] * 12) == [140] * 12
