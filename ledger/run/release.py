"""What a contract lets go of, so that what is open bounds it, not the length of the run."""

from __future__ import annotations

from ledger import events as e
from ledger.run.contract import WINDOW, Assumption, Contract, Observation
from ledger.run.resting import rested_on

RELEASING = frozenset(
    {
        e.ApprovalAnswered,
        e.AssumptionMade,
        e.AssumptionRefuted,
        e.CursorMoved,
        e.EffectFailed,
        e.EffectIntended,
        e.EffectReconciled,
        e.EffectSucceeded,
        e.GoalRevised,
        e.ObservationRecorded,
        e.PlanCommitted,
        e.PlanRevised,
    }
)
"""Events after which less may rest on something than before, or more is held."""


def released(contract: Contract) -> Contract:
    """Let go of refuted assumptions that nothing open rests on, and of all but the last such observations."""
    made = contract.assumptions
    crowded = len(contract.observations) > WINDOW
    if not crowded and not (made and any(assumption.refuted for assumption in made)):
        return contract
    rested = rested_on(contract)
    assumptions = tuple(a for a in made if _is_kept(a, rested))
    gone = tuple(a for a in made if not _is_kept(a, rested))
    observations = _latest(contract.observations, rested) if crowded else contract.observations
    if len(assumptions) == len(made) and len(observations) == len(contract.observations):
        return contract
    refuted = (*contract.refuted, *gone)[-WINDOW:]
    return contract.with_fields(
        {"assumptions": assumptions, "observations": observations, "refuted": refuted}
    )


def _is_kept(assumption: Assumption, rested: frozenset[str]) -> bool:
    return assumption.refuted is None or f"assumption:{assumption.id}" in rested


def _latest(observations: tuple[Observation, ...], rested: frozenset[str]) -> tuple[Observation, ...]:
    free = [seen.key for seen in observations if f"observation:{seen.key}" not in rested]
    gone = frozenset(free[: max(0, len(free) - WINDOW)])
    return tuple(seen for seen in observations if seen.key not in gone)
