"""What a decision about an effect asks of the store, and how the answer is put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ledger.commands import (
    ClaimEffect,
    Command,
    ReconcileEffect,
    ReportFailure,
    ReportSuccess,
    ReportUnknown,
    RequestApproval,
)
from ledger.events import EffectIntended
from ledger.record import Record
from ledger.run import claims, outcomes
from ledger.run.contract import Contract
from ledger.run.decision import Looked
from ledger.run.history import EffectHistory, history_of

_REPORTS = (ReportSuccess, ReportFailure, ReportUnknown, ReconcileEffect)


class Wanted(NamedTuple):
    """What to look up: everything under a key and, of a claim, under its act."""

    key: str
    act: str | None = None
    undone_by: str | None = None


def wanted(contract: Contract | None, command: Command) -> Wanted | None:
    """Say what the store would have to be asked; None for what is not about effects."""
    if contract is None:
        return None
    if isinstance(command, ClaimEffect):
        names = claims.names_of(contract, command)
        return Wanted(names.key, names.act, command.undone_by)
    return Wanted(command.key) if isinstance(command, (*_REPORTS, RequestApproval)) else None


def is_wanted(contract: Contract | None, command: Command) -> bool:
    """Tell whether the store has to be asked before the first try.

    A claim that is new is decided without; its append says whether it was.
    """
    if contract is None:
        return False
    if isinstance(command, ClaimEffect):
        return claims.to_look_up(contract, command)
    if isinstance(command, RequestApproval):
        return True
    return isinstance(command, _REPORTS) and outcomes.to_look_up(contract, command)


def histories(keys: Iterable[str], records: Sequence[Record]) -> dict[str, EffectHistory]:
    """Fold the records of several effects, in global order, each to its history."""
    found = {key: history_of(key, records) for key in keys}
    return {key: history for key, history in found.items() if history is not None}


def put_together(asked: Wanted, found: Mapping[str, EffectHistory], **more: Any) -> Looked:
    """Build what was looked up from the histories by key."""
    others = (history for key, history in found.items() if key != asked.key and history.act == asked.act)
    return Looked(
        effect=found.get(asked.key),
        same_act=tuple(sorted(others, key=lambda history: (history.intended_at, history.key))),
        undoing=None if asked.undone_by is None else found.get(asked.undone_by),
        **more,
    )


def looked_among(asked: Wanted, records: Sequence[Record]) -> Looked | None:
    """Look among the records of one run, as the store would among all; None where there is nothing."""
    intended = [record.event for record in records if isinstance(record.event, EffectIntended)]
    same = [event.key for event in intended if event.act == asked.act]
    keys = {asked.key, *same}
    if asked.undone_by is not None:
        keys.add(asked.undone_by)
    found = histories(sorted(keys), records)
    return put_together(asked, found, intentions=len(same)) if found else None
