"""What is kept beside the events: claims, snapshots, heads of sources, content."""

from collections.abc import Iterable
from typing import Any

import pytest

from ledger.events import EffectStarted, RunOpened
from ledger.integrity.findings import WHOLE
from ledger.integrity.reader import Content, Kept
from ledger.integrity.verify import Check, Standing
from tests.integrity.book import CONTENT, DIGEST, KEY, POLICY, TENANT, Book, Shelf, altered, only
from tests.strategies import NOON


def test_a_claim_that_two_rows_hold_is_found(book: Book) -> None:
    book.add("r-2", EffectStarted(attempt=1, key=KEY, lease_until=NOON, root="r-1", worker="w2"))
    assert {(check, stream) for check, stream, _ in altered(book.verify())} == {
        (Check.CLAIMS, "r-1"),
        (Check.CLAIMS, "r-2"),
    }


def change_snapshot(book: Book, place: int, **columns: Any) -> None:
    book.saved["r-1"][place] = book.saved["r-1"][place]._replace(**columns)


@pytest.mark.parametrize(
    "columns",
    [
        {"hash": bytes(32)},
        {"hash": None},
        {"state": b"{}"},
        {"state": b"\xff"},
        {"state": None},
        {"state": "text"},
        {"position": 5},
        {"position": None},
        {"position": 0},
    ],
)
def test_a_snapshot_that_is_not_the_fold_is_found(book: Book, columns: dict[str, Any]) -> None:
    change_snapshot(book, 0, **columns)
    report = book.verify()
    assert {finding.check for finding in report.findings} == {Check.SNAPSHOTS}
    # The events are as they were written, and loading a run without snapshots is sound.
    assert all(stream.first_broken is None for stream in report.streams)
    assert report.exit_code == 1


def test_a_snapshot_of_which_one_word_was_changed_is_found(book: Book) -> None:
    state = book.saved["r-1"][0].state
    assert b"Refund order 17" in state
    change_snapshot(book, 0, state=state.replace(b"Refund order 17", b"Refund order 18"))
    assert altered(book.verify()) == [(Check.SNAPSHOTS, "r-1", 4)]


def test_a_snapshot_of_another_fold_is_passed_over_and_counted(book: Book) -> None:
    change_snapshot(book, 0, fold="0", state=b"whatever")
    report = book.verify()
    assert (report.standing, report.passed_over) == (Standing.SOUND, 1)


@pytest.mark.parametrize(
    ("head", "check"), [(2, Check.HEADS), (4, Check.HEADS), (0, Check.HEADS), ("text", Check.HEADS)]
)
def test_a_head_that_is_not_where_its_source_stands_is_found(book: Book, head: Any, check: Check) -> None:
    book.sources[POLICY] = head
    report = book.verify()
    assert altered(report) == [(check, POLICY, 3)]
    assert next(s for s in report.streams if s.stream == POLICY).standing is Standing.ALTERED


def test_a_source_without_a_head_is_found(book: Book) -> None:
    del book.sources[POLICY]
    assert altered(book.verify()) == [(Check.HEADS, POLICY, 3)]


def test_a_head_without_its_source_is_found_unless_nothing_was_ever_published(book: Book) -> None:
    book.sources["$source:policy:empty"] = 0
    assert book.verify().standing is Standing.SOUND
    book.sources["$source:policy:gone"] = 2
    found = altered(book.verify())
    assert (Check.LINKAGE, "$source:policy:gone", 1) in found
    assert (Check.HEADS, "$source:policy:gone", 0) in found


def test_content_that_was_changed_is_found(book: Book) -> None:
    book.contents[bytes.fromhex(DIGEST)] = CONTENT + b"!"
    report = book.verify()
    assert altered(report) == [(Check.BLOBS, "r-1", 4)]
    assert next(s for s in report.streams if s.stream == "r-1").first_broken is None


@pytest.mark.parametrize("told", [False, True])
def test_whether_content_that_is_not_here_may_be_gone_cannot_be_told(book: Book, told: bool) -> None:
    book.contents.clear()
    report = book.verify(storage=book.shelf() if told else None)
    assert (report.standing, report.missing_blobs, report.exit_code) == (Standing.UNSUPPORTED, 1, 2)
    assert (only(report).check, only(report).stream, only(report).position) == (Check.BLOBS, "r-1", 4)
    assert DIGEST in only(report).what


