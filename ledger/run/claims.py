"""Claims: whether an act may begin now, and as which attempt.

Looked at in this order: what is recorded under the key already, the plan, the authority, the sources of the
constraints, and whether the same act was done under another key. Nothing is read on the way of a claim that
is new: the append itself fails where its key was claimed or its act intended before, and then it is decided
again on what the store holds of both.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from ledger.codec import act_digest
from ledger.commands import ClaimEffect
from ledger.events import EffectIntended, EffectRefused, EffectStarted, EffectUnknown, Event
from ledger.run.authority import Covered, covering, spend
from ledger.run.constraints import fallen_at_source
from ledger.run.contract import Contract, Grant
from ledger.run.decision import Admitted, Decision, Given, Looked, Refusal, stated
from ledger.run.effects import find
from ledger.run.keys import act_key, effect_key, given_key
from ledger.run.known import EffectHistory, after
from ledger.run.outcomes import stands_in
from ledger.values import FrozenMap, Recovery

_NOT_LOOKED = Looked()


class Names(NamedTuple):
    """The names of an act within its lineage."""

    key: str
    act: str


def names_of(contract: Contract, command: ClaimEffect) -> Names:
    """Compute key and act of what is claimed."""
    given, step, occurrence = command.given, command.step, command.occurrence
    return _names(contract.tenant, contract.root, command.tool, command.args, given, step, occurrence)


@lru_cache(maxsize=8)  # who claims computes them, and so does each try at deciding
def _names(
    tenant: str,
    root: str,
    tool: str,
    args: str,
    given: str | None,
    step: str | None,
    occurrence: str | None,
) -> Names:
    act = act_key(tenant, root, tool, args)
    if given is not None:
        return Names(given_key(tenant, root, given), act)
    return Names(effect_key(tenant, root, step, tool, occurrence, args), act)


def to_look_up(contract: Contract, command: ClaimEffect) -> bool:
    """Tell whether a claim is decided on what the store holds of its key and act, from the first try on."""
    if contract.fork_of is not None or command.undone_by is not None:
        return True
    if not contract.effects:
        return False
    names = names_of(contract, command)
    return any(effect.key == names.key or effect.act == names.act for effect in contract.effects)


def claim(contract: Contract, command: ClaimEffect, given: Given) -> Decision:
    """Admit the next attempt at an act, tell where its result stands, or say why it must not begin."""
    asked = _Asked(contract, command, given, names_of(contract, command), given.looked or _NOT_LOOKED)
    if given.secret is not None:
        return _with_secret(asked, given.secret)
    known = asked.looked.effect
    if known is not None:
        if known.act != asked.names.act:
            return _refused(
                asked,
                "key_conflict",
                f"the key {command.given!r} was used for other arguments at position {known.position}"
                f" of {known.run!r}",
                _place_in(asked, known),
                key=known.key,
                run=known.run,
            )
        if known.status == "succeeded":
            return _once_more(asked, known) or stands_in(contract, known.run, known.position)
    if contract.fork_of is not None:
        reason = f"{contract.run!r} is a fork of {contract.fork_of!r}: it reads results and performs nothing"
        return _refused(asked, "effects_disabled", reason)
    unsettled = None if known is None else _unsettled(asked, known)
    if unsettled is not None:
        return unsettled
    covered = covering(
        _without(contract, asked.names.key),
        given.actor,
        command.tool,
        command.reserved,
        # As the gate judges it: what had ended when something was recorded has ended.
        max(given.now, contract.at),
    )
    refusal = (
        _off_plan(asked)
        or _not_covered(asked, covered)
        or _refuted(asked)
        or _moved(asked)
        or _unchecked(asked)
        or _repeat(asked)
    )
    return refusal or _admitted(asked, covered)


def _without(contract: Contract, key: str) -> tuple[Grant, ...] | None:
    """Return the grants without what earlier attempts at this act set aside; None: none is needed."""
    if not contract.authority_needed:
        return None
    held = find(contract, key)
    return contract.grants if held is None else spend(contract.grants, held.authority, held.reserved, None)


class _Asked(NamedTuple):
    """A claim, and what it is decided on."""

    contract: Contract
    command: ClaimEffect
    given: Given
    names: Names
    looked: Looked


# --- what is recorded under the key -----------------------------------------------------------------


def _unsettled(asked: _Asked, known: EffectHistory) -> Refusal | None:
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
    if known.status == "failed":
        return _exhausted(asked, known)
    if known.status in ("executing", "unknown") and not _remembered(known, asked.command, now):
        return _nobody_knows(asked, known, now)
    if known.status == "pending" and not known.witnessed:
        return _nobody_knows(asked, known, now)
    return None


def _once_more(asked: _Asked, known: EffectHistory) -> Refusal | None:
    """Refuse to do once more, under its own key, what was done: that would tell the first one's result.

    The same call made again, of what was a repeat already, is told its result.
    """
    command = asked.command
    if command.repeat_reason is None and command.undone_by is None:
        return None
    if known.repeat_reason is not None or known.undone_by is not None:
        return None
    return _refused(
        asked,
        "possible_repeat",
        f"the act was done in this very step, at position {known.position} of {known.run!r}: to be done once "
        "more it needs an occurrence of its own",
        _place_in(asked, known),
        key=known.key,
        run=known.run,
        status=known.status,
    )


def _in_flight(asked: _Asked, known: EffectHistory, now: datetime) -> Refusal:
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


def _exhausted(asked: _Asked, known: EffectHistory) -> Refusal | None:
    """A declared number of attempts is all there are; where none ever was each caller may try once more."""
    declared = asked.command.max_attempts
    most = known.max_attempts if declared == 1 else declared
    if most == 1 or known.attempt < most:
        return None
    said = known.error
    cause = None if said is None else f"{said.type}: {said.message}"
    return Refusal(
        "effect_failed",
        f"{known.tool!r} failed {known.attempt} times, and {most} attempts were declared: {cause}",
        evidence={"key": known.key, "cause": cause, "attempts": known.attempt},
    )


def _remembered(known: EffectHistory, command: ClaimEffect, now: datetime) -> bool:
    """Tell whether the outside still knows the key, so that sending it again does nothing twice."""
    return command.recovery is Recovery.IDEMPOTENT and known.is_remembered(now, command.dedupes_for)


def _nobody_knows(asked: _Asked, known: EffectHistory, now: datetime) -> Refusal:
    wait = None
    if asked.command.probed or Recovery.QUERYABLE in (known.recovery, asked.command.recovery):
        wait = max(0.0, (known.may_land_until(asked.looked.lease_until) - now).total_seconds())
    return Refusal(
        "outcome_unknown",
        f"nobody knows whether attempt {known.attempt} at {known.tool!r} of {known.at.isoformat()} happened: "
        + ("ask the outside" if wait is not None else "a person has to find out"),
        evidence={"key": known.key, "retry_after": wait, "run": known.run, "position": known.position},
        events=_lapse(known, asked),
    )


def _lapse(known: EffectHistory, asked: _Asked) -> tuple[Event, ...]:
    """State that the last attempt's lease lapsed; until somebody acts on it that is only derived."""
    if known.status != "executing" or find(asked.contract, known.key) is None:
        return ()
    return (EffectUnknown(attempt=known.attempt, because="lease_lapsed", key=known.key),)


