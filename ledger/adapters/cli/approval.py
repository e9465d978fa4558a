"""`approval`: all that somebody who is to answer has to know of one request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from datetime import datetime

    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.application.settling import Unsettled
    from ledger.run.contract import Contract
    from projections.views import Requested

HELP = """Show one request for approval, and what an approver has to know.

The act with its arguments in full, which constraint demands a person and whose word that is, the goal of the
run, the terms that the answer is bound to, and what the run did with the same tool, the last ten acts. ID may
be the beginning of an id, at least 6 characters, among what waits; else among what is answered. Of an act
that is done nothing waits any more: `ask approvers run=RUN` shows who answered.

\b
Examples:
  intent-ledger approval 5a3c01
  intent-ledger approval 5a3c01 --json
"""

IdArgument = Annotated[
    str, typer.Argument(metavar="ID", help="Its id, or at least the first 6 characters.", show_default=False)
]


@verb()
def approval(
    call: Call,
    id: IdArgument,
) -> None:
    """Show one request for approval."""
    from ledger.adapters.cli.approval_view import facts, find
    from ledger.adapters.cli.effect_view import facts as effect_facts
    from ledger.application.effect_listing import lease_now

    screen = call.screen
    with call.reading() as opened:
        one = find(opened, id)
        contract = opened.contract(one.run)
        before = _before(opened, one)
        now = lease_now(opened)
    if call.as_json:
        before_too = [effect_facts(act, now) for act in before]
        screen.document({"approval": facts(one), **_about(one, contract), "before": before_too})
        return
    _show(screen, one, contract)
    _show_before(screen, one, before, now)
    where = call.where
    if one.state == "pending":
        _show_answers(screen, one, where)
    elif one.state != "approved":
        _show_anew(screen, one, where)


def _before(opened: Ledger, one: Requested) -> list[Unsettled]:
    from ledger.application.effect_listing import last_with

    if one.tool is None:
        return []
    return [act for act in last_with(opened, one.run, one.tool) if act.effect.key != one.key]


def _about(one: Requested, contract: Contract) -> dict[str, Any]:
    asked = next((item for item in contract.approvals if item.id == one.id), None)
    said: dict[str, Any] = {
        "goal": {"text": contract.goal.text, "revision": contract.goal.revision},
        "status": contract.status,
    }
    if contract.owner is not None:
        said["owner"] = contract.owner
    if asked is not None and asked.terms is not None:
        said["terms"] = asked.terms.model_dump(mode="json")
    return said


def _show(screen: Screen, one: Requested, contract: Contract) -> None:
    from ledger.adapters.cli.approval_view import act_words, lines, state_words
    from ledger.adapters.cli.words import quoted

    screen.entry(f"{act_words(one)} of {quoted(one.run)}: {state_words(one)}", style="bold")
    screen.entry(f"approval {quoted(one.id)}", indent=2, hang=2)
    for line in lines(one, brief=False):
        screen.entry(line, indent=2, hang=2)
    screen.title(
        "Goal of the run" if contract.goal.revision == 1 else f"Goal, revision {contract.goal.revision}"
    )
    screen.quote(contract.goal.text, indent=2)
    whose = "" if contract.owner is None else f", for {quoted(contract.owner)}"
    screen.entry(
        f"the run is {contract.status}, at position {contract.position}{whose}", indent=4, style="dim"
    )
    terms = _about(one, contract).get("terms")
    if terms is not None:
        words = f"terms {terms['digest'][:15]}.. of position {terms['position']}; an answer binds to these,"
        screen.entry(
            f"{words} the arguments, the plan, the tool and the runtime", indent=4, hang=2, style="dim"
        )


def _show_before(screen: Screen, one: Requested, before: list[Unsettled], now: datetime) -> None:
    from ledger.adapters.cli.effect_view import show_one

    if not before:
        return
    screen.title(f"What the run did with {one.tool} before")
    for act in before:
        show_one(screen, act, now, brief=True)


def _show_answers(screen: Screen, one: Requested, where: list[str]) -> None:
    from ledger.adapters.cli.ways_out import answering

    screen.title("Answer")
    for line in answering(one.id, where):
        screen.command(line, indent=2)


def _show_anew(screen: Screen, one: Requested, where: list[str]) -> None:
    from ledger.adapters.cli.ways_out import asking_anew

    screen.title("Ask anew")
    screen.command(asking_anew(one.key, one.run, where, by_person=one.state == "denied"), indent=2)
