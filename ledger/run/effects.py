"""Effects: which acts on the outside are unsettled, and what their outcomes do to the contract.

Settled effects leave the contract, so that it does not grow with the run; the store finds them by their key.
"""

from __future__ import annotations

from ledger.canonical import MAX_INTEGER
from ledger.events import (
    EffectCompensated,
    EffectDisputed,
    EffectFailed,
    EffectIntended,
    EffectReconciled,
    EffectRefused,
    EffectStarted,
    EffectSucceeded,
    EffectUnknown,
    InheritedEffect,
)
from ledger.record import Record
from ledger.run.approvals import done, never_begun
from ledger.run.authority import Amounts, reserve, spend
from ledger.run.contract import Contract, Effect, Tally
from ledger.run.fold import Changes, replaced
from ledger.run.known import in_doubt_before, is_late


def find(contract: Contract, key: str) -> Effect | None:
    """Find an unsettled effect by its key."""
    return next((effect for effect in contract.effects if effect.key == key), None)


def intended(contract: Contract, event: EffectIntended, record: Record) -> Changes:
    """The effect is pending, in the place of an earlier attempt, and its cost is reserved on its grants."""
    old = find(contract, event.key)
    view = Effect(
        act=event.act,
        at=record.at,
        attempt=0 if old is None else old.attempt,
        authority=event.authority,
        dedupes_for=event.dedupes_for,
        key=event.key,
        max_attempts=event.max_attempts,
        occurrence=event.occurrence,
        position=record.position,
        recovery=event.recovery,
        reserved=event.reserved,
        resource=event.resource,
        rests_on=event.rests_on,
        settle_seconds=event.settle_seconds,
        since_attempt=0 if old is None else old.since_attempt,
        status="pending",
        step=event.step,
        tool=event.tool,
        witnessed=event.witnessed,
    )
    grants = contract.grants
    if old is not None:
        grants = spend(grants, old.authority, old.reserved, None, since=old.position)
    changes: Changes = {
        "effects": (*contract.effects, view) if old is None else replaced(contract.effects, old, view),
        "grants": reserve(grants, event.authority, event.reserved),
    }
    if old is None or not never_begun(old):
        # What waited is one act, and was counted when it was intended first.
        changes["tally"] = contract.tally.with_fields({"effects": contract.tally.effects + 1})
    return changes


def started(contract: Contract, event: EffectStarted, record: Record) -> Changes:
    """The effect is executing, until its lease lapses; refusals in a row are counted from zero again."""
    old = find(contract, event.key)
    tally = contract.tally.with_fields({"refusals_in_a_row": 0})
    if old is None:
        return {"tally": tally}
    new = old.with_fields(
        {
            "at": record.at,
            "attempt": event.attempt,
            "lease_until": event.lease_until,
            "since_attempt": old.since_attempt or event.attempt,
            "status": "executing",
            "worker": event.worker,
        }
    )
    return {"effects": replaced(contract.effects, old, new), "tally": tally}


def succeeded(contract: Contract, event: EffectSucceeded, record: Record) -> Changes:
    """The effect is settled: it leaves with its approval, and its grants have spent what it cost.

    A late success of an older attempt contradicts what let the next one start, and so opens a dispute, which
    is settled by who finds out, never by one of its parties saying the same again. Where the outside dedupes
    on the key all attempts in doubt are one act.
    """
    old = find(contract, event.key)
    if old is not None and (old.status == "disputed" or _is_late(old, event.attempt)):
        return _opened_again(contract, old, record)
    return _settled(contract, event.key, event.cost, happened=True)


def failed(contract: Contract, event: EffectFailed, record: Record) -> Changes:
    """The effect is settled: it leaves, and its grants have back what was reserved, less what it cost.

    A late failure of an older attempt says nothing about the present one, that of what was sent again nothing
    about what was sent first, and none settles a dispute, or what was never begun.
    """
    old = find(contract, event.key)
    if old is not None and (old.status == "disputed" or event.attempt < old.attempt or never_begun(old)):
        return {}
    if old is not None and in_doubt_before(old.since_attempt, event.attempt):
        new = old.with_fields({"at": record.at, "attempt": event.attempt, "status": "unknown"})
        return {"effects": replaced(contract.effects, old, new)}
    return _settled(contract, event.key, event.cost, happened=False)


