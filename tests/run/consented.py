"""What a record says of an act that was begun: what was in force, and what was asked and answered before it.

It is read from the events alone, without anything that decides or folds them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from ledger import events as e
from ledger.record import Record
from ledger.values import Actor, Operator, Predicate, Rule

OVER_100 = Predicate(operator=Operator.GREATER, path="/amount", value="100")
RULES = {
    "ask-all": Rule(needs_approval=True),
    "ask-over-100": Rule(needs_approval=True, when=(OVER_100,)),
    "at-most-200": Rule(require=(Predicate(operator=Operator.AT_MOST, path="/amount", value="200"),)),
    "no-refunds": Rule(deny=("refund",)),
}
"""By the ids of the constraints that have them; none of the ids ever has another one."""


class Facts(NamedTuple):
    """What the record of a run says at one place, read without the code under test."""

    rules: dict[str, Rule]
    records: Sequence[Record]


def facts(records: Sequence[Record]) -> Facts:
    rules: dict[str, Rule] = {}
    for record in records:
        event = record.event
        if isinstance(event, e.ConstraintAccepted) and event.rule is not None:
            rules[event.id] = event.rule
        if isinstance(event, e.ConstraintWithdrawn):
            rules.pop(event.id, None)
    return Facts(rules, records)


def amount_of(event: e.EffectIntended) -> int:
    return int(json.loads(event.args)["amount"])


def forbids(found: Facts, event: e.EffectIntended) -> bool:
    names = found.rules
    return "no-refunds" in names or ("at-most-200" in names and amount_of(event) > 200)


def demands(found: Facts, event: e.EffectIntended) -> bool:
    names = found.rules
    return "ask-all" in names or ("ask-over-100" in names and amount_of(event) > 100)


def deciding(actor: Actor) -> str:
    chain = (actor.id, *actor.on_behalf_of)
    return next((one for one in chain if not one.startswith("service:")), actor.id)


def counted(records: Sequence[Record], asked: Record) -> e.ApprovalAnswered | None:
    """Find the answer that counts to a request: a person's first in time, and not the requester's."""
    request = asked.event
    assert isinstance(request, e.ApprovalRequested)
    for record in records:
        said = record.event
        if record.position <= asked.position or not isinstance(said, e.ApprovalAnswered):
            continue
        if said.id != request.id or not said.by.startswith("human:"):
            continue
        writer, asker = deciding(record.actor), deciding(asked.actor)
        if writer.startswith("agent:") or asker in (writer, said.by):
            continue
        late = request.expires_at is not None and record.at >= request.expires_at
        if late and said.answer == "approved":
            continue
        return said
    return None


def last_request(records: Sequence[Record], key: str) -> Record | None:
    """Find the request about an act that counts: the last since it was done."""
    found = None
    for record in records:
        event = record.event
        if isinstance(event, e.ApprovalRequested) and event.key == key:
            found = record
        if isinstance(event, e.EffectSucceeded) and event.key == key:
            found = None
    return found


def assert_consented(records: Sequence[Record], start: Record, by_tool: bool, seconds: int | None) -> None:
    """Hold the start of an act to what its record says: what was in force, asked and answered before it."""
    intended_at = records[start.position - 2]
    intended = intended_at.event
    assert isinstance(intended, e.EffectIntended)
    before = records[: start.position - 2]
    found = facts(before)
    assert not forbids(found, intended)
    asked = last_request(before, intended.key)
    said = None if asked is None else counted(before, asked)
    assert said is None or said.answer == "approved", "a person said no, and was not asked again"
    if not (by_tool or demands(found, intended)):
        return
    assert asked is not None
    assert said is not None
    request = asked.event
    assert isinstance(request, e.ApprovalRequested)
    assert intended.approval == request.id
    assert request.tool_schema == intended.tool_schema
    assert asked.terms is not None
    assert intended_at.terms is not None
    assert asked.terms.digest == intended_at.terms.digest
    assert request.expires_at is None or start.at < request.expires_at
    if seconds is not None and deciding(asked.actor).startswith("agent:"):
        assert (start.at - asked.at).total_seconds() < seconds
    for between in before[asked.position :]:
        assert not isinstance(between.event, e.PlanCommitted | e.PlanRevised | e.RuntimeAdopted)
