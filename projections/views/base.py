"""What views share: rows with as of when they hold, and how they are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

from ledger.application.ledger import Ledger
from ledger.stores.read_models import Value
from ledger.values.times import read_time, write_time
from projections.asking import ask
from projections.questions.base import SOME_RUN, Asked, Question, Row
from projections.runner import Progress

T = TypeVar("T")


class View(NamedTuple, Generic[T]):
    """Rows, and as of when they hold."""

    rows: list[T]
    as_of: int
    """Global position up to which everything was handled, and nothing later."""
    events: int
    """How many events of the tenant that were."""
    now: datetime
    """The time that what only time changes was judged by."""
    notes: tuple[str, ...] = ()
    """What the rows leave out."""
    left_out: tuple[str, ...] = ()
    """Runs that were set aside, as they cannot be read: from there on nothing of them is told."""


class Asking(TypedDict, total=False):
    """What every view takes."""

    run: str | None
    now: datetime | None
    catch_up: bool
    progress: Callable[[Progress], None] | None


class Selection(NamedTuple):
    """Which rows of the projection `runs` a view reads."""

    columns: Mapping[str, str]
    """By the name of a field, where it comes from."""
    rows: str
    """Tables, as behind FROM; the first is called `o`, and `r` is the table of runs."""
    order: str
    conditions: Sequence[tuple[str, object]]
    """Conditions, each with what it needs: one whose value is None is left out."""
    values: Mapping[str, Value]
    """What the conditions name, beside `now` and `run`."""
    beside: Callable[[Asked, list[dict[str, Any]]], None] | None = None
    """Fills in fields of rows with what is read elsewhere, of the same moment."""


OF_RUNS = "JOIN {runs.runs} AS r ON r.run = o.run"


def view(
    ledger: Ledger, selection: Selection, read: Callable[[dict[str, Any], datetime], T], asking: Asking
) -> View[T]:
    """Ask for rows; `read` makes a value of the fields of one, in which times are datetimes, and of `now`."""
    conditions = [condition for condition, needed in selection.conditions if needed is not None]
    if asking.get("run") is not None:
        conditions.append("o.run = :run")
    question = _Rows(selection, " AND ".join(conditions) or "1 = 1")
    answer = ask(
        ledger,
        question,
        now=asking.get("now"),
        catch_up=asking.get("catch_up", True),
        progress=asking.get("progress"),
        run=asking.get("run"),
    )
    rows = [read(fields, answer.now) for fields in question.found]
    return View(rows, answer.as_of, answer.events, answer.now, answer.notes, answer.left_out)


class _Rows(Question):
    """A query that no catalogue lists: it cannot be asked as of an earlier moment."""

    name = "view"
    group = "Effects"
    about = "What is open now."
    cannot = "What was open earlier."
    parameters = (SOME_RUN,)
    columns = ()
    uses = ("runs",)

    def __init__(self, selection: Selection, where: str) -> None:
        self._selection = selection
        self._where = where
        self.found: list[dict[str, Any]] = []
        """What was found, by field."""

    def rows(self, asked: Asked) -> Iterable[Row]:
        one = self._selection
        columns = ", ".join(one.columns.values())
        query = f"SELECT {columns} FROM {one.rows} WHERE {self._where} ORDER BY {one.order}"
        rows = asked.select(query, **asked.given, **one.values, now=write_time(asked.now))
        self.found = [_fields(one.columns, row) for row in rows]
        if one.beside is not None:
            one.beside(asked, self.found)
        return rows


_TIME = re.compile(r"(at|since|due|valid_from|valid_until|lease_until|.*_at)")


def _fields(names: Iterable[str], row: Row) -> dict[str, Any]:
    return {
        name: read_time(cell) if isinstance(cell, str) and _TIME.fullmatch(name) else cell
        for name, cell in zip(names, row, strict=True)
    }


def over(moment: datetime | None, now: datetime) -> bool:
    """Tell whether an end has come."""
    return moment is not None and moment <= now
