"""The protocol by which an effect is performed: claim, call, settle; and where nobody knows, ask.

Intent and start are one durable append before the call, the outcome is one after it. Whatever stops in
between leaves the effect executing, which its lease turns into unknown: it is never begun again by itself
unless the outside dedupes on its key, or says that it did not happen.

Written once, as a generator of steps: what performs them decides how to wait.
"""

from __future__ import annotations

from typing import Any

from ledger import commands as c
from ledger import events as e
from ledger.errors import (
    EffectFailed,
    EffectInFlight,
    EffectsDisabled,
    LeaseLost,
    OutcomeUnknown,
    Refused,
    ResultNotKept,
)
from ledger.gateway.answers import Outcome
from ledger.gateway.asking import Answer, ask, find_out, known_now, said_by
from ledger.gateway.steps import (
    Act,
    Again,
    Ask,
    Attempt,
    Claim,
    Execute,
    Look,
    MayLook,
    Moment,
    NotBegun,
    Observed,
    Raised,
    Read,
    Report,
    Resend,
    Returned,
    See,
    Step,
    Steps,
    Wait,
    Weigh,
)
from ledger.gateway.tools import Tool
from ledger.run.history import SETTLE_SECONDS, EffectHistory
from ledger.values import ErrorSaid, Payload, Recovery
from ledger.values.faults import a

__all__ = [
    "Act",
    "Again",
    "Answer",
    "Ask",
    "Attempt",
    "Claim",
    "Execute",
    "Look",
    "MayLook",
    "Moment",
    "NotBegun",
    "Observed",
    "Raised",
    "Read",
    "Report",
    "Resend",
    "Returned",
    "See",
    "Step",
    "Steps",
    "Wait",
    "Weigh",
    "ask",
    "find_out",
    "observe",
    "perform",
    "read",
    "recorded",
    "said_by",
]


# --- acts on the outside --------------------------------------------------------------------------


def perform(act: Act) -> Steps[Any]:
    """Perform an act, or return what was recorded when it was done.

    Raises:
        EffectFailed: the outside refused; nothing happened.
        OutcomeUnknown: nobody knows whether it happened.
        EffectInFlight: another worker is executing it, beyond the act's patience.
        LeaseLost: the lease ended before the call was made, and nothing happened; or it ended meanwhile, and
            what this attempt did contradicts what is recorded since: the error has its `result`.
        ResultNotKept: it was done, and its result is no JSON.

    And whatever refuses a claim.
    """
    waiting = _Patience(act.patience)
    was_called = False
    while True:
        try:
            attempt: Attempt | None = yield Claim()
        except EffectInFlight as busy:
            if not (yield from waiting.for_worker(busy)):
                raise
            continue
        except OutcomeUnknown as unknown:
            answer = yield from _found_out(act)
            if (answer is not None and answer.settles) or (yield from waiting.to_land(unknown)):
                continue
            if answer is None:
                raise
            raise OutcomeUnknown(f"{unknown}; {answer.said}", **unknown.data) from None
        if attempt is None:
            return (yield from recorded(act.key))
        if was_called and act.once:
            raise (yield from _not_begun(act, attempt, "a block is run once, by its caller"))
        was_called = True
        end: Returned | Raised | NotBegun = yield Execute(attempt)
        if isinstance(end, Returned):
            return (yield from _done(act, attempt, end.value))
        if isinstance(end, NotBegun):
            raise (yield from _not_begun(act, attempt, "the lease ended before the call was made"))
        yield Wait((yield from _pause_after(act, attempt, end.error)))


def _done(act: Act, attempt: Attempt, value: Any) -> Steps[Any]:
    told = value if isinstance(value, Outcome) else Outcome(value)
    fields = {"attempt": attempt.number, "worker": act.claim.worker}
    fields |= {"external_ref": told.external_ref, "cost": told.cost}
    stated = yield Report(c.ReportSuccess, fields, told.result)
    result = None if told.result is None else (yield Again(told.result))
    if any(isinstance(record.event, e.EffectDisputed) for record in stated.records):
        raise LeaseLost(
            f"attempt {attempt.number} of {act.tool.name!r} was done, but its lease had ended and something "
            "else is recorded since: a person has to look, and what it did must not be taken for the outcome",
            key=act.key,
            result=result,
        )
    return result


def _not_begun(act: Act, attempt: Attempt, words: str) -> Steps[LeaseLost]:
    error = ErrorSaid(message=words, type="LeaseLost")
    fields = {"attempt": attempt.number, "worker": act.claim.worker, "error": error}
    yield Report(c.ReportFailure, fields)
    return LeaseLost(f"{act.tool.name!r}: {words}; nothing was sent", key=act.key)


