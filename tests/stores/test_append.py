"""Appending: what is stored, who is refused for what, and what a repeat is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ledger.errors import (
    EffectInFlight,
    GuardMoved,
    IdInUse,
    InvalidInput,
    PositionConflict,
    StoreUnavailable,
)
from ledger.stores.base import Append, Appended, FullStore, Guard, check
from tests.stores.builder import LATER, TENANT, Spec, assert_whole, everything, ids, one, part

CLAIM = b"c" * 16
POLICY = "$source:policy:refunds"


def test_events_take_the_next_positions_and_rising_global_ones(store: FullStore) -> None:
    first = part("run-1", "a", "b")
    other = part("run-2", "c")
    second = part("run-1", "d", after=first)
    gids = [gid for parts in (first, other, second) for gid in store.append(one(parts)).gids]
    assert gids == sorted(set(gids))
    assert [(found.gid, found.stream, found.position) for found in assert_whole(store)] == [
        (gids[0], "run-1", 1),
        (gids[1], "run-1", 2),
        (gids[2], "run-2", 1),
        (gids[3], "run-1", 3),
    ]


def test_what_is_read_is_byte_for_byte_what_was_appended(store: FullStore) -> None:
    spec = Spec("a", {"text": "grüße 😀 \u2028"}, b"k" * 16, b"a" * 16, CLAIM)
    stored = part("run-1", spec)
    store.append(one(stored))
    (found,) = store.read(TENANT, "run-1")
    assert found[3:] == (1, stored.rows[0].hash, b"k" * 16, b"a" * 16, CLAIM, stored.rows[0].record)


def test_a_writer_that_is_behind_is_told_the_actual_position(store: FullStore) -> None:
    """Case-108: of two that load the same state, the second is refused and overwrites nothing."""
    first = part("run-1", "a")
    store.append(one(first))
    store.append(one(part("run-1", "b", "c", after=first)))
    with pytest.raises(PositionConflict) as conflict:
        store.append(one(part("run-1", "d", after=first)))
    assert (conflict.value.run, conflict.value.expected, conflict.value.actual) == ("run-1", 1, 3)
    assert ids(assert_whole(store)) == ["a", "b", "c"]


def test_a_second_first_event_is_a_conflict(store: FullStore) -> None:
    store.append(one(part("run-1", "a")))
    with pytest.raises(PositionConflict) as conflict:
        store.append(one(part("run-1", "b")))
    assert (conflict.value.expected, conflict.value.actual) == (0, 1)


def test_a_writer_that_is_ahead_is_refused_and_leaves_no_gap(store: FullStore) -> None:
    first = part("run-1", "a")
    unseen = part("run-1", "b", after=first)
    with pytest.raises(PositionConflict) as conflict:
        store.append(one(unseen))
    assert (conflict.value.expected, conflict.value.actual) == (1, 0)
    assert everything(store) == []


def test_a_writer_that_saw_another_event_there_is_refused(store: FullStore) -> None:
    """As after a restore: the position is right, the hash is not, and `actual` equals `expected`."""
    store.append(one(part("run-1", "a")))
    elsewhere = part("run-1", Spec("a", {"text": "another history"}))
    with pytest.raises(PositionConflict) as conflict:
        store.append(one(part("run-1", "b", after=elsewhere)))
    assert conflict.value.actual == conflict.value.expected == 1


@pytest.mark.parametrize("count", [1, 3])
def test_the_same_append_again_returns_the_same_places(store: FullStore, count: int) -> None:
    """Case-115: an acknowledgement that was lost is no conflict."""
    append = one(part("run-1", *(f"e-{number}" for number in range(count))))
    stored = store.append(append)
    assert not stored.repeated
    assert store.append(append) == Appended(stored.gids, repeated=True)
    assert len(assert_whole(store)) == count


def test_a_repeat_is_recognised_after_others_have_appended(store: FullStore) -> None:
    first = part("run-1", "a", "b")
    stored = store.append(one(first))
    store.append(one(part("run-1", "c", after=first)))
    assert store.append(one(first)) == Appended(stored.gids, repeated=True)
    # A part of what an append stored is the same events in their places, too.
    assert store.append(one(part("run-1", "a"))) == Appended(stored.gids[:1], repeated=True)


def test_a_repeat_that_was_encoded_anew_is_still_the_same_events(store: FullStore) -> None:
    """The ids and what the events say decide, not when they were written down."""
    stored = store.append(one(part("run-1", "a", "b")))
    again = part("run-1", "a", "b", at=LATER)
    assert again.rows[0].hash != store.read(TENANT, "run-1")[0].hash
    assert store.append(one(again)) == Appended(stored.gids, repeated=True)


def test_the_same_id_with_other_content_is_refused(store: FullStore) -> None:
    """Case-116: also where the writer expects the right position."""
    store.append(one(part("run-1", "a", Spec("b", {"amount": "10"}))))
    with pytest.raises(IdInUse) as refusal:
        store.append(one(part("run-1", "a", Spec("b", {"amount": "11"}))))
    assert (refusal.value.position, refusal.value.evidence) == (2, {"run": "run-1", "id": "b"})
    assert len(assert_whole(store)) == 2


def test_other_ids_in_the_same_places_are_a_conflict(store: FullStore) -> None:
    store.append(one(part("run-1", "a", "b")))
    with pytest.raises(PositionConflict):
        store.append(one(part("run-1", "a", "x")))
    with pytest.raises(PositionConflict):
        store.append(one(part("run-1", "a", "b", "c")))


def test_several_streams_are_appended_all_or_nothing(store: FullStore) -> None:
    parent, child = part("run-1", "a"), part("run-2", "b", "c")
    stored = store.append(one(parent, child))
    assert [found.gid for found in everything(store)] == list(stored.gids)
    with pytest.raises(PositionConflict) as conflict:
        store.append(one(part("run-3", "d"), part("run-1", "e", after=parent), part("run-2", "f")))
    assert (conflict.value.run, conflict.value.expected, conflict.value.actual) == ("run-2", 0, 2)
    assert ids(assert_whole(store)) == ["a", "b", "c"]


def test_several_streams_repeated_return_their_places(store: FullStore) -> None:
    parent, child = part("run-1", "a"), part("run-2", "b", "c")
    stored = store.append(one(parent, child))
    store.append(one(part("run-2", "d", after=child)))
    assert store.append(one(parent, child)) == Appended(stored.gids, repeated=True)


def test_half_of_what_was_stored_is_no_repeat_with_something_new(store: FullStore) -> None:
    parent = part("run-1", "a")
    store.append(one(parent))
    with pytest.raises(PositionConflict):
        store.append(one(parent, part("run-2", "b")))
    assert ids(everything(store)) == ["a"]


def test_ten_thousand_events_in_one_append(store: FullStore) -> None:
    """Case-156: no limit on parameters shows through."""
    big = part("run-1", *(f"e-{number}" for number in range(10_000)))
    stored = store.append(one(big))
    assert len(set(stored.gids)) == 10_000
    assert len(assert_whole(store)) == 10_000
    assert store.append(one(big)).repeated


def test_a_record_of_a_megabyte_and_more_is_stored_or_refused_but_never_cut(store: FullStore) -> None:
    """Case-157, case-158: the encoder limits records; a store keeps whatever bytes it is given."""
    stored = part("run-1", "a")
    large = stored.rows[0]._replace(record=b"x" * 5_000_000)
    store.append(one(stored._replace(rows=(large,))))
    assert store.read(TENANT, "run-1")[0].record == large.record


# --- guards ------------------------------------------------------------------------------------


def test_a_guard_holds_while_the_source_stands(store: FullStore) -> None:
    assert store.open_head(TENANT, POLICY) == 0
    store.append(one(part("run-1", "a"), guards=[Guard(POLICY, 0)]))
    published = part(POLICY, "p-1")
    store.append(one(published))
    assert store.open_head(TENANT, POLICY) == 1
    store.append(one(part("run-2", "b"), guards=[Guard(POLICY, 1)]))
    assert_whole(store)


def test_a_guard_that_moved_names_where_the_source_stands(store: FullStore) -> None:
    store.append(one(part(POLICY, "p-1", "p-2")))
    with pytest.raises(GuardMoved) as moved:
        store.append(one(part("run-1", "a"), guards=[Guard(POLICY, 1)]))
    assert (moved.value.source, moved.value.expected, moved.value.actual) == (POLICY, 1, 2)
    assert store.read(TENANT, "run-1") == []


def test_a_source_without_a_head_guards_nothing(store: FullStore) -> None:
    with pytest.raises(GuardMoved) as moved:
        store.append(one(part("run-1", "a"), guards=[Guard(POLICY, 0)]))
    assert moved.value.actual is None


def test_the_heads_of_one_tenant_do_not_guard_another(store: FullStore) -> None:
    store.open_head("globex", POLICY)
    with pytest.raises(GuardMoved):
        store.append(one(part("run-1", "a"), guards=[Guard(POLICY, 0)]))


def test_of_several_guards_the_first_that_moved_is_named(store: FullStore) -> None:
    for name in ("$source:a", "$source:b", "$source:c"):
        store.open_head(TENANT, name)
    store.append(one(part("$source:b", "p-1")))
    store.append(one(part("$source:c", "p-2")))
    guards = [Guard("$source:a", 0), Guard("$source:b", 0), Guard("$source:c", 0)]
    with pytest.raises(GuardMoved) as moved:
        store.append(one(part("run-1", "a"), guards=guards))
    assert moved.value.source == "$source:b"


def test_the_same_guard_twice_is_no_conflict(store: FullStore) -> None:
    """Case-087."""
    store.open_head(TENANT, POLICY)
    store.append(one(part("run-1", "a"), guards=[Guard(POLICY, 0), Guard(POLICY, 0)]))
    assert len(everything(store)) == 1


# --- claims ------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("x",)])
def test_a_claim_is_given_once_in_a_tenant(store: FullStore, more: tuple[str, ...]) -> None:
    store.append(one(part("run-1", Spec("a", claim=CLAIM))))
    with pytest.raises(EffectInFlight) as taken:
        store.append(one(part("run-2", Spec("b", key=b"k" * 16, claim=CLAIM), *more)))
    assert taken.value.data == {"key": (b"k" * 16).hex(), "run": "run-1", "position": 1}
    assert taken.value.retry_after is None, "a store knows of no leases"
    assert ids(assert_whole(store)) == ["a"]
    elsewhere = part("run-2", Spec("b", claim=CLAIM), tenant="globex")
    store.append(one(elsewhere, tenant="globex"))


def test_one_append_cannot_claim_twice(store: FullStore) -> None:
    with pytest.raises(EffectInFlight):
        store.append(one(part("run-1", "a", Spec("b", claim=CLAIM), Spec("c", claim=CLAIM))))
    assert everything(store) == []


# --- the order of decisions ----------------------------------------------------------------------


def test_a_repeat_is_decided_before_guard_and_claim(store: FullStore) -> None:
    """What has moved since must not turn a lost acknowledgement into a refusal."""
    store.open_head(TENANT, POLICY)
    append = one(part("run-1", Spec("a", claim=CLAIM)), guards=[Guard(POLICY, 0)])
    stored = store.append(append)
    store.append(one(part(POLICY, "p-1")))
    assert store.append(append) == Appended(stored.gids, repeated=True)


def test_an_id_in_use_is_decided_before_guard_and_claim(store: FullStore) -> None:
    store.append(one(part("run-1", Spec("a", claim=CLAIM))))
    changed = part("run-1", Spec("a", {"text": "other"}, claim=CLAIM))
    with pytest.raises(IdInUse):
        store.append(one(changed, guards=[Guard(POLICY, 9)]))


def test_a_position_is_decided_before_guard_and_claim(store: FullStore) -> None:
    store.append(one(part("run-1", Spec("a", claim=CLAIM))))
    with pytest.raises(PositionConflict):
        store.append(one(part("run-1", Spec("b", claim=CLAIM)), guards=[Guard(POLICY, 9)]))


def test_a_guard_is_decided_before_a_claim(store: FullStore) -> None:
    store.append(one(part("run-1", Spec("a", claim=CLAIM))))
    with pytest.raises(GuardMoved):
        store.append(one(part("run-2", Spec("b", claim=CLAIM)), guards=[Guard(POLICY, 9)]))


# --- appends that contradict themselves ------------------------------------------------------------


FIRST = part("run-1", "a", "b")
BEHIND = part("run-1", "c", after=FIRST)


@pytest.mark.parametrize(
    "append",
    [
        one(),
        one(FIRST._replace(rows=())),
        one(FIRST, part("run-1", "c")),
        one(FIRST._replace(rows=FIRST.rows[1:])),
        one(FIRST._replace(rows=FIRST.rows[::-1])),
        one(FIRST._replace(prev=b"x" * 32)),
        one(BEHIND._replace(prev=bytes(32))),
        one(BEHIND._replace(expected=1)),
        one(FIRST, part(POLICY, "p-1")),
    ],
)
def test_an_append_that_contradicts_itself_is_refused(store: FullStore, append: Append) -> None:
    with pytest.raises(InvalidInput):
        check(append)
    with pytest.raises(InvalidInput):
        store.append(append)
    assert everything(store) == []


# --- lifetimes -----------------------------------------------------------------------------------


def test_what_was_appended_is_there_when_the_store_is_opened_again(opened: Callable[[], FullStore]) -> None:
    store = opened()
    store.open_head(TENANT, POLICY)
    first = part("run-1", "a", "b")
    store.append(one(first))
    before = everything(store)
    store.close()
    again = opened()
    assert everything(again) == before
    assert again.source_heads(TENANT) == {POLICY: 0}
    again.append(one(part("run-1", "c", after=first)))
    assert_whole(again)


def test_a_closed_store_says_so(store: FullStore) -> None:
    store.append(one(part("run-1", "a")))
    store.close()
    store.close()
    calls: list[Callable[[], object]] = [
        lambda: store.append(one(part("run-2", "b"))),
        lambda: store.read(TENANT, "run-1"),
        lambda: store.load(TENANT, "run-1", "f"),
        store.tail,
        store.end,
        store.describe,
        lambda: store.find(TENANT, key=b"k"),
        lambda: store.find_all(TENANT, keys=[b"k"]),
        lambda: store.heads(TENANT),
        lambda: store.blobs(TENANT, [b"d"]),
        lambda: store.open_head(TENANT, POLICY),
        lambda: store.source_heads(TENANT),
        lambda: store.snapshots(TENANT, "run-1"),
        store.drop_snapshots,
    ]
    for call in calls:
        with pytest.raises(StoreUnavailable) as refused:
            call()
        assert refused.value.data["reason"] == "closed"
    assert store.wait(10**9, 60.0)