# --- what the contract says -------------------------------------------------------------------------


def _off_plan(asked: _Asked) -> Refusal | None:
    plan, command = asked.contract.plan, asked.command
    if plan is None:
        return None
    for step in plan.steps:
        if step.name == command.step and step.tool in (None, command.tool):
            return None
    told = "names no step" if command.step is None else f"is of step {command.step!r} with {command.tool!r}"
    reason = f"the plan of position {plan.position} does not hold this act, which {told}"
    return _refused(asked, "off_plan", reason, plan.position)


def _not_covered(asked: _Asked, covered: Covered) -> Refusal | None:
    if covered.reason is None:
        return None
    return _refused(asked, "authority_exceeded", covered.reason, covered.position)


def _refuted(asked: _Asked) -> Refusal | None:
    """Refuse an act that rests on a refuted assumption, itself or through its step or what that rests on."""
    contract, command = asked.contract, asked.command
    for wrong in contract.known_wrong:
        ref = f"assumption:{wrong.id}"
        names = {*contract.resting_on(ref), ref}
        if names.isdisjoint(command.rests_on) and f"step:{command.step}" not in names:
            continue
        assert wrong.refuted is not None
        reason = f"it rests on assumption {wrong.id!r}, which was refuted: {wrong.refuted.evidence}"[:1000]
        place = wrong.refuted.position
        return _refused(asked, "contract_changed", reason, place, id=wrong.id, change="refuted")
    return None


def _moved(asked: _Asked) -> Refusal | None:
    fallen = fallen_at_source(asked.contract, asked.given)
    if fallen is None:
        return None
    return _refused(
        asked,
        "contract_changed",
        fallen.message,
        fallen.position,
        **fallen.evidence,
    )


def _unchecked(asked: _Asked) -> Refusal | None:
    """Refuse what this release cannot check, instead of passing over it."""
    what = None
    for constraint in asked.contract.in_force(asked.given.now):
        if constraint.rule is not None:
            what = f"the rule of constraint {constraint.id!r}"
    if asked.command.approval is not None:
        what = "an approval"
    if asked.command.recovery in (Recovery.READ_ONLY, Recovery.TRANSACTIONAL, Recovery.OUTBOX):
        what = f"the recovery {asked.command.recovery.value!r}"
    if what is None:
        return None
    return _refused(
        asked, "not_supported", f"this release does not know how to check {what}, so nothing was begun"
    )


