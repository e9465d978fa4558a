"""What the contract says of an act that would begin now: plan, authority, assumptions, sources, and rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import NamedTuple

from ledger.commands import ClaimEffect
from ledger.run.asked import Asked, refused
from ledger.run.authority import Covered, covering, spend
from ledger.run.constraints import fallen_at_source
from ledger.run.contract import Constraint, Contract, Grant
from ledger.run.decision import Refusal
from ledger.run.effects import find
from ledger.run.known import EffectHistory
from ledger.run.rules import Breach, asks_approval, breaches, names_tool
from ledger.values import Recovery, Rule


def latest(asked: Asked) -> datetime:
    """Return the time to judge by: what had ended when something was recorded has ended."""
    return max(asked.given.now, asked.contract.at)


def covered_by(asked: Asked) -> Covered:
    """Find the grant that an act may draw on."""
    contract, command = asked.contract, asked.command
    grants: tuple[Grant, ...] | None = None
    if contract.authority_needed:
        grants = contract.grants
        held = find(contract, asked.names.key)
        if held is not None:  # what earlier attempts at this act set aside does not bar it
            grants = spend(grants, held.authority, held.reserved, None, since=held.position)
    now = latest(asked)
    return covering(grants, asked.given.actor, command.tool, command.reserved, now, contract.revoked)


def off_plan(asked: Asked) -> Refusal | None:
    """Refuse what is no step of the plan that binds the run."""
    plan, command = asked.contract.plan, asked.command
    if plan is None:
        return None
    for step in plan.steps:
        if step.name == command.step and step.tool in (None, command.tool):
            return None
    told = "names no step" if command.step is None else f"is of step {command.step!r} with {command.tool!r}"
    reason = f"the plan of position {plan.position} does not hold this act, which {told}"
    return refused(asked, "off_plan", reason, plan.position)


def not_covered(asked: Asked) -> Refusal | None:
    """Refuse what no grant in force covers, where one is needed."""
    covered = covered_by(asked)
    if covered.reason is None:
        return None
    return refused(asked, "authority_exceeded", covered.reason, covered.position)


def refuted(asked: Asked) -> Refusal | None:
    """Refuse an act that rests on a refuted assumption, itself or through its step or what that rests on."""
    contract, command = asked.contract, asked.command
    for wrong in contract.known_wrong:
        ref = f"assumption:{wrong.id}"
        names = {*contract.resting_on(ref), ref}
        if names.isdisjoint(command.rests_on) and f"step:{command.step}" not in names:
            continue
        assert wrong.refuted is not None
        reason = f"it rests on assumption {wrong.id!r}, which was refuted: {wrong.refuted.evidence}"[:1000]
        place = wrong.refuted.position
        return refused(asked, "contract_changed", reason, place, id=wrong.id, change="refuted")
    return None


def moved(asked: Asked) -> Refusal | None:
    """Refuse an act under a constraint that its source withdrew or reworded."""
    fallen = fallen_at_source(asked.contract, asked.given)
    if fallen is None:
        return None
    return refused(asked, "contract_changed", fallen.message, fallen.position, **fallen.evidence)


def not_performed(asked: Asked) -> Refusal | None:
    """Refuse what this release does not know how to perform."""
    recovery = asked.command.recovery
    if recovery not in (Recovery.TRANSACTIONAL, Recovery.OUTBOX):
        return None
    what = f"this release does not perform what is {recovery.value}, so nothing was begun"
    return refused(asked, "not_supported", what)


# --- rules ----------------------------------------------------------------------------------------


class Violation(NamedTuple):
    """A constraint in force, and what of its rule an act does not keep to."""

    constraint: Constraint
    breaches: tuple[Breach, ...]


def _ruled(asked: Asked) -> tuple[tuple[Constraint, Rule], ...]:
    return _with_rules(asked.contract, latest(asked))


def _with_rules(contract: Contract, now: datetime) -> tuple[tuple[Constraint, Rule], ...]:
    """List the constraints in force that have a rule, with it. Most have none, and each claim asks."""
    if not any(one.rule is not None for one in contract.constraints):
        return ()
    return tuple((one, one.rule) for one in contract.in_force(now) if one.rule is not None)


def violations(asked: Asked) -> Iterator[Violation]:
    """Yield the constraints in force whose rules an act breaks, in the order of their acceptance."""
    command = asked.command
    return violations_of(asked.contract, command.tool, full_args(asked), command.resource, latest(asked))


def violations_of(
    contract: Contract, tool: str, args: str, resource: str | None, now: datetime
) -> Iterator[Violation]:
    """Yield the constraints in force at a time whose rules an act breaks, in the order of their acceptance.

    `args` are canonical JSON, in full.
    """
    for constraint, rule in _with_rules(contract, now):
        found = breaches(rule, tool, args, resource, contract.tenant)
        if found:
            yield Violation(constraint, found)


def broken(asked: Asked) -> Refusal | None:
    """Refuse what breaks the rule of a constraint: it is named, with its source and who asserted it."""
    found = tuple(violations(asked))
    return _violated(asked, found) if found else None


def _violated(asked: Asked, found: tuple[Violation, ...]) -> Refusal:
    constraint, conditions = found[0]
    wanted = "; ".join(one.condition for one in conditions)
    source = constraint.source
    evidence = {
        "asserted_by": constraint.asserted_by,
        "conditions": _cut(wanted, 1000),
        "id": constraint.id,
    }
    if source is not None:
        evidence["source"] = source.stream
        if source.revision is not None:
            evidence["revision"] = source.revision
    if len(found) > 1:
        evidence["also"] = _cut(", ".join(one.constraint.id for one in found[1:]), 1000)
    origin = "" if source is None else f" of {source.stream}"
    reason = (
        f"constraint {constraint.id!r}{origin}, asserted by {constraint.asserted_by}, allows it only where "
        f"{_cut(wanted, 300)}"
    )
    return refused(asked, "constraint_violated", reason, constraint.position, **evidence)


def full_args(asked: Asked) -> str:
    """Return the arguments that rules are held against: those that the tool declares by default, too."""
    return args_of(asked.command)


def args_of(act: ClaimEffect | EffectHistory) -> str:
    """Return the arguments of an act in full, as canonical JSON."""
    return act.args if act.args_in_full is None else act.args_in_full


def asking_for_approval(asked: Asked) -> tuple[Constraint, ...]:
    """List the constraints in force by whose rules a person must approve an act."""
    return demanding_approval(asked.contract, asked.command.tool, full_args(asked), latest(asked))


def demanding_approval(contract: Contract, tool: str, args: str, now: datetime) -> tuple[Constraint, ...]:
    """List the constraints in force at a time by whose rules a person must approve an act.

    `args` are canonical JSON, in full.
    """
    return tuple(one for one, rule in _with_rules(contract, now) if asks_approval(rule, tool, args))


def forbidden_look(asked: Asked) -> Refusal | None:
    """Refuse to look where a rule that names the tool is broken, or would have a person asked.

    What speaks of all tools is about acts. A look waits for nobody, so that one which must be approved is not
    taken at all.
    """
    tool, args = asked.command.tool, full_args(asked)
    named = [(one, rule) for one, rule in _ruled(asked) if names_tool(rule, tool)]
    ids = {one.id for one, _ in named}
    found = tuple(one for one in violations(asked) if one.constraint.id in ids)
    if found:
        return _violated(asked, found)
    for one, rule in named:
        if asks_approval(rule, tool, args):
            breach = Breach(
                "tool", None, "a person approves it, which nothing that only reads waits for", tool
            )
            return _violated(asked, (Violation(one, (breach,)),))
    return None


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


Check = Callable[[Asked], Refusal | None]

CHECKS: tuple[Check, ...] = (off_plan, not_covered, refuted, moved, broken, not_performed)
"""All that the contract may have against an act, in the order in which it is looked at."""
