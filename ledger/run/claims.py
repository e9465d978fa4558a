"""Claims: whether an act may begin now, and as which attempt.

Looked at in this order: whether the run is a part of one that was stopped, what is recorded under the key
already, what the contract says (plan, authority, assumptions, sources, rules), whether the same act was done
under another key, and whether a person has to approve it. Nothing is read on the way of a claim that is new,
but in a child what stands above it: the append itself fails where its key was claimed or its act intended
before, and then it is decided again on what the store holds of both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from ledger.codec import act_digest
from ledger.commands import ClaimEffect
from ledger.events import EffectRefused, EffectStarted
from ledger.run.above import stopped_above
from ledger.run.asked import Asked, asked_of, intended, names_of, place_in, positions, refused
from ledger.run.begun_before import lapse, once_more, repeated, unsettled
from ledger.run.consent import Waiting, consent_to
from ledger.run.contract import Contract
from ledger.run.decision import Act, Admitted, Decision, Given, Refusal
from ledger.run.known import after
from ledger.run.outcomes import stands_in
from ledger.run.permits import CHECKS, covered_by, forbidden_look
from ledger.values import FrozenMap, Recovery

__all__ = ["claim", "names_of", "objections", "sources_of", "to_look_up"]


def to_look_up(contract: Contract, command: ClaimEffect) -> bool:
    """Tell whether a claim is decided on what the store holds of its key and act, from the first try on."""
    if contract.fork_of is not None or command.undone_by is not None or command.given is not None:
        # A name may be that of another act which waits somewhere: that claimed no attempt, so no append of
        # this one would find it.
        return True
    if not (contract.effects or contract.approvals):
        return False
    names = names_of(contract, command)
    if any(approval.key == names.key for approval in contract.approvals):
        return True
    return any(effect.key == names.key or effect.act == names.act for effect in contract.effects)


def claim(contract: Contract, command: ClaimEffect, given: Given) -> Decision:
    """Admit the next attempt at an act, tell where its result stands, or say why it must not begin.

    An act that a person has to approve is admitted as one that waits: its intention is recorded, and the
    request. Who asked is told so by `told`.
    """
    asked = asked_of(contract, command, given)
    answered = _answered(asked)
    if answered is not None:
        return answered
    refusal = next(_before_consent(asked), None)
    if refusal is not None:
        return refusal
    consent = consent_to(asked)
    if isinstance(consent, Refusal):
        return consent
    guards = positions(asked)
    if isinstance(consent, Waiting):
        return Admitted(consent.events, guards, fresh=_fresh(asked) if consent.intends else ())
    return _admitted(asked, consent, guards)


def objections(contract: Contract, command: ClaimEffect, given: Given) -> Iterator[Refusal]:
    """Yield all that is against an act beginning now, and not only what would be told first.

    Nothing is said of an act that was done: its result is told.
    """
    asked = asked_of(contract, command, given)
    answered = _answered(asked)
    if answered is not None:
        if isinstance(answered, Refusal):
            yield answered
        return
    yield from _before_consent(asked)
    consent = consent_to(asked)
    if isinstance(consent, Refusal):
        yield consent
    elif isinstance(consent, Waiting):
        yield consent.refusal


def _answered(asked: Asked) -> Decision | None:
    """Answer what begins nothing: arguments that hold a secret, a look, and an act that was done."""
    contract, command, known = asked.contract, asked.command, asked.looked.effect
    if asked.given.secret is not None:
        return _with_secret(asked, asked.given.secret)
    if command.recovery is Recovery.READ_ONLY:
        return forbidden_look(asked) or stands_in(contract, contract.run, contract.position)
    if known is None or known.act != asked.names.act or known.status != "succeeded":
        return None
    return once_more(asked, known) or stands_in(contract, known.run, known.position)


def _before_consent(asked: Asked) -> Iterator[Refusal]:
    """Yield what is against an act, in the order in which it is looked at, but that nobody approved it."""
    contract, known = asked.contract, asked.looked.effect
    stopped = stopped_above(contract, asked.given.others)
    if stopped is not None:
        yield stopped
    if known is not None and known.act != asked.names.act:
        yield refused(
            asked,
            "key_conflict",
            f"the key {asked.command.given!r} was used for other arguments at position {known.position}"
            f" of {known.run!r}",
            place_in(asked, known),
            key=known.key,
            run=known.run,
        )
        known = None
    if contract.fork_of is not None:
        reason = f"{contract.run!r} is a fork of {contract.fork_of!r}: it reads results and performs nothing"
        yield refused(asked, "effects_disabled", reason)
    begun = None if known is None else unsettled(asked, known)
    if begun is not None:
        yield begun
    for check in (*CHECKS, repeated):
        refusal = check(asked)
        if refusal is not None:
            yield refusal


# --- what is appended -------------------------------------------------------------------------------


def _admitted(asked: Asked, approval: str | None, guards: FrozenMap) -> Admitted:
    known, names = asked.looked.effect, asked.names
    event = intended(
        asked,
        approval=approval,
        authority=covered_by(asked).grants,
        reserved=asked.command.reserved,
        source_positions=guards or None,
    )
    started = EffectStarted.unchecked(
        {
            "attempt": 1 if known is None else known.attempt + 1,
            "key": names.key,
            "lease_until": _lease_until(asked),
            "root": asked.contract.root,
            "source_positions": None,
            "worker": asked.command.worker,
        }
    )
    lapsed = () if known is None else lapse(known, asked)
    return Admitted((*lapsed, event, started), guards, fresh=_fresh(asked))


def _fresh(asked: Asked) -> tuple[Act, ...]:
    # What begins, or waits, between the look and the append is an intention more.
    return (Act(act_digest(asked.names.act), asked.looked.intentions),)


def _lease_until(asked: Asked) -> datetime:
    """Return when the lease ends: before the outside may have forgotten the key of an earlier send."""
    end = after(asked.given.for_leases, asked.command.lease_seconds)
    known = asked.looked.effect
    if known is None or known.status not in ("executing", "unknown"):
        return end
    forgets = known.forgotten_at(asked.command.dedupes_for)
    return end if forgets is None else min(end, forgets)


def _with_secret(asked: Asked, where: str) -> Refusal:
    """Refuse arguments that hold a secret, and record nothing that tells it, digests included."""
    command = asked.command
    event = EffectRefused(rule="secret_found", step=command.step, tool=command.tool)
    evidence = {"tool": command.tool, "where": where}
    return Refusal(
        "secret_found", f"the arguments of {command.tool!r} hold a secret: {where}", None, evidence, (event,)
    )


def sources_of(contract: Contract) -> Iterable[str]:
    """List the source streams that the constraints of a contract come from, each once and by name."""
    return sorted({c.source.stream for c in contract.constraints if c.source is not None})
