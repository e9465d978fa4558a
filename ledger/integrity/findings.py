"""What a verification finds: what was looked at, what is not as it was written, and the verdict.

Findings are values. `altered` and `unsupported` are kept apart: the first says that a stored byte is not what
was written, the second that this program cannot tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

MOST_FINDINGS = 100
"""Findings kept of one stream; what goes beyond is only counted."""

WHOLE = ""
"""Stands for the name of a stream where a finding belongs to none; no stream has this name."""

COULD_NOT_RUN = 3
"""Exit code of a verification that did not come to a verdict at all."""


class Check(StrEnum):
    """What is looked at, each counted by itself."""

    LINKAGE = "linkage"
    """Positions from 1 without a gap, each record naming the hash of the one before it."""
    CONTENT = "content"
    """The hash, computed again from the bytes."""
    CANONICAL = "canonical"
    """The bytes are the only ones that the ledger writes for what they say."""
    COLUMNS = "columns"
    """Every column that is derived from the bytes."""
    ORDER = "order"
    """Times never fall along a stream; the global order rises along it, holds all of its events, no event of
    nowhere, and has no hole where the store has none."""
    IDENTITY = "identity"
    """Event ids that stand twice in a stream; they are counted."""
    MEANING = "meaning"
    """Each event has a meaning where it stands: the fold takes it."""
    TERMS = "terms"
    """The terms an event says it was bound by are those that the fold had before it."""
    CLAIMS = "claims"
    """No two workers of a lineage started the same attempt."""
    REFERENCES = "references"
    """Hashes of other events that forks, restarts and reviews name."""
    SNAPSHOTS = "snapshots"
    """Saved folds, against the fold of all events up to them."""
    HEADS = "heads"
    """Where source streams are said to stand, which guards rely on."""
    BLOBS = "blobs"
    """Content that is kept beside records, against its digest."""
    STORE = "store"
    """The file as the database sees it, the names under which it keeps what stands beside the events, and
    whether all of it is shown."""


class Standing(StrEnum):
    """How something stands."""

    SOUND = "sound"
    ALTERED = "altered"
    """It is not what was written."""
    UNSUPPORTED = "unsupported"
    """This program cannot tell: a newer format, an event it does not know, or content that is not here."""

    @property
    def exit_code(self) -> int:
        """What a command line returns: 0 sound, 1 altered, 2 cannot tell."""
        return {"sound": 0, "altered": 1, "unsupported": 2}[self.value]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be."""

    check: Check
    standing: Standing
    tenant: str
    stream: str
    """`WHOLE` where it belongs to no stream."""
    position: int | None
    """The first position that may not be what was written; None where no position is meant."""
    what: str


