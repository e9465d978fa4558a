"""What a handler puts, and what is refused before a database could."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ledger import Ledger, open_ledger
from ledger.errors import InvalidInput
from ledger.record import Record
from ledger.stores.read_models import Column, Model, Table
from projections.rows import Rows

MODEL = Model(
    "sample",
    1,
    (
        Table(
            "one",
            (Column("number", "integer"), Column("id"), Column("raw", "bytes", optional=True)),
            key=("id", "number"),
        ),
    ),
)
STORED = {("a", 1): (1, "a", b"x", 5), ("b", 2): (2, "b", None, 6)}


@pytest.fixture
def record() -> Record:
    with open_ledger(":memory:") as ledger:
        return _first(ledger)


def _first(ledger: Ledger) -> Record:
    ledger.open_run("run", "goal")
    return next(iter(ledger.follow()))


def rows(asked: list[Any] | None = None) -> Rows:
    def read(table: str, keys: Any) -> Any:
        if asked is not None:
            asked.append((table, list(keys)))
        return {key: STORED[key] for key in keys if key in STORED}

    return Rows(MODEL, read)


def test_what_was_put_is_read_before_it_is_stored(record: Record) -> None:
    asked: list[Any] = []
    page = rows(asked)
    assert page.get("one", ["a", 1]) == {"number": 1, "id": "a", "raw": b"x", "gid": 5}
    page.put("one", {"number": 1, "id": "a"}, record)
    page.delete("one", ("b", 2))
    page.put("one", {"number": 3, "id": "c", "raw": b""}, record)
    gid = record.global_position
    asked.clear()
    assert page.get_all("one", [("a", 1), ("b", 2), ("c", 3), ("d", 4)]) == {
        ("a", 1): {"number": 1, "id": "a", "raw": None, "gid": gid},
        ("c", 3): {"number": 3, "id": "c", "raw": b"", "gid": gid},
    }
    # One question for all that is not here.
    assert asked == [("one", [("d", 4)])]
    assert page.changes == {
        "one": {("a", 1): (1, "a", None, gid), ("b", 2): None, ("c", 3): (3, "c", b"", gid)}
    }


@pytest.mark.parametrize(
    "values",
    [
        {"id": "a"},
        {"number": 1, "id": None},
        {"number": 1, "id": "a", "other": 1},
        {"number": 1, "id": "a", "gid": 1},
        {"number": 1, "id": "a", "tenant": "x"},
        {"number": "1", "id": "a"},
        {"number": True, "id": "a"},
        {"number": 1.0, "id": "a"},
        {"number": 2**63, "id": "a"},
        {"number": -(2**63), "id": "a"},
        {"number": 1, "id": b"a"},
        {"number": 1, "id": "a\0"},
        {"number": 1, "id": "\udcff"},
        {"number": 1, "id": "\N{GREEK SMALL LETTER PI}\udcff"},
        {"number": 1, "id": "a", "raw": "text"},
        {"number": 1, "id": "a", "raw": bytearray(b"x")},
    ],
)
def test_what_not_every_database_keeps_is_refused(record: Record, values: dict[str, Any]) -> None:
    page = rows()
    with pytest.raises(InvalidInput):
        page.put("one", values, record)
    assert not any(page.changes.values())
    # Also behind rows of the same kinds that were fine.
    fine: list[dict[str, Any]] = [{"number": 1, "id": "a"}, {"number": 1, "id": "a", "raw": b""}]
    for one in fine:
        page.put("one", one, record)
        with pytest.raises(InvalidInput):
            page.put("one", values, record)
    assert list(page.changes["one"]) == [("a", 1)]


@pytest.mark.parametrize(
    "call",
    [
        lambda page, record: page.put("none", {"id": "a"}, record),
        lambda page, record: page.delete("none", ["a", 1]),
        lambda page, record: page.get("none", ["a", 1]),
        lambda page, record: page.delete("one", ["a"]),
        lambda page, record: page.delete("one", "ab"),
        lambda page, record: page.get("one", ["a", None]),
        lambda page, record: page.put("one", {"number": 1, "id": "a"}, record._replace(global_position=None)),
    ],
)
def test_an_unknown_table_or_a_key_that_is_none_is_refused(
    record: Record, call: Callable[[Rows, Record], object]
) -> None:
    with pytest.raises(InvalidInput):
        call(rows(), record)
