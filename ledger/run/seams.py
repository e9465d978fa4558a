"""The message that a resume leaves in the history, so that a transcript shows its seams."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from ledger.run.contract import Contract
from ledger.run.markdown import by, quoted, words
from ledger.values import write_time

_MOST = 16
_WORDS = 500
"""Characters of the reason of a suspension that are told."""


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
        stop = contract.suspended
        yield f"It had been suspended{by(stop.asked_by, stop.said_by)}: {quoted(stop.reason[:_WORDS])}"
    if contract.held is not None:
        kinds = ", ".join(dict.fromkeys(reason.kind for reason in contract.held.reasons))
        yield f"It had been held, the gate said {contract.held.verdict}: {kinds}"
    changes = contract.meanwhile
    if not changes:
        yield "Nothing else was said to it meanwhile."
        return
    yield "Said to it meanwhile:"
    for change in changes[-_MOST:]:
        yield f"- at position {change.position}{by(change.by, change.said_by)}: {words(change.what)}"
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
