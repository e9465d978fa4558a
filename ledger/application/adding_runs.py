"""Storing what a checked export holds and a ledger does not: the second reading of a file.

Records are stored in portions, each all or none, in the order of the file. A run that is here in part can be
gone on with by anybody, who then does not know of the acts that are still to come. So portions are large, and
are cut where no run of the file is under way, as far as one such place is among them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple, Protocol

from ledger.application.edge import Edge
from ledger.application.explained import Absent, absent_of, explained
from ledger.application.export_format import End, Entry, Shelf, Shelved, read_line
from ledger.application.export_lines import Lines, read_one
from ledger.application.payloads import contents_named
from ledger.canonical import invalid
from ledger.codec import columns, decode
from ledger.errors import InvalidInput, LedgerError
from ledger.events import RunForked, RunOpened, RunRestarted
from ledger.record import Record, Row
from ledger.run.sources import PREFIX
from ledger.stores.base import Blob, BlobPlace, Restore, StreamRow

BATCH = 20_000
"""Records that are stored together at most."""
BATCH_BYTES = 32 * 1024 * 1024
"""Size of the records that are stored together, and of the contents that go with them; one may be larger."""
_TOLD_EVERY = 500
"""Lines."""
_LOOKED_UP = 5_000
"""Contents of records that are here already that are looked up together."""


class Count(Protocol):
    """What is counted."""

    added: int
    contents: int


def comes_from(record: Record) -> Iterator[str]:
    """Name the runs that a run comes from, as its events say."""
    event = record.event
    if isinstance(event, RunOpened) and event.parent is not None:
        yield event.parent.run
    elif isinstance(event, RunForked):
        yield event.origin
    elif isinstance(event, RunRestarted):
        yield event.predecessor


class Lineages:
    """Which runs of a file belong together, and which line of it is the last of theirs."""

    def __init__(self) -> None:
        self._up: dict[str, str] = {}
        self._last: dict[str, int] = {}

    def note(self, record: Record, line: int) -> None:
        """Note a record, and the line it stands in."""
        if record.run.startswith("$"):
            return
        for origin in comes_from(record):
            one, other = self.of(record.run), self.of(origin)
            if one != other:
                self._up[one] = other
                self._last[other] = max(self._last.get(other, 0), self._last.pop(one, 0))
        self._last[self.of(record.run)] = line

    def of(self, run: str) -> str:
        """Name the lineage of a run: the run that stands for all of them."""
        while (up := self._up.get(run)) is not None:
            run = up
        return run

    def ends(self, run: str, line: int) -> bool:
        """Tell whether nothing of the lineage of a run follows behind a line."""
        return self._last.get(self.of(run), 0) <= line


class _Waiting(NamedTuple):
    """A record that is to be stored."""

    row: StreamRow
    contents: tuple[Shelved, ...]


@dataclass(slots=True)
class _Portion:
    """Records that are going to be stored together."""

    waiting: list[_Waiting] = field(default_factory=list)
    size: int = 0
    whole: int = 0
    """Records up to a place where no lineage is under way."""
    _seen: set[BlobPlace] = field(default_factory=set)

    def grows_by(self, one: _Waiting) -> int:
        """Return by how many bytes a record would make it larger."""
        more = sum(content.size for content in one.contents if content.place not in self._seen)
        return len(one.row.row.record) + more

    def add(self, one: _Waiting) -> None:
        """Take a record with the contents that it names."""
        self.size += self.grows_by(one)
        self._seen.update(content.place for content in one.contents)
        self.waiting.append(one)

    def cut(self) -> list[_Waiting]:
        """Take away what is to be stored now: up to where it is whole, or all of it."""
        cut = self.whole or len(self.waiting)
        taken, rest = self.waiting[:cut], self.waiting[cut:]
        self.waiting, self.size, self.whole, self._seen = [], 0, 0, set()
        for one in rest:
            self.add(one)
        return taken


class Checked(NamedTuple):
    """What the first reading found."""

    here: Mapping[str, int]
    """Where each stream of the file stands in this ledger."""
    end: End
    lineages: Lineages


class Adding:
    """Stores what is new; `progress` is told bytes done and bytes to do, of both readings."""

    def __init__(
        self,
        edge: Edge,
        file: BinaryIO,
        shelf: Shelf,
        checked: Checked,
        count: Count,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self._edge = edge
        self._file = file
        self._shelf = shelf
        self._checked = checked
        self._count = count
        self._progress = progress
        self._open: set[str] = set()
        self._known: dict[bytes, Absent] = {}

    def run(self) -> None:
        """Store it.

        Raises:
            InvalidInput: the file was changed since the first reading; the last portion is not stored.

        And what a store raises; what was stored before stays.
        """
        try:
            self._read()
        except LedgerError as error:
            if not self._count.added:
                raise
            why = (
                f"{error}; {self._count.added:,} records of the file are stored, runs may be here in part: "
                "repeat the import before anybody goes on with them"
            )
            raise type(error)(why, **{**error.data, "added": self._count.added}) from error

    def _read(self) -> None:
        lines = Lines(self._file)
        lines.next()
        portion = _Portion()
        while True:
            one = _line(lines)
            if isinstance(one, End):
                break
            if not isinstance(one, Entry):
                continue
            record = decode(
                one.record, one.hash, run=one.stream, position=one.position, tenant=self._edge.tenant
            )
            if one.position <= self._checked.here.get(one.stream, 0):
                self._note_known(record)
            else:
                new = _Waiting(_row(record, one), tuple(self._shelved(contents_named(record))))
                while portion.waiting and portion.size + portion.grows_by(new) > BATCH_BYTES:
                    self._store(portion.cut())
                portion.add(new)
            self._follow(portion, one.stream, lines.number)
            if len(portion.waiting) >= BATCH:
                self._store(portion.cut())
            lines.go_on()
            if lines.number % _TOLD_EVERY == 0:
                self._tell(lines.offset, lines.size)
        if one != self._checked.end or lines.before.hexdigest() != one.digest or lines.next():
            raise _changed(lines)
        while portion.waiting:
            self._store(portion.cut())
        self._add_known()
        self._tell(lines.size, lines.size)

    def _follow(self, portion: _Portion, stream: str, line: int) -> None:
        """Note where no lineage is under way."""
        if not stream.startswith("$"):
            lineage = self._checked.lineages.of(stream)
            if self._checked.lineages.ends(stream, line):
                self._open.discard(lineage)
            else:
                self._open.add(lineage)
        if not self._open:
            portion.whole = len(portion.waiting)

    def _tell(self, place: int, size: int) -> None:
        if self._progress is not None:
            self._progress(size + place, 2 * size)

    def _shelved(self, digests: Iterable[bytes]) -> Iterator[Shelved]:
        for digest in digests:
            yield from self._shelf.shelved(digest)

    def _store(self, portion: list[_Waiting]) -> None:
        """Store records with all contents that they name, also what is here: it may go at this moment."""
        contents = {content.place: content for one in portion for content in one.contents}
        fresh = self._missing(contents)
        rows = tuple(one.row for one in portion)
        blobs = tuple(self._content(one) for one in contents.values())
        self._edge.store.restore(Restore(self._edge.tenant, rows, blobs))
        self._count.added += len(rows)
        self._count.contents += len(fresh)

    def _missing(self, contents: Mapping[BlobPlace, Shelved]) -> list[Shelved]:
        """List the contents that are not here."""
        digests = {place.digest for place in contents}
        there = {row.place for row in self._edge.store.blob_rows(self._edge.tenant, digests)}
        return [one for place, one in contents.items() if place not in there]

    # --- contents of records that are here already -------------------------------------------------

    def _note_known(self, record: Record) -> None:
        for digest in contents_named(record):
            one = self._known.get(digest)
            if one is None or one.at <= record.at:
                self._known[digest] = absent_of(record, digest)
        if len(self._known) >= _LOOKED_UP:
            self._add_known()

    def _add_known(self) -> None:
        """Add contents that records name which are here, and that are not, unless they were dropped here."""
        known, self._known = self._known, {}
        missing = self._missing({one.place: one for one in self._shelved(known)})
        gone = {one.digest for one in explained(self._edge, (known[one.place.digest] for one in missing))}
        lost = [one for one in missing if one.place.digest not in gone]
        for some in _by_size(lost):
            blobs = tuple(map(self._content, some))
            self._edge.store.restore(Restore(self._edge.tenant, (), blobs))
            self._count.contents += len(blobs)

    def _content(self, one: Shelved) -> Blob:
        self._file.seek(one.offset)
        found = read_line(read_one(self._file, 0), 0)
        if not isinstance(found, Blob) or (found.digest, found.kind) != one.place:
            raise invalid("file", "it was changed while it was read")
        return found


def _by_size(contents: list[Shelved]) -> Iterator[list[Shelved]]:
    some: list[Shelved] = []
    size = 0
    for one in contents:
        if some and size + one.size > BATCH_BYTES:
            yield some
            some, size = [], 0
        some.append(one)
        size += one.size
    if some:
        yield some


def _line(lines: Lines) -> Entry | Blob | End:
    """Read a line that was read before."""
    text = lines.next()
    if not text:
        raise _changed(lines)
    try:
        return read_line(text, lines.number)
    except LedgerError:
        raise _changed(lines) from None


def _changed(lines: Lines) -> InvalidInput:
    return invalid(f"line {lines.number}", "the file was changed while it was read")


def _row(record: Record, entry: Entry) -> StreamRow:
    key, act, claim = columns(record.event, entry.stream)
    row = Row(entry.position, record.id, entry.hash, key, act, claim, entry.record)
    return StreamRow(entry.stream, record.prev, row, entry.stream.startswith(PREFIX))
