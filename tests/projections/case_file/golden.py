"""What a golden answer is: a question, what it is asked about, and every row it has to answer with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from ledger.values import write_time
from tests.projections.case_file.pen import when

END = when("03-31 12:00")
"""When the case file is looked at."""


def at(moment: str) -> str:
    """Write a moment of the story as answers do."""
    return write_time(when(moment))


class HashOf(NamedTuple):
    """Stands for the hash of a record."""

    stream: str
    position: int


@dataclass(frozen=True)
class Golden:
    """One question about the case file, with the answer that was worked out from the story by hand.

    Rows are complete; of each the columns are given that the question turns on. Their order is that of the
    answer.
    """

    question: str
    why: str
    columns: str
    rows: Sequence[tuple[Any, ...]]
    given: dict[str, Any] = field(default_factory=dict)
    as_of: datetime | None = None
    now: datetime = END

    @property
    def name(self) -> str:
        """Name it in a list of tests."""
        about = ",".join(f"{name}={str(value)[:12]}" for name, value in self.given.items())
        return f"{self.question}({about})"
