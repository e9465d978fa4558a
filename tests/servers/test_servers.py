"""The servers do to a test what they say: a helper that silently does nothing would let every test pass."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest

from tests.servers import cluster
from tests.servers.bouncer import Bouncer
from tests.servers.cluster import Cluster, Server, kinds, shared
from tests.servers.proxy import Proxy
from tests.servers.replica import catch_up, held_back


def one(url: str, statement: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(statement).fetchone()
    return row[0] if row is not None else None


@pytest.mark.parametrize("kind", kinds())
def test_a_cluster_is_as_durable_as_one_in_production_and_asks_for_a_password(kind: str) -> None:
    found = shared(kind)
    for setting in ("fsync", "full_page_writes", "synchronous_commit"):
        assert one(found.url(), f"SHOW {setting}") == "on"
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(found.url(password="wrong"))


@pytest.mark.parametrize(("ci", "told"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_want_of_a_server_skips_a_test_and_fails_it_in_continuous_integration(
    monkeypatch: pytest.MonkeyPatch, ci: str, told: type[BaseException]
) -> None:
    monkeypatch.setattr(cluster, "installations", tuple)
    monkeypatch.setenv("CI", ci)
    assert cluster.kinds() == ("postgres",)
    with pytest.raises(told, match="no PostgreSQL"):
        cluster.kinds_installed("postgres")


def test_two_kinds_are_two_major_versions() -> None:
    majors = [shared(kind).major for kind in kinds()]
    assert len(set(majors)) == len(majors)


def test_a_killed_server_forgets_nothing_committed_and_comes_back_on_its_port(
    other_cluster: Callable[..., Server],
) -> None:
    server = other_cluster()
    with psycopg.connect(server.cluster.url(), autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    server.start()
    assert one(server.cluster.url(), "SELECT n FROM kept") == 1
    assert "was not properly shut down" in server.cluster.log_text()


@pytest.mark.parametrize("prepare", [True, False])
def test_a_line_cut_after_a_statement_leaves_it_committed_and_the_client_without_an_answer(
    postgres: Cluster, fresh_database: str, proxy: Proxy, prepare: bool
) -> None:
    with psycopg.connect(fresh_database, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (n int)")
    line = psycopg.connect(fresh_database.replace(str(postgres.port), str(proxy.port)), autocommit=True)
    with line:
        line.execute("INSERT INTO t VALUES (%s)", [1], prepare=prepare)
        proxy.cut_after("INSERT INTO t")
        line.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError):
            line.execute("INSERT INTO t VALUES (%s)", [2], prepare=prepare)
    assert (proxy.cuts, one(fresh_database, "SELECT sum(n) FROM t")) == (1, 3)


def test_a_line_cut_after_a_commit_leaves_the_transaction_committed(
    postgres: Cluster, fresh_database: str, proxy: Proxy
) -> None:
    url = fresh_database.replace(str(postgres.port), str(proxy.port))
    with psycopg.connect(url) as line:
        line.execute("CREATE TABLE t AS SELECT 1 AS n")
        proxy.cut_after("COMMIT")
        with pytest.raises(psycopg.OperationalError):
            line.commit()
    assert one(fresh_database, "SELECT n FROM t") == 1


def test_a_line_cut_before_a_statement_lets_the_server_hear_nothing_of_it(
    postgres: Cluster, fresh_database: str, proxy: Proxy
) -> None:
    with psycopg.connect(fresh_database, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (n int)")
    with psycopg.connect(
        fresh_database.replace(str(postgres.port), str(proxy.port)), autocommit=True
    ) as line:
        proxy.cut_before("INSERT INTO t")
        with pytest.raises(psycopg.OperationalError):
            line.execute("INSERT INTO t VALUES (1)")
    assert one(fresh_database, "SELECT count(*) FROM t") == 0


def test_a_line_carries_copies_and_refuses_while_it_is_told_to(
    postgres: Cluster, fresh_database: str, proxy: Proxy
) -> None:
    url = fresh_database.replace(str(postgres.port), str(proxy.port))
    with psycopg.connect(url, autocommit=True) as line:
        line.execute("CREATE TABLE t (n text)")
        with line.cursor().copy("COPY t FROM STDIN") as copy:
            for _ in range(2_000):
                copy.write_row(["x" * 1_000])
        with line.pipeline():
            cursors = [line.execute("SELECT count(*) FROM t") for _ in range(3)]
        assert [cursor.fetchone() for cursor in cursors] == [(2_000,)] * 3
        with proxy.refusing(), pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)
        proxy.cut()
        with pytest.raises(psycopg.OperationalError):
            line.execute("SELECT 1")


def test_a_replica_shows_what_its_primary_committed_unless_it_is_held_back(
    other_cluster: Callable[..., Server],
) -> None:
    primary = other_cluster().cluster
    replica = other_cluster(copy_of=primary).cluster
    assert one(replica.url(), "SELECT pg_is_in_recovery()") is True
    with psycopg.connect(primary.url(), autocommit=True) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS n")
        catch_up(primary, replica)
        with held_back(replica):
            connection.execute("INSERT INTO t VALUES (2)")
            assert one(replica.url(), "SELECT count(*) FROM t") == 1
        catch_up(primary, replica)
    assert one(replica.url(), "SELECT count(*) FROM t") == 2


def test_consecutive_transactions_through_the_pooler_meet_different_sessions(
    postgres: Cluster, pooler: Callable[..., Bouncer]
) -> None:
    url = pooler(postgres).url(postgres.url())
    with (
        psycopg.connect(url, prepare_threshold=None) as first,
        psycopg.connect(url, prepare_threshold=None) as other,
    ):
        met = set()
        for _ in range(2):
            met.add(first.execute("SELECT pg_backend_pid()").fetchone())
            met.add(other.execute("SELECT pg_backend_pid()").fetchone())
            other.commit()
            met.add(other.execute("SELECT pg_backend_pid()").fetchone())
            first.commit()
            other.commit()
    assert len(met) > 1
