"""Reading runs out of a file that another ledger has exported, with every byte and hash as it was.

The file is read twice. First everything in it is checked, as `verify` would, and compared with what stands
here; nothing is stored where anything is wrong. Then what is new is appended, many records at a time and each
time all or none, in the global order of the ledger it comes from; what was cut short goes on when it is
repeated. Memory holds one such portion, and of each stream where it stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from typing import BinaryIO, NamedTuple

from ledger.application.adding_runs import Adding, Checked, Lineages
from ledger.application.edge import Edge
from ledger.application.export_format import VERSION, End, Entry, Header, Shelf, read_header, read_line
from ledger.application.export_lines import Lines
from ledger.application.ledger import Ledger, edge_of
from ledger.application.own_stream import STREAM
from ledger.application.unfinished import count_left_over
from ledger.canonical import invalid
from ledger.codec import columns, decode, reencode
from ledger.errors import IntegrityError, InvalidInput, LedgerError, NotForAgents
from ledger.integrity.findings import Notes
from ledger.integrity.places import name_fault, place_fault
from ledger.integrity.rows import look_at
from ledger.record import ZERO_HASH, Record, broken, undecodable
from ledger.run.decision import acting, is_agent
from ledger.stores.base import Blob, BlobPlace, StoredRow
from ledger.stores.memory import MemoryStore
from ledger.values import Actor, write_time

__all__ = ["VERSION", "Differing", "Imported", "import_runs"]

_PAGE = 500
"""Records that are compared together."""
_MOST_DIFFERING = 100


class Differing(NamedTuple):
    """A stream that has the same beginning here as in the file, and goes on differently."""

    stream: str
    position: int
    """The first position that differs."""


@dataclass(slots=True)
class Imported:
    """What an import came to."""

    tenant: str
    streams: int = 0
    """Streams in the file."""
    records: int = 0
    """Records in the file."""
    added: int = 0
    """Records of them that were stored now; all others stood here already."""
    partly: int = 0
    """Streams of which the beginning stood here before, and not all that is in the file; now it does."""
    contents: int = 0
    """Contents that were stored with them, or that records name which stood here already without them."""
    missing: int = 0
    """Contents that records in the file name, and that its ledger did not have."""
    dropped: int | None = None
    """Those of the missing that were dropped there on purpose; None: the file does not tell."""
    unfinished: int = 0
    """Contents that are here, and that events say were dropped: an import deletes nothing, `finish` does."""
    own_left_out: bool = False
    """What the other ledger had to say of itself was left out, since this one has said other things."""
    differing: list[Differing] = field(default_factory=list)
    """Why nothing was stored: streams that are another story here, the first hundred of them."""


def import_runs(
    ledger: Ledger,
    file: BinaryIO,
    *,
    progress: Callable[[int, int], None] | None = None,
    begun: Callable[[Imported], None] | None = None,
) -> Imported:
    """Store what a file holds and this ledger does not have yet; the same file again changes nothing.

    Hashes cover the name of the tenant, so a file is for the tenant of that name only. A run of which this
    ledger has the beginning is continued. Global positions are given anew, in the order of the file. Where a
    stream goes on differently here nothing is stored, and the answer says where; only the tenant's own stream
    is then left out. What the file says was dropped stays here if it is here, and is counted. A content that
    records here name is added where it is missing, and was not dropped here.

    Runs of a file that is larger than one portion may be here in part where this is cut short: repeat it
    before anybody goes on with them.

    Args:
        ledger: the ledger to add to.
        file: the file, open for reading bytes, at its beginning; it can be read from any place.
        progress: called with bytes done and bytes to do; each byte of the file counts twice.
        begun: called with what was found before anything is stored.

    Raises:
        NotForAgents: the ledger is opened for an agent: a file can say whatever people alone may say.
        InvalidInput: this is no export, it was cut or changed, or it is of another tenant.
        SchemaMismatch: the file, or a record in it, is of a newer format.
        UnknownEventName: it holds an event that this program does not know.
        ChainBroken, IntegrityError: a record, a chain or a content in it is not what was written.
        UndecodableRecord: an event in it has no place where it stands.
        PositionConflict: somebody appended to a run meanwhile: repeat it, to learn whether it still fits.
        StoreError: the store is away or busy; repeat it, and it goes on.

    All of these but the last two come before anything is stored, unless the file is changed meanwhile; of
    what a record is at fault for, `line` is the number of its line. Once records were stored, `added` says
    how many.
    """
    edge = edge_of(ledger)
    refuse_agents(edge.actor)
    with closing(Shelf()) as shelf:
        check = _Check(edge, file, shelf, progress)
        found = check.run()
        if not found.differing:
            if begun is not None:
                begun(found)
            Adding(edge, file, shelf, check.checked, found, progress).run()
            if found.added:
                left = count_left_over(edge, edge.now())
                found.unfinished = sum(contents for contents, _ in left.values())
    return found


def refuse_agents(actor: Actor) -> None:
    """Refuse an import to agents, and to services that act for one.

    Raises:
        NotForAgents: an agent asks.
    """
    if is_agent(actor):
        raise NotForAgents(
            f"to import is for people and services, not for {acting(actor)}",
            rule="not_for_agents",
            position=None,
            evidence={"command": "import", "actor": acting(actor)},
        )


def check_export(
    file: BinaryIO, tenant: str, *, progress: Callable[[int, int], None] | None = None
) -> Imported:
    """Check a file as `import_runs` does, for a ledger that does not exist yet and is not made by this.

    Args:
        file: the file, open for reading bytes, at its beginning.
        tenant: whose runs it is to hold.
        progress: called with bytes done and bytes to do, which are twice those of the file.

    Raises what `import_runs` raises before anything is stored.
    """
    edge = Edge(MemoryStore(), tenant, Actor("service:import"))
    with closing(Shelf()) as shelf:
        return _Check(edge, file, shelf, progress).run()


class _Stands(NamedTuple):
    position: int
    hash: bytes
    at: datetime | None = None


_NOWHERE = _Stands(0, ZERO_HASH)


class _Check:
    """The first reading: nothing is stored."""

    def __init__(
        self, edge: Edge, file: BinaryIO, shelf: Shelf, progress: Callable[[int, int], None] | None
    ) -> None:
        self._edge = edge
        self._lines = Lines(file)
        self._shelf = shelf
        self._progress = progress
        self._told: dict[str, _Stands] = {}
        self._differing: dict[str, int] = {}
        self._here: dict[str, int] = {}
        self._lineages = Lineages()
        self.checked: Checked
        """What the second reading needs, once this one is done."""

    def run(self) -> Imported:
        lines = self._lines
        header = read_header(lines.next())
        self._check_tenant(header)
        found = Imported(self._edge.tenant)
        page: list[Entry] = []
        contents = 0
        while True:
            text = lines.next()
            if not text:
                raise invalid(f"line {lines.number}", "the file ends without its last line: it was cut")
            one = read_line(text, lines.number)
            if isinstance(one, End):
                break
            if isinstance(one, Blob):
                contents += self._shelf.add(BlobPlace(one.digest, one.kind), lines.offset, len(one.content))
                continue
            try:
                self._follow(one)
            except LedgerError as error:
                raise _in_line(error, lines.number) from None
            page.append(one)
            found.records += 1
            if len(page) == _PAGE:
                self._compare(page)
                page = []
        self._compare(page)
        found.streams = len(self._told)
        found.missing, found.dropped = one.missing, one.dropped
        counted = one._replace(records=found.records, streams=found.streams, contents=contents)
        self._check_end(one, counted._replace(digest=lines.before.hexdigest()))
        if self._differing.pop(STREAM, None) is not None:
            found.own_left_out = True
            self._here[STREAM] = self._told[STREAM].position
        found.partly = sum(0 < self._here[name] < told.position for name, told in self._told.items())
        self.checked = Checked(self._here, one, self._lineages)
        found.differing = [Differing(*pair) for pair in sorted(self._differing.items())[:_MOST_DIFFERING]]
        return found

    def _check_tenant(self, header: Header) -> None:
        if header.tenant != self._edge.tenant:
            raise invalid(
                "tenant",
                f"the file holds runs of tenant {header.tenant!r}, and this ledger is open for "
                f"{self._edge.tenant!r}; every hash covers that name, so it goes into a tenant that has it",
            )

    def _check_end(self, told: End, counted: End) -> None:
        if self._lines.next():
            raise invalid(f"line {self._lines.number}", "something follows the last line")
        if told != counted:
            raise invalid(
                f"line {self._lines.number - 1}",
                "the last line counts or digests other lines than are here: the file was cut or changed",
            )

    def _follow(self, entry: Entry) -> None:
        """Check a record, and that it stands on the one before it."""
        record = _decoded(self._edge, entry)
        last = self._told.get(entry.stream, _NOWHERE)
        if entry.position != last.position + 1:
            raise broken(
                entry.stream, last.position + 1, f"position {last.position + 1} is missing in the file"
            )
        if record.prev != last.hash:
            raise broken(entry.stream, entry.position, "the record does not follow the one before it")
        if last.at is not None and record.at < last.at:
            raise broken(
                entry.stream,
                entry.position,
                f"time falls from {write_time(last.at)} to {write_time(record.at)}",
            )
        fault = name_fault(entry.stream) if entry.position == 1 else None
        if (fault := fault or place_fault(record)) is not None:
            raise undecodable(entry.stream, entry.position, fault)
        if (fault := _spelling_fault(record, entry)) is not None:
            raise broken(entry.stream, entry.position, fault)
        self._lineages.note(record, self._lines.number)
        self._told[entry.stream] = _Stands(entry.position, entry.hash, record.at)

    def _compare(self, page: Sequence[Entry]) -> None:
        """Compare records with what stands in their places here."""
        store, tenant = self._edge.store, self._edge.tenant
        spans: dict[str, dict[int, bytes]] = {}
        for entry in page:
            if entry.stream not in self._here:
                heads = store.heads(tenant, prefix=entry.stream, limit=1)
                is_here = bool(heads) and heads[0].stream == entry.stream
                self._here[entry.stream] = heads[0].position if is_here else 0
            if entry.position <= self._here[entry.stream]:
                spans.setdefault(entry.stream, {})[entry.position] = entry.hash
        for stream, hashes in spans.items():
            for row in store.read(tenant, stream, after=min(hashes) - 1, upto=max(hashes)):
                if hashes.get(row.position) != row.hash:
                    self._differing.setdefault(stream, row.position)
                    break
        if self._progress is not None:
            self._progress(self._lines.offset, 2 * self._lines.size)


def _in_line(error: LedgerError, number: int) -> LedgerError:
    """Say of an error that it is a line of the file that is at fault, and not the ledger."""
    where = f"line {number}: "
    if isinstance(error, IntegrityError):
        where += "the file is not what was exported: in it "
    return type(error)(f"{where}{error}", **{**error.data, "line": number})


def _spelling_fault(record: Record, entry: Entry) -> str | None:
    """Say why the ledger does not write such bytes; None where they are as it writes them."""
    try:
        if reencode(record).record == entry.record:
            return None
    except InvalidInput:
        pass  # what is wrong is said below
    notes = Notes(record.tenant, entry.stream, defaultdict(int))
    key, act, claim = columns(record.event, entry.stream)
    place = 0, record.tenant, entry.stream, entry.position, entry.hash, key, act, claim, entry.record
    look_at(StoredRow(*place), entry.position, notes)
    return notes.findings[0].what if notes.findings else None


def _decoded(edge: Edge, entry: Entry) -> Record:
    return decode(entry.record, entry.hash, run=entry.stream, position=entry.position, tenant=edge.tenant)
