"""Which threads a ledger has, and what is stored of one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from ledger import Ledger, RunSummary
from ledger.adapters.threads.located import Located
from ledger.adapters.threads.naming import thread_name
from ledger.adapters.threads.raw import RAW
from ledger.adapters.threads.states import ThreadStates
from ledger.adapters.threads.threads import Entry
from ledger.application.expiring import Tally
from ledger.application.freeing import stored
from ledger.errors import IntegrityError, UndecodableRecord

PAGE = 500
_RUN = re.compile(r"(.+)#([1-9][0-9]*)", re.DOTALL)


class ThreadSummary(NamedTuple):
    """A thread in a list."""

    thread: str
    """As its program names it, or as it stands in ids where that is no name for a record."""
    runs: int
    """Runs that it has had."""
    newest: RunSummary
    """The newest of them."""


class Unreadable(NamedTuple):
    """A state that is kept and cannot be read."""

    found: Located
    error: IntegrityError | UndecodableRecord


def list_threads(ledger: Ledger, *, prefix: str = "") -> Iterator[ThreadSummary]:
    """Yield the threads of a ledger, by name as it stands in ids.

    A run is one of a thread where it says so, whether it has states or not, and where it is named as one and
    has had states, such as one that was opened beforehand without saying of which thread.

    Args:
        ledger: whose threads.
        prefix: what their names begin with.
    """
    for _, runs in groupby(_runs(ledger, prefix), key=lambda one: _RUN.fullmatch(one.run)[1]):  # type: ignore[index]
        found = {int(one.run.rpartition("#")[2]): one for one in runs}
        newest = found[max(found)]
        yield ThreadSummary(newest.thread or newest.run.rpartition("#")[0], len(found), newest)


def stored_in(ledger: Ledger, entry: Entry) -> Tally:
    """Count the contents that are stored of the states of one run of a thread, and their bytes."""
    return stored(ledger, entry.run.id)


def unreadable(states: ThreadStates, thread: str) -> Iterator[Unreadable]:
    """Read every state of a thread, and yield those that cannot be."""
    reading = ThreadStates(states.threads, RAW)
    for found in reading.all(thread):
        try:
            reading.read(found)
        except (IntegrityError, UndecodableRecord) as error:
            yield Unreadable(found, error)


def _runs(ledger: Ledger, prefix: str) -> Iterator[RunSummary]:
    """Yield the runs of threads: those of one stand together, since no other id begins as theirs do."""
    after = None
    begins = thread_name(prefix) if prefix.strip() else ""
    while True:
        page = ledger.runs(prefix=begins, after=after, limit=PAGE)
        for one in page.runs:
            named = _RUN.fullmatch(one.run)
            if named is not None and _is_named_so(ledger, one, named[1]):
                yield one
        after = page.next
        if after is None:
            return


def _is_named_so(ledger: Ledger, run: RunSummary, name: str) -> bool:
    if run.thread is None:
        return ledger.contract(run.run).saved is not None
    return name in {run.thread, thread_name(run.thread)}
