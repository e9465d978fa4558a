"""A claim, what it is decided on, and how it is refused: shared by all checks that a claim passes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

from ledger.commands import ClaimEffect
from ledger.events import EffectIntended, EffectRefused
from ledger.run.contract import Contract
from ledger.run.decision import Given, Looked, Refusal, stated
from ledger.run.keys import act_key, effect_key, given_key
from ledger.run.known import EffectHistory
from ledger.values import FrozenMap


class Names(NamedTuple):
    """The names of an act within its lineage."""

    key: str
    act: str


class Asked(NamedTuple):
    """A claim, and what it is decided on."""

    contract: Contract
    command: ClaimEffect
    given: Given
    names: Names
    looked: Looked


_NOT_LOOKED = Looked()


def asked_of(contract: Contract, command: ClaimEffect, given: Given) -> Asked:
    """Put together what a claim is decided on."""
    return Asked(contract, command, given, names_of(contract, command), given.looked or _NOT_LOOKED)


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


def intended(asked: Asked, **found: Any) -> EffectIntended:
    """State the intention of an act, with what was found out while deciding it."""
    command, names, known = asked.command, asked.names, asked.looked.effect
    scheme = "v1" if command.given is None else "given"
    if known is not None and command.max_attempts == 1:
        # Who declares nothing is held to what was declared before, and so is whoever tries after that.
        found["max_attempts"] = known.max_attempts
    return stated(
        EffectIntended, command, act=names.act, key=names.key, key_scheme=scheme, witnessed=True, **found
    )


def positions(asked: Asked) -> FrozenMap:
    """Return where the source streams stand that an act is admitted under."""
    return FrozenMap(sorted((name, state.position) for name, state in asked.given.sources.items()))


def place_in(asked: Asked, known: EffectHistory) -> int | None:
    """Return where an effect's status was made, if that is in this run."""
    return known.position if known.run == asked.contract.run else None


def refused(
    asked: Asked, rule: str, message: str, position: int | None = None, **evidence: str | int
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
