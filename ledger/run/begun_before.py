"""What is recorded of an act already: under its own key, and under other keys of the same act."""

from __future__ import annotations

from datetime import datetime

from ledger.commands import ClaimEffect
from ledger.events import EffectUnknown, Event
from ledger.run.asked import Asked, place_in, refused
from ledger.run.decision import Refusal
from ledger.run.effects import find
from ledger.run.known import EffectHistory, is_only_intended
from ledger.values import Recovery

# --- what is recorded under the key -----------------------------------------------------------------


def unsettled(asked: Asked, known: EffectHistory) -> Refusal | None:
    """Say why an effect that was tried before must not be tried now; None where it may."""
    now = asked.given.for_leases
    key = known.key
    if known.status == "disputed":
        return Refusal(
            "outcome_unknown",
            f"reports about {known.tool!r} contradict each other since position {known.position} of "
            f"{known.run!r}: a person has to find out",
            evidence={"key": key, "retry_after": None},
        )
    if known.may_be_sending(now, asked.looked.lease_until):
        return _in_flight(asked, known, now)
    if known.status in ("failed", "did_not_happen"):
        return _exhausted(asked, known)
    if known.status in ("executing", "unknown") and not _remembered(known, asked.command, now):
        return _nobody_knows(asked, known, now)
    if known.status == "pending":
        return _exhausted(asked, known) if known.witnessed else _nobody_knows(asked, known, now)
    return None


def once_more(asked: Asked, known: EffectHistory) -> Refusal | None:
    """Refuse to do once more, under its own key, what was done: that would tell the first one's result.

    The same call made again, of what was a repeat already, is told its result.
    """
    command = asked.command
    if command.repeat_reason is None and command.undone_by is None:
        return None
    if known.repeat_reason is not None or known.undone_by is not None:
        return None
    return refused(
        asked,
        "possible_repeat",
        f"the act was done in this very step, at position {known.position} of {known.run!r}: to be done once "
        "more it needs an occurrence of its own",
        place_in(asked, known),
        key=known.key,
        run=known.run,
        status=known.status,
    )


def _in_flight(asked: Asked, known: EffectHistory, now: datetime) -> Refusal:
    end = max(filter(None, (known.lease_until, asked.looked.lease_until)))
    return Refusal(
        "effect_in_flight",
        f"{known.worker} has been executing {known.tool!r} since {known.at.isoformat()}, and holds its lease "
        f"until {end.isoformat()}",
        evidence={
            "key": known.key,
            "run": known.started_in,
            "position": known.position,
            "retry_after": (end - now).total_seconds(),
            "worker": known.worker,
        },
    )


def _exhausted(asked: Asked, known: EffectHistory) -> Refusal | None:
    """A declared number of attempts is all there are; where none ever was each caller may try once more."""
    declared = asked.command.max_attempts
    most = known.max_attempts if declared == 1 else declared
    if most == 1 or known.attempt < most:
        return None
    said = known.error
    cause = None if said is None else f"{said.type}: {said.message}"
    last = "" if cause is None else f": {cause}"
    return Refusal(
        "effect_failed",
        f"{known.tool!r} failed {known.attempt} times, and {most} attempts were declared{last}",
        evidence={"key": known.key, "cause": cause, "attempts": known.attempt},
    )


def _remembered(known: EffectHistory, command: ClaimEffect, now: datetime) -> bool:
    """Tell whether the outside still knows the key, so that sending it again does nothing twice."""
    return command.recovery is Recovery.IDEMPOTENT and known.is_remembered(now, command.dedupes_for)


def _nobody_knows(asked: Asked, known: EffectHistory, now: datetime) -> Refusal:
    wait = None
    if asked.command.probed or Recovery.QUERYABLE in (known.recovery, asked.command.recovery):
        wait = max(0.0, (known.may_land_until(asked.looked.lease_until) - now).total_seconds())
    return Refusal(
        "outcome_unknown",
        f"nobody knows whether attempt {known.attempt} at {known.tool!r} of {known.at.isoformat()} happened: "
        + ("ask the outside" if wait is not None else "a person has to find out"),
        evidence={"key": known.key, "retry_after": wait, "run": known.run, "position": known.position},
        events=lapse(known, asked),
    )


def lapse(known: EffectHistory, asked: Asked) -> tuple[Event, ...]:
    """State that the last attempt's lease lapsed; until somebody acts on it that is only derived."""
    if known.status != "executing" or find(asked.contract, known.key) is None:
        return ()
    return (EffectUnknown(attempt=known.attempt, because="lease_lapsed", key=known.key),)


# --- the same act under another key -----------------------------------------------------------------


def repeated(asked: Asked) -> Refusal | None:
    command, undoing = asked.command, asked.looked.undoing
    if command.undone_by is not None and (undoing is None or undoing.status != "succeeded"):
        reason = f"no effect {command.undone_by!r} was done, so nothing is known to be undone by it"
        return refused(asked, "not_open", reason, kind="effect", id=command.undone_by)
    if command.repeat_reason is not None:
        return None
    first = next((other for other in asked.looked.same_act if _stands_against(other, asked)), None)
    if first is None:
        return None
    where = f"at position {first.position} of {first.run!r}"
    what = "was done" if first.status == "succeeded" else f"is {first.status}"
    step = "" if first.step is None else f" in step {first.step!r}"
    return refused(
        asked,
        "possible_repeat",
        f"the same act {what}{step} {where}: say repeat=True and why, or give it an occurrence of its own",
        place_in(asked, first),
        key=first.key,
        run=first.run,
        status=first.status,
    )


def _waits_before(other: EffectHistory, asked: Asked) -> bool:
    """Tell whether an act of which nothing is under way waits here, since before this one did.

    One that was denied waits no more. In another run of the lineage it may wait for ever: whichever of the
    two is begun first makes the other a repeat.
    """
    contract, known = asked.contract, asked.looked.effect
    if find(contract, other.key) is None:
        return False
    if known is None or find(contract, known.key) is None:
        return True
    # Asked about anew it stands at a later place, but waits since it was intended first.
    return (other.intended_at, other.intended_position) < (known.intended_at, known.intended_position)


def _stands_against(other: EffectHistory, asked: Asked) -> bool:
    """Tell whether the same act under another key makes this one a repeat.

    What was undone does not, but what followed the undoing does, and what is still under way was not undone.
    """
    command, undoing = asked.command, asked.looked.undoing
    if other.status in ("failed", "did_not_happen") or other.compensated_by is not None:
        return False
    if command.occurrence is not None and other.occurrence != command.occurrence:
        return False
    if is_only_intended(other):
        return _waits_before(other, asked)
    if undoing is None or undoing.act == asked.names.act or other.undone_by == undoing.key:
        return True
    if other.may_be_sending(asked.given.for_leases):
        return True
    if other.intended_in == undoing.run:
        return other.intended_position > undoing.position
    return other.intended_at > undoing.at
