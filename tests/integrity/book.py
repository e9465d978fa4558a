"""A ledger in a list, written as the ledger writes and then meddled with as a database administrator could.

book = Book.sample()
book.change("r-1", 3, hash=bytes(32))
report = book.verify()
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Self

from ledger.canonical import canonical_text, load_text
from ledger.codec import decode, encode
from ledger.events import (
    AuthorityGranted,
    ConstraintAccepted,
    ConstraintWithdrawnAtSource,
    CursorMoved,
    EffectIntended,
    EffectStarted,
    EffectSucceeded,
    Event,
    ForeignRecorded,
    GoalRevised,
    MessageRecorded,
    ReviewSigned,
    RunClosed,
    RunForked,
    RunOpened,
    RunRestarted,
    SourceOpened,
    SourceRevised,
)
from ledger.integrity.reader import Content, Kept
from ledger.integrity.verify import Check, Finding, Report, Standing, verify
from ledger.record import ZERO_HASH, Envelope, digest
from ledger.run.contract import Contract
from ledger.run.saving import save
from ledger.run.state import FOLD, evolve
from ledger.stores.base import SnapshotRow, StoredRow, StreamHead
from ledger.values import Actor, Ending, Payload, Published, Recovery, Source
from tests.strategies import NOON

TENANT = "default"
POLICY = "$source:policy:refunds"
KEY, ACT = "1a" * 32, "2b" * 32
CONTENT = "Where is my parcel? \U0001f4e6".encode()
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Book:
    """Rows, snapshots, heads and blobs, with the reading verbs of a store."""

    def __init__(self) -> None:
        self.stored: list[StoredRow] = []
        self.saved: dict[str, list[SnapshotRow]] = {}
        self.sources: dict[str, int] = {}
        self.contents: dict[bytes, bytes] = {}
        self.contracts: dict[tuple[str, int], Contract | None] = {}

    # --- written as the ledger writes --------------------------------------------------------------

    def add(self, stream: str, *events: Event, tenant: str = TENANT) -> None:
        """Append events to a stream."""
        for event in events:
            last = self.last(stream)
            position = 1 if last is None else last.position + 1
            before = self.contracts.get((stream, position - 1))
            terms = before.terms if event.binds_terms and before is not None else None
            gid = len(self.stored) + 1
            envelope = Envelope(
                tenant,
                stream,
                position,
                ZERO_HASH if last is None else last.hash,
                f"{stream} {position}",
                NOON + timedelta(seconds=gid),
                Actor("agent:refunds"),
                terms=terms,
            )
            row = encode(event, envelope)
            self.stored.append(
                StoredRow(gid, tenant, stream, position, row.hash, row.key, row.act, row.claim, row.record)
            )
            if not stream.startswith("$"):
                record = decode(row.record, row.hash, run=stream, position=position)
                self.contracts[stream, position] = evolve(before, record)
            elif stream.startswith("$source:"):
                self.sources[stream] = position

    def save(self, stream: str, position: int) -> None:
        """Save the fold at a position."""
        contract = self.contracts[stream, position]
        assert contract is not None
        state = save(contract)
        snapshot = SnapshotRow(position, self.at(stream, position).hash, FOLD, state)
        self.saved.setdefault(stream, []).append(snapshot)

    @classmethod
    def sample(cls) -> Self:
        """Write a small ledger in which there is something for every check."""
        book = cls()
        book.contents[bytes.fromhex(DIGEST)] = CONTENT
        book.add(
            POLICY,
            SourceOpened(owners=("human:kim",), source="policy:refunds"),
            SourceRevised(added=(Published(id="limit", text="Never more than 100 EUR"),), revision="1"),
        )
        book.add(
            "r-1",
            RunOpened(goal="Refund order 17", owner="human:kim"),
            ConstraintAccepted(
                accepted_by="agent:refunds",
                asserted_by="human:kim",
                id="limit",
                published=True,
                source=Source("policy", "refunds", revision="1"),
                source_position=2,
                text="Never more than 100 EUR",
            ),
            AuthorityGranted(granted_by="human:kim", id="g", principal="agent:refunds", scopes=("refund",)),
            MessageRecorded(content=Payload(digest=DIGEST, size=len(CONTENT)), id="m-1", role="user"),
            EffectIntended(
                act=ACT,
                args='{"order":17}',
                authority=("g",),
                key=KEY,
                key_scheme="v1",
                recovery=Recovery.QUERYABLE,
                tool="refund",
            ),
            EffectStarted(attempt=1, key=KEY, lease_until=NOON, root="r-1", worker="w"),
            EffectSucceeded(attempt=1, key=KEY, result=Payload(json_text="{}")),
            GoalRevised(by="human:kim", reason="asked", text="Refund order 17 and say so"),
        )
        book.save("r-1", 4)
        book.save("r-1", 8)
        book.add(
            "r-1",
            ReviewSigned(by="human:lee", hash=book.at("r-1", 8).hash.hex(), head=8, meaning="reviewed"),
            RunClosed(outcome=Ending.COMPLETED),
        )
        book.add(POLICY, ConstraintWithdrawnAtSource(by="human:kim", id="limit", reason="replaced"))
        book.add(
            "r-2",
            RunOpened(goal="Refund order 18"),
            RunRestarted(
                by="human:kim",
                effects_done=1,
                predecessor="r-1",
                predecessor_hash=book.at("r-1", 10).hash.hex(),
                predecessor_position=10,
                reason="again",
            ),
            CursorMoved(node="n"),
        )
        book.add(
            "r-3",
            RunOpened(goal="Look at order 17"),
            RunForked(at=5, hash=book.at("r-1", 5).hash.hex(), origin="r-1"),
        )
        book.add("$foreign:1", *(ForeignRecorded(originator_version=n, state="", topic="t") for n in (1, 2)))
        return book

    # --- read as a store is read -------------------------------------------------------------------

    def _of(self, tenant: str, stream: str) -> list[StoredRow]:
        found = [row for row in self.stored if row.tenant == tenant and row.stream == stream]
        # As a database orders: numbers first, then text; what stands twice comes in any order.
        return sorted(found, key=lambda row: (type(row.position) is not int, row.position))

    def read(
        self, tenant: str, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> Sequence[StoredRow]:
        found = [
            row
            for row in self._of(tenant, stream)
            if type(row.position) is not int
            or (row.position > after and (upto is None or row.position <= upto))
        ]
        return found[:limit]

    def heads(
        self, tenant: str, *, after: str = "", prefix: str = "", limit: int = 500
    ) -> Sequence[StreamHead]:
        # As a database orders: text first, then what is no text and so comes after every name.
        names = sorted(
            {row.stream for row in self.stored if row.tenant == tenant},
            key=lambda name: (type(name) is not str, name.encode() if type(name) is str else repr(name)),
        )
        found = [n for n in names if type(n) is not str or (n > after and n.startswith(prefix))][:limit]
        lasts = [self._of(tenant, name)[-1] for name in found]
        return [StreamHead(row.stream, row.position, row.gid, row.hash, row.record) for row in lasts]

    def tail(self, *, after: int = 0, limit: int = 500, tenant: str | None = None) -> Sequence[StoredRow]:
        found = [
            row
            for row in self.stored
            if (tenant is None or row.tenant == tenant) and (type(row.gid) is not int or row.gid > after)
        ]
        # As a database orders: numbers first, then what is none in any order.
        found.sort(key=lambda row: (type(row.gid) is not int, row.gid if type(row.gid) is int else 0))
        return found[:limit]

    def end(self) -> int:
        return max((row.gid for row in self.stored if type(row.gid) is int), default=0)

    def find(
        self,
        tenant: str,
        *,
        key: bytes | None = None,
        act: bytes | None = None,
        claim: bytes | None = None,
        limit: int = 100,
    ) -> Sequence[StoredRow]:
        assert act is None
        mine = [row for row in self.stored if row.tenant == tenant]
        if key is not None:
            return [row for row in mine if row.key == key][-limit:]
        return [row for row in mine if row.claim == claim][:limit]

    def snapshots(self, tenant: str, stream: str) -> Sequence[SnapshotRow]:
        return list(self.saved.get(stream, [])) if tenant == TENANT else []

    def source_heads(self, tenant: str) -> Mapping[str, int]:
        return dict(self.sources) if tenant == TENANT else {}

    def blobs(self, tenant: str, digests: Iterable[bytes]) -> Mapping[bytes, bytes]:
        return {digest: self.contents[digest] for digest in digests if digest in self.contents}

    def shelf(self, *, dense: bool = False) -> Shelf:
        """Return what a store would say of itself."""
        return Shelf(self, dense)

    # --- meddled with --------------------------------------------------------------------------------

    def last(self, stream: str) -> StoredRow | None:
        """Return the last row of a stream."""
        found = [row for row in self.stored if row.stream == stream]
        return max(found, key=lambda row: row.position) if found else None

    def place(self, stream: str, position: int) -> int:
        """Return where a row stands in the list."""
        return next(
            n for n, row in enumerate(self.stored) if row.stream == stream and row.position == position
        )

    def at(self, stream: str, position: int) -> StoredRow:
        """Return the row at a position."""
        return self.stored[self.place(stream, position)]

    def change(self, stream: str, position: int, /, **columns: Any) -> None:
        """Change columns of a row and nothing else."""
        place = self.place(stream, position)
        self.stored[place] = self.stored[place]._replace(**columns)

    def drop(self, stream: str, *positions: int) -> None:
        """Delete rows."""
        self.stored = [row for row in self.stored if row.stream != stream or row.position not in positions]

    def rewrite(self, stream: str, position: int, change: Callable[[dict[str, Any]], object]) -> None:
        """Change a record and give it the hash that belongs to it."""
        fields = load_text(self.at(stream, position).record)
        assert isinstance(fields, dict)
        change(fields)
        record = canonical_text(fields).encode()
        self.change(stream, position, record=record, hash=digest(record))

    def rechain(self, stream: str, after: int) -> None:
        """Write a history anew: let every later record follow the one before it."""
        last = self.last(stream)
        assert last is not None
        for position in range(after + 1, last.position + 1):
            prev = self.at(stream, position - 1).hash.hex()
            self.rewrite(stream, position, lambda fields, prev=prev: fields.update(prev=prev))  # type: ignore[misc]

    def verify(self, **options: Any) -> Report:
        """Verify the book."""
        return verify(self, TENANT, **options)


@dataclass
class Shelf:
    """What a store says of itself beyond its rows."""

    book: Book
    dense: bool
    damaged: tuple[str, ...] = ()
    open_doors: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    sees_all: bool = True
    names: tuple[Kept, ...] = ()
    """Kept beside what the book keeps."""
    rows: tuple[Content, ...] = ()
    """Contents beside those of the book."""

    def damage(self) -> Iterable[str]:
        return self.damaged

    def unguarded(self) -> Iterable[str]:
        return self.open_doors

    def unseen(self, tenant: str) -> Iterable[str]:
        return self.hidden

    def sees_every_tenant(self) -> bool:
        return self.sees_all

    def kept(self) -> Iterable[Kept]:
        yield from (Kept("snapshot", TENANT, stream) for stream in self.book.saved)
        yield from (Kept("head", TENANT, stream) for stream in self.book.sources)
        yield from (Kept("content", TENANT, digest) for digest in self.book.contents)
        yield from self.names

    def contents(self, tenant: str, digests: Iterable[bytes]) -> Iterable[Content]:
        wanted = list(digests)
        kept = (Content(digest, "message", content, None) for digest, content in self.book.contents.items())
        return [row for row in (*kept, *self.rows) if row.digest in wanted]


class Torn(Book):
    """A ledger whose index of places and whose order do not hold the same rows."""

    hidden: tuple[tuple[str, int], ...] = ()
    """Places that reading by position passes over."""
    unordered: tuple[tuple[str, int], ...] = ()
    """Places that the global order passes over."""

    def read(self, *arguments: Any, **named: Any) -> Any:
        return [row for row in super().read(*arguments, **named) if row[2:4] not in self.hidden]

    def tail(self, **named: Any) -> Any:
        return [row for row in super().tail(**named) if row[2:4] not in self.unordered]


def altered(report: Report) -> list[tuple[Check, str, int | None]]:
    """List what was altered, as (check, stream, position)."""
    return [(f.check, f.stream, f.position) for f in report.findings if f.standing is Standing.ALTERED]


def only(report: Report) -> Finding:
    """Return the one finding there is."""
    (finding,) = report.findings
    return finding
