"""What became of each transcript of a file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["added", "broken", "grown", "refused", "unchanged"]
"""A new run; not readable; more of a run; at odds with the run; nothing new."""

_LONGEST = 600


@dataclass(frozen=True, slots=True)
class ImportedRun:
    """What became of one transcript.

    A `broken` one is at fault itself; `code` is that of the error. A `refused` one is at odds with what is
    stored: `diverges` (the file tells it differently than it was imported), `went_on` (somebody else wrote to
    the run since), `not_imported` (the id belongs to a run that was opened in another way).
    """

    line: int
    """Line of the file it begins on, from 1."""
    verdict: Verdict
    run: str | None = None
    """None: it has no id that a run can have."""
    events: int = 0
    """Events added to the run."""
    problem: str | None = None
    """Why it was not imported, in words."""
    code: str | None = None
    message: int | None = None
    """Number of the message that the problem is about, from 1."""
    stored: str | None = None
    """What the run holds at the first difference, shortened."""
    found: str | None = None
    """What the file says there, shortened."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of a file, transcript by transcript in its order."""

    rows: tuple[ImportedRun, ...]
    sources: int = 0
    """Documents that were published for the first time."""
    documents: tuple[str, ...] = ()
    """Ids of the sources, `document:…`, that the transcripts' documents are, whether new or known."""

    @property
    def events(self) -> int:
        """Events added to runs."""
        return sum(row.events for row in self.rows)

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many transcripts had each verdict, all verdicts named."""
        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in ("added", "grown", "unchanged", "refused", "broken")}

    @property
    def added(self) -> int:
        """Runs that are new."""
        return self.counts["added"]

    @property
    def grown(self) -> int:
        """Runs that were there and got more."""
        return self.counts["grown"]

    @property
    def unchanged(self) -> int:
        """Runs that hold all that the file says."""
        return self.counts["unchanged"]

    @property
    def refused(self) -> int:
        """Transcripts at odds with what is stored."""
        return self.counts["refused"]

    @property
    def broken(self) -> int:
        """Transcripts that could not be read."""
        return self.counts["broken"]


class ImportInterrupted(KeyboardInterrupt):
    """An import was interrupted; `report` holds what was added until then. The same import adds the rest.

    An append that was on its way may be stored without being counted.
    """

    def __init__(self, report: ImportReport) -> None:
        super().__init__()
        self.report = report


def shown(text: str) -> str:
    """Make words of unknown origin fit to be shown: nothing that a terminal obeys, and not too many."""
    kept = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in kept)