@pytest.mark.parametrize(
    "columns", [{"content": CONTENT + b"!"}, {"content": None}, {"kind": b"\xff"}, {"expires_at": "soon"}]
)
def test_of_content_kept_twice_each_row_is_looked_at(book: Book, columns: dict[str, Any]) -> None:
    again = Content(bytes.fromhex(DIGEST), "result", CONTENT, "2026-01-31T12:00:00.000000Z")
    shelf = book.shelf()
    shelf.rows = (again,)
    assert book.verify(storage=shelf).standing is Standing.SOUND
    shelf.rows = (again._replace(**columns),)
    assert altered(book.verify(storage=shelf)) == [(Check.BLOBS, "r-1", 4)]


@pytest.mark.parametrize(
    "kept",
    [
        Kept("snapshot", TENANT, b"r-1"),
        Kept("snapshot", None, "r-1"),
        Kept("head", b"default", POLICY),
        Kept("head", TENANT, 7),
        Kept("content", TENANT, DIGEST),
        Kept("content", TENANT, b"short"),
    ],
)
def test_what_is_kept_under_no_name_is_found(book: Book, kept: Kept) -> None:
    shelf = book.shelf()
    shelf.names = (kept,)
    report = book.verify(storage=shelf)
    assert (only(report).check, only(report).stream, report.exit_code) == (Check.STORE, WHOLE, 1)


def test_what_other_tenants_keep_is_theirs(book: Book) -> None:
    shelf = book.shelf()
    shelf.names = (Kept("snapshot", "acme", "r-9"), Kept("content", "acme", "text"))
    assert book.verify(storage=shelf).standing is Standing.SOUND


def test_a_run_of_which_only_a_snapshot_is_left_is_found_among_all(book: Book) -> None:
    book.drop("r-1", *range(1, 11))
    book.drop("r-2", 1, 2, 3)
    book.drop("r-3", 1, 2)
    assert book.verify().standing is Standing.SOUND
    assert (Check.LINKAGE, "r-1", 1) in altered(book.verify(storage=book.shelf()))


def test_a_run_that_was_opened_meanwhile_is_not_left_behind(book: Book) -> None:
    class Late(Shelf):
        def kept(self) -> Iterable[Kept]:
            book.add("late", RunOpened(goal="x"))
            book.save("late", 1)
            yield from super().kept()

    report = book.verify(storage=Late(book, dense=True))
    assert report.findings == ()
    assert "late" not in {stream.stream for stream in report.streams}


def test_what_the_database_says_of_its_file_is_a_finding(book: Book) -> None:
    shelf = book.shelf()
    shelf.damaged = ("row 7 missing from index events_key",)
    report = book.verify(storage=shelf)
    assert (only(report).check, report.exit_code) == (Check.STORE, 1)
    assert "events_key" in only(report).what


def test_a_head_without_a_name_is_a_finding(book: Book) -> None:
    nameless: Any = b"\xff"
    book.sources[nameless] = 3
    assert (only(book.verify()).check, only(book.verify()).stream) == (Check.HEADS, WHOLE)


def test_content_of_another_size_than_its_event_says_is_found(book: Book) -> None:
    book.drop("r-1", *range(5, 11))
    book.saved.clear()
    book.drop("r-2", 1, 2, 3)
    book.drop("r-3", 1, 2)
    book.rewrite("r-1", 4, lambda fields: fields["data"]["content"].update(size=1))
    assert altered(book.verify()) == [(Check.BLOBS, "r-1", 4)]


def test_what_guards_the_record_and_is_missing_is_said_and_alters_nothing(book: Book) -> None:
    shelf = book.shelf()
    shelf.open_doors = ("trigger events_refuse_change",)
    for streams in (None, ["r-1"]):
        report = book.verify(storage=shelf, streams=streams)
        assert (report.unguarded, report.findings) == (shelf.open_doors, ())


@pytest.mark.parametrize("streams", [None, ["r-1"]])
def test_what_is_not_shown_cannot_be_told(book: Book, streams: list[str] | None) -> None:
    shelf = book.shelf()
    shelf.hidden = ("the policy `mine` hides events",)
    report = book.verify(storage=shelf, streams=streams)
    assert (only(report).check, only(report).stream, only(report).what) == (Check.STORE, WHOLE, *shelf.hidden)
    assert report.exit_code == 2


def test_who_is_not_shown_every_tenant_cannot_tell_of_all_but_of_one_run(book: Book) -> None:
    shelf = book.shelf()
    shelf.sees_all = False
    assert (only(book.verify(storage=shelf)).check, book.verify(storage=shelf).exit_code) == (Check.STORE, 2)
    assert book.verify(storage=shelf, streams=["r-1"]).exit_code == 0
