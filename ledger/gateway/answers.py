"""What tools and probes answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool may return in place of a bare result, to say more about what it did."""

    result: Any = None
    external_ref: str | None = None
    """What the outside calls it, e.g. the id of a charge."""
    cost: Mapping[str, Decimal | str | int] | None = None
    """What it cost, by unit, e.g. `{"EUR": "10.00"}`, or tokens of a model call."""


@dataclass(frozen=True, slots=True)
class Happened:
    """A probe's answer: the outside has it."""

    result: Any = None
    external_ref: str | None = None
    cost: Mapping[str, Decimal | str | int] | None = None
    evidence: str | None = None
    """What shows it, in words; None: the result itself."""


@dataclass(frozen=True, slots=True)
class NotHappened:
    """A probe's answer: the outside does not have it.

    It counts once nothing that was sent can still land: after the lease and the tool's `settle_seconds`.
    """

    evidence: str | None = None
