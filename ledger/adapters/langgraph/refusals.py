"""What a model is told where its call was not done, in words that it can act on."""

from __future__ import annotations

from ledger.canonical import load_text
from ledger.errors import (
    ApprovalDenied,
    AuthorityExceeded,
    ConstraintViolated,
    ContractChanged,
    EffectFailed,
    EffectInFlight,
    EffectsDisabled,
    InvalidInput,
    KeyConflict,
    LeaseLost,
    LedgerError,
    OffPlan,
    OutcomeUnknown,
    PossibleRepeat,
    ResultNotKept,
    RunIsHeld,
    SecretFound,
    Superseded,
)
from ledger.run.history import EffectHistory

TOLD: tuple[type[LedgerError], ...] = (
    ApprovalDenied,
    AuthorityExceeded,
    ConstraintViolated,
    ContractChanged,
    EffectFailed,
    EffectsDisabled,
    InvalidInput,
    KeyConflict,
    OffPlan,
    PossibleRepeat,
    ResultNotKept,
    SecretFound,
)
"""What a model can act on. The rest needs somebody else, or another call of the program."""


STOPS: tuple[type[LedgerError], ...] = (EffectInFlight, LeaseLost, OutcomeUnknown, RunIsHeld, Superseded)
"""What stops a graph until somebody else, or time, has settled it: nothing else is done in its place."""


def told(error: LedgerError, first: EffectHistory | None = None) -> str | None:
    """Say to a model why its call was not done; None: it is nothing that a model could mend.

    Args:
        error: one of `TOLD`.
        first: of a repeat, what is known of the act that was done.
    """
    if isinstance(error, InvalidInput):
        return f"Not called: {error}" if error.path.startswith("args") else None
    if isinstance(error, EffectFailed):
        return f"It failed, and nothing was done: {error.cause}"
    if isinstance(error, ResultNotKept):
        return "It was done before, and must not be done again. What it returned was not kept."
    if isinstance(error, PossibleRepeat):
        return _done_before(first)
    return f"Refused, nothing was done ({error.code}): {error}"


def _done_before(first: EffectHistory | None) -> str:
    done = first is not None and first.status == "succeeded"
    came_to = _content(first) if done else None
    what = "The same was done before" if done else "The same was begun before"
    result = "" if came_to is None else f", and came to: {came_to}"
    return (
        f"Not done again (possible_repeat). {what}{result}\n"
        "Go on with that. Only a person can let it be done once more."
    )


def _content(first: EffectHistory | None) -> str | None:
    text = None if first is None or first.result is None else first.result.json_text
    if text is None:
        return None
    kept = load_text(text)
    content = kept.get("content") if isinstance(kept, dict) else None
    return content if isinstance(content, str) else None
