"""Contracts now and then, logs, lists, the global order, and what a stopped run needs."""

import os
import threading
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import Ledger, RunQuery, open_ledger
from ledger.application.reading import loaded
from ledger.application.snapshots import SNAPSHOT_EVERY
from ledger.errors import ChainBroken, InvalidInput, NotFound, RunNotFound
from ledger.record import ZERO_HASH, Row
from ledger.run.saving import save
from ledger.run.state import FOLD
from ledger.stores.base import Append, FullStore, SnapshotRow, StreamAppend
from tests.application.conftest import OpenLedger, SetClock, get_through
from tests.stores.builder import shown


def lively(ledger: Ledger, run: str, events: int, clock: SetClock) -> None:
    """Write a run whose contract changes in several ways."""
    handle = ledger.open_run(run, "goal 0")
    for number in range(2, events + 1):
        clock.tick(60)
        match number % 4:
            case 0:
                handle.revise_goal(f"goal {number}", reason="asked", by="human:kim")
            case 1:
                handle.assume(f"a{number}", "in stock")
            case 2:
                handle.record_message(f"m{number}", "user", f"text {number}")
            case _:
                handle.move(f"node-{number}")


def test_contracts_of_the_past_are_what_they_were(ledger: Ledger, clock: SetClock) -> None:
    handle = ledger.open_run("r", "goal")
    seen = [handle.contract]
    for number in range(100):
        clock.tick(60)
        handle.assume(f"a{number}", "in stock")
        seen.append(handle.contract)
    for contract in seen:
        assert ledger.contract("r", at=contract.position) == contract
        assert ledger.contract("r", at=contract.at + timedelta(seconds=59)) == contract


def test_times_and_positions_that_never_were_are_refused(ledger: Ledger, clock: SetClock) -> None:
    ledger.open_run("r", "goal")
    with pytest.raises(RunNotFound):
        ledger.contract("r", at=clock.now - timedelta(seconds=1))
    with pytest.raises(RunNotFound):
        ledger.contract("other", at=clock.now)
    for at in (0, -1, 2):
        with pytest.raises(InvalidInput):
            ledger.contract("r", at=at)
    with pytest.raises(InvalidInput):
        ledger.contract("r", at=datetime(2030, 1, 1))  # noqa: DTZ001 - that is what is refused


def test_a_run_whose_name_begins_another_ones_is_not_taken_for_it(ledger: Ledger, clock: SetClock) -> None:
    ledger.open_run("run-10", "goal")
    with pytest.raises(RunNotFound):
        ledger.contract("run-1", at=clock.now)
    ledger.open_run("run-1", "the other goal")
    assert ledger.contract("run-1", at=clock.now).goal.text == "the other goal"


def test_snapshots_change_no_answer(ledger: Ledger, store: FullStore, clock: SetClock) -> None:
    lively(ledger, "r", 130, clock)
    assert store.snapshots("default", "r")
    places = [1, 2, 15, 16, 17, 31, 64, 65, 100, 129, 130]
    with_snapshots = [ledger.contract("r", at=place) for place in places]
    assert store.drop_snapshots() > 0
    assert [ledger.contract("r", at=place) for place in places] == with_snapshots


def test_loading_reads_only_what_the_snapshot_lacks(
    ledger: Ledger, store: FullStore, clock: SetClock
) -> None:
    lively(ledger, "r", 500, clock)
    loaded = store.load("default", "r", FOLD)
    assert loaded.snapshot is not None
    assert len(loaded.tail) < SNAPSHOT_EVERY * 4


@pytest.mark.parametrize("state", [b"", b"{}", b"\xff", b'{"position": "x"}'])
def test_a_snapshot_that_cannot_be_read_is_as_good_as_none(
    ledger: Ledger, store: FullStore, clock: SetClock, state: bytes
) -> None:
    lively(ledger, "r", 40, clock)
    contract = ledger.contract("r")
    head = bytes.fromhex(contract.hash)
    store.put_snapshot("default", "r", SnapshotRow(contract.position, head, FOLD, state))
    assert ledger.contract("r") == contract


def test_an_altered_snapshot_is_not_taken_for_the_contract(
    ledger: Ledger, store: FullStore, clock: SetClock
) -> None:
    lively(ledger, "r", 40, clock)
    whole = ledger.contract("r")
    at = bytes.fromhex(whole.hash)
    other = save(ledger.contract("r", at=39))
    for state in (save(whole).replace(b"goal 40", b"goal 99"), save(whole)[65:], other, b"\n" * 80):
        store.put_snapshot("default", "r", SnapshotRow(40, at, FOLD, state))
        assert ledger.contract("r") == whole


