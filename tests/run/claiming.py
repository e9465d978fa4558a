"""What tests of effects ask and expect: claims and reports, and the events they come to."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ledger import commands as c
from ledger import events as e
from ledger.record import Record
from ledger.run.claims import names_of
from ledger.run.contract import Contract, Effect
from ledger.run.decision import Looked
from ledger.run.history import EffectHistory, history_of
from ledger.run.looking import looked_among, wanted
from ledger.testing import Decided, History, given
from ledger.values import ErrorSaid, Recovery
from tests.run import examples as x

Run = History[Contract | None]

NO = ErrorSaid(message="no such order", type="NotFound")
OPEN = given(x.opened())
LEASE = 30


def claim(**more: Any) -> c.ClaimEffect:
    fields = {"args": '{"order":17}', "recovery": Recovery.QUERYABLE, "tool": "refund", "worker": "w-1"}
    return c.ClaimEffect(**{**fields, **more})


def key_of(run: Run, command: c.ClaimEffect) -> str:
    return names_of(run.contract, command).key


KEY = key_of(OPEN, claim())


def begun(run: Run, command: c.ClaimEffect | None = None) -> Run:
    """Claim, and expect that it is admitted."""
    decided = run.when(claim() if command is None else command)
    assert started(decided) is not None, decided.decision
    return decided.after


def started(decided: Decided[Contract | None]) -> e.EffectStarted | None:
    """Return the start that a claim came to, if any."""
    return next((event for event in decided.decision.events if isinstance(event, e.EffectStarted)), None)


def succeed(attempt: int = 1, key: str = KEY, **more: Any) -> c.ReportSuccess:
    return c.ReportSuccess(attempt=attempt, key=key, **more)


def fail(attempt: int = 1, key: str = KEY, **more: Any) -> c.ReportFailure:
    return c.ReportFailure(attempt=attempt, key=key, **{"error": NO, **more})


def not_know(attempt: int = 1, key: str = KEY, **more: Any) -> c.ReportUnknown:
    return c.ReportUnknown(attempt=attempt, key=key, **{"because": "raised", **more})


def find(found: str, key: str = KEY, **more: Any) -> c.ReconcileEffect:
    fields = {"evidence": "asked", "found": found, "method": "probe"}
    return c.ReconcileEffect.model_validate({"key": key, **fields, **more})


def history(run: Run, key: str = KEY) -> EffectHistory:
    found = history_of(key, run.records)
    assert found is not None
    return found


def the_effect(run: Run) -> Effect:
    (effect,) = run.contract.effects
    return effect


def lapsed(run: Run, seconds: float = LEASE) -> Run:
    return run.later(seconds=seconds)


def looked_at(
    run: Run,
    command: c.Command,
    lease_until: datetime | None = None,
    *others: Run,
    order: Sequence[Record] | None = None,
) -> Looked:
    """Look as a store would that holds these runs, one after another; or these records, in this order."""
    asked = wanted(run.contract, command)
    assert asked is not None
    records = order or [record for one in (*others, run) for record in one.records]
    looked = looked_among(asked, records) or Looked()
    return looked._replace(lease_until=lease_until)


def successor(of: Run, run: str = "run-2") -> Run:
    """Begin the successor of a run with what that left unsettled."""
    contract = of.contract
    left = tuple(
        e.InheritedEffect(
            act=effect.act,
            attempt=effect.attempt,
            key=effect.key,
            position=effect.position,
            recovery=effect.recovery,
            run=effect.inherited_from or contract.run,
            status=effect.status,
            tool=effect.tool,
        )
        for effect in contract.effects
    )
    parent = e.Parent(position=contract.position, relation="successor", root=contract.root, run=contract.run)
    restarted = e.RunRestarted(
        by="human:kim",
        effects_done=0,
        predecessor=contract.run,
        predecessor_hash=contract.hash,
        predecessor_position=contract.position,
        reason="limit-100 was withdrawn",
        unsettled=left,
    )
    return given(x.opened(parent=parent), restarted, run=run, at=of.now)
