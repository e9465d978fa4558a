"""What grants, approvals and limits have against going on."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ledger.events import Reason
from ledger.gate.question import Question
from ledger.gate.reasons import reason
from ledger.run.approvals import is_denied, why_void
from ledger.run.authority import is_used_up, scopes_cover
from ledger.run.contract import Contract, Grant
from ledger.run.decision import acting
from ledger.run.execution import merged
from ledger.run.limits import CAUSES
from ledger.run.markdown import quoted, shortened
from ledger.run.standing import Revoked


def on_authority(contract: Contract, question: Question) -> Iterator[Reason]:
    """Yield grants that lapsed or have to be given anew, unless another one in force covers them."""
    lapses = [(grant, list(_lapses(contract, grant, question))) for grant in contract.grants]
    valid = [grant for grant, found in lapses if not found]
    for grant, found in lapses:
        if found and not any(covers(other, grant) for other in valid):
            yield from found
    for gone in contract.revoked:
        if gone.principal is None:  # what this run never held was not taken from it
            continue
        # Who grants less instead, or confirms what somebody else has, says so with the revocation in view.
        if not any(covers(other, gone) or _said_at(other) > gone.position for other in valid) and not any(
            other.principal == gone.principal and other.position > gone.position for other in contract.grants
        ):
            what = f"grant {gone.id!r} was revoked: {quoted(shortened(gone.reason))}"
            yield reason("authority_revoked", what, position=gone.position, since=gone.at, who=gone.by)
    decides = acting(question.actor)
    if not contract.authority_needed or not decides.startswith("agent:"):
        return
    if not any(grant.principal == decides for grant in contract.grants):
        yield reason("authority_missing", f"each act needs a grant, and none is for {decides}")


def covers(grant: Grant, other: Grant | Revoked) -> bool:
    """Tell whether a grant allows all that another one allows, by principal and scopes."""
    return grant.principal == other.principal and scopes_cover(grant.scopes, other.scopes)


def _lapses(contract: Contract, grant: Grant, question: Question) -> Iterator[Reason]:
    name = f"grant {grant.id!r} of {grant.principal}"
    if grant.expires_at is not None and grant.expires_at <= question.latest(contract):
        yield _of(grant, "authority_expired", f"{name} has ended", grant.expires_at)
    if is_used_up(grant):
        yield _of(grant, "authority_exhausted", f"the budget of {name} is used up", None)
    session = question.actor.session
    if grant.session is not None and grant.session != session and acting(question.actor) == grant.principal:
        asks = "another one" if session is None else session
        what = f"{name} is for session {grant.session}, and {asks} asks"
        # No renewal turns a grant for one session into one for any.
        yield _of(grant, "authority_of_another_session", what, None, session is None)
    # What is said after the program fell silent is said with its stop in view.
    if _asks_again(grant) and _said_at(grant) <= contract.alive.position:
        yield _of(grant, "authority_on_resume", f"{name} has to be confirmed when the run goes on", None)


def _of(grant: Grant, kind: str, what: str, since: datetime | None, only_anew: bool = False) -> Reason:
    cleared_by = "authority.granted" if only_anew else None
    place = grant.position
    return reason(kind, what, position=place, since=since, who=grant.granted_by, cleared_by=cleared_by)


def _said_at(grant: Grant) -> int:
    """Return where somebody gave or confirmed a grant last."""
    return grant.renewed_at or grant.position


def _asks_again(grant: Grant) -> bool:
    if grant.on_resume is not None:
        return grant.on_resume == "reapprove"
    return grant.session is not None or bool(grant.budget is not None and (grant.spent or grant.reserved))


def on_approvals(contract: Contract, question: Question) -> Iterator[Reason]:
    """Yield approvals that bind no more to what they were asked under; of each act the last one counts.

    One that was given, and whose act neither waits nor is in doubt here, bars nothing: the act failed, maybe
    another run has done it since, and where it is to be tried again it is asked about anew.
    """
    open_ = {effect.key for effect in contract.effects}
    newest = {approval.key: approval for approval in contract.approvals}
    for approval in newest.values():
        if is_denied(approval) or (approval.answered is not None and approval.key not in open_):
            continue
        latest, cleared_by = question.latest(contract), None
        why = why_void(contract, approval, latest)
        if why is None:
            # What is not said of the runtime that would go on stays as it was. Until it is adopted, what is
            # asked anew would be asked under the other one.
            why = why_void(contract, approval, latest, merged(contract.runtime, question.runtime))
            cleared_by = "runtime.adopted"
        if why is not None:
            what = f"approval {approval.id!r} of {approval.key[:12]} is void: {why}"
            place, since = approval.position, approval.at
            yield reason("approval_void", what, position=place, since=since, cleared_by=cleared_by)


def on_limits(contract: Contract, question: Question) -> Iterator[Reason]:
    """Yield the limit that stopped the run: a person or service lets it go on, or grants something."""
    stopped = contract.suspended
    if stopped is None or stopped.cause not in CAUSES or not acting(question.actor).startswith("agent:"):
        return
    # A narrower grant in the place of one gives nothing to go on with.
    if any(
        _said_at(grant) > stopped.position
        for grant in contract.grants
        if grant.carved_from is None or grant.renewed_at is not None
    ):
        return
    yield reason("limit_reached", stopped.reason, position=stopped.position, since=stopped.at)
