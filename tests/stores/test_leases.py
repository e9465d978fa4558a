"""Leases: extended by their worker while they last, never once they have lapsed."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import InvalidInput, StoreUnavailable
from ledger.stores.base import FullStore, Lease
from ledger.stores.leases import LONGEST_SECONDS, renewed
from ledger.stores.memory import MemoryStore
from ledger.stores.stamps import system_clock
from tests.stores.builder import NOON, TENANT, together

KEY = b"k" * 16
OTHER = b"o" * 16
FIRST = NOON + timedelta(seconds=30)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def renew(
    store: FullStore,
    now: float,
    *,
    attempt: int = 1,
    worker: str = "w-1",
    first: datetime = FIRST,
    seconds: float = 30,
    progress: str | None = None,
    key: bytes = KEY,
    tenant: str = TENANT,
) -> datetime | None:
    """Renew so many seconds after noon."""
    return store.renew(
        tenant,
        key,
        attempt,
        worker=worker,
        first_until=first,
        until_seconds=seconds,
        now=at(now),
        progress=progress,
    )


def test_a_renewal_extends_from_now_and_returns_the_new_end(store: FullStore) -> None:
    assert store.lease(TENANT, KEY, 1) is None
    assert renew(store, 10) == at(40)
    assert store.lease(TENANT, KEY, 1) == Lease("w-1", at(40), None)
    assert renew(store, 39.999999) == at(69.999999)
    assert store.lease(TENANT, KEY, 1) == Lease("w-1", at(69.999999), None)


def test_a_renewal_never_shortens(store: FullStore) -> None:
    assert renew(store, 1, seconds=1) == FIRST
    assert renew(store, 2, seconds=100) == at(102)
    assert renew(store, 3, seconds=0.5) == at(102)
    assert store.lease(TENANT, KEY, 1) == Lease("w-1", at(102), None)


@pytest.mark.parametrize("late", [30, 30.000001, 10**6])
def test_a_lease_that_was_never_renewed_lapses_where_the_record_says(store: FullStore, late: float) -> None:
    assert renew(store, late) is None
    assert store.lease(TENANT, KEY, 1) is None
    assert renew(store, 29.999999) == at(59.999999)


def test_a_lease_that_was_renewed_lapses_where_it_was_renewed_to(store: FullStore) -> None:
    renew(store, 29)
    for late in (59, 59.000001, 10**6):
        assert renew(store, late) is None
        assert renew(store, late, first=at(10**7)) is None
    assert store.lease(TENANT, KEY, 1) == Lease("w-1", at(59), None)
    assert renew(store, 58.999999) == at(88.999999)


def test_the_lease_of_another_worker_is_not_renewed(store: FullStore) -> None:
    renew(store, 0, progress="half")
    assert renew(store, 1, worker="w-2", progress="mine") is None
    assert renew(store, 31, worker="w-2") is None
    assert store.lease(TENANT, KEY, 1) == Lease("w-1", FIRST, "half")


def test_progress_is_replaced_where_some_is_given(store: FullStore) -> None:
    for number, (said, kept) in enumerate([(None, None), ("1 of 3", "1 of 3"), (None, "1 of 3"), ("", "")]):
        renew(store, number, progress=said)
        assert store.lease(TENANT, KEY, 1) == Lease("w-1", at(number + 30), kept)


def test_attempts_keys_and_tenants_have_leases_of_their_own(store: FullStore) -> None:
    renew(store, 0)
    renew(store, 1, attempt=2, worker="w-2")
    renew(store, 2, key=OTHER, worker="w-3")
    renew(store, 3, tenant="globex", worker="w-4")
    assert store.lease(TENANT, KEY, 1) == Lease("w-1", at(30), None)
    assert store.lease(TENANT, KEY, 2) == Lease("w-2", at(31), None)
    assert store.lease(TENANT, OTHER, 1) == Lease("w-3", at(32), None)
    assert store.lease("globex", KEY, 1) == Lease("w-4", at(33), None)


def test_a_release_forgets_the_attempts_of_a_key_and_no_others(store: FullStore) -> None:
    store.release(TENANT, KEY)
    for attempt in (1, 2):
        renew(store, 0, attempt=attempt)
    renew(store, 0, key=OTHER)
    renew(store, 0, tenant="globex")
    store.release(TENANT, KEY)
    store.release(TENANT, KEY)
    assert [store.lease(TENANT, KEY, attempt) for attempt in (1, 2)] == [None, None]
    assert store.lease(TENANT, OTHER, 1) is not None
    assert store.lease("globex", KEY, 1) is not None


def test_without_its_row_a_lease_ends_where_the_record_says(store: FullStore) -> None:
    """As where a crash has lost the row: earlier, and not later."""
    renew(store, 29, seconds=1000)
    store.release(TENANT, KEY)
    assert renew(store, 30) is None
    assert store.lease(TENANT, KEY, 1) is None


def test_a_renewal_is_kept_when_the_store_is_opened_again(opened: Callable[[], FullStore]) -> None:
    store = opened()
    renew(store, 10, progress="1 of 3")
    store.close()
    again = opened()
    assert again.lease(TENANT, KEY, 1) == Lease("w-1", at(40), "1 of 3")
    assert renew(again, 40) is None
    assert renew(again, 39) == at(69)


def test_times_of_any_zone_are_taken_and_returned_in_utc(store: FullStore) -> None:
    zone = timezone(timedelta(hours=5, minutes=45))
    end = store.renew(
        TENANT,
        KEY,
        1,
        worker="w-1",
        first_until=FIRST.astimezone(zone),
        until_seconds=60,
        now=NOON.astimezone(zone),
    )
    assert end == at(60)
    assert end.tzinfo is UTC
    lease = store.lease(TENANT, KEY, 1)
    assert lease is not None
    assert lease.until.tzinfo is UTC


# --- the clock of the store --------------------------------------------------------------------------


def test_without_a_time_the_clock_of_the_store_decides(store: FullStore) -> None:
    """PostgreSQL's is this machine's too, here."""
    before = system_clock()

    def by_the_store(first: datetime, attempt: int) -> datetime | None:
        return store.renew(TENANT, KEY, attempt, worker="w-1", first_until=first, until_seconds=3600)

    assert by_the_store(before - timedelta(seconds=60), 1) is None
    end = by_the_store(before + timedelta(hours=2), 2)
    assert end == before + timedelta(hours=2)
    end = by_the_store(before + timedelta(seconds=600), 3)
    assert end is not None
    shortest = timedelta(seconds=3600 - 1)
    assert before + shortest < end < system_clock() + timedelta(seconds=3600 + 1)
    assert store.lease(TENANT, KEY, 1) is None


def test_the_clock_of_the_store_is_this_machines_here(store: FullStore) -> None:
    assert abs(store.lease_offset()) < timedelta(seconds=1)
    if store.describe()["store"] != "postgresql":
        assert store.lease_offset() == timedelta(0)


# --- races ---------------------------------------------------------------------------------------------


def test_of_workers_that_renew_one_attempt_at_once_one_has_it(store: FullStore) -> None:
    def hold(worker: str) -> list[datetime | None]:
        return [renew(store, second, worker=worker, progress=worker) for second in range(10)]

    told = together(*(partial(hold, f"w-{number}") for number in range(8)))
    winners = [number for number, ends in enumerate(told) if any(ends)]
    assert len(winners) == 1
    assert told[winners[0]] == [at(second + 30) for second in range(10)]
    assert store.lease(TENANT, KEY, 1) == Lease(f"w-{winners[0]}", at(39), f"w-{winners[0]}")


def test_one_worker_that_renews_from_many_threads_loses_no_extension(store: FullStore) -> None:
    ends = together(*(partial(renew, store, second) for second in range(16)))
    assert None not in ends
    assert store.lease(TENANT, KEY, 1) == Lease("w-1", at(45), None)


def test_of_two_stores_at_one_place_one_worker_has_the_attempt(opened: Callable[[], FullStore]) -> None:
    """Two processes, as far as the database can tell."""
    stores = [opened(), opened()]
    for number in range(12):
        key = bytes([number]) * 16
        ends = together(*(partial(renew, each, 0, key=key, worker=f"w-{id(each)}") for each in stores))
        assert sorted(end is None for end in ends) == [False, True]
        (winner,) = (each for each, end in zip(stores, ends, strict=True) if end)
        for each in stores:
            assert each.lease(TENANT, key, 1) == Lease(f"w-{id(winner)}", FIRST, None)


# --- laws ----------------------------------------------------------------------------------------------

MOMENTS = st.integers(0, 100).map(float)


@given(
    st.lists(
        st.tuples(
            MOMENTS, st.sampled_from(["w-1", "w-2"]), st.integers(1, 60), st.none() | st.text(max_size=1)
        ),
        max_size=12,
    )
)
def test_whatever_is_asked_a_lease_is_never_shortened_nor_brought_back(
    asked: list[tuple[float, str, int, str | None]],
) -> None:
    """Calls in any order of time, as of workers whose clocks differ; the store follows the same rule."""
    store = MemoryStore()
    held: Lease | None = None
    for now, worker, seconds, progress in asked:
        end = held.until if held else FIRST
        told = renew(store, now, worker=worker, seconds=seconds, progress=progress)
        lapsed = end <= at(now)
        others = held is not None and held.worker != worker
        assert (told is None) == (lapsed or others)
        if told is not None:
            assert told == max(end, at(now + seconds))
            kept = held.progress if held else None
            held = Lease(worker, told, kept if progress is None else progress)
        assert store.lease(TENANT, KEY, 1) == held


def test_every_store_follows_the_rule(store: FullStore) -> None:
    for number in range(15):
        key, held = bytes([number]) * 16, None
        for _ in range(6):
            now, seconds = random.uniform(0, 100), random.uniform(0.5, 60)
            worker, progress = random.choice(["w-1", "w-2"]), random.choice([None, "x", "y"])
            expected = renewed(
                held,
                worker=worker,
                first_until=FIRST,
                until_seconds=seconds,
                now=at(now),
                progress=progress,
            )
            told = renew(store, now, key=key, worker=worker, seconds=seconds, progress=progress)
            held = expected or held
            assert told == (expected.until if expected else None)
            assert store.lease(TENANT, key, 1) == held


# --- what is no lease ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0, -1, LONGEST_SECONDS + 1, float("inf"), float("nan")])
def test_a_lease_is_renewed_for_a_time_that_there_is(store: FullStore, seconds: float) -> None:
    with pytest.raises(InvalidInput) as refused:
        renew(store, 0, seconds=seconds)
    assert refused.value.path == "until_seconds"
    assert store.lease(TENANT, KEY, 1) is None


def test_a_time_without_a_zone_or_an_attempt_that_is_none_is_refused(store: FullStore) -> None:
    with pytest.raises(InvalidInput) as refused:
        renew(store, 0, first=FIRST.replace(tzinfo=None))
    assert refused.value.path == "first_until"
    with pytest.raises(InvalidInput) as refused:
        renew(store, 0, attempt=0)
    assert refused.value.path == "attempt"


def test_a_closed_store_holds_no_leases(store: FullStore) -> None:
    store.close()
    calls: list[Callable[[], object]] = [
        lambda: renew(store, 0),
        lambda: store.lease(TENANT, KEY, 1),
        lambda: store.release(TENANT, KEY),
        store.lease_offset,
    ]
    for call in calls:
        with pytest.raises(StoreUnavailable) as refused:
            call()
        assert refused.value.data["reason"] == "closed"
