"""The message that a resume leaves in the history, so that a transcript shows its seams."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from ledger.run.contract import Contract
from ledger.values import write_time

_MOST = 16


def seam(contract: Contract, now: datetime, *, take_over: bool = False) -> str:
    """Say in words that the run goes on here: after what gap, by which verdict, and what changed meanwhile.

    `contract` is the one before the resume. The same contract and time give the same text.
    """
    return "\n".join(_lines(contract, now, take_over))


def _lines(contract: Contract, now: datetime, take_over: bool) -> Iterator[str]:
    alive = contract.alive
    gap = _span(now - alive.at)
    how = "was taken over and goes on" if take_over else "goes on"
    yield (
        f"[ledger] The run {how} here as incarnation {contract.incarnation + 1}, {gap} after the last sign "
        f"of life of incarnation {contract.incarnation} ({write_time(alive.at)}). The gate said: continue."
    )
    if contract.suspended is not None:
        by = "" if contract.suspended.by is None else f" by {contract.suspended.by}"
        yield f"It had been suspended{by}: {_flat(contract.suspended.reason)}"
    if contract.held is not None:
        kinds = ", ".join(dict.fromkeys(reason.kind for reason in contract.held.reasons))
        yield f"It had been held, the gate said {contract.held.verdict}: {kinds}"
    changes = contract.meanwhile
    if not changes:
        yield "Nothing else was said to it meanwhile."
        return
    yield "Said to it meanwhile:"
    for change in changes[-_MOST:]:
        by = "" if change.by is None else f" ({change.by})"
        yield f"- at position {change.position}: {change.what}{by}"
    if len(changes) > _MOST:
        yield f"- and {len(changes) - _MOST} before that, in the log of the run"
    yield (
        "The contract in force holds where the history before this message says otherwise; what was seen of "
        "the outside before it is as old as it is."
    )


def _span(gap: timedelta) -> str:
    seconds = max(0, int(gap.total_seconds()))
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= 2 * size:
            return f"{seconds // size} {name}s"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def _flat(text: str) -> str:
    return " ".join(text.split())[:500]
