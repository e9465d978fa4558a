"""The global order against the streams: what a follower reads is what stands in the streams, all of it, once.

Each stream is tallied while it is read by position, and again while the order is walked. A tally is a count
and a sum of digests: it does not depend on the order, and takes memory for each stream but none for an event.

Source of the sum: Bellare and Micciancio, "A new paradigm for collision-free hashing", 1997 (AdHash).
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from ledger.canonical import canonical_text, load_text
from ledger.errors import InvalidInput
from ledger.integrity.findings import Check, Notes
from ledger.integrity.reader import Reader, Stored

_MODULUS = 1 << 128


class Tally:
    """Which rows of a stream were seen, whatever their order."""

    __slots__ = ("count", "sum")

    def __init__(self) -> None:
        self.count = 0
        self.sum = 0

    def add(self, row: Stored) -> None:
        """Count a row in."""
        seen = repr((row.gid, row.position, row.hash)).encode()
        self.count += 1
        self.sum = (self.sum + int.from_bytes(blake2b(seen, digest_size=16).digest(), "big")) % _MODULUS

    def same(self, other: Tally) -> bool:
        """Tell whether the same rows were counted."""
        return (self.count, self.sum) == (other.count, other.sum)


class Verified(NamedTuple):
    """A stream that was read by position."""

    notes: Notes
    position: int
    """The last one looked at."""
    tally: Tally


class Order:
    """Walk the global order up to an end and hold it against the streams.

    The rows of all tenants are walked, for an event may have been moved to another one. Of other tenants'
    events nothing is looked at but whether they say that they are of this tenant.
    """

    def __init__(
        self, reader: Reader, whole: Notes, streams: Mapping[str, Verified], *, end: int, dense: bool
    ) -> None:
        self._reader = reader
        self._whole = whole
        self._streams = streams
        self._end = end
        self._dense = dense
        self._tallies: dict[str, Tally] = {}
        self._mark = canonical_text(whole.tenant).encode()
        self._gid = 0

    def walk(self, page: int) -> None:
        """Read the order, and note what is not in it and what should not be."""
        after = 0
        while after < self._end:
            found = self._reader.tail(after=after, limit=page)
            for row in found:
                self._row(row)
            # A row without a number is read again with the next page; one page of them is the last.
            if len(found) < page or self._gid <= after:
                break
            after = self._gid
        if self._dense and self._gid < self._end:
            self._hole(self._end + 1)
        self._compare()

    def _row(self, row: Stored) -> None:
        whole, gid = self._whole, row.gid
        if type(gid) is not int:
            whole.altered(Check.COLUMNS, None, f"the global position {gid!r} is no number")
            return
        if gid > self._end:
            return
        whole.expect(Check.ORDER, gid > self._gid, None, "global position {} follows {}", gid, self._gid)
        if self._dense and gid > self._gid + 1:
            self._hole(gid)
        self._gid = max(self._gid, gid)
        if type(row.tenant) is not str:
            whole.altered(Check.COLUMNS, None, f"the event at global position {gid} has no tenant's name")
        elif row.tenant != whole.tenant:
            self._foreign(row)
        elif type(row.stream) is not str:
            whole.altered(Check.COLUMNS, None, f"the event at global position {gid} has no run's name")
        elif type(row.position) is not int:
            self._odd_position(row)
        else:
            self._tallies.setdefault(row.stream, Tally()).add(row)

    def _hole(self, gid: int) -> None:
        first, last = self._gid + 1, gid - 1
        gone = f"position {first} is" if first == last else f"positions {first} to {last} are"
        self._whole.altered(Check.ORDER, None, f"global {gone} missing")

    def _odd_position(self, row: Stored) -> None:
        stream = self._streams.get(row.stream)
        what = f"the event at global position {row.gid} has the position {row.position!r}, which is no number"
        if stream is None:
            self._whole.altered(Check.COLUMNS, None, what)
        else:
            stream.notes.altered(Check.COLUMNS, stream.position + 1, what)

    def _foreign(self, row: Stored) -> None:
        """Find an event of this tenant that was given to another one."""
        if type(row.record) is not bytes or self._mark not in row.record:
            return
        try:
            fields: Any = load_text(row.record)
        except InvalidInput:
            return  # no record at all: for the other tenant's verification
        if type(fields) is not dict or fields.get("tenant") != self._whole.tenant:
            return
        run, position = fields.get("run"), fields.get("position")
        what = f"the event stands under the tenant {row.tenant!r}, at global position {row.gid}"
        if type(run) is str and type(position) is int and run in self._streams:
            self._streams[run].notes.altered(Check.COLUMNS, position, what)
        else:
            self._whole.altered(Check.COLUMNS, None, f"{what}: it is {position!r} of {run!r} of this one")

    def _compare(self) -> None:
        for name, stream in self._streams.items():
            tally = self._tallies.pop(name, None) or Tally()
            stream.notes.expect(
                Check.ORDER,
                tally.same(stream.tally),
                None,
                "up to global position {} the order holds {} of its events, the stream {}: not the same",
                self._end,
                tally.count,
                stream.tally.count,
            )
        for name, tally in self._tallies.items():
            what = f"the global order holds {tally.count} events of {name!r}, which is not among the streams"
            self._whole.altered(Check.ORDER, None, what)
