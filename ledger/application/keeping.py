"""Which contents records name, and since when: what an expiry reads, without looking into records."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from ledger.application.edge import Edge
from ledger.application.payloads import named_among
from ledger.errors import LedgerError
from ledger.record import parse
from ledger.stores.base import BlobRow, StreamHead
from ledger.stores.contents import names_in

PAGE = 500
"""Rows that are read at once."""
PORTION = 20_000
"""Contents that are looked at together."""


def shown(edge: Edge) -> int:
    """Wait until followers are shown all that is stored now, and return up to where that is.

    Raises:
        StoreBusy: on PostgreSQL, somebody's open transaction keeps it back.
    """
    newest = edge.store.end(newest=True)
    while (end := edge.store.end()) < newest:
        edge.store.wait(end, 1.0)
    return end


def heads(edge: Edge) -> Iterator[StreamHead]:
    """List the streams of the tenant by name."""
    after = ""
    while page := edge.store.heads(edge.tenant, after=after, limit=PAGE):
        yield from page
        after = page[-1].stream


def records(edge: Edge, stream: str, after: int) -> Iterator[list[bytes]]:
    """Read the bytes of a stream a page at a time, not looking into them."""
    while rows := edge.store.read(edge.tenant, stream, after=after, limit=PAGE):
        yield [row.record for row in rows]
        after = rows[-1].position


def all_contents(edge: Edge) -> Iterator[list[BlobRow]]:
    """List all contents of the tenant by digest, some ten thousand at a time."""
    after = None
    portion: list[BlobRow] = []
    while listed := edge.store.list_blobs(edge.tenant, after=after, limit=PAGE):
        after = listed[-1].place
        portion += listed
        if len(portion) >= PORTION:
            yield portion
            portion = []
    if portion:
        yield portion


def contents_of(edge: Edge, run: str) -> Iterator[list[BlobRow]]:
    """List the contents that the records of a run name, each once."""
    found: set[bytes] = set()
    portion: list[BlobRow] = []
    for page in records(edge, run, 0):
        names = {name for record in page for name in names_in(record)} - found
        kept = edge.store.blob_rows(edge.tenant, names)
        named = named_in(page, {row.digest for row in kept})
        rows = [row for row in kept if row.digest in named]
        found.update(row.digest for row in rows)
        portion += rows
        if len(portion) >= PORTION:
            yield portion
            portion = []
    if portion:
        yield portion


def named_in(records: Iterable[bytes], digests: Container[bytes]) -> set[bytes]:
    """Find those of some digests whose contents records name; what is mentioned in a text is not named."""
    return {digest for record in records for digest in named_among(record, digests)}


def last_before(edge: Edge, head: StreamHead, moment: str) -> int:
    """Find the last position of a stream that is older than a time: times never fall along it."""
    if time_of(head.record) < moment:
        return head.position
    low, high = 0, head.position - 1
    while low < high:
        middle = (low + high + 1) // 2
        row = edge.store.read(edge.tenant, head.stream, after=middle - 1, limit=1)[0]
        if time_of(row.record) < moment:
            low = middle
        else:
            high = middle - 1
    return low


def time_of(record: bytes) -> str:
    """Read the time of a record; one that cannot be read counts as young, so that what it names stays."""
    try:
        return str(parse(record)["at"])
    except (LedgerError, KeyError):
        return _YOUNG


_YOUNG = "~"