def _pause_after(act: Act, attempt: Attempt, error: Exception) -> Steps[float]:
    """Settle what raised, as far as it is known; return after how long to go on, or raise."""
    said = said_by(error, act.clean)
    cause = f"{said.type}: {said.message}"
    fields: dict[str, Any] = {"attempt": attempt.number, "error": said}
    found: str | None = None
    asked = ""
    if isinstance(error, act.tool.definite_errors):
        stated = yield Report(c.ReportFailure, {**fields, "worker": act.claim.worker})
        # Sent again, a refusal says nothing of what was sent first: then it is still not known.
        failed = any(isinstance(record.event, e.EffectFailed) for record in stated.records)
        if failed or (stated.repeated and (yield from known_now()) == "did_not_happen"):
            found = "did_not_happen"
    else:
        yield Report(c.ReportUnknown, {**fields, "because": "raised"})
    if found is None:
        answer = yield from _found_out(act)
        if answer is not None:
            found, asked = answer.found, f"; {answer.said}"
    if found == "happened":
        return 0.0
    retry = act.tool.retry
    again = found == "did_not_happen" or act.tool.recovery is Recovery.IDEMPOTENT
    left = retry is not None and not act.once and attempt.number < retry.max_attempts
    if again and left and retry is not None and isinstance(error, retry.on):
        return retry.pause(attempt.number)
    if found == "did_not_happen":
        raise EffectFailed(
            f"{act.tool.name!r} failed, nothing happened: {cause}", key=act.key, cause=cause
        ) from error
    raise OutcomeUnknown(
        f"nobody knows whether {act.tool.name!r} happened: it raised {cause}{asked}",
        key=act.key,
        retry_after=_retry_after(act.tool),
    ) from error


def _retry_after(tool: Tool) -> float | None:
    if tool.recovery is Recovery.IDEMPOTENT:
        return 0.0
    if tool.recovery is not Recovery.QUERYABLE:
        return None
    return float(SETTLE_SECONDS if tool.settle_seconds is None else tool.settle_seconds)


def recorded(key: str) -> Steps[Any]:
    """Return the result that was recorded for an act that was done."""
    history: EffectHistory | None = yield Look()
    if history is None or history.status != "succeeded":
        raise OutcomeUnknown("reports about this act contradict each other", key=key, retry_after=None)
    payload = history.result
    if payload is None:
        return None
    if payload.type is not None:
        raise ResultNotKept(
            f"{history.tool!r} was done, and returned {a(payload.type)}, no JSON: only a digest is kept",
            key=key,
            type=payload.type,
            digest=payload.digest,
        )
    return (yield Read(payload))


def _found_out(act: Act) -> Steps[Answer | None]:
    """Ask the probe and record its answer; None where there is none."""
    return None if act.tool.probe is None else (yield from ask(act.clean))


class _Patience:
    """How long to wait for others, looking ever more rarely."""

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._pause = 0.02

    def for_worker(self, busy: EffectInFlight) -> Steps[bool]:
        """Wait a little for another worker; False where patience is at its end."""
        if self._left <= 0:
            return False
        pause = min(self._pause, self._left)
        self._pause = min(self._pause * 1.5, 1.0)
        return (yield from self._wait(pause))

    def to_land(self, unknown: OutcomeUnknown) -> Steps[bool]:
        """Wait until nothing that was sent can still land; False where that is beyond patience."""
        pause = unknown.data.get("retry_after")
        if pause is None or not 0 < pause <= self._left:
            return False
        return (yield from self._wait(pause))

    def _wait(self, seconds: float) -> Steps[bool]:
        self._left -= seconds
        yield Wait(seconds)
        return True


# --- reading --------------------------------------------------------------------------------------


def read(act: Act) -> Steps[Any]:
    """Ask something of the outside that changes nothing, or return what it said while that is fresh.

    One append, after the call. What it raises is raised: nothing happened.

    Raises:
        EffectsDisabled: a fork performs nothing, and nothing fresh is recorded.
        ConstraintViolated: a rule that names the tool forbids it, and nothing fresh is recorded.
        ResultNotKept: it was asked before, and the answer is no JSON.
    """
    seen: Payload | None = yield See()
    if seen is not None:
        if seen.type is not None:
            raise ResultNotKept(
                f"{act.tool.name!r} answered with {a(seen.type)}, which is no JSON: only a digest is kept",
                key=act.key,
                type=seen.type,
                digest=seen.digest,
            )
        return (yield Read(seen))
    if act.is_fork:
        raise EffectsDisabled(
            f"a fork performs nothing, and no answer of {act.tool.name!r} is recorded and fresh",
            rule="effects_disabled",
            position=None,
            evidence={"tool": act.tool.name},
        )
    end = yield from observe(act)
    if isinstance(end, Raised):
        raise end.error
    return None if end.result is None else (yield Again(end.result))


def observe(act: Act) -> Steps[Observed | Raised]:
    """Ask something of the outside that changes nothing, and record what it answers.

    Where it raised nothing is recorded; so it is told, too, where a rule that names the tool forbids it or
    wants a person to approve it.
    """
    try:
        yield MayLook()
    except Refused as refusal:
        return Raised(refusal)
    end: Returned | Raised | NotBegun = yield Execute(Attempt(0, None))
    assert not isinstance(end, NotBegun), "what needs no lease loses none"
    if isinstance(end, Raised):
        return end
    told = end.value if isinstance(end.value, Outcome) else Outcome(end.value)
    claim = act.claim
    fields: dict[str, Any] = {
        "cost": told.cost,
        "fresh_for": act.tool.fresh_for,
        "occurrence": claim.occurrence,
        "rests_on": claim.rests_on,
        "runtime": act.runtime,
        "step": claim.step,
        "tool": act.tool.name,
    }
    stated = yield Report(c.RecordObservation, fields, told.result, "value")
    return Observed(told.result, stated)
