"""Files that were made to deceive, and what happens beside an import, an export or an expiry."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ledger import Actor, Ledger
from ledger.application import adding_runs, explained, export_lines, exporting
from ledger.application.edge import Edge
from ledger.application.expired import expired
from ledger.application.expiring import expire, finish
from ledger.application.export_format import End, Entry, Header, end_line, entry_line, header_line, line
from ledger.application.exporting import export
from ledger.application.importing_runs import Imported, import_runs
from ledger.application.payloads import named_among, pack_content
from ledger.application.verifying import verify
from ledger.codec import encode
from ledger.errors import ChainBroken, InvalidInput, LedgerError, NotForAgents, UndecodableRecord
from ledger.events import Event, GoalRevised, RunOpened
from ledger.integrity.findings import Check, Standing
from ledger.record import ZERO_HASH, Envelope, digest
from ledger.stores.base import BlobRow, Restore, StreamRow
from ledger.stores.memory import MemoryStore
from ledger.testing import Clock

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OPENED = RunOpened(goal="goal")
REVISED = GoalRevised(text="t", reason="r", by="human:kim")
KIM: dict[str, Any] = {"by": "human:kim", "reason": "on request"}
KIM_ACTS = Actor("human:kim")


def opened(actor: Actor = KIM_ACTS, clock: Clock | None = None) -> Ledger:
    return Ledger(Edge(MemoryStore(), "default", actor, clock or Clock()))


def forged(stream: str, events: Sequence[tuple[Event, datetime]]) -> list[bytes]:
    """Write the lines of records with a chain that holds, whatever they say."""
    found, prev = [], ZERO_HASH
    for number, (event, at) in enumerate(events, 1):
        envelope = Envelope("default", stream, number, prev, f"e-{number}", at, KIM_ACTS)
        row = encode(event, envelope)
        found.append(entry_line(Entry(stream, number, row.hash, row.record)))
        prev = row.hash
    return found


def file_of(records: Sequence[bytes], contents: Sequence[bytes] = ()) -> io.BytesIO:
    streams = {json.loads(one)["stream"] for one in records}
    body = b"".join([header_line(Header("default", None), "2026-01-01T00:00:00Z"), *contents, *records])
    end = End(len(records), len(streams), len(contents), 0, hashlib.sha256(body).hexdigest())
    return io.BytesIO(body + end_line(end))


def written(ledger: Ledger, runs: list[str] | None = None) -> bytes:
    out = io.BytesIO()
    export(ledger, out.write, runs=runs)
    return out.getvalue()


def contents(ledger: Ledger) -> list[BlobRow]:
    return ledger.store.list_blobs("default")


# --- what verify rejects ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stream", "events", "number", "error"),
    [
        ("r", [(REVISED, NOW)], 2, UndecodableRecord),
        ("r", [(OPENED, NOW), (OPENED, NOW)], 3, UndecodableRecord),
        ("r", [(OPENED, NOW), (REVISED, NOW - timedelta(days=1))], 3, ChainBroken),
        ("$source:policy:p", [(OPENED, NOW)], 2, UndecodableRecord),
        ("$ledger", [(OPENED, NOW)], 2, UndecodableRecord),
        ("$foo", [(OPENED, NOW)], 2, UndecodableRecord),
        ("x" * 201, [(OPENED, NOW)], 2, UndecodableRecord),
    ],
)
def test_what_has_no_place_is_refused_with_its_line(
    stream: str, events: list[tuple[Event, datetime]], number: int, error: type[LedgerError]
) -> None:
    with opened() as target:
        with pytest.raises(error) as refused:
            import_runs(target, file_of(forged(stream, events)))
        assert refused.value.data["line"] == number
        assert target.store.tail() == []


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"id":"e-1"', b'"id":"%b"' % (b"x" * 201)), (b'"v":1', b'"v": 1'), (b"human:kim", b"kim")],
)
def test_what_the_ledger_would_not_write_so_is_refused(old: bytes, new: bytes) -> None:
    fields = json.loads(forged("r", [(OPENED, NOW)])[0])
    record = fields["record"].encode().replace(old, new)
    entry = entry_line(Entry("r", 1, digest(record), record))
    with opened() as target:
        with pytest.raises((ChainBroken, UndecodableRecord)) as refused:
            import_runs(target, file_of([entry]))
        assert refused.value.data["line"] == 2
        assert target.store.tail() == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("class", "else"), ("class", ""), ("expires_at", "~~~"), ("expires_at", "2026-01-01T00:00:00Z")],
)
def test_a_content_says_nothing_but_what_the_ledger_would(name: str, value: str) -> None:
    sound = {"class": "message", "content": "x", "digest": hashlib.sha256(b"x").hexdigest()}
    with opened() as target:
        import_runs(target, file_of(forged("r", [(OPENED, NOW)]), [line(sound)]))
        with pytest.raises(InvalidInput, match="line 2"):
            import_runs(target, file_of(forged("r", [(OPENED, NOW)]), [line(sound | {name: value})]))


def test_a_line_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export_lines, "_LONGEST_RECORD", 1000)
    monkeypatch.setattr(export_lines, "_LONGEST", {b'{"class"': 5000})
    content = b"x" * 2000
    kept = line(
        {"class": "message", "content": content.decode(), "digest": hashlib.sha256(content).hexdigest()}
    )
    with opened() as target:
        import_runs(target, file_of(forged("r", [(OPENED, NOW)]), [kept]))
        for long in (b'{"class":"' + b"x" * 6000, b'{"hash":"' + b"x" * 1000):
            with pytest.raises(InvalidInput, match="line 2: it is longer than"):
                import_runs(target, file_of(forged("s", [(OPENED, NOW)]), [long + b'"}\n']))


@pytest.mark.parametrize("actor", [Actor("agent:a"), Actor("service:s", on_behalf_of=("agent:a",))])
def test_neither_importing_nor_dropping_is_for_agents(actor: Actor) -> None:
    with opened(actor) as ledger:
        with pytest.raises(NotForAgents):
            import_runs(ledger, file_of(forged("r", [(OPENED, NOW)])))
        ledger.open_run("r", "goal").record_message("m", "user", "hello")
        with pytest.raises(NotForAgents):
            expire(ledger, run="r", **KIM)
        with pytest.raises(NotForAgents):
            finish(ledger)
        assert (len(contents(ledger)), len(ledger.store.tail())) == (1, 2)


def test_no_time_counts_that_nobody_has_lived_yet() -> None:
    with opened() as ledger:
        ledger.open_run("r", "goal").record_message("m", "user", "hello")
        ahead = Clock()() + timedelta(seconds=1)
        with pytest.raises(InvalidInput, match="ahead of the ledger"):
            expire(ledger, run="r", now=ahead, **KIM)
        with pytest.raises(InvalidInput, match="ahead of the ledger"):
            finish(ledger, now=ahead)


def test_verify_rejects_what_has_no_place_beside_runs() -> None:
    for stream in ("$ledger", "$foo", "$source:policy:p"):
        with opened() as ledger:
            envelope = Envelope("default", stream, 1, ZERO_HASH, "e-1", NOW, KIM_ACTS)
            row = encode(OPENED, envelope)
            is_source = stream.startswith("$source:")
            ledger.store.restore(Restore("default", (StreamRow(stream, ZERO_HASH, row, is_source),)))
            report = verify(ledger)
            assert report.standing is Standing.ALTERED
            assert report.altered(Check.MEANING) >= 1


def test_no_content_is_stored_of_a_class_that_no_other_ledger_takes_in() -> None:
    with opened() as ledger:
        (kept,) = pack_content(b"x", "mesage").blobs
        with pytest.raises(InvalidInput, match="did you mean message"):
            ledger.import_events("r", [OPENED], expected=0, blobs=[kept])
        assert ledger.store.tail() == []


# --- what is stored together --------------------------------------------------------------------------


def stored(ledger: Ledger, data: bytes) -> list[list[tuple[str, int]]]:
    """Import, and list which records came together."""
    store: Any = ledger.store
    restore, found = store.restore, []

    def noted(one: Restore) -> object:
        found.append([(row.stream, row.row.position) for row in one.rows])
        return restore(one)

    store.restore = noted
    import_runs(ledger, io.BytesIO(data))
    store.restore = restore
    return found


def test_portions_are_cut_where_no_run_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened() as origin:
        for run in ("a", "b", "c"):
            origin.open_run(run, "goal").move("n")
        origin.run("c").open_child("d", "goal")
        monkeypatch.setattr(adding_runs, "BATCH", 3)
        with opened() as target:
            found = stored(target, written(origin))
            assert found[:2] == [[("a", 1), ("a", 2)], [("b", 1), ("b", 2)]]
            # The child belongs to the run that opened it.
            assert [row for one in found[2:] for row in one][:2] == [("c", 1), ("c", 2)]
        monkeypatch.setattr(adding_runs, "BATCH", 6)
        with opened() as target:
            found = stored(target, written(origin))
            assert found[0] == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
            assert {run for run, _ in found[1]} == {"c", "d"}


def test_size_cuts_a_portion_and_what_is_here_in_part_is_told_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding_runs, "BATCH_BYTES", 3000)
    told: list[tuple[int, int]] = []
    with opened() as origin, opened() as target:
        run = origin.open_run("r", "goal")
        run.record_message("m-0", "user", "x" * 2000)
        half = written(origin)
        for number in range(1, 4):
            run.record_message(f"m-{number}", "user", f"{number}" * 2000)
        import_runs(target, io.BytesIO(half))

        def begun(found: Imported) -> None:
            told.append((found.partly, target.contract("r").position))

        assert len(stored(target, written(origin))) == 3
        import_runs(target, io.BytesIO(half), begun=begun)
        whole = written(origin)
    assert told == [(0, 5)]
    with opened() as other:
        import_runs(other, io.BytesIO(half))
        done = import_runs(other, io.BytesIO(whole), begun=lambda found: told.append((found.partly, 0)))
        assert (told[1:], done.partly, done.added) == ([(1, 0)], 1, 3)


class Swapped(io.BytesIO):
    """A file that is another one when it is read for the second time."""

    def __init__(self, first: bytes, second: bytes) -> None:
        super().__init__(first)
        self._second = second
        self._ends = 0

    def seek(self, offset: int, whence: int = 0) -> int:
        self._ends += whence == 2
        if whence == 2 and self._ends == 2:
            super().seek(0)
            self.truncate()
            self.write(self._second)
        return super().seek(offset, whence)


def test_a_file_that_is_changed_between_the_readings_is_told_and_not_stored_to_its_end() -> None:
    with opened() as origin:
        run = origin.open_run("r", "goal")
        run.move("a")
        run.move("b")
        parts = written(origin).splitlines(keepends=True)
        data = b"".join(parts)
    changes = [b"".join(parts[:-1]), b"".join([*parts[:-2], parts[-1]]), data + b"{}\n", data[:-40], b""]
    for changed in changes:
        with opened() as target:
            with pytest.raises(InvalidInput, match="changed while it was read"):
                import_runs(target, Swapped(data, changed))
            assert target.store.tail() == []


# --- contents -----------------------------------------------------------------------------------------


def test_a_content_that_is_dropped_beside_an_import_is_stored_by_it() -> None:
    clock = Clock()
    with opened(clock=clock) as origin:
        origin.open_run("r", "goal").record_message("m", "user", "hello")
        data = written(origin)
    with opened(clock=Clock(clock() + timedelta(days=1))) as target:
        target.open_run("q", "goal").record_message("m", "user", "hello")
        later: Any = target.store
        look = later.blob_rows
        dropped: list[BlobRow] = []

        def looked(tenant: str, digests: Any) -> Any:
            found = look(tenant, digests)
            if found and not dropped:
                dropped.extend(contents(target))
                later.drop_blobs("default", [row.place for row in found], since=later.end(), but="$ledger")
                assert contents(target) == []
            return found

        later.blob_rows = looked
        import_runs(target, io.BytesIO(data))
        assert len(dropped) == len(contents(target)) == 1


def test_a_content_that_is_lost_comes_back_and_one_that_was_dropped_does_not() -> None:
    clock = Clock()
    with opened(clock=clock) as origin:
        run = origin.open_run("r", "goal")
        run.record_message("m-1", "user", "lost")
        origin.open_run("s", "goal").record_message("m-1", "user", "dropped")
        data = written(origin)
        clock.tick(10)
        expire(origin, run="s", **KIM)
        (lost,) = contents(origin)
        origin.store.drop_blobs("default", [lost.place], since=origin.store.end(), but="$ledger")
        done = import_runs(origin, io.BytesIO(data))
        assert (done.added, done.contents) == (0, 1)
        assert contents(origin) == [lost]
        assert import_runs(origin, io.BytesIO(data)).contents == 0
        assert verify(origin).standing is Standing.SOUND


def test_who_mentions_a_content_neither_takes_it_along_nor_keeps_it() -> None:
    clock = Clock()
    with opened(clock=clock) as ledger:
        ledger.open_run("secret", "goal").record_message("m", "user", "the salary of Kim")
        name = contents(ledger)[0].digest.hex()
        ledger.open_run("public", f"look at {name}").revise_goal(f'{{"digest":"{name}"}}', **KIM)
        assert b"salary" not in written(ledger, ["public"])
        assert b"salary" in written(ledger, ["secret"])
        clock.tick(10)
        assert expire(ledger, run="public", dry_run=True, **KIM).total.contents == 0
        done = expire(ledger, run="secret", **KIM)
        assert (done.total.contents, done.shared, contents(ledger)) == (1, 0, [])


def test_a_mention_does_not_keep_what_an_expiry_left() -> None:
    clock = Clock()
    with opened(clock=clock) as ledger:
        ledger.open_run("secret", "goal").record_message("m", "user", "the salary of Kim")
        (kept,) = contents(ledger)
        ledger.open_run("public", f"look at {kept.digest.hex()}")
        clock.tick(10)
        store: Any = ledger.store
        drop = store.drop_blobs
        store.drop_blobs = lambda *places, **more: []
        expire(ledger, run="secret", **KIM)
        store.drop_blobs = drop
        clock.tick(10)
        assert finish(ledger).total.contents == 1
        assert contents(ledger) == []


def test_of_an_event_that_is_not_known_every_digest_counts() -> None:
    name = bytes(range(32))
    record = '{"data":{"a":"%s"},"name":"%s","v":1,"version":1}'
    known, unknown = (record % (name.hex(), one) for one in ("goal.revised", "goal.else"))
    assert named_among(known.encode(), {name}) == set()
    assert named_among(unknown.encode(), {name}) == {name}
    assert named_among(b"{" + name.hex().encode(), {name}) == {name}


def test_what_is_said_of_missing_contents_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    looks: list[int] = []
    with opened(clock=clock) as ledger:
        run = ledger.open_run("r", "goal")
        for number in range(30):
            run.record_message(f"m-{number}", "user", f"message {number}")
        clock.tick(10)
        expire(ledger, run="r", **KIM)

        def noted(edge: Edge, digests: Any) -> Any:
            looks.append(len(digests))
            return expired(edge, digests)

        for module in (exporting, explained):
            monkeypatch.setattr(module, "expired", noted)
        monkeypatch.setattr(exporting, "_PAGE", 5)
        done = io.BytesIO()
        assert export(ledger, done.write, runs=["r"]).own
    # Once to learn whether it is to go along, and once to count.
    assert looks == [30, 30]
