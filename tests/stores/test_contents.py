"""Contents by place, and rows of another ledger, on every store."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from ledger.errors import EffectInFlight, PositionConflict
from ledger.stores.base import Blob, BlobPlace, BlobRow, FullStore, Restore, StreamAppend, StreamRow
from ledger.stores.contents import names_in
from ledger.stores.opening import open_store
from tests.stores.builder import TENANT, Spec, assert_whole, everything, one, part, until
from tests.stores.conftest import KINDS
from tests.stores.place import address, administer, database, schema_of

OWNED = [kind for kind in KINDS if kind != "pgbouncer"]
"""Behind the pooler the login is a writer, who may not delete contents."""
LATE = "2032-01-01T00:00:00.000000Z"


def blob(content: bytes, kind: str = "message", expires_at: str | None = None) -> Blob:
    return Blob(sha256(content).digest(), kind, content, expires_at)


def place(one: Blob) -> BlobPlace:
    return BlobPlace(one.digest, one.kind)


def streamed(append: StreamAppend) -> list[StreamRow]:
    prevs = [append.prev, *(row.hash for row in append.rows)]
    rows = zip(prevs, append.rows, strict=False)
    return [StreamRow(append.stream, prev, row, append.is_source) for prev, row in rows]


def test_contents_are_listed_by_place_a_page_at_a_time(store: FullStore) -> None:
    kept = [blob(b"one"), blob(b"one", "result", LATE), blob(b"three" * 1000), blob(b"", "evidence")]
    store.append(one(part("run-1", "a"), blobs=kept))
    rows = sorted(BlobRow(each.digest, each.kind, len(each.content), each.expires_at) for each in kept)
    assert store.list_blobs(TENANT) == rows
    pages = [store.list_blobs(TENANT, limit=2), store.list_blobs(TENANT, after=rows[1].place, limit=2)]
    assert [row for page in pages for row in page] == rows
    assert store.list_blobs(TENANT, after=rows[-1].place) == []
    assert store.list_blobs("globex") == []
    wanted = [kept[0].digest, kept[3].digest, bytes(32)]
    assert store.blob_rows(TENANT, wanted) == [row for row in rows if row.digest in wanted]
    assert store.kept_blobs(TENANT, wanted) == sorted(each for each in kept if each.digest in wanted)
    assert store.blob_rows(TENANT, []) == []
    assert store.kept_blobs("globex", wanted) == []


@pytest.mark.parametrize("store", OWNED, indirect=True)
def test_one_class_of_a_content_is_dropped_and_the_other_stays(store: FullStore) -> None:
    kept = [blob(b"one"), blob(b"one", "result"), blob(b"two")]
    store.append(one(part("run-1", "a"), blobs=kept))
    end = store.end(newest=True)
    gone = [place(kept[0]), BlobPlace(bytes(32), "message")]
    assert store.drop_blobs("globex", gone, since=end, but="") == []
    assert store.drop_blobs(TENANT, gone, since=end, but="") == [place(kept[0])]
    assert store.drop_blobs(TENANT, gone, since=end, but="") == []
    assert [row.place for row in store.list_blobs(TENANT)] == sorted(map(place, kept[1:]))
    assert store.blobs(TENANT, [kept[0].digest]) == {kept[0].digest: b"one"}


@pytest.mark.parametrize("store", OWNED, indirect=True)
def test_what_an_event_since_then_names_is_not_dropped(store: FullStore) -> None:
    kept = [blob(b"one"), blob(b"two"), blob(b"three")]
    store.append(one(part("run-1", "a"), blobs=kept))
    since = store.end(newest=True)
    store.append(one(part("run-2", Spec("b", {"digest": kept[0].digest.hex()}))))
    store.append(one(part("$ledger", Spec("c", {"digest": kept[1].digest.hex()}))))
    places = [place(each) for each in kept]
    dropped = store.drop_blobs(TENANT, places, since=since, but="$ledger")
    assert dropped == sorted(map(place, kept[1:]))
    assert [row.place for row in store.list_blobs(TENANT)] == [place(kept[0])]


def test_rows_are_stored_in_their_order_with_contents_and_heads(store: FullStore) -> None:
    run, source = streamed(part("run-1", "a", "b", "c")), streamed(part("$source:p", "x", "y"))
    rows = (source[0], run[0], source[1], run[1])
    kept = blob(b"content")
    gids = store.restore(Restore(TENANT, rows, (kept,)))
    assert store.restore(Restore(TENANT, rows, (kept,))) == gids
    store.restore(Restore(TENANT, (run[2],)))
    found = everything(store)
    assert [(row.stream, row.position) for row in found] == [
        ("$source:p", 1),
        ("run-1", 1),
        ("$source:p", 2),
        ("run-1", 2),
        ("run-1", 3),
    ]
    assert tuple(row.gid for row in found[:4]) == gids
    assert [row.hash for row in found] == [row.row.hash for row in (*rows, run[2])]
    assert store.source_heads(TENANT) == {"$source:p": 2}
    assert store.kept_blobs(TENANT, [kept.digest]) == [kept]
    assert_whole(store)


def test_rows_that_do_not_fit_are_stored_not_at_all(store: FullStore) -> None:
    run, other = streamed(part("run-1", "a", "b", "c")), streamed(part("run-2", "x"))
    claimed = streamed(part("run-3", Spec("k", key=b"k" * 16, claim=b"c" * 16)))
    rival = streamed(part("run-4", Spec("l", key=b"k" * 16, claim=b"c" * 16)))
    store.restore(Restore(TENANT, (run[0], claimed[0])))
    for rows in ((other[0], run[2]), (other[0], run[1]._replace(prev=bytes(32))), (other[0], run[1], run[1])):
        with pytest.raises(PositionConflict) as conflict:
            store.restore(Restore(TENANT, rows, (blob(b"never"),)))
        assert conflict.value.data["run"] == "run-1"
    with pytest.raises(EffectInFlight):
        store.restore(Restore(TENANT, (other[0], rival[0])))
    assert [row.stream for row in everything(store)] == ["run-1", "run-3"]
    assert store.list_blobs(TENANT) == []


def test_who_stores_a_content_again_and_who_drops_it_wait_for_each_other(tmp_path: Path) -> None:
    """Whichever comes first: what an event names that is stored is there in the end."""
    url = address("postgres", tmp_path)
    kept = [blob(b"one"), blob(b"two")]
    with closing(open_store(url)) as writer, closing(open_store(url)) as owner, ThreadPoolExecutor() as pool:
        writer.append(one(part("run-1", "a"), blobs=kept))
        since = owner.end(newest=True)
        with psycopg.connect(database(url)) as rival:
            # As an append does it that stores the content again: it holds the row until it has ended.
            again = rival.execute(
                SQL(
                    "INSERT INTO {}.blobs VALUES (%s, %s, 'message', 'one') "
                    "ON CONFLICT (tenant, digest, kind) DO UPDATE SET expires_at = NULL "
                    "WHERE blobs.expires_at IS NOT NULL"
                ).format(Identifier(schema_of(url))),
                (TENANT, kept[0].digest),
            )
            assert again.rowcount == 0
            places = [place(each) for each in kept]
            dropping = pool.submit(owner.drop_blobs, TENANT, places, since=since, but="")
            until(lambda: waits_for_a_lock(url))
            assert not dropping.done()
            writer.append(one(part("run-2", Spec("b", {"digest": kept[0].digest.hex()}))))
            rival.commit()
        assert dropping.result() == [place(kept[1])]
        assert writer.blobs(TENANT, [each.digest for each in kept]) == {kept[0].digest: b"one"}


def waits_for_a_lock(url: str) -> bool:
    return administer(
        url,
        "SELECT EXISTS (SELECT FROM pg_stat_activity "
        "WHERE wait_event_type = 'Lock' AND query LIKE '%{s}%FOR UPDATE%' AND pid <> pg_backend_pid())",
    ) == [(True,)]


def test_a_record_names_what_has_64_digits_and_no_more_however_long_they_are_written_in_a_row() -> None:
    one, two = "ab" * 32, "c1" * 32
    record = f'{{"a":"{one}","b":"sha256:{two}","c":"{"0123456789abcdef" * 5}","d":"{one[:63]}"}}'
    assert list(names_in(record.encode())) == [bytes.fromhex(one), bytes.fromhex(two)]
    assert list(names_in(b'"%b"' % (b"f" * 200_000))) == []
