"""Events taken out, put in, moved or written anew are named from the first that may be wrong on."""

import json
from typing import Any

import pytest

from ledger.events import CursorMoved, RunOpened
from ledger.integrity.verify import Check, Standing
from tests.integrity.book import POLICY, Book, altered


@pytest.mark.parametrize("gone", [(1,), (2,), (5,), (9,), (3, 4, 5), (2, 9), (1, 2)])
def test_events_taken_out_of_the_middle_are_missed(book: Book, gone: tuple[int, ...]) -> None:
    book.drop("r-1", *gone)
    report = book.verify(streams=["r-1"])
    assert report.streams[0].first_broken == gone[0]
    assert (Check.LINKAGE, "r-1", gone[0]) in altered(report)


@pytest.mark.parametrize("page", [1, 2, 3, 500])
def test_a_position_that_stands_twice_is_found_across_pages(book: Book, page: int) -> None:
    for position in (2, 5, 10):
        again = Book.sample()
        again.stored.append(again.at("r-1", position)._replace(gid=900))
        report = again.verify(page=page, streams=["r-1"])
        assert (Check.LINKAGE, "r-1", position) in altered(report)
        assert report.events == 11
        assert report.streams[0].first_broken == position


def test_two_rows_that_changed_places_are_found(book: Book) -> None:
    book.change("r-1", 3, position=0)
    book.change("r-1", 4, position=3)
    book.change("r-1", 0, position=4)
    report = book.verify(streams=["r-1"])
    assert report.streams[0].first_broken in (2, 3)
    assert {Check.COLUMNS, Check.ORDER} <= {finding.check for finding in report.findings}


def test_a_record_rewritten_with_its_hash_is_not_followed_by_the_next(book: Book) -> None:
    book.rewrite("r-1", 3, lambda fields: fields["data"].update(scopes=["everything"]))
    report = book.verify(streams=["r-1"])
    assert (Check.LINKAGE, "r-1", 3) in altered(report)
    assert report.streams[0].first_broken == 3


def test_a_first_event_that_names_one_before_it_is_found(book: Book) -> None:
    book.rewrite("r-1", 1, lambda fields: fields.update(prev="11" * 32))
    assert (Check.LINKAGE, "r-1", 1) in altered(book.verify())


def test_a_history_written_anew_is_told_by_what_others_say_of_it(book: Book) -> None:
    book.rewrite("r-1", 3, lambda fields: fields["data"].update(scopes=["everything"]))
    book.rechain("r-1", 3)
    report = book.verify()
    found = {(check, stream) for check, stream, _ in altered(report)}
    # A review, a successor, a fork, an act bound by the old terms and two snapshots remember the old one.
    assert {
        (Check.REFERENCES, "r-1"),
        (Check.REFERENCES, "r-2"),
        (Check.REFERENCES, "r-3"),
        (Check.TERMS, "r-1"),
        (Check.SNAPSHOTS, "r-1"),
    } <= found
    assert not {check for check, _ in found} & {Check.LINKAGE, Check.CONTENT, Check.CANONICAL, Check.COLUMNS}


def test_a_history_written_anew_that_nobody_refers_to_leaves_no_trace(book: Book) -> None:
    """Why a seal outside the database is needed: this verdict is sound and not anchored."""
    book.rewrite("r-2", 1, lambda fields: fields["data"].update(goal="Refund everything"))
    book.rechain("r-2", 1)
    report = book.verify()
    assert report.standing is Standing.SOUND
    assert not report.anchored


def test_a_tail_taken_away_leaves_no_trace_but_an_open_end(book: Book) -> None:
    """Why a seal outside the database is needed: this verdict is sound and not anchored."""
    book.drop("r-2", 3)
    report = book.verify()
    assert report.standing is Standing.SOUND
    assert not report.anchored
    assert next(s.extent for s in report.streams if s.stream == "r-2") == "open up to 2"


def test_a_closed_run_whose_end_was_taken_away_is_open_again(book: Book) -> None:
    book.drop("r-1", 9, 10)
    found = next(s for s in book.verify(streams=["r-1"]).streams)
    assert (found.complete, found.extent) == (False, "open up to 8")


