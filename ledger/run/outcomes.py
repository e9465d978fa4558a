"""Outcomes: what became of a claimed act, told by its worker, late or twice, or found out by somebody.

Reports are never refused for what they say: one that contradicts what is settled is recorded, and opens a
dispute. Only a report about an effect that nobody intended is none. What was told word for word before adds
nothing, whatever it came to then.
"""

from __future__ import annotations

from typing import Literal

from ledger.commands import ReconcileEffect, ReportFailure, ReportSuccess, ReportUnknown
from ledger.events import (
    EffectDisputed,
    EffectFailed,
    EffectReconciled,
    EffectSucceeded,
    EffectUnknown,
    Event,
    ObligationOpened,
)
from ledger.run.contract import Contract, by_id
from ledger.run.decision import Admitted, Decision, Given, admitted, not_open, stands_at, stated
from ledger.run.effects import find
from ledger.run.known import EffectHistory, Finding, in_doubt_before, is_only_intended

Report = ReportSuccess | ReportFailure | ReportUnknown | ReconcileEffect


def to_look_up(contract: Contract, command: Report) -> bool:
    """Tell whether a report is decided on what the store holds of its effect.

    The outcome of the attempt that the contract holds as executing is what it waits for.
    """
    return isinstance(command, ReconcileEffect) or not _awaited(contract, command)


def succeed(contract: Contract, command: ReportSuccess, given: Given) -> Decision:
    """The act happened; told again it is a repeat, and against what is settled it opens a dispute.

    So it does of an act that only waits: nobody has begun what a person has yet to approve, and who says that
    it is done must not be taken for that person.
    """
    event = stated(EffectSucceeded, command)
    if _awaited(contract, command):
        return admitted(event)
    known = _known(given)
    if known is None:
        return not_open("effect", command.key)
    told = known.told_already(event)
    if told is not None:
        return stands_in(contract, told.run, told.position)
    denied = is_only_intended(known) or known.is_denied_by_success(command.attempt)
    if denied and known.status != "disputed":
        return admitted(event, _dispute(contract, command, known, "succeeded"))
    if known.status == "succeeded" and _adds_nothing(known, command) and not _holds(contract, command.key):
        return stands_in(contract, known.run, known.position)
    return admitted(event)


def fail(contract: Contract, command: ReportFailure, given: Given) -> Decision:
    """Nothing happened; where the declared attempts are used up a person owes what comes next.

    What was sent again speaks for itself only: while an earlier attempt may have happened nobody knows. What
    only waits was not begun, so that its failure is kept and changes nothing.
    """
    failed, unknown = stated(EffectFailed, command), stated(EffectUnknown, command, because="raised")
    held = find(contract, command.key)
    if held is not None and _awaited(contract, command):
        event = unknown if in_doubt_before(held.since_attempt, command.attempt) else failed
        return admitted(event, *_owed_after(contract, held.tool, held.max_attempts, command))
    known = _known(given)
    if known is None:
        return not_open("effect", command.key)
    told = known.told_already(failed) or known.told_already(unknown)
    if told is not None:
        return stands_in(contract, told.run, told.position)
    if is_only_intended(known):
        return admitted(failed)
    if known.is_denied_by_failure(command.attempt):
        return admitted(failed, _dispute(contract, command, known, "failed"))
    if known.is_settled or known.status == "disputed" or command.attempt < known.attempt:
        return admitted(failed)
    event = unknown if in_doubt_before(known.since_attempt, command.attempt) else failed
    return admitted(event, *_owed_after(contract, known.tool, known.max_attempts, command))


def not_know(contract: Contract, command: ReportUnknown, given: Given) -> Decision:
    """Nobody knows; where the outcome is known meanwhile, or nobody knew already, that stands.

    That its worker stopped is worth knowing even then: it sends nothing more. What only waits goes on so.
    """
    event = stated(EffectUnknown, command)
    if _awaited(contract, command):
        return admitted(event)
    known = _known(given)
    if known is None:
        return not_open("effect", command.key)
    told = known.told_already(event)
    if told is not None:
        return stands_in(contract, told.run, told.position)
    stopped = known.status == "unknown" and command.because in ("raised", "stopped")
    news = known.status in ("pending", "executing") or stopped
    if not news or command.attempt < known.attempt:
        return stands_in(contract, known.run, known.position)
    return admitted(event)


