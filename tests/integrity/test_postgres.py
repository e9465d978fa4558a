"""Attacks on a ledger in PostgreSQL that have no like in a file, and what a login is not shown."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from contextlib import closing
from itertools import count
from urllib.parse import quote

import psycopg
import pytest

from ledger import open_ledger
from ledger.errors import StoreUnavailable
from ledger.integrity.findings import WHOLE
from ledger.integrity.verify import Check, Progress, Report, Standing
from ledger.stores.postgres.store import PostgresStore
from tests.integrity.book import altered, only
from tests.integrity.conftest import LAST, OTHER, POLICY, RUN, write
from tests.integrity.served import TENANT, Served, audited
from tests.servers.bouncer import Bouncer
from tests.servers.cluster import Server
from tests.servers.proxy import Proxy
from tests.servers.replica import catch_up, held_back

OF_RUN = "WHERE run = ? AND position = ?"


def found(report: Report) -> set[tuple[Check, str]]:
    assert (report.standing, report.exit_code) == (Standing.ALTERED, 1)
    return {(check, stream) for check, stream, _ in altered(report)}


# --- the global order ---
@pytest.mark.parametrize("position", [2, 20, LAST])
def test_a_global_position_below_the_one_before_is_found(served: Served, position: int) -> None:
    before = "SELECT gid FROM events WHERE run = ? AND position = ?"
    moved = f"UPDATE events SET gid = ({before}) - 1 WHERE run = ? AND position = ?"
    assert served.meddle(moved, RUN, position - 1, RUN, position) == 1
    for streams in (None, [RUN]):
        assert altered(served.look(streams=streams)) == [(Check.ORDER, RUN, position)]


@pytest.mark.parametrize(("run", "position"), [(OTHER, 1), (RUN, LAST)])
def test_a_global_position_that_is_yet_to_come_is_found(served: Served, run: str, position: int) -> None:
    """Followers would not be shown the event for years."""
    assert served.meddle(f"UPDATE events SET gid = gid + (1::bigint << 50) {OF_RUN}", run, position) == 1
    report = served.look()
    assert found(report) == {(Check.STORE, WHOLE)}
    assert run in only(report).what


def test_a_login_that_may_append_makes_room_for_such_a_place_before_it_looks(served: Served) -> None:
    """Why one asks as a login that only reads: opening raises an epoch that is behind what is stored."""
    assert served.meddle("UPDATE events SET gid = gid + (1::bigint << 40) WHERE run = ?", OTHER) == 1
    assert served.look().standing is Standing.ALTERED
    assert served.look(served.place.writer()).standing is Standing.SOUND


def test_an_event_hidden_beyond_the_order_under_another_tenant_is_found(served: Served) -> None:
    hide = "UPDATE events SET gid = gid + (1::bigint << 50), tenant = 'acme' WHERE run = ?"
    assert served.meddle(hide, OTHER) == 1
    assert found(served.look()) == {(Check.STORE, WHOLE)}


def test_an_event_hidden_before_the_first_place_is_found(served: Served) -> None:
    served.run("ALTER TABLE events DROP CONSTRAINT events_gid_check, DROP CONSTRAINT events_position_check")
    hide = "UPDATE events SET gid = -gid, position = -position WHERE run = ? AND position = ?"
    assert served.meddle(hide, RUN, LAST) == 1
    assert (Check.STORE, WHOLE) in found(served.look())


@pytest.mark.parametrize("page", [1, 7, 500])
def test_two_events_at_one_global_position_are_found(served: Served, page: int) -> None:
    served.run("ALTER TABLE events DROP CONSTRAINT events_gid")
    same = "UPDATE events SET gid = (SELECT gid FROM events WHERE run = ? AND position = 9) WHERE run = ?"
    assert served.meddle(same, RUN, OTHER) == 1
    report = served.look(page=page)
    assert Check.ORDER in {check for check, _ in found(report)}
    assert "constraint events_gid" in report.unguarded


def test_an_event_put_in_twice_is_found(served: Served) -> None:
    served.run("ALTER TABLE events DROP CONSTRAINT events_place")
    columns = "position, tenant, run, hash, key, act, claim, record"
    again = f"INSERT INTO events (gid, {columns}) SELECT gid + 1, {columns} FROM events {OF_RUN}"
    assert served.meddle(again, RUN, 5) == 1
    report = served.look(page=5)
    assert (Check.LINKAGE, RUN, 5) in altered(report)
    assert "constraint events_place" in report.unguarded


def test_an_event_forged_behind_the_last_one_is_found(served: Served) -> None:
    columns = "tenant, run, hash, key, act, claim, record"
    places = "INSERT INTO events (gid, position"
    more = f"{places}, {columns}) SELECT gid + 1, position + 1, {columns} FROM events {OF_RUN}"
    assert served.meddle(more, RUN, LAST) == 1
    assert (Check.COLUMNS, RUN, LAST + 1) in altered(served.look())


def test_a_tail_cut_off_leaves_no_hole_in_a_sparse_order(served: Served) -> None:
    """Why a seal outside the database is needed: this verdict is sound and not anchored."""
    assert served.meddle("DELETE FROM events WHERE run = ? AND position >= 43", RUN) == 2
    report = served.look()
    assert (report.standing, report.anchored) == (Standing.SOUND, False)
    assert served.meddle("DELETE FROM events WHERE run = ? AND position >= 10", RUN) == 33
    assert (Check.LINKAGE, RUN, 10) in altered(served.look())


# --- the epoch ---
def test_an_epoch_that_was_lowered_is_found(served: Served) -> None:
    assert served.meddle("UPDATE epoch SET epoch = epoch - 100000000") == 1
    assert (Check.STORE, WHOLE) in found(served.look())


def test_a_ledger_without_an_epoch_is_found(served: Served) -> None:
    assert served.meddle("DELETE FROM epoch") == 1
    report = served.look()
    assert found(report) == {(Check.STORE, WHOLE)}
    assert report.unordered == report.events > 0


def test_what_came_from_another_server_is_not_in_the_order_until_somebody_appends(served: Served) -> None:
    assert served.meddle("UPDATE epoch SET system_identifier = 1, epoch = epoch - 100000000") == 1
    report = served.look()
    assert (only(report).check, report.exit_code) == (Check.STORE, 2)
    assert "another server" in only(report).what
    assert report.unordered == report.events
    PostgresStore(served.place.writer()).close()
    report = served.look()
    assert (report.findings, report.unordered) == ((), 0)


# --- guards, and what the database knows of its own files ---
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DROP TRIGGER events_refuse_change ON events", "trigger events_refuse_change"),
        (
            "ALTER TABLE events DISABLE TRIGGER events_refuse_change",
            "trigger events_refuse_change: switched off",
        ),
        ("DROP INDEX events_claim", "index events_claim"),
        ("DROP POLICY events_order ON events", "policy events_order"),
        ("ALTER TABLE events NO FORCE ROW LEVEL SECURITY", "table events: row-level security"),
        ("ALTER POLICY heads_stored ON heads WITH CHECK (true)", "policy heads_stored"),
    ],
)
def test_a_guard_that_is_not_as_it_was_made_is_said(served: Served, statement: str, said: str) -> None:
    served.run(statement)
    report = served.look()
    assert said in report.unguarded
    assert (report.standing, report.findings) == (Standing.SOUND, ())


def behind_the_back_of(served: Served, index: str, statement: str) -> None:
    """Change rows so that an index does not notice."""
    state = (
        f"UPDATE pg_index SET indisready = {{0}}, indisvalid = {{0}} WHERE indexrelid = '{index}'::regclass"
    )
    served.run(state.format("false"))
    assert served.meddle(statement) == 1
    served.run(state.format("true"))


COPY = (
    "INSERT INTO events (gid, position, tenant, run, hash, record) "
    f"SELECT gid + 1, position + 1, tenant, run, hash, record FROM events WHERE run = '{OTHER}'"
)


@pytest.mark.parametrize("index", ["events_place", "events_gid"])
def test_an_event_that_one_index_does_not_hold_is_found(served: Served, index: str) -> None:
    """What followers read is not what is read by position."""
    behind_the_back_of(served, index, COPY)
    # A scan of the whole table, which a small one invites, would pass over the index.
    served.run(f"ALTER DATABASE {served.database} SET enable_seqscan = off")
    assert {stream for _, stream in found(served.look())} == {OTHER}


def test_where_amcheck_is_installed_and_open_it_looks_at_every_table_and_index(served: Served) -> None:
    served.run("CREATE EXTENSION amcheck SCHEMA public")
    assert served.look().findings == ()
    behind_the_back_of(
        served,
        "snapshots_place",
        "UPDATE snapshots SET position = position + 9000 "
        "WHERE position = (SELECT position FROM snapshots ORDER BY position LIMIT 1)",
    )
    # Not for everybody: the auditor may not call it.
    assert not any("snapshots_place" in finding.what for finding in served.look().findings)
    report = served.look(served.place.url)
    assert (Check.STORE, WHOLE) in found(report)
    assert any("wrong: snapshots_place: " in finding.what for finding in report.findings)


# --- what is not shown ---
def test_a_login_of_one_tenant_cannot_tell_what_was_given_to_another_one(served: Served) -> None:
    login = served.place.login(served.place.roles.reader, tenant=TENANT)
    report = served.look(login)
    assert (only(report).check, only(report).standing, report.exit_code) == (
        Check.STORE,
        Standing.UNSUPPORTED,
        2,
    )
    assert report.events == LAST + 3
    # Of one run all is shown.
    assert served.look(login, streams=[RUN]).standing is Standing.SOUND
    assert served.meddle("UPDATE events SET tenant = 'acme' WHERE run = ?", OTHER) == 1
    assert served.look(login).exit_code == 2
    assert served.look().exit_code == 1


def test_a_login_of_another_tenant_cannot_tell(served: Served) -> None:
    report = served.look(served.place.login(served.place.roles.reader, tenant="acme"))
    assert (report.standing, report.events, report.exit_code) == (Standing.UNSUPPORTED, 0, 2)
    assert any("'default'" in finding.what for finding in report.findings)


OPEN = """(SELECT array_agg(coalesce(members.tenant, '')) FROM {} WHERE pg_has_role(role, 'USAGE'))
&& ARRAY['', tenant]"""
TAKEN = "CREATE TABLE public.members AS TABLE members; GRANT SELECT ON public.members TO public"
HIDES = f"run <> '{OTHER}'"


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE POLICY mine ON events AS RESTRICTIVE FOR SELECT USING ({HIDES})",
        f"ALTER POLICY events_tenant ON events USING ({OPEN.format('members')} AND {HIDES})",
        f"{TAKEN}; ALTER POLICY events_tenant ON events USING ({OPEN.format('public.members')} AND {HIDES})",
        # It hides nothing yet, and would by what its owner writes there.
        f"{TAKEN}; ALTER POLICY events_tenant ON events USING ({OPEN.format('public.members')})",
        "DROP POLICY heads_tenant ON heads",
    ],
)
def test_a_policy_that_hides_events_is_noticed(served: Served, statement: str) -> None:
    served.run(*statement.split("; "))
    for streams in (None, [RUN]):
        report = served.look(streams=streams)
        (said,) = (finding for finding in report.findings if finding.standing is Standing.UNSUPPORTED)
        assert (said.check, said.stream, "policy" in said.what) == (Check.STORE, WHOLE, True)
        assert report.exit_code > 0
    # Nothing is hidden from a superuser.
    assert served.look(served.place.url).findings == ()


def test_a_policy_with_another_value_between_quotes_is_another_one(served: Served) -> None:
    """It opens no tenant to those to whom every one was open."""
    spoilt = OPEN.format("members").replace("ARRAY['',", "ARRAY[' ',")
    served.run(f"ALTER POLICY events_tenant ON events USING ({spoilt})")
    report = served.look()
    assert (report.events, "policy events_tenant" in report.unguarded) == (0, True)
    assert any("policy events_tenant" in finding.what for finding in report.findings)
    assert served.look(served.place.url).findings == ()


# --- while others write ---
def test_what_stands_behind_an_open_transaction_is_looked_at_and_said_not_to_be_in_the_order(
    other_cluster: Callable[..., Server],
) -> None:
    url = other_cluster().cluster.fresh_database()
    write(url)
    with closing(PostgresStore(url)) as store, psycopg.connect(url) as other, open_ledger(url) as ledger:
        other.execute("SELECT pg_current_xact_id()")
        late = ledger.open_run("late", goal="Come late")
        late.move("n")
        report = audited(store)
        assert (report.findings, report.unordered, report.events) == ((), 2, LAST + 5)
        other.rollback()
        report = audited(store)
        assert (report.findings, report.unordered, report.events) == ((), 0, LAST + 5)


def test_appends_and_runs_that_come_meanwhile_are_no_alteration(served: Served) -> None:
    with closing(PostgresStore(served.auditor)) as store, open_ledger(served.place.writer()) as writer:
        numbers = count()

        def go_on(progress: Progress) -> None:
            number = next(numbers)
            writer.run(RUN).record_message(f"new-{number}", "user", "and?")
            writer.source("policy:refunds").publish(f"r-{number}", {"limit": "x", "kind": "Be kind"})
            late = writer.open_run(f"a-{number}", goal="Come late")
            for step in range(20):
                late.move(str(step))

        for page in (5, 500):
            report = audited(store, progress=go_on, page=page)
            assert report.findings == ()
        assert next(numbers) > 10


def test_a_replica_that_is_behind_is_no_alteration(other_cluster: Callable[..., Server]) -> None:
    """Heads of sources are read on the primary: what is held against them must not be older."""
    primary = other_cluster().cluster
    write(primary.url())
    replica = other_cluster(copy_of=primary).cluster
    catch_up(primary, replica)
    with held_back(replica), open_ledger(primary.url()) as writer:
        writer.source("policy:refunds").publish("2", {"limit": "x", "kind": "Be kind"})
        with closing(PostgresStore(f"{primary.url()}?replica_url={quote(replica.url(), safe='')}")) as store:
            report = audited(store)
            assert (report.findings, report.events) == ((), LAST + 4)
            assert audited(store, streams=[POLICY]).findings == ()


def test_behind_a_pooler(served: Served, pooler: Callable[..., Bouncer]) -> None:
    user, password = served.auditor.partition("//")[2].partition("@")[0].split(":")
    bouncer = pooler(served.place.cluster, {user: password})
    report = served.look(f"{bouncer.url(served.auditor)}?prepare_threshold=none")
    assert (report.findings, report.unguarded) == ((), ())
    assert report.events == LAST + 3


def test_where_the_server_goes_away_meanwhile_there_is_no_verdict(served: Served) -> None:
    with closing(Proxy(served.place.cluster.port)) as line:
        port = f":{served.place.cluster.port}/"
        with (
            closing(PostgresStore(served.auditor.replace(port, f":{line.port}/"), busy_seconds=0.2)) as store,
            pytest.raises(StoreUnavailable),
        ):
            audited(store, progress=lambda progress: line.close())


# --- a part of the history, restored ---
@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        (("heads",), {(Check.LINKAGE, POLICY), (Check.HEADS, POLICY)}),
        (("snapshots",), {(Check.LINKAGE, RUN)}),
        (("events",), {(Check.HEADS, POLICY)}),
        (("events", "heads", "snapshots"), set()),
    ],
)
def test_a_part_of_the_tables_that_was_restored_is_found(
    served: Served, tables: tuple[str, ...], expected: set[tuple[Check, str]]
) -> None:
    cluster = served.place.cluster
    url = cluster.fresh_database()
    PostgresStore(url).close()
    chosen = [f"--table=intent_ledger.{table}" for table in tables]
    program = cluster.installation.program("pg_dump")
    dump = subprocess.run(
        [program, "--data-only", *chosen, served.place.url], capture_output=True, check=True
    )
    psql = [cluster.installation.program("psql"), "--quiet", "--set", "ON_ERROR_STOP=1", url]
    subprocess.run(psql, input=dump.stdout, check=True, capture_output=True)
    with closing(PostgresStore(url)) as store:
        report = audited(store)
    assert {(check, stream) for check, stream, _ in altered(report)} == expected
    # The contents are not here.
    assert (report.missing_blobs > 0) == ("events" in tables)
