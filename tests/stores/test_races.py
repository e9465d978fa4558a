"""Many threads at one store: one winner, no fork, no gap, and a follower that misses nothing."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial

from ledger.errors import ActKnown, EffectInFlight, GuardMoved, PositionConflict
from ledger.stores.base import FullStore, Guard, StoredRow
from tests.stores.builder import TENANT, Spec, assert_whole, ids, one, part, shown, together, told

POLICY = "$source:policy:refunds"


def last(store: FullStore, stream: str) -> StoredRow | None:
    """Return the last event of a stream, as a writer reads it that was behind."""
    heads = store.heads(TENANT, prefix=stream, limit=1)
    if not heads or heads[0].stream != stream:
        return None
    head = heads[0]
    return StoredRow(head.gid, TENANT, stream, head.position, head.hash, None, None, None, head.record)


def test_24_writers_on_24_runs_never_meet(store: FullStore) -> None:
    def write(run: str) -> None:
        seen = None
        for number in range(25):
            events = part(run, f"{run}.{number}", after=seen)
            store.append(one(events))
            seen = events

    together(*(partial(write, f"run-{number}") for number in range(24)))
    rows = assert_whole(store)
    assert Counter(found.stream for found in rows) == {f"run-{number}": 25 for number in range(24)}


def test_of_24_writers_in_one_process_that_need_an_act_to_be_fresh_one_wins(store: FullStore) -> None:
    act = b"a" * 16

    def intend(writer: int) -> ActKnown | None:
        try:
            store.append(one(part(f"run-{writer}", Spec(f"e-{writer}", act=act)), fresh=[act]))
        except ActKnown as known:
            return known
        return None

    outcomes = together(*(partial(intend, writer) for writer in range(24)))
    (winner,) = assert_whole(store)
    assert outcomes.count(None) == 1
    assert {known.run for known in outcomes if known} == {winner.stream}


def test_24_writers_on_one_run_do_not_fork_it(store: FullStore) -> None:
    """Case-086, case-103, case-110: each loser is told where the run stands, reads on and tries again."""
    conflicts: list[PositionConflict] = []

    def write(writer: int) -> None:
        seen: StoredRow | None = None
        for number in range(10):
            while True:
                try:
                    store.append(one(part("run-1", f"{writer}.{number}", after=seen)))
                    break
                except PositionConflict as conflict:
                    conflicts.append(conflict)
                    seen = last(store, "run-1")

    together(*(partial(write, writer) for writer in range(24)))
    rows = assert_whole(store)
    assert sorted(ids(rows)) == sorted(f"{writer}.{number}" for writer in range(24) for number in range(10))
    assert conflicts
    assert all(conflict.actual > conflict.expected for conflict in conflicts)


def test_of_writers_that_expect_the_same_position_one_wins(store: FullStore) -> None:
    """The others learn the position of the winner, and none of their events is stored."""
    seen = None
    for turn in range(40):

        def write(writer: int, turn: int = turn, seen: StoredRow | None = seen) -> int:
            events = [f"{turn}.{writer}.{number}" for number in range(writer % 3 + 1)]
            try:
                return len(store.append(one(part("run-1", *events, after=seen))).gids)
            except PositionConflict as conflict:
                return -conflict.actual

        outcomes = together(*(partial(write, writer) for writer in range(6)))
        won = [outcome for outcome in outcomes if outcome > 0]
        assert len(won) == 1
        position = (0 if seen is None else seen.position) + won[0]
        assert sorted(set(outcomes) - set(won)) == [-position]
        seen = last(store, "run-1")
        assert seen is not None
        assert seen.position == position
    assert_whole(store)


def test_refusals_at_once_are_typed_and_leave_nothing_behind(store: FullStore) -> None:
    """Case-085, case-133: each names run and positions, and a follower reaches what comes after them."""
    store.append(one(part("run-1", "a", "b")))

    def fail(writer: int) -> set[tuple[str, int, int]]:
        told: set[tuple[str, int, int]] = set()
        for number in range(20):
            try:
                store.append(one(part("run-1", f"{writer}.{number}")))
            except PositionConflict as conflict:
                told.add((conflict.run, conflict.expected, conflict.actual))
        return told

    assert together(*(partial(fail, writer) for writer in range(8))) == [{("run-1", 0, 2)}] * 8
    gids = store.append(one(part("run-2", "c"))).gids
    assert [found.gid for found in shown(store).tail(after=gids[0] - 1)] == list(gids)
    assert ids(assert_whole(store)) == ["a", "b", "c"]


def test_results_of_thirty_calls_at_once_are_all_kept(store: FullStore) -> None:
    """Case-123: each is stored, or its writer knows that it is not and repeats it."""

    def record(call: int) -> None:
        while True:
            try:
                store.append(one(part("run-1", f"result-{call}", after=last(store, "run-1"))))
                return
            except PositionConflict:
                continue

    together(*(partial(record, call) for call in range(30)))
    assert sorted(ids(assert_whole(store))) == sorted(f"result-{call}" for call in range(30))


def test_of_those_who_claim_the_same_one_wins(store: FullStore) -> None:
    def claim(worker: int, attempt: int) -> str:
        """Return the run that holds the claim."""
        run = f"run-{attempt}.{worker}"
        try:
            store.append(one(part(run, Spec(run, claim=attempt.to_bytes(16, "big")))))
        except EffectInFlight as taken:
            return str(taken.data["run"])
        return run

    holders = [
        set(together(*(partial(claim, worker, attempt) for worker in range(8)))) for attempt in range(30)
    ]
    assert [{found.stream} for found in assert_whole(store)] == holders


def test_the_same_append_from_many_threads_is_stored_once(store: FullStore) -> None:
    """A caller that gave up and one that did not: both are told the same places."""
    for turn in range(20):
        append = one(part(f"run-{turn}", "a", "b"))
        outcomes = together(*(partial(store.append, append) for _ in range(8)))
        assert len({outcome.gids for outcome in outcomes}) == 1
        assert sorted(outcome.repeated for outcome in outcomes) == [False] + [True] * 7
    assert len(assert_whole(store)) == 40


def test_a_conflict_among_others_fails_only_its_caller(store: FullStore) -> None:
    """And no half of its append is stored, though it shares a commit with theirs."""
    store.append(one(part("taken", "x")))

    def good(number: int) -> bool:
        seen = None
        for turn in range(20):
            events = part(f"run-{number}", f"{number}.{turn}", f"{number}.{turn}'", after=seen)
            store.append(one(events))
            seen = events
        return True

    def bad(number: int) -> bool:
        for turn in range(20):
            fresh = part(f"half-{number}-{turn}", "never")
            try:
                store.append(one(fresh, part("taken", "never")))
            except PositionConflict:
                continue
            return False
        return True

    calls: list[Callable[[], bool]] = [partial(good, number) for number in range(4)]
    calls += [partial(bad, number) for number in range(4)]
    assert all(together(*calls))
    rows = assert_whole(store)
    assert "never" not in ids(rows)
    assert len(rows) == 1 + 4 * 20 * 2


def test_several_stream_appends_in_opposite_order_do_not_deadlock(store: FullStore) -> None:
    def write(names: tuple[str, str], writer: int) -> None:
        for turn in range(30):
            while True:
                parts = [part(name, f"{writer}.{turn}.{name}", after=last(store, name)) for name in names]
                try:
                    store.append(one(*parts))
                    break
                except PositionConflict:
                    continue

    pair = ("run-1", "run-2")
    together(*(partial(write, pair if writer % 2 else pair[::-1], writer) for writer in range(4)))
    rows = assert_whole(store)
    assert len(rows) == 4 * 30 * 2
    # What was appended together stands together in both streams: no other append came between.
    pairs = {tuple(id.split(".")[:2]) for id in ids(rows)}
    for name in pair:
        order = [tuple(id.split(".")[:2]) for id in ids(store.read(TENANT, name))]
        assert set(order) == pairs
        assert order == [tuple(id.split(".")[:2]) for id in ids(store.read(TENANT, "run-1"))]


def test_followers_under_load_miss_nothing_and_see_nothing_twice(store: FullStore) -> None:
    """Case-098, case-135 to case-143: all in the same order, which is the order that is there afterwards.

    One connection writes here, so no later commit can come before an earlier one: where several do, the tests
    of their store say more.
    """
    writers, events = 6, 60
    total = writers * events

    def write(writer: int) -> list[int]:
        seen = None
        for number in range(events):
            appended = part(f"run-{writer}", f"{writer}.{number}", after=seen)
            store.append(one(appended))
            seen = appended
        return []

    def follow(limit: int) -> list[int]:
        gids: list[int] = []
        while len(gids) < total:
            after = gids[-1] if gids else 0
            page = store.tail(after=after, limit=limit)
            gids += [found.gid for found in page]
            if not page:
                store.wait(after, 60.0)
        return gids

    calls = [
        *(partial(write, writer) for writer in range(writers)),
        *(partial(follow, n) for n in (1, 7, 500)),
    ]
    followed = together(*calls)[writers:]
    gids = [found.gid for found in assert_whole(store)]
    assert followed == [gids, gids, gids]


def test_what_a_follower_has_passed_is_complete(store: FullStore) -> None:
    """Case-134: `end` is never ahead of what is readable, so a cursor may move there."""
    done = threading.Event()

    def write(writer: int) -> None:
        seen = None
        for number in range(80):
            appended = part(f"run-{writer}", f"{writer}.{number}", after=seen)
            store.append(one(appended))
            seen = appended

    def check() -> None:
        while not done.is_set():
            end = store.end()
            gids = [found.gid for found in store.tail(limit=10**6)]
            assert gids[-1:] >= [end] or end == 0
            before = [gid for gid in gids if gid <= end]
            assert [found.gid for found in store.tail(limit=10**6) if found.gid <= end] == before

    def write_all() -> None:
        together(*(partial(write, writer) for writer in range(4)))
        done.set()

    together(write_all, check, check)
    assert len(assert_whole(store)) == 320


def test_nothing_is_accepted_after_the_withdrawal_it_relied_on(store: FullStore) -> None:
    """Thousands of guarded appends race with moves of their source: judged by the global order."""
    store.open_head(TENANT, POLICY)
    moves, acceptors, acceptances = 150, 4, 500
    refused: list[tuple[int, int | None]] = []
    all_moved = threading.Event()

    def withdraw() -> None:
        seen = None
        try:
            for number in range(moves):
                withdrawn = part(POLICY, f"w-{number}", after=seen)
                store.append(one(withdrawn))
                seen = withdrawn
        finally:
            all_moved.set()

    def accept(acceptor: int) -> None:
        """Accept so often, and until after the last move, whoever is let go on more often."""
        version, seen = 0, None
        for number in itertools.count():
            enough = number >= acceptances and all_moved.is_set()
            while True:
                spec = Spec(f"{acceptor}.{number}", {"relied_on": version})
                accepted = part(f"run-{acceptor}", spec, after=seen)
                try:
                    store.append(one(accepted, guards=[Guard(POLICY, version)]))
                except GuardMoved as moved:
                    refused.append((version, moved.actual))
                    version = moved.actual or 0
                    continue
                seen = accepted
                break
            if enough:
                return

    together(withdraw, *(partial(accept, acceptor) for acceptor in range(acceptors)))
    stands_at, found_late = 0, 0
    for found in assert_whole(store):
        if found.stream == POLICY:
            stands_at = found.position
        else:
            found_late += told(found.record)["relied_on"] != stands_at
    assert (stands_at, found_late) == (moves, 0)
    assert refused, "the race took place"
    assert all(actual is not None and actual > version for version, actual in refused)
