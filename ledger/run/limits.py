"""Limits given when a run opens: what would go beyond one suspends the run, with the reason."""

from __future__ import annotations

from typing import Literal, get_args

from ledger.commands import ClaimEffect, Command, MoveCursor, SuspendRun
from ledger.events import EffectRefused, Event, RunSuspended
from ledger.run.approvals import never_begun
from ledger.run.asked import names_of
from ledger.run.contract import Contract
from ledger.run.decision import Given, Refusal
from ledger.run.effects import find

Cause = Literal["effects", "refusals_in_a_row", "steps", "wall_seconds"]

CAUSES = frozenset(get_args(Cause))
"""The limits by name, as a suspension says which was reached."""


def beyond(contract: Contract, command: Command, given: Given) -> Refusal | None:
    """Refuse a request that would go beyond a limit, recording the suspension; remedies are free.

    So is the wish to stop: it is what the limit would come to.
    """
    limits = contract.limits
    if limits is None or command.remedy or isinstance(command, SuspendRun):
        return None
    tally, begun = contract.tally, contract.allowance
    steps, effects = tally.steps, tally.effects
    if begun is not None:
        steps, effects = steps - begun.steps, effects - begun.effects
    elapsed = (given.now - (contract.opened_at if begun is None else begun.at)).total_seconds()
    if limits.wall_seconds is not None and elapsed >= limits.wall_seconds:
        return _refusal("wall_seconds", f"the run was given {limits.wall_seconds} seconds, which are over")
    if limits.steps is not None and isinstance(command, MoveCursor) and steps >= limits.steps:
        return _refusal("steps", f"the run was given {limits.steps} steps, which are taken")
    in_a_row = limits.refusals_in_a_row
    if in_a_row is not None and tally.refusals_in_a_row >= in_a_row:
        # Refusals are mostly decided here, and suspend at once; these were recorded as facts.
        return _refusal("refusals_in_a_row", f"{in_a_row} effects in a row were refused")
    if limits.effects is None or not isinstance(command, ClaimEffect) or effects < limits.effects:
        return None
    held = find(contract, names_of(contract, command).key)
    if held is None or not never_begun(held):  # what waited is counted already
        return _refusal("effects", f"the run was given {limits.effects} effects, which are intended")
    return None


def after_refusals(contract: Contract, events: tuple[Event, ...]) -> tuple[Event, ...]:
    """Add the suspension when these events complete the refusals in a row that the run was allowed."""
    if contract.limits is None:
        return events
    limit = contract.limits.refusals_in_a_row
    refused = sum(isinstance(event, EffectRefused) for event in events)
    if limit is None or not refused or contract.tally.refusals_in_a_row + refused < limit:
        return events
    return (*events, _suspension("refusals_in_a_row", f"{limit} effects in a row were refused"))


def _suspension(cause: Cause, reason: str) -> RunSuspended:
    return RunSuspended(cause=cause, reason=reason)


def _refusal(cause: Cause, reason: str) -> Refusal:
    return Refusal("run_is_held", reason, evidence={"limit": cause}, events=(_suspension(cause, reason),))