@dataclass(frozen=True, slots=True)
class StreamReport:
    """What was found of one stream."""

    tenant: str
    stream: str
    events: int
    """Rows looked at."""
    position: int
    """The last position looked at; 0 where no row is left."""
    hash: bytes | None
    """Hash computed from the last record."""
    closed_at: int | None
    """Position of the run's end, if it ended."""
    first_broken: int | None
    """From this position on nothing is certain; None: no event is altered."""
    standing: Standing

    @property
    def complete(self) -> bool:
        """Whether the run ended. Without an end, or a seal, a missing tail leaves no trace."""
        return self.closed_at is not None

    @property
    def extent(self) -> str:
        """Say how far the stream is known: `complete`, or `open up to 17`."""
        return "complete" if self.complete else f"open up to {self.position}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a verification looked at, and what it found."""

    tenant: str
    streams: tuple[StreamReport, ...]
    findings: tuple[Finding, ...]
    checked: Mapping[Check, int]
    """How often each thing was looked at."""
    upto: int
    """Highest global position looked at; what came later was not."""
    omitted: int = 0
    """Findings beyond the first `MOST_FINDINGS` of their stream."""
    missing_blobs: int = 0
    """Contents that are not there although no event says that they were dropped: each is a finding that this
    program cannot judge."""
    expired_blobs: int = 0
    """Contents that are not there because they were dropped on purpose, as the tenant's own stream says, or
    the run whose states were given up."""
    given_up_blobs: Mapping[str, int] = field(default_factory=dict)
    """How many of these are of states that were given up, by run."""
    unfinished_blobs: int = 0
    """Contents that are there although the tenant's own stream says that they were dropped; looked for by who
    verifies a ledger of this program as a whole."""
    repeated_ids: int = 0
    """Event ids that stand once more in their stream. The ledger takes ids as its source of ids gives them
    and compares them only where an append is repeated, so this is no alteration."""
    passed_over: int = 0
    """Snapshots of another fold version, which loading passes over, too."""
    unordered: int = 0
    """Events that were looked at in their stream and not in the global order, because it does not show them
    yet: they came meanwhile, or behind a transaction that was still open."""
    unguarded: tuple[str, ...] = ()
    """What keeps the record from being changed and is missing, or not as it was made. It alters nothing that
    is stored."""
    anchored: bool = False
    """Whether a seal outside the database was compared. None exists yet: whoever can write to the database
    can take away the last events of a run, or write a whole history anew, without a trace."""

    @property
    def standing(self) -> Standing:
        """The verdict: altered if anything is, else unsupported if anything is, else sound."""
        found = {finding.standing for finding in self.findings}
        return next((s for s in (Standing.ALTERED, Standing.UNSUPPORTED) if s in found), Standing.SOUND)

    @property
    def exit_code(self) -> int:
        """What a command line returns: 0 sound, 1 altered, 2 cannot tell."""
        return self.standing.exit_code

    @property
    def events(self) -> int:
        """Rows looked at, of all streams."""
        return sum(stream.events for stream in self.streams)

    def altered(self, check: Check) -> int:
        """Count the findings of one check that say altered."""
        return sum(f.check is check and f.standing is Standing.ALTERED for f in self.findings)


_OF_EVENTS = frozenset(
    {
        Check.LINKAGE,
        Check.CONTENT,
        Check.CANONICAL,
        Check.COLUMNS,
        Check.ORDER,
        Check.IDENTITY,
        Check.MEANING,
        Check.TERMS,
    }
)
"""Checks that speak of the event at their position, not of something beside it."""


@dataclass(slots=True)
class Notes:
    """What is being found out about one stream."""

    tenant: str
    stream: str
    checked: dict[Check, int]
    """Counts of the whole verification, to which this stream adds."""
    findings: list[Finding] = field(default_factory=list)
    omitted: int = 0
    first_broken: int | None = None

    def altered(self, check: Check, position: int | None, what: str) -> None:
        """Note something that is not what was written."""
        if check in _OF_EVENTS and position is not None:
            self.first_broken = position if self.first_broken is None else min(self.first_broken, position)
        self._add(Finding(check, Standing.ALTERED, self.tenant, self.stream, position, what))

    def unsupported(self, check: Check, position: int | None, what: str) -> None:
        """Note something that this program cannot judge."""
        self._add(Finding(check, Standing.UNSUPPORTED, self.tenant, self.stream, position, what))

    def expect(self, check: Check, holds: bool, position: int | None, what: str, *parts: object) -> bool:
        """Count a look, and note what does not hold; return whether it does.

        The parts are put into the braces of `what` only when they are needed: nearly always, all is well.
        """
        self.checked[check] += 1
        if not holds:
            self.altered(check, position, what.format(*parts))
        return holds

    @property
    def standing(self) -> Standing:
        """How the stream stands so far."""
        found = {finding.standing for finding in self.findings}
        return next((s for s in (Standing.ALTERED, Standing.UNSUPPORTED) if s in found), Standing.SOUND)

    def _add(self, finding: Finding) -> None:
        # An altered stream among many unsupported findings must still be seen as altered.
        if len(self.findings) < MOST_FINDINGS or finding.standing not in {f.standing for f in self.findings}:
            self.findings.append(finding)
        else:
            self.omitted += 1