# --- the same act under another key -----------------------------------------------------------------


def _repeat(asked: _Asked) -> Refusal | None:
    command, undoing = asked.command, asked.looked.undoing
    if command.undone_by is not None and (undoing is None or undoing.status != "succeeded"):
        reason = f"no effect {command.undone_by!r} was done, so nothing is known to be undone by it"
        return _refused(asked, "not_open", reason, kind="effect", id=command.undone_by)
    if command.repeat_reason is not None:
        return None
    first = next((other for other in asked.looked.same_act if _stands_against(other, asked)), None)
    if first is None:
        return None
    where = f"at position {first.position} of {first.run!r}"
    what = "was done" if first.status == "succeeded" else f"is {first.status}"
    step = "" if first.step is None else f" in step {first.step!r}"
    return _refused(
        asked,
        "possible_repeat",
        f"the same act {what}{step} {where}: say repeat=True and why, or give it an occurrence of its own",
        _place_in(asked, first),
        key=first.key,
        run=first.run,
        status=first.status,
    )


def _stands_against(other: EffectHistory, asked: _Asked) -> bool:
    """Tell whether the same act under another key makes this one a repeat.

    What was undone does not, but what followed the undoing does, and what is still under way was not undone.
    """
    command, undoing = asked.command, asked.looked.undoing
    if other.status in ("failed", "did_not_happen") or other.compensated_by is not None:
        return False
    if command.occurrence is not None and other.occurrence != command.occurrence:
        return False
    if undoing is None or undoing.act == asked.names.act or other.undone_by == undoing.key:
        return True
    if other.may_be_sending(asked.given.for_leases):
        return True
    if other.intended_in == undoing.run:
        return other.intended_position > undoing.position
    return other.intended_at > undoing.at


# --- what is appended -------------------------------------------------------------------------------


def _admitted(asked: _Asked, covered: Covered) -> Admitted:
    command, known, names = asked.command, asked.looked.effect, asked.names
    positions = FrozenMap(sorted((name, state.position) for name, state in asked.given.sources.items()))
    intended = stated(
        EffectIntended,
        command,
        act=names.act,
        authority=covered.grants,
        key=names.key,
        key_scheme="v1" if command.given is None else "given",
        source_positions=positions or None,
        witnessed=True,
    )
    started = EffectStarted.unchecked(
        {
            "attempt": 1 if known is None else known.attempt + 1,
            "key": names.key,
            "lease_until": _lease_until(asked),
            "root": asked.contract.root,
            "source_positions": None,
            "worker": command.worker,
        }
    )
    lapse = () if known is None else _lapse(known, asked)
    # Whoever looked has seen every earlier intention of the act.
    fresh = () if asked.given.looked is not None else (act_digest(names.act),)
    return Admitted((*lapse, intended, started), positions, fresh=fresh)


def _lease_until(asked: _Asked) -> datetime:
    """Return when the lease ends: before the outside may have forgotten the key of an earlier send."""
    end = after(asked.given.for_leases, asked.command.lease_seconds)
    known = asked.looked.effect
    if known is None or known.status not in ("executing", "unknown"):
        return end
    forgets = known.forgotten_at(asked.command.dedupes_for)
    return end if forgets is None else min(end, forgets)


def _place_in(asked: _Asked, known: EffectHistory) -> int | None:
    return known.position if known.run == asked.contract.run else None


def _refused(
    asked: _Asked, rule: str, message: str, position: int | None = None, **evidence: str | int
) -> Refusal:
    """Refuse, and record who asked for what and which rule said no."""
    command = asked.command
    said = {name: str(value) for name, value in evidence.items()}
    event = EffectRefused(
        act=asked.names.act,
        args=command.args,
        evidence=said or None,
        key=asked.names.key,
        position=position,
        rule=rule,
        step=command.step,
        tool=command.tool,
    )
    return Refusal(rule, message, position, {"tool": command.tool, **evidence}, (event,))


def _with_secret(asked: _Asked, where: str) -> Refusal:
    """Refuse arguments that hold a secret, and record nothing that tells it, digests included."""
    command = asked.command
    event = EffectRefused(rule="secret_found", step=command.step, tool=command.tool)
    evidence = {"tool": command.tool, "where": where}
    return Refusal(
        "secret_found", f"the arguments of {command.tool!r} hold a secret: {where}", None, evidence, (event,)
    )


def sources_of(contract: Contract) -> Iterable[str]:
    """List the source streams that the constraints of a contract come from, each once and by name."""
    return sorted({c.source.stream for c in contract.constraints if c.source is not None})
