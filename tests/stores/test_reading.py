"""Reading: by stream, by global order, by digest, by name."""

from __future__ import annotations

import unicodedata

import pytest

from ledger.errors import InvalidInput
from ledger.stores.base import FullStore
from ledger.stores.postgres.schema import supported_version
from ledger.stores.scripts import migrations
from tests.stores.builder import TENANT, Spec, everything, ids, one, part, shown

KEY, OTHER_KEY, ACT, CLAIM = (letter * 16 for letter in (b"k", b"o", b"a", b"c"))


def test_a_stream_is_read_by_position(store: FullStore) -> None:
    store.append(one(part("run-1", "a", "b", "c", "d")))
    assert ids(store.read(TENANT, "run-1")) == ["a", "b", "c", "d"]
    assert ids(store.read(TENANT, "run-1", after=1)) == ["b", "c", "d"]
    assert ids(store.read(TENANT, "run-1", upto=2)) == ["a", "b"]
    assert ids(store.read(TENANT, "run-1", after=1, upto=3)) == ["b", "c"]
    assert ids(store.read(TENANT, "run-1", after=1, limit=1)) == ["b"]
    assert ids(store.read(TENANT, "run-1", upto=0)) == []
    assert ids(store.read(TENANT, "run-1", limit=0)) == []
    assert ids(store.read(TENANT, "run-1", after=4)) == []
    assert ids(store.read(TENANT, "run-2")) == []
    assert ids(store.read("globex", "run-1")) == []


def test_numbers_beyond_all_places_are_no_error(store: FullStore) -> None:
    store.append(one(part("run-1", "a", "b")))
    huge = 10**30
    assert ids(store.read(TENANT, "run-1", after=-huge, upto=huge, limit=huge)) == ["a", "b"]
    assert ids(store.read(TENANT, "run-1", after=huge)) == []
    assert ids(store.read(TENANT, "run-1", upto=-huge)) == []
    assert ids(store.load(TENANT, "run-1", "f", upto=huge).tail) == ["a", "b"]
    assert ids(shown(store).tail(after=-huge, limit=huge)) == ["a", "b"]
    assert store.tail(after=huge) == []
    assert len(store.heads(TENANT, limit=huge)) == 1
    assert not store.wait(huge, 0.0)


def test_the_global_order_is_read_in_pages(store: FullStore) -> None:
    gids: list[int] = []
    for number in range(7):
        tenant = "acme" if number % 2 else "globex"
        appended = store.append(one(part(f"run-{number}", f"e-{number}", tenant=tenant), tenant=tenant))
        gids += appended.gids
    shown(store)
    assert [found.gid for found in store.tail()] == gids
    assert [found.gid for found in store.tail(limit=3)] == gids[:3]
    assert [found.gid for found in store.tail(after=gids[2], limit=3)] == gids[3:6]
    assert [found.gid for found in store.tail(after=gids[6])] == []
    assert [found.gid for found in store.tail(limit=0)] == []
    assert [found.gid for found in store.tail(tenant="acme")] == gids[1::2]
    assert [found.gid for found in store.tail(tenant="acme", after=gids[1], limit=1)] == [gids[3]]
    assert store.end() == gids[6]


def test_a_follower_of_one_tenant_moves_past_the_records_of_others(store: FullStore) -> None:
    """Case-167: what is filtered out does not hold a cursor back."""
    store.append(one(part("run-1", "a")))
    for number in range(50):
        store.append(one(part(f"run-{number}", "b", tenant="globex"), tenant="globex"))
    end = shown(store).end()
    page = store.tail(tenant=TENANT, limit=10)
    assert ids(page) == ["a"]
    assert len(page) < 10
    store.append(one(part("run-2", "c")))
    assert ids(shown(store).tail(after=end, tenant=TENANT)) == ["c"]


def test_an_empty_store_has_nothing_and_ends_at_nothing(store: FullStore) -> None:
    assert (store.end(), store.tail(), store.heads(TENANT), store.source_heads(TENANT)) == (0, [], [], {})
    assert not store.wait(0, 0.0)


def test_records_are_found_by_one_digest(store: FullStore) -> None:
    first = part("run-1", Spec("a", key=KEY, act=ACT), Spec("b", key=KEY, claim=CLAIM), "c")
    store.append(one(first))
    store.append(one(part("run-2", Spec("d", key=KEY, act=ACT))))
    store.append(one(part("run-1", Spec("e", key=KEY), tenant="globex"), tenant="globex"))
    assert ids(store.find(TENANT, key=KEY)) == ["a", "b", "d"]
    assert ids(store.find(TENANT, key=KEY, limit=2)) == ["b", "d"]
    assert ids(store.find(TENANT, key=KEY, limit=0)) == []
    assert ids(store.find(TENANT, act=ACT)) == ["a", "d"]
    assert ids(store.find(TENANT, claim=CLAIM)) == ["b"]
    assert ids(store.find(TENANT, key=OTHER_KEY)) == []


