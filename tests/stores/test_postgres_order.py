"""The global order on PostgreSQL: followers miss nothing, and it is the order of admission."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from ledger.errors import GuardMoved, StoreBusy
from ledger.stores.base import Append, Guard, StoredRow
from ledger.stores.postgres.plans import ORDINALS, plan
from ledger.stores.postgres.store import PostgresStore
from tests.servers.cluster import Server
from tests.servers.replica import catch_up
from tests.servers.waiting import until
from tests.stores.builder import TENANT, assert_whole, everything, ids, one, part, together
from tests.stores.place import administer
from tests.stores.uncommitted import advance, held_open

POLICY = "$source:policy:refunds"


@pytest.fixture
def server(other_cluster: Callable[..., Server]) -> Server:
    """Return a server that transactions may be held open in."""
    return other_cluster({"max_prepared_transactions": "5"})


@pytest.fixture
def store(server: Server) -> Iterator[PostgresStore]:
    with closing(PostgresStore(server.cluster.url(), poll_seconds=0.005)) as store:
        yield store


def is_waiting(server: Server) -> bool:
    """Tell whether some session waits for a lock."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    with psycopg.connect(server.cluster.url(), autocommit=True) as connection:
        return bool(connection.execute(query).fetchall()[0][0])


@pytest.mark.parametrize("first_to_commit", [0, 1])
def test_of_two_transactions_neither_is_skipped_in_whichever_order_they_commit(
    store: PostgresStore, first_to_commit: int
) -> None:
    """Case-139, case-142: a follower that reads after each commit sees both, as they began."""
    store.append(one(part("before", "z")))
    seen: list[StoredRow] = []

    def follow() -> list[str]:
        """Read on from where the last page or the end moved the cursor."""
        end = store.end()
        page = store.tail(after=seen[-1].gid if seen else 0)
        seen.extend(page)
        assert end <= (seen[-1].gid if seen else 0)
        return ids(page)

    assert follow() == ["z"]
    with held_open(store, one(part("run-1", "a"))) as one_of_them:
        assert follow() == []
        with held_open(store, one(part("run-2", "b"))) as other:
            store.append(one(part("run-3", "c")))
            assert follow() == []
            sessions = [one_of_them, other]
            sessions[first_to_commit].command(b"COMMIT")
            early = follow()
            sessions[1 - first_to_commit].command(b"COMMIT")
            late = follow()
    assert early == (["a"] if first_to_commit == 0 else [])
    assert early + late == ["a", "b", "c"]
    assert seen == everything(store)


def test_what_is_stored_and_not_shown_yet_is_told_apart(store: PostgresStore) -> None:
    with held_open(store, one(part("run-1", "a"))) as session:
        (gid,) = store.append(one(part("run-2", "b"))).gids
        assert (store.end(), store.end(newest=True)) == (0, gid)
        assert ids(store.read(TENANT, "run-2")) == ["b"]
        assert not store.wait(0, 0.0)
        session.command(b"ROLLBACK")
    assert store.end() == gid


def test_the_events_of_a_transaction_stand_together_in_the_order_they_were_given(
    store: PostgresStore,
) -> None:
    """A parent before its child, though its name sorts behind it."""
    gids = store.append(one(part("run-b", "parent"), part("run-a", "child", "grandchild"))).gids
    assert [gid - gids[0] for gid in gids] == [0, 1, 2]
    assert gids[0] % ORDINALS == 0
    assert ids(assert_whole(store)) == ["parent", "child", "grandchild"]


def test_a_transaction_that_took_its_id_early_does_not_come_behind_its_own_past(
    store: PostgresStore,
) -> None:
    """Its events would stand before the one they build on; nothing is stored instead."""
    first = part("run-1", "a")
    with closing(store._server.writer()) as session:
        session.command(b"BEGIN")
        session.connection.execute("SELECT pg_current_xact_id()")
        store.append(one(first))
        for behind in (
            one(part("run-1", "b", after=first)),
            one(part("run-1", "b", "c", after=first)),
            one(part("run-1", "b", after=first), part("run-2", "d")),
        ):
            assert session.run(*plan([behind]).first).ntuples == 0
        session.command(b"COMMIT")
    assert ids(everything(store)) == ["a"]


