"""Every byte and column of a row is held against the bytes that were hashed."""

import json
from typing import Any

import pytest

from ledger.integrity.verify import Check, Standing, verify
from ledger.record import digest
from tests.integrity.book import Book, altered, only


def test_every_changed_byte_names_its_event(book: Book) -> None:
    record = book.at("r-1", 5).record
    for place in range(0, len(record), 7):
        changed = bytearray(record)
        changed[place] ^= 1
        book.change("r-1", 5, record=bytes(changed))
        report = book.verify(streams=["r-1"])
        first = report.findings[0]
        assert (first.check, first.position, first.standing) == (Check.CONTENT, 5, Standing.ALTERED)
        assert report.streams[0].first_broken == 5
        assert report.exit_code == 1


@pytest.mark.parametrize("record", [None, "text", b"", b"\xff", b"null", b"{}", b"[" * 100_000, 7])
def test_a_record_that_is_none_is_altered(book: Book, record: Any) -> None:
    for hash in (book.at("r-1", 5).hash, digest(record) if isinstance(record, bytes) else b""):
        book.change("r-1", 5, record=record, hash=hash)
        report = book.verify()
        assert report.standing is Standing.ALTERED
        assert {f.position for f in report.findings if f.stream == "r-1"} == {5}


OTHER = bytes(range(16))


@pytest.mark.parametrize(
    ("position", "columns", "check"),
    [
        (5, {"hash": bytes(32)}, Check.CONTENT),
        (5, {"hash": None}, Check.CONTENT),
        (5, {"hash": "text"}, Check.CONTENT),
        (5, {"key": OTHER}, Check.COLUMNS),
        (5, {"key": None}, Check.COLUMNS),
        (5, {"key": "text"}, Check.COLUMNS),
        (5, {"act": OTHER}, Check.COLUMNS),
        (5, {"act": None}, Check.COLUMNS),
        (5, {"claim": OTHER}, Check.COLUMNS),
        (6, {"claim": None}, Check.COLUMNS),
        (6, {"act": OTHER}, Check.COLUMNS),
        (4, {"key": OTHER}, Check.COLUMNS),
        (1, {"key": OTHER}, Check.COLUMNS),
        (5, {"gid": 10**6}, Check.ORDER),
        (5, {"gid": 1}, Check.ORDER),
        (5, {"gid": "text"}, Check.COLUMNS),
    ],
)
def test_every_changed_column_names_its_event(
    book: Book, position: int, columns: dict[str, Any], check: Check
) -> None:
    book.change("r-1", position, **columns)
    report = book.verify(streams=["r-1"])
    assert report.standing is Standing.ALTERED
    assert check in {finding.check for finding in report.findings}
    # A global position too high is seen only at the event that comes below it.
    assert report.streams[0].first_broken in (position, position + (columns.get("gid") == 10**6))


def test_a_row_moved_to_another_tenant_stream_or_position_is_missed_and_found(book: Book) -> None:
    book.change("r-1", 5, tenant="acme")
    assert (Check.LINKAGE, "r-1", 5) in altered(book.verify())
    assert Check.COLUMNS in {finding.check for finding in verify(book, "acme").findings}

    book = Book.sample()
    book.change("r-1", 5, stream="r-7")
    found = altered(book.verify())
    assert (Check.LINKAGE, "r-1", 5) in found
    assert (Check.COLUMNS, "r-7", 5) in found

    book = Book.sample()
    book.change("r-1", 5, position=50)
    found = altered(book.verify())
    assert (Check.LINKAGE, "r-1", 5) in found
    assert (Check.COLUMNS, "r-1", 50) in found


@pytest.mark.parametrize("position", ["text", None, 3.5])
def test_a_position_that_is_no_number_is_found(book: Book, position: Any) -> None:
    book.change("r-1", 10, position=position)
    assert book.verify().standing is Standing.ALTERED


def test_a_whole_run_given_to_another_tenant_is_found_there(book: Book) -> None:
    for position in (1, 2, 3):
        book.change("r-2", position, tenant="acme")
    report = verify(book, "acme")
    # What its run was restarted from is not that tenant's either.
    assert {(f.check, f.position) for f in report.findings} == {
        *((Check.COLUMNS, n) for n in (1, 2, 3)),
        (Check.REFERENCES, 2),
    }


# --- form ---
def respelt(book: Book, position: int, change: Any) -> None:
    record = change(book.at("r-2", position).record)
    assert record != book.at("r-2", position).record
    book.change("r-2", position, record=record, hash=digest(record))


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r + b"\n",
        lambda r: r.replace(b'{"actor"', b'{ "actor"'),
        lambda r: r.replace(b'"name":', b'"\\u006eame":'),
        lambda r: r.replace(b'"node":"n"', b'"node":"n","node":"n"'),
        lambda r: r.replace(b'"round":0', b'"round":0.0'),
        lambda r: r.replace(b'"round":0', b'"round":-0'),
        lambda r: r.replace(b'"round":0', b'"round":0,"state":null'),
        lambda r: r.replace(b',"round":0', b""),
        lambda r: r.replace(b'"branches":[],', b""),
        lambda r: json.dumps(json.loads(r)).encode(),
        lambda r: json.dumps(dict(reversed(json.loads(r).items())), separators=(",", ":")).encode(),
        lambda r: r.replace(b".000000Z", b".000000+00:00"),
        lambda r: r.replace(b'"id":"agent:refunds",', b'"id":"agent:refunds","role":null,'),
        lambda r: r.replace(b'"id":"r-2 3"', b'"id":""'),
        lambda r: r.replace(b'"id":"r-2 3"', b'"id":"a\\u0000b"'),
        lambda r: r.replace(b'"id":"r-2 3"', b'"id":"r-2 3","extra":1'),
        lambda r: r.replace(b'"id":"r-2 3"', b'"correlation":"","id":"r-2 3"'),
        lambda r: r.replace(b'"node":"n"', b'"node":"n","note":"x"'),
        lambda r: r.replace(b'"node":"n"', b'"node":7'),
        lambda r: r.replace(b'"v":1', b'"v":"1"'),
        lambda r: r.replace(b'"v":1', b'"v":0'),
        lambda r: r.replace(b'"v":1', b'"v":true'),
        lambda r: b"[" + r + b"]",
        lambda r: r.decode().encode("utf-16"),
    ],
    ids=range(24),
)
def test_bytes_the_ledger_would_not_write_are_found_though_their_hash_is_right(
    book: Book, change: Any
) -> None:
    respelt(book, 3, change)
    report = book.verify(streams=["r-2"])
    assert (only(report).check, only(report).position, report.exit_code) == (Check.CANONICAL, 3, 1)


def test_what_is_sealed_is_let_stand(book: Book) -> None:
    book.rewrite("r-2", 3, lambda fields: fields.update(sealed={"data.node": {"subject": "s"}}))
    assert book.verify(streams=["r-2"]).standing is Standing.SOUND


def test_a_record_larger_than_any_that_is_written_is_found(book: Book) -> None:
    book.rewrite(
        "r-2", 1, lambda fields: fields["data"].update(labels={str(n): "x" * 1000 for n in range(300)})
    )
    assert (Check.CANONICAL, "r-2", 1) in altered(book.verify())
