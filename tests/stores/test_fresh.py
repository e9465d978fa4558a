"""Acts that must be new: an append is refused where an event of the tenant has the same one already."""

from __future__ import annotations

import pytest

from ledger.errors import ActKnown, EffectInFlight, GuardMoved, PositionConflict
from ledger.stores.base import Appended, Fresh, FullStore, Guard, StreamAppend
from tests.stores.builder import TENANT, Spec, assert_whole, everything, one, part

ACT = b"a" * 16
OTHER = b"o" * 16
CLAIM = b"c" * 16
POLICY = "$source:policy:refunds"


def intends(stream: str, id: str, act: bytes = ACT, *more: str) -> StreamAppend:
    """Build the intention of an act, with what follows it."""
    return part(stream, Spec(id, act=act), *more)


@pytest.mark.parametrize("more", [(), ("x",)])
def test_an_act_that_has_to_be_fresh_is_stored_once(store: FullStore, more: tuple[str, ...]) -> None:
    store.append(one(part("run-0", "z"), intends("run-1", "a", ACT, *more), fresh=[ACT]))
    with pytest.raises(ActKnown) as known:
        store.append(one(intends("run-2", "b", ACT, *more), fresh=[ACT]))
    assert known.value.data == {"act": ACT.hex(), "run": "run-1", "position": 1}
    assert known.value.retryable
    assert store.read(TENANT, "run-2") == []
    assert_whole(store)


def test_an_act_that_need_not_be_fresh_is_stored_again(store: FullStore) -> None:
    store.append(one(intends("run-1", "a"), fresh=[ACT]))
    store.append(one(intends("run-2", "b")))
    store.append(one(intends("run-3", "c"), fresh=[OTHER]))
    assert len(assert_whole(store)) == 3


def test_of_an_act_that_is_known_the_newest_event_is_named(store: FullStore) -> None:
    for stream in ("run-1", "run-3", "run-2"):
        store.append(one(part(stream, "x", Spec("a", act=ACT))))
    with pytest.raises(ActKnown) as known:
        store.append(one(intends("run-4", "b"), fresh=[OTHER, ACT]))
    assert (known.value.run, known.value.position) == ("run-2", 2)


def test_what_an_append_itself_holds_does_not_count(store: FullStore) -> None:
    twice = part("run-1", Spec("a", act=ACT), Spec("b", act=ACT))
    store.append(one(twice, intends("run-2", "c"), fresh=[ACT, ACT]))
    assert len(assert_whole(store)) == 3


def test_a_fresh_act_of_one_tenant_is_none_of_another(store: FullStore) -> None:
    store.append(one(part("run-1", Spec("a", act=ACT), tenant="globex"), tenant="globex"))
    store.append(one(intends("run-1", "b"), fresh=[ACT]))
    assert len(everything(store)) == 2


def test_a_key_is_no_act(store: FullStore) -> None:
    store.append(one(part("run-1", Spec("a", key=ACT, claim=ACT))))
    store.append(one(intends("run-2", "b"), fresh=[ACT]))
    assert len(everything(store)) == 2


def test_an_act_must_be_fresh_also_where_nothing_holds_it_yet(store: FullStore) -> None:
    store.append(one(part("run-1", "a"), fresh=[ACT]))
    store.append(one(intends("run-2", "b"), fresh=[ACT]))
    with pytest.raises(ActKnown):
        store.append(one(part("run-1", "c", after=store.read(TENANT, "run-1")[0]), fresh=[ACT]))


@pytest.mark.parametrize("more", [(), ("x",)])
def test_a_fresh_act_with_guards_is_refused_alike(store: FullStore, more: tuple[str, ...]) -> None:
    store.open_head(TENANT, POLICY)
    guards = [Guard(POLICY, 0)]
    store.append(one(intends("run-1", "a", ACT, *more), guards=guards, fresh=[ACT]))
    with pytest.raises(ActKnown):
        store.append(one(intends("run-2", "b", ACT, *more), guards=guards, fresh=[ACT]))
    store.append(one(intends("run-2", "b", OTHER, *more), guards=guards, fresh=[OTHER]))
    assert [row.stream for row in store.find(TENANT, act=ACT)] == ["run-1"]


# --- what is known of an act ----------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("x",)])
@pytest.mark.parametrize("guarded", [False, True])
def test_of_an_act_there_may_be_as_much_as_is_known_and_no_more(
    store: FullStore, more: tuple[str, ...], guarded: bool
) -> None:
    store.open_head(TENANT, POLICY)
    guards = [Guard(POLICY, 0)] if guarded else []
    store.append(one(part("run-0", Spec("a", act=ACT), Spec("b", act=ACT))))
    for known in (0, 1):
        with pytest.raises(ActKnown) as unseen:
            store.append(one(intends("run-1", "c", ACT, *more), guards=guards, fresh=[Fresh(ACT, known)]))
        assert (unseen.value.run, unseen.value.position) == ("run-0", 2)
    append = one(intends("run-1", "c", ACT, *more), guards=guards, fresh=[Fresh(ACT, 2)])
    stored = store.append(append)
    with pytest.raises(ActKnown) as unseen:
        store.append(one(intends("run-2", "d", ACT, *more), guards=guards, fresh=[Fresh(ACT, 2)]))
    assert (unseen.value.run, unseen.value.position) == ("run-1", 1)
    assert store.append(append) == Appended(stored.gids, repeated=True)
    assert store.read(TENANT, "run-2") == []


def test_what_is_known_of_several_acts_is_held_against_each(store: FullStore) -> None:
    store.append(one(part("run-0", Spec("a", act=ACT), Spec("b", act=OTHER), Spec("c", act=OTHER))))
    for fresh in ([Fresh(ACT, 1), Fresh(OTHER, 1)], [Fresh(ACT, 0), Fresh(OTHER, 2)]):
        with pytest.raises(ActKnown):
            store.append(one(part("run-1", "d"), part("run-2", "e"), fresh=fresh))
    fresh = [Fresh(ACT, 1), Fresh(OTHER, 2)]
    store.append(one(part("run-1", "d"), part("run-2", "e"), fresh=fresh))
    assert len(assert_whole(store)) == 5


# --- the order of decisions ----------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("x",)])
def test_a_repeat_is_decided_before_an_act(store: FullStore, more: tuple[str, ...]) -> None:
    """Its own events are stored, and do not make it one that was done before."""
    append = one(intends("run-1", "a", ACT, *more), fresh=[ACT])
    stored = store.append(append)
    assert store.append(append) == Appended(stored.gids, repeated=True)


def test_position_guard_and_claim_are_decided_before_an_act(store: FullStore) -> None:
    store.append(one(part("run-1", Spec("a", act=ACT, claim=CLAIM))))
    with pytest.raises(PositionConflict):
        store.append(one(part("run-1", "b"), fresh=[ACT]))
    with pytest.raises(GuardMoved):
        store.append(one(part("run-2", "b"), guards=[Guard(POLICY, 9)], fresh=[ACT]))
    with pytest.raises(EffectInFlight):
        store.append(one(part("run-2", Spec("b", claim=CLAIM)), fresh=[ACT]))
