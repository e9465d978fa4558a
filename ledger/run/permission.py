"""What a claim would be told now: asked by who wants to know before, and appends nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ledger.commands import ClaimEffect
from ledger.run.claims import claim, names_of, objections
from ledger.run.contract import Contract
from ledger.run.decide import barred
from ledger.run.decision import Given, Refusal
from ledger.run.limits import beyond


class Objection(NamedTuple):
    """One thing that is against an act, as the claim would be told it."""

    rule: str
    """Code of the error that the claim would raise."""
    message: str
    position: int | None
    """Event it rests on; None: there is none."""
    evidence: Mapping[str, Any]


class Permission(NamedTuple):
    """Whether an act may begin, as of one position of the run; true where the call would get a result."""

    allowed: bool
    """A claim now would begin it."""
    done: bool
    """It was done, or seen and is fresh: the call returns what was recorded, and nothing is begun."""
    key: str
    """What names it."""
    objections: tuple[Objection, ...]
    """All that is against it; the first one is what the call would raise."""
    position: int
    """Of the run, when it was asked."""
    declared: bool = True
    """The tool is known to who asked. Else nobody looked at what it declares: whether it needs a person, what
    it costs, which arguments it takes and whether it may be done again; its program may be told more."""

    def __bool__(self) -> bool:
        return self.allowed or self.done


def permission(contract: Contract, command: ClaimEffect, given: Given) -> Permission:
    """Say what a claim would be told now, with all reasons."""
    found = tuple(
        Objection(one.rule, one.message, one.position, one.evidence)
        for one in _against(contract, command, given)
    )
    names, known = names_of(contract, command), None if given.looked is None else given.looked.effect
    done = known is not None and known.status == "succeeded" and known.act == names.act and not found
    return Permission(not (found or done), done, names.key, found, contract.position)


def _against(contract: Contract, command: ClaimEffect, given: Given) -> Iterator[Refusal]:
    bar = barred(contract, given.incarnation)
    decision = claim(contract, command, given)
    # As in `decide`: only what would add to the run goes beyond a limit, and then that is told first.
    limit = beyond(contract, command, given) if bar is None else None
    if bar is not None:
        yield bar
    elif limit is not None and decision.events:
        yield limit
    yield from objections(contract, command, given)
    if limit is not None and isinstance(decision, Refusal) and not decision.events:
        yield limit