# --- admission ---------------------------------------------------------------------------------------


def test_a_withdrawal_that_is_not_committed_yet_keeps_those_who_rely_on_the_source_waiting(
    server: Server, store: PostgresStore
) -> None:
    """And then they are refused: what was admitted comes before it in the global order, nothing after it."""
    published = part(POLICY, "p-1")
    store.append(one(published))
    relies = one(part("run-1", "accepted"), guards=[Guard(POLICY, 1)])
    with closing(store._server.writer()) as session, ThreadPoolExecutor(1) as pool:
        session.command(b"BEGIN")
        store._writer._lock_heads(session, one(part(POLICY, "w", after=published)))
        store._writer._move(session, one(part(POLICY, "w", after=published)))
        accepting = pool.submit(store.append, relies)
        until(lambda: is_waiting(server), "the acceptance waits for the withdrawal")
        session.command(b"COMMIT")
        with pytest.raises(GuardMoved) as moved:
            accepting.result(60)
    assert (moved.value.expected, moved.value.actual) == (1, 2)
    assert ids(assert_whole(store)) == ["p-1", "w"]


def test_a_withdrawal_waits_for_those_who_rely_on_the_source_and_comes_after_them(
    server: Server, store: PostgresStore
) -> None:
    """It takes its id only when they have committed, whoever began first."""
    published = part(POLICY, "p-1")
    store.append(one(published))
    relies = one(part("run-1", "accepted"), guards=[Guard(POLICY, 1)])
    with held_open(store, relies) as session, ThreadPoolExecutor(1) as pool:
        withdrawing = pool.submit(store.append, one(part(POLICY, "w", after=published)))
        until(lambda: is_waiting(server), "the withdrawal waits for the acceptance")
        (later,) = _unguarded(store, one(part("run-2", "meanwhile")))
        session.command(b"COMMIT")
        (withdrawn,) = withdrawing.result(60).gids
    assert withdrawn > later
    assert ids(assert_whole(store)) == ["p-1", "accepted", "meanwhile", "w"]


def _unguarded(store: PostgresStore, append: Append) -> tuple[int, ...]:
    """Append on a connection of its own, as another process would."""
    with closing(PostgresStore(str(_url(store)))) as other:
        return other.append(append).gids


def _url(store: PostgresStore) -> str:
    given = store._server.parameters
    return (
        f"postgresql://{given['user']}:{given['password']}@{given['host']}:{given['port']}/{given['dbname']}"
    )


def test_groups_of_two_processes_that_need_the_same_heads_and_runs_do_not_wait_for_each_other_for_ever(
    store: PostgresStore,
) -> None:
    """Each names them in the opposite order; all that could be stored is."""
    sources = ["$source:a", "$source:b"]
    for name in sources:
        store.open_head(TENANT, name)

    def write(stores: PostgresStore, names: list[str], writer: str) -> None:
        for turn in range(40):
            batch = [
                one(part(f"{name}-{turn}", f"{writer}.{turn}.{name}"), guards=[Guard(source, 0)])
                for name, source in zip(names, names_of(names), strict=True)
            ]
            outcomes = stores._writer.commit(batch)
            assert not any(isinstance(outcome, StoreBusy) for outcome in outcomes)

    def names_of(names: list[str]) -> list[str]:
        return sources if names[0] < names[1] else sources[::-1]

    with closing(PostgresStore(_url(store))) as other:
        together(
            partial(write, store, ["run-1", "run-2"], "mine"),
            partial(write, other, ["run-2", "run-1"], "other"),
        )
    # Of each run one has stored its event, whichever came first.
    assert len(assert_whole(store)) == 80


