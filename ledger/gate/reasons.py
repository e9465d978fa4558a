"""The kinds of reasons: which verdict each calls for, and which event clears it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from ledger.events import Reason
from ledger.run.decision import Judgement
from ledger.values import Verdict


class Kind(NamedTuple):
    """What a reason of one kind means."""

    verdict: Verdict
    cleared_by: str
    """Name of the event that clears it."""
    meaning: str
    """When it is given, for the reference."""


_V = Verdict

KINDS: dict[str, Kind] = {
    # The run cannot be read, or has ended.
    "newer_format": Kind(_V.REFUSE, "upgrade", "the record has a format that this program does not know"),
    "unknown_event": Kind(_V.REFUSE, "upgrade", "the record holds an event that this program does not know"),
    "undecodable": Kind(_V.REFUSE, "upgrade", "a record is whole, but does not decode as what it names"),
    "chain_broken": Kind(_V.REFUSE, "a person", "the record is not what was written: run `verify`"),
    "closed": Kind(_V.REFUSE, "run.opened", "the run has ended: what is left to do needs another one"),
    # What the run was for, or was bound by, is gone.
    "constraint_withdrawn": Kind(
        _V.RESTART, "run.restarted", "an accepted constraint was withdrawn at its source"
    ),
    "goal_refuted": Kind(_V.RESTART, "run.restarted", "the goal rests on a refuted assumption"),
    "plan_refuted": Kind(_V.RESTART, "run.restarted", "every remaining step rests on a refuted assumption"),
    "ended_above": Kind(
        _V.RESTART, "run.restarted", "a run that this one is a part of was cancelled, failed or abandoned"
    ),
    # Who may act has to be said anew.
    "suspended_above": Kind(
        _V.REAPPROVE, "run.resumed", "a run that this one is a part of is suspended: that one has to go on"
    ),
    "authority_expired": Kind(_V.REAPPROVE, "authority.renewed", "a grant has ended"),
    "authority_exhausted": Kind(_V.REAPPROVE, "authority.renewed", "the budget of a grant is used up"),
    "authority_of_another_session": Kind(
        _V.REAPPROVE, "authority.renewed", "a grant is for another session of who asks"
    ),
    "authority_on_resume": Kind(
        _V.REAPPROVE,
        "authority.renewed",
        "a grant says reapprove on resume, or has a session or a partly spent budget and does not say",
    ),
    "authority_revoked": Kind(_V.REAPPROVE, "authority.granted", "a grant was revoked"),
    "authority_missing": Kind(_V.REAPPROVE, "authority.granted", "no grant is for the agent that asks"),
    "approval_void": Kind(
        _V.REAPPROVE,
        "approval.requested",
        "terms, plan or runtime changed after an approval was requested, or it expired",
    ),
    "limit_reached": Kind(
        _V.REAPPROVE, "authority.granted", "a limit stopped the run, and an agent asks to go on"
    ),
    # What happened outside has to be found out.
    "effect_executing": Kind(_V.RECONCILE, "effect.succeeded", "a worker holds the lease of an effect"),
    "effect_unknown": Kind(_V.RECONCILE, "effect.reconciled", "nobody knows whether an effect happened"),
    "effect_disputed": Kind(_V.RECONCILE, "effect.reconciled", "reports about an effect contradict"),
    "still_running": Kind(_V.RECONCILE, "run.resumed", "somebody else is at work on the run: take it over"),
    # What is known, or meant to be done, has to be looked at again.
    "observation_stale": Kind(
        _V.REPLAN, "observation.recorded", "something rests on an observation past its half-life"
    ),
    "observation_invalidated": Kind(
        _V.REPLAN, "observation.recorded", "something rests on an observation that must not be relied on"
    ),
    "constraint_reworded": Kind(
        _V.REPLAN, "constraint.accepted", "the source of an accepted constraint has other words for it"
    ),
    "source_revised": Kind(
        _V.REPLAN,
        "constraint.revision_acknowledged",
        "a source of accepted constraints has a newer revision",
    ),
    "source_unchecked": Kind(_V.REPLAN, "observation.recorded", "a source was not read within `check_every`"),
    "runtime_changed": Kind(_V.REPLAN, "runtime.adopted", "what would go on is not what was running"),
    "assumption_refuted": Kind(
        _V.REPLAN, "plan.revised", "some remaining steps rest on a refuted assumption"
    ),
    "assumption_in_doubt": Kind(
        _V.REPLAN, "assumption.refuted", "an assumption rests on a refuted one, and has to be judged itself"
    ),
    "observation_in_doubt": Kind(
        _V.REPLAN, "observation.recorded", "what the next step needs rests on a refuted assumption"
    ),
    "idle": Kind(
        _V.REPLAN, "goal.revised", "nothing was heard of the run for long: does its goal still hold?"
    ),
}
"""All kinds of reasons, by name."""

STRICTNESS: dict[Verdict, int] = {verdict: place for place, verdict in enumerate(Verdict)}
"""How strict each verdict is, from `continue` on."""


def reason(
    kind: str,
    what: str,
    *,
    position: int | None = None,
    since: datetime | None = None,
    who: str | None = None,
    cleared_by: str | None = None,
) -> Reason:
    """Build a reason of one of the kinds."""
    return Reason(
        cleared_by=cleared_by or KINDS[kind].cleared_by,
        kind=kind,
        position=position,
        since=since,
        what=what,
        who=who,
    )


def verdict_of(reasons: Iterable[Reason]) -> Verdict:
    """Return the strictest verdict that a reason calls for; without any it is `continue`."""
    verdicts = (KINDS[one.kind].verdict for one in reasons)
    return max(verdicts, key=STRICTNESS.__getitem__, default=Verdict.CONTINUE)


def judgement(reasons: Iterable[Reason]) -> Judgement:
    """Put reasons together, each once: the strictest first, then in the order of the run."""
    found = sorted(dict.fromkeys(reasons), key=_place)
    live = any(one.kind == "still_running" for one in found)
    return Judgement(tuple(found), verdict_of(found), live)


def _place(one: Reason) -> tuple[int, int, str, str]:
    return (-STRICTNESS[KINDS[one.kind].verdict], one.position or 0, one.kind, one.what)
