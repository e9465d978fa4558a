"""The check-up of a ledger on PostgreSQL: each broken promise is named, with what to do."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import psycopg
import pytest

from ledger import open_ledger
from ledger.adapters import checkup_postgres
from ledger.adapters.checkup import Check
from ledger.adapters.checkup_postgres import check_up_server
from ledger.errors import StoreBusy, StoreUnavailable
from ledger.stores.opening import open_store
from ledger.stores.postgres import inspection
from tests.servers.cluster import Cluster, Server, kinds, shared
from tests.servers.replica import catch_up, held_back
from tests.stores.secured import Secured, secured

NOW = datetime(2026, 1, 31, 9, 0, tzinfo=UTC)
BEHIND_A_POOLER = "?prepare_threshold=none"


def look(url: str, now: datetime = NOW) -> dict[str, Check]:
    checks = check_up_server(url, lambda found: open_store(found, create=False), lambda: now)
    assert len({check.name for check in checks}) == len(checks)
    assert all(check.advice for check in checks if check.state != "ok")
    return {check.name: check for check in checks}


def execute(url: str, statement: str) -> None:
    with psycopg.connect(url.partition("?")[0], autocommit=True) as connection:
        connection.execute(statement)


@pytest.fixture(scope="module", params=kinds())
def place(request: pytest.FixtureRequest) -> Secured:
    """Return a ledger with roles, in which somebody has begun a run; no test changes it."""
    found = secured(shared(request.param))
    with open_ledger(found.writer(), clock=lambda: NOW) as ledger:
        ledger.open_run("r", "g")
    return found


@pytest.fixture
def own(fresh_database: str) -> str:
    """Return the URL of a ledger that a test may spoil, as a superuser."""
    with open_ledger(fresh_database, clock=lambda: NOW) as ledger:
        ledger.open_run("r", "g")
    return fresh_database


def test_a_ledger_as_it_should_be_breaks_no_promise(place: Secured) -> None:
    checks = look(place.login(place.roles.writer, place.roles.every_tenant, "pg_read_all_stats"))
    assert {check.state for check in checks.values()} <= {"ok", "note"}
    assert {name for name, check in checks.items() if check.state == "note"} <= {
        "data_checksums",
        "idle_in_transaction_session_timeout",
    }
    assert {
        "postgresql",
        "guards",
        "fsync",
        "rights",
        "tenants",
        "epoch",
        "transactions",
        "clock",
    } <= checks.keys()


SPOILT = {
    "trigger events_refuse_change": "DROP TRIGGER events_refuse_change ON {s}.events",
    "trigger events_refuse_change: switched off": "ALTER TABLE {s}.events DISABLE TRIGGER ALL",
    "trigger epoch_refuse_lower: switched off": "ALTER TABLE {s}.epoch ENABLE TRIGGER epoch_refuse_lower",
    "trigger heads_refuse_back": "CREATE OR REPLACE TRIGGER heads_refuse_back BEFORE UPDATE ON {s}.heads "
    "FOR EACH ROW WHEN (false) EXECUTE FUNCTION {s}.refuse()",
    "trigger mine: not the ledger's": "CREATE TRIGGER mine BEFORE INSERT ON {s}.events "
    "FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "function refuse": "CREATE OR REPLACE FUNCTION {s}.refuse() RETURNS trigger LANGUAGE plpgsql "
    "AS 'BEGIN RETURN NEW; END'",
    "table events: row-level security": "ALTER TABLE {s}.events NO FORCE ROW LEVEL SECURITY",
    "table heads: row-level security": "ALTER TABLE {s}.heads DISABLE ROW LEVEL SECURITY",
    "policy events_order": "DROP POLICY events_order ON {s}.events",
    "policy events_tenant": "ALTER POLICY events_tenant ON {s}.events USING (true)",
    "policy heads_stored": "ALTER POLICY heads_stored ON {s}.heads WITH CHECK (true)",
    "policy mine: not the ledger's": "CREATE POLICY mine ON {s}.events USING (true)",
    "index events_claim": "DROP INDEX {s}.events_claim",
    "constraint events_gid": "ALTER TABLE {s}.events DROP CONSTRAINT events_gid",
    "table events: not logged": "ALTER TABLE {s}.events SET UNLOGGED",
    "rule mine: not the ledger's": "CREATE RULE mine AS ON INSERT TO {s}.events DO INSTEAD NOTHING",
}


def test_whatever_was_changed_in_the_schema_is_named(fresh_database: str) -> None:
    found = {}
    for name, statement in SPOILT.items():
        schema = f"spoilt_{secrets.token_hex(4)}"
        url = f"{fresh_database}?schema={schema}"
        open_store(url).close()
        assert inspection.inspect(url).altered == ()
        execute(url, statement.format(s=schema))
        found[name] = inspection.inspect(url).altered
    assert {name: altered for name, altered in found.items() if name not in altered} == {}


def test_a_ledger_of_which_a_table_is_missing_cannot_be_looked_at(own: str) -> None:
    execute(own, "ALTER TABLE intent_ledger.snapshots RENAME TO lost")
    with pytest.raises(StoreUnavailable) as told:
        look(own)
    assert told.value.data["reason"] == "incomplete"
    assert "snapshots" in str(told.value)


def test_a_spoilt_schema_is_bad_news(own: str) -> None:
    execute(own, "DROP TRIGGER events_refuse_change ON intent_ledger.events")
    guards = look(own)["guards"]
    assert guards.state == "bad"
    assert "events_refuse_change" in guards.found


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("synchronous_commit", "off"),
        ("default_transaction_isolation", "serializable"),
        ("default_transaction_read_only", "on"),
    ],
)
def test_a_setting_of_the_role_is_bad_where_the_ledger_cannot_overrule_it(
    place: Secured, setting: str, value: str
) -> None:
    login = place.writer()
    execute(place.url, f"ALTER ROLE {login.partition('//')[2].partition(':')[0]} SET {setting} = {value}")
    assert look(login)[setting].state == "note"
    assert look(login + BEHIND_A_POOLER)[setting].state == "bad"


def test_waiting_without_end_behind_a_pooler_is_noticed(place: Secured) -> None:
    login = place.writer()
    assert look(login + BEHIND_A_POOLER)["lock_timeout"].state == "note"
    assert "lock_timeout" not in look(login)


def test_a_server_that_forgets_is_noticed(other_cluster: Callable[..., Server]) -> None:
    cluster = other_cluster({"fsync": "off", "zero_damaged_pages": "on"}).cluster
    open_store(cluster.url(), unsafe=True).close()
    checks = look(cluster.url())
    assert {name for name, check in checks.items() if check.state == "bad"} == {
        "fsync",
        "zero_damaged_pages",
        "store",
    }
    assert checks["store"].found == "unsafe_store"


@pytest.mark.parametrize("how", ["session", "prepared"])
def test_whoever_holds_followers_back_is_named(
    other_cluster: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setattr(checkup_postgres, "HELD_SECONDS", 0.0)
    cluster = other_cluster().cluster
    open_store(cluster.url()).close()
    elsewhere = cluster.fresh_database()
    assert look(cluster.url())["transactions"].state == "ok"
    with psycopg.connect(elsewhere, application_name="forgetful") as holder:
        holder.execute("CREATE TABLE t ()")
        if how == "prepared":
            holder.execute("PREPARE TRANSACTION 'forgotten'")
        told = look(cluster.url())["transactions"]
    assert told.state == "bad"
    assert ("forgetful" if how == "session" else "forgotten") in told.found


def test_whoever_locks_the_tables_is_named_though_it_has_no_id(
    own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkup_postgres, "HELD_SECONDS", 0.0)
    assert {look(own)[name].state for name in ("locks", "idle in transaction")} == {"ok"}
    with psycopg.connect(own, application_name="forgetful") as holder:
        holder.execute("LOCK TABLE intent_ledger.snapshots IN SHARE MODE")
        told = look(own)
        assert (told["locks"].state, told["idle in transaction"].state) == ("bad", "note")
        assert "forgetful" in told["locks"].found
        # Others of this server hold ids.
        assert "forgetful" not in told["transactions"].found
        holder.rollback()
        holder.execute("SELECT count(*) FROM intent_ledger.events")
        told = look(own)
        assert (told["locks"].state, told["idle in transaction"].state) == ("ok", "note")
        assert "forgetful" in told["idle in transaction"].found


def test_a_check_up_does_not_wait_for_ever_for_whoever_keeps_everybody_out(
    own: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspection, "_LOCK_TIMEOUT", b"SET LOCAL lock_timeout = '50ms'")
    with psycopg.connect(own, application_name="forgetful") as holder:
        holder.execute("LOCK TABLE intent_ledger.events")
        with pytest.raises(StoreBusy) as busy:
            inspection.inspect(own, held_seconds=0.0)
    assert [held["application"] for held in busy.value.data["holders"]] == ["forgetful"]


def test_a_transaction_whose_age_is_hidden_is_no_alarm(place: Secured) -> None:
    """It has only just begun: who may see that is told that all is well, and nobody may be alarmed."""
    blind = place.login(place.roles.writer, place.roles.every_tenant)
    with psycopg.connect(place.cluster.url(), application_name="brief") as busy:
        busy.execute("SELECT pg_current_xact_id()")
        told = look(blind)["transactions"]
    assert told.state == "note"
    assert "brief" in told.found
    assert "GRANT pg_read_all_stats TO" in told.advice


def test_what_a_role_may_do_is_told(place: Secured) -> None:
    assert look(place.writer())["rights"].state == "ok"
    assert "only reads" in look(place.reader())["rights"].found
    assert "member of the owner" in look(place.migrator)["rights"].found
    superuser = look(place.url)
    assert "superuser" in superuser["rights"].found
    assert superuser["tenants"].state == "note"


def test_a_note_about_forgotten_transactions_says_what_to_do(place: Secured) -> None:
    login = place.writer()
    told = look(login)["idle_in_transaction_session_timeout"]
    role, _, statement = told.advice.partition("ALTER ROLE ")[2].partition(" ")
    assert told.state == "note"
    execute(place.url, f"ALTER ROLE {role} {statement}")
    assert look(login)["idle_in_transaction_session_timeout"].state == "ok"


def test_a_role_that_may_not_look_is_told_so(place: Secured) -> None:
    with pytest.raises(StoreUnavailable) as told:
        look(place.login())
    assert told.value.data["reason"] == "no_privilege"


def test_a_role_without_tenants_is_bad_news(place: Secured) -> None:
    checks = look(place.login(place.roles.writer))
    assert checks["tenants"].state == "bad"
    assert checks["store"].found == "no_tenant"
    assert look(place.login(place.roles.writer, tenant="acme"))["tenants"] == Check("tenants", "ok", "1")


def test_an_owner_that_logs_in_and_tenants_of_nobody_are_noted(own: str) -> None:
    role = f"gone_{secrets.token_hex(6)}"
    execute(own, f"CREATE ROLE {role}")
    execute(own, f"INSERT INTO intent_ledger.members VALUES ('{role}', 'acme')")
    assert "members" not in look(own)
    execute(own, f"DROP ROLE {role}")
    checks = look(own)
    assert checks["members"].state == "note"
    assert checks["owner"].state == "note"


def test_an_older_and_a_newer_schema_are_noticed(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "supported_version", lambda: 99)
    old = look(own)["schema"]
    assert (old.state, old.advice) == ("bad", "stop older programs, then run: intent-ledger migrate")
    monkeypatch.undo()
    execute(own, "INSERT INTO intent_ledger.ledger_migrations VALUES (99, 'future')")
    assert look(own)["schema"] == Check("schema", "bad", "99", "upgrade intent-ledger")


def test_a_ledger_from_another_server_is_noticed_and_left_as_it_is(own: str) -> None:
    execute(own, "UPDATE intent_ledger.epoch SET system_identifier = 1")
    assert look(own)["epoch"].state == "bad"
    assert look(own)["epoch"].state == "bad"
    open_store(own).close()
    assert look(own)["epoch"].state == "ok"


def test_a_clock_that_went_back_is_noticed(own: str) -> None:
    assert look(own, NOW - timedelta(hours=1))["clock"].state == "bad"
    assert look(own, NOW + timedelta(hours=1))["clock"].state == "ok"


def test_a_server_that_runs_out_of_transactions_is_noticed(
    place: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkup_postgres, "WRAPAROUND_SOON", 0)
    assert look(place.url)["transaction ids"].state == "note"
    monkeypatch.setattr(checkup_postgres, "WRAPAROUND_NEAR", 0)
    assert look(place.url)["transaction ids"].state == "bad"


def test_a_replica_can_be_looked_at(other_cluster: Callable[..., Server]) -> None:
    primary = other_cluster().cluster
    open_store(primary.url()).close()
    replica = other_cluster(copy_of=primary).cluster
    catch_up(primary, replica)
    checks = look(replica.url())
    assert checks["replica"].state == "note"
    assert {check.state for check in checks.values()} <= {"ok", "note"}


def test_the_replica_that_an_address_names_is_looked_at(
    other_cluster: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    primary = other_cluster().cluster
    open_store(primary.url()).close()
    replica = other_cluster(copy_of=primary).cluster
    catch_up(primary, replica)
    both = f"{primary.url()}?replica_url={quote(replica.url(), safe='')}"
    assert look(both)["replica"].state == "ok"
    assert "replica" not in look(primary.url())
    monkeypatch.setattr(checkup_postgres, "LAG_SECONDS", 0.0)
    with held_back(replica):
        with open_ledger(primary.url()) as ledger:
            ledger.open_run("r", "g")
        assert (look(both)["replica"].state, "behind" in look(both)["replica"].found) == ("note", True)
    itself = look(f"{primary.url()}?replica_url={quote(primary.url(), safe='')}")["replica"]
    assert (itself.state, "no replica" in itself.found) == ("note", True)


def test_nothing_is_written(other_cluster: Callable[..., Server]) -> None:
    cluster = other_cluster().cluster
    open_store(cluster.url()).close()

    def next_transaction() -> object:
        with psycopg.connect(cluster.url()) as connection:
            return connection.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text").fetchone()

    before = next_transaction()
    look(cluster.url())
    assert next_transaction() == before


def test_what_is_no_ledger_cannot_be_looked_at(postgres: Cluster, fresh_database: str) -> None:
    with pytest.raises(StoreUnavailable) as told:
        look(fresh_database)
    assert told.value.data["reason"] == "empty"
    assert postgres.password not in str(told.value)
