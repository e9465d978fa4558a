"""Read models on a PostgreSQL set up as in production: who makes tables, who changes and who reads them."""

from __future__ import annotations

from contextlib import ExitStack, closing

import psycopg
import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.application.edge import Edge
from ledger.errors import StoreUnavailable
from ledger.stores.postgres.address import parse
from ledger.stores.postgres.inspection import inspect
from ledger.stores.postgres.roles import Roles, establish
from ledger.stores.postgres.server import Server
from ledger.stores.postgres.store import PostgresStore
from ledger.stores.postgres.template import DEFAULT_SCHEMA
from projections import work
from projections.runner import Runner
from projections.runs import RUNS, Runs
from projections.standing import forget, status, wait_for
from tests.projections.samples import Counts, catch_up
from tests.servers.cluster import Cluster
from tests.stores.secured import Secured, secured

TABLE = f"{DEFAULT_SCHEMA}.projection_runs_v{Runs.version}_runs"


@pytest.fixture
def place(postgres: Cluster) -> Secured:
    return secured(postgres)


def make(url: str) -> None:
    with closing(PostgresStore(url)) as store:
        store.read_models().create(Runs().model)


def test_a_writer_may_not_make_tables_and_is_told_who_does(place: Secured) -> None:
    writer = place.writer()
    with open_ledger(writer) as ledger:
        ledger.open_run("run", "goal")
        with pytest.raises(StoreUnavailable) as refused:
            catch_up(ledger, Runs())
        assert refused.value.data["reason"] == "no_privilege"
        assert "intent-ledger project create" in str(refused.value)
        make(place.migrator)
        catch_up(ledger, Runs())
        assert status(ledger)[0].events == 1
        forget(ledger, Runs())
        catch_up(ledger, Runs())


def test_a_runner_goes_on_with_the_others_where_it_may_not_make_the_tables_of_one(place: Secured) -> None:
    class Missing(Runs):
        name = "missing"

    make(place.migrator)
    with open_ledger(place.writer()) as ledger:
        ledger.open_run("run", "goal")
        with pytest.raises(StoreUnavailable):
            catch_up(ledger, Missing(), Runs())
        assert [one.projection for one in status(ledger)] == ["runs"]
        with pytest.raises(StoreUnavailable):
            Runner(ledger, [Missing()]).run()


def test_a_reader_reads_and_changes_nothing(place: Secured) -> None:
    make(place.migrator)
    with open_ledger(place.writer()) as ledger:
        ledger.open_run("run", "goal")
        catch_up(ledger, Runs())
    with psycopg.connect(place.reader(), autocommit=True) as connection:
        assert connection.execute(f"SELECT run FROM {TABLE}".encode()).fetchall() == [("run",)]
        assert connection.execute("SELECT events FROM intent_ledger.projections").fetchall() == [(1,)]
        for statement in (f"DELETE FROM {TABLE}", "UPDATE intent_ledger.projections SET gid = 0"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement.encode())


def test_tenants_are_kept_apart_by_the_database_itself(place: Secured) -> None:
    make(place.migrator)
    acme = place.login(place.roles.writer, tenant="acme")
    for url, tenant in ((acme, "acme"), (place.writer(), "other")):
        with open_ledger(url, tenant=tenant) as ledger:
            ledger.open_run("run", f"goal of {tenant}")
            catch_up(ledger, Runs())
    with closing(PostgresStore(acme)) as store:
        models, model = store.read_models(), Runs().model
        assert [row[0] for row in models.page("acme", model, RUNS)] == ["run"]
        assert models.page("other", model, RUNS) == []
        assert models.cursors("other") == []
        models.forget("other", model)
        with pytest.raises(StoreUnavailable):
            models.take("other", model, holder="acme", seconds=30)
    with closing(PostgresStore(place.writer())) as store:
        assert len(store.read_models().page("other", Runs().model, RUNS)) == 1


