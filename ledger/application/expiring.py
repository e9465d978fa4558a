"""Dropping contents by class and age: the records that name them, and an event that says so, stay.

What may go is decided from the records, not from the contents: a content is as young as the newest record
that names it, in whatever run. The event is durable before the first content is deleted, so that what is cut
short has left nothing unexplained, and who asks next finishes it. A content that is named again meanwhile
stays.

Memory holds some ten thousand digests at a time (where one run is asked for, also those of its contents); for
each such portion what was written since the cutoff is read once, and for one run all other streams as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ledger.application.edge import Edge
from ledger.application.expired import expired
from ledger.application.ledger import Ledger, edge_of
from ledger.application.own_stream import STREAM, say
from ledger.application.rows import decoded
from ledger.canonical import invalid
from ledger.errors import LedgerError, NotForAgents, RunNotFound
from ledger.events import ContentExpired
from ledger.record import parse
from ledger.stores.base import BlobPlace, BlobRow, StreamHead
from ledger.stores.contents import names_in, renewed
from ledger.values import Actor, write_time
from ledger.values.times import utc

BATCH = 500
"""Contents that one append explains, and one transaction drops."""
PORTION = 20_000
"""Contents that are looked at together."""
_PAGE = 500
_UNFINISHED = 16
"""Events that one append of tombstones has at most: one for each digit."""


class Tally(NamedTuple):
    """How much it is."""

    contents: int = 0
    bytes: int = 0

    def with_one(self, size: int) -> Tally:
        """Count one more."""
        return Tally(self.contents + 1, self.bytes + size)


@dataclass(slots=True)
class Expiry:
    """What an expiry dropped, or would drop."""

    cutoff: datetime
    """Contents that a record of this time or later names stayed."""
    dry_run: bool
    classes: dict[str, Tally] = field(default_factory=dict)
    """By class, in alphabetical order: what was dropped, or would be."""
    events: int = 0
    """Events that were written to say so."""
    finished: int = 0
    """Contents among them that an earlier expiry, which was cut short, had said were dropped."""
    kept: int = 0
    """Contents of the classes that stayed: younger, wanted for longer, or named by another run as well."""

    @property
    def total(self) -> Tally:
        """All classes together."""
        found = self.classes.values()
        return Tally(sum(one.contents for one in found), sum(one.bytes for one in found))


class Progress(NamedTuple):
    """How far an expiry is."""

    looked: int
    """Contents looked at."""
    dropped: int


def expire(
    ledger: Ledger,
    *,
    by: str,
    reason: str,
    classes: Sequence[str] = (),
    older_than: timedelta | None = None,
    run: str | None = None,
    actor: Actor | None = None,
    now: datetime | None = None,
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Expiry:
    """Drop contents beside the records of a tenant; what they were named by, and that they were, stays.

    Before contents go, ContentExpired in the tenant's own stream names them, with who decided it and why.
    Where they are read afterwards, that is the answer. No contract changes, and no act may be repeated for
    it. Asked again it drops what has become old since, which may be nothing.

    Args:
        ledger: whose contents.
        by: who decided it, `kind:name`; no agent.
        reason: why, in words.
        classes: only contents of these classes: `message`, `result`, `observation`, `evidence`; none: all.
        older_than: only contents that no record of this age or younger names; None: of any age.
        run: only contents that this run names, and nothing else of the tenant.
        actor: who writes; None: whoever the ledger is opened for.
        now: the time that ages are counted to; None: the ledger's clock.
        dry_run: change nothing, say what would go.
        progress: called after each portion and each deletion.

    Raises:
        InvalidInput: neither classes, age nor run is given; or one of them is malformed.
        NotForAgents: an agent writes, or is said to have decided it.
        RunNotFound: there is no such run.
        StoreUnavailable: on PostgreSQL, with the reason `no_privilege`, where this login is not the owner of
            the ledger: writers may append, and not delete. Nothing was written then.
    """
    edge = edge_of(ledger)
    actor = edge.actor if actor is None else actor
    moment = edge.now() if now is None else _moment(now)
    if not classes and older_than is None and run is None:
        raise invalid("expire", "say what: classes, an age or a run")
    _not_for_agents(actor, by)
    cutoff = _before_age(moment, older_than or timedelta(0))
    # Built first, so that what is malformed is refused before anything is read.
    kinds = tuple(sorted(set(classes)))
    why: dict[str, Any] = {"by": by, "classes": kinds, "cutoff": cutoff, "reason": reason, "run": run}
    tombstone = ContentExpired(**why, digests=(), prefix="0")
    if run is not None and not edge.store.read(edge.tenant, run, limit=1):
        raise RunNotFound(f"no run {run!r} was opened", run=run)
    work = _Work(edge, actor, moment, Expiry(tombstone.cutoff, dry_run), progress)
    if not dry_run:
        # Who may not delete learns it here, before an event says that something goes.
        edge.store.drop_blobs(edge.tenant, (), since=edge.store.end(newest=True), but=STREAM)
        work.finish()
    work.expire(tombstone)
    return work.done()


def _before_age(moment: datetime, age: timedelta) -> datetime:
    try:
        before = moment - age
    except OverflowError:
        raise invalid("older_than", "nothing is so old") from None
    if before > moment:
        raise invalid("older_than", "an age is not negative")
    return before


def _moment(now: datetime) -> datetime:
    try:
        return utc(now)
    except ValueError as error:
        raise invalid("now", str(error)) from None


def _not_for_agents(actor: Actor, by: str) -> None:
    who = next((one for one in (actor.id, by) if one.startswith("agent:")), None)
    if who is not None:
        raise NotForAgents(
            f"dropping contents is for people and services, not for {who}",
            rule="not_for_agents",
            position=None,
            evidence={"command": "expire", "actor": who},
        )


Rows = dict[bytes, list[BlobRow]]
"""Contents by digest: each of their classes."""


class _Work:
    """An expiry under way."""

    def __init__(
        self,
        edge: Edge,
        actor: Actor,
        now: datetime,
        expiry: Expiry,
        progress: Callable[[Progress], None] | None,
    ) -> None:
        self._edge = edge
        self._actor = actor
        self._now = write_time(now)
        self._expiry = expiry
        self._progress = progress
        self._looked = self._dropped = 0
        self._since = 0

    def done(self) -> Expiry:
        self._expiry.classes = dict(sorted(self._expiry.classes.items()))
        return self._expiry

    def finish(self) -> None:
        """Drop what the last events of the tenant's own stream say was dropped, and is still there."""
        for tombstone in _last_said(self._edge):
            self._begin()
            digests = [bytes.fromhex(digest) for digest in tombstone.digests]
            rows = self._wanted(self._edge.store.blob_rows(self._edge.tenant, digests), tombstone)
            self._keep_named(rows, tombstone)
            for batch in _batches(rows):
                self._expiry.finished += self._drop(batch)

    def expire(self, asked: ContentExpired) -> None:
        """Drop what is asked for, a portion at a time."""
        for portion in self._portions(asked):
            self._begin()
            rows = self._wanted(portion, asked)
            everything = sum(map(len, rows.values()))
            self._keep_named(rows, asked)
            before = self._dropped
            for batch in _batches(rows):
                if self._expiry.dry_run:
                    self._count(batch, [row.place for row in batch])
                else:
                    self._explain(batch, asked)
                    self._drop(batch)
            self._expiry.kept += everything - (self._dropped - before)
            self._tell()

    def _begin(self) -> None:
        # Asked before anything is read: every event up to here will be seen.
        self._since = self._edge.store.end()

    # --- which contents ------------------------------------------------------------------------------

    def _portions(self, asked: ContentExpired) -> Iterator[list[BlobRow]]:
        store, tenant = self._edge.store, self._edge.tenant
        portion: list[BlobRow] = []
        if asked.run is not None:
            for page in _contents_of(self._edge, asked.run):
                portion += page
                if len(portion) >= PORTION:
                    yield portion
                    portion = []
            if portion:
                yield portion
            return
        after: BlobPlace | None = None
        while listed := store.list_blobs(tenant, after=after, limit=_PAGE):
            after = listed[-1].place
            portion += listed
            if len(portion) >= PORTION:
                yield portion
                portion = []
        if portion:
            yield portion

    def _wanted(self, rows: Iterable[BlobRow], asked: ContentExpired) -> Rows:
        found: Rows = {}
        for row in rows:
            self._looked += 1
            if not asked.classes or row.kind in asked.classes:
                if row.expires_at is None or row.expires_at <= self._now:
                    found.setdefault(row.digest, []).append(row)
                else:
                    self._expiry.kept += 1
        return found

    def _keep_named(self, rows: Rows, asked: ContentExpired) -> None:
        """Leave out what a record names that is younger than the cutoff, or of another run than asked for."""
        cutoff = write_time(asked.cutoff)
        for head in _heads(self._edge):
            if not rows:
                return
            if head.stream == STREAM:
                continue
            whole = asked.run is not None and head.stream != asked.run
            after = 0 if whole else _before(self._edge, head, cutoff)
            for page in _records(self._edge, head.stream, after):
                for digest in renewed(page, rows):
                    del rows[digest]

    # --- dropping them -------------------------------------------------------------------------------

    def _explain(self, batch: Sequence[BlobRow], asked: ContentExpired) -> None:
        """Write the events that say why these contents go, unless that was said already."""
        digests = dict.fromkeys(row.digest for row in batch)
        known = expired(self._edge, digests)
        said: defaultdict[str, list[str]] = defaultdict(list)
        for digest in digests:
            if digest not in known or known[digest].cutoff < asked.cutoff:
                said[digest.hex()[0]].append(digest.hex())
        events = [
            asked.with_fields({"digests": tuple(names), "prefix": prefix}) for prefix, names in said.items()
        ]
        if events:
            say(self._edge, self._actor, events)
            self._expiry.events += len(events)

    def _drop(self, batch: Sequence[BlobRow]) -> int:
        places = [row.place for row in batch]
        dropped = self._edge.store.drop_blobs(self._edge.tenant, places, since=self._since, but=STREAM)
        self._count(batch, dropped)
        return len(dropped)

    def _count(self, batch: Sequence[BlobRow], dropped: Iterable[BlobPlace]) -> None:
        sizes = {row.place: row.size for row in batch}
        classes = self._expiry.classes
        for place in dropped:
            classes[place.kind] = classes.get(place.kind, Tally()).with_one(sizes[place])
            self._dropped += 1
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(Progress(self._looked, self._dropped))


