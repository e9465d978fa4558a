"""Turning stored rows into records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ledger.application.edge import Edge
from ledger.codec import decode, decode_chain
from ledger.record import Record
from ledger.stores.base import Link, StoredRow


def decoded(row: StoredRow) -> Record:
    """Read one row by itself, verified against its hash."""
    record = decode(row.record, row.hash, run=row.stream, position=row.position, tenant=row.tenant)
    return record._replace(global_position=row.gid)


def linked(edge: Edge, links: Iterable[Link], stream: str, after: int, prev: bytes) -> Iterator[Record]:
    """Read links of a stream that follow the event with hash `prev`, each verified against the one before."""
    return decode_chain(links, run=stream, after=after, prev=prev, tenant=edge.tenant)


def chained(edge: Edge, rows: Sequence[StoredRow], stream: str, after: int, prev: bytes) -> Iterator[Record]:
    """Read rows of a stream that follow the event with hash `prev`, each verified against the one before."""
    return linked(edge, (Link(row.position, row.hash, row.record) for row in rows), stream, after, prev)
