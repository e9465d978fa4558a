"""Contents that are still here although events say that they were dropped, and dropping them.

They are left by an expiry that was cut short, and by an import: what another ledger has dropped it says in
events, which come in, and an import deletes nothing. Both are known from the record alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from ledger.application.edge import Edge
from ledger.application.expired import ExpiredContent, expired
from ledger.application.keeping import all_contents, heads, last_before, records, time_of
from ledger.application.own_stream import STREAM
from ledger.application.payloads import named_among
from ledger.stores.base import BlobPlace, BlobRow
from ledger.stores.contents import names_in
from ledger.values import write_time


class Leftover(NamedTuple):
    """Some contents that events say were dropped."""

    rows: list[BlobRow]
    """By digest and class; no record names them that their event does not speak for."""
    since: int
    """The global position up to which events were looked at."""
    looked: int
    """Contents that were looked at for this."""


def left_over(edge: Edge, now: datetime) -> Iterator[Leftover]:
    """Look through all contents, some ten thousand at a time, for those that events say were dropped.

    What a record named again later is not among them, nor what is wanted until a time to come, nor another
    class of the content than was asked for when it was dropped.

    Raises:
        ChainBroken, StoreError: such an event is not what was written, or cannot be read.
    """
    if not _has_own_stream(edge):
        return
    moment = write_time(now)
    for portion in all_contents(edge):
        # Asked before anything is read: every event up to here will be seen.
        since = edge.store.end()
        said = expired(edge, {row.digest for row in portion})
        rows = [row for row in portion if row.digest in said and _covers(said[row.digest], row, moment)]
        kept = _spoken_for(edge, {row.digest: said[row.digest] for row in rows})
        yield Leftover([row for row in rows if row.digest in kept], since, len(portion))


def count_left_over(
    edge: Edge, now: datetime, *, but: Callable[[BlobPlace], bool] = lambda place: False
) -> dict[str, tuple[int, int]]:
    """Count them by class, and their bytes, without those that somebody counts already."""
    found: dict[str, tuple[int, int]] = {}
    for portion in left_over(edge, now):
        for row in portion.rows:
            if not but(row.place):
                contents, size = found.get(row.kind, (0, 0))
                found[row.kind] = contents + 1, size + row.size
    return dict(sorted(found.items()))


def _has_own_stream(edge: Edge) -> bool:
    found = edge.store.heads(edge.tenant, prefix=STREAM, limit=1)
    return bool(found) and found[0].stream == STREAM


def _covers(said: ExpiredContent, row: BlobRow, now: str) -> bool:
    asked = not said.classes or row.kind in said.classes
    return asked and (row.expires_at is None or row.expires_at <= now)


def _spoken_for(edge: Edge, said: dict[bytes, ExpiredContent]) -> set[bytes]:
    """Leave out what a record names that is younger than the cutoff, or of another run than was asked for."""
    left = dict(said)
    for head in heads(edge):
        if not left:
            break
        if head.stream == STREAM:
            continue
        whole = any(one.run not in {None, head.stream} for one in left.values())
        cutoff = min(write_time(one.cutoff) for one in left.values())
        for page in records(edge, head.stream, 0 if whole else last_before(edge, head, cutoff)):
            for record in page:
                mentioned = set(names_in(record)) & left.keys()
                named = named_among(record, mentioned)
                for digest in mentioned:
                    one = left[digest]
                    if one.run not in {None, head.stream}:
                        keeps = digest in named
                    else:
                        keeps = time_of(record) >= write_time(one.cutoff)
                    if keeps:
                        del left[digest]
    return set(left)