def _batches(rows: Rows) -> Iterator[list[BlobRow]]:
    """Split contents into batches; those of one digest stay together."""
    batch: list[BlobRow] = []
    for _, of_digest in sorted(rows.items()):
        if batch and len(batch) + len(of_digest) > BATCH:
            yield batch
            batch = []
        batch += of_digest
    if batch:
        yield batch


def _last_said(edge: Edge) -> Iterator[ContentExpired]:
    """Read the events that the last append of them may have left unfinished."""
    heads = edge.store.heads(edge.tenant, prefix=STREAM, limit=1)
    if not heads or heads[0].stream != STREAM:
        return
    last = heads[0].position
    for row in edge.store.read(edge.tenant, STREAM, after=last - _UNFINISHED, upto=last):
        event = decoded(row).event
        if isinstance(event, ContentExpired):
            yield event


def _heads(edge: Edge) -> Iterator[StreamHead]:
    after = ""
    while page := edge.store.heads(edge.tenant, after=after, limit=_PAGE):
        yield from page
        after = page[-1].stream


def _records(edge: Edge, stream: str, after: int) -> Iterator[list[bytes]]:
    """Read the bytes of a stream a page at a time, not looking into them."""
    while rows := edge.store.read(edge.tenant, stream, after=after, limit=_PAGE):
        yield [row.record for row in rows]
        after = rows[-1].position


def _contents_of(edge: Edge, run: str) -> Iterator[list[BlobRow]]:
    """Yield the contents that the records of a run name, each once."""
    found: set[bytes] = set()
    for page in _records(edge, run, 0):
        names = {name for record in page for name in names_in(record)} - found
        rows = edge.store.blob_rows(edge.tenant, names)
        found.update(row.digest for row in rows)
        yield rows


def _before(edge: Edge, head: StreamHead, cutoff: str) -> int:
    """Find the last position of a stream that is older than a time: times never fall along it."""
    if _at(head.record) < cutoff:
        return head.position
    low, high = 0, head.position - 1
    while low < high:
        middle = (low + high + 1) // 2
        row = edge.store.read(edge.tenant, head.stream, after=middle - 1, limit=1)[0]
        if _at(row.record) < cutoff:
            low = middle
        else:
            high = middle - 1
    return low


def _at(record: bytes) -> str:
    """Read the time of a record; one that cannot be read counts as young, so that what it names stays."""
    try:
        return str(parse(record)["at"])
    except (LedgerError, KeyError):
        return _YOUNG


_YOUNG = "~"
