"""What stands above a run has against going on: nothing would begin in a part of what was stopped."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.events import Reason
from ledger.gate.question import Question
from ledger.gate.reasons import reason
from ledger.run.above import stop_told, stops_above
from ledger.run.contract import Contract


def on_above(contract: Contract, question: Question) -> Iterator[Reason]:
    """Yield the runs that stop what would begin in this one.

    None of these events stands in this run, so no position is named but in words.
    """
    for one in stops_above(contract, question.above):
        if one.closed is not None:
            yield reason("ended_above", stop_told(one), since=one.closed.at, who=one.closed.by)
        elif one.suspended is not None:
            yield reason(
                "suspended_above", stop_told(one), since=one.suspended.at, who=one.suspended.asked_by
            )
