"""What is unsettled across the runs of a ledger, and finding out what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from ledger.application.consents import Consent, consent_in
from ledger.application.edge import Edge
from ledger.application.looking import effects_of, renewed_until
from ledger.commands import ReconcileEffect
from ledger.gateway.tools import Tool
from ledger.run.contract import Contract
from ledger.run.history import EffectHistory
from ledger.values import Recovery

_UNSETTLED_AT_ONCE = 200
NEVER_BEGUN = "nothing was sent, and nothing will be: its run has ended"
"""What became of an act that waited when its run ended."""


class Unsettled(NamedTuple):
    """An effect whose outcome is not known, as of one moment."""

    run: str
    """The run whose contract holds it."""
    status: str
    """As time makes it: pending, executing, unknown or disputed."""
    effect: EffectHistory
    lease_until: datetime | None
    """End of its lease, renewals included."""
    consent: Consent | None = None
    """What a person was asked about it; None: nothing, as far as its run says."""
    ended: bool = False
    """Its run has ended, and none succeeds it: what waits was never begun, and will not be."""

    @property
    def waits(self) -> bool:
        """Whether it was only intended: nothing was sent, and there is nothing to find out."""
        return self.status == "pending" and self.effect.witnessed


class Reconciled(NamedTuple):
    """What asking the outside about one effect came to."""

    run: str
    effect: EffectHistory
    """As it is known now."""
    found: str
    """`happened`, `did_not_happen` or `unknown`; `not_asked` where it was neither asked nor sent again, and
    `because` says why."""
    because: str | None = None
    """What the outside said, in words, and how it was asked; or why it was not."""


def unsettled(edge: Edge, contract: Contract) -> Iterator[Unsettled]:
    """Yield what is unsettled in a run, in the order in which it became open."""
    now = edge.lease_now(edge.now())
    keys = [effect.key for effect in contract.effects]
    for first in range(0, len(keys), _UNSETTLED_AT_ONCE):
        some = keys[first : first + _UNSETTLED_AT_ONCE]
        found = effects_of(edge, some)
        for known in (found[key] for key in some if key in found):
            until = renewed_until(edge, known, now) or known.lease_until
            consent = consent_in(contract, known.key, edge.now())
            status = known.status_at(now, until)
            yield Unsettled(contract.run, status, known, until, consent, has_ended(contract))


def has_ended(contract: Contract) -> bool:
    """Tell whether nothing that a run intended is begun any more: it is closed, and no run succeeds it."""
    return contract.closed is not None and contract.closed.successor is None


def recorded_elsewhere(known: EffectHistory) -> ReconcileEffect | None:
    """Build what a run is told of an effect that it holds as unsettled and another of its lineage settled."""
    if not known.is_settled:
        return None
    return ReconcileEffect(
        evidence=f"recorded as {known.status} at position {known.position} of {known.run!r}",
        found="happened" if known.status == "succeeded" else "did_not_happen",
        key=known.key,
        method="late_outcome",
    )


def not_asked(one: Unsettled, tools: Mapping[str, Tool]) -> str | None:
    """Say why nobody can find out about an effect now; None: its tool has a probe, or is idempotent."""
    if one.waits:
        if one.ended:
            return NEVER_BEGUN
        return "nothing was sent: it waits for a person, or for its program to call again"
    if one.status == "executing":
        until = "" if one.lease_until is None else f" until {one.lease_until.isoformat()}"
        return f"{one.effect.worker} is executing it and holds its lease{until}"
    tool = tools.get(one.effect.tool)
    if tool is None:
        return f"no tool {one.effect.tool!r} is known here: register it with its probe"
    if tool.probe is None and tool.recovery is not Recovery.IDEMPOTENT:
        return f"{one.effect.tool!r} has no probe: a person has to find out, and settle it"
    return None


def oldest_first(found: Iterable[Unsettled]) -> list[Unsettled]:
    """Sort by when each was intended."""
    return sorted(found, key=lambda one: (one.effect.intended_at, one.effect.key))


def answers(tool: Tool) -> dict[str, Any]:
    """Say of a tool whether it may be done again, whether it changes the outside, and how one would know."""
    redo, know = _ANSWERS[tool.recovery]
    return {
        "tool": tool.name,
        "recovery": tool.recovery.value,
        "classified": tool.classified,
        "changes_the_outside": tool.recovery is not Recovery.READ_ONLY,
        "safe_to_redo": redo.format(span=_span(tool.dedupes_for)),
        "how_we_know": know,
        "description": tool.description,
    }


def _span(seconds: int | None) -> str:
    return "for ever" if seconds is None else f"for {seconds} s"


_ANSWERS: dict[Recovery, tuple[str, str]] = {
    Recovery.READ_ONLY: ("yes, it changes nothing", "there is nothing to know"),
    Recovery.IDEMPOTENT: ("yes, under its key, {span}", "the outside answers a key it knows with its result"),
    Recovery.QUERYABLE: ("after the outside says that it did not happen", "its probe asks the outside"),
    Recovery.TRANSACTIONAL: ("yes, it commits with its outcome", "the ledger's own database tells"),
    Recovery.OUTBOX: ("yes, the key is the id of its message", "the relay tells"),
    Recovery.AT_MOST_ONCE: ("no, never by itself", "a person has to find out"),
}
