"""Outcomes: what became of a claimed act, told by its worker, late or twice, or found out by somebody.

Reports are never refused for what they say: one that contradicts what is settled opens a dispute. Only a
report about an effect that nobody intended is none.
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
from ledger.run.contract import Contract, Effect, by_id
from ledger.run.decision import Decision, Given, admitted, not_open, stands_at, stated
from ledger.run.effects import find
from ledger.run.history import EffectHistory, is_late
from ledger.values import ErrorSaid, Payload

Report = ReportSuccess | ReportFailure | ReportUnknown | ReconcileEffect


def to_look_up(contract: Contract, command: Report) -> bool:
    """Tell whether a report is decided on what the store holds of its effect.

    The outcome of the attempt that the contract holds as executing is what it waits for.
    """
    held = find(contract, command.key)
    if held is None or held.status != "executing" or held.inherited_from is not None:
        return True
    return isinstance(command, ReconcileEffect) or command.attempt != held.attempt


def succeed(contract: Contract, command: ReportSuccess, given: Given) -> Decision:
    """The act happened; told again it is a repeat, and against what is settled it opens a dispute."""
    event = stated(EffectSucceeded, command)
    if _awaited(contract, command):
        return admitted(event)
    known = _known(given)
    if known is None:
        return not_open("effect", command.key)
    if known.status == "succeeded" and _adds_nothing(known, command):
        return stands_at(known.position)
    contradicts = known.status in ("failed", "did_not_happen") or (
        known.status == "succeeded" and is_late(known.recovery, known.attempt, command.attempt)
    )
    if contradicts:
        return admitted(
            _disputed(contract, command, known, "succeeded", result=command.result, worker=command.worker)
        )
    return admitted(event)


def fail(contract: Contract, command: ReportFailure, given: Given) -> Decision:
    """Nothing happened; where the declared attempts are used up a person owes what comes next."""
    event = stated(EffectFailed, command)
    held = find(contract, command.key)
    if held is not None and _awaited(contract, command):
        return admitted(event, *_owed(contract, held, command))
    known = _known(given)
    if known is None:
        return not_open("effect", command.key)
    if known.status == "failed" and known.error == command.error and known.attempt == command.attempt:
        return stands_at(known.position)
    if known.status == "succeeded" and command.attempt >= known.attempt:
        return admitted(
            _disputed(contract, command, known, "failed", error=command.error, worker=command.worker)
        )
    current = held is not None and known.status == "unknown" and command.attempt >= held.attempt
    return admitted(event, *(_owed(contract, held, command) if held is not None and current else ()))


def not_know(contract: Contract, command: ReportUnknown, given: Given) -> Decision:
    """Nobody knows; where the outcome is known meanwhile, or nobody knew already, that stands."""
    if _awaited(contract, command):
        return admitted(stated(EffectUnknown, command))
    known = _known(given)
    if known is None:
        return not_open("effect", command.key)
    if known.is_settled or known.status in ("unknown", "disputed") or command.attempt < known.attempt:
        return stands_at(known.position)
    return admitted(stated(EffectUnknown, command))


def reconcile(contract: Contract, command: ReconcileEffect, given: Given) -> Decision:
    """Settle what was found out, where it is evidence already; else keep what was said.

    That the outside knows nothing of an act is evidence only once nothing that was sent can still land. A
    person may say so once the lease has ended, on their own word.
    """
    known = _known(given)
    if known is None:
        return not_open("effect", command.key)
    if known.is_settled:
        return _against_settled(contract, command, known)
    last = known.findings[-1] if known.findings else None
    found = command.found
    if found == "did_not_happen" and not _is_evidence(known, command, given):
        found = "unknown"
    same = last is not None and (last.found, last.evidence, last.method, last.by) == (
        found,
        command.evidence,
        command.method,
        command.by,
    )
    if last is not None and same and found == "unknown":
        # Asked in vain again and again, in the same words: once is enough.
        return stands_at(last.position)
    return admitted(stated(EffectReconciled, command, attempt=max(known.attempt, 1), found=found))


def _against_settled(contract: Contract, command: ReconcileEffect, known: EffectHistory) -> Decision:
    happened = known.status == "succeeded"
    if command.found == "unknown" or (command.found == "happened") == happened:
        return stands_at(known.position)
    return admitted(_disputed(contract, command, known, command.found, result=command.result, worker=None))


def _is_evidence(known: EffectHistory, command: ReconcileEffect, given: Given) -> bool:
    renewed = None if given.looked is None else given.looked.lease_until
    now = given.for_leases
    if known.status == "executing" and not known.lapsed(now, renewed):
        return False
    return command.method == "person" or known.may_land_until(renewed) <= now


def _known(given: Given) -> EffectHistory | None:
    return None if given.looked is None else given.looked.effect


def _awaited(contract: Contract, command: ReportSuccess | ReportFailure | ReportUnknown) -> bool:
    """Tell whether this is the outcome of the attempt that the contract holds as executing."""
    held = find(contract, command.key)
    return (
        held is not None
        and held.status == "executing"
        and held.inherited_from is None
        and held.attempt == command.attempt
    )


def _adds_nothing(known: EffectHistory, command: ReportSuccess) -> bool:
    if is_late(known.recovery, known.attempt, command.attempt):
        return False
    told: tuple[Payload | str | None, ...] = (command.result, command.external_ref)
    stands = (known.result, known.external_ref)
    return all(new is None or new == old for new, old in zip(told, stands, strict=True))


def _owed(contract: Contract, held: Effect, command: ReportFailure) -> tuple[Event, ...]:
    """Open an obligation for a person where the tool's declared attempts are used up."""
    if held.max_attempts == 1 or command.attempt < held.max_attempts:
        return ()
    id = f"failed:{held.key}"
    if by_id(contract.obligations, id) is not None:
        return ()
    owed = ObligationOpened(
        because=f"effect:{held.key}",
        id=id,
        owed_to=contract.owner or "human:operator",
        text=f"{held.tool} failed {command.attempt} times, the last time with {command.error.type}: "
        f"decide what becomes of it",
    )
    return (owed,)


def _disputed(
    contract: Contract,
    command: ReportSuccess | ReportFailure | ReconcileEffect,
    known: EffectHistory,
    reported: Literal["did_not_happen", "failed", "happened", "succeeded"],
    *,
    result: Payload | None = None,
    error: ErrorSaid | None = None,
    worker: str | None,
) -> EffectDisputed:
    return stated(
        EffectDisputed,
        command,
        act=known.act,
        attempt=max(getattr(command, "attempt", known.attempt), 1),
        error=error,
        recovery=known.recovery,
        reported=reported,
        reported_by=worker,
        result=result,
        settled_at=known.position if known.run == contract.run else None,
        tool=known.tool,
    )