def test_a_tail_taken_away_is_missed_where_something_remembers_it(book: Book) -> None:
    book.drop("r-1", 8, 9, 10)
    assert (Check.LINKAGE, "r-1", 8) in altered(book.verify())
    book = Book.sample()
    book.drop(POLICY, 3)
    assert altered(book.verify()) == [(Check.HEADS, POLICY, 2)]
    book = Book.sample()
    book.drop("r-1", 10)
    assert (Check.REFERENCES, "r-2", 2) in altered(book.verify())


def test_a_run_of_which_only_a_snapshot_is_left_is_missed(book: Book) -> None:
    book.drop("r-1", *range(1, 11))
    report = book.verify(streams=["r-1"])
    assert (Check.LINKAGE, "r-1", 1) in altered(report)
    assert (report.streams[0].position, report.streams[0].hash) == (0, None)


# --- order, ids, meaning, terms ---
def test_a_time_that_falls_is_found(book: Book) -> None:
    book.rewrite("r-2", 3, lambda fields: fields.update(at="2026-01-31T12:00:00.000000Z"))
    assert altered(book.verify()) == [(Check.ORDER, "r-2", 3)]


def test_event_ids_that_stand_twice_are_counted_and_not_called_altered(book: Book) -> None:
    book.rewrite("r-2", 3, lambda fields: fields.update(id="r-2 1"))
    report = book.verify()
    assert (report.standing, report.repeated_ids) == (Standing.SOUND, 1)
    # The same id in two streams names two events of two runs.
    book.rewrite("r-2", 3, lambda fields: fields.update(id="r-1 1"))
    assert book.verify().repeated_ids == 0


def test_an_event_without_meaning_where_it_stands_is_found(book: Book) -> None:
    opened = json.loads(book.at("r-2", 1).record)
    said = {name: opened[name] for name in ("name", "version", "data")}
    book.rewrite("r-2", 3, lambda fields: fields.update(said))
    assert altered(book.verify()) == [(Check.MEANING, "r-2", 3)]


def test_a_run_that_does_not_begin_with_its_opening_is_found(book: Book) -> None:
    moved = json.loads(book.at("r-2", 3).record)
    said = {name: moved[name] for name in ("name", "version", "data")}
    book.rewrite("r-2", 1, lambda fields: fields.update(said))
    book.rechain("r-2", 1)
    assert altered(book.verify()) == [(Check.MEANING, "r-2", 1)]


@pytest.mark.parametrize("events", [(RunOpened(goal="x"),), (CursorMoved(node="n"),)])
def test_an_event_of_a_run_in_a_source_stream_is_found(book: Book, events: tuple[Any, ...]) -> None:
    book.add(POLICY, *events)
    assert altered(book.verify()) == [(Check.MEANING, POLICY, 4)]


def test_a_source_stream_opens_with_the_name_it_has(book: Book) -> None:
    book.rewrite(POLICY, 1, lambda fields: fields["data"].update(source="policy:other"))
    book.rechain(POLICY, 1)
    assert altered(book.verify()) == [(Check.MEANING, POLICY, 1)]


@pytest.mark.parametrize(
    "terms", [None, {"digest": "v1:" + "0" * 64, "position": 3}, {"digest": "v1:", "position": 3}]
)
def test_terms_that_the_events_before_do_not_yield_are_found(book: Book, terms: Any) -> None:
    book.saved.clear()
    book.drop("r-2", 1, 2, 3)
    book.drop("r-3", 1, 2)
    book.drop("r-1", 9, 10)

    def change(fields: dict[str, Any]) -> None:
        fields.pop("terms")
        if terms is not None:
            fields["terms"] = terms

    book.rewrite("r-1", 5, change)
    book.rechain("r-1", 5)
    assert altered(book.verify()) == [(Check.TERMS, "r-1", 5)]


def test_terms_on_an_event_that_is_not_bound_by_them_are_found(book: Book) -> None:
    book.rewrite("r-2", 3, lambda fields: fields.update(terms={"digest": "v1:" + "0" * 64, "position": 1}))
    assert altered(book.verify()) == [(Check.TERMS, "r-2", 3)]