# --- the epoch ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_ledger_restored_into_a_server_with_lower_transaction_ids_goes_on_above(
    server: Server, store: PostgresStore, other_cluster: Callable[..., Server], tmp_path: Path
) -> None:
    """Case-113: append and follow as before; a cursor of the old server misses nothing on the new one."""
    advance(server.cluster.url(), 3000)
    first = part("run-1", "a", "b")
    store.append(one(first))
    store.open_head(TENANT, POLICY)
    before = everything(store)
    dump = tmp_path / "dump"
    fresh = other_cluster()
    _run(server, "pg_dump", f"--dbname={server.cluster.url()}", "--format=custom", f"--file={dump}")
    _run(server, "pg_restore", f"--dbname={fresh.cluster.url()}", str(dump))
    assert _next_id(fresh) < _next_id(server) - 1000
    with closing(PostgresStore(fresh.cluster.url(), create=False)) as restored:
        assert everything(restored) == before
        second = part("run-1", "c", after=first)
        (gid,) = restored.append(one(second)).gids
        # What the old server showed after the dump was taken is passed over as well.
        store.append(one(second))
        assert gid > everything(store)[-1].gid
        restored.append(one(part("run-2", "d"), guards=[Guard(POLICY, 0)]))
        assert ids(restored.tail(after=before[-1].gid)) == ["c", "d"]
        assert ids(assert_whole(restored)) == ["a", "b", "c", "d"]
    epoch = administer(fresh.cluster.url(), "SELECT epoch FROM intent_ledger.epoch")
    PostgresStore(fresh.cluster.url()).close()
    assert administer(fresh.cluster.url(), "SELECT epoch FROM intent_ledger.epoch") == epoch


@pytest.mark.slow
def test_a_replica_that_is_promoted_goes_on_above_what_its_primary_showed(
    server: Server, store: PostgresStore, other_cluster: Callable[..., Server]
) -> None:
    """Case-113, case-164: also above what was lost with the primary, whose numbers are given again."""
    first = part("run-1", "a")
    store.append(one(first))
    with closing(other_cluster(copy_of=server.cluster)) as replica:
        catch_up(server.cluster, replica.cluster)
        replica.stop()
        store.append(one(part("run-1", "lost", after=first)))
        cursor = store.tail()[-1].gid
        server.kill()
        replica.start()
        administer(replica.cluster.url(), "SELECT pg_promote(false)")
        until(lambda: not _in_recovery(replica), "the replica is promoted")
        with closing(PostgresStore(replica.cluster.url(), create=False)) as promoted:
            assert ids(everything(promoted)) == ["a"]
            for number in range(5):
                promoted.append(one(part(f"run-x{number}", f"x-{number}")))
            promoted.append(one(part("run-1", "b", after=first)))
            assert ids(promoted.tail(after=cursor)) == [*(f"x-{number}" for number in range(5)), "b"]
            assert len(assert_whole(promoted)) == 7


def _in_recovery(server: Server) -> bool:
    return bool(administer(server.cluster.url(), "SELECT pg_is_in_recovery()")[0][0])


def _run(server: Server, program: str, *arguments: str) -> None:
    subprocess.run([server.cluster.bin / program, *arguments], check=True, capture_output=True)


def _next_id(server: Server) -> int:
    query = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint"
    found: Any = administer(server.cluster.url(), query)[0][0]
    return int(found)


def test_rows_beyond_the_transaction_ids_are_noticed_on_the_same_server(store: PostgresStore) -> None:
    """As after rows were copied in from elsewhere: the next connection raises the epoch above them."""
    first = part("run-1", "a")
    (gid,) = store.append(one(first)).gids
    copied = gid + 50_000 * ORDINALS
    administer(
        _url(store),
        "ALTER TABLE intent_ledger.events DISABLE ROW LEVEL SECURITY",
        "INSERT INTO intent_ledger.events (gid, position, tenant, run, hash, record) "
        f"SELECT {copied}, position, tenant, 'copied', hash, record FROM intent_ledger.events",
        "ALTER TABLE intent_ledger.events ENABLE ROW LEVEL SECURITY",
    )
    with closing(PostgresStore(_url(store))) as again:
        (next_gid,) = again.append(one(part("run-1", "b", after=first))).gids
        assert next_gid > copied
        assert [row.gid for row in everything(again)] == [gid, copied, next_gid]


