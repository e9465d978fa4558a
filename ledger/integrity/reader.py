"""What a verification reads: rows, the global order, snapshots, heads, blobs, by the verbs of every store.

It names no store, so that it can be pointed at anything that holds these rows. Nothing it reads is trusted to
have the type it should have. What only some stores can say, they say as a `Storage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from ledger.errors import IntegrityError, InvalidInput
from ledger.integrity.findings import Check, Notes


class Stored(Protocol):
    """One event as it is stored; see `ledger.stores.base.StoredRow`."""

    @property
    def gid(self) -> int: ...
    @property
    def tenant(self) -> str: ...
    @property
    def stream(self) -> str: ...
    @property
    def position(self) -> int: ...
    @property
    def hash(self) -> bytes: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def act(self) -> bytes | None: ...
    @property
    def claim(self) -> bytes | None: ...
    @property
    def record(self) -> bytes: ...


class Saved(Protocol):
    """A saved fold; see `ledger.stores.base.SnapshotRow`."""

    @property
    def position(self) -> int: ...
    @property
    def hash(self) -> bytes: ...
    @property
    def fold(self) -> str: ...
    @property
    def state(self) -> bytes: ...


class Standing(Protocol):
    """The last event of a stream; see `ledger.stores.base.StreamHead`."""

    @property
    def stream(self) -> str: ...
    @property
    def position(self) -> int: ...


class Reader(Protocol):
    """Where rows are read from."""

    def read(
        self, tenant: str, stream: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> Sequence[Stored]: ...

    def heads(
        self, tenant: str, *, after: str = "", prefix: str = "", limit: int = 500
    ) -> Sequence[Standing]: ...

    def tail(self, *, after: int = 0, limit: int = 500, tenant: str | None = None) -> Sequence[Stored]: ...

    def end(self) -> int: ...

    def find(
        self,
        tenant: str,
        *,
        key: bytes | None = None,
        act: bytes | None = None,
        claim: bytes | None = None,
        limit: int = 100,
    ) -> Sequence[Stored]: ...

    def snapshots(self, tenant: str, stream: str) -> Sequence[Saved]: ...

    def source_heads(self, tenant: str) -> Mapping[str, int]: ...

    def blobs(self, tenant: str, digests: Iterable[bytes]) -> Mapping[bytes, bytes]: ...


class Kept(NamedTuple):
    """The name of something a store keeps beside the events. Every field but the first is as it is stored."""

    what: str
    """`snapshot`, `head` or `content`."""
    tenant: object
    name: object
    """The stream, or the digest of a content."""


class Content(NamedTuple):
    """One row of content, as it is stored."""

    digest: bytes
    kind: object
    content: object
    expires_at: object


class Storage(Protocol):
    """What a store can say of itself beyond its rows: how whole it is, and all that it keeps."""

    @property
    def dense(self) -> bool:
        """Whether global positions count 1, 2, 3, … so that a hole is a loss."""

    def damage(self) -> Iterable[str]:
        """Say what the database itself finds wrong with what it keeps."""

    def unguarded(self) -> Iterable[str]:
        """Name what keeps the record from being changed and is missing, or not as it was made."""

    def unseen(self, tenant: str) -> Iterable[str]:
        """Say what keeps rows of a tenant from being shown to this reader."""

    def sees_every_tenant(self) -> bool:
        """Tell whether rows of every tenant are shown to this reader."""

    def kept(self) -> Iterable[Kept]:
        """Name everything that is kept beside the events, of all tenants; a name may come more than once."""

    def contents(self, tenant: str, digests: Iterable[bytes]) -> Iterable[Content]:
        """Read content by digest, each row of it."""


def rows(reader: Reader, tenant: str, stream: str, *, upto: int | None, page: int) -> Iterator[Stored]:
    """Yield the rows of a stream by position, a page at a time.

    Pages overlap by one position: where a position stands twice, no page border hides the second row.
    """
    after, border, limit = 0, frozenset[int](), page + 1
    while True:
        found = reader.read(tenant, stream, after=after, upto=upto, limit=limit)
        yield from (row for row in found if row.gid not in border)
        if len(found) < limit:
            return
        last = found[-1].position
        if type(last) is not int:
            return
        border = frozenset(row.gid for row in found if row.position == last)
        after = last - 1 if last - 1 > after else last


def row_at(reader: Reader, tenant: str, stream: str, position: int) -> Stored | None:
    """Read the row at one position."""
    found = reader.read(tenant, stream, after=position - 1, upto=position, limit=1)
    return found[0] if found else None


@contextmanager
def readable(notes: Notes) -> Iterator[None]:
    """Note that something could not be read because of what is stored, such as text that is no Unicode.

    A store that is away or busy is another matter: then there is no verdict, and its error goes on.
    """
    try:
        yield
    except (IntegrityError, InvalidInput) as error:
        notes.altered(Check.STORE, None, f"from here on it cannot be read: {error}")
