"""What became of the transcripts that were replayed, call by call."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal, NamedTuple

ReplayVerdict = Literal["broken", "replayed", "stopped", "unknown"]
"""Not readable; all calls were gone through; something has to be changed or said first; nobody knows what
became of a call."""

Came = Literal["done", "not_called", "read", "refused"]
"""What a call came to. `not_called`: its arguments are no JSON object, so no function can be given them."""


class Repeat(NamedTuple):
    """What a person says of a call that does the same as an earlier one, on purpose."""

    reason: str | None = None
    undone_by: str | int | None = None
    """What undid the earlier one: the key of an effect, or the number of the call that was it."""


@dataclass(frozen=True, slots=True)
class ReplayedCall:
    """What one call came to."""

    run: str
    number: int
    """Which call of the transcript it is, from 1."""
    message: int
    """Number of the message that makes it."""
    tool: str
    came: Came
    answer: str
    """In words, as the model would read it."""
    recorded: str | None
    """What the transcript says; None: it holds no answer."""
    key: str | None = None
    """Of its effect; None where it only reads."""
    before: bool = False
    """It was known already, and nothing was called."""

    @property
    def as_recorded(self) -> bool | None:
        """Whether the outside answered as the transcript says; None: it says nothing."""
        return None if self.recorded is None else self.answer == self.recorded


@dataclass(frozen=True, slots=True)
class ReplayedRun:
    """What became of one transcript.

    One that is not `replayed` has a `code`, mostly that of an error: `possible_repeat` (`first` names the
    call that did the same), `outcome_unknown`, `effect_in_flight`, … Beside these: `diverges` (the run holds
    other messages than the file), `not_a_replay` (the id belongs to a run that was opened in another way),
    `no_tool` (the outside does not offer what is called), `read_failed` (what only reads raised).
    """

    line: int
    """Line of the file it begins on, from 1."""
    verdict: ReplayVerdict
    transcript: str | None = None
    """Its id; None: it has none that a run can have."""
    run: str | None = None
    """Id of the run it becomes; where it stopped before it began, nothing may be there."""
    calls: tuple[ReplayedCall, ...] = ()
    """As far as it went."""
    problem: str | None = None
    code: str | None = None
    call: int | None = None
    """Number of the call it stopped at."""
    tool: str | None = None
    key: str | None = None
    """Of the effect that it stopped at."""
    first: int | None = None
    """Number of the call that did the same act."""
    first_key: str | None = None
    message: int | None = None
    """Number of the message that the problem is about."""
    retry_after: float | None = None
    """In how many seconds to try again; None: time alone changes nothing."""


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What became of a file, transcript by transcript in its order."""

    rows: tuple[ReplayedRun, ...]

    @property
    def counts(self) -> dict[ReplayVerdict, int]:
        """How many transcripts had each verdict, all verdicts named."""
        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in ("replayed", "stopped", "unknown", "broken")}

    @property
    def otherwise(self) -> int:
        """How many calls were answered otherwise than the transcripts say."""
        return sum(call.as_recorded is False for row in self.rows for call in row.calls)
