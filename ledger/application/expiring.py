"""Dropping contents by class and age: the records that name them, and an event that says so, stay.

What may go is decided from the records, not from the contents: a content is as young as the newest record
that names it, in whatever run. The event is durable before the first content is deleted, so that what is cut
short has left nothing unexplained: `finish` drops what events say was dropped and is still here. A content
that is named again meanwhile stays.

Memory holds some ten thousand digests at a time (where one run is asked for, also those of its contents); for
each such portion what was written since the cutoff is read once, and for one run all other streams as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from ledger.application.edge import Edge
from ledger.application.expired import expired
from ledger.application.export_format import Shelf
from ledger.application.keeping import all_contents, contents_of, heads, last_before, named_in, records
from ledger.application.ledger import Ledger, edge_of
from ledger.application.own_stream import STREAM, say
from ledger.application.payloads import CLASSES, OUTLIVING
from ledger.application.unfinished import count_left_over, left_over
from ledger.canonical import invalid
from ledger.errors import NotForAgents, RunNotFound
from ledger.events import ContentExpired
from ledger.run.decision import acting, is_agent
from ledger.stores.base import BlobPlace, BlobRow
from ledger.stores.contents import renewed
from ledger.values import Actor, write_time
from ledger.values.faults import no_such
from ledger.values.times import utc

BATCH = 500
"""Contents that one append explains, and one transaction drops."""


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

    cutoff: datetime | None
    """Contents that a record of this time or later names stayed; None: each event says that by itself."""
    dry_run: bool
    classes: dict[str, Tally] = field(default_factory=dict)
    """By class, in alphabetical order: what was dropped, or would be."""
    events: int = 0
    """Events that were written to say so."""
    young: int = 0
    """Contents of the classes that stayed, since a record names them that is not older than the cutoff."""
    shared: int = 0
    """Contents that stayed, since another run than was asked for names them as well."""
    wanted: int = 0
    """Contents that stayed, since they were stored with a time until which they are kept."""
    left: dict[str, Tally] = field(default_factory=dict)
    """By class: what was not asked for, and what events say was dropped: `finish` drops it."""

    @property
    def kept(self) -> int:
        """Contents of the classes that stayed, for whatever reason."""
        return self.young + self.shared + self.wanted

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
    it. Asked again it drops what has become old since, which may be nothing. Nothing goes that was not asked
    for: what earlier events say was dropped, and is still here, is counted.

    Args:
        ledger: whose contents.
        by: who decided it, `kind:name`; no agent.
        reason: why, in words.
        classes: only contents of these classes: `message`, `result`, `observation`, `evidence`; none: all
            of these. Saved states never go by age, since they rest on older ones.
        older_than: only contents that no record of this age or younger names; None: of any age.
        run: only contents that this run names, and nothing else of the tenant.
        actor: who writes; None: whoever the ledger is opened for.
        now: the time that ages are counted to, not ahead of the ledger's clock; None: that.
        dry_run: change nothing, say what would go.
        progress: called after each portion and each deletion.

    Raises:
        InvalidInput: neither classes, age nor run is given; or one of them is malformed, or no class.
        NotForAgents: an agent writes, or is said to have decided it.
        RunNotFound: there is no such run.
        StoreUnavailable: on PostgreSQL, with the reason `no_privilege`, where this login is not the owner of
            the ledger: writers may append, and not delete. Nothing was written then.
    """
    edge = edge_of(ledger)
    actor = edge.actor if actor is None else actor
    moment = _moment(edge, now)
    if not classes and older_than is None and run is None:
        raise invalid("expire", "say what: classes, an age or a run")
    for kind in classes:
        if kind not in CLASSES:
            raise invalid("classes", f"{kind!r:.50}: {no_such('class', kind, CLASSES)}")
        if kind in OUTLIVING:
            raise invalid("classes", f"{kind!r}: saved states rest on older ones: drop or prune the states")
    for_people(actor, by, "expire")
    cutoff = _before_age(moment, older_than or timedelta(0))
    # Built first, so that what is malformed is refused before anything is read.
    kinds = tuple(sorted(set(classes)))
    why: dict[str, Any] = {"by": by, "classes": kinds, "cutoff": cutoff, "reason": reason, "run": run}
    tombstone = ContentExpired(**why, digests=(), prefix="0")
    if run is not None and not edge.store.read(edge.tenant, run, limit=1):
        raise RunNotFound(f"no run {run!r} was opened", run=run)
    if not dry_run:
        # Who may not delete learns it here, before an event says that something goes.
        edge.store.drop_blobs(edge.tenant, (), since=edge.store.end(newest=True), but=STREAM)
    with closing(Shelf()) as shelf:
        work = _Work(edge, actor, moment, Expiry(tombstone.cutoff, dry_run), progress, shelf)
        work.expire(tombstone)
        return work.done(left=True)


