"""The gate itself: every concept says what it has against going on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ledger.events import Reason
from ledger.gate.above import on_above
from ledger.gate.assumptions import on_assumptions
from ledger.gate.authority import on_approvals, on_authority, on_limits
from ledger.gate.effects import on_effects, on_life
from ledger.gate.freshness import on_freshness, on_idling, on_runtime
from ledger.gate.question import Question
from ledger.gate.reasons import judgement, reason
from ledger.gate.sources import on_sources
from ledger.run.contract import Contract
from ledger.run.decision import Judgement

_LOOKS: tuple[Callable[[Contract, Question], Iterator[Reason]], ...] = (
    on_above,
    on_sources,
    on_assumptions,
    on_authority,
    on_approvals,
    on_limits,
    on_effects,
    on_life,
    on_freshness,
    on_runtime,
    on_idling,
)


def judge(contract: Contract, question: Question) -> Judgement:
    """Say whether a run may go on: all reasons why not, and the verdict that the strictest calls for.

    It is pure and total: the same contract and question give the same answer, and every contract has one.
    """
    closed = contract.closed
    if closed is not None:
        what = f"the run was closed as {closed.outcome}"
        if closed.successor is not None:
            what += f"; {closed.successor!r} succeeds it"
        return judgement([reason("closed", what, position=closed.position, since=closed.at, who=closed.by)])
    return judgement(one for look in _LOOKS for one in look(contract, question))