def test_a_snapshot_of_another_fold_is_passed_over(ledger: Ledger, store: FullStore, clock: SetClock) -> None:
    lively(ledger, "r", 40, clock)
    contract = ledger.contract("r")
    wrong = contract.model_copy(update={"goal": contract.goal.model_copy(update={"text": "stolen"})})
    state = save(wrong)
    store.put_snapshot("default", "r", SnapshotRow(40, bytes.fromhex(contract.hash), "0", state))
    assert ledger.contract("r").goal.text == contract.goal.text


def test_a_failing_snapshot_never_fails_the_append(store: FullStore, open_on: OpenLedger) -> None:
    from ledger.errors import StoreUnavailable

    class NoSnapshots:
        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        def put_snapshot(self, *args: object, **kwargs: object) -> None:
            raise StoreUnavailable("the disk is full")

    run = open_on(store=NoSnapshots()).open_run("r", "goal")
    for number in range(40):
        run.move(f"n{number}")
    assert run.contract.tally.steps == 40


@settings(max_examples=25)
@given(moves=st.lists(st.sampled_from(["a", "b", "c"]), max_size=40), cut=st.integers(1, 41))
def test_a_snapshot_anywhere_and_its_tail_are_the_full_fold(moves: list[str], cut: int) -> None:
    with open_ledger(":memory:") as ledger:
        run = ledger.open_run("r", "goal")
        for number, node in enumerate(moves):
            run.move(node, round=number)
        whole = ledger.contract("r")
        ledger.store.drop_snapshots()
        at = min(cut, whole.position)
        part = ledger.contract("r", at=at)
        state = save(part)
        ledger.store.put_snapshot("default", "r", SnapshotRow(at, bytes.fromhex(part.hash), FOLD, state))
        assert ledger.contract("r") == whole


# --- what a stopped run needs ----------------------------------------------------------------------


