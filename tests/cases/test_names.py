"""Names in the record are the ledger's own: no place in the code, no piece of a query."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

from ledger import Actor, Ledger, open_ledger
from ledger.events import EVENTS
from ledger.testing import Clock


def write(file: Path) -> list[bytes]:
    """Write a small run with a clock that stands and ids that count; return its records."""
    ids = count()
    writer = Actor("service:tests")
    with open_ledger(file, actor=writer, clock=Clock(), ids=lambda: f"event-{next(ids)}") as ledger:
        run = ledger.open_run("r", "goal")
        run.accept("limit", "No more than 100 EUR", asserted_by="human:kim")
        run.promise("tell", "Mail the customer", owed_to="customer:17")
        return [row.record for row in ledger.store.read("default", "r")]


@contextmanager
def moved() -> Iterator[None]:
    """Let every class of events have another name in another module."""
    places = [(kind, kind.__module__, kind.__qualname__, kind.__name__) for kind in EVENTS.values()]
    try:
        for number, kind in enumerate(EVENTS.values()):
            kind.__module__, kind.__qualname__, kind.__name__ = (
                "elsewhere",
                f"Outer.New{number}",
                f"New{number}",
            )
        yield
    finally:
        for kind, module, qualname, name in places:
            kind.__module__, kind.__qualname__, kind.__name__ = module, qualname, name


def test_classes_may_move_and_be_renamed(tmp_path: Path) -> None:
    """Case-154, case-172, case-173: what was written before reads after, and is written the same."""
    before = write(tmp_path / "before.db")
    with moved(), open_ledger(tmp_path / "before.db") as ledger:
        names = [record.name for record in ledger.log("r")]
        assert names == ["run.opened", "constraint.accepted", "obligation.opened"]
        assert [item.id for item in ledger.contract("r").constraints] == ["limit"]
        assert ledger.run("r").discharge("tell", evidence="mail 42").position == 4
        assert write(tmp_path / "after.db") == before


QUOTES = ["'OR'1'='1", '"', "$.a", "a.b", "a');DROP/**/TABLE/**/events;--", "%", "_", "*", "[a-z]"]


@pytest.mark.parametrize("text", QUOTES)
def test_a_filter_compares_text_and_nothing_else(ledger: Ledger, text: str) -> None:
    """Case-117, case-118: whatever the text would mean to a database or a shell."""
    ledger.open_run(f"run {text}", "goal", labels={text: text}, thread=text)
    ledger.open_run("other", "goal", labels={"team": "refunds"}, thread="thread")
    ledger.open_run("plain", "goal")
    only = [f"run {text}"]
    assert [run.run for run in ledger.runs(labels={text: text}).runs] == only
    assert [run.run for run in ledger.runs(thread=text).runs] == only
    assert [run.run for run in ledger.runs(prefix=f"run {text}").runs] == only
    assert ledger.runs(prefix=text).runs == ()
    assert ledger.runs(labels={text: "refunds"}).runs == ()
    assert ledger.contract(f"run {text}").thread == text
