"""What refuted assumptions have against going on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ledger.events import Reason
from ledger.gate.question import Question
from ledger.gate.reasons import reason
from ledger.run.contract import Assumption, Contract
from ledger.values import Step


def on_assumptions(contract: Contract, question: Question) -> Iterator[Reason]:
    """Yield the goal, steps, assumptions or needed observations that rest on a refuted assumption.

    Only remaining steps count: those that the cursor has passed are done.
    """
    remaining = remaining_steps(contract)
    wrong = contract.known_wrong
    fallen = {name for one in wrong for name in contract.resting_on(f"assumption:{one.id}")}
    # What is left of a plan is nothing, too, where each step rests on another one that was refuted.
    none_left = all(f"step:{step.name}" in fallen for step in remaining)
    for assumption in wrong:
        yield from _on_refuted(contract, assumption, remaining, none_left)


def _on_refuted(
    contract: Contract, wrong: Assumption, remaining: tuple[Step, ...], none_left: bool
) -> Iterator[Reason]:
    assert wrong.refuted is not None
    resting = contract.resting_on(f"assumption:{wrong.id}")
    names = _few(resting)
    said = f"assumption {wrong.id!r} was refuted"
    place = {"position": wrong.refuted.position, "since": wrong.refuted.at, "who": wrong.refuted.by}
    steps = [step.name for step in remaining if f"step:{step.name}" in resting]
    if "goal" in resting:
        others = _few([one for one in resting if one != "goal"])
        what = f"{said}, and the goal rests on it" + (f", with {others}" if others else "")
        yield reason("goal_refuted", what, **place)  # type: ignore[arg-type]
    if steps and none_left:
        all_of_it = "every remaining step rests on it"
        if len(steps) < len(remaining):
            all_of_it = "every remaining step rests on it or on another that was"
        what = f"{said}, and {all_of_it}: {_few(steps)}"
        yield reason("plan_refuted", what, **place)  # type: ignore[arg-type]
    elif steps:
        what = f"{said}, and {names} rests on it"
        yield reason("assumption_refuted", what, **place)  # type: ignore[arg-type]
    for other in contract.assumptions:
        if other.refuted is None and f"assumption:{other.id}" in resting:
            what = f"{said}, and assumption {other.id!r} rests on it"
            yield reason("assumption_in_doubt", what, position=other.position, since=wrong.refuted.at)
    if "cursor" in resting:
        yield from _on_needed(contract, wrong, resting)


def _on_needed(contract: Contract, wrong: Assumption, resting: tuple[str, ...]) -> Iterator[Reason]:
    assert wrong.refuted is not None
    for seen in contract.observations:
        if f"observation:{seen.key}" in resting:
            what = (
                f"{seen.key}, which the next step needs, rests on assumption {wrong.id!r}, which was refuted"
            )
            yield reason("observation_in_doubt", what, position=seen.position, since=wrong.refuted.at)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:16]) + (" and more" if len(names) > 16 else "")


def remaining_steps(contract: Contract) -> tuple[Step, ...]:
    """List the steps of the plan that are not done: those from the cursor on, where it stands at one."""
    plan, cursor = contract.plan, contract.cursor
    if plan is None:
        return ()
    names = [step.name for step in plan.steps]
    if cursor is None or cursor.node not in names or cursor.position < plan.position:
        return plan.steps
    return plan.steps[names.index(cursor.node) :]