def test_load_gives_contract_results_and_messages_of_one_position(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    run.record_message("1", "user", {"text": "hello", "parts": [1, 2.5, None]})
    run.observe("stock:7", {"pieces": 3}, tool="stock", observed_at=clock.now, fresh_for=60)
    run.observe("big", "x" * 50_000, tool="stock", observed_at=clock.now)
    run.move("answer", needs=("observation:stock:7", "observation:big", "observation:none"))
    loaded = ledger.run("r").load()
    assert loaded.contract.position == 5
    assert loaded.results == {"observation:stock:7": {"pieces": 3}, "observation:big": "x" * 50_000}
    assert [content for _, content in loaded.messages] == [{"text": "hello", "parts": [1, 2.5, None]}]


def test_load_takes_as_many_queries_for_a_long_run_as_for_a_short_one(
    store: FullStore, open_on: OpenLedger, clock: SetClock
) -> None:
    calls: list[str] = []

    class Counting:
        def __getattr__(self, name: str) -> Any:
            found = getattr(store, name)
            if not callable(found):
                return found

            def call(*args: Any, **kwargs: Any) -> Any:
                calls.append(name)
                return found(*args, **kwargs)

            return call

    ledger = open_on(store=Counting())
    counts = []
    for run, size in (("short", 5), ("long", 400)):
        lively(ledger, run, size, clock)
        handle = ledger.run(run)
        needs = tuple(f"observation:k{number}" for number in range(size // 40 + 1))
        for number in range(size // 40 + 1):
            handle.observe(f"k{number}", number, tool="stock", observed_at=clock.now)
        handle.move("n", needs=needs)
        again = ledger.run(run)
        calls.clear()
        assert len(again.load().results) == len(needs)
        counts.append(len(calls))
    assert counts[0] == counts[1] <= 4


def test_what_cannot_be_written_as_json_is_still_recorded(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    run.observe("k", {1, 2}, tool="stock", observed_at=clock.now)
    value = run.contract.observations[0].value
    assert value.type == "set"


def test_old_messages_are_told_apart_by_their_id(ledger: Ledger) -> None:
    from ledger.errors import IdInUse

    run = ledger.open_run("r", "goal")
    for number in range(80):
        run.record_message(f"m{number}", "user", f"text {number}")
    assert run.record_message("m0", "user", "text 0").position == 2
    with pytest.raises(IdInUse):
        run.record_message("m0", "user", "another text")
    assert len(run.contract.messages) == 64


def test_content_is_found_by_its_digest(ledger: Ledger) -> None:
    run = ledger.open_run("r", "goal")
    run.record_message("m", "user", "hello")
    digest = run.contract.messages[0].content.digest
    assert digest is not None
    assert ledger.blob(digest) == b'"hello"'
    with pytest.raises(NotFound):
        ledger.blob("0" * 64)
    with pytest.raises(InvalidInput):
        ledger.blob("nonsense")


def test_what_happens_later_to_a_key_does_not_hide_the_result(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    run.observe("k", 1, tool="stock", observed_at=clock.now)
    run.observe("long", "x" * 5_000, tool="stock", observed_at=clock.now)
    run.move("n", needs=("observation:k", "observation:long"))
    for number in range(20):
        run.invalidate("k", reason=f"reason {number}")
        run.invalidate("long", reason=f"reason {number}")
    assert run.load().results == {"observation:k": 1, "observation:long": "x" * 5_000}


def test_an_older_observation_told_late_is_not_the_result(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    run.observe("k", "new " * 500, tool="stock", observed_at=clock.now)
    run.move("n", needs=("observation:k",))
    run.observe("k", "old " * 500, tool="stock", observed_at=clock.now - timedelta(hours=1))
    assert run.load().results == {"observation:k": "new " * 500}


def test_what_others_write_meanwhile_does_not_hide_the_result(ledger: Ledger, clock: SetClock) -> None:
    run = ledger.open_run("r", "goal")
    run.observe("k", "x" * 5_000, tool="stock", observed_at=clock.now)
    run.move("n", needs=("observation:k",))
    seen = run.contract
    for number in range(20):
        ledger.run("r").observe("k", "y" * 5_000 + str(number), tool="stock", observed_at=clock.now)
    assert loaded(ledger._edge, seen).results == {"observation:k": "x" * 5_000}


# --- lists -------------------------------------------------------------------------------------------


def test_runs_are_paged_and_filtered(ledger: Ledger) -> None:
    for number in range(25):
        run = ledger.open_run(
            f"run-{number:02}", "goal", owner="human:kim" if number % 2 else None, labels={"batch": "b1"}
        )
        if number % 5 == 0:
            run.suspend(reason="lunch")
    ledger.source("policy:refunds").publish("1", {"x": "text"})
    page = ledger.runs(limit=10)
    names = [run.run for run in page.runs]
    while page.next is not None:
        page = ledger.runs(RunQuery(after=page.next, limit=10))
        names += [run.run for run in page.runs]
    assert names == [f"run-{number:02}" for number in range(25)]
    assert len(ledger.runs(status="suspended").runs) == 5
    assert len(ledger.runs(owner="human:kim").runs) == 12
    assert len(ledger.runs(labels={"batch": "b1"}, status="open").runs) == 20
    assert ledger.runs(labels={"batch": "b2"}).runs == ()
    assert [run.run for run in ledger.runs(prefix="run-2").runs] == [f"run-2{n}" for n in range(5)]


def test_an_unknown_filter_is_refused(ledger: Ledger) -> None:
    with pytest.raises(InvalidInput) as refused:
        ledger.runs(tenant_id="other")
    assert refused.value.path == "tenant_id"


def test_tenants_see_nothing_of_each_other(open_on: OpenLedger) -> None:
    ours, theirs = open_on("acme"), open_on("Acme")
    ours.open_run("r", "our goal")
    theirs.open_run("r", "their goal")
    assert ours.contract("r").goal.text == "our goal"
    shown(ours.store)
    assert [record.tenant for record in theirs.follow()] == ["Acme"]


def test_names_that_look_alike_stay_apart(ledger: Ledger) -> None:
    names = ["caf\u00e9", "cafe\u0301", "Acme/1", "acme/1", " r", "r", "r "]
    for name in names:
        ledger.open_run(name, f"goal of {name!r}")
    assert sorted(run.run for run in ledger.runs().runs) == sorted(names)
    for name in names:
        assert ledger.contract(name).goal.text == f"goal of {name!r}"


def test_the_log_is_verified_and_paged(ledger: Ledger, clock: SetClock) -> None:
    lively(ledger, "r", 1203, clock)
    assert [record.position for record in ledger.log("r")] == list(range(1, 1204))
    assert [r.position for r in ledger.log("r", after=1000, upto=1010, limit=5)] == [
        1001,
        1002,
        1003,
        1004,
        1005,
    ]
    assert list(ledger.log("r", after=5000)) == []
    with pytest.raises(RunNotFound):
        ledger.log("nobody")


# --- the global order ----------------------------------------------------------------------------------


def test_a_follower_sees_everything_once_and_goes_on_where_it_stopped(ledger: Ledger) -> None:
    for number in range(30):
        ledger.open_run(f"r{number}", "goal")
    shown(ledger.store)
    seen: list[str] = []
    cursor = 0
    while True:
        page = [record for record, _ in zip(ledger.follow(after=cursor), range(7), strict=False)]
        if not page:
            break
        seen += [record.run for record in page]
        assert page[-1].global_position is not None
        cursor = page[-1].global_position
    assert seen == [f"r{number}" for number in range(30)]


def test_a_cursor_from_before_a_restore_is_refused(ledger: Ledger) -> None:
    ledger.open_run("r", "goal")
    end = shown(ledger.store).end()
    assert list(ledger.follow(after=end)) == []
    with pytest.raises(InvalidInput) as refused:
        list(ledger.follow(after=end + 120))
    assert refused.value.path == "after"


def test_a_live_follower_gets_what_is_written_later(ledger: Ledger) -> None:
    seen: list[str] = []
    ready = threading.Event()

    def listen() -> None:
        for record in ledger.follow(live=True):
            seen.append(record.run)
            ready.set()
            if record.run == "last":
                return

    ledger.open_run("first", "goal")
    thread = threading.Thread(target=listen)
    thread.start()
    assert ready.wait(30)
    ledger.open_run("last", "goal")
    thread.join(30)
    assert seen == ["first", "last"]


def test_a_live_follower_ends_with_the_ledger_or_when_nothing_comes(ledger: Ledger) -> None:
    ledger.open_run("r", "goal")
    assert [record.run for record in ledger.follow(live=True, idle_seconds=0.01)] == ["r"]
    seen = threading.Event()

    def listen() -> None:
        for _ in ledger.follow(live=True):
            seen.set()

    thread = threading.Thread(target=listen)
    thread.start()
    assert seen.wait(30)
    ledger.close()
    thread.join(30)
    assert not thread.is_alive()


def test_a_ledger_used_after_fork_reopens(tmp_path: Any) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        run = ledger.open_run("r", "goal")
        child = os.fork()
        if child == 0:
            try:
                run.assume("child", "in stock")
                ledger.open_run("of-the-child", "goal")
            except BaseException:  # noqa: BLE001 - a forked child must not return into the test run
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        run.assume("parent", "in season")
        assert [item.id for item in run.contract.assumptions] == ["child", "parent"]
        assert {summary.run for summary in ledger.runs().runs} == {"r", "of-the-child"}


def test_a_handle_that_another_thread_uses_is_free_in_a_forked_child(tmp_path: Any) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        run = ledger.open_run("r", "goal")
        done = threading.Event()

        def write() -> None:
            number = 0
            while not done.is_set():
                number += 1
                run.move(f"n{number}")

        thread = threading.Thread(target=write)
        thread.start()
        children = []
        for number in range(5):
            child = os.fork()
            if child == 0:
                try:
                    get_through(partial(run.assume, f"child-{number}", "in stock"))
                except BaseException:  # noqa: BLE001 - a forked child must not return into the test run
                    os._exit(1)
                os._exit(0)
            children.append(child)
        codes = [os.waitpid(child, 0)[1] for child in children]
        done.set()
        thread.join()
        assert codes == [0] * 5
        assert len(run.contract.assumptions) == 5


def test_an_address_that_is_none_is_refused() -> None:
    for url in ("", "  ", "mysql://host/db"):
        with pytest.raises(InvalidInput):
            open_ledger(url)
    with pytest.raises(InvalidInput):
        open_ledger(":memory:", tenant="")


def test_a_moment_in_any_zone_is_the_same_moment(ledger: Ledger, clock: SetClock) -> None:
    from datetime import timezone

    ledger.open_run("r", "goal")
    there = clock.now.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert ledger.contract("r", at=there).at == datetime(2026, 1, 31, 9, 0, tzinfo=UTC)


def test_a_run_copied_from_another_tenant_is_not_taken_for_ones_own(
    store: FullStore, open_on: OpenLedger
) -> None:
    theirs = open_on("acme").open_run("r", "their goal")
    theirs.move("pay")
    rows = store.read("acme", "r")
    copies = tuple(Row(r.position, "", r.hash, r.key, r.act, r.claim, r.record) for r in rows)
    store.append(Append("evil", (StreamAppend("r", 0, ZERO_HASH, copies),)))
    shown(store)
    for ask in (
        lambda: open_on("evil").contract("r"),
        lambda: list(open_on("evil").log("r")),
        lambda: list(open_on("evil").follow()),
    ):
        with pytest.raises(ChainBroken):
            ask()
