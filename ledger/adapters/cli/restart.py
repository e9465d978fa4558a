"""`restart`: close a run that cannot be resumed, and open its successor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledger.adapters.cli.exits import Exit
from ledger.adapters.cli.saying import (
    DeciderOption,
    ReasonOption,
    RunArgument,
)
from ledger.adapters.cli.verbs import Call, verb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ledger.adapters.cli.foretelling import Foretold
    from ledger.adapters.cli.screen import Screen
    from ledger.events import RunRestarted
    from ledger.run.contract import Contract

HELP = """Close a run that cannot go on, and open its successor.

It is one append. The successor has the goal (or another one), the constraints that still hold, the
assumptions, what is owed, each grant with what is left of it, and the effects whose outcome is open; what was
done is found by its key, and not done again. What it was not given is listed with the reasons. It has no
plan: it makes one anew. What the gate would say of it now is told, too, as `resume --dry-run` asks for the
program that worked on the old one. For people.

\b
Exit codes: 0 restarted; 2 restarted, and what became of an act is not known;
3 could not run; 4 a rule forbids it.
Examples:
  intent-ledger restart refund-17 --as refund-17b --by human:kim \\
      --reason "the limit was withdrawn"
  intent-ledger restart refund-17 --as refund-17b --by human:kim \\
      --goal "Refund order 17 in vouchers" --reason "no cash any more" --json
"""

AsOption = Annotated[
    str, typer.Option("--as", metavar="ID", help="Id of the run that is opened.", show_default=False)
]


@verb(actor=True)
def restart(
    call: Call,
    run: RunArgument,
    as_: AsOption,
    reason: ReasonOption,
    by: DeciderOption,
    goal: Annotated[
        str | None,
        typer.Option(
            "--goal", metavar="TEXT", help="What it is to achieve; else the same.", show_default=False
        ),
    ] = None,
    rests_on: Annotated[
        list[str] | None,
        typer.Option("--rests-on", metavar="REF", help="What that goal rests on.", show_default=False),
    ] = None,
) -> None:
    """Restart a run."""
    from ledger.adapters.cli.foretelling import foretold, show_foretold
    from ledger.events import RunRestarted

    screen = call.screen
    said: dict[str, Any] = {"goal": goal, "rests_on": rests_on or ()}
    with call.saying() as opened:
        opened.restart(run, as_=as_, reason=reason, by=by, **said)
        (second,) = opened.log(as_, after=1, upto=2)
        # As it was opened: a repeat may come when it has gone on for long.
        begun = second.event
        assert isinstance(begun, RunRestarted)
        contract = opened.contract(as_)
        asked = foretold(opened, run, as_)
    if call.as_json:
        screen.document(_document(contract, begun, asked))
    else:
        _show(screen, contract, begun)
        show_foretold(screen, asked, call.where)
    raise typer.Exit(Exit.CANNOT_TELL if contract.effects else Exit.FINE)


def _document(contract: Contract, begun: RunRestarted, asked: Foretold | None) -> dict[str, Any]:
    from ledger.adapters.cli.contract_view import contract_facts

    return {
        "run": begun.predecessor,
        "successor": contract.run,
        "contract": contract_facts(contract),
        "dropped": [one.model_dump(mode="json") for one in begun.dropped],
        "unsettled": [one.model_dump(mode="json", exclude_none=True) for one in begun.unsettled],
        "effects_done": begun.effects_done,
        "gate": None if asked is None else asked.document,
    }


def _show(screen: Screen, contract: Contract, begun: RunRestarted) -> None:
    from ledger.adapters.cli.words import counted, quoted

    screen.line(
        f"Run {quoted(begun.predecessor)} is closed; {quoted(contract.run)} succeeds it", style="bold"
    )
    screen.entry(f"goal: {contract.goal.text}", indent=2, hang=2)
    screen.title("It has")
    for line in _inherited(contract):
        screen.entry(line, indent=2, hang=2)
    found = "found by its key" if begun.effects_done == 1 else "found by their keys"
    screen.entry(f"{counted(begun.effects_done, 'effect')} done, {found}", indent=2)
    if begun.unsettled:
        screen.entry(
            f"{counted(len(begun.unsettled), 'effect')} whose outcome is open: "
            + ", ".join(f"{quoted(one.tool)} {one.key[:12]}" for one in begun.unsettled),
            indent=2,
            hang=2,
        )
    screen.title("It was not given" if begun.dropped else "Nothing was dropped")
    for dropped in begun.dropped:
        screen.entry(f"{quoted(dropped.ref)}: {dropped.reason}", indent=2, hang=2)


def _inherited(contract: Contract) -> Iterator[str]:
    from ledger.adapters.cli.words import counted, quoted

    for what, items in (
        ("constraint", contract.constraints),
        ("assumption", contract.assumptions),
        ("obligation", contract.obligations),
        ("grant", contract.grants),
    ):
        names = ", ".join(quoted(item.id) for item in items)
        yield f"{counted(len(items), what)}{': ' + names if names else ''}"


def nobody_runs(run: str) -> str:
    """Say that a run may go on, and who has to go on with it."""
    thread, _, number = run.rpartition("#")
    if thread and number.isdigit():
        return "nobody runs it yet: its program picks it up when it next goes on with that thread"
    return f"nobody runs it yet: its program picks it up with ledger.resume({run!r})"