def test_a_search_names_exactly_one_digest(store: FullStore) -> None:
    """Case-119: a search for nothing in particular does not find everything."""
    with pytest.raises(InvalidInput):
        store.find(TENANT)
    with pytest.raises(InvalidInput):
        store.find(TENANT, key=KEY, act=ACT)


def test_records_about_many_keys_come_in_global_order(store: FullStore) -> None:
    keys = [number.to_bytes(16, "big") for number in range(1200)]
    events = [Spec(f"e-{number}", key=keys[number * 7 % 1200]) for number in range(1200)]
    store.append(one(part("run-1", *events)))
    store.append(one(part("run-2", Spec("last", key=keys[0]))))
    assert ids(store.find_all(TENANT, keys=keys)) == [*(spec.id for spec in events), "last"]
    assert ids(store.find_all(TENANT, keys=[keys[7], keys[0], keys[7], OTHER_KEY])) == ["e-0", "e-1", "last"]
    assert store.find_all(TENANT, keys=[]) == []
    assert store.find_all("globex", keys=keys) == []


def test_streams_are_listed_with_their_last_event(store: FullStore) -> None:
    first = part("run-b", "a")
    store.append(one(first))
    store.append(one(part("run-a", "b")))
    last = part("run-b", "c", "d", after=first)
    gids = store.append(one(last)).gids
    heads = store.heads(TENANT)
    assert [(head.stream, head.position) for head in heads] == [("run-a", 1), ("run-b", 3)]
    assert (heads[1].gid, heads[1].hash, heads[1].record) == (gids[1], last.rows[1].hash, last.rows[1].record)


def test_streams_are_listed_in_pages_by_prefix(store: FullStore) -> None:
    names = ["$source:a", "run", "run-1", "run-1/x", "run-10", "run-2", "runner", "s"]
    for name in names:
        store.append(one(part(name, "a")))

    def listed(after: str = "", prefix: str = "", limit: int = 500) -> list[str]:
        return [head.stream for head in store.heads(TENANT, after=after, prefix=prefix, limit=limit)]

    assert listed() == names
    assert listed(limit=3) == names[:3]
    assert listed(after="run-1", limit=2) == ["run-1/x", "run-10"]
    assert listed(after="run-1z") == ["run-2", "runner", "s"]
    assert listed(prefix="run-1") == ["run-1", "run-1/x", "run-10"]
    assert listed(prefix="run-1", after="run-1", limit=1) == ["run-1/x"]
    assert listed(prefix="run", after="$") == names[1:7]
    assert listed(prefix="run", after="runz") == []
    assert listed(prefix="t") == []
    assert listed(limit=0) == []


def test_names_that_look_alike_stay_apart(store: FullStore) -> None:
    """Case-083: case, Unicode form, prefixes, wildcards and blanks make different names, everywhere."""
    composed = unicodedata.normalize("NFC", "Zoë/1")
    decomposed = unicodedata.normalize("NFD", "Zoë/1")
    names = ["Acme/1", "acme/1", composed, decomposed, "acme/1 ", "acme/", "acme/%", "acme/_", "😀", "\uffff"]
    assert len(set(names)) == len(names)
    for tenant in names:
        for stream in names:
            store.append(one(part(stream, f"{tenant}|{stream}", tenant=tenant), tenant=tenant))
    for tenant in names:
        listed = [head.stream for head in store.heads(tenant)]
        assert listed == sorted(names, key=str.encode)
        for stream in names:
            assert ids(store.read(tenant, stream)) == [f"{tenant}|{stream}"]
            prefixed = [head.stream for head in store.heads(tenant, prefix=stream)]
            assert prefixed == [name for name in listed if name.startswith(stream)]
        assert ids(shown(store).tail(tenant=tenant)) == [f"{tenant}|{stream}" for stream in names]


def test_a_store_says_what_it_is(store: FullStore) -> None:
    about = store.describe()
    newest = {"memory": 0, "sqlite": migrations("sqlite")[-1].version, "postgresql": supported_version()}
    assert about["schema"] == newest[str(about["store"])]


def test_what_was_read_does_not_change_with_the_store(store: FullStore) -> None:
    first = part("run-1", "a")
    store.append(one(first))
    read, tail, heads = store.read(TENANT, "run-1"), shown(store).tail(), store.heads(TENANT)
    store.append(one(part("run-1", "b", after=first)))
    assert (len(read), len(tail), heads[0].position) == (1, 1, 1)
    assert len(everything(store)) == 2
