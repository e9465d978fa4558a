"""Whatever is done in whatever order: memory and SQLite behave as a model of a few lines does."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from ledger.errors import ActKnown, EffectInFlight, GuardMoved, IdInUse, LedgerError, PositionConflict
from ledger.stores.base import Append, Appended, Blob, Fresh, FullStore, Guard, SnapshotRow, StreamAppend
from ledger.stores.memory import MemoryStore
from ledger.stores.sqlite import SQLiteStore
from tests.stores.builder import LATER, NOON, Spec, assert_whole, ids, in_memory, part

TENANTS = st.sampled_from(["acme", "Acme"])
RUNS = st.sampled_from(["run-1", "run-2", "run-10", "RUN-1"])
SOURCES = st.sampled_from(["$source:a", "$source:b"])
ACTS = st.sampled_from([letter * 16 for letter in (b"1", b"2", b"3", b"4")])
DIGESTS = st.none() | ACTS
LAG = st.sampled_from([0, 0, 0, 0, 1, 2])

Outcome = Appended | type[LedgerError]


@dataclass
class Model:
    """A ledger as one would explain it: lists of specs, and what is looked up is searched for."""

    streams: dict[tuple[str, str], StreamAppend] = field(default_factory=dict)
    """All events of a stream, as if they had been one append."""
    specs: dict[tuple[str, str, int], Spec] = field(default_factory=dict)
    order: list[tuple[str, str, int]] = field(default_factory=list)
    """Places in global order; the gid is the index plus one."""
    heads: dict[tuple[str, str], int] = field(default_factory=dict)
    blobs: dict[tuple[str, bytes], bytes] = field(default_factory=dict)
    snapshots: dict[tuple[str, str], dict[int, SnapshotRow]] = field(default_factory=dict)

    def rows(self, tenant: str, stream: str) -> tuple[Any, ...]:
        known = self.streams.get((tenant, stream))
        return known.rows if known else ()

    def decide(self, append: Append, specs: list[list[Spec]]) -> Outcome:
        tenant = append.tenant
        if any(
            place_of(self.rows(tenant, part.stream)) != (part.expected, part.prev) for part in append.streams
        ):
            return self._earlier(append, specs) or PositionConflict
        if any(self.heads.get((tenant, guard.stream)) != guard.expected for guard in append.guards):
            return GuardMoved
        held = {spec.claim for (owner, _, _), spec in self.specs.items() if owner == tenant}
        claims = [spec.claim for said in specs for spec in said if spec.claim is not None]
        if held & set(claims) or len(set(claims)) < len(claims):
            return EffectInFlight
        acts = Counter(spec.act for (owner, _, _), spec in self.specs.items() if owner == tenant)
        if any(acts[fresh.act] > fresh.known for fresh in append.fresh):
            return ActKnown
        return self._store(append, specs)

    def _earlier(self, append: Append, specs: list[list[Spec]]) -> Outcome | None:
        gids: list[int] = []
        same = True
        for to, said in zip(append.streams, specs, strict=True):
            for row, spec in zip(to.rows, said, strict=True):
                there = append.tenant, to.stream, row.position
                if there not in self.specs or self.specs[there].id != spec.id:
                    return None
                same = same and self.specs[there].data == spec.data
                gids.append(self.order.index(there) + 1)
        return Appended(tuple(gids), repeated=True) if same else IdInUse

    def _store(self, append: Append, specs: list[list[Spec]]) -> Appended:
        start = len(self.order)
        for to, said in zip(append.streams, specs, strict=True):
            name = append.tenant, to.stream
            self.streams[name] = to._replace(rows=self.rows(*name) + to.rows)
            for row, spec in zip(to.rows, said, strict=True):
                self.specs[(*name, row.position)] = spec
                self.order.append((*name, row.position))
            if to.is_source:
                self.heads[name] = to.rows[-1].position
        for blob in append.blobs:
            self.blobs[append.tenant, blob.digest] = blob.content
        return Appended(tuple(range(start + 1, len(self.order) + 1)))


def place_of(rows: tuple[Any, ...]) -> tuple[int, bytes]:
    return (rows[-1].position, rows[-1].hash) if rows else (0, bytes(32))


class Stores(RuleBasedStateMachine):
    """Each rule does the same to both stores and compares them with the model."""

    appended = Bundle("appended")

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=in_memory()))
        self.model = Model()
        self.stores: list[FullStore] = [MemoryStore(), SQLiteStore(self.folder / "ledger.db")]
        self.count = 0

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            for store in self.stores:
                assert_whole(store)
                store.close()
            shutil.rmtree(self.folder)

    def both(self, call: Callable[[FullStore], Any]) -> Any:
        """Ask both, who have to agree."""
        mine, other = (call(store) for store in self.stores)
        assert mine == other
        return mine

    def build(
        self, tenant: str, stream: str, lag: int, specs: list[Spec], late: bool = False
    ) -> StreamAppend:
        """Build events on what a writer knows that has not seen the last `lag` appends of them."""
        known = self.model.streams.get((tenant, stream))
        if known is not None:
            rows = known.rows[: max(len(known.rows) - lag, 0)]
            known = known._replace(rows=rows) if rows else None
        return part(stream, *specs, after=known, tenant=tenant, at=LATER if late else NOON)

    def fresh(self, claims: list[bytes | None], keys: list[bytes | None]) -> list[Spec]:
        specs = []
        for claim, key in zip(claims, keys, strict=False):
            self.count += 1
            specs.append(Spec(f"e-{self.count}", {"text": f"said {self.count}"}, key, key, claim))
        return specs

    def submit(self, append: Append, specs: list[list[Spec]]) -> Outcome:
        expected = self.model.decide(append, specs)

        def attempt(store: FullStore) -> Outcome:
            try:
                return store.append(append)
            except LedgerError as error:
                return type(error)

        assert self.both(attempt) == expected
        return expected

    @rule(
        target=appended,
        tenant=TENANTS,
        runs=st.lists(st.tuples(RUNS, LAG), min_size=1, max_size=3, unique_by=lambda pair: pair[0]),
        claims=st.lists(DIGESTS, min_size=1, max_size=3),
        keys=st.lists(DIGESTS, min_size=3, max_size=3),
        guards=st.lists(st.tuples(SOURCES, st.integers(-1, 0)), max_size=2),
        content=st.none() | st.binary(max_size=3),
        fresh=st.just([]) | st.lists(st.builds(Fresh, ACTS, st.integers(0, 2)), max_size=2),
    )
    def append(
        self,
        tenant: str,
        runs: list[tuple[str, int]],
        claims: list[bytes | None],
        keys: list[bytes | None],
        guards: list[tuple[str, int]],
        content: bytes | None,
        fresh: list[Fresh],
    ) -> Any:
        specs = [self.fresh(claims, keys) for _ in runs]
        parts = [self.build(tenant, run, lag, said) for (run, lag), said in zip(runs, specs, strict=True)]
        relied = [
            Guard(source, max(self.model.heads.get((tenant, source), 0) + stale, 0))
            for source, stale in guards
        ]
        blobs = [] if content is None else [Blob(sha256(content).digest(), "message", content)]
        append = Append(tenant, tuple(parts), tuple(relied), tuple(blobs), tuple(fresh))
        outcome = self.submit(append, specs)
        return (append, specs) if isinstance(outcome, Appended) else multiple()

    @rule(target=appended, tenant=TENANTS, source=SOURCES, lag=LAG, count=st.integers(1, 2))
    def move(self, tenant: str, source: str, lag: int, count: int) -> Any:
        specs = self.fresh([None] * count, [None] * count)
        append = Append(tenant, (self.build(tenant, source, lag, specs),))
        outcome = self.submit(append, [specs])
        return (append, [specs]) if isinstance(outcome, Appended) else multiple()

    @rule(earlier=appended)
    def repeat(self, earlier: tuple[Append, list[list[Spec]]]) -> None:
        assert getattr(self.submit(*earlier), "repeated", False)

    @rule(earlier=appended, changed=st.booleans())
    def repeat_encoded_anew(self, earlier: tuple[Append, list[list[Spec]]], changed: bool) -> None:
        append, specs = earlier
        if changed:
            specs = [[spec._replace(data={"text": "something else"}) for spec in said] for said in specs]
        parts = []
        for old, said in zip(append.streams, specs, strict=True):
            before = self.model.rows(append.tenant, old.stream)[: old.expected]
            after = old._replace(rows=before) if before else None
            parts.append(part(old.stream, *said, after=after, tenant=append.tenant, at=LATER))
        outcome = self.submit(append._replace(streams=tuple(parts)), specs)
        assert outcome is IdInUse if changed else getattr(outcome, "repeated", False)

    @rule(tenant=TENANTS, source=SOURCES)
    def open_head(self, tenant: str, source: str) -> None:
        expected = self.model.heads.setdefault((tenant, source), 0)
        assert self.both(lambda store: store.open_head(tenant, source)) == expected

    @rule(
        tenant=TENANTS,
        run=RUNS,
        at=st.integers(0, 9),
        fold=st.sampled_from(["f1", "f2"]),
        stray=st.booleans(),
    )
    def put_snapshot(self, tenant: str, run: str, at: int, fold: str, stray: bool) -> None:
        rows = self.model.rows(tenant, run)
        if rows:
            row = rows[at % len(rows)]
            snapshot = SnapshotRow(row.position, b"s" * 32 if stray else row.hash, fold, f"{at}".encode())
            kept = self.model.snapshots.setdefault((tenant, run), {})
            for position in [old for old in kept if old < row.position and old // 4 == row.position // 4]:
                del kept[position]
            kept[row.position] = snapshot
            self.both(lambda store: store.put_snapshot(tenant, run, snapshot, keep_every=4))

    @rule(tenant=st.none() | TENANTS)
    def drop_snapshots(self, tenant: str | None) -> None:
        dropped = [place for place in self.model.snapshots if tenant in {None, place[0]}]
        count = sum(len(self.model.snapshots.pop(place)) for place in dropped)
        assert self.both(lambda store: store.drop_snapshots(tenant)) == count

    @rule(tenant=TENANTS, run=RUNS, fold=st.sampled_from(["f1", "f2"]), upto=st.none() | st.integers(0, 9))
    def load(self, tenant: str, run: str, fold: str, upto: int | None) -> None:
        rows = self.model.rows(tenant, run)[:upto]
        useful = [
            snapshot
            for position, snapshot in self.model.snapshots.get((tenant, run), {}).items()
            if snapshot.fold == fold
            and (position, snapshot.hash) in {(row.position, row.hash) for row in rows}
        ]
        best = max(useful, key=lambda snapshot: snapshot.position, default=None)
        loaded = self.both(lambda store: store.load(tenant, run, fold, upto=upto))
        assert loaded.snapshot == best
        assert [found.record for found in loaded.tail] == [
            row.record for row in rows if best is None or row.position > best.position
        ]

    @rule(tenant=st.none() | TENANTS, after=st.integers(0, 20), limit=st.integers(0, 20))
    def tail(self, tenant: str | None, after: int, limit: int) -> None:
        expected = [
            (gid, *place)
            for gid, place in enumerate(self.model.order, 1)
            if gid > after and tenant in {None, place[0]}
        ]
        rows = self.both(lambda store: store.tail(after=after, limit=limit, tenant=tenant))
        assert [(found.gid, found.tenant, found.stream, found.position) for found in rows] == expected[:limit]

    @rule(
        tenant=TENANTS,
        digest=DIGESTS,
        column=st.sampled_from(["key", "act", "claim"]),
        limit=st.integers(0, 5),
    )
    def find(self, tenant: str, digest: bytes | None, column: str, limit: int) -> None:
        if digest is not None:
            wanted = [
                self.model.specs[place].id
                for place in self.model.order
                if place[0] == tenant and getattr(self.model.specs[place], column) == digest
            ]
            arguments: Any = {column: digest, "limit": limit}
            rows = self.both(lambda store: store.find(tenant, **arguments))
            assert ids(rows) == (wanted[-limit:] if limit else [])

    @rule(tenant=TENANTS, after=st.just("") | RUNS, prefix=st.sampled_from(["", "run", "run-1", "$"]))
    def heads(self, tenant: str, after: str, prefix: str) -> None:
        expected = {
            name: place_of(known.rows)
            for (owner, name), known in sorted(self.model.streams.items())
            if owner == tenant and name > after and name.startswith(prefix)
        }
        found = self.both(lambda store: store.heads(tenant, after=after, prefix=prefix))
        assert [(head.stream, (head.position, head.hash)) for head in found] == list(expected.items())
        sources = {name: at for (owner, name), at in sorted(self.model.heads.items()) if owner == tenant}
        assert self.both(lambda store: store.source_heads(tenant)) == sources

    @rule(tenant=TENANTS, contents=st.lists(st.binary(max_size=3)))
    def blobs(self, tenant: str, contents: list[bytes]) -> None:
        digests = [sha256(content).digest() for content in contents]
        known = {digest: self.model.blobs.get((tenant, digest)) for digest in digests}
        expected = {digest: content for digest, content in known.items() if content is not None}
        assert self.both(lambda store: store.blobs(tenant, digests)) == expected

    @invariant()
    def ends_agree(self) -> None:
        if hasattr(self, "stores"):
            assert self.both(lambda store: store.end()) == len(self.model.order)

    @rule()
    def reopen(self) -> None:
        self.stores[1].close()
        self.stores[1] = SQLiteStore(self.folder / "ledger.db", create=False)


TestStores = Stores.TestCase
TestStores.settings = settings(stateful_step_count=40)
