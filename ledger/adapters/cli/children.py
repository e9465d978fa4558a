"""The children of a run that have not ended: whoever stops or ends the run has to hear of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ledger.adapters.cli.screen import Screen
    from ledger.application.ledger import Ledger
    from ledger.run.contract import Contract


class Child(NamedTuple):
    """A child, or a child of one, which goes on by itself."""

    run: str
    contract: Contract | None
    """None: it cannot be read."""

    @property
    def status(self) -> str:
        """How it stands."""
        return "cannot be read" if self.contract is None else self.contract.status


def open_children(opened: Ledger, run: str) -> list[Child]:
    """List the children of a run that have not ended, and theirs; of one that was restarted its successor."""
    return list(_below(opened, run, {run}))


def _below(opened: Ledger, run: str, seen: set[str]) -> Iterator[Child]:
    from ledger.errors import UNREADABLE, RunNotFound
    from ledger.run.descent import descent_of

    descent = descent_of(opened.log(run))
    assert descent is not None  # an empty log is RunNotFound
    kin = descent.kin
    above = {kin.successor, None if kin.parent is None else kin.parent.run}
    for name in descent.beside:
        if name in above or name in seen:
            continue
        try:
            yield from _child(opened, name, seen)
        except RunNotFound:  # what was imported may name runs that are not here
            continue
        except UNREADABLE:
            yield Child(name, None)


def _child(opened: Ledger, run: str, seen: set[str]) -> Iterator[Child]:
    seen.add(run)
    contract = opened.contract(run)
    if contract.closed is None:
        yield Child(run, contract)
    elif contract.closed.successor is not None and contract.closed.successor not in seen:
        yield from _child(opened, contract.closed.successor, seen)
    yield from _below(opened, run, seen)


def children_facts(children: Sequence[Child]) -> list[dict[str, Any]]:
    """Give them as JSON objects."""
    return [
        {"run": child.run, "status": child.status}
        if child.contract is None
        else {"run": child.run, "status": child.status, "alive": child.contract.alive.model_dump(mode="json")}
        for child in children
    ]


def show_children(
    screen: Screen, children: Sequence[Child], verb: str, where: Sequence[str], *, go_on: bool = False
) -> None:
    """Say which children have not ended, and how each is ended or suspended with `verb`, too.

    `go_on`: what was done to their parent does not keep them from acting.
    """
    from ledger.adapters.cli.ways_out import stopping
    from ledger.adapters.cli.words import quoted, when

    if children:
        screen.title("Child runs that go on" if go_on else _TITLES[verb])
    for child in children:
        alive = None if child.contract is None else child.contract.alive
        since = "" if alive is None else f", last sign of life {when(alive.at)} by {quoted(alive.by)}"
        screen.entry(f"{quoted(child.run)}: {child.status}{since}", indent=2, hang=2)
        screen.command(stopping(verb, child.run, where), indent=2)


_TITLES = {
    "cancel": "Child runs that have not ended: no act begins in them any more",
    "suspend": "Child runs that are not suspended themselves: no act begins in them until it goes on",
}
"""What becomes of the children of a run that was ended or stopped, above their list."""