def finish(
    ledger: Ledger,
    *,
    actor: Actor | None = None,
    now: datetime | None = None,
    dry_run: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> Expiry:
    """Drop what events of the tenant say was dropped, and is still here; no event is written.

    It is left by an expiry that was cut short, or the events came with an import. What a record names again
    that such an event does not speak for stays.

    Args:
        ledger: whose contents.
        actor: who does it; None: whoever the ledger is opened for.
        now: the time that contents may be wanted until, not ahead of the ledger's clock; None: that.
        dry_run: change nothing, say what would go.
        progress: called after each portion and each deletion.

    Raises:
        InvalidInput: the time is malformed.
        NotForAgents: an agent asks.
        StoreUnavailable: on PostgreSQL, with the reason `no_privilege`, where this login is not the owner of
            the ledger.
    """
    edge = edge_of(ledger)
    actor = edge.actor if actor is None else actor
    moment = _moment(edge, now)
    for_people(actor, actor.id, "expire")
    if not dry_run:
        edge.store.drop_blobs(edge.tenant, (), since=edge.store.end(newest=True), but=STREAM)
    with closing(Shelf()) as shelf:
        work = _Work(edge, actor, moment, Expiry(None, dry_run), progress, shelf)
        work.finish()
        return work.done(left=False)


def _before_age(moment: datetime, age: timedelta) -> datetime:
    try:
        before = moment - age
    except OverflowError:
        raise invalid("older_than", "nothing is so old") from None
    if before > moment:
        raise invalid("older_than", "an age is not negative")
    return before


def _moment(edge: Edge, now: datetime | None) -> datetime:
    """Take the time that is given, or the clock's; none is taken that nobody has lived yet."""
    clock = edge.now()
    if now is None:
        return clock
    try:
        moment = utc(now)
    except ValueError as error:
        raise invalid("now", str(error)) from None
    if moment > clock:
        raise invalid(
            "now", f"{write_time(moment)} is ahead of the ledger's clock, which says {write_time(clock)}"
        )
    return moment


def for_people(actor: Actor, by: str, command: str) -> None:
    """Check that no agent drops contents: neither who writes, nor who is said to have decided it.

    Raises:
        NotForAgents: one does.
    """
    # A service that an agent has sent is the agent here.
    named = (acting(actor), by) if is_agent(actor) else (by,)
    who = next((one for one in named if one.startswith("agent:")), None)
    if who is not None:
        raise NotForAgents(
            f"dropping contents is for people and services, not for {who}",
            rule="not_for_agents",
            position=None,
            evidence={"command": command, "actor": who},
        )


Rows = dict[bytes, list[BlobRow]]
"""Contents by digest: each of their classes."""


class _Work:
    """An expiry under way; the shelf takes what a dry run would drop."""

    def __init__(
        self,
        edge: Edge,
        actor: Actor,
        now: datetime,
        expiry: Expiry,
        progress: Callable[[Progress], None] | None,
        shelf: Shelf,
    ) -> None:
        self._edge = edge
        self._actor = actor
        self._moment = now
        self._now = write_time(now)
        self._expiry = expiry
        self._progress = progress
        self._shelf = shelf
        self._looked = self._dropped = 0
        self._since = 0

    def done(self, *, left: bool) -> Expiry:
        """Give the result, with what is left of earlier ones where that is asked for."""
        self._expiry.classes = dict(sorted(self._expiry.classes.items()))
        if left:
            found = count_left_over(self._edge, self._moment, but=self._goes)
            self._expiry.left = {name: Tally(*counts) for name, counts in found.items()}
        return self._expiry

    def _goes(self, place: BlobPlace) -> bool:
        return any(found == place for found, _ in self._shelf.find(place.digest))

    def finish(self) -> None:
        """Drop what events say was dropped, and is still there."""
        for portion in left_over(self._edge, self._moment):
            self._looked += portion.looked
            self._since = portion.since
            rows: Rows = {}
            for row in portion.rows:
                rows.setdefault(row.digest, []).append(row)
            for batch in _batches(rows):
                self._drop(batch)
            self._tell()

    def expire(self, asked: ContentExpired) -> None:
        """Drop what is asked for, a portion at a time."""
        edge = self._edge
        for portion in all_contents(edge) if asked.run is None else contents_of(edge, asked.run):
            # Asked before anything is read: every event up to here will be seen.
            self._since = edge.store.end()
            rows = self._wanted(portion, asked)
            self._keep_named(rows, asked)
            for batch in _batches(rows):
                if not self._expiry.dry_run:
                    self._explain(batch, asked)
                # What is named meanwhile is as young as that.
                self._expiry.young += len(batch) - self._drop(batch)
            self._tell()

    # --- which contents ------------------------------------------------------------------------------

    def _wanted(self, rows: Iterable[BlobRow], asked: ContentExpired) -> Rows:
        found: Rows = {}
        for row in rows:
            self._looked += 1
            if row.kind in OUTLIVING:
                continue
            if not asked.classes or row.kind in asked.classes:
                if row.expires_at is None or row.expires_at <= self._now:
                    found.setdefault(row.digest, []).append(row)
                else:
                    self._expiry.wanted += 1
        return found

    def _keep_named(self, rows: Rows, asked: ContentExpired) -> None:
        """Leave out what a record names that is younger than the cutoff, or of another run than asked for."""
        cutoff = write_time(asked.cutoff)
        for head in heads(self._edge):
            if not rows:
                return
            if head.stream == STREAM:
                continue
            whole = asked.run is not None and head.stream != asked.run
            after = 0 if whole else last_before(self._edge, head, cutoff)
            for page in records(self._edge, head.stream, after):
                # What another run only mentions is not its own; for an age any mention is on the safe side.
                for digest in named_in(page, rows) if whole else renewed(page, rows):
                    count = len(rows.pop(digest))
                    if whole:
                        self._expiry.shared += count
                    else:
                        self._expiry.young += count

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
        dropped = [row.place for row in batch]
        if self._expiry.dry_run:
            for place in dropped:
                self._shelf.add(place)
        else:
            dropped = self._edge.store.drop_blobs(self._edge.tenant, dropped, since=self._since, but=STREAM)
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
