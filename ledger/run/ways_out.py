"""What leads on from where a run stands: what is said to which run, and why.

It speaks of commands of the ledger. How one of them is typed or sent, an adapter knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ledger.events import Reason
from ledger.run.approvals import is_denied, why_void
from ledger.run.contract import Contract
from ledger.run.markdown import quoted
from ledger.run.outside import OpenEffect
from ledger.values import FrozenMap, Id, Labels, RunId, Text, Value


class Remedy(NamedTuple):
    """The command that records an event which clears a reason."""

    command: str
    names: tuple[str, ...] = ()
    """Fields of it that are known of what the reason speaks of."""
    members: tuple[str, ...] = ()
    """Where in the contract that stands."""
    places: tuple[str, ...] = ("position",)
    """Fields of such a member that may hold the position which the reason names."""


REMEDIES: dict[str, Remedy] = {
    "approval.requested": Remedy("approval.request", ("key",), ("approvals",)),
    "assumption.refuted": Remedy("assumption.refute", ("id",), ("assumptions",)),
    "authority.granted": Remedy("authority.grant", ("principal",), ("revoked", "grants")),
    "authority.renewed": Remedy("authority.renew", ("id",), ("grants",)),
    "constraint.accepted": Remedy("constraint.accept", ("id",), ("constraints",)),
    "constraint.revision_acknowledged": Remedy(
        "constraint.acknowledge_revision", ("source",), ("sources",), ("stated_at",)
    ),
    "goal.revised": Remedy("goal.revise"),
    "observation.recorded": Remedy(
        "observation.record", ("key", "tool"), ("observations",), ("position", "invalidated_at")
    ),
    "plan.revised": Remedy("plan.revise"),
    "run.restarted": Remedy("run.restart"),
    "runtime.adopted": Remedy("runtime.adopt"),
}
"""By the event that clears a reason. What is not here is cleared by settling effects, or by no command."""

_ASKED = frozenset({"probe", "send_again"})


class WayOut(Value):
    """One step that leads on."""

    command: Id | None = None
    """The command of the ledger that is said; None: nothing is, that run is looked at."""
    command_lines: tuple[Text, ...] = ()
    """How it is typed, the first one first and the others instead of it: what `intent-ledger brief` adds.
    Words in capitals are to be filled in."""
    fields: Labels = FrozenMap()
    """What is known of the command's fields, as text, a source as KIND:NAME; may hold nothing."""
    reason: Reason | None = None
    """The gate's reason that it clears."""
    run: RunId
    """The run that it is said to."""
    why: Text


def ways_out(
    contract: Contract, unsettled: Sequence[OpenEffect], now: datetime, children: Iterable[str] = ()
) -> Iterator[WayOut]:
    """Name what leads on, in the order in which it is best done; `now` judges what has expired.

    `children` have not ended: where their parent has, each goes on, or is to be ended, by itself.
    """
    successor = None if contract.closed is None else contract.closed.successor
    if successor is not None:
        yield _way(None, successor, "this run was restarted: its successor answers for all of it")
        return
    yield from _settling(contract.run, unsettled)
    if contract.closed is not None:
        for child in children:
            yield _way(
                "run.close", child, "its parent has ended, and it has not: it goes on until it is ended, too"
            )
        return
    if contract.fork_of is not None:
        yield _way(None, contract.fork_of, "this run is a fork and performs nothing: see its origin")
        return
    for reason in () if contract.held is None else contract.held.reasons:
        remedy = REMEDIES.get(reason.cleared_by)
        if remedy is not None:
            fields = _known(remedy, spoken_of(contract, reason))
            yield _way(remedy.command, contract.run, reason.what, fields, reason)
    yield from _approving(contract, now)
    yield _way("run.resume", contract.run, _resuming(contract))


def spoken_of(contract: Contract, reason: Reason) -> Any:
    """Find the member of the contract that a reason speaks of.

    A grant, in force or revoked, a constraint, an assumption, an observation, or a source that is followed.
    None: it speaks of none of these, or of one that is not there any more.
    """
    remedy = REMEDIES.get(reason.cleared_by)
    if remedy is None or reason.position is None:
        return None
    members = (member for where in remedy.members for member in getattr(contract, where))
    return next((one for one in members if reason.position in _positions(one, remedy)), None)


def _positions(member: Any, remedy: Remedy) -> tuple[int | None, ...]:
    return tuple(getattr(member, place) for place in remedy.places)


def _known(remedy: Remedy, member: Any) -> dict[str, str]:
    found = {} if member is None else {name: getattr(member, name) for name in remedy.names}
    return {name: text for name, text in found.items() if text is not None}


def _way(
    command: str | None,
    run: str,
    why: str,
    fields: dict[str, str] | None = None,
    reason: Reason | None = None,
) -> WayOut:
    return WayOut.unchecked(
        {
            "command": command,
            "command_lines": (),
            "fields": FrozenMap(fields or {}),
            "reason": reason,
            "run": run,
            "why": why,
        }
    )


def _settling(run: str, unsettled: Sequence[OpenEffect]) -> Iterator[WayOut]:
    asked = sorted({effect.tool for effect in unsettled if effect.way in _ASKED})
    if asked:
        yield _way("effect.reconcile", run, f"asks the outside about {', '.join(asked)}")
    for effect in unsettled:
        if effect.way == "person":
            why = f"a person has to find out whether {effect.tool} happened"
            yield _way("effect.reconcile", run, why, {"key": effect.key, "method": "person"})


def _approving(contract: Contract, now: datetime) -> Iterator[WayOut]:
    """Name what people are asked, or to be asked anew, unless the gate has named that already."""
    reasons = () if contract.held is None else contract.held.reasons
    named = {reason.position for reason in reasons if reason.cleared_by == "approval.requested"}
    for approval in contract.approvals:
        if is_denied(approval) or approval.position in named:
            continue
        void = why_void(contract, approval, max(now, contract.at))
        if void is not None:
            why = f"approval {approval.id} is void: {void}"
            yield _way("approval.request", contract.run, why, {"key": approval.key})
        elif approval.answered is None:
            asked = approval.question
            why = "an act waits for a person" + ("" if asked is None else f": {quoted(asked)}")
            yield _way("approval.answer", contract.run, why, {"id": approval.id})


def _resuming(contract: Contract) -> str:
    if contract.held is not None:
        return "asks again, and says of each reason what clears it"
    if contract.stopped is not None and contract.stopped.rival is None:
        return "asks whether it may go on"
    return "asks whether it may go on; while its program is alive, only who takes it over may"
