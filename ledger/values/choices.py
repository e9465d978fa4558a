"""Closed choices."""

from __future__ import annotations

from enum import StrEnum


class Recovery(StrEnum):
    """What a tool declares about an outcome that nobody knows."""

    READ_ONLY = "read_only"
    IDEMPOTENT = "idempotent"
    QUERYABLE = "queryable"
    TRANSACTIONAL = "transactional"
    OUTBOX = "outbox"
    AT_MOST_ONCE = "at_most_once"


class Verdict(StrEnum):
    """What the resume gate says, from the mildest to the strictest."""

    CONTINUE = "continue"
    REPLAN = "replan"
    RECONCILE = "reconcile"
    REAPPROVE = "reapprove"
    RESTART = "restart"
    REFUSE = "refuse"


class Ending(StrEnum):
    """How a run ended."""

    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"
    RESTARTED = "restarted"


class Change(StrEnum):
    """How an acceptance differs from the one it supersedes."""

    TIGHTENED = "tightened"
    RELAXED = "relaxed"
    REWORDED = "reworded"
