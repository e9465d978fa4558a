"""What a run knows of when its sources were last read outside: an observation for each of them."""

from __future__ import annotations

from datetime import datetime

from ledger.run.contract import Contract, Observation
from ledger.run.keys import check_key
from ledger.run.observations import find
from ledger.run.sources import Gone, SourceState


def check_tool(source: str) -> str:
    """Return the name of what reads a source, as observations have it: `source.KIND`."""
    return f"source.{source.partition(':')[0]}"


def last_check(contract: Contract, source: str) -> Observation | None:
    """Find when a source was last read for this run; None where it never was, or long ago."""
    return find(contract, check_key(source))


def is_due(contract: Contract, source: str, check_every: int | None, now: datetime) -> bool:
    """Tell whether a source is to be read again: each time where `check_every` seconds is None.

    A check from the future counts for nothing, as after a clock jumped back.
    """
    last = last_check(contract, source)
    if check_every is None or last is None or last.invalidated is not None or last.observed_at is None:
        return True
    return not 0 <= (now - last.observed_at).total_seconds() < check_every


def by_its_name(state: SourceState, gone: Gone) -> bool:
    """Tell whether a constraint was withdrawn by its name, rather than left out of a revision.

    Where one cannot tell any more, because the revision was published again later, it counts as by its name.
    """
    return gone.position not in state.revisions.values()
