"""What an outside does with a request that would change it, as a test orders it beforehand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Manner:
    """How one request is treated; without any field it is done and answered.

    `status` is answered instead of the outside's own answer: an HTTP status, or a reply code of SMTP.
    `holds` keeps the request until `Outside.release`, before it is done or between that and its answer.
    `loses` closes the connection in place of an answer.
    """

    does: bool = True
    status: int | None = None
    holds: Literal["", "before", "after"] = ""
    loses: bool = False

    def __post_init__(self) -> None:
        if not self.does and self.status is None and not self.loses:
            raise ValueError("what is not done has no answer of its own: say `status` or `loses`")


LOST = Manner(loses=True)
"""Done, and the acknowledgement is lost."""
HELD = Manner(holds="after")
"""Done, and not acknowledged before the release."""
LATE = Manner(holds="before")
"""Arrived, and not done before the release, also when the caller is gone by then."""
UNHEARD = Manner(does=False, loses=True)
"""Not done, and the caller cannot know: it sees what it sees of one that is lost."""


def refused(status: int = 422) -> Manner:
    """Return the manner of one that is answered with this status and not done."""
    return Manner(does=False, status=status)


def done_but_answered(status: int = 500) -> Manner:
    """Return the manner of one that is done, although the status sounds as if it were not."""
    return Manner(status=status)
