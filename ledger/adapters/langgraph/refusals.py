"""What a model is told where its call was not done, in words that it can act on."""

from __future__ import annotations

from ledger.adapters.langgraph.earlier import Known
from ledger.adapters.langgraph.results import Codec, in_words
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
from ledger.run.known import is_only_intended

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


def told(error: LedgerError, first: Known | None, codec: Codec) -> str | None:
    """Say to a model why its call was not done; None: it is nothing that a model could mend.

    Args:
        error: one of `TOLD`.
        first: of a repeat, what is known of the act that was done.
        codec: reads what is more than a message.
    """
    if isinstance(error, InvalidInput):
        return f"Not called: {error}" if error.path.startswith("args") else None
    if isinstance(error, EffectFailed):
        return f"It failed, and nothing was done: {error.cause}"
    if isinstance(error, ResultNotKept):
        return "It was done before, and must not be done again. What it returned was not kept."
    if isinstance(error, PossibleRepeat):
        return _done_before(first, codec)
    return f"Refused, nothing was done ({error.code}): {error}"


def _done_before(first: Known | None, codec: Codec) -> str:
    if first is not None and is_only_intended(first.history):
        return (
            "Not done (possible_repeat). The same was asked for before, was not begun, and waits for a "
            "person to answer.\nDo not ask for it in another way."
        )
    done = first is not None and first.history.status == "succeeded"
    came_to = None if first is None else in_words(first.result, codec)
    what = "The same was done before" if done else "The same was begun before"
    result = "" if came_to is None else f", and came to: {came_to}"
    return (
        f"Not done again (possible_repeat). {what}{result}\n"
        "Go on with that. Only a person can let it be done once more."
    )
