"""What waits for a person."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import islice
from typing import Any, Literal, NamedTuple, Unpack

from ledger.application.edge import Edge
from ledger.application.ledger import Ledger, edge_of
from ledger.application.looking import all_under_each
from ledger.application.rows import decoded
from ledger.codec import effect_digest
from ledger.errors import IntegrityError, UndecodableRecord
from ledger.events import EffectIntended
from ledger.record import broken
from ledger.run.approvals import is_denied, why_unbound, why_void
from ledger.run.contract import Approval, Constraint, Contract, by_id
from ledger.run.rules import asks_approval
from ledger.run.saving import restore
from projections.questions.base import Asked
from projections.views.base import OF_RUNS, Asking, Selection, View, over, view

State = Literal["pending", "void", "expired", "approved", "denied"]

_RUNS_AT_ONCE = 50


class Demand(NamedTuple):
    """A constraint whose rule says that a person must approve the act."""

    id: str
    text: str
    source: str | None
    """`kind:name`; None: it comes from no source."""
    revision: str | None
    asserted_by: str
    position: int


class Requested(NamedTuple):
    """A request for approval whose act is not done, of a run that has not ended."""

    run: str
    id: str
    key: str
    """Of the act."""
    tool: str | None
    """None, as step and arguments are: nobody has recorded what was intended under the key."""
    step: str | None
    args: str | None
    """As canonical JSON, with what the tool declares by default where that is recorded."""
    question: str | None
    requested_by: str | None
    """Who decides there: they cannot answer. None: that is not known."""
    demanded_by: tuple[Demand, ...]
    """By the constraints in force now; empty also where the tool itself asks for it."""
    state: State
    """By the first answer that counts. `void` and `expired`: it binds no more, approved or not answered."""
    void: str | None
    """Why it binds no more; whether the tool is still the same is only known when the act is claimed."""
    expires_at: datetime | None
    answered_by: str | None
    answered_at: datetime | None
    answered_position: int | None
    reason: str | None
    """Of the answer."""
    goal: str
    """Of the run."""
    at: datetime
    position: int


_COLUMNS = {
    "run": "o.run",
    "id": "o.id",
    "key": "o.key",
    "question": "o.question",
    "requested_by": "o.requested_by",
    "answer": "o.answer",
    "expires_at": "o.expires_at",
    "answered_by": "o.answered_by",
    "answered_at": "o.answered_at",
    "answered_position": "o.answered_position",
    "reason": "o.reason",
    "goal": "r.goal",
    "at": "o.at",
    "position": "o.position",
}


def approvals(ledger: Ledger, *, pending: bool = False, **asking: Unpack[Asking]) -> View[Requested]:
    """List requests for approval, what expires first in front; `pending`: what can be answered still."""
    edge, altered = edge_of(ledger), list[str]()
    selection = Selection(
        _COLUMNS,
        "{runs.approvals} AS o " + OF_RUNS,
        "CASE WHEN o.expires_at IS NULL THEN 1 ELSE 0 END, o.expires_at, o.run, o.position, o.id",
        [
            ("r.status <> 'closed'", True),
            ("o.answer IS NULL", pending or None),
            ("(o.expires_at IS NULL OR o.expires_at > :now)", pending or None),
        ],
        {},
        lambda asked, rows: altered.extend(_look_closer(edge, asked, rows)),
    )
    found = view(ledger, selection, lambda fields, now: Requested(**fields), asking)
    found = found._replace(left_out=(*found.left_out, *altered))
    if pending:
        return found._replace(rows=[one for one in found.rows if one.state == "pending"])
    return found


def _look_closer(edge: Edge, asked: Asked, rows: list[dict[str, Any]]) -> list[str]:
    """Say of requests what they are about, and whether they bind, by the contracts of their runs.

    Runs of which somebody altered what was intended are left out, with a note, and returned.
    """
    left_out: list[str] = []
    by_run: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_run.setdefault(row["run"], []).append(row)
    runs = iter(by_run)
    while some := tuple(islice(runs, _RUNS_AT_ONCE)):
        acts: dict[str, EffectIntended] = {}
        try:
            acts = _acts(edge, (row["key"] for run in some for row in by_run[run]))
        except (IntegrityError, UndecodableRecord):
            for run in some:
                try:
                    acts |= _acts(edge, (row["key"] for row in by_run[run]))
                except (IntegrityError, UndecodableRecord) as error:
                    asked.note(f"what waits in run {run!r} is left out: {error}")
                    left_out.append(run)
        for run, position, state in asked.select(_CONTRACTS, runs=some):
            if run in left_out:
                continue
            contract = restore(state)
            if contract is None:
                raise broken(run, position, "the contract in its row is not what was saved")
            for row in by_run[run]:
                _fill(row, contract, acts.get(row["key"]), asked.now)
    rows[:] = [row for row in rows if row["run"] not in left_out]
    return left_out


_CONTRACTS = "SELECT r.run, r.position, r.contract FROM {runs.runs} AS r WHERE r.run IN :runs"


def _acts(edge: Edge, keys: Iterable[str]) -> dict[str, EffectIntended]:
    """Read what was intended last under keys, by whichever run of a lineage."""
    digests = [effect_digest(key) for key in dict.fromkeys(keys)]
    found = map(decoded, all_under_each(edge, digests))
    return {record.event.key: record.event for record in found if isinstance(record.event, EffectIntended)}


def _fill(row: dict[str, Any], contract: Contract, act: EffectIntended | None, clock: datetime) -> None:
    approval = by_id(contract.approvals, row["id"])
    assert approval is not None, "the row stands for it"
    # What had ended when something was recorded has ended.
    now = max(clock, contract.at)
    args = None if act is None else act.args_in_full or act.args
    row.update(
        args=args,
        demanded_by=() if act is None or args is None else tuple(_demands(contract, act.tool, args, now)),
        step=None if act is None else act.step,
        tool=None if act is None else act.tool,
    )
    row["state"], row["void"] = _state(contract, approval, now)
    del row["answer"]


def _state(contract: Contract, approval: Approval, now: datetime) -> tuple[State, str | None]:
    if is_denied(approval):
        return "denied", why_unbound(contract, approval)
    void = why_void(contract, approval, now)
    if void is not None:
        return "expired" if over(approval.expires_at, now) else "void", void
    return "pending" if approval.answered is None else "approved", None


def _demands(contract: Contract, tool: str, args: str, now: datetime) -> Iterable[Demand]:
    for one in contract.in_force(now):
        if one.rule is not None and asks_approval(one.rule, tool, args):
            yield _demand(one)


def _demand(one: Constraint) -> Demand:
    stream, revision = (None, None) if one.source is None else (one.source.stream, one.source.revision)
    return Demand(one.id, one.text, stream, revision, one.asserted_by, one.position)