def unknown(contract: Contract, event: EffectUnknown, record: Record) -> Changes:
    """The effect is unknown.

    Not knowing settles nothing, least of all a dispute or an older attempt, and makes nobody doubt what was
    never begun.
    """
    old = find(contract, event.key)
    if old is None or old.status == "disputed" or event.attempt < old.attempt or never_begun(old):
        return {}
    new = old.with_fields({"at": record.at, "attempt": event.attempt, "status": "unknown"})
    return {"effects": replaced(contract.effects, old, new)}


def reconciled(contract: Contract, event: EffectReconciled, record: Record) -> Changes:
    """The effect is settled as it was found.

    Having asked in vain changes nothing: it ends no lease, leaves a dispute one, and makes nobody doubt what
    was never begun. What is found about an older attempt opens one where it happened, and changes nothing
    where it did not.
    """
    old = find(contract, event.key)
    if old is None:
        return {}
    happened = event.found == "happened"
    if event.attempt < old.attempt and not (happened and not _is_late(old, event.attempt)):
        return _opened_again(contract, old, record) if happened else {}
    if event.found == "unknown":
        if old.status != "pending" or never_begun(old):
            return {}
        new = old.with_fields({"at": record.at, "status": "unknown"})
        return {"effects": replaced(contract.effects, old, new)}
    return _settled(contract, event.key, event.cost, happened=happened)


def _is_late(old: Effect, attempt: int) -> bool:
    return is_late(old.recovery, old.since_attempt, old.attempt, attempt)


def _opened_again(contract: Contract, old: Effect, record: Record) -> Changes:
    """Open a dispute; one that is open stays as it was opened."""
    if old.status == "disputed":
        return {}
    new = old.with_fields({"at": record.at, "status": "disputed"})
    return {"effects": replaced(contract.effects, old, new)}


def disputed(contract: Contract, event: EffectDisputed, record: Record) -> Changes:
    """The effect is disputed; one that was settled is unsettled again."""
    old = find(contract, event.key)
    if old is not None:
        return _opened_again(contract, old, record)
    view = Effect(
        act=event.act,
        at=record.at,
        attempt=event.attempt,
        key=event.key,
        # What was imported may name a place that is still to come.
        position=min(event.settled_at or record.position, record.position),
        recovery=event.recovery,
        since_attempt=event.attempt,
        status="disputed",
        tool=event.tool,
    )
    changes: Changes = {"effects": (*contract.effects, view)}
    if event.reported in ("did_not_happen", "failed"):
        changes["tally"] = _counted(contract, -1)  # it was settled as done
    return changes


def compensated(contract: Contract, event: EffectCompensated, record: Record) -> Changes:
    """Nothing changes: both acts are settled, and found by their keys."""
    return {}


def refused(contract: Contract, event: EffectRefused, record: Record) -> Changes:
    """One refusal in a row more is counted."""
    tally = contract.tally
    return {"tally": tally.with_fields({"refusals_in_a_row": tally.refusals_in_a_row + 1})}


def inherited(contract: Contract, effects: tuple[InheritedEffect, ...], record: Record) -> Changes:
    """Take over what an ancestor left unsettled, each key once."""
    views = {effect.key: effect for effect in contract.effects}
    for effect in effects:
        view = Effect(
            act=effect.act,
            at=record.at,
            attempt=effect.attempt,
            inherited_from=effect.run,
            key=effect.key,
            position=effect.position,
            recovery=effect.recovery,
            since_attempt=effect.attempt,
            status=effect.status,
            tool=effect.tool,
        )
        views.setdefault(effect.key, view)
    return {"effects": tuple(views.values())}


def _settled(contract: Contract, key: str, cost: Amounts, *, happened: bool) -> Changes:
    """Take the effect out, give back what was set aside, and count what it cost: as declared unless told."""
    old = find(contract, key)
    if old is None:
        return {}
    if happened and cost is None:
        cost = old.reserved
    changes: Changes = {
        "effects": replaced(contract.effects, old, None),
        "grants": spend(contract.grants, old.authority, old.reserved, cost, since=old.position),
    }
    if happened:
        changes["approvals"] = done(contract.approvals, key)
        changes["tally"] = _counted(contract, 1)
    return changes


def _counted(contract: Contract, number: int) -> Tally:
    tally = contract.tally
    return tally.with_fields({"effects_done": min(MAX_INTEGER, max(0, tally.effects_done + number))})
