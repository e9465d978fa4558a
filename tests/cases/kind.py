"""What a kind of case is, and how the table of kinds states the verdict on one.

A kind is *covered* where tests show it; it *cannot occur* where the construction leaves no room for it; it
*comes with* a part that is not there yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Part = Literal["seals"]
Verdict = Literal["covered", "cannot occur", "comes with"]


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to break, and the verdict on it."""

    cases: tuple[str, ...]
    what: str
    tests: tuple[str, ...] = ()
    """The tests that show it; beside `because`, those that hold the construction up."""
    because: str | None = None
    """Why it cannot occur."""
    part: Part | None = None
    """What it comes with."""

    @property
    def verdict(self) -> Verdict:
        """What became of it here."""
        if self.because is not None:
            return "cannot occur"
        return "covered" if self.tests else "comes with"


def covered(cases: str, what: str, *tests: str) -> Kind:
    """Name the tests, below `tests/`, that show it. `cases` are their numbers."""
    return Kind(_ids(cases), what, tuple(f"tests/{test}" for test in tests))


def cannot_occur(cases: str, what: str, because: str, *tests: str) -> Kind:
    """Say why it cannot occur, and what holds that up."""
    return Kind(_ids(cases), what, tuple(f"tests/{test}" for test in tests), because)


def comes_with(cases: str, what: str, part: Part) -> Kind:
    """Name the part that it belongs to."""
    return Kind(_ids(cases), what, part=part)


def _ids(cases: str) -> tuple[str, ...]:
    return tuple(f"case-{number}" for number in cases.split())
