"""What acts on the outside, and whoever is at work, have against going on."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.events import Reason
from ledger.gate.question import Question
from ledger.gate.reasons import reason
from ledger.run.contract import Contract, Effect
from ledger.run.decision import is_agent
from ledger.run.known import after


def on_effects(contract: Contract, question: Question) -> Iterator[Reason]:
    """Yield effects whose outcome is open. One that waits for an answer, or for a relay, bars nothing."""
    for effect in contract.effects:
        name = f"{effect.tool} {effect.key[:12]}"
        if effect.status == "disputed":
            what = f"reports about {name} contradict each other: a person has to find out"
            yield _reason("effect_disputed", what, effect)
        elif _is_leased(effect, question):
            # Until when is not told: it moves with each renewal, and would make it another reason.
            who = "" if effect.worker is None else f" by {effect.worker}"
            yield _reason("effect_executing", f"{name} is being executed{who}", effect)
        elif effect.status in ("executing", "unknown") or not effect.witnessed:
            yield _reason("effect_unknown", f"nobody knows whether {name} happened", effect)


def _is_leased(effect: Effect, question: Question) -> bool:
    """Tell whether a worker holds the lease of an effect."""
    ends = filter(None, (effect.lease_until, question.leases.get(effect.key)))
    now = question.lease_now or question.now
    return effect.status == "executing" and any(end > now for end in ends)


def _reason(kind: str, what: str, effect: Effect) -> Reason:
    if effect.inherited_from is not None:
        return reason(kind, f"{what} (of {effect.inherited_from!r})", since=effect.at)
    return reason(kind, what, position=effect.position, since=effect.at)


def on_life(contract: Contract, question: Question) -> Iterator[Reason]:
    """Yield that nobody stopped the run, and its program gave a sign of life lately, somewhere else.

    So does one inside of an act, for as long as its lease lasts: who asks must not hold it for being at work.
    Who worked on it in the same session may go on: it is that program, started again. One that said that it
    rests waits for somebody, and holds nobody off. An agent that is not
    its program may suspend it, but no agent goes on with it for that before it has fallen silent.
    """
    alive, actor = contract.alive, question.actor
    stopped = contract.stopped
    rival = None if stopped is None or not is_agent(actor) else stopped.rival
    if (stopped is not None and rival is None) or question.take_over or _is_untouched(contract):
        return
    if alive.rests or (actor.id, actor.session) in (
        (alive.by, alive.session),
        (alive.served_by, alive.served_in),
    ):
        return
    leased = any(one.inherited_from is None and _is_leased(one, question) for one in contract.effects)
    if leased or question.now < after(alive.at, question.live_seconds):
        session = "" if alive.session is None else f" in session {alive.session}"
        what = f"{alive.by}{session} is at work on it"
        if rival is not None:
            what += f": {rival}, which suspended it, is not its program"
        yield reason("still_running", what, position=alive.position, since=alive.at, who=alive.by)


def _is_untouched(contract: Contract) -> bool:
    """Tell whether no program works on the run yet: who lets one go on by hand, or opens a successor or fork.

    What a fork begins with, moves and messages included, is stated in the moment in which it is opened.
    """
    if contract.resumed_position > contract.alive.position:
        return True
    if contract.fork_of is not None:
        return contract.alive.at == contract.opened_at
    return contract.predecessor is not None and contract.alive.position <= 2