def test_one_who_sees_one_tenant_reads_on_behind_its_last_record(place: Secured) -> None:
    """The hash of a record of others is not shown to it: it begins again behind its own."""
    make(place.migrator)
    acme = place.login(place.roles.writer, tenant="acme")
    with open_ledger(acme, tenant="acme") as mine, open_ledger(place.writer(), tenant="other") as other:
        run = mine.open_run("run", "goal")
        other.open_run("run", "goal")
        for number in range(3):
            catch_up(mine, Runs())
            assert status(mine)[0].position == mine.store.end()
            run.promise(f"p-{number}", "do", owed_to="human:kim")
        catch_up(mine, Runs())
        assert status(mine)[0].events == 4


def test_a_check_up_finds_nothing_wrong_with_tables_of_projections(place: Secured) -> None:
    before = inspect(place.migrator).altered
    make(place.migrator)
    assert inspect(place.migrator).altered == before == ()
    with psycopg.connect(place.url, autocommit=True) as connection:
        connection.execute(f"CREATE POLICY open ON {DEFAULT_SCHEMA}.events USING (true)".encode())
    assert inspect(place.migrator).altered == ("policy open: not the ledger's",)


def test_roles_that_come_later_may_use_tables_that_are_there(postgres: Cluster) -> None:
    url = postgres.fresh_database()
    with open_ledger(url) as ledger:
        ledger.open_run("run", "goal")
        catch_up(ledger, Runs())
    roles = Roles.named(f"late_{url.rpartition('/')[2]}"[:40].lower())
    with closing(Server(parse(url).parameters).unchecked()) as session:
        establish(session, DEFAULT_SCHEMA, roles)
    place = Secured(postgres, url, url, roles)
    with open_ledger(place.writer()) as ledger:
        ledger.open_run("second", "goal")
        catch_up(ledger, Runs())
        assert status(ledger)[0].events == 2


def test_however_many_runners_keep_no_connection(postgres: Cluster) -> None:
    """Who stands by, waits or works holds none in between: they share the few that the store has."""
    with closing(PostgresStore(postgres.fresh_database(), max_readers=1)) as store, ExitStack() as running:
        ledger = Ledger(Edge(store, "default", Actor("service:tests")))
        run = ledger.open_run("run", "goal")
        for _ in range(12):
            running.enter_context(Runner(ledger, [Runs(), Counts()]).in_background())
        for number in range(5):
            run.promise(f"p-{number}", "do", owed_to="human:kim")
            assert wait_for(ledger, Runs(), timeout=60)
            assert wait_for(ledger, Counts(), timeout=60)
        assert ledger.contract("run").position == 6


@pytest.mark.parametrize(("large", "learnt"), [(3, 3), (4, -1)])
def test_the_database_learns_how_large_the_tables_of_a_build_are(
    fresh_database: str, monkeypatch: pytest.MonkeyPatch, large: int, learnt: int
) -> None:
    monkeypatch.setattr(work, "LARGE", large)
    with open_ledger(fresh_database) as ledger:
        for number in range(3):
            ledger.open_run(f"run-{number}", "goal")
        catch_up(ledger, Runs(), page=2)
    with psycopg.connect(fresh_database) as connection:
        row = connection.execute("SELECT reltuples::int FROM pg_class WHERE oid = %s::regclass", [TABLE])
        assert row.fetchone() == (learnt,)


def test_who_may_not_let_it_learn_is_not_kept_from_building(
    place: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "LARGE", 1)
    make(place.migrator)
    with open_ledger(place.writer()) as ledger, psycopg.connect(place.url) as other:
        ledger.open_run("run", "goal")
        catch_up(ledger, Runs())
        assert status(ledger)[0].state == "active"
        query = "SELECT reltuples::int FROM pg_class WHERE oid = %s::regclass"
        assert other.execute(query, [TABLE]).fetchone() == (-1,)


def test_nobody_waits_for_who_is_learning_it(fresh_database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "LARGE", 1)
    with open_ledger(fresh_database, busy_seconds=0.2) as ledger:
        ledger.open_run("run", "goal")
        ledger.store.read_models().create(Runs().model)
        with psycopg.connect(fresh_database) as other:
            other.execute(f"LOCK TABLE {TABLE} IN SHARE UPDATE EXCLUSIVE MODE".encode())
            catch_up(ledger, Runs())
            assert status(ledger)[0].state == "active"
