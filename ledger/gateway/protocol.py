"""The protocol by which an effect is performed: claim, call, settle; and where nobody knows, ask.

Intent and start are one durable append before the call, the outcome is one after it. Whatever stops in
between leaves the effect executing, which its lease turns into unknown: it is never begun again by itself
unless the outside dedupes on its key, or says that it did not happen.

Written once, as a generator of steps: what performs them decides how to wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from ledger import commands as c
from ledger import events as e
from ledger.errors import (
    EffectFailed,
    EffectInFlight,
    EffectsDisabled,
    LeaseLost,
    OutcomeUnknown,
    ResultNotKept,
)
from ledger.gateway.answers import Happened, NotHappened, Outcome
from ledger.gateway.tools import Tool
from ledger.run.history import SETTLE_SECONDS, EffectHistory
from ledger.values import ErrorSaid, Payload, Recovery
from ledger.values.faults import a

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Act:
    """What is to be performed, by its names within the lineage."""

    tool: Tool
    key: str
    args: str
    """Canonical JSON of the arguments."""
    values: Any
    """What the tool is called with."""
    claim: c.ClaimEffect
    is_fork: bool = False
    once: bool = False
    """The body runs at most once here, whatever the tool's retry says."""
    patience: float = 0.0
    """How many seconds to wait for another worker, or until nothing that was sent can still land."""
    runtime: Any = None
    """The model and its settings, where a model is asked."""
    with_secret: bool = False
    """The arguments hold a secret, so that the claim will be refused."""
    clean: Callable[[str], str] = str
    """Replaces the secrets in what is told of it."""


# --- steps ----------------------------------------------------------------------------------------


class Claim(NamedTuple):
    """Say the claim; answered with an Attempt, or None where the act was done. Raises what a claim meets."""


class Attempt(NamedTuple):
    """A claimed attempt."""

    number: int
    lease_until: datetime | None


class Execute(NamedTuple):
    """Run the tool's function; answered with Returned, Raised or NotBegun."""

    attempt: Attempt


class Returned(NamedTuple):
    """The function returned."""

    value: Any


class Raised(NamedTuple):
    """The function, or the probe, raised."""

    error: Exception


class NotBegun(NamedTuple):
    """The lease ended before the function was called."""


class Ask(NamedTuple):
    """Ask the probe; answered with what it answers, or Raised."""


class Report(NamedTuple):
    """Say a report until it is stored; answered with what it came to: a `Stated`.

    `result` is packed, with secrets redacted, and goes with it under this name where there is one.
    """

    kind: type[c.Command]
    fields: dict[str, Any]
    result: Any = None
    name: str = "result"


class Again(NamedTuple):
    """Read a result that was just reported as a repeat reads it; where not all of it is kept, as it is."""

    result: Any


class Look(NamedTuple):
    """Read the history of the effect; answered with EffectHistory or None."""


class See(NamedTuple):
    """Read the latest observation of the act's key that is fresh still; answered with a Payload or None."""


class Read(NamedTuple):
    """Read the value of a payload."""

    payload: Payload


class Wait(NamedTuple):
    """Wait so many seconds."""

    seconds: float


Step = Claim | Execute | Ask | Report | Again | Look | See | Read | Wait
Steps = Generator[Step, Any, T]


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
        if failed or (stated.repeated and (yield from _known()) == "did_not_happen"):
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


# --- asking the outside ---------------------------------------------------------------------------


class Answer(NamedTuple):
    """What asking the outside came to."""

    found: str
    """`happened`, `did_not_happen` or `unknown`: also where the outside does not have it yet and what was
    sent may still land."""
    said: str
    """What the probe said, in words."""

    @property
    def settles(self) -> bool:
        """Tell whether what became of the act is known now."""
        return self.found != "unknown"


def _found_out(act: Act) -> Steps[Answer | None]:
    """Ask the outside and record its answer; None where it cannot be asked."""
    return None if act.tool.probe is None else (yield from ask(act.clean))


def ask(clean: Callable[[str], str] = str) -> Steps[Answer]:
    """Ask the probe, record what it says as evidence, and return what is known then."""
    answer: Any = yield Ask()
    fields: dict[str, Any] = {"method": "probe", "found": "unknown"}
    result = None
    if isinstance(answer, Happened):
        words = _words(answer.evidence, clean)
        said = f"the probe found it: {words}" if words else "the probe found it"
        fields |= {"found": "happened", "evidence": words or said}
        fields |= {"external_ref": answer.external_ref, "cost": answer.cost}
        result = answer.result
    elif isinstance(answer, NotHappened):
        words = _words(answer.evidence, clean)
        said = f"the probe did not find it: {words}" if words else "the probe did not find it"
        fields |= {"found": "did_not_happen", "evidence": words or said}
    else:
        said = fields["evidence"] = _without_answer(answer, clean)
    stated = yield Report(c.ReconcileEffect, fields, result)
    events = [record.event for record in stated.records]
    if any(isinstance(event, e.EffectDisputed) for event in events):
        return Answer("unknown", said)  # it contradicts what was settled
    for event in events:
        if isinstance(event, e.EffectReconciled):
            return Answer(event.found, said)
    return Answer((yield from _known()), said)


def _without_answer(answer: object, clean: Callable[[str], str]) -> str:
    """Say how a probe did not answer."""
    if isinstance(answer, Raised):
        error = said_by(answer.error, clean)
        return f"the probe raised {error.type}: {error.message}"
    if answer is None:
        return "the probe could not tell"
    name = type(answer).__name__
    return f"the probe answered with {a(name)}: it answers Happened, NotHappened or None"


def _known() -> Steps[str]:
    """Read what is known of the effect."""
    history: EffectHistory | None = yield Look()
    return _KNOWN.get("" if history is None else history.status, "unknown")


_KNOWN = {"succeeded": "happened", "failed": "did_not_happen", "did_not_happen": "did_not_happen"}


def said_by(error: BaseException, clean: Callable[[str], str] = str) -> ErrorSaid:
    """Put an exception into words that an event can hold."""
    kind = "".join(char if "!" <= char <= "~" else "_" for char in type(error).__name__)
    return ErrorSaid(message=_words(error, clean), type=kind[:200] or "unnamed")


def _words(said: object, clean: Callable[[str], str]) -> str:
    """Return what something says of itself, as an event can hold it; empty where it says nothing."""
    try:
        words = "" if said is None else str(said)
    except Exception:  # noqa: BLE001  whatever its class raises
        words = "it cannot say what"
    words = clean(words.encode("utf-8", "backslashreplace").decode())
    if len(words) > _LONGEST_WORDS:
        words = f"{words[:_LONGEST_WORDS]}… [{len(words)} characters in all]"
    return words if words.strip() else ""


_LONGEST_WORDS = 4096


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
    end: Returned | Raised | NotBegun = yield Execute(Attempt(0, None))
    assert not isinstance(end, NotBegun), "what needs no lease loses none"
    if isinstance(end, Raised):
        raise end.error
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
    yield Report(c.RecordObservation, fields, told.result, "value")
    return None if told.result is None else (yield Again(told.result))
