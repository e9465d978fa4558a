"""A pooler that leads to another server: its sessions do not end, and followers still miss nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg.sql import SQL, Literal

from ledger.errors import PositionConflict
from ledger.stores.base import Append, Appended, Guard, StreamAppend
from ledger.stores.postgres import plans
from ledger.stores.postgres.server import Server as Database
from ledger.stores.postgres.store import PostgresStore
from tests.servers.bouncer import Bouncer
from tests.servers.cluster import Server
from tests.servers.replica import catch_up
from tests.servers.waiting import until
from tests.stores.builder import Spec, assert_whole, everything, ids, one, part
from tests.stores.place import administer
from tests.stores.uncommitted import LARGE_BYTES, advance, shapes

POLICY = "$source:policy"


@pytest.fixture
def server(other_cluster: Callable[..., Server]) -> Server:
    return other_cluster()


@pytest.fixture
def bouncer(server: Server, pooler: Callable[..., Bouncer]) -> Bouncer:
    return pooler(server.cluster)


@pytest.fixture
def store(server: Server, bouncer: Bouncer) -> Iterator[PostgresStore]:
    with closing(PostgresStore(bouncer.url(server.cluster.url()), prepare_threshold=None)) as store:
        yield store


def move(old: Server, new: Server) -> str:
    """Dump a ledger and restore it into another server with the old one's user; return the way there."""
    url = old.cluster.url()
    dump = subprocess.run([old.cluster.bin / "pg_dump", url], check=True, capture_output=True)
    psql = [str(new.cluster.bin / "psql"), new.cluster.url(), "-qX", "-v", "ON_ERROR_STOP=1"]
    subprocess.run(psql, input=dump.stdout, check=True, capture_output=True)
    with psycopg.connect(new.cluster.url(), autocommit=True) as connection:
        password = Literal(old.cluster.password)
        connection.execute(SQL("ALTER ROLE postgres PASSWORD {}").format(password))
    old.stop()
    return new.cluster.url(user=old.cluster.user, password=old.cluster.password)


def batches(first: StreamAppend, published: StreamAppend) -> Iterator[list[Append]]:
    """Yield an append of each shape on top of what was stored before the switch, or new."""
    guards = [Guard(POLICY, 1)]
    yield [one(part("run-1", "one", after=first))]
    yield [one(part("keyed", Spec("keyed", claim=b"c" * 32)))]
    yield [one(part("several", "several-1", "several-2"))]
    yield [one(part("guarded", "guarded"), guards=guards)]
    yield [one(part("run-2", "batch-1")), one(part("run-3", "batch-2"), guards=guards)]
    yield [one(part("pair-2", "pair-2"), part("pair-1", "pair-1"))]
    yield [one(part(POLICY, "source", after=published))]
    yield shapes("x")["large"]
    yield shapes("x")["content"]


@pytest.mark.slow
def test_appends_go_on_above_what_followers_saw_when_the_pooler_leads_to_a_restored_ledger(
    server: Server,
    bouncer: Bouncer,
    store: PostgresStore,
    other_cluster: Callable[..., Server],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whichever shape is the first: it notices, and its caller is told of nothing."""
    monkeypatch.setattr(plans, "CHUNK_BYTES", LARGE_BYTES)
    advance(server.cluster.url(), 3000)
    first, published = part("run-1", "a"), part(POLICY, "p")
    store.append(one(first))
    store.append(one(published))
    gids = [row.gid for row in everything(store)]
    url = server.cluster.url()
    ((known,),) = administer(url, "SELECT system_identifier FROM intent_ledger.epoch")
    fresh = other_cluster()
    there = move(server, fresh)
    bouncer.lead_to(fresh.cluster, url)
    for moves, batch in enumerate(batches(first, published), 1):
        for outcome in store._writer.commit(batch):
            assert isinstance(outcome, Appended)
            assert min(outcome.gids) > gids[-1]
            gids += sorted(outcome.gids)
        assert administer(there, "SELECT epoch >> 28 FROM intent_ledger.epoch") == [(moves,)]
        # Each shape is the first one after a switch.
        administer(there, f"UPDATE intent_ledger.epoch SET system_identifier = {known}")
    assert [row.gid for row in assert_whole(store)] == gids
    with pytest.raises(PositionConflict):
        store.append(one(part("run-1", "rival", after=first)))


@pytest.mark.slow
def test_appends_go_on_above_what_followers_saw_when_the_pooler_leads_to_a_promoted_replica(
    server: Server, bouncer: Bouncer, store: PostgresStore, other_cluster: Callable[..., Server]
) -> None:
    """Also above what was lost with the primary, whose transaction ids are given again."""
    first = part("run-1", "a")
    store.append(one(first))
    replica = other_cluster(copy_of=server.cluster)
    catch_up(server.cluster, replica.cluster)
    replica.stop()
    for number in range(5):
        store.append(one(part(f"lost-{number}", f"lost-{number}")))
    cursor = store.end()
    server.kill()
    replica.start()
    administer(replica.cluster.url(), "SELECT pg_promote(true)")
    until(
        lambda: administer(replica.cluster.url(), "SELECT pg_is_in_recovery()") == [(False,)],
        "the replica is promoted",
    )
    bouncer.lead_to(replica.cluster, server.cluster.url())
    for number in range(4):
        store.append(one(part(f"new-{number}", f"new-{number}")))
    store.append(one(part("run-1", "b", after=first)))
    assert ids(store.tail(after=cursor)) == ["new-0", "new-1", "new-2", "new-3", "b"]
    assert ids(assert_whole(store)) == ["a", "new-0", "new-1", "new-2", "new-3", "b"]


def test_behind_a_pooler_every_append_looks_where_it_is() -> None:
    """And nowhere else, where the end of a server ends its sessions, does it cost anything."""
    direct = Database({}).statements
    pooled = Database({}, prepares=False).statements
    changed = {name for name in direct if direct[name] != pooled[name]}
    assert changed == {name for name, text in direct.items() if "pg_current_xact_id()" in text}
    assert all(name.startswith("append_") for name in changed)
    assert all("pg_control_system()" in pooled[name] for name in changed)
