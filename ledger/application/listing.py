"""Listing runs for somebody who watches them: one that cannot be read is named, and the others are listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ledger.application.ledger import Ledger
from ledger.application.query import Page, RunQuery, RunSummary
from ledger.errors import (
    UNREADABLE,
    InvalidInput,
    LedgerError,
    RunNotFound,
    SchemaMismatch,
    UnknownEventName,
)

NOT_READ: tuple[type[LedgerError], ...] = (*UNREADABLE, InvalidInput)
"""What one run among many may raise while the others are still listed."""

_MOST = 10_000
_NAMES = 200


class Unread(NamedTuple):
    """A run that could not be read, and why."""

    run: str
    error: LedgerError

    @property
    def altered(self) -> bool:
        """Whether its record is not what was written, rather than newer than this program."""
        return not isinstance(self.error, SchemaMismatch | UnknownEventName)


class Listing(NamedTuple):
    """A page of runs, and the runs in between that could not be read."""

    page: Page
    unread: tuple[Unread, ...] = ()


def list_runs(ledger: Ledger, *, among: Sequence[str] | None = None, **fields: Any) -> Listing:
    """List runs as `Ledger.runs` does, and go on behind one that cannot be read.

    Of such a run nothing is known but its id, so that it is named whatever else was asked for; it counts as
    one of the page.

    Args:
        ledger: the tenant's.
        among: only these runs are read, by id in byte order; None: all that there are.
        fields: of `RunQuery`.

    Raises:
        InvalidInput: a field is unknown or malformed.
    """
    if among is not None:
        return _one_by_one(ledger, RunQuery(**fields), among)
    try:
        return Listing(ledger.runs(**fields))
    except UNREADABLE:
        query = RunQuery(**fields)
        return _one_by_one(ledger, query, _names(ledger, query))


def list_all_runs(ledger: Ledger, *, among: Sequence[str] | None = None, **fields: Any) -> Listing:
    """List all runs that match, not a page of them, as `list_runs` does.

    Raises:
        InvalidInput: a field is unknown or malformed.
    """
    found: list[RunSummary] = []
    unread: list[Unread] = []
    after = fields.pop("after", None)
    while True:
        page, faults = list_runs(ledger, among=among, **fields, after=after, limit=_MOST)
        found += page.runs
        unread += faults
        if page.next is None:
            return Listing(Page(tuple(found), None), tuple(unread))
        after = page.next


def _one_by_one(ledger: Ledger, query: RunQuery, names: Iterable[str]) -> Listing:
    found: list[RunSummary] = []
    unread: list[Unread] = []
    last: str | None = None
    for name in names:
        if name <= (query.after or "") or not name.startswith(query.prefix):
            continue
        one = _read(ledger, name, query)
        if one is None:
            continue
        if len(found) + len(unread) == query.limit:
            return Listing(Page(tuple(found), last), tuple(unread))
        last = name
        if isinstance(one, Unread):
            unread.append(one)
        else:
            found.append(one)
    return Listing(Page(tuple(found), None), tuple(unread))


def _read(ledger: Ledger, name: str, query: RunQuery) -> RunSummary | Unread | None:
    try:
        contract = ledger.contract(name)
    except RunNotFound:
        return None
    except NOT_READ as error:
        return Unread(name, error)
    return RunSummary.of(contract) if query.matches(contract) else None


def _names(ledger: Ledger, query: RunQuery) -> Iterator[str]:
    after = query.after or ""
    while heads := ledger.store.heads(ledger.tenant, after=after, prefix=query.prefix, limit=_NAMES):
        yield from (head.stream for head in heads if not head.stream.startswith("$"))
        after = heads[-1].stream
