"""How a projection goes on that a record has stopped, or that has set one aside."""

from __future__ import annotations

from ledger.errors import IntegrityError


def is_altered(error: str) -> bool:
    """Tell by the words that were kept of an error whether a record is not what was written."""
    return error.partition(":")[0] in {one.__name__ for one in (IntegrityError, *_below(IntegrityError))}


def when_stopped(projection: str, error: str) -> str:
    """Say what is to be done about a projection that an error has stopped."""
    run = f"intent-ledger project run {projection}"
    aside = f"; or set its run aside: {run} --park" if is_altered(error) else ""
    return f"{_mended(error)}, then: {run}{aside}"


def when_parked(projection: str, error: str) -> str:
    """Say what is to be done about a run that was set aside for an error."""
    return f"{_mended(error)}, then: intent-ledger project resume {projection}"


def _mended(error: str) -> str:
    if is_altered(error):
        return "bring it back from a backup or an export until intent-ledger verify finds nothing"
    return "mend it"


def _below(kind: type) -> set[type]:
    found: set[type] = set(kind.__subclasses__())
    return found.union(*map(_below, found))
