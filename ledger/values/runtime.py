"""What a run is opened with: the fingerprint of its runtime, and its limits."""

from __future__ import annotations

from ledger.values.base import Value
from ledger.values.ids import Id
from ledger.values.numbers import AtLeastOne


class Runtime(Value):
    """The fingerprint of what runs the agent: names or digests, each optional.

    The gate compares field by field what a caller says now with what the run was opened or adopted with.
    """

    config: Id | None = None
    context_policy: Id | None = None
    model: Id | None = None
    prompt: Id | None = None
    runtime: Id | None = None
    sampling: Id | None = None
    tool_schema: Id | None = None


class Limits(Value):
    """Bounds given when a run opens; what reaches one suspends the run and says which."""

    effects: AtLeastOne | None = None
    """Effects intended."""
    refusals_in_a_row: AtLeastOne | None = None
    """Refused effects without one that started in between."""
    steps: AtLeastOne | None = None
    """Cursor moves."""
    wall_seconds: AtLeastOne | None = None
    """Seconds since the run was opened."""
