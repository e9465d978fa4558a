"""Blobs: content under its digest, stored with the events that name it."""

from __future__ import annotations

import sqlite3
from hashlib import sha256
from pathlib import Path

import pytest

from ledger.errors import PositionConflict
from ledger.stores.base import Blob, FullStore
from ledger.stores.sqlite import SQLiteStore
from tests.stores.builder import TENANT, one, part

SOON, LATE = "2031-05-06T12:00:00.000000Z", "2032-01-01T00:00:00.000000Z"


def blob(content: bytes, kind: str = "message", expires_at: str | None = None) -> Blob:
    return Blob(sha256(content).digest(), kind, content, expires_at)


def test_content_is_read_by_its_digest(store: FullStore) -> None:
    one_blob, other = blob(b"\0one" * 1000), blob(b"other", "result")
    store.append(one(part("run-1", "a"), blobs=[one_blob, other]))
    unknown = sha256(b"unknown").digest()
    assert store.blobs(TENANT, [one_blob.digest, unknown, other.digest]) == {
        one_blob.digest: one_blob.content,
        other.digest: b"other",
    }
    assert store.blobs("globex", [other.digest]) == {}
    assert store.blobs(TENANT, []) == {}


def test_a_thousand_contents_are_read_at_once(store: FullStore) -> None:
    many = [blob(str(number).encode()) for number in range(1500)]
    store.append(one(part("run-1", "a"), blobs=many))
    found = store.blobs(TENANT, (each.digest for each in many))
    assert found == {each.digest: each.content for each in many}


def test_the_same_content_may_be_stored_again_and_in_two_classes(store: FullStore) -> None:
    again = [blob(b"same"), blob(b"same"), blob(b"same", "result")]
    store.append(one(part("run-1", "a"), blobs=again))
    store.append(one(part("run-2", "b"), blobs=again))
    assert store.blobs(TENANT, [again[0].digest]) == {again[0].digest: b"same"}


def test_content_is_stored_with_its_events_or_not_at_all(store: FullStore) -> None:
    store.append(one(part("run-1", "a")))
    content = blob(b"never")
    with pytest.raises(PositionConflict):
        store.append(one(part("run-1", "b"), blobs=[content]))
    assert store.blobs(TENANT, [content.digest]) == {}


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [(SOON, LATE, LATE), (LATE, SOON, LATE), (SOON, None, None), (None, SOON, None)],
)
def test_content_stays_as_long_as_anybody_wants_it(
    tmp_path: Path, first: str | None, second: str | None, kept: str | None
) -> None:
    store = SQLiteStore(tmp_path / "ledger.db")
    store.append(one(part("run-1", "a"), blobs=[blob(b"x", "message", first)]))
    store.append(one(part("run-2", "b"), blobs=[blob(b"x", "message", second)]))
    store.close()
    connection = sqlite3.connect(tmp_path / "ledger.db")
    assert connection.execute("SELECT expires_at FROM blobs").fetchall() == [(kept,)]
    connection.close()
