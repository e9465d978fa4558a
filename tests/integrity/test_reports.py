"""What a verification says: what it looked at, how far it could see, and what it cannot tell."""

from typing import Any

import pytest

from ledger.errors import RunNotFound, StoreUnavailable
from ledger.events import RunOpened
from ledger.integrity.findings import COULD_NOT_RUN
from ledger.integrity.verify import Check, Progress, Standing, verify
from tests.integrity.book import POLICY, Book, only


def test_a_ledger_that_nobody_touched_is_sound(book: Book) -> None:
    report = book.verify()
    assert report.findings == ()
    assert (report.standing, report.exit_code) == (Standing.SOUND, 0)
    assert report.events == len(book.stored)
    assert report.upto == book.stored[-1].gid
    assert {stream.stream for stream in report.streams} == {row.stream for row in book.stored}


def test_every_check_says_how_often_it_looked(book: Book) -> None:
    checked = book.verify(storage=book.shelf()).checked
    assert set(checked) == set(Check)
    assert all(count > 0 for count in checked.values()), checked
    rows = len(book.stored)
    assert checked[Check.CONTENT] == checked[Check.LINKAGE] == checked[Check.IDENTITY] == rows
    assert checked[Check.COLUMNS] == 6 * rows
    assert checked[Check.SNAPSHOTS] == 4
    assert checked[Check.REFERENCES] == 3
    assert checked[Check.HEADS] == checked[Check.CLAIMS] == checked[Check.BLOBS] == checked[Check.TERMS] == 1


def test_a_run_is_complete_once_it_ended_and_else_open_up_to_its_last_event(book: Book) -> None:
    found = {stream.stream: stream for stream in book.verify().streams}
    assert (found["r-1"].complete, found["r-1"].closed_at, found["r-1"].extent) == (True, 10, "complete")
    assert (found["r-2"].complete, found["r-2"].extent) == (False, "open up to 3")
    assert found["r-1"].hash == book.at("r-1", 10).hash


def test_without_a_seal_nothing_is_anchored(book: Book) -> None:
    assert book.verify().anchored is False


def test_an_empty_ledger_is_sound() -> None:
    report = Book().verify()
    assert (report.standing, report.events, report.streams) == (Standing.SOUND, 0, ())


@pytest.mark.parametrize("page", [1, 2, 3, 10, 500])
def test_the_size_of_pages_changes_nothing(book: Book, page: int) -> None:
    assert book.verify(page=page) == book.verify()
    book.change("r-1", 5, gid=900)
    shelf = book.shelf(dense=True)
    assert book.verify(page=page, storage=shelf) == book.verify(storage=shelf)


def test_one_run_can_be_verified_alone(book: Book) -> None:
    book.change("r-2", 1, hash=bytes(32))
    assert book.verify(streams=["r-1"]).standing is Standing.SOUND
    assert [s.stream for s in book.verify(streams=["r-2", "r-2"]).streams] == ["r-2"]
    assert book.verify(streams=[POLICY]).checked[Check.HEADS] == 1


def test_a_run_that_left_no_trace_is_not_found(book: Book) -> None:
    for name in ("r-9", "r", "r-"):
        with pytest.raises(RunNotFound):
            book.verify(streams=[name])


def test_another_tenant_has_its_own_verdict(book: Book) -> None:
    book.add("other", RunOpened(goal="x"), tenant="acme")
    assert [s.stream for s in verify(book, "acme").streams] == ["other"]
    assert "other" not in {s.stream for s in book.verify().streams}


def test_progress_counts_every_row_once(book: Book) -> None:
    told: list[Progress] = []
    book.verify(page=2, progress=told.append)
    assert [p.events for p in told] == sorted(p.events for p in told)
    assert told[-1].events == told[-1].known == len(book.stored)
    assert all(p.events <= p.known for p in told)


def test_a_store_that_cannot_be_read_gives_no_verdict(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(book, "snapshots", fail)
    with pytest.raises(StoreUnavailable):
        book.verify()
    assert COULD_NOT_RUN == 3


# --- what cannot be told ---
def test_a_newer_format_is_not_called_altered(book: Book) -> None:
    book.rewrite("r-2", 3, lambda fields: fields.update(v=2))
    report = book.verify()
    assert only(report).standing is Standing.UNSUPPORTED
    assert (report.standing, report.exit_code) == (Standing.UNSUPPORTED, 2)
    assert report.streams[-2].first_broken is None
    # A newer format may be hashed in another way.
    book.change("r-2", 3, hash=bytes(32))
    assert book.verify().standing is Standing.UNSUPPORTED


@pytest.mark.parametrize("changes", [{"name": "weather.changed"}, {"version": 2}])
def test_an_event_of_a_newer_release_is_not_called_altered(book: Book, changes: dict[str, Any]) -> None:
    book.rewrite("r-2", 3, lambda fields: fields.update(changes))
    report = book.verify()
    assert (only(report).check, only(report).standing) == (Check.MEANING, Standing.UNSUPPORTED)
    assert report.exit_code == 2
    # Its bytes, its hash and its place are checked all the same.
    book.change("r-2", 3, hash=bytes(32))
    assert book.verify().standing is Standing.ALTERED


def test_what_is_altered_outweighs_what_cannot_be_told(book: Book) -> None:
    book.rewrite("r-2", 3, lambda fields: fields.update(v=2))
    book.change("r-3", 1, hash=bytes(32))
    report = book.verify()
    assert report.exit_code == 1
    standing = {stream.stream: stream.standing for stream in report.streams}
    assert (standing["r-1"], standing["r-2"], standing["r-3"]) == (
        Standing.SOUND,
        Standing.UNSUPPORTED,
        Standing.ALTERED,
    )


def test_after_an_unknown_event_nothing_is_held_against_the_fold(book: Book) -> None:
    book.rewrite("r-1", 2, lambda fields: fields.update(name="weather.changed"))
    book.rechain("r-1", 2)
    report = book.verify(streams=["r-1"])
    assert not {finding.check for finding in report.findings} & {Check.TERMS}
    assert report.checked[Check.TERMS] == 0
    assert report.standing is Standing.ALTERED  # the snapshots and the review are of another history
