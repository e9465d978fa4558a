"""A verification comes to a verdict whatever is stored, and while others write."""

import hashlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.events import CursorMoved, RunClosed, RunOpened, RunSuspended, SourceRevised
from ledger.integrity.findings import MOST_FINDINGS
from ledger.integrity.verify import Standing
from ledger.values import Ending
from tests.integrity.book import POLICY, Book


class Busy(Book):
    """A ledger on which others append between any two reads."""

    most = 2000
    """Rows from which on it is quiet."""

    def _grow(self) -> None:
        if len(self.stored) >= self.most:
            return
        self.add("r-2", CursorMoved(node="n"), RunSuspended(cause="asked", reason="x"))
        self.save("r-2", max(row.position for row in self.stored if row.stream == "r-2"))
        self.add(f"new-{len(self.stored)}", RunOpened(goal="x"))
        self.add(POLICY, *self.news())

    def news(self) -> list[Any]:
        return [SourceRevised(revision=str(len(self.stored)))]

    def read(self, *arguments: Any, **named: Any) -> Any:
        found = super().read(*arguments, **named)
        self._grow()
        return found

    def heads(self, *arguments: Any, **named: Any) -> Any:
        self._grow()
        found = super().heads(*arguments, **named)
        self._grow()
        return found

    def tail(self, **named: Any) -> Any:
        found = super().tail(**named)
        self._grow()
        return found

    def end(self) -> int:
        self._grow()
        found = super().end()
        self._grow()
        return found

    def snapshots(self, *arguments: Any, **named: Any) -> Any:
        self._grow()
        return super().snapshots(*arguments, **named)

    def source_heads(self, *arguments: Any, **named: Any) -> Any:
        found = super().source_heads(*arguments, **named)
        self._grow()
        return found


def test_appends_that_go_on_meanwhile_are_no_alteration() -> None:
    busy = Busy()
    quiet = Book.sample()
    busy.__dict__.update(quiet.__dict__)
    report = busy.verify(page=3, streams=["r-1", "r-2", "r-3", POLICY])
    assert report.findings == ()
    assert report.events < len(busy.stored)


@pytest.mark.parametrize("page", [1, 7, 500])
def test_appends_that_go_on_while_all_is_verified_are_no_alteration(page: int) -> None:
    busy = Busy.sample()
    busy.most = 300
    report = busy.verify(page=page, storage=busy.shelf(dense=True))
    assert report.findings == ()
    assert 20 < report.events < len(busy.stored)


COLUMN = (
    st.none()
    | st.integers(-2, 30)
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.floats()
    | st.booleans()
)


@given(
    st.sampled_from(["gid", "position", "hash", "key", "act", "claim", "record"]),
    COLUMN,
    st.integers(0, 19),
    st.sampled_from([1, 2, 500]),
)
def test_no_content_of_a_row_stops_a_verification(column: str, value: Any, place: int, page: int) -> None:
    book = Book.sample()
    row = book.stored[place]
    was = getattr(row, column)
    book.stored[place] = row._replace(**{column: value})
    report = book.verify(page=page, storage=book.shelf(dense=True))
    same = type(was) is type(value) and was == value
    assert (report.standing is Standing.SOUND) == same


def test_many_findings_of_a_stream_are_counted_but_not_all_kept() -> None:
    book = Book()
    book.add(
        "r",
        RunOpened(goal="x"),
        *(CursorMoved(node=str(n)) for n in range(300)),
        RunClosed(outcome=Ending.FAILED),
    )
    for position in range(2, 302):
        book.change("r", position, hash=hashlib.sha256(b"x").digest())
    report = book.verify()
    assert len(report.findings) == MOST_FINDINGS
    assert report.omitted == 300 - MOST_FINDINGS
    assert report.streams[0].first_broken == 2


def test_an_alteration_is_kept_however_much_cannot_be_told() -> None:
    book = Book()
    book.add("r", RunOpened(goal="x"), *(CursorMoved(node=str(n)) for n in range(150)))
    for position in range(2, 151):
        book.rewrite("r", position, lambda fields: fields.update(v=9))
    book.change("r", 151, key=bytes(16))
    report = book.verify()
    assert report.standing is Standing.ALTERED
    assert report.exit_code == 1
