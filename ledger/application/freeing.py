"""Freeing the contents of saved states that were given up."""

from __future__ import annotations

from dataclasses import dataclass

from ledger.application.expiring import Progress

__all__ = ["Freed", "Progress"]


@dataclass(slots=True)
class Freed:
    """What was given up and freed, or would be."""

    dry_run: bool = False
    states: int = 0
    """States that were given up."""
    contents: int = 0
    """Contents that were freed: of states and of parts."""
    bytes: int = 0
    """Bytes of these."""
    events: int = 0
    """Events that were written to say so."""
