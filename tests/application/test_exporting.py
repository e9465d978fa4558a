"""Export and import: every byte and hash as it was, in the order it had, whatever comes in between."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ledger import Actor, Ledger, Source
from ledger.application import adding_runs
from ledger.application.edge import Edge
from ledger.application.expiring import expire
from ledger.application.exporting import Exported, export
from ledger.application.importing_runs import Differing, Imported, check_export, import_runs
from ledger.application.ledger import edge_of
from ledger.application.payloads import pack_content
from ledger.application.verifying import verify
from ledger.codec import encode
from ledger.errors import (
    ChainBroken,
    EffectInFlight,
    IntegrityError,
    InvalidInput,
    PositionConflict,
    RunNotFound,
    SchemaMismatch,
    StoreUnavailable,
    UnknownEventName,
)
from ledger.events import CursorMoved, MessageRecorded, RunOpened
from ledger.integrity.findings import Standing
from ledger.record import Envelope, digest
from ledger.stores.base import FullStore, Restore, StreamRow
from ledger.stores.memory import MemoryStore
from ledger.testing import Clock
from tests.stores.builder import assert_whole, shown
from tests.stores.conftest import KINDS

LARGE = "x" * 20_000
KIM: dict[str, Any] = {"by": "human:kim", "reason": "kept for a month"}
Rows = list[tuple[Any, ...]]


def opened(store: FullStore, tenant: str = "default", clock: Clock | None = None) -> Ledger:
    return Ledger(Edge(store, tenant, Actor("service:tests"), clock or Clock(), pause=lambda attempt: None))


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    with opened(KINDS[request.param](tmp_path)) as ledger:
        yield ledger


def charge(amount: str) -> dict[str, str]:
    return {"paid": amount, "receipt": LARGE}


def never(amount: str) -> None:
    raise AssertionError("it was done already")


def fill(ledger: Ledger) -> None:
    """Let a run, its child and its successor live together, under a source that moves meanwhile."""
    policy = ledger.source("policy:refunds")
    policy.publish("1", {"limit": "100 EUR"})
    run = ledger.open_run("parent", "Refund order 17")
    run.accept("limit", "100 EUR", source=Source("policy", "refunds", revision="1"), asserted_by="human:kim")
    run.record_message("m-1", "user", "please")
    other = ledger.open_run("another", "Something else")
    other.record_message("m-1", "user", "please")
    run.perform("charge", {"amount": "10"}, charge)
    policy.publish("2", {"limit": "50 EUR"})
    run.open_child("child", "Ask the customer")
    ledger.run("child").record_message("m-1", "user", LARGE)
    other.perform("charge", {"amount": "11"}, charge)
    run.promise("tell", "Mail the customer", owed_to="customer:17")


@pytest.fixture(scope="module")
def origin() -> Iterator[Ledger]:
    with opened(MemoryStore()) as ledger:
        fill(ledger)
        yield ledger


@pytest.fixture(scope="module")
def whole(origin: Ledger) -> bytes:
    return written(origin)[0]


def written(ledger: Ledger, runs: list[str] | None = None) -> tuple[bytes, Exported]:
    out = io.BytesIO()
    done = export(ledger, out.write, runs=runs)
    return out.getvalue(), done


def read(ledger: Ledger, data: bytes) -> Imported:
    done = import_runs(ledger, io.BytesIO(data))
    shown(ledger.store)
    return done


def rows(ledger: Ledger, *, named: bool = False) -> Rows:
    """List what is stored in its order, without global positions; by name where the order may be another."""
    shown(ledger.store)
    found = [row[2:] for row in ledger.store.tail(limit=100_000, tenant=ledger.tenant)]
    return sorted(found) if named else found


def lines(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


# --- there and back ------------------------------------------------------------------------------------


def test_everything_arrives_as_it_was_in_the_order_it_had(
    target: Ledger, origin: Ledger, whole: bytes
) -> None:
    done = read(target, whole)
    assert rows(target) == rows(origin)
    assert (done.added, done.records) == (len(rows(origin)),) * 2
    for run in ("parent", "child", "another"):
        assert target.contract(run) == origin.contract(run)
        assert target.run(run).load() == origin.run(run).load()
    assert target.store.source_heads("default") == origin.store.source_heads("default")
    assert verify(target).standing is Standing.SOUND
    assert_whole(target.store)
    # What is written of it is the same file.
    assert written(target)[0] == whole


def test_the_same_file_twice_changes_nothing(target: Ledger, whole: bytes) -> None:
    read(target, whole)
    before = target.store.tail(limit=1000)
    done = read(target, whole)
    assert (done.added, done.contents, done.differing) == (0, 0, [])
    assert target.store.tail(limit=1000) == before


def test_a_run_of_which_the_beginning_is_here_is_continued(target: Ledger) -> None:
    with opened(MemoryStore()) as origin:
        run = origin.open_run("r", "goal")
        run.record_message("m-1", "user", "one")
        read(target, written(origin)[0])
        run.record_message("m-2", "user", "two")
        run.record_message("m-3", "user", "one")
        done = read(target, written(origin)[0])
        assert (done.added, done.contents) == (2, 1)
        assert rows(target) == rows(origin)
        # It is a handle on the run as any other, and goes on.
        target.run("r").record_message("m-4", "user", "three")
        assert read(target, written(origin)[0]).added == 0
        assert target.contract("r").position == 5


def test_a_run_that_went_on_differently_is_named_and_nothing_is_stored(target: Ledger) -> None:
    with opened(MemoryStore()) as origin:
        origin.open_run("r", "goal").record_message("m-1", "user", "one")
        read(target, written(origin)[0])
        origin.open_run("new", "goal")
        target.run("r").record_message("m-2", "user", "here")
        origin.run("r").record_message("m-2", "user", "there")
        before = rows(target)
        assert read(target, written(origin)[0]).differing == [Differing("r", 3)]
        assert rows(target) == before


def test_an_act_that_was_done_there_is_not_done_here(target: Ledger, origin: Ledger, whole: bytes) -> None:
    read(target, whole)
    again = target.run("parent").perform("charge", {"amount": "10"}, never)
    assert again == charge("10")


def test_a_claim_that_is_under_way_there_is_refused_here(target: Ledger) -> None:
    with opened(MemoryStore()) as origin:
        run = origin.open_run("r", "goal")

        def looks(amount: str) -> None:
            read(target, written(origin)[0])
            with pytest.raises(EffectInFlight):
                target.run("r").perform("charge", {"amount": amount}, charge, wait_seconds=0)

        run.perform("charge", {"amount": "10"}, looks)


def test_of_some_runs_goes_what_they_rest_on(target: Ledger, origin: Ledger) -> None:
    data, done = written(origin, ["child"])
    assert lines(data)[0]["streams"] == ["$source:policy:refunds", "child", "parent"]
    assert done.streams == 3
    read(target, data)
    assert [one.run for one in target.runs().runs] == ["child", "parent"]
    assert target.contract("child") == origin.contract("child")
    assert verify(target).standing is Standing.SOUND
    order = [row for row in rows(origin) if row[0] != "another"]
    assert rows(target) == order
    # And the rest later: streams that are here stay.
    read(target, written(origin)[0])
    assert rows(target, named=True) == rows(origin, named=True)
    with pytest.raises(RunNotFound):
        written(origin, ["nobody"])


def test_each_content_stands_once_before_the_first_record_that_names_it(whole: bytes) -> None:
    found = lines(whole)
    contents = [one["digest"] for one in found if "class" in one]
    assert len(contents) == len(set(contents)) == 4
    for content in contents:
        place = next(number for number, one in enumerate(found) if one.get("digest") == content)
        naming = [number for number, one in enumerate(found) if content in one.get("record", "")]
        assert place < min(naming)


def test_bytes_that_are_no_text_arrive_too(target: Ledger) -> None:
    with opened(MemoryStore()) as origin:
        packed = pack_content(b"\xff\x00", "message")
        kept = packed.blobs[0]._replace(expires_at="2100-01-01T00:00:00.000000Z")
        said = MessageRecorded(content=packed.payload, id="m", role="user")
        origin.import_events("r", [RunOpened(goal="g"), said], expected=0, blobs=[kept])
        read(target, written(origin)[0])
        assert target.store.kept_blobs("default", [kept.digest]) == [kept]


def test_what_has_expired_stays_so_and_says_so(target: Ledger) -> None:
    clock = Clock()
    with opened(MemoryStore(), clock=clock) as origin:
        origin.open_run("r", "goal").record_message("m-1", "user", "secret")
        clock.tick(3600)
        expire(origin, run="r", **KIM)
        data, done = written(origin, ["r"])
        assert (done.missing, done.dropped, done.own) == (1, 1, True)
        assert lines(data)[0]["streams"] == ["$ledger", "r"]
        took = read(target, data)
        assert (took.missing, took.dropped, took.unfinished) == (1, 1, 0)
        report = verify(target)
        assert (report.standing, report.expired_blobs) == (Standing.SOUND, 1)


def test_what_this_ledger_has_said_of_itself_stays(target: Ledger) -> None:
    with opened(MemoryStore()) as origin:
        for ledger, run in ((origin, "there"), (target, "here")):
            ledger.open_run(run, "goal").record_message("m-1", "user", run)
            clock: Any = edge_of(ledger).clock
            clock.tick(3600)
            expire(ledger, run=run, **KIM)
        done = read(target, written(origin, ["there"])[0])
        assert (done.own_left_out, done.differing, done.added) == (True, [], 2)
        assert len(target.store.read("default", "$ledger")) == 1
        report = verify(target)
        assert (report.standing, report.expired_blobs, report.missing_blobs) == (Standing.UNSUPPORTED, 1, 1)


def test_it_is_for_the_tenant_of_that_name_only(whole: bytes) -> None:
    with opened(MemoryStore(), "acme") as other:
        with pytest.raises(InvalidInput) as refused:
            read(other, whole)
        assert refused.value.path == "tenant"
        assert rows(other) == []


# --- files that are not what was written -------------------------------------------------------------


def test_a_file_that_is_cut_anywhere_is_refused_before_anything_is_stored(whole: bytes) -> None:
    with opened(MemoryStore()) as target:
        ends = [number for number, byte in enumerate(whole) if byte == 10]
        for cut in [*ends[:-1:7], len(whole) - 1, len(whole) - 40, 10]:
            for end in (cut, cut + 1):
                with pytest.raises(InvalidInput):
                    read(target, whole[: min(end, len(whole) - 1)])
        assert rows(target) == []
        assert target.store.list_blobs("default") == []


def test_a_file_that_was_changed_is_refused_before_anything_is_stored(whole: bytes) -> None:
    with opened(MemoryStore()) as target:
        parts = whole.splitlines(keepends=True)
        record = next(n for n, one in enumerate(parts) if b"run.opened" in one)
        content = next(n for n, one in enumerate(parts) if b'"class"' in one)
        please = parts[content].replace(b"please", b"Please")
        changes: list[tuple[list[bytes], type[Exception]]] = [
            ([*parts[:record], *parts[record + 1 :]], ChainBroken),
            ([*parts[:content], *parts[content + 1 :]], InvalidInput),
            ([*parts[:content], please, *parts[content + 1 :]], IntegrityError),
            (
                [*parts[:record], parts[record].replace(b"Refund", b"refund"), *parts[record + 1 :]],
                ChainBroken,
            ),
            ([*parts[:record], parts[record], *parts[record:]], ChainBroken),
            ([*parts, parts[-1]], InvalidInput),
            ([parts[0].replace(b'"version":1', b'"version":2'), *parts[1:]], SchemaMismatch),
            ([b'{"format":"else"}\n', *parts[1:]], InvalidInput),
            ([parts[0], b"[]\n", *parts[1:]], InvalidInput),
            ([parts[0], b'{"record":1}\n', *parts[1:]], InvalidInput),
        ]
        for changed, error in changes:
            with pytest.raises(error):
                read(target, b"".join(changed))
            with pytest.raises(error):
                check_export(io.BytesIO(b"".join(changed)), "default")
        assert rows(target) == []
        assert check_export(io.BytesIO(whole), "default").records == len(lines(whole)) - 2 - len(
            [one for one in lines(whole) if "class" in one]
        )


def test_an_altered_record_is_told_with_its_line_in_the_file(whole: bytes) -> None:
    parts = whole.splitlines(keepends=True)
    number = next(n for n, one in enumerate(parts) if b"run.opened" in one)
    parts[number] = parts[number].replace(b"Refund", b"refund")
    with opened(MemoryStore()) as target, pytest.raises(ChainBroken) as refused:
        read(target, b"".join(parts))
    assert (refused.value.data["line"], refused.value.position) == (number + 1, 1)
    assert str(refused.value).startswith(f"line {number + 1}: the file is not what was exported: in it ")


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (b'"name":"cursor.moved"', b'"name":"cursor.mOved"', UnknownEventName),
        (b'"v":1', b'"v":2', SchemaMismatch),
    ],
)
def test_what_a_newer_program_wrote_is_refused_before_anything_is_stored(
    target: Ledger, old: bytes, new: bytes, error: type[Exception]
) -> None:
    with opened(MemoryStore()) as origin:
        run = origin.open_run("r", "goal")
        run.move("a")
        data = written(origin)[0]
    parts = data.splitlines(keepends=True)
    fields = json.loads(parts[2])
    record = fields["record"].encode().replace(old, new)
    fields |= {"record": record.decode(), "hash": digest(record).hex()}
    parts[2] = json.dumps(fields).encode() + b"\n"
    with pytest.raises(error):
        read(target, b"".join(parts))
    assert rows(target) == []


def test_what_is_altered_is_not_exported() -> None:
    with opened(MemoryStore()) as origin:
        fill(origin)
        store: Any = origin.store
        store._tables.events[3] = store._tables.events[3]._replace(record=b"{}")
        with pytest.raises(ChainBroken):
            written(origin)


# --- cut short ---------------------------------------------------------------------------------------


def test_an_import_that_was_cut_short_goes_on(
    target: Ledger, origin: Ledger, whole: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adding_runs, "BATCH", 4)
    store: Any = target.store
    restore, left = store.restore, [2]

    def fails(one: Restore) -> tuple[int, ...]:
        left[0] -= 1
        if left[0] < 0:
            raise StoreUnavailable("away", reason="connection_lost")
        done: tuple[int, ...] = restore(one)
        return done

    store.restore = fails
    with pytest.raises(StoreUnavailable) as away:
        read(target, whole)
    stored = rows(target)
    assert 0 < len(stored) <= 8
    assert stored == rows(origin)[: len(stored)]
    assert away.value.data["added"] == len(stored)
    assert "repeat the import before anybody goes on" in str(away.value)
    store.restore = restore
    assert read(target, whole).added == len(rows(origin)) - len(stored)
    assert rows(target) == rows(origin)
    assert verify(target).standing is Standing.SOUND


# --- the store's part --------------------------------------------------------------------------------


def moved(run: str, count: int) -> list[StreamRow]:
    found: list[StreamRow] = []
    prev = bytes(32)
    for number in range(1, count + 1):
        event = RunOpened(goal=run) if number == 1 else CursorMoved(node=f"n-{number}")
        envelope = Envelope(
            "default", run, number, prev, f"{run}-{number}", Clock()(), Actor("service:tests")
        )
        row = encode(event, envelope)
        found.append(StreamRow(run, prev, row))
        prev = row.hash
    return found


def test_rows_are_stored_in_their_order_all_or_none_and_once(target: Ledger) -> None:
    store = target.store
    one, two = moved("one", 3), moved("two", 3)
    mixed = Restore("default", (one[0], two[0], one[1], two[1]))
    gids = store.restore(mixed)
    assert list(gids) == sorted(gids)
    assert store.restore(mixed) == gids
    for wrong in ((one[2], two[1]), (two[2]._replace(prev=bytes(32)),)):
        with pytest.raises(PositionConflict):
            store.restore(Restore("default", wrong))
    assert [(row[0], row[1]) for row in rows(target)] == [("one", 1), ("two", 1), ("one", 2), ("two", 2)]
    store.restore(Restore("default", (two[2], one[2])))
    assert [(row[0], row[1]) for row in rows(target)][4:] == [("two", 3), ("one", 3)]
    assert store.restore(Restore("default", ())) == ()


# --- laws --------------------------------------------------------------------------------------------

Step = Callable[[Ledger, str, int], object]
STEPS: dict[str, Step] = {
    "message": lambda ledger, run, n: ledger.run(run).record_message(f"m-{n}", "user", n % 3),
    "act": lambda ledger, run, n: ledger.run(run).perform("charge", {"amount": str(n)}, charge),
    "goal": lambda ledger, run, n: ledger.run(run).revise_goal(f"g {n}", reason="r", by="human:kim"),
    "publish": lambda ledger, run, n: ledger.source(f"policy:{run}").publish(str(n), {"a": str(n)}),
}
SAID = st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.sampled_from("abc")), max_size=12)


@settings(max_examples=15)
@given(SAID, st.integers(1, 9))
def test_whatever_happened_arrives_as_it_was(steps: list[tuple[str, str]], batch: int) -> None:
    with (
        opened(MemoryStore()) as origin,
        opened(MemoryStore()) as target,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(adding_runs, "BATCH", batch)
        for run in "abc":
            origin.open_run(run, f"goal of {run}")
        half = written(origin)[0]
        for number, (step, run) in enumerate(steps):
            STEPS[step](origin, run, number)
        data = written(origin)[0]
        read(target, half)
        read(target, data)
        assert rows(target) == rows(origin)
        assert [target.contract(run) for run in "abc"] == [origin.contract(run) for run in "abc"]
        assert verify(target).standing is Standing.SOUND
        assert written(target)[0] == data


# --- size --------------------------------------------------------------------------------------------


def peaks(folder: Path, count: int) -> tuple[int, int]:
    """Export a run of so many events with contents, and import it; return how much memory each took."""
    with closing(KINDS["sqlite"](folder)) as store, opened(MemoryStore()) as source:
        source.open_run("r", "goal")
        for start in range(0, count, 500):
            said = [pack_content(f"message {n}".encode() * 200, "message") for n in range(start, start + 500)]
            events = [
                MessageRecorded(content=one.payload, id=str(n), role="user") for n, one in enumerate(said)
            ]
            blobs = [blob for one in said for blob in one.blobs]
            source.import_events("r", events, expected=start + 1, blobs=blobs)
        with (folder / "export").open("w+b") as file:
            tracemalloc.start()
            export(source, file.write)
            _, out = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
            import_runs(opened(store), file)
            _, back = tracemalloc.get_traced_memory()
            tracemalloc.stop()
    return out, back


@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding_runs, "BATCH_BYTES", 1024 * 1024)
    (tmp_path / "small").mkdir()
    (tmp_path / "large").mkdir()
    small, large = peaks(tmp_path / "small", 500), peaks(tmp_path / "large", 2_500)
    # 5 MB of contents more, and a hash of each stream: what is held is a page and some contents.
    assert large[0] < small[0] + 1_500_000
    assert large[1] < small[1] + 1_500_000
