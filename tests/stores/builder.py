"""Build appends of real records, and check that what a store holds is whole.

first = part("run-1", "a", "b")                 two events, with these ids
second = part("run-1", "c", after=first)        the next one
store.append(one(first))
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier, Event
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from ledger.record import ZERO_HASH, Envelope, Row, digest, write
from ledger.stores.base import Append, Blob, Fresh, FullStore, Guard, Link, StoredRow, StreamAppend
from ledger.values import Actor

T = TypeVar("T")

ACTOR = Actor("service:tests")
NOON = datetime(2031, 5, 6, 12, tzinfo=UTC)
LATER = datetime(2031, 5, 6, 13, tzinfo=UTC)
TENANT = "acme"


class Spec(NamedTuple):
    """What an event of a test says."""

    id: str
    data: Mapping[str, Any] = MappingProxyType({"text": "hello"})
    key: bytes | None = None
    act: bytes | None = None
    claim: bytes | None = None


def row(
    spec: Spec, position: int, prev: bytes, stream: str, tenant: str = TENANT, at: datetime = NOON
) -> Row:
    """Encode one event."""
    envelope = Envelope(tenant, stream, position, prev, spec.id, at, ACTOR)
    data = json.dumps(dict(spec.data), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    record = write(envelope, "test.happened", 1, data)
    return Row(position, spec.id, digest(record), spec.key, spec.act, spec.claim, record)


def part(
    stream: str,
    *events: str | Spec,
    after: StreamAppend | StoredRow | None = None,
    tenant: str = TENANT,
    at: datetime = NOON,
) -> StreamAppend:
    """Build events of one stream, behind what was appended or read before."""
    expected, prev = place(after)
    rows: list[Row] = []
    for number, event in enumerate(events, expected + 1):
        spec = event if isinstance(event, Spec) else Spec(event)
        rows.append(row(spec, number, rows[-1].hash if rows else prev, stream, tenant, at))
    return StreamAppend(stream, expected, prev, tuple(rows), is_source=stream.startswith("$source:"))


def place(after: StreamAppend | StoredRow | None) -> tuple[int, bytes]:
    """Return the position and the hash one stands at."""
    if after is None:
        return 0, ZERO_HASH
    last = after.rows[-1] if isinstance(after, StreamAppend) else after
    return last.position, last.hash


def one(
    *parts: StreamAppend,
    tenant: str = TENANT,
    guards: Sequence[Guard] = (),
    blobs: Sequence[Blob] = (),
    fresh: Sequence[bytes | Fresh] = (),
) -> Append:
    """Put parts into one append; of an act given as bytes nothing is known."""
    acts = (one if isinstance(one, Fresh) else Fresh(one) for one in fresh)
    return Append(tenant, parts, tuple(guards), tuple(blobs), tuple(acts))


def told(record: bytes) -> Any:
    """Read the data out of a record."""
    return json.loads(record)["data"]


def ids(rows: Iterable[StoredRow | Link]) -> list[str]:
    """Read the event ids out of records."""
    return [json.loads(found.record)["id"] for found in rows]


def shown(store: FullStore) -> FullStore:
    """Wait until followers are shown all that is stored, which others of the same server may delay."""
    until(lambda: store.end() == store.end(newest=True))
    return store


def everything(store: FullStore) -> list[StoredRow]:
    """Follow the global order to its end."""
    shown(store)
    found: list[StoredRow] = []
    while page := store.tail(after=found[-1].gid if found else 0, limit=777):
        found += page
    return found


def assert_whole(store: FullStore) -> list[StoredRow]:
    """Check positions, chains, claims, heads and order of all that is stored; return it in global order."""
    rows = everything(store)
    last: dict[tuple[str, str], StoredRow] = {}
    claims: set[tuple[str, bytes]] = set()
    gid = 0
    for found in rows:
        assert found.gid > gid
        gid = found.gid
        position, prev = place(last.get((found.tenant, found.stream)))
        fields = json.loads(found.record)
        assert found.position == position + 1 == fields["position"]
        assert found.hash == digest(found.record)
        assert fields["prev"] == prev.hex()
        assert (fields["tenant"], fields["run"]) == (found.tenant, found.stream)
        last[found.tenant, found.stream] = found
        if found.claim is not None:
            assert (found.tenant, found.claim) not in claims
            claims.add((found.tenant, found.claim))
    assert store.end() == gid
    by_tenant: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for (tenant, stream), found in last.items():
        by_tenant[tenant][stream] = found.position
    for tenant, streams in by_tenant.items():
        assert {head.stream: head.position for head in store.heads(tenant, limit=10**6)} == streams
        sources = {name: position for name, position in streams.items() if name.startswith("$source:")}
        assert {name: at for name, at in store.source_heads(tenant).items() if at} == sources
    return rows


def in_memory() -> str | None:
    """Return where a temporary folder costs no disk, for tests that commit often and lose nothing by it."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def until(condition: Callable[[], bool]) -> None:
    """Wait until something is so, a minute at most; for what gives no sign of itself."""
    pause, tries = Event(), 0
    while not condition():
        tries += 1
        assert tries < 60_000
        pause.wait(0.001)


def together(*calls: Callable[[], T]) -> list[T]:
    """Run calls in threads that start at once; return their results, or raise what one of them raised."""
    start = Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        start.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
