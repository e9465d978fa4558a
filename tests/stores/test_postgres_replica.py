"""Reading from a replica: what is shown is never older than what was written or shown before."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from urllib.parse import quote

import pytest

from ledger.errors import PositionConflict, StoreUnavailable
from ledger.stores.postgres.inspection import inspect
from ledger.stores.postgres.store import PostgresStore
from tests.servers.cluster import Cluster, Server
from tests.servers.replica import catch_up, held_back
from tests.stores.builder import TENANT, assert_whole, ids, one, part
from tests.stores.secured import secured

FIRST = part("run", "a", "b")
SECOND = part("run", "c", after=FIRST)


@pytest.fixture(scope="module")
def both(module_cluster: Callable[..., Server]) -> tuple[Server, Server]:
    """Return a primary and its replica."""
    primary = module_cluster()
    return primary, module_cluster(copy_of=primary.cluster)


@pytest.fixture
def url(both: tuple[Server, Server]) -> str:
    """Return the URL of an empty ledger on the primary that is read on the replica."""
    primary, replica = (server.cluster for server in both)
    database = primary.fresh_database()
    beside = quote(replica.url(database.rpartition("/")[2]), safe="")
    return f"{database}?replica_url={beside}"


def test_a_follower_reads_on_the_replica(both: tuple[Server, Server], url: str) -> None:
    primary, replica = (server.cluster for server in both)
    with closing(PostgresStore(url)) as writer, closing(PostgresStore(url)) as follower:
        writer.append(one(FIRST))
        catch_up(primary, replica)
        with held_back(replica):
            writer.append(one(SECOND))
            # The follower has neither written nor seen it.
            assert ids(follower.tail()) == ["a", "b"]
            assert follower.end() == follower.tail()[-1].gid
            assert [head.position for head in follower.heads(TENANT)] == [2]
            assert not follower.wait(follower.end(), 0.0)
        catch_up(primary, replica)
        assert ids(assert_whole(follower)) == ["a", "b", "c"]


def test_what_decides_is_read_on_the_primary(both: tuple[Server, Server], url: str) -> None:
    primary, replica = (server.cluster for server in both)
    with closing(PostgresStore(url)) as writer, closing(PostgresStore(url)) as other:
        source = "$source:policy:refunds"
        writer.append(one(FIRST))
        writer.append(one(part(source, "s1")))
        catch_up(primary, replica)
        with held_back(replica):
            writer.append(one(SECOND))
            writer.append(one(part(source, "s2", after=part(source, "s1"))))
            assert ids(other.load(TENANT, "run", "fold").tail) == ["a", "b", "c"]
            assert ids(other.read(TENANT, "run")) == ["a", "b", "c"]
            assert other.source_heads(TENANT) == {source: 2}
            assert other.open_head(TENANT, source) == 2
            # What stood at an earlier position does not change: the replica may say it.
            assert ids(other.load(TENANT, "run", "fold", upto=2).tail) == ["a", "b"]
            assert ids(other.load(TENANT, "run", "fold", upto=3).tail) == ["a", "b", "c"]


def test_a_store_sees_at_once_what_it_has_written(both: tuple[Server, Server], url: str) -> None:
    primary, replica = (server.cluster for server in both)
    with closing(PostgresStore(url)) as store:
        store.append(one(FIRST))
        catch_up(primary, replica)
        assert len(store.tail()) == 2
        with held_back(replica):
            store.append(one(SECOND))
            assert ids(assert_whole(store)) == ["a", "b", "c"]
            assert ids(store.tail(tenant=TENANT)) == ["a", "b", "c"]
            assert [head.position for head in store.heads(TENANT)] == [3]


def test_no_read_sees_less_than_one_before(both: tuple[Server, Server], url: str) -> None:
    primary, replica = (server.cluster for server in both)
    with closing(PostgresStore(url)) as store, closing(PostgresStore(url)) as rival:
        store.append(one(FIRST))
        catch_up(primary, replica)
        with held_back(replica):
            rival.append(one(SECOND))
            # This read goes to the primary, after a write of this store, and shows the rival's event as well.
            store.append(one(part("other", "x")))
            shown = ids(assert_whole(store))
            assert shown == ["a", "b", "c", "x"]
            assert ids(store.tail()) == shown
        catch_up(primary, replica)
        assert ids(store.tail()) == shown


def test_a_store_that_lost_a_race_sees_the_winner(both: tuple[Server, Server], url: str) -> None:
    primary, replica = (server.cluster for server in both)
    with closing(PostgresStore(url)) as store, closing(PostgresStore(url)) as rival:
        store.append(one(FIRST))
        catch_up(primary, replica)
        with held_back(replica):
            rival.append(one(SECOND))
            with pytest.raises(PositionConflict):
                store.append(one(part("run", "d", after=FIRST)))
            assert [head.position for head in store.heads(TENANT)] == [3]


def test_the_primary_answers_where_the_replica_is_away(both: tuple[Server, Server], url: str) -> None:
    primary, replica = both
    with closing(PostgresStore(url)) as writer, closing(PostgresStore(url)) as follower:
        writer.append(one(FIRST))
        catch_up(primary.cluster, replica.cluster)
        assert len(follower.tail()) == 2
        replica.kill()
        try:
            assert ids(assert_whole(follower)) == ["a", "b"]
            with closing(PostgresStore(url)) as opened:
                assert ids(opened.tail()) == ["a", "b"]
        finally:
            replica.start()


def test_a_server_that_is_no_replica_is_left_alone(fresh_database: str, postgres: Cluster) -> None:
    somewhere_else = quote(postgres.url(), safe="")
    with closing(PostgresStore(f"{fresh_database}?replica_url={somewhere_else}")) as store:
        store.append(one(FIRST))
        assert ids(assert_whole(store)) == ["a", "b"]


@pytest.mark.parametrize("wrong", ["dead port", "password", "database", "primary", "other server"])
def test_a_replica_that_is_of_no_use_is_told_once(
    both: tuple[Server, Server], postgres: Cluster, caplog: pytest.LogCaptureFixture, wrong: str
) -> None:
    primary, replica = (server.cluster for server in both)
    database = primary.fresh_database()
    name = database.rpartition("/")[2]
    beside, words = {
        "dead port": (replica.url(name, port=1), "refused"),
        "password": (replica.url(name, password="wrong"), "password"),
        "database": (replica.url("template1"), "not of the database"),
        "primary": (database, "no replica"),
        "other server": (postgres.url(), "no replica"),
    }[wrong]
    with closing(PostgresStore(database)):
        catch_up(primary, replica)
    with closing(PostgresStore(f"{database}?replica_url={quote(beside, safe='')}")) as store:
        store.append(one(FIRST))
        for _ in range(2):
            store._reads._rests_until = 0.0
            assert ids(store.tail()) == ["a", "b"]
    told = [record for record in caplog.records if record.name == "ledger"]
    assert [(record.levelname, words in record.getMessage()) for record in told] == [("WARNING", True)]
    assert primary.password not in told[0].getMessage()
    found = inspect(f"{database}?replica_url={quote(beside, safe='')}").replica
    assert found is not None
    assert words in (found.trouble or "")


def test_a_replica_of_another_database_is_not_taken_for_one(both: tuple[Server, Server]) -> None:
    """Though a ledger is there, and what is asked for would be answered."""
    primary, replica = (server.cluster for server in both)
    mine, other = primary.fresh_database(), primary.fresh_database()
    with closing(PostgresStore(mine)) as store, closing(PostgresStore(other)) as stranger:
        store.append(one(FIRST))
        stranger.append(one(part("strange", "x")))
    catch_up(primary, replica)
    beside = quote(replica.url(other.rpartition("/")[2]), safe="")
    with closing(PostgresStore(f"{mine}?replica_url={beside}")) as store:
        assert ids(store.tail()) == ["a", "b"]


def test_how_far_a_replica_is_behind_can_be_seen(both: tuple[Server, Server], url: str) -> None:
    primary, replica = (server.cluster for server in both)
    with closing(PostgresStore(url)) as store:
        catch_up(primary, replica)
        with held_back(replica):
            store.append(one(FIRST))
            lagging = inspect(url).replica
    assert lagging is not None
    assert (lagging.trouble, lagging.bytes_behind > 0, lagging.seconds_behind > 0) == (None, True, True)
    assert replica.password not in lagging.where


def test_a_login_that_only_reads_is_enough_for_a_replica(both: tuple[Server, Server]) -> None:
    primary, replica = (server.cluster for server in both)
    place = secured(primary)
    with closing(PostgresStore(place.writer())) as store:
        store.append(one(FIRST))
    beside = quote(f"postgresql://{replica.host}:{replica.port}", safe="")
    url = f"{place.reader()}?replica_url={beside}"
    catch_up(primary, replica)
    found = inspect(url).replica
    assert (found is not None, found and found.trouble) == (True, None)
    with closing(PostgresStore(url)) as store:
        assert ids(store.tail()) == ["a", "b"]


def test_a_replica_takes_who_connects_from_the_primary(both: tuple[Server, Server]) -> None:
    primary, replica = (server.cluster for server in both)
    beside = quote(f"postgresql://{replica.host}:{replica.port}", safe="")
    with closing(PostgresStore(f"{primary.fresh_database()}?replica_url={beside}")) as store:
        store.append(one(FIRST))
    with closing(PostgresStore(f"{primary.fresh_database()}?replica_url={beside}")) as store:
        catch_up(primary, replica)
        with held_back(replica):
            assert store.tail() == []


def test_a_replica_alone_holds_no_ledger_that_could_be_appended_to(both: tuple[Server, Server]) -> None:
    primary, replica = (server.cluster for server in both)
    PostgresStore(primary.url()).close()
    catch_up(primary, replica)
    with pytest.raises(StoreUnavailable) as refused:
        PostgresStore(replica.url())
    assert refused.value.data["reason"] == "read_only"
