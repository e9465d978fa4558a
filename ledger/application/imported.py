"""What an agent may import: facts of what it did, and nothing that only people and services may say."""

from __future__ import annotations

from collections.abc import Sequence

from ledger.application.refusals import refusal_error
from ledger.events import (
    AuthorityGranted,
    AuthorityRenewed,
    AuthorityReturned,
    ConstraintAccepted,
    ConstraintWithdrawn,
    EffectReconciled,
    Event,
    MessageRecorded,
    ObligationTransferred,
    ObligationWaived,
    ReviewSigned,
)
from ledger.run.contract import Contract
from ledger.run.decision import Refusal, acting, is_agent
from ledger.values import Actor, Change

NEVER = (
    AuthorityGranted,
    AuthorityRenewed,
    AuthorityReturned,
    ConstraintWithdrawn,
    ObligationTransferred,
    ObligationWaived,
    ReviewSigned,
)
"""What only commands come to that are not for agents. An answer to a request for approval is none of them:
the fold counts none that an agent wrote."""


def refuse_agents(actor: Actor, events: Sequence[Event], contract: Contract | None) -> None:
    """Refuse events that give an agent more than it may, or take from it what binds it.

    What is imported is decided by no rule, so that an agent could grant itself authority and let go of
    constraints by it. A run that begins with the import is its own: it could open one as well.

    Args:
        actor: who imports.
        events: what is imported together.
        contract: of the run before them; None: there is no run, and nothing is refused.

    Raises:
        NotForAgents: an agent imports, or a service for one, and one of the events is not for it.
    """
    if contract is None or not is_agent(actor):
        return
    taken = {one.id for one in contract.constraints}
    for event in events:
        if _is_forbidden(event, taken):
            reason = f"{event.name} says what is not for agents to say, so that {acting(actor)} imports none"
            evidence = {"actor": acting(actor), "event": event.name}
            raise refusal_error(Refusal("not_for_agents", reason, evidence=evidence))
        if isinstance(event, ConstraintAccepted):
            taken.add(event.id)


def _is_forbidden(event: Event, taken: set[str]) -> bool:
    if isinstance(event, ConstraintAccepted):
        # One that takes the place of another lets go of that.
        return event.change is Change.RELAXED or event.id in taken
    if isinstance(event, EffectReconciled):
        return event.method == "person"
    if isinstance(event, MessageRecorded):
        return event.role == "ledger"
    return isinstance(event, NEVER)