def test_many_who_open_a_restored_ledger_at_once_raise_the_epoch_once(store: PostgresStore) -> None:
    store.append(one(part("run-1", "a")))
    administer(_url(store), "UPDATE intent_ledger.epoch SET system_identifier = 1")
    stores = together(*[partial(PostgresStore, _url(store))] * 6)
    for number, opened in enumerate(stores):
        opened.append(one(part(f"run-x{number}", "b")))
        opened.close()
    assert administer(_url(store), "SELECT epoch >> 28 FROM intent_ledger.epoch") == [(1,)]
    assert len(assert_whole(store)) == 7


# --- held back ---------------------------------------------------------------------------------------


def test_a_write_transaction_in_another_database_holds_followers_back_and_is_named(
    server: Server, store: PostgresStore
) -> None:
    other = server.cluster.fresh_database()
    with closing(PostgresStore(_url(store), poll_seconds=0.001, stall_seconds=0.05)) as follower:
        with psycopg.connect(other, application_name="nightly report") as holder:
            holder.execute("CREATE TABLE t ()")
            store.append(one(part("run-1", "a")))
            assert follower.tail() == []
            with pytest.raises(StoreBusy) as held:
                follower.wait(0, 60.0)
            holder.rollback()
            pid = holder.info.backend_pid
        (named,) = held.value.data["holders"]
        assert held.value.data["reason"] == "held_back"
        assert (named["pid"], named["database"]) == (pid, other.rpartition("/")[2])
        assert (named["application"], named["state"], named["prepared"]) == (
            "nightly report",
            "idle in transaction",
            None,
        )
        assert named["seconds"] > 0
        assert follower.wait(0, 60.0)
        assert ids(everything(follower)) == ["a"]


def test_a_prepared_transaction_holds_followers_back_and_is_named(store: PostgresStore) -> None:
    with closing(PostgresStore(_url(store), poll_seconds=0.001, stall_seconds=0.05)) as follower:
        administer(_url(store), "BEGIN; CREATE TABLE t (); PREPARE TRANSACTION 'forgotten'")
        store.append(one(part("run-1", "a")))
        with pytest.raises(StoreBusy) as held:
            follower.wait(0, 60.0)
        assert [holder["prepared"] for holder in held.value.data["holders"]] == ["forgotten"]
        administer(_url(store), "ROLLBACK PREPARED 'forgotten'")
        assert follower.wait(0, 60.0)


def test_followers_of_several_processes_see_the_same_order(store: PostgresStore) -> None:
    """Writers have connections of their own, so that commits overtake each other."""
    writers, events = 6, 50
    stores = [PostgresStore(_url(store), poll_seconds=0.001) for _ in range(writers)]

    def write(number: int) -> list[int]:
        seen = None
        for turn in range(events):
            appended = part(f"run-{number}", f"{number}.{turn}", after=seen)
            stores[number].append(one(appended))
            seen = appended
        return []

    def follow(mine: PostgresStore, limit: int) -> list[int]:
        gids: list[int] = []
        while len(gids) < writers * events:
            after = gids[-1] if gids else 0
            end = mine.end()
            page = [row.gid for row in mine.tail(after=after, limit=limit)]
            gids += page
            if len(page) < limit and gids:
                assert gids[-1] >= end
            if not page:
                mine.wait(after, 60.0)
        return gids

    calls: list[Callable[[], list[int]]] = [partial(write, number) for number in range(writers)]
    calls += [partial(follow, stores[number], limit) for number, limit in enumerate((1, 7, 500))]
    followed = together(*calls)[writers:]
    gids = [row.gid for row in assert_whole(store)]
    assert followed == [gids, gids, gids]
    for each in stores:
        each.close()