def reconcile(contract: Contract, command: ReconcileEffect, given: Given) -> Decision:
    """Settle what was found out, where it is evidence already; else keep what was said.

    That the outside knows nothing of an act is evidence only if nothing that was sent could land once it was
    asked. A person may say so once the lease has ended, on their own word. An act that two attempts have done
    is for a person alone: that the outside has it says nothing of how often. That an act which only waits has
    happened opens a dispute, unless a person says so: nobody has begun it; that it did not leaves it waiting.
    """
    known = _known(given)
    if known is None:
        return not_open("effect", command.key)
    found = command.found
    waits = is_only_intended(known) and command.method != "person"
    if found == "did_not_happen" and (waits or not _is_evidence(known, command, given)):
        found = "unknown"
    if known.status == "disputed" and known.was_done_twice and command.method != "person":
        found = "unknown"
    held = find(contract, command.key)
    # What is found out is so of all attempts, whichever of them this run and the lineage know of.
    attempt = max(known.attempt, 1 if held is None else held.attempt, 1)
    event = stated(EffectReconciled, command, attempt=attempt, found=found)
    denied = known.is_denied_by(event.found, event.attempt) or (waits and found == "happened")
    if known.is_settled and not denied and held is not None:
        return admitted(_as_settled(known, attempt))
    if event.found == "happened" and known.status == "succeeded" and _adds_result(known, command):
        return admitted(event)
    found_already = _found_already(known, event)
    if found_already is not None:
        return stands_in(contract, found_already.run, found_already.position)
    if denied:
        assert command.found != "unknown"
        return admitted(event, _dispute(contract, command, known, command.found))
    if known.is_settled:
        return stands_in(contract, known.run, known.position)
    if found != "did_not_happen":
        return admitted(event)
    told = f"the last of them was found not to have happened: {command.evidence}"
    return admitted(event, *_owed(contract, known.key, known.tool, known.max_attempts, known.attempt, told))


def stands_in(contract: Contract, run: str, position: int) -> Admitted:
    """Admit a repeat; what another run of the lineage recorded is told as of this run's last position."""
    return stands_at(position if run == contract.run else contract.position)


def _is_evidence(known: EffectHistory, command: ReconcileEffect, given: Given) -> bool:
    renewed = None if given.looked is None else given.looked.lease_until
    now = given.for_leases
    if known.may_be_sending(now, renewed):
        return False
    asked = now if command.asked_at is None else min(command.asked_at, now)
    return command.method == "person" or known.may_land_until(renewed) <= asked


def _known(given: Given) -> EffectHistory | None:
    return None if given.looked is None else given.looked.effect


def _holds(contract: Contract, key: str) -> bool:
    """Tell whether an effect is unsettled here; what another run settled is so until this one is told."""
    return find(contract, key) is not None


def _awaited(contract: Contract, command: ReportSuccess | ReportFailure | ReportUnknown) -> bool:
    """Tell whether this is the outcome of the attempt that the contract holds as executing.

    A run that is closed may have a successor, which went on with it.
    """
    held = find(contract, command.key)
    return (
        held is not None
        and contract.closed is None
        and held.status == "executing"
        and held.inherited_from is None
        and held.attempt == command.attempt
    )


def _adds_nothing(known: EffectHistory, command: ReportSuccess) -> bool:
    told = (command.result, command.external_ref, command.cost)
    stands = (known.result, known.external_ref, known.cost)
    return all(new is None or new == old for new, old in zip(told, stands, strict=True))


def _adds_result(known: EffectHistory, command: ReconcileEffect) -> bool:
    return known.result is None and command.result is not None


def _found_already(known: EffectHistory, event: EffectReconciled) -> Finding | None:
    """Find where the same was found out about the same attempt, in the same words.

    A person who says the same once more, about what has become doubtful since, means it.
    """
    since = known.findings_before if event.method == "person" else 0
    same = (event.attempt, event.by, event.evidence, event.found, event.method)
    return next(
        (
            one
            for one in known.findings[since:]
            if (one.attempt, one.by, one.evidence, one.found, one.method) == same
        ),
        None,
    )


def _as_settled(known: EffectHistory, attempt: int) -> EffectReconciled:
    """State in a run that holds an effect as unsettled what another run of the lineage recorded of it."""
    return EffectReconciled(
        attempt=attempt,
        evidence=f"recorded as {known.status} at position {known.position} of {known.run!r}",
        found="happened" if known.status == "succeeded" else "did_not_happen",
        key=known.key,
        method="late_outcome",
    )


def _owed_after(contract: Contract, tool: str, most: int, command: ReportFailure) -> tuple[Event, ...]:
    told = f"the last time with {command.error.type}"
    return _owed(contract, command.key, tool, most, command.attempt, told)


def _owed(contract: Contract, key: str, tool: str, most: int, attempt: int, told: str) -> tuple[Event, ...]:
    """Open an obligation for a person where the tool's declared attempts are used up."""
    if most == 1 or attempt < most or contract.closed is not None:
        return ()
    id = f"failed:{key}"
    if by_id(contract.obligations, id) is not None:
        return ()
    owed = ObligationOpened(
        because=f"effect:{key}",
        id=id,
        owed_to=contract.owner or "human:operator",
        text=f"{tool} failed {attempt} times, {told[:1000]}: decide what becomes of it",
    )
    return (owed,)


def _dispute(
    contract: Contract,
    command: ReportSuccess | ReportFailure | ReconcileEffect,
    known: EffectHistory,
    reported: Literal["did_not_happen", "failed", "happened", "succeeded"],
) -> EffectDisputed:
    """Open a dispute; what was reported stands in the event before it."""
    return stated(
        EffectDisputed,
        command,
        act=known.act,
        attempt=max(getattr(command, "attempt", 1), known.attempt, 1),
        error=None,
        recovery=known.recovery,
        reported=reported,
        reported_by=getattr(command, "worker", None),
        result=None,
        settled_at=known.position if known.run == contract.run else None,
        tool=known.tool,
    )
