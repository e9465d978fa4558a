"""The global order holds what the streams hold, all of it, once, and nothing else."""

from typing import Any

import pytest

from ledger.errors import IntegrityError, InvalidInput, StoreBusy
from ledger.events import RunOpened
from ledger.integrity.findings import WHOLE
from ledger.integrity.verify import Check, Standing
from tests.integrity.book import Book, Torn, altered, only


@pytest.fixture
def torn() -> Torn:
    """Return a ledger that is whole so far."""
    return Torn.sample()


def test_an_event_that_only_the_order_holds_is_found(torn: Torn) -> None:
    torn.hidden = (("r-2", 3),)
    report = torn.verify()
    assert (Check.ORDER, "r-2", None) in altered(report)
    assert report.exit_code == 1


def test_an_event_that_the_order_does_not_hold_is_found(torn: Torn) -> None:
    torn.unordered = (("r-2", 3),)
    assert altered(torn.verify()) == [(Check.ORDER, "r-2", None)]


def test_as_many_but_other_events_are_found(torn: Torn) -> None:
    torn.hidden = (("r-3", 2),)
    torn.unordered = (("r-3", 1),)
    assert (Check.ORDER, "r-3", None) in altered(torn.verify())


def test_another_global_position_in_the_order_than_in_the_stream_is_found(
    torn: Torn, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = torn.end()
    ordered = torn.tail
    monkeypatch.setattr(
        torn,
        "tail",
        lambda **named: [row._replace(gid=last + 1) if row.gid == last else row for row in ordered(**named)],
    )
    monkeypatch.setattr(torn, "end", lambda: last + 1)
    assert [check for check, _, _ in altered(torn.verify())] == [Check.ORDER]


def test_a_global_position_that_two_streams_share_is_found(book: Book) -> None:
    book.change("r-3", 1, gid=book.at("r-2", 3).gid)
    report = book.verify()
    assert (only(report).check, only(report).stream) == (Check.ORDER, WHOLE)


def test_rows_without_a_number_are_walked_once(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    end = book.end()
    monkeypatch.setattr(book, "end", lambda: end + 2)
    for position in (2, 3):
        book.change("r-2", position, gid="text")
    report = book.verify(page=1)
    assert [f.check for f in report.findings if f.stream == WHOLE] == [Check.COLUMNS]


def test_a_stream_that_is_not_listed_is_found_in_the_order(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = book.heads
    monkeypatch.setattr(
        book, "heads", lambda *a, **k: [head for head in listed(*a, **k) if head.stream != "r-3"]
    )
    report = book.verify()
    assert (only(report).check, only(report).stream) == (Check.ORDER, WHOLE)
    assert "2 events of 'r-3'" in only(report).what


@pytest.mark.parametrize(
    "columns", [{"stream": b"r-1"}, {"tenant": None}, {"tenant": b"default"}, {"position": "5"}, {"gid": "x"}]
)
def test_a_column_of_another_kind_is_found_in_the_order(book: Book, columns: dict[str, Any]) -> None:
    """The last event of a run: its own stream does not miss it."""
    book.change("r-2", 3, **columns)
    found = altered(book.verify())
    assert Check.COLUMNS in {check for check, _, _ in found}


def test_an_event_given_to_a_tenant_that_nobody_asks_about_is_found(book: Book) -> None:
    book.change("r-2", 3, tenant="acme")
    assert altered(book.verify()) == [(Check.COLUMNS, "r-2", 3)]
    assert next(s for s in book.verify().streams if s.stream == "r-2").first_broken == 3


def test_a_whole_run_given_to_a_tenant_that_nobody_asks_about_is_found(book: Book) -> None:
    for position in (1, 2):
        book.change("r-3", position, tenant="acme")
    report = book.verify()
    assert [(f.check, f.stream) for f in report.findings] == [(Check.COLUMNS, WHOLE)] * 2


def test_what_other_tenants_say_of_this_one_is_no_alteration(book: Book) -> None:
    book.add("other", RunOpened(goal='"tenant":"default"', labels={"tenant": "default"}), tenant="acme")
    records: list[Any] = [b'"default', b'["default"]', None]
    for record in records:
        book.stored.append(book.stored[-1]._replace(gid=len(book.stored) + 1, record=record))
    assert book.verify().standing is Standing.SOUND


def test_a_sparse_order_is_sound_and_a_dense_one_has_no_hole(book: Book) -> None:
    book.stored = [row._replace(gid=row.gid * 2**20) for row in book.stored]
    assert book.verify(storage=book.shelf()).standing is Standing.SOUND
    assert {f.check for f in book.verify(storage=book.shelf(dense=True)).findings} == {Check.ORDER}


@pytest.mark.parametrize(
    ("shift", "said"),
    [
        (lambda gid: gid + (gid > 5), "global position 6 is missing"),
        (lambda gid: gid + 7 * (gid > 19), "global positions 20 to 26 are missing"),
        (lambda gid: gid + 1000, "global positions 1 to 1000 are missing"),
    ],
)
def test_global_positions_that_were_shifted_leave_a_hole(book: Book, shift: Any, said: str) -> None:
    assert book.verify(storage=book.shelf(dense=True)).standing is Standing.SOUND
    book.stored = [row._replace(gid=shift(row.gid)) for row in book.stored]
    assert only(book.verify(storage=book.shelf(dense=True))).what == said


def test_an_end_that_the_order_does_not_reach_is_a_hole(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    end = book.end()
    monkeypatch.setattr(book, "end", lambda: end + 2)
    assert book.verify().standing is Standing.SOUND
    report = book.verify(storage=book.shelf(dense=True))
    assert only(report).what == f"global positions {end + 1} to {end + 2} are missing"


@pytest.mark.parametrize("verb", ["read", "heads", "tail", "source_heads"])
@pytest.mark.parametrize("error", [IntegrityError("damaged"), InvalidInput("no Unicode", path="", reason="")])
def test_what_cannot_be_read_as_it_is_stored_is_a_finding(
    book: Book, monkeypatch: pytest.MonkeyPatch, verb: str, error: Exception
) -> None:
    def fail(*arguments: Any, **named: Any) -> Any:
        raise error

    monkeypatch.setattr(book, verb, fail)
    report = book.verify()
    assert Check.STORE in {finding.check for finding in report.findings}
    assert report.exit_code == 1


def test_a_stream_that_cannot_be_read_hides_no_other(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    read = book.read

    def fail(tenant: str, stream: str, **named: Any) -> Any:
        if stream == "r-1":
            raise IntegrityError("damaged")
        return read(tenant, stream, **named)

    monkeypatch.setattr(book, "read", fail)
    for streams in (["r-1"], ["r-1", "r-2"], None):
        found = altered(book.verify(streams=streams))
        assert (Check.STORE, "r-1", None) in found
    assert {s.stream for s in book.verify().streams} == {row.stream for row in book.stored}


def test_a_store_that_is_busy_gives_no_verdict(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **named: Any) -> Any:
        raise StoreBusy("locked")

    monkeypatch.setattr(book, "tail", fail)
    with pytest.raises(StoreBusy):
        book.verify()


def test_events_that_the_order_does_not_show_yet_are_looked_at_and_counted(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = book.at("r-2", 2).gid
    monkeypatch.setattr(book, "end", lambda: end)
    report = book.verify()
    assert (report.findings, report.unordered) == ((), len(book.stored) - end)
    # Whoever asks about one run does not ask about the order.
    assert book.verify(streams=["r-2"]).unordered == 0
    book.change("r-2", 3, hash=bytes(32))
    assert (Check.CONTENT, "r-2", 3) in altered(book.verify())


def test_an_end_that_cannot_be_read_is_a_finding(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> int:
        raise IntegrityError("the epoch is gone")

    monkeypatch.setattr(book, "end", fail)
    assert altered(book.verify()) == [(Check.STORE, WHOLE, None)]
